"""Reads an archive's files with another engine, and holds what it makes of them against what
windlass-archive said.

    engines.py duckdb|polars|pyarrow SAID

SAID is JSON: `files`, those that windlass-archive names for each table; `tables`, the rows that
`select *` gave of each; `queries`, for each its `text` and the `rows` that it gave. Prints how many
rows were the same of each table (`tables`) and query (`queries`), and why a query cannot be asked
(`cannot`), as JSON. Ends with 1, and says where, when anything is another.
"""

import datetime
import decimal
import json
import math
import sys

#: How far two sums of the same numbers in another order may be from each other.
NEAR = 1e-9


def duckdb_engine(files):
    """The tables of DuckDB, and how to ask it: rows as dictionaries."""
    import duckdb

    base = duckdb.connect()
    base.execute("set timezone = 'UTC'")
    for table, names in files.items():
        base.execute(f"create view {table} as from read_parquet({names!r}, union_by_name = true)")

    def ask(text):
        return listed(base.sql(text).to_arrow_table())

    return {table: ask(f"from {table}") for table in files}, ask


def polars_engine(files):
    import polars

    frames = {
        table: polars.concat([polars.scan_parquet(name) for name in names], how="diagonal")
        for table, names in files.items()
    }
    base = polars.SQLContext(frames)

    def ask(text):
        return listed(base.execute(text, eager=True).to_arrow())

    return {table: listed(frame.collect().to_arrow()) for table, frame in frames.items()}, ask


def pyarrow_engine(files):
    import pyarrow
    import pyarrow.dataset
    import pyarrow.parquet

    def read(names):
        schema = pyarrow.unify_schemas([pyarrow.parquet.read_schema(name) for name in names])
        return listed(pyarrow.dataset.dataset(names, schema=schema).to_table())

    return {table: read(names) for table, names in files.items()}, None


def listed(table):
    """Rows of pyarrow. Python's own times have no nanoseconds: they are told as numbers of them."""
    import pyarrow

    for at, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            nanos = table.column(at).cast(pyarrow.timestamp("ns", field.type.tz)).cast("int64")
            table = table.set_column(at, field.name, nanos)
    return table.to_pylist()


def nanoseconds(text):
    """A time as windlass-archive prints it, as nanoseconds since 1970."""
    whole, _, parts = text.rstrip("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(seconds) * 10**9 + int(parts.ljust(9, "0"))


def is_same(wanted, got):
    """Whether a value is that which windlass-archive printed."""
    if isinstance(got, bytes):
        return wanted == got.hex()
    if isinstance(got, datetime.date):
        return wanted == got.isoformat()
    if isinstance(wanted, str) and isinstance(got, int):
        return nanoseconds(wanted) == got
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(is_same, wanted, got))
    if isinstance(wanted, bool) or isinstance(got, bool) or wanted is None or got is None:
        return wanted is got
    if isinstance(wanted, (int, float)) and isinstance(got, (int, float, decimal.Decimal)):
        if isinstance(wanted, int) and not isinstance(got, float):
            return wanted == got
        return math.isclose(wanted, float(got), rel_tol=NEAR, abs_tol=NEAR)
    return wanted == got


def difference(wanted, got):
    """The first place where rows are others; nothing where they are the same, in the same order."""
    if len(wanted) != len(got):
        return f"{len(got)} rows, not {len(wanted)}"
    for number, (one, other) in enumerate(zip(wanted, got), 1):
        if set(one) != set(other):
            return f"the columns are {', '.join(other)}, not {', '.join(one)}"
        for column, value in one.items():
            if not is_same(value, other[column]):
                return f"row {number}, {column}: {other[column]!r}, not {value!r}"
    return None


def main(engine, said):
    engines = {"duckdb": duckdb_engine, "polars": polars_engine, "pyarrow": pyarrow_engine}
    tables, ask = engines[engine](said["files"])
    same, cannot, wrong = {"tables": {}, "queries": {}}, {}, []
    # A row of a table has no place: the key says which it is.
    keys = ["capture", "file", "connection", "interval", "second"]

    def key(row):
        return [(row[name] is not None, row[name]) for name in keys if name in row]

    for table, wanted in said["tables"].items():
        wanted, got = sorted(wanted, key=key), sorted(tables[table], key=key)
        differs = difference(wanted, got)
        if differs:
            wrong.append(f"table {table}: {differs}")
        same["tables"][table] = len(got)
    for name, query in said["queries"].items() if ask else ():
        try:
            got = ask(query["text"])
        except Exception as error:  # What an engine does not know it says in many ways.
            cannot[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        differs = difference(query["rows"], got)
        if differs:
            wrong.append(f"query {name}: {differs}")
        same["queries"][name] = len(got)
    print(json.dumps({**same, "cannot": cannot}))
    if wrong:
        sys.exit("\n".join(f"{engine}: {line}" for line in wrong))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        main(sys.argv[1], json.load(file))
