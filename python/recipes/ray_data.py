"""Tables of very many captures by Ray Data, as Parquet: python ray_data.py CAPTURES OUT [PACK_BYTES]"""

import sys

import pyarrow
import ray
from windlass import packs


def explained(work):
    """What a task does: the rows of its pack, each in the column of its table."""
    for pack in work.column("pack").to_pylist():
        for batch in packs.batches(packs.explain(pack)):
            yield pyarrow.Table.from_batches([batch])


def only(rows, table):
    """The rows of one table, with its columns."""
    return pyarrow.Table.from_struct_array(rows.column(table).drop_null())


def main(captures, out, pack_bytes=256 << 20):
    folders = packs.folders(out)
    work = [{"pack": pack} for pack in packs.packed(captures, pack_bytes=int(pack_bytes))]
    work = ray.data.from_items(work, override_num_blocks=len(work))
    # Each capture is explained once, for all tables.
    rows = work.map_batches(explained, batch_size=1, batch_format="pyarrow").materialize()
    for table, folder in folders.items():
        own = rows.map_batches(only, fn_args=[table], batch_format="pyarrow")
        own.write_parquet(folder)
    ray.data.read_parquet(folders["verdicts"]).groupby(["limit", "because"]).count().show()


if __name__ == "__main__":
    main(*sys.argv[1:])
