"""Reads the tables with one library, and prints what it makes of them as JSON.

    peers.py duckdb|polars|pyarrow TABLES [QUERIES]
"""

import collections
import json
import pathlib
import sys

TABLES = ["captures", "connections", "intervals", "verdicts", "rtt"]


def answers(rows):
    """The same questions for all, over rows as dictionaries: counts, the time under each limit
    by network and hour, and the connections that the receiver's window limits."""
    ends = {(row["capture"], row["connection"]): row for row in rows["connections"]}
    hours = collections.defaultdict(float)
    for row in rows["intervals"]:
        of = ends[row["capture"], row["connection"]]
        time = row["start_time"] if row["start_time"] is not None else of["start_time"]
        hour = None if time is None else time.strftime("%Y-%m-%dT%H")
        hours[f'{of["receiver_prefix"]} {hour} {row["limit"]}'] += row["charged"]
    return hours, ends


def by_duckdb(folder, queries):
    import duckdb

    base = duckdb.connect()
    base.execute("set timezone = 'UTC'")
    for table in TABLES:
        base.execute(f"create view {table} as from '{folder / table}.parquet'")

    def ask(text):
        asked = base.execute(text)
        names = [column[0] for column in asked.description]
        return [dict(zip(names, row)) for row in asked.fetchall()]

    said = {query.stem: ask(query.read_text()) for query in sorted(queries.glob("*.sql"))}
    hours = {
        f'{row["prefix"]} {row["hour"] and row["hour"].strftime("%Y-%m-%dT%H")} {row["limit"]}': row["seconds"]
        for row in said["limits-by-prefix-and-hour"]
    }
    windows = [
        [row["capture"], row["connection"], row["limited_seconds"], row["gain_bytes_per_second"]]
        for row in said["receive-window"]
    ]
    counts = {table: ask(f"select count(*) as n from {table}")[0]["n"] for table in TABLES}
    limits = collections.defaultdict(float)
    for row in said["limits"]:
        limits[row["limit"]] += row["seconds"]
    types = {
        row["column_name"]: row["column_type"] for row in ask("describe from connections")
    }
    return counts, limits, hours, windows, types, said


def by_polars(folder):
    import polars

    frames = {table: polars.read_parquet(folder / f"{table}.parquet") for table in TABLES}
    limits = frames["intervals"].group_by("limit").agg(polars.col("charged").sum())
    joined = frames["intervals"].join(
        frames["connections"].select(
            "capture", "connection", "receiver_prefix", polars.col("start_time").alias("began")
        ),
        on=["capture", "connection"],
    )
    hour = polars.coalesce("start_time", "began").dt.truncate("1h").dt.strftime("%Y-%m-%dT%H")
    hours = joined.group_by("receiver_prefix", hour.alias("hour"), "limit").agg(
        polars.col("charged").sum()
    )
    windows = (
        frames["verdicts"]
        .filter(polars.col("limit") == "receiver-window")
        .join(frames["connections"], on=["capture", "connection"])
        .with_columns(
            limited=polars.col("seconds") * polars.col("share"),
            gain=polars.col("remedy_expected_bytes_per_second") - polars.col("bytes_per_second"),
        )
        .sort(["limited", "capture", "connection"], descending=[True, False, False])
    )
    types = {name: str(kind) for name, kind in frames["connections"].schema.items()}
    return (
        {table: frame.height for table, frame in frames.items()},
        dict(limits.iter_rows()),
        {f"{row[0]} {row[1]} {row[2]}": row[3] for row in hours.iter_rows()},
        [list(row) for row in windows.select("capture", "connection", "limited", "gain").iter_rows()],
        types,
        {},
    )


def by_pyarrow(folder):
    import datetime

    import pyarrow.parquet

    tables = {table: pyarrow.parquet.read_table(folder / f"{table}.parquet") for table in TABLES}
    rows = {}
    for name in ["connections", "intervals", "verdicts"]:
        table = tables[name]
        for at, field in enumerate(table.schema):
            # Python's own times have no nanoseconds.
            if pyarrow.types.is_timestamp(field.type):
                micros = pyarrow.timestamp("us", "UTC")
                table = table.set_column(at, field.name, table.column(at).cast(micros, safe=False))
        rows[name] = table.to_pylist()
    hours, ends = answers(rows)
    limits = tables["intervals"].group_by("limit").aggregate([("charged", "sum")]).to_pylist()
    windows = []
    for row in rows["verdicts"]:
        if row["limit"] == "receiver-window":
            of = ends[row["capture"], row["connection"]]
            expected = row["remedy_expected_bytes_per_second"]
            gain = None if expected is None else expected - of["bytes_per_second"]
            windows.append([row["capture"], row["connection"], of["seconds"] * row["share"], gain])
    windows.sort(key=lambda row: (-row[2], row[0], row[1]))
    types = {field.name: str(field.type) for field in tables["connections"].schema}
    return (
        {name: table.num_rows for name, table in tables.items()},
        {row["limit"]: row["charged_sum"] for row in limits},
        hours,
        windows,
        types,
        {},
    )


library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if library == "duckdb":
    said = by_duckdb(folder, pathlib.Path(sys.argv[3]))
else:
    said = {"polars": by_polars, "pyarrow": by_pyarrow}[library](folder)
names = ["counts", "limits", "hours", "windows", "types", "queries"]
print(json.dumps(dict(zip(names, said)), default=str))
