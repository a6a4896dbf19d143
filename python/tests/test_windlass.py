"""windlass for Python against the program itself, over the captures of the repository."""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time

import pytest
import windlass

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = sorted(ROOT.glob("tests/corpus/*.pcap.gz")) + sorted(ROOT.glob("tests/corpus/*.pcapng.gz"))
ONE = ROOT / "tests/corpus/receiver-window-ack-latency.snd.pcap.gz"
PROGRAM = os.environ.get("WINDLASS", str(ROOT / "target/debug/windlass"))


def program(*arguments):
    """What the program prints as JSON."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_values_are_those_of_the_program(path):
    record = program("explain", "--all", "--json", path)
    found = windlass.explain(path)
    assert len(found.captures) == 1
    assert found.captures[0].capture == record["capture"]
    assert found.captures[0].totals == record["totals"]
    theirs = [{k: v for k, v in one.items() if k not in ("what_if", "why")} for one in record["connections"]]
    assert found.connections == theirs


def test_bytes_are_read_as_a_file_is():
    from_path, from_bytes = windlass.explain(ONE), windlass.explain(ONE.read_bytes(), name="mine")
    assert from_bytes.captures[0].capture.file == "mine"
    assert from_path.connections == from_bytes.connections
    assert from_path.captures[0].sha256 == from_bytes.captures[0].sha256
    assert windlass.explain(memoryview(ONE.read_bytes())).connections == from_path.connections


def test_an_archive_has_several_captures(tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "day.tgz", "w:gz") as tar:
        for path in CORPUS[:3]:
            tar.add(path, arcname=path.name)
    found = windlass.explain(tmp_path / "day.tgz")
    assert [one.capture.member for one in found.captures] == [path.name for path in CORPUS[:3]]


def test_errors_are_the_program_s_words(tmp_path):
    text = tmp_path / "text.pcap"
    text.write_text("this is no capture\n" * 100)
    for capture in (text, b"\0" * 100, tmp_path / "none.pcap", tmp_path):
        with pytest.raises(windlass.Error, match="^cannot explain "):
            windlass.explain(capture)
    with pytest.raises(windlass.Error, match="is not an IP address"):
        windlass.explain(ONE, host="printer")
    with pytest.raises(windlass.Error, match="cannot apply the law"):
        windlass.law("window", window="64k")
    with pytest.raises(windlass.Error, match="unexpected argument"):
        windlass.law("window", wind="64k")
    with pytest.raises(windlass.Error):
        windlass.simulate("no-such-scenario")
    with pytest.raises(windlass.Error, match="real time"):
        windlass.simulate("imagen", "--real")


def test_connections_can_be_chosen():
    assert windlass.explain(ONE, port=1).connections == []
    port = windlass.explain(ONE).connections[0].receiver_port
    assert len(windlass.explain(ONE, port=port).connections) == 1


def test_records_are_dicts_with_attributes():
    found = windlass.explain(ONE)
    first = found.connections[0]
    assert first.verdict.limit == first["verdict"]["limit"]
    assert "verdict" in dir(first)
    with pytest.raises(AttributeError, match="no 'verdikt'"):
        first.verdikt
    assert json.loads(json.dumps(first)) == first
    assert "1 captures" in repr(found)


def test_tables_are_taken_by_others():
    pyarrow = pytest.importorskip("pyarrow")
    tables = windlass.explain_many(CORPUS)
    assert tables.keys() == ["captures", "connections", "intervals", "verdicts", "rtt"]
    connections = pyarrow.table(tables.connections)
    assert connections.num_rows == len(tables.connections) >= len(CORPUS)
    assert connections.column_names == tables.connections.columns
    # A stream can be taken again.
    assert pyarrow.table(tables.connections).equals(connections)
    limits = pyarrow.table(tables["verdicts"]).column("limit").to_pylist()
    records = [one.verdict.limit for path in CORPUS for one in windlass.explain(path).connections]
    assert sorted(limits) == sorted(records)
    for name, take in (("polars", "DataFrame"), ("pandas", None)):
        module = pytest.importorskip(name)
        if take:
            frame = getattr(module, take)(tables.connections)
            assert frame.shape == (connections.num_rows, connections.num_columns)
        else:
            assert len(connections.to_pandas()) == connections.num_rows


def test_names_are_taken_apart(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    for site in ("ams", "fra"):
        (tmp_path / site).mkdir()
        (tmp_path / site / "a.pcap.gz").write_bytes(ONE.read_bytes())
    paths = [*tmp_path.glob("*/*.gz"), tmp_path / "missing.pcap"]
    tables = windlass.explain_many(sorted(paths), path_pattern="{site}/*")
    captures = pyarrow.table(tables.captures).to_pylist()
    assert sorted(filter(None, (one["site"] for one in captures)))[:2] == ["ams", "fra"]
    assert sum(one["error"] is not None for one in captures) == 1
    with pytest.raises(windlass.Error):
        windlass.explain_many(paths, path_pattern="{site")


def test_many_may_be_bytes_and_what_opens_them(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    paths = CORPUS[:4]
    opened = []

    def opens(path):
        file = path.open("rb")
        opened.append(file)
        return file

    def fails():
        raise OSError("no such key")

    gives = [
        paths[0].read_bytes(), bytearray(paths[1].read_bytes()), paths[2].read_bytes,
        lambda: opens(paths[3]), fails, b"none", lambda: "text", paths[0].read_bytes(), b"",
    ]
    named = [(f"s3://captures/ams/{number}", gives) for number, gives in enumerate(gives)]
    for jobs in (1, 3):
        tables = windlass.explain_many(named, path_pattern="captures/{site}/*", jobs=jobs)
        theirs = windlass.explain_many(paths)
        for name in ("connections", "intervals", "verdicts", "rtt"):
            assert pyarrow.table(tables[name]).equals(pyarrow.table(theirs[name])), name
        captures = pyarrow.table(tables.captures).to_pylist()
        assert [one["file"] for one in captures] == [name for name, _ in named]
        assert {one["site"] for one in captures} == {"ams"}
        errors = [one["error"] for one in captures]
        assert errors[:4] == [None] * 4 and errors[7] is None
        assert captures[7]["copy_of"] == named[0][0]
        assert errors[4] == "cannot fetch it: OSError: no such key"
        assert "is no" in errors[5] or "no line" in errors[5], errors
        assert errors[6].startswith("cannot fetch it: TypeError") and "empty" in errors[8]
    # Each is closed when it has been read.
    assert len(opened) == 2 and all(file.closed for file in opened)


def test_an_archive_of_many_is_called_by_its_name(tmp_path):
    import io
    import tarfile

    pyarrow = pytest.importorskip("pyarrow")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path in CORPUS[:2]:
            tar.add(path, arcname=f"ams/{path.name}")
    named = [("s3://captures/day.tgz", packed.getvalue())]
    tables = windlass.explain_many(named, path_pattern="captures/{day}/{site}/*")
    captures = pyarrow.table(tables.captures).to_pylist()
    assert [one["file"] for one in captures] == [f"s3://captures/day.tgz::ams/{path.name}" for path in CORPUS[:2]]
    assert {(one["day"], one["site"]) for one in captures} == {("day.tgz", "ams")}


def test_laws_and_simulations_are_those_of_the_program():
    assert windlass.law("window", window="64k", time="36ms") == program(
        "law", "window", "--window", "64k", "--time", "36ms", "--json"
    )
    ours, theirs = windlass.simulate("imagen"), program("lab", "imagen", "--json")
    for record in (ours, theirs):
        for key in ("start_time", "end_time"):
            record.pop(key, None)
    assert ours == theirs


def test_python_goes_on_meanwhile():
    """Another thread of Python runs while captures are explained."""
    ticks, ends = 0, threading.Event()

    def count():
        nonlocal ticks
        while not ends.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    windlass.explain_many(CORPUS, jobs=1)
    ends.set()
    thread.join()
    assert ticks > 10


def test_ctrl_c_ends_it(tmp_path):
    script = (
        "import sys, windlass\n"
        "print('begins', flush=True)\n"
        "try:\n"
        "    windlass.explain_many([sys.argv[1]] * 100000, jobs=1)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(ONE)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    # It may not be in it yet: Python itself ends then.
    while child.poll() is None:
        child.send_signal(2)
        time.sleep(0.2)
    assert "interrupted" in child.stdout.read() or child.returncode == -2


def test_the_program_comes_with_it():
    done = subprocess.run([sys.executable, "-m", "windlass", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and windlass.__version__ in done.stdout
    done = subprocess.run([sys.executable, "-m", "windlass", "explain", "/no/such"], capture_output=True, text=True)
    assert done.returncode == 2 or done.returncode == 1, done
    assert done.stderr.startswith("error: cannot explain /no/such"), done.stderr
    assert pickle.loads(pickle.dumps(windlass.explain(ONE).connections[0]))


def test_the_read_me_is_true():
    """Each example of the guides gives what stands there."""
    pytest.importorskip("pandas")
    import doctest

    before = os.getcwd()
    os.chdir(ROOT)
    try:
        for file in ("README.md", "python/README.md", "docs/python.md"):
            failed, tried = doctest.testfile(str(ROOT / file), module_relative=False, verbose=False)
            assert tried > 2 and failed == 0, file
    finally:
        os.chdir(before)
