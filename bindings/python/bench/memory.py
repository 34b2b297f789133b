"""How much memory a Python worker of Spark uses for large profiles: memory.py PREV CUR [batch|stream]

Two targets have both profiles. Prints the peak memory of the largest worker, and how many rows have an error.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from pprofdelta.spark import deltas, write_deltas


def main(prev: str, cur: str, kind: str = "batch") -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        for time, path in enumerate((prev, cur), start=1):
            data = Path(path).read_bytes()
            columns = [pa.array(["a", "b"]), pa.array([time, time]), pa.array([data, data], pa.binary())]
            table = pa.table(columns, ["target", "time", "profile"])
            pq.write_table(table, f"{folder}/{time}.parquet", compression="none", row_group_size=1)
        builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "6g")
        spark = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        failed: list[int] = []

        def count(df: DataFrame, _: int = 0) -> None:
            failed.append(df.where("error is not null").count())

        if kind == "batch":
            count(deltas(spark.read.parquet(folder)))
        else:
            schema = "target string, time long, profile binary"
            stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
            query = write_deltas(stream, count, folder + "/checkpoint")
            query.trigger(availableNow=True).start().awaitTermination()
        peaks = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if b"pyspark.daemon" in path.read_bytes():
                status = dict(line.split(":", 1) for line in (path.parent / "status").read_text().splitlines())
                peaks.append(int(status["VmHWM"].split()[0]) >> 10)
        print(f"{kind}: profiles of {len(data) / 1e6:.0f} MB: {max(peaks)} MiB, {sum(failed)} errors", flush=True)
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
