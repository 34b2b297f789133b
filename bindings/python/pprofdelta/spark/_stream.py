"""Streaming: deltas of the profiles of a stream, as they come.

    profiles -> shuffle by target -> for each target: saved state + profiles in order -> windows + saved state

The state of a target is in the state store of the engine: the state that the library saves, and the place
in the time line. The engine's checkpoint commits it together with the micro-batch. A micro-batch that fails
or is stopped begins again with the state before it, and gives the same rows.

Profiles wait until all that are allowed to arrive before them have arrived. Within a call they wait in
memory, up to `_HELD_BYTES`; the others wait in the state store, too. So the memory of a worker does not
depend on how many profiles of a target a micro-batch has.

A timer belongs to each state. It is set once and, when it expires, set again for as long as there was news of
the target in between. So a profile does not cost a change of the timer.

The clock of the timers is the watermark of a column that has the time of the micro-batch, with a delay of
`expire_after`: a timer at the time of the last news expires when the news is that old. The clock stands still
while nothing comes in. With timers on the clock of the machine, Spark makes micro-batches without end, and the
trigger availableNow never ends.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from .._context import Context
from .._errors import Error
from .._options import Options
from ._input import bound_batches, checked_options, columns
from ._rows import Rows, schema
from ._series import Series, null_error

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATES = "org.apache.spark.sql.execution.streaming.state"
_TARGETS = (t.StringType, t.LongType, t.IntegerType, t.ShortType, t.ByteType, t.BooleanType, t.DateType)
_HELD_BYTES = 32 << 20
_OUT = schema(t.StringType(), t.LongType())
_MEMORY = t.StructType(
    [
        t.StructField("state", t.BinaryType()),  # Context.save
        t.StructField("begin", t.LongType()),  # Series.begin
        t.StructField("last", t.LongType()),  # Series.last
        t.StructField("seen", t.ArrayType(t.LongType())),  # Series.seen
        t.StructField("sequence", t.LongType()),  # Series.sequence
        t.StructField("waiting", t.LongType()),  # the number of profiles that wait in the store
        t.StructField("news", t.LongType()),  # the micro-batch of the last accepted profile, ms since 1970
    ]
)
# Profiles that wait. Those with copy > 0 are copies of the first, and have no bytes.
_PLACE = t.StructType([t.StructField(name, t.LongType()) for name in ("time", "hash", "copy")])
_PROFILE = t.StructType([t.StructField("profile", t.BinaryType())])


def stream_deltas(
    df: DataFrame,
    target: str = "target",
    time: str = "time",
    profile: str = "profile",
    *,
    lateness: datetime.timedelta | int = 0,
    expire_after: datetime.timedelta | None = datetime.timedelta(days=1),
    **options: Unpack[Options],
) -> DataFrame:
    """Computes the deltas of the profiles of a streaming DataFrame.

    df         one row for each cumulative profile
    target     the column with the name of the target: a string, an integer, a boolean or a date
    time       the column that orders the profiles of a target: a timestamp or an integer
    profile    the column with the bytes of the profile
    lateness   a profile waits until the target has one that is newer by this much: a timedelta, or a number
               if the times are integers. Profiles that arrive within it are put in order. 0: the order is
               that of the times within a micro-batch, and nothing waits
    expire_after
               a target without an accepted profile for so long is forgotten: its waiting profiles become
               windows, and its state is removed. The clock is that of the machine, but it stands still
               while the stream has no input. None: never
    options    as for `pprofdelta.Context`, without `sequence` and `started`; max_memory is 1 GiB unless
               it is given

    The result has one row for each row of `df`, with the columns of `deltas`. One note is new:

    note       "late": a profile of the target with a later time has its row already. There is no delta, no
               sequence, and the state of the target is as before

    Nor has a row without a target or a time a sequence. Write the result in the output mode "append", to a
    sink that takes each micro-batch once, such as files. Then each window is there exactly once, however
    often the query fails, is stopped or is killed: start it again with the same checkpoint. Arguments and
    options must stay the same, except for lateness, and for the length of expire_after.

    A target that comes back after it was forgotten begins like a new one: with the option first="full" the
    window counts from the start of its process again, and `report.had_base` is false. So expire_after is to be
    longer than any silence, also than a stop of the query itself.

    The state is in Spark's RocksDB state store. If the session has the default state store, which cannot do
    this, the setting spark.sql.streaming.stateStore.providerClass is changed.
    """
    wanted = checked_options("stream_deltas", options)
    rows = columns(df, target, time, profile)
    kinds = {field.name: field.dataType for field in rows.schema}
    if not df.isStreaming:
        raise TypeError("this DataFrame is not a stream; pprofdelta.spark.deltas is for others")
    if not isinstance(kinds["target"], _TARGETS):
        kind = kinds["target"].simpleString()
        raise TypeError(f"the column {target!r} is a {kind}, not a string, an integer, a boolean or a date")
    wait = _lateness(lateness, kinds["time"])
    if expire_after is not None and expire_after < datetime.timedelta(seconds=1):
        raise ValueError(f"expire_after={expire_after!r}: at least a second, or None")
    spark = df.sparkSession
    bound_batches(spark)
    if spark.conf.get(_PROVIDER) == f"{_STATES}.HDFSBackedStateStoreProvider":
        spark.conf.set(_PROVIDER, f"{_STATES}.RocksDBStateStoreProvider")

    # pandas has no null in a column of integers, so the time has one value instead of null.
    number = _number(f.col("time"), kinds["time"])
    sent = rows.select(
        f.col("target").cast("string").alias("target"),
        f.coalesce(number, f.lit(0)).alias("time"),
        f.col("time").isNull().alias("is_untimed"),
        f.xxhash64("profile").alias("hash"),
        f.current_timestamp().alias("batch"),
        "profile",
    )
    if expire_after is not None:
        sent = sent.withWatermark("batch", f"{expire_after // datetime.timedelta(milliseconds=1)} milliseconds")
    out = sent.groupBy("target").transformWithStateInPandas(
        _Processor(wanted, wait, expire_after is not None),
        outputStructType=_OUT,
        outputMode="append",
        timeMode="none" if expire_after is None else "eventTime",
    )
    return out.withColumns(
        {
            "target": f.col("target").cast(kinds["target"]),
            **{name: _time(f.col(name), kinds["time"]) for name in ("from", "to")},
        }
    )


# ---- times as integers ------------------------------------------------------------------------------

_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"


def _lateness(lateness: datetime.timedelta | int, kind: t.DataType) -> int:
    is_number = isinstance(kind, (t.LongType, t.IntegerType))
    if isinstance(lateness, datetime.timedelta):
        if is_number:
            raise TypeError(f"lateness={lateness!r}: a number, since the times are integers")
        wait = lateness // datetime.timedelta(microseconds=1)
    elif lateness and not is_number:
        raise TypeError(f"lateness={lateness!r}: a timedelta, since the times are timestamps")
    else:
        wait = lateness
    if wait < 0:
        raise ValueError(f"lateness={lateness!r}: at least 0")
    return wait


def _number(time: Column, kind: t.DataType) -> Column:
    if isinstance(kind, t.TimestampType):
        return f.unix_micros(time)
    if isinstance(kind, t.TimestampNTZType):
        return f.timestamp_diff("MICROSECOND", f.expr(_EPOCH), time)
    return time.cast("long")


def _time(number: Column, kind: t.DataType) -> Column:
    if isinstance(kind, t.TimestampType):
        return f.timestamp_micros(number)
    if isinstance(kind, t.TimestampNTZType):
        return f.timestamp_add("MICROSECOND", number, f.expr(_EPOCH))
    return number.cast(kind)


# ---- targets ----------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where a profile belongs. Copies of a profile differ in the last part."""

    time: int
    hash: int
    copy: int


class _Waiting:
    """The profiles of a target that wait, in memory or in the state store."""

    def __init__(self, stored: MapState, count: int) -> None:
        self.stored = stored
        self.held: dict[_Place, bytes | None] = {}
        self.bytes = 0
        self.in_store = {_Place(*place) for place in stored.keys()} if count else set()
        self.copies = Counter(place[:2] for place in self.in_store)

    @property
    def newest(self) -> int:
        """The latest time. There is a profile."""
        return max(time for time, _ in self.copies)

    def add(self, time: int, key: int, profile: bytes | None) -> None:
        copy = self.copies[time, key]
        self.copies[time, key] += 1
        self.held[_Place(time, key, copy)] = None if copy else profile
        self.bytes += 0 if copy or not profile else len(profile)
        if self.bytes > _HELD_BYTES:
            self.store()

    def store(self) -> None:
        """Moves the profiles that are in memory to the state store."""
        for place, profile in self.held.items():
            self.stored.updateValue(place, (profile,))
        self.in_store.update(self.held)
        self.held.clear()
        self.bytes = 0

    def until(self, time: int | None) -> Iterator[tuple[_Place, bytes | None]]:
        """Removes the profiles until this time (None: all), and gives them in order."""
        for place in sorted([*self.held, *self.in_store]):
            if time is not None and place.time > time:
                break
            self.copies[place[:2]] -= 1
            if place in self.held:
                yield place, self.held.pop(place)
            else:
                self.in_store.remove(place)
                value = self.stored.getValue(place)
                self.stored.removeKey(place)
                yield place, value[0] if value else None
        self.copies = +self.copies

    def __len__(self) -> int:
        return len(self.held) + len(self.in_store)


class _Processor(StatefulProcessor):
    """What the engine calls for each target of a micro-batch, and for each timer that expired."""

    memory: ValueState
    waiting: MapState

    def __init__(self, options: Options, wait: int, expires: bool) -> None:
        self.options, self.wait, self.expires = options, wait, expires

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.memory = handle.getValueState("memory", _MEMORY)
        self.waiting = handle.getMapState("waiting", _PLACE, _PROFILE)

    def handleInputRows(
        self, key: Any, rows: Iterable[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        out = Rows(to_arrow_schema(_OUT))
        [target] = key
        memory = self._memory()
        waiting = _Waiting(self.waiting, memory.waiting if memory else 0)
        try:
            series = self._series(target, memory)
        except Error as error:
            for _, time, is_untimed, *_ in _each(rows):
                out.add(target, None, None if is_untimed else time, None, error=error)
                if out.is_full:
                    yield _frame(out)
            yield _frame(out)
            return
        with series.context:
            news = None
            for _, time, is_untimed, hash_, batch, profile in _each(rows):
                if target is None or is_untimed:
                    null = null_error("target" if target is None else "time")
                    out.add(target, series.begin, None if is_untimed else time, None, error=null)
                elif series.last is not None and time < series.last:
                    out.add(target, series.begin, time, None, "late")
                else:
                    waiting.add(time, hash_, profile)
                    news = batch
                if out.is_full:
                    yield _frame(out)
            if news:
                yield from self._windows(out, series, waiting, waiting.newest - self.wait)
                self._remember(series, waiting, int(news.timestamp() * 1000), memory is None)
        if out.rows:
            yield _frame(out)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        memory = self._memory()
        if memory is None:
            return
        if memory.news > timerValues.getCurrentWatermarkInMs():
            self.handle.registerTimer(memory.news)
            return
        out = Rows(to_arrow_schema(_OUT))
        [target] = key
        waiting = _Waiting(self.waiting, memory.waiting)
        try:
            series = self._series(target, memory)
        except Error as error:
            for place, _ in waiting.until(None):
                out.add(target, None, place.time, None, error=error)
        else:
            with series.context:
                yield from self._windows(out, series, waiting, None)
        if out.rows:
            yield _frame(out)
        self.memory.clear()

    def _memory(self) -> _Memory | None:
        value = self.memory.get()
        return None if value is None else _Memory(*value)

    def _series(self, target: Any, memory: _Memory | None) -> Series:
        if memory is None:
            return Series(target, Context(**self.options))
        series = Series(target, Context.load(memory.state, **self.options), memory.sequence)
        series.begin, series.last, series.seen = memory.begin, memory.last, set(memory.seen)
        return series

    def _windows(self, out: Rows, series: Series, waiting: _Waiting, until: int | None) -> Iterator[pd.DataFrame]:
        for place, profile in waiting.until(until):
            series.take(out, place.time, place.hash, profile)
            if out.is_full:
                yield _frame(out)

    def _remember(self, series: Series, waiting: _Waiting, news: int, is_new: bool) -> None:
        waiting.store()
        state, seen = series.context.save(), sorted(series.seen)
        self.memory.update(
            _Memory(state, series.begin, series.last, seen, series.sequence, len(waiting), news)
        )
        if is_new and self.expires:
            self.handle.registerTimer(news)


class _Memory(NamedTuple):
    """The fields of `_MEMORY`."""

    state: bytes
    begin: int | None
    last: int | None
    seen: list[int]
    sequence: int
    waiting: int
    news: int


def _each(frames: Iterable[pd.DataFrame]) -> Iterator[tuple[Any, ...]]:
    for frame in frames:
        yield from frame.itertuples(index=False, name=None)


def _frame(out: Rows) -> pd.DataFrame:
    return out.batch().to_pandas(integer_object_nulls=True)
