"""Tells why a bulk TCP transfer is slow.

>>> import windlass
>>> found = windlass.explain("upload.pcap.gz")            # doctest: +SKIP
>>> found.connections[0].verdict.limit                    # doctest: +SKIP
'receiver-window'

`explain` explains a capture. `explain_many` explains many captures into tables for pandas, Polars
and DuckDB. `simulate` runs the scenarios of `windlass lab`, and `law` computes the laws of TCP.
Values and their names are those of `windlass … --json`; names include units.
"""

from __future__ import annotations

import json as _json
import os as _os
from typing import Any, BinaryIO, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import _windlass
from ._windlass import Error, Table

__all__ = [
    "Capture", "Error", "Explanation", "Record", "Table", "Tables",
    "explain", "explain_many", "law", "simulate",
]
__version__: str = _windlass.VERSION

Path = Union[str, "_os.PathLike[str]"]
#: Bytes, or a function that returns bytes or a file open for reading.
Source = Union[bytes, bytearray, Callable[[], Union[bytes, bytearray, BinaryIO]]]


class Record(Dict[str, Any]):
    """A part of a record of windlass: a dict with its fields as attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the record has no {name!r}; it has {', '.join(self)}") from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self]


def _record(text: str) -> Record:
    record: Record = _json.loads(text, object_hook=Record)
    return record


class Tables:
    """The tables of captures: `captures`, `connections`, `intervals`, `verdicts` and `rtt`.

    Each table implements the Arrow PyCapsule interface: `pyarrow.table(t)`, `polars.DataFrame(t)`
    and DuckDB take it. docs/tables.md describes the columns.
    """

    captures: Table
    connections: Table
    intervals: Table
    verdicts: Table
    rtt: Table

    def __init__(self, tables: Iterable[tuple[str, Table]]) -> None:
        self._names = []
        for name, table in tables:
            self._names.append(name)
            setattr(self, name, table)

    def __getitem__(self, name: str) -> Table:
        if name not in self._names:
            raise KeyError(name)
        table: Table = getattr(self, name)
        return table

    def keys(self) -> List[str]:
        """The names of the tables."""
        return list(self._names)

    def __repr__(self) -> str:
        return f"<windlass.Tables {', '.join(f'{name}: {len(self[name])}' for name in self._names)}>"


class Capture(Record):
    """A capture: its facts (`capture`), its `totals`, its `connections`, largest first, and its
    `sha256`."""

    __slots__ = ()


class Explanation:
    """The explanation of a capture, or of an archive of captures."""

    def __init__(self, captures: List[Capture], tables: Tables) -> None:
        #: The capture; for an archive, each of its captures.
        self.captures = captures
        #: The captures as tables.
        self.tables = tables

    @property
    def connections(self) -> List[Record]:
        """Every connection that carried data, the largest of each capture first, as in
        `windlass explain --all --json`."""
        return [one for capture in self.captures for one in capture["connections"]]

    def __repr__(self) -> str:
        captures, connections = len(self.captures), len(self.connections)
        return f"<windlass.Explanation: {captures} captures, {connections} connections>"


def explain(
    capture: Union[Path, bytes, bytearray, memoryview],
    *,
    host: Optional[str] = None,
    port: Optional[int] = None,
    name: str = "capture",
) -> Explanation:
    """Explains a capture: a path, or its bytes, which are reported as `name`.

    It reads pcap, pcapng, snoop and tcpdump text, plain or compressed (gzip, zstd), and in a tar or
    zip. `host` and `port` select connections with this address or port on one side.

    Raises `windlass.Error` with the program's message if it is not a capture.
    """
    if isinstance(capture, (bytes, bytearray, memoryview)):
        text, tables = _windlass.explain(None, bytes(capture), name, host, port)
    else:
        path = _os.fspath(capture)
        text, tables = _windlass.explain(path, None, path, host, port)
    captures = [Capture(one) for one in _json.loads(text, object_hook=Record)]
    return Explanation(captures, Tables(tables))


def explain_many(
    captures: Iterable[Union[Path, Tuple[str, Source]]],
    *,
    path_pattern: Optional[str] = None,
    host: Optional[str] = None,
    port: Optional[int] = None,
    jobs: int = 0,
) -> Tables:
    """Explains many captures into tables, on all processors or on `jobs` processors.

    Each capture is a path, or a pair: its name in the rows, and its bytes or a function that returns
    bytes or opens a file. The function is called when the capture is read, so that memory holds only
    as many captures as there are jobs. A capture that cannot be explained, or whose function fails,
    is a row of `captures` with `error`. `path_pattern`, such as '{site}/{date}/*', makes columns of
    `captures` from the names.
    """
    listed: List[Tuple[str, Optional[object]]] = [
        one if isinstance(one, tuple) else (_os.fspath(one), None) for one in captures
    ]
    return Tables(_windlass.explain_many(listed, path_pattern, host, port, jobs))


def simulate(scenario: Path, *arguments: str) -> Record:
    """Runs a scenario of emulated devices in virtual time: a name of `windlass lab`, or the path
    of a TOML file. More arguments are those of `windlass lab`.

    Returns the record of `windlass lab SCENARIO --json`.
    """
    if "--real" in arguments:
        raise Error("cannot simulate in real time: --real works only on the command line")
    return _record(_windlass.run(["lab", _os.fspath(scenario), *arguments, "--json"]))


def law(name: str, **quantities: Union[str, int, float]) -> Record:
    """Computes a law. Quantities have the names of the options of `windlass law NAME`:
    `law("window", window="64k", time="36ms")`. Numbers are in the option's own unit."""
    arguments = [f"--{key.replace('_', '-')}={value}" for key, value in quantities.items()]
    return _record(_windlass.run(["law", name, *arguments, "--json"]))
