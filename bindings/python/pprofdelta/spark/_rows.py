"""The rows that come out: one for each profile, with its delta or its error.

`Rows` collects them in columns, and makes Arrow batches of bounded size.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import repeat
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from .._answers import Report
from .._context import Window
from .._errors import Error, MismatchError
from ._input import FLAG, NUMBER, TEXT, Profile, struct
from ._tables import BATCH_BYTES, TABLES, Arrays, batches_of, kinds

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


def schema(rows: DataFrame, types: tuple[str, ...]) -> t.StructType:
    """The schema of what comes of these rows: deltas or, with types of values, tables."""
    kind = {field.name: field.dataType for field in rows.schema}
    place = {"target": kind["target"], "from": kind["time"], "to": kind["time"], "attributes": kind["attributes"]}
    told = {"sequence": NUMBER, "note": TEXT, "restart": TEXT}
    deltas = kinds(TABLES, types) if types else {"delta": t.BinaryType()}
    return struct({**place, **told, **deltas, "report": _REPORT, "error": _ERROR})


def flat(rows: DataFrame) -> DataFrame:
    """The rows with a column for each attribute."""
    kind = rows.schema["attributes"].dataType
    names = [f"attributes.`{name}`" for name in kind.names] if isinstance(kind, t.StructType) else []
    first, *rest = (name for name in rows.columns if name != "attributes")
    return rows.select(first, *names, *rest)


class Rows:
    """Rows on their way to a batch."""

    def __init__(self, arrow: pa.Schema, types: tuple[str, ...]) -> None:
        self.arrow, self.types = arrow, types
        self.arrays = {name: Arrays(name, arrow.field(name).type) for name in (TABLES if types else ())}
        self._clear()

    def _clear(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.bytes = 0

    @property
    def is_full(self) -> bool:
        return self.bytes >= BATCH_BYTES or len(self.rows) >= BATCH_ROWS

    def add(
        self, target: Any, begin: int | None, one: Profile, sequence: int | None, note: str | None = None,
        window: Window | None = None, error: Error | None = None,
    ) -> None:  # fmt: skip
        tables: dict[str, pa.RecordBatch] = {}
        if window and self.types:
            try:
                tables = batches_of(window.table(), self.types)
            except MismatchError as none:
                window, error = None, none
        for name, arrays in self.arrays.items():
            self.bytes += arrays.add(tables.get(name))
        restart, delta, report = None, None, None
        if window:
            restart, delta = window.report.restart.value, window.delta
            report = _report_of(window.report)
            self.bytes += len(delta)
        deltas = () if self.types else (delta,)
        told = error and _error_of(error)
        self.rows.append((target, begin, one.time, one.attributes, sequence, note, restart, *deltas, report, told))

    def batch(self) -> pa.RecordBatch:
        """The rows as a batch. There are none afterwards."""
        columns = zip(*self.rows, strict=True) if self.rows else repeat(())
        self._clear()
        found = [
            self.arrays[field.name].array() if field.name in self.arrays else pa.array(next(columns), field.type)
            for field in self.arrow
        ]
        return pa.RecordBatch.from_arrays(found, schema=self.arrow)


def _report_of(report: Report) -> dict[str, Any]:
    types = [{name: getattr(one, name) for name in _TYPE.names} for one in report.types]
    return {"types": types, **{name: getattr(report, name) for name in _REPORT.names[:-1]}}


def _error_of(error: Error) -> dict[str, Any]:
    return {"status": error.status.value, **{name: getattr(error, name) for name in _ERROR.names[1:]}}
