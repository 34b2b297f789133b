"""Batch: the deltas of all profiles of a DataFrame.

    profiles -> cut long time lines into ranges -> shuffle by (target, range) -> sort -> windows

A task has the rows of its ranges in order, and computes one range after the other, with one context. So the memory of
a worker does not depend on the number of targets.

The time line of a target is cut after every so many profiles, at a profile that is valid. That profile is in two
ranges: the earlier one ends with its window, and the later one takes it as its base. The cuts come from the columns of
targets and times alone; only the profiles at the cuts are read for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window as Over

from .._context import Context
from .._errors import Error
from .._options import Options
from ._tables import FLAG, TYPES
from ._windows import Profile, Row, Series, arrivals, checked_options, columns, with_windows


def deltas(
    df: DataFrame,
    target: str = "target",
    time: str = "time",
    profile: str = "profile",
    *,
    rows: bool = False,
    types: Iterable[str] = TYPES,
    attributes: Iterable[str] = (),
    windows_per_range: int | None = 2000,
    partitions: int | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """Computes the deltas of all profiles of a DataFrame.

    df         one row for each cumulative profile
    target     the column with the name of the target: a series of profiles for each of its values
    time       the column that orders the profiles of a target: a timestamp or an integer
    profile    the column with the bytes of the profile
    rows       True: tables in the place of the delta, for `samples`, `stacks`, `locations` and `functions`
    types      with rows=True, the value types that become columns, as in `samples`
    attributes columns that tell more of the target, such as its service and its version: strings, or maps of
               strings. They become columns of the result, and of `samples`
    windows_per_range
               a target with more profiles than this is cut into ranges, which different tasks compute;
               None: no target is cut, and `df` is read once
    partitions the number of partitions of the shuffle; None: as Spark is configured
    options    as for `pprofdelta.Context`, without `sequence` and `started`; max_memory is 1 GiB unless
               it is given

    The result has one row for each row of `df`:

    target     the name of the target, and behind it the attributes
    from, to   the window: the time of the profile before (null: there is none) and of this one
    sequence   the place of the profile in the time line of its target, from 1; null: it has no target or no time
    note       "duplicate": the row is there more than once, and this one has no delta;
               "equal_time": another profile of the target has the same time, so the order is arbitrary
    restart    why the window counts as a restart, or "none"; null: no delta
    delta      the delta; null: no delta, or a request of OTLP without samples, which is not sent. With rows=True,
               samples, stacks, locations and functions are here
    report     the other members of `pprofdelta.Report`
    error      null, or why there is no delta: status, stage, field, element, offset, text

    A profile without a delta does not stop the job: the next window of its target covers its time.

    If spark.sql.execution.arrow.maxBytesPerBatch of the session has no limit, it is set to 64 MiB. A worker needs the
    memory of an input batch (that limit and a profile), of a context (max_memory) and of an output batch (8 MiB and a
    delta).
    """
    if windows_per_range is not None and windows_per_range < 1:
        raise ValueError(f"windows_per_range={windows_per_range}: at least 1, or None")
    wanted, values = checked_options("deltas", options, rows, types)
    arrived = columns(df, target, time, profile, attributes)
    placed = (
        arrived.withColumns({"range": f.lit(0), "offset": f.lit(0).cast("long"), "is_base": f.lit(False)})
        if windows_per_range is None
        else _placed(arrived, _cuts(arrived, windows_per_range, wanted))
    )
    placed = placed.withColumn("hash", f.xxhash64("profile"))
    keys = ("target", "range")
    shuffled = placed.repartition(partitions, *keys) if partitions else placed.repartition(*keys)
    ordered = shuffled.sortWithinPartitions(*keys, "time", "hash")
    return with_windows(ordered, partial(_windows, options=wanted), values)


# ---- ranges -----------------------------------------------------------------------------------------


def _cuts(rows: DataFrame, windows: int, options: Options) -> DataFrame:
    """target, cuts: the times after which the time line of a target is cut, with the number of profiles
    until then. Targets without a cut are not there."""
    line = Over.partitionBy("target").orderBy("time")
    until = (
        rows.where(f.col("target").isNotNull() & f.col("time").isNotNull())
        .groupBy("target", "time")
        .agg(f.count(f.lit(1)).alias("here"))
        .withColumn("until", f.sum("here").over(line))
    )
    number = f.floor(f.col("until") / windows)
    candidates = until.where(number > f.floor((f.col("until") - f.col("here")) / windows))
    valid = (
        rows.join(f.broadcast(candidates.select("target", "time", "until")), ["target", "time"])
        .groupBy("target", "time", "until")
        .agg(f.bool_and(_is_base(options)("profile")).alias("is_valid"))
        .where("is_valid")
    )
    return valid.groupBy("target").agg(f.sort_array(f.collect_list(f.struct("time", "until"))).alias("cuts"))


def _is_base(options: Options) -> Any:
    """A function of Spark: whether each profile can be the base of a range."""

    def are_bases(profiles: pa.Array) -> pa.Array:
        found = []
        with Context(**options) as context:
            for profile in profiles:
                try:
                    context.base(profile.as_buffer() or b"")  # null is no profile either
                    found.append(True)
                except Error:
                    found.append(False)
        return pa.array(found, pa.bool_())

    return f.arrow_udf(are_bases, FLAG)  # type: ignore[attr-defined, unused-ignore]


def _placed(rows: DataFrame, cuts: DataFrame) -> DataFrame:
    """The rows with the range that they are in. A row at a cut is there twice: its window is the last of
    one range, and it is the base of the next."""
    kind = cuts.schema["cuts"].dataType.simpleString()
    before, here = ("filter(cuts, cut -> cut.time {} time)".format(sign) for sign in "<=")
    place = "named_struct('range', {}, 'offset', {}, 'is_base', {})".format
    own = place(f"size({before})", f"coalesce(try_element_at({before}, -1).until, 0L)", "false")
    base = place(f"size({before}) + 1", f"try_element_at({here}, 1).until", "true")
    return (
        rows.join(f.broadcast(cuts), "target", "left")
        .withColumn("cuts", f.expr(f"coalesce(cuts, cast(array() AS {kind}))"))
        .withColumn("places", f.expr(f"if(size({here}) > 0, array({own}, {base}), array({own}))"))
        .select("target", "time", "profile", "attributes", f.inline("places"))
    )


# ---- windows ----------------------------------------------------------------------------------------


def _windows(batches: Iterable[pa.RecordBatch], options: Options) -> Iterator[Row]:
    """The windows of sorted rows. Nothing is left from one task to another, so a task that is started again
    gives the same rows."""
    series = Series(options)
    place: tuple[Any, int] | None = None
    one: Profile
    for target, number, offset, is_base, one in arrivals(batches, "target", "range", "offset", "is_base"):
        if (target, number) != place:
            place = target, number
            series.start(target, sequence=offset)
        if is_base and one.data is not None:  # the profile at a cut is valid
            series.context.base(one.data)
            series.begin = one.time
        else:
            yield series.take(one)
