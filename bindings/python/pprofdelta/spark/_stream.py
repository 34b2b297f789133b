"""Streaming: deltas of the profiles of a stream, as they come.

    micro-batch -> shuffle by target -> sort -> for each target: saved state + profiles -> windows + saved state

Spark's foreachBatch gives each micro-batch with its number. Each partition is a task, which reads and writes the
states of its targets by itself (see _states.py), under that number. One that fails or is stopped begins again with the
states before it, and gives the same rows.

Each partition gets a row without a target and a hash: its mark, by which the task knows its partition. So there is a
task in each micro-batch for the targets that are silent. Their clock is that of the driver at the begin of the
micro-batch before, which the files of the states have: a micro-batch that begins again forgets the same targets.
"""

from __future__ import annotations

import datetime
import heapq
import time as clocks
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from .._options import Options
from ._states import Folder, States, Waiting
from ._tables import TYPES
from ._windows import NUMBERS, Profile, Row, Series, arrivals, check_type, checked_options, columns, with_windows

_TARGETS = ("string", "boolean", "smallint", "tinyint", *NUMBERS)


def write_deltas(
    df: DataFrame,
    sink: Callable[[DataFrame, int], object],
    checkpoint: str,
    target: str = "target",
    time: str = "time",
    profile: str = "profile",
    *,
    rows: bool = False,
    types: Iterable[str] = TYPES,
    attributes: Iterable[str] = (),
    states: str | None = None,
    partitions: int | None = None,
    lateness: datetime.timedelta | int = 0,
    expire_after: datetime.timedelta | None = datetime.timedelta(days=1),
    **options: Unpack[Options],
) -> DataStreamWriter:
    """Computes the deltas of the profiles of a streaming DataFrame.

    df, target, time, profile
               as for `deltas`; the target is a string, an integer or a boolean
    sink       a function that writes the rows of a micro-batch: `sink(rows, number)`, as for `foreachBatch`
    checkpoint the folder with the checkpoint of the query
    rows, types, attributes
               as for `deltas`
    states     a folder for the states of the targets, which all workers can reach: a path, or a URI that
               `pyarrow.fs.FileSystem.from_uri` takes. None: the folder `pprofdelta` in the checkpoint
    partitions the number of tasks of a micro-batch, which belongs to the checkpoint. None: that of the
               checkpoint, and for a new one the number of cores
    lateness   a profile waits until the target has one that is newer by this much: a timedelta, or a number
               if the times are integers. Profiles that arrive within it are put in order. 0: the order is
               that of the times within a micro-batch, and nothing waits
    expire_after
               a target without an accepted profile for so long is forgotten: its waiting profiles become
               windows, and its state is removed. The clock is that of the driver, but it stands still while
               the stream has no input. None: never
    options    as for `deltas`

    The result is that of `foreachBatch`, with the checkpoint: set a trigger and a name, and call `start()`.
    The sink gets one row for each row of `df`, with the columns of `deltas`. One note is new:

    note       "late": a profile of the target with a later time has its row already. There is no delta, no
               sequence, and the state of the target is as before

    Nor has a row without a target or a time a sequence. A query that failed, was stopped or was killed begins
    again with the micro-batch that was not complete, under the same number and with the same rows. So a sink
    that replaces what it has under a number has each window exactly once:

        lambda rows, number: rows.write.mode("overwrite").parquet(f"deltas/batch={number}")

    The rows are computed each time that the sink reads them: let a sink with two outputs call `rows.persist()`.
    Arguments and options must stay the same, except for lateness and expire_after.

    A target that comes back after it was forgotten begins like a new one (see the option `first`). So
    expire_after is to be longer than any silence, also than a stop of the query itself.
    """
    wanted, values = checked_options("write_deltas", options, rows, types)
    arrived = columns(df, target, time, profile, attributes)
    if not df.isStreaming:
        raise TypeError("this DataFrame is not a stream; pprofdelta.spark.deltas is for others")
    check_type(df, target, _TARGETS, "a string, an integer or a boolean")
    wait = _lateness(lateness, dict(arrived.dtypes)["time"] in NUMBERS)
    if expire_after is not None and expire_after < datetime.timedelta(seconds=1):
        raise ValueError(f"expire_after={expire_after!r}: at least a second, or None")
    expire = None if expire_after is None else expire_after // datetime.timedelta(milliseconds=1)
    spark = df.sparkSession
    cores = spark.sparkContext.defaultParallelism
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions={partitions}: at least 1, or None")
    if (partitions or 0) > 4 * cores:
        told = f"partitions={partitions}: each is a task of each micro-batch, and there are {cores} cores"
        warnings.warn(told, stacklevel=2)
    folder = Folder(f"{checkpoint}/pprofdelta" if states is None else states)
    parts = 0

    def each_batch(sent: DataFrame, number: int) -> None:
        nonlocal parts
        parts = parts or folder.partitions(number, partitions) or cores
        part = f.pmod(f.xxhash64("target"), f.lit(parts)).cast("int").alias("part")
        nulls = (f.lit(None).cast(field.dataType).alias(field.name) for field in sent.schema)
        marks = sent.sparkSession.range(0, parts, 1, 1).select(f.col("id").cast("int"), *nulls)
        placed = sent.select(part, "*").union(marks).repartitionById(parts, "part")
        opened = partial(States, folder, number, parts, clocks.time_ns() // 1_000_000)
        windows = partial(_windows, options=wanted, opened=opened, wait=wait, expire=expire)
        computed = with_windows(placed.sortWithinPartitions("target", "time", "hash"), windows, values)
        sink(computed, number)
        if not folder.is_complete(number, parts):  # the sink did not read all rows
            computed.write.format("noop").mode("overwrite").save()
            if not folder.is_complete(number, parts):
                raise RuntimeError(f"{folder.path}: not a folder that the driver and all workers can reach")

    writer = arrived.withColumn("hash", f.xxhash64("profile")).writeStream.foreachBatch(each_batch)
    return writer.option("checkpointLocation", checkpoint)


def _lateness(lateness: datetime.timedelta | int, is_number: bool) -> int:
    if lateness and isinstance(lateness, datetime.timedelta) == is_number:
        wanted = "a number, since the times are integers" if is_number else "a timedelta, as the times are timestamps"
        raise TypeError(f"lateness={lateness!r}: {wanted}")
    wait = lateness // datetime.timedelta(microseconds=1) if isinstance(lateness, datetime.timedelta) else lateness
    if wait < 0:
        raise ValueError(f"lateness={lateness!r}: at least 0")
    return wait


def _windows(
    batches: Iterable[pa.RecordBatch], options: Options, opened: Callable[[int], States], wait: int, expire: int | None
) -> Iterator[Row]:
    """The windows of the targets of a partition, in one micro-batch."""
    rows = arrivals(batches, "part", "target")
    series = Series(options)
    for part, *_ in islice(rows, 1):  # the mark
        with closing(opened(part)) as states:
            for target, group in groupby(rows, key=itemgetter(1)):
                yield from _windows_of(target, (one for *_, one in group), series, states, wait)
            for target in states.silent(expire):
                state, place, waiting = states.read(target)
                series.start(target, state, *place)
                yield from map(series.take, waiting.until())
                del states.index[target]
            states.commit()


def _windows_of(
    target: Any, arrived: Iterator[Profile], series: Series, states: States, wait: int
) -> Iterator[Row]:
    """The windows of a target, whose profiles arrive in the order of their times."""
    state, place, waited = states.read(target)
    series.start(target, state, *place)
    for one in arrived:
        refused = series.refused(one)
        if not refused:
            break
        yield refused
    else:
        return
    waiting = Waiting()
    for one in heapq.merge(waited.until(), chain([one], arrived), key=itemgetter(0, 1)):
        for earlier in waiting.until(one.time - wait):
            yield series.take(earlier)
        if wait:
            waiting.add(one)
        else:
            yield series.take(one)
    states.write(target, series.context.save(), series.place(), waiting)
