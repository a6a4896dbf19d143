"""Tables of very many captures by Dask, as Parquet: python dask_bag.py CAPTURES OUT [PACK_BYTES]"""

import sys

import dask.bag
import dask.dataframe
import pyarrow
import pyarrow.parquet
from distributed import Client
from windlass import packs


def write(work, folders):
    """What a worker does: the tables of its pack, each as a file that has the pack's number. A
    second try writes the same file again."""
    number, pack = work
    tables = packs.explain(pack)
    for table, folder in folders.items():
        pyarrow.parquet.write_table(pyarrow.table(tables[table]), f"{folder}/{number:06}.parquet")
    return len(tables.captures)


def main(captures, out, pack_bytes=256 << 20):
    # DASK_SCHEDULER_ADDRESS says where the cluster is; without, it is this machine.
    with Client():
        work = list(enumerate(packs.packed(captures, pack_bytes=int(pack_bytes))))
        folders = packs.folders(out)
        dask.bag.from_sequence(work, npartitions=len(work)).map(write, folders).sum().compute()
        verdicts = dask.dataframe.read_parquet(folders["verdicts"])
        print(verdicts.groupby(["limit", "because"], dropna=False).size().compute().sort_values())


if __name__ == "__main__":
    main(*sys.argv[1:])
