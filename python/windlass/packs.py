"""Thousands of captures, distributed to the workers of Spark, Ray, Dask and similar engines.

>>> from windlass import packs
>>> work = packs.packed("s3://captures/2026")     # doctest: +SKIP
>>> tables = packs.explain(work[0])               # doctest: +SKIP

`packed` makes packs of about equal size, each a list of names. `explain` runs on a worker and explains
a pack. `batches` returns its tables as record batches of one `schema`, for engines whose tasks return
one kind of row. The module needs pyarrow. docs/clusters.md has a recipe for each engine.
"""

from __future__ import annotations

import functools as _functools
import os as _os
import platform as _platform
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Sequence, Tuple

import pyarrow as _pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.fs as _fs  # type: ignore[import-untyped,import-not-found,unused-ignore]

from . import Error, Path, Tables, explain_many

__all__ = ["batches", "explain", "folders", "packed", "schema"]

#: Beginning with a capture takes about as long as reading so many bytes.
_BEGINNING = 64 << 10
#: Captures that agree in so many bytes, and in size, may be copies of each other.
_HEAD = 4 << 10
#: What is fetched at once.
_PART = 8 << 20


def packed(captures: Path, *, pack_bytes: int = 256 << 20) -> List[List[str]]:
    """Returns the names of all files below a folder or an address such as s3://BUCKET/PREFIX, in packs
    of this many bytes, largest first; a larger capture is a pack of its own.

    Files that may have the same content are in one pack, where `explain` finds copies. Names that
    begin with a dot are skipped. The same files make the same packs.
    """
    filesystem, root, before = _place(_os.fspath(captures))
    about = filesystem.get_file_info(_fs.FileSelector(root, recursive=True))
    sizes = {one.path: one.size for one in about if one.is_file and one.base_name[:1] != "."}
    if not sizes:
        raise Error(f"cannot pack {captures}: there is no file below it")
    groups: Dict[Tuple[int, bytes], List[str]] = {}
    counts: Dict[int, int] = {}
    for size in sizes.values():
        counts[size] = counts.get(size, 0) + 1
    for path, size in sorted(sizes.items()):
        head = _head(filesystem, path) if counts[size] > 1 else b""
        groups.setdefault((size, head), []).append(path)
    packs: List[Tuple[int, List[str]]] = []
    for (size, _), paths in groups.items():
        weight = (size + _BEGINNING) * len(paths)
        if packs and packs[-1][0] + weight <= pack_bytes:
            packs[-1] = (packs[-1][0] + weight, packs[-1][1] + paths)
        else:
            packs.append((weight, paths))
    packs.sort(key=lambda pack: -pack[0])
    return [[before + path for path in sorted(paths)] for _, paths in packs]


def explain(pack: Sequence[str], *, path_pattern: Optional[str] = None) -> Tables:
    """Explains the captures of a pack on one processor, as a task of a cluster.

    A capture that cannot be read or fetched is a row of `captures` with `error`. The same pack makes
    the same rows, so a task may be retried. Files are mapped into memory; objects of a bucket are
    fetched into an unnamed file in TMPDIR, one at a time.

    Raises `windlass.Error` if no capture can be reached: a machine without the folder, or without
    the keys of the bucket, makes no rows.
    """
    sources = [(name, _Opens(name)) if "://" in name else name for name in pack]
    tables = explain_many(sources, path_pattern=path_pattern, jobs=1)
    told = _pyarrow.table(tables.captures).select(["error", "file_bytes"]).to_pylist()
    if told and all(one["error"] and one["file_bytes"] is None for one in told):
        what = f"cannot explain {pack[0]}" + (f" and {len(pack) - 1} more" if pack[1:] else "")
        raise Error(f"{what} on {_platform.node()}: {told[0]['error']}. None of the captures can be reached from this machine")
    return tables


def folders(out: Path) -> Dict[str, str]:
    """Creates a folder for each table, below a folder or an address, and returns their names.

    Raises `windlass.Error` if one exists: its rows would be duplicated.
    """
    filesystem, root, before = _place(_os.fspath(out))
    tables = {table: f"{root}/{table}" for table in explain_many([]).keys()}
    for path in tables.values():
        if filesystem.get_file_info(path).type != _fs.FileType.NotFound:
            raise Error(f"cannot write tables into {out}: {before}{path} is there already")
    for path in tables.values():
        filesystem.create_dir(path)
    return {table: before + path for table, path in tables.items()}


def schema(*, path_pattern: Optional[str] = None, unit: str = "ns") -> Any:
    """Returns the schema of `batches`, without reading a capture: a column for each table, a struct of
    the table's columns. `unit` is the unit of times: Spark needs "us"."""
    tables = explain_many([], path_pattern=path_pattern)
    kinds = {name: _struct(_pyarrow.schema(tables[name]), unit) for name in tables.keys()}
    return _pyarrow.schema(kinds)


def batches(tables: Tables, *, unit: str = "ns") -> Iterator[Any]:
    """Returns the rows of all tables as record batches of pyarrow: each row is in the column of its
    table, and null in the others."""
    kinds = {name: _struct(_pyarrow.schema(tables[name]), unit) for name in tables.keys()}
    whole = _pyarrow.schema(kinds)
    for name, own in kinds.items():
        # One table after the other: none is held longer than it takes to hand it on.
        table = _pyarrow.table(tables[name]).cast(_pyarrow.schema(list(own)), safe=False)
        for batch in table.to_batches():
            columns = [
                batch.to_struct_array() if of == name else _pyarrow.nulls(len(batch), kind)
                for of, kind in kinds.items()
            ]
            yield _pyarrow.RecordBatch.from_arrays(columns, schema=whole)


def _struct(columns: Any, unit: str) -> Any:
    """Returns columns as a struct, with times in this unit."""
    def kind(of: Any) -> Any:
        return _pyarrow.timestamp(unit, of.tz) if _pyarrow.types.is_timestamp(of) else of

    return _pyarrow.struct([(one.name, kind(one.type)) for one in columns])


@_functools.lru_cache(maxsize=None)
def _store(address: str) -> Tuple[Any, str]:
    filesystem, root = _fs.FileSystem.from_uri(address)
    return filesystem, root.rstrip("/")


def _place(name: str) -> Tuple[Any, str, str]:
    """Returns the file system of a name, the path in it, and the prefix of paths in names."""
    if "://" not in name:
        return _fs.LocalFileSystem(), _os.path.abspath(name), ""
    scheme, rest = name.split("://", 1)
    authority, _, path = rest.partition("/")
    # Only this part is read as an address: a key may hold any character.
    filesystem, root = _store(f"{scheme}://{authority}")
    # A bucket is the first part of its paths; the host of an hdfs:// is none.
    before = f"{scheme}://" if root else f"{scheme}://{authority}"
    return filesystem, f"{root}/{path}".rstrip("/"), before


def _head(filesystem: Any, path: str) -> bytes:
    try:
        with filesystem.open_input_stream(path, compression=None) as file:
            return bytes(file.read(_HEAD))
    except OSError:
        # It may be as any other of its size: a worker will say what is wrong with it.
        return b""


class _Opens:
    """Opens an object when it is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> BinaryIO:
        filesystem, path, _ = _place(self._name)
        # As it is: pyarrow would unpack what is called *.gz.
        file: BinaryIO = filesystem.open_input_stream(path, compression=None, buffer_size=_PART)
        return file
