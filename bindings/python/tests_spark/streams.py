"""Streams of Parquet files: each file is a micro-batch of its own."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pprofdelta.spark import write_deltas

point: Callable[[], None] = getattr(sys.modules.get("sitecustomize"), "point", lambda: None)
LATENESS, SECOND = 5, datetime.timedelta(seconds=1)
SCHEMA = "target string, time long, profile binary"
ARROW = pa.schema([("target", pa.string()), ("time", pa.int64()), ("profile", pa.binary())])


class Stream:
    """A folder with the input, the output and the checkpoint of a query."""

    def __init__(self, folder: Path) -> None:
        self.input, self.output, self.checkpoint = folder / "in", folder / "out", folder / "checkpoint"
        self.input.mkdir(parents=True)
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

    def start(self, spark: SparkSession, schema: str = SCHEMA, **arguments: Any) -> StreamingQuery:
        return start(spark, self.input, self.output, self.checkpoint, schema, **arguments)

    def run(self, spark: SparkSession, schema: str = SCHEMA, **arguments: Any) -> None:
        """Reads all that is there, with a new query from the checkpoint."""
        finish(lambda: self.start(spark, schema, **arguments))

    def result(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(str(self.output)).drop("batch")


def finish(start_query: Callable[[], StreamingQuery]) -> None:
    """Runs a query to its end. Spark waits ten seconds for a worker to start, which a busy machine may need: then
    the query starts again, from its checkpoint."""
    for _ in range(30):
        query = start_query()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if not is_slow(error):
                raise
        else:
            return
    raise AssertionError("no worker has started in time")


def is_slow(error: StreamingQueryException) -> bool:
    return "worker failed to connect back" in str(error)


def start(
    spark: SparkSession, source: Path, output: Path, checkpoint: Path, schema: str = SCHEMA, **arguments: Any
) -> StreamingQuery:
    def sink(rows: DataFrame, number: int) -> None:
        point()
        rows.write.mode("overwrite").parquet(f"{output}/batch={number}")
        point()

    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    return write_deltas(stream, arguments.pop("write", sink), str(checkpoint), **arguments).trigger(availableNow=True).start()


def main(source: str, output: str, checkpoint: str) -> None:
    """A whole job, as a program for spark-submit."""
    session = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    arguments = {"partitions": 2, "lateness": LATENESS, "expire_after": SECOND}
    finish(lambda: start(session, Path(source), Path(output), Path(checkpoint), **arguments))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
