"""What goes in: the arguments that `deltas` and `write_deltas` have in common, checked before any task,
and the rows as a task gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from .._context import Context
from .._options import Options

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
TEXT, NUMBER, FLAG = t.StringType(), t.LongType(), t.BooleanType()
_TIMES = (t.TimestampType, t.TimestampNTZType, t.LongType, t.IntegerType)


def checked_options(
    function: str, options: Options, rows: bool, types: Iterable[str]
) -> tuple[Options, tuple[str, ...]]:
    """The options of the contexts, and with `rows` the types. What is wrong fails here, and not in a task."""
    for name in ("sequence", "started"):
        if name in options:
            raise TypeError(f"{function} has no option {name!r}")
    if options.get("format") == "tables" or (rows and "format" in options):
        raise TypeError(f"{function}: rows=True is for tables, and then there is no option 'format'")
    types = tuple([types] if isinstance(types, str) else types) if rows else ()
    if rows and not types:
        raise ValueError("types: no value type is named")
    wanted = Options(max_memory=1 << 30, format="tables" if rows else "pprof")
    wanted.update(options)
    wanted["counters"] = tuple(options.get("counters", ()))
    wanted["gauges"] = tuple(options.get("gauges", ()))
    wanted["sequence"] = False
    Context(**wanted).close()
    return wanted, types


def columns(df: DataFrame, target: str, time: str, profile: str, attributes: Iterable[str]) -> DataFrame:
    """The columns target, time, profile, and attributes, a struct or null."""
    told = list(attributes)
    for field in df.select(*told).schema:
        if field.dataType not in (TEXT, t.MapType(TEXT, TEXT)):
            kind = field.dataType.simpleString()
            raise TypeError(f"the column {field.name!r} is a {kind}, not a string or a map of strings")
    rows = df.select(
        f.col(target).alias("target"),
        f.col(time).alias("time"),
        f.col(profile).alias("profile"),
        (f.struct(*told) if told else f.lit(None)).alias("attributes"),
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


def struct(kinds: Mapping[str, t.DataType]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in kinds.items()])


def arrow_schema(out: t.StructType, spark: SparkSession) -> pa.Schema:
    try:
        return to_arrow_schema(out, timezone=spark.conf.get("spark.sql.session.timeZone") or "UTC")
    except TypeError:  # before Spark 4.3, timestamps are in UTC
        return to_arrow_schema(out)


class Profile(NamedTuple):
    """A row that came in. A copy of the profile before may have no data."""

    time: Any
    hash: int
    data: Any
    attributes: dict[str, Any] | None


def arrivals(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows of the batches: the columns of these names, and what came, with the time as a number."""
    for batch in batches:
        keys = (batch.column(name).to_pylist() for name in names)
        times = batch.column("time").cast(pa.int64()).to_pylist()
        hashes, attributes = (batch.column(name).to_pylist() for name in ("hash", "attributes"))
        data = (one.as_buffer() if one.is_valid else None for one in batch.column("profile"))
        yield from zip(*keys, map(Profile, times, hashes, data, attributes), strict=True)
