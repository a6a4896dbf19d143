"""The recipes that docs/clusters.md links to, run by engines that they start: each capture
once, and the rows of one process, though one worker is killed half way."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
import windlass

pyarrow = pytest.importorskip("pyarrow")

import pyarrow.dataset  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = ROOT / "python/recipes"
#: Which packages each takes.
NEEDS = {"spark": ["pyspark"], "ray_data": ["ray.data"], "dask_bag": ["dask.bag", "dask.dataframe", "distributed"]}
#: So many bytes make about a dozen packs of the corpus.
PACK_BYTES = 1_000_000

#: Python runs this when it starts. The first worker that takes the last table of the pack with one
#: capture is killed: what it gave before is to be given up.
DIES = """
import os, signal
from windlass import packs

class Dies:
    def __init__(self, table):
        self._table = table

    def __arrow_c_schema__(self):
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema=None):
        try:
            os.close(os.open(os.environ["RECIPE_KILLED"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return self._table.__arrow_c_stream__(requested_schema)
        os.kill(os.getpid(), signal.SIGKILL)

explain = packs.explain

def explain_and_die(pack, **options):
    tables = explain(pack, **options)
    if any(name.endswith("/victim.pcap") for name in pack):
        tables.rtt = Dies(tables.rtt)
    return tables

packs.explain = explain_and_die
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """The corpus with what happens to captures: a copy, a damaged one, an empty one, and a text."""
    folder = tmp_path_factory.mktemp("captures")
    corpus = sorted(ROOT.glob("tests/corpus/*.pcap.gz"))
    for number, path in enumerate(corpus):
        (folder / str(number % 3)).mkdir(exist_ok=True)
        shutil.copy(path, folder / str(number % 3) / path.name)
    shutil.copy(corpus[0], folder / "2" / "z-copy.pcap.gz")
    import gzip

    whole = gzip.decompress((ROOT / "tests/corpus/reordering.rcv.pcap.gz").read_bytes())
    (folder / "1" / "victim.pcap").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.pcap").write_bytes(b"")
    (folder / "a text.pcap").write_text("this is no capture\n")
    return folder


@pytest.fixture(scope="module")
def alone(captures):
    """The tables that one process makes."""
    files = sorted(str(path) for path in captures.rglob("*") if path.is_file())
    tables = windlass.explain_many(files)
    tables = {name: pyarrow.table(tables[name]) for name in tables.keys()}
    rows = tables["captures"].to_pylist()
    assert sum(row["copy_of"] is not None for row in rows) == 1
    assert sum(row["damage"] is not None for row in rows) == 1
    assert sum(row["error"] is not None for row in rows) == 2
    return tables


def rows(table, unit):
    """Rows in one order, with times of this unit as numbers."""
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            times = table.column(at).cast(pyarrow.timestamp(unit, "UTC"), safe=False).cast("int64")
            table = table.set_column(at, field.name, times)
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def is_missing(recipe):
    """Why a recipe cannot run here; nothing where it can."""
    for module in NEEDS[recipe]:
        code = f"import {module}"
        if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode:
            return f"{module.split('.')[0]} is not installed: scripts/test-python --clusters installs it"
    if recipe == "spark":
        java = os.path.join(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else "java"
        try:
            said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
        except OSError:
            return "Java is not installed: apt-get install default-jre-headless"
        version = re.search(r'version "(\d+)', said)
        if not version or int(version[1]) < 17:
            return f"Spark takes Java 17: {said.splitlines()[0]}"
    return None


@pytest.mark.parametrize("recipe", NEEDS)
def test_a_recipe_gives_the_rows_of_one_process(recipe, captures, alone, tmp_path):
    if why := is_missing(recipe):
        pytest.skip(why)
    (tmp_path / "sitecustomize.py").write_text(DIES)
    # Ray's sockets have long names.
    with tempfile.TemporaryDirectory(prefix="r") as short:
        environment = {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "RECIPE_KILLED": str(tmp_path / "killed"),
            # Two at once, each tried three times. Snappy's native library is the wrong one where
            # musl is installed beside glibc.
            "PYSPARK_SUBMIT_ARGS": "--master local[2,3] --conf spark.ui.enabled=false "
            "--conf spark.sql.parquet.compression.codec=gzip pyspark-shell",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(tmp_path),
            "RAY_TMPDIR": short,
            "RAY_USAGE_STATS_ENABLED": "0",
            "DASK_TEMPORARY_DIRECTORY": str(tmp_path),
        }
        out = tmp_path / "out"
        arguments = [RECIPES / f"{recipe}.py", captures, out, PACK_BYTES]
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    # It prints what limited them.
    assert "receiver-window" in done.stdout
    assert (tmp_path / "killed").exists()
    unit = "us" if recipe == "spark" else "ns"
    for name, wanted in alone.items():
        files = [str(path) for path in sorted((out / name).glob("*.parquet"))]
        got = pyarrow.dataset.dataset(files).to_table()
        assert set(got.column_names) == set(wanted.column_names), name
        assert len(files) > 5, name
        assert rows(got, unit) == rows(wanted, unit), name


def test_the_page_links_to_the_recipes():
    page = (ROOT / "docs/clusters.md").read_text()
    recipes = {path.name: path.read_text() for path in sorted(RECIPES.glob("*.py"))}
    assert sorted(recipes) == sorted(f"{name}.py" for name in NEEDS)
    for name, text in recipes.items():
        assert f"](../python/recipes/{name})" in page, f"docs/clusters.md has no link to {name}"
        assert len(text.splitlines()) < 50, name
