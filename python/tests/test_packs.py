"""Captures in packs: what is in each, and that a pack's rows are those of its captures."""

import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import pytest
import windlass

pyarrow = pytest.importorskip("pyarrow")
from windlass import packs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = sorted(ROOT.glob("tests/corpus/*.pcap.gz"))
FEW = CORPUS[::16]


def names(work):
    return [[pathlib.Path(name).name for name in pack] for pack in work]


def test_packs_have_the_bytes_that_are_wanted(tmp_path):
    for number, kilobytes in enumerate([10, 900, 20, 30, 2000, 40, 50, 700, 60]):
        (tmp_path / f"{number}.pcap").write_bytes(bytes([number]) * (kilobytes << 10))
    (tmp_path / ".hidden").write_bytes(b"1")
    work = packs.packed(tmp_path, pack_bytes=1 << 20)
    assert sorted(sum(names(work), [])) == [f"{number}.pcap" for number in range(9)]
    sizes = [sum(pathlib.Path(name).stat().st_size for name in pack) for pack in work]
    # The one that is larger than a pack is first, and alone.
    assert names(work)[0] == ["4.pcap"] and all(size <= 1 << 20 for size in sizes[1:])
    # No two neighbours would have had room in one.
    assert len(work) <= 6 and sum(sizes[1:]) > len(sizes[1:]) << 18, sizes
    assert packs.packed(str(tmp_path), pack_bytes=1 << 20) == work
    assert all(pathlib.Path(name).is_absolute() for pack in work for name in pack)
    # However many there are, beginning with each costs something.
    (tmp_path / "none").mkdir()
    for number in range(100):
        (tmp_path / "none" / f"{number}").write_bytes(b"%d" % number)
    assert len(packs.packed(tmp_path / "none", pack_bytes=1 << 20)) > 5


def test_what_may_be_copies_is_in_one_pack(tmp_path):
    whole = FEW[0].read_bytes()
    other = bytes(reversed(whole))
    for name, content in [("a", whole), ("m/b", other), ("n/c", whole), ("z", whole)]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    # Each is larger than a pack: only what cannot be told apart by its beginning stays together.
    assert sorted(names(packs.packed(tmp_path, pack_bytes=1))) == [["a", "c", "z"], ["b"]]
    (tmp_path / "z").chmod(0)
    work = packs.packed(tmp_path, pack_bytes=1)
    assert sorted(sum(names(work), [])) == ["a", "b", "c", "z"]
    tables = [packs.explain(pack) for pack in work]
    copies = [one["copy_of"] for of in tables for one in pyarrow.table(of.captures).to_pylist()]
    assert copies.count(str(tmp_path / "a")) in (1, 2), "root reads z as well"


def test_a_folder_without_files_says_so(tmp_path):
    with pytest.raises(windlass.Error, match="there is no file below it"):
        packs.packed(tmp_path)
    with pytest.raises(OSError):
        packs.packed(tmp_path / "missing")


def test_tables_are_not_written_twice(tmp_path):
    out = packs.folders(tmp_path / "out")
    assert list(out) == windlass.explain_many([]).keys()
    assert sorted(out.values()) == sorted(str(path) for path in (tmp_path / "out").iterdir())
    with pytest.raises(windlass.Error, match="^cannot write tables into .*/out: .* is there already"):
        packs.folders(str(tmp_path / "out"))


def test_batches_have_the_rows_of_the_tables():
    pack = [str(path) for path in FEW] + ["/no/such.pcap"]
    tables = packs.explain(pack, path_pattern="{site}/*")
    schema = packs.schema(path_pattern="{site}/*")
    whole = pyarrow.Table.from_batches(packs.batches(tables), schema=schema)
    assert len(whole) == sum(len(tables[name]) for name in tables.keys())
    for name in tables.keys():
        own = pyarrow.Table.from_struct_array(whole.column(name).drop_null())
        assert own.cast(pyarrow.schema(tables[name])).equals(pyarrow.table(tables[name]))
    errors = [one["error"] for one in pyarrow.table(tables.captures).to_pylist()]
    assert [error is not None for error in errors] == [False] * len(FEW) + [True]
    # Spark's times.
    for batch in packs.batches(tables, unit="us"):
        assert batch.schema == packs.schema(path_pattern="{site}/*", unit="us")
    start = packs.schema(unit="us").field("connections").type.field("start_time")
    assert start.type == pyarrow.timestamp("us", "UTC")


def test_a_machine_without_the_captures_makes_no_rows(tmp_path):
    gone = [str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")]
    with pytest.raises(windlass.Error, match=r"^cannot explain .*/a\.pcap and 1 more on .*: No such file"):
        packs.explain(gone)
    # One that is none, or that may not be read, is a row all the same.
    (tmp_path / "b.pcap").write_text("this is no capture\n")
    captures = pyarrow.table(packs.explain(gone).captures).to_pylist()
    assert [one["error"] is not None for one in captures] == [True, True]
    assert len(packs.explain(gone[1:]).captures) == 1
    assert len(packs.explain([]).captures) == 0


def test_a_schema_takes_no_capture():
    empty = windlass.explain_many([])
    for name in empty.keys():
        schema = pyarrow.schema(empty[name])
        assert schema == pyarrow.table(empty[name]).schema and len(schema) > 5
    assert pickle.loads(pickle.dumps(packs.schema())) == packs.schema()


def test_a_pack_of_a_bucket_is_that_of_a_folder(tmp_path, monkeypatch):
    pytest.importorskip("moto.server", reason="moto is not installed")
    boto3 = pytest.importorskip("boto3")
    for number, path in enumerate(FEW):
        folder = tmp_path / "site a#1" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.name)
    shutil.copy(FEW[0], tmp_path / "site a#1" / "0" / "z-copy.pcap.gz")
    (tmp_path / "site a#1" / "0" / "text.pcap").write_text("this is no capture\n")
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    try:
        said = ""
        while not (port := re.search(r"http://127\.0\.0\.1:(\d+)", said)):
            said = server.stderr.readline()
            assert said, "moto's server ended"
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port[1]}", "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="captures")
        for path in tmp_path.rglob("*"):
            if path.is_file():
                client.upload_file(str(path), "captures", str(path.relative_to(tmp_path)))
        work = packs.packed("s3://captures/site a#1", pack_bytes=1 << 17)
        there = packs.packed(tmp_path / "site a#1", pack_bytes=1 << 17)
        assert names(work) == names(there) and len(work) > 1
        out = packs.folders("s3://captures/tables of it")
        assert out["rtt"] == "s3://captures/tables of it/rtt"
        with pytest.raises(windlass.Error, match="s3://captures/tables of it/captures is there already"):
            packs.folders("s3://captures/tables of it")
        as_here = "s3://captures", str(tmp_path)
        for fetched, local in zip(work, there):
            # One that is gone by then is a row.
            fetched, local = [*fetched, "s3://captures/gone"], [*local, str(tmp_path / "gone")]
            mine = packs.explain(fetched, path_pattern="{site}/{number}/*")
            theirs = packs.explain(local, path_pattern="{site}/{number}/*")
            for name in mine.keys():
                one, other = (pyarrow.table(of[name]).to_pylist() for of in (mine, theirs))
                for row in one:
                    for column in ("file", "copy_of"):
                        if row.get(column):
                            row[column] = row[column].replace(*as_here)
                if name == "captures":
                    assert one[-1]["error"].startswith("cannot fetch it: FileNotFoundError")
                    assert other[-1]["error"] and one[-1]["file"] == other[-1]["file"]
                    one, other = one[:-1], other[:-1]
                assert one == other, name
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()
