"""The windows of one target after the other, profile by profile in the order of their times, and their rows.

The batch and the stream have this in common. A `Series` decides what a profile becomes: a delta, a duplicate or an
error. The rules of a delta are those of the context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from .._answers import Report, Status
from .._context import Context, Window
from .._errors import Error, MismatchError, UsageError
from .._options import Options
from ._input import FLAG, NUMBER, TEXT, Profile, struct
from ._tables import BATCH_BYTES, TABLES, Parts, batches_of, kinds

BATCH_ROWS = 1000  # of a batch, at most

# The numbers and flags of a report that are no column of the row.
_COLUMNS = ("from_nanos", "to_nanos", "sequence", "attempt", "id", "output_len")
_NUMBERS = {
    field.name: NUMBER if field.type == "int" else FLAG
    for field in fields(Report)
    if field.type in ("int", "bool") and field.name not in _COLUMNS
}
_SUMS = ("prev", "cur", "delta", "clamped", "vanished")
_ERROR = struct({"status": TEXT, "stage": TEXT, "field": TEXT, "element": NUMBER, "offset": NUMBER, "text": TEXT})
# 128 bits do not fit in a decimal, but 2**64 samples of 64 bits do not fit in a profile either.
_TYPE = struct({"type": TEXT, "unit": TEXT, "is_counter": FLAG} | dict.fromkeys(_SUMS, t.DecimalType(38, 0)))
_REPORT = struct({"from_nanos": NUMBER, "to_nanos": NUMBER, **_NUMBERS, "types": t.ArrayType(_TYPE)})
_type_of, _report_of = attrgetter(*_TYPE.names), attrgetter(*_REPORT.names[:-1])
_error_of = attrgetter("status.value", *_ERROR.names[1:])


class Row(NamedTuple):
    """What becomes of a profile: a window, an error, or no more than a note."""

    target: Any
    begin: int | None
    one: Profile
    sequence: int | None
    note: str | None
    window: Window | None
    error: Error | None


class Series:
    """One context, and the place in the time line of its target."""

    def __init__(self, options: Options) -> None:
        self.context = Context(**options)
        self._empty = self.context.save()

    def start(
        self, target: Any, state: bytes | None = None, sequence: int = 0, begin: int | None = None,
        last: int | None = None, seen: Iterable[int] = (),
    ) -> None:  # fmt: skip
        """Goes on with this target. If the state cannot be loaded, that error is the row of every profile."""
        self.target, self.sequence = target, sequence
        self.begin = begin  # the time of the profile that the context remembers
        self.last = last  # the time of the profile before
        self.seen = set(seen)  # the hashes of the profiles with that time
        self.error: Error | None = None
        try:
            self.context._core.load(self._empty if state is None else state)
        except Error as error:
            self.error, self.begin = error, None

    def place(self) -> tuple[int, int | None, int | None, list[int]]:
        """With the state of the context, what `start` needs to go on."""
        return self.sequence, self.begin, self.last, sorted(self.seen)

    def base(self, one: Profile) -> None:
        """The profile before the first window of this series."""
        self.context.base(one.data)
        self.begin = one.time

    def _row(
        self, one: Profile, sequence: int | None, note: str | None = None, window: Window | None = None,
        error: Error | None = None,
    ) -> Row:  # fmt: skip
        return Row(self.target, self.begin, one, sequence, note, window, error)

    def refused(self, one: Profile) -> Row | None:
        """The row of a profile that has no place in the time line, which stays as it is."""
        if self.error or self.target is None or one.time is None:
            return self._row(one, None, error=self.error or _null("target" if self.target is None else "time"))
        return self._row(one, None, "late") if self.last is not None and one.time < self.last else None

    def take(self, one: Profile) -> Row:
        """The row of a profile. Its window is committed."""
        refused = self.refused(one)
        if refused:
            return refused
        self.sequence += 1
        is_again = one.time == self.last
        if is_again and one.hash in self.seen:
            return self._row(one, self.sequence, "duplicate")
        if one.data is None:
            return self._row(one, self.sequence, error=_null("profile"))
        self.seen = {one.hash} | (self.seen if is_again else set())
        self.last = one.time
        note = "equal_time" if is_again else None
        try:
            window = self.context.window(one.data)
        except Error as error:
            return self._row(one, self.sequence, note, error=error)
        row = self._row(one, self.sequence, note, window)
        self.context.commit()
        self.begin = one.time
        return row


def _null(column: str) -> UsageError:
    return UsageError(f"the column of the {column} is null", Status.USAGE, "row", column)


# ---- rows -------------------------------------------------------------------------------------------


def schema(rows: DataFrame, types: tuple[str, ...]) -> t.StructType:
    """The schema of what comes of these rows: deltas or, with types of values, tables."""
    kind = {field.name: field.dataType for field in rows.schema}
    place = {"target": kind["target"], "from": kind["time"], "to": kind["time"], "attributes": kind["attributes"]}
    told = {"sequence": NUMBER, "note": TEXT, "restart": TEXT}
    tables = {name: t.ArrayType(kind) for name, kind in kinds(TABLES, types).items()} if types else {}
    return struct({**place, **told, **(tables or {"delta": t.BinaryType()}), "report": _REPORT, "error": _ERROR})


def flat(rows: DataFrame) -> DataFrame:
    """The rows with a column for each attribute."""
    kind = rows.schema["attributes"].dataType
    names = [f"attributes.`{name}`" for name in kind.names] if isinstance(kind, t.StructType) else []
    first, *rest = (name for name in rows.columns if name != "attributes")
    return rows.select(first, *names, *rest)


def as_batches(rows: Iterable[Row], arrow: pa.Schema, types: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of bounded size."""
    parts = {name: Parts(name, pa.schema(list(arrow.field(name).type.value_type))) for name in TABLES if types}
    kept: list[tuple[Any, ...]] = []
    size = 0

    def batch() -> pa.RecordBatch:
        columns = zip(*kept, strict=True)
        arrays = (
            parts[field.name].arrays() if field.name in parts else pa.array(next(columns), field.type)
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
            restart, delta = window.report.restart.value, window.delta
            report = (*_report_of(window.report), [*map(_type_of, window.report.types)])
            size += len(delta)
        deltas = () if types else (delta,)
        told = error and _error_of(error)
        kept.append((target, begin, one.time, one.attributes, sequence, note, restart, *deltas, report, told))
        if len(kept) == BATCH_ROWS or size + sum(part.size for part in parts.values()) >= BATCH_BYTES:
            yield batch()
            kept, size = [], 0
    if kept:
        yield batch()
