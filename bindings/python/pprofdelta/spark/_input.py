"""What goes in: the arguments that `deltas` and `write_deltas` have in common, checked before any task,
and the rows as a task gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from .._context import Context
from .._options import Options

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_TIMES = (t.TimestampType, t.TimestampNTZType, t.LongType, t.IntegerType)


def checked_options(function: str, options: Options) -> Options:
    """The options of the contexts. A wrong option fails here, and not in a task."""
    for name in ("sequence", "started"):
        if name in options:
            raise TypeError(f"{function} has no option {name!r}")
    wanted = Options(max_memory=1 << 30)
    wanted.update(options)
    wanted["counters"] = tuple(options.get("counters", ()))
    wanted["gauges"] = tuple(options.get("gauges", ()))
    wanted["sequence"] = False
    Context(**wanted).close()
    return wanted


def columns(df: DataFrame, target: str, time: str, profile: str) -> DataFrame:
    """The three columns with the names target, time and profile."""
    rows = df.select(
        f.col(target).alias("target"), f.col(time).alias("time"), f.col(profile).alias("profile")
    )
    kinds = {field.name: field.dataType for field in rows.schema}
    if not isinstance(kinds["time"], _TIMES):
        raise TypeError(f"the column {time!r} is a {kinds['time'].simpleString()}, not a timestamp or an integer")
    if not isinstance(kinds["profile"], t.BinaryType):
        raise TypeError(f"the column {profile!r} is a {kinds['profile'].simpleString()}, not binary")
    return rows


def bound_batches(spark: SparkSession) -> None:
    """Limits the bytes of an Arrow batch, if the session has no limit. Older versions have none."""
    if (spark.conf.get(_BATCH_BYTES) or "").rstrip("b") == str(2**31 - 1):
        spark.conf.set(_BATCH_BYTES, str(64 << 20))


def arrivals(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows of the batches: the columns of these names, the time as a number, and the bytes of the profile."""
    for batch in batches:
        keys = (batch.column(name).to_pylist() for name in names)
        times = batch.column("time").cast(pa.int64()).to_pylist()
        for *key, profile in zip(*keys, times, batch.column("profile"), strict=True):
            yield *key, profile.as_buffer() if profile.is_valid else None
