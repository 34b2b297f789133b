"""What the batch and the stream have in common: their arguments, and the windows of one target after the other.

    columns -> (shuffle, sort) -> arrivals -> Series: windows -> as_batches

A `Series` gets the profiles of a target in the order of their times, and decides what each becomes: a delta, a
duplicate or an error. The rules of a delta are those of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from .._answers import Report, Stage, Status
from .._context import Context, Window
from .._errors import Error, MismatchError, UsageError
from .._options import Options
from ._tables import (
    BATCH_BYTES, FLAG, NUMBER, TABLES, TEXT, Parts, arrow_schema, batches_of, bound_batches, kinds, struct,
)  # fmt: skip

BATCH_ROWS = 1000  # of a batch, at most
NUMBERS = ("bigint", "int")

# The numbers and flags of a report that are no column of the row.
_COLUMNS = ("from_nanos", "to_nanos", "sequence", "attempt", "id", "output_len")
_NUMBERS = {
    field.name: NUMBER if field.type == "int" else FLAG
    for field in fields(Report)
    if field.type in ("int", "bool") and field.name not in _COLUMNS
}
_SUMS = ("prev", "cur", "delta", "clamped", "vanished")
ERROR = struct({"status": TEXT, "stage": TEXT, "field": TEXT, "element": NUMBER, "offset": NUMBER, "text": TEXT})
# 128 bits do not fit in a decimal, but 2**64 samples of 64 bits do not fit in a profile either.
_TYPE = struct({"type": TEXT, "unit": TEXT, "is_counter": FLAG} | dict.fromkeys(_SUMS, t.DecimalType(38, 0)))
_REPORT = struct({"from_nanos": NUMBER, "to_nanos": NUMBER, **_NUMBERS, "types": t.ArrayType(_TYPE)})
_type_of, _report_of = attrgetter(*_TYPE.names), attrgetter(*_REPORT.names[:-1])
error_of = attrgetter("status.value", *ERROR.names[1:])


# ---- arguments -------------------------------------------------------------------------------------


def checked_options(
    function: str, options: Options, rows: bool, types: Iterable[str]
) -> tuple[Options, tuple[str, ...]]:
    """The options of the contexts, and with `rows` the types. What is wrong fails here, and not in a task."""
    refused = {"sequence", "started", "format"} if rows else {"sequence", "started"}
    for name in refused & options.keys():
        raise TypeError(f"{function} has no option {name!r}" + " with rows=True" * (name == "format"))
    if options.get("format") == "tables":
        raise TypeError(f"{function}: the format 'tables' is rows=True")
    types = tuple([types] if isinstance(types, str) else types) if rows else ()
    if rows and not types:
        raise ValueError("types: no value type is named")
    wanted = Options(max_memory=1 << 30, format="tables" if rows else "pprof")
    wanted.update(options)
    wanted["counters"] = tuple(options.get("counters", ()))
    wanted["gauges"] = tuple(options.get("gauges", ()))
    Context(**wanted).close()
    return wanted, types


def columns(df: DataFrame, target: str, time: str, profile: str, attributes: Iterable[str]) -> DataFrame:
    """The columns target, time, profile, and attributes, a struct or null."""
    told = list(attributes)
    for name in told:
        check_type(df, name, ("string", "map<string,string>"), "a string or a map of strings")
    check_type(df, time, ("timestamp", "timestamp_ntz", *NUMBERS), "a timestamp or an integer")
    check_type(df, profile, ("binary",), "binary")
    return df.select(
        f.col(target).alias("target"),
        f.col(time).alias("time"),
        f.col(profile).alias("profile"),
        (f.struct(*told) if told else f.lit(None)).alias("attributes"),
    )


def check_type(df: DataFrame, column: str, kinds: Iterable[str], wanted: str) -> None:
    [(_, kind)] = df.select(column).dtypes
    if kind not in kinds:
        raise TypeError(f"the column {column!r} is a {kind}, not {wanted}")


# ---- windows ---------------------------------------------------------------------------------------


class Profile(NamedTuple):
    """A row that came in."""

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


class Row(NamedTuple):
    """What becomes of a profile: a window, an error, or no more than a note."""

    target: Any
    begin: int | None
    one: Profile
    sequence: int | None = None
    note: str | None = None
    window: Window | None = None
    error: Error | None = None


class _Numbered(Context):
    """A context whose series has this id, and begins after this sequence."""

    def __init__(self, series: tuple[int, int], **options: Unpack[Options]) -> None:
        self._series = series
        super().__init__(**options)


class Series:
    """The context of a target, and the place in its time line. The stamps of its windows have an id that belongs to the
    name of the target, and the number of the row as their sequence, so that merges tell windows apart."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.context = _Numbered((0, 0), **options)

    def start(
        self, target: Any, state: bytes | None = None, sequence: int = 0, begin: int | None = None,
        last: int | None = None, seen: Iterable[int] = (),
    ) -> None:  # fmt: skip
        """Goes on with this target. If the state cannot be loaded, that error is the row of every profile."""
        self.target, self.sequence = target, sequence
        self._id = int.from_bytes(blake2b(str(target).encode(errors="surrogatepass"), digest_size=8).digest()) or 1
        self.begin = begin  # the time of the profile that the context remembers
        self.last = last  # the time of the profile before
        self.seen = set(seen)  # the hashes of the profiles with that time
        self.error: Error | None = None
        try:
            self._go_on(state, sequence)
        except Error as error:
            self.error, self.begin = error, None

    def _go_on(self, state: bytes | None, sequence: int) -> None:
        """Makes a context whose first window comes after this sequence."""
        self._numbered = sequence
        self.context.close()
        self.context = _Numbered((self._id, sequence), **self._options)
        if state is not None:
            self.context._core.load(state)

    def place(self) -> tuple[int, int | None, int | None, list[int]]:
        """With the state of the context, what `start` needs to go on."""
        return self.sequence, self.begin, self.last, sorted(self.seen)

    def refused(self, one: Profile) -> Row | None:
        """The row of a profile that has no place in the time line, which stays as it is."""
        row = partial(Row, self.target, self.begin, one)
        if self.error or self.target is None or one.time is None:
            return row(error=self.error or _null("target" if self.target is None else "time"))
        return row(note="late") if self.last is not None and one.time < self.last else None

    def take(self, one: Profile) -> Row:
        """The row of a profile. Its window is committed."""
        refused = self.refused(one)
        if refused:
            return refused
        self.sequence += 1
        row = partial(Row, self.target, self.begin, one, self.sequence)
        is_again = one.time == self.last
        if is_again and one.hash in self.seen:
            return row("duplicate")
        if one.data is None:
            return row(error=_null("profile"))
        self.seen = {one.hash} | (self.seen if is_again else set())
        self.last = one.time
        note = "equal_time" if is_again else None
        if self._numbered + 1 != self.sequence:  # a row before has no window
            self._go_on(self.context.save(), self.sequence - 1)
        try:
            window = self.context.window(one.data)
        except Error as error:
            return row(note, error=error)
        self.context.commit()
        self._numbered = self.sequence
        self.begin = one.time
        return row(note, window)


def _null(column: str) -> UsageError:
    return UsageError(f"the column of the {column} is null", Status.USAGE, Stage.OPTIONS, column)


# ---- rows ------------------------------------------------------------------------------------------


def schema(rows: DataFrame, types: tuple[str, ...]) -> t.StructType:
    """The schema of what comes of these rows: deltas or, with types of values, tables."""
    kind = {field.name: field.dataType for field in rows.schema}
    place = {"target": kind["target"], "from": kind["time"], "to": kind["time"], "attributes": kind["attributes"]}
    told = {"sequence": NUMBER, "note": TEXT, "restart": TEXT}
    tables = {name: t.ArrayType(kind) for name, kind in kinds(TABLES, types).items()} if types else {}
    return struct({**place, **told, **(tables or {"delta": t.BinaryType()}), "report": _REPORT, "error": ERROR})


def with_windows(
    rows: DataFrame, windows: Callable[[Iterable[pa.RecordBatch]], Iterator[Row]], types: tuple[str, ...]
) -> DataFrame:
    """What comes of sorted rows, by a function that computes their windows: with a column for each attribute."""
    bound_batches(rows.sparkSession)
    out = schema(rows, types)
    arrow = arrow_schema(out, rows.sparkSession)

    def computed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return as_batches(windows(batches), arrow, types)

    kind = out["attributes"].dataType
    names = [f"attributes.`{name}`" for name in kind.names] if isinstance(kind, t.StructType) else []
    first, *rest = (name for name in out.names if name != "attributes")
    return rows.mapInArrow(computed, out).select(first, *names, *rest)


def as_batches(rows: Iterable[Row], arrow: pa.Schema, types: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of bounded size."""
    parts = {name: Parts(name, pa.schema(list(arrow.field(name).type.value_type))) for name in TABLES if types}
    kept: list[tuple[Any, ...]] = []
    size = 0

    def batch() -> pa.RecordBatch:
        columns = zip(*kept, strict=True)
        arrays = (
            parts[field.name].take() if field.name in parts else pa.array(next(columns), field.type)
            for field in arrow
        )
        return pa.RecordBatch.from_arrays(list(arrays), schema=arrow)

    for target, begin, one, sequence, note, window, error in rows:
        tables: dict[str, pa.RecordBatch] = {}
        if window and types:
            try:
                tables = batches_of(window.table(), types)
            except MismatchError as none:
                window, error = None, none
        for name, part in parts.items():
            part.add(tables.get(name))
        restart, delta, report = None, None, None
        if window:
            restart, delta = window.report.restart.value, window.delta or None  # None: nothing to send
            report = (*_report_of(window.report), [*map(_type_of, window.report.types)])
            size += len(window.delta)
        deltas = () if types else (delta,)
        told = error and error_of(error)
        kept.append((target, begin, one.time, one.attributes, sequence, note, restart, *deltas, report, told))
        if len(kept) == BATCH_ROWS or size + sum(part.size for part in parts.values()) >= BATCH_BYTES:
            yield batch()
            kept, size = [], 0
    if kept:
        yield batch()
