"""Streams of Parquet files: each file is a micro-batch of its own. As a program, a job with two queries at the same
time, one that writes deltas and one that writes rows: streams.py FOLDER"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pprofdelta.spark import write_deltas
from timelines import SCHEMA, TABLES

point: Callable[[Any], None] = getattr(sys.modules.get("sitecustomize"), "point", lambda _: None)
LATENESS, SECOND = 5, datetime.timedelta(seconds=1)
ARROW = pa.schema([("target", pa.string()), ("time", pa.int64()), ("profile", pa.binary())])


class Stream:
    """A folder with the input, and with the output and the checkpoint of a query, which writes deltas or rows."""

    def __init__(self, folder: Path, is_rows: bool = False) -> None:
        self.is_rows = is_rows
        own = folder / ("rows" if is_rows else "deltas")
        self.input, self.output, self.checkpoint = folder / "in", own / "out", own / "checkpoint"
        self.input.mkdir(parents=True, exist_ok=True)
        self.files = 0

    def feed(self, rows: Iterable[tuple[Any, ...]], schema: pa.Schema = ARROW) -> None:
        """Adds a file. The order of the files is that of their times."""
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
        path = self.input / f"{self.files:04}.parquet"
        hidden = path.with_name("_" + path.name)
        pq.write_table(pa.table(columns, schema=schema), hidden, compression="gzip")
        os.utime(hidden, (1_700_000_000 + self.files, 1_700_000_000 + self.files))
        hidden.rename(path)
        self.files += 1

    def sink(self, rows: DataFrame, number: int) -> None:
        point(("driver",))
        if self.is_rows:
            rows.persist()
            for name, table in TABLES.items():
                table(rows).write.mode("overwrite").parquet(f"{self.output}/{name}/batch={number}")
            point(("driver",))
        rows.drop(*TABLES).write.mode("overwrite").parquet(f"{self.output}/windows/batch={number}")
        rows.unpersist()
        point(("driver",))

    def start(self, spark: SparkSession, schema: str = SCHEMA, **arguments: Any) -> StreamingQuery:
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.input))
        arguments = {"sink": self.sink, "checkpoint": str(self.checkpoint), "rows": self.is_rows, **arguments}
        return write_deltas(df, **arguments).trigger(availableNow=True).start()

    def run(self, spark: SparkSession, schema: str = SCHEMA, **arguments: Any) -> None:
        """Reads all that is there, with a new query from the checkpoint."""
        self.start(spark, schema, **arguments).awaitTermination()

    def result(self, spark: SparkSession, table: str = "windows") -> DataFrame:
        return spark.read.parquet(f"{self.output}/{table}").drop("batch")


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    both = Stream(Path(sys.argv[1])), Stream(Path(sys.argv[1]), is_rows=True)
    for query in [one.start(session, partitions=2, lateness=LATENESS, expire_after=SECOND) for one in both]:
        query.awaitTermination()
    session.stop()
