"""The rows that come out: one for each profile, with its delta or its error.

`Rows` collects them in columns, and makes Arrow batches of bounded size.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from .._errors import Error
from .._answers import Report
from .._context import Window

# A batch is complete when its deltas have this many bytes, or when it has this many rows.
BATCH_BYTES = 8 << 20
BATCH_ROWS = 1000

# The numbers and flags of a report that are no column of the row.
_COLUMNS = ("from_nanos", "to_nanos", "sequence", "attempt", "id", "output_len")
_NUMBERS = {
    field.name: t.LongType() if field.type == "int" else t.BooleanType()
    for field in fields(Report)
    if field.type in ("int", "bool") and field.name not in _COLUMNS
}
_SUMS = ("prev", "cur", "delta", "clamped", "vanished")

_ERROR = t.StructType(
    [t.StructField(name, t.StringType()) for name in ("status", "stage", "field")]
    + [t.StructField(name, t.LongType()) for name in ("element", "offset")]
    + [t.StructField("text", t.StringType())]
)
# 128 bits do not fit in a decimal, but 2**64 samples of 64 bits do not fit in a profile either.
_TYPE = t.StructType(
    [
        t.StructField("type", t.StringType()),
        t.StructField("unit", t.StringType()),
        t.StructField("is_counter", t.BooleanType()),
        *(t.StructField(name, t.DecimalType(38, 0)) for name in _SUMS),
    ]
)
_REPORT = t.StructType(
    [
        t.StructField("from_nanos", t.LongType()),
        t.StructField("to_nanos", t.LongType()),
        *(t.StructField(name, kind) for name, kind in _NUMBERS.items()),
        t.StructField("types", t.ArrayType(_TYPE)),
    ]
)


def schema(target: t.DataType, time: t.DataType) -> t.StructType:
    """The schema of the rows, for a target and a time of these types."""
    return t.StructType(
        [
            t.StructField("target", target),
            t.StructField("from", time),
            t.StructField("to", time),
            t.StructField("sequence", t.LongType()),
            t.StructField("note", t.StringType()),
            t.StructField("restart", t.StringType()),
            t.StructField("delta", t.BinaryType()),
            t.StructField("report", _REPORT),
            t.StructField("error", _ERROR),
        ]
    )


def arrow_schema(out: t.StructType, spark: SparkSession) -> pa.Schema:
    try:
        return to_arrow_schema(out, timezone=spark.conf.get("spark.sql.session.timeZone") or "UTC")
    except TypeError:  # before Spark 4.3, timestamps are in UTC
        return to_arrow_schema(out)


class Rows:
    """Rows on their way to a batch."""

    def __init__(self, arrow: pa.Schema) -> None:
        self.arrow = arrow
        self._clear()

    def _clear(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.bytes = 0

    @property
    def is_full(self) -> bool:
        return self.bytes >= BATCH_BYTES or len(self.rows) >= BATCH_ROWS

    def add(
        self,
        target: Any,
        begin: int | None,
        end: int | None,
        sequence: int | None,
        note: str | None = None,
        window: Window | None = None,
        error: Error | None = None,
    ) -> None:
        restart, delta, report = None, None, None
        if window:
            restart, delta = window.report.restart.value, window.delta
            report = _report_of(window.report)
            self.bytes += len(delta)
        self.rows.append((target, begin, end, sequence, note, restart, delta, report, error and _error_of(error)))

    def batch(self) -> pa.RecordBatch:
        """The rows as a batch. There are none afterwards."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.arrow)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.arrow, strict=True)]
        self._clear()
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow)


def _report_of(report: Report) -> dict[str, Any]:
    types = [{name: getattr(one, name) for name in _TYPE.names} for one in report.types]
    return {"types": types, **{name: getattr(report, name) for name in _REPORT.names[:-1]}}


def _error_of(error: Error) -> dict[str, Any]:
    return {"status": error.status.value, **{name: getattr(error, name) for name in _ERROR.names[1:]}}
