"""Tables of very many captures by Spark, as Parquet: python spark.py CAPTURES OUT [PACK_BYTES]"""

import sys

from pyspark.sql import SparkSession
from windlass import packs


def explained(batches):
    """What a worker does: the rows of its pack, each in the column of its table."""
    for batch in batches:
        for pack in batch.column("pack").to_pylist():
            yield from packs.batches(packs.explain(pack), unit="us")


def main(captures, out, pack_bytes=256 << 20):
    spark = SparkSession.builder.appName("windlass").getOrCreate()
    schema = spark.createDataFrame(packs.schema(unit="us").empty_table()).schema
    # Each pack is a partition, and so a task.
    work = [(pack,) for pack in packs.packed(captures, pack_bytes=int(pack_bytes))]
    work = spark.sparkContext.parallelize(work, len(work)).toDF("pack array<string>")
    # Each capture is explained once, for all tables.
    rows = work.mapInArrow(explained, schema).persist()
    for table in schema.names:
        own = rows.where(f"{table} is not null").select(f"{table}.*")
        own.write.parquet(f"{out}/{table}")
        spark.read.parquet(f"{out}/{table}").createOrReplaceTempView(table)
    spark.sql("select limit, because, count(*) from verdicts group by all order by 3 desc").show()


if __name__ == "__main__":
    main(*sys.argv[1:])
