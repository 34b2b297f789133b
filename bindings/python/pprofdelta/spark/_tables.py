"""The tables of deltas as DataFrames. libpprofdelta-tables(3) has what is in them.

With rows=True, the row of a window has its four tables as arrays. Other deltas are read here. A task gives each stack,
location and function once, so the tables are those of all rows together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from .._answers import Stage, Status
from .._context import Tables, table
from .._errors import Error, MismatchError

TEXT, NUMBER, FLAG = t.StringType(), t.LongType(), t.BooleanType()
TABLES = ("samples", "stacks", "locations", "functions")
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "contentions", "delay")
_LEFT_OUT = ("delta", "note", "report", "error", *TABLES)
BATCH_BYTES = 8 << 20  # a batch is complete when its deltas or tables have this many bytes
_LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
_KNOWN_IDS = 1 << 20  # of a table. Then a task forgets them, and their rows come once more
_TIME = t.TimestampType()
_STAMP = {"target": TEXT, "from": _TIME, "time": _TIME, "sequence": NUMBER, "attempt": NUMBER, "restart": FLAG}
_KINDS = {
    "samples": "stack_id bigint, {}, labels array<struct<key string, str string, num bigint, unit string>>",
    "stacks": "stack_id bigint, location_ids array<bigint>",
    "locations": "location_id bigint, build_id string, file string, address bigint, "
    "lines array<struct<function_id bigint, line bigint, inlined boolean>>",
    "functions": "function_id bigint, name string, system_name string, file string, start_line bigint",
}


def samples(deltas: DataFrame, *, delta: str = "delta", types: Iterable[str] = TYPES) -> DataFrame:
    """The samples of deltas: a row for each.

    deltas     what `deltas` or the sink of `write_deltas` gives, with rows=True or without; or any other
               DataFrame, also a stream, with a column of deltas
    delta      the column with the delta; null: there is none. Not used with rows=True
    types      the value types that become columns. A type that a delta has not is null, and its other types
               are left out; a delta with none of them is an error. With rows=True, those of `deltas`

    The columns are those of `deltas`, without the delta, its note, its report and its error; `to` is called time,
    and restart is a flag. Then come stack_id, a column for each of `types`, and labels. If `deltas` lacks target,
    from, time, sequence (and attempt) or restart, they come from the stamp of the delta, as in pprofdelta-export(1).

    A delta that is damaged ends the job: the error has its row.
    """
    if "to" in deltas.columns:
        deltas = deltas.withColumnRenamed("to", "time")
    if dict(deltas.dtypes).get("restart") == "string":
        deltas = deltas.withColumn("restart", f.col("restart") != "none")
    own = [name for name in deltas.columns if name not in (*_LEFT_OUT, delta.strip("`"))]
    if "samples" in deltas.columns:
        return deltas.select(*(f"`{name}`" for name in own), f.inline("samples"))
    return _read(deltas, "samples", delta, types, own)


def stacks(deltas: DataFrame, *, delta: str = "delta") -> DataFrame:
    """The stacks of deltas, each once: stack_id, location_ids. For the arguments see `samples`.

    Of a stream, a stack comes once in each task of a micro-batch that has it.
    """
    return _distinct(deltas, "stacks", delta)


def locations(deltas: DataFrame, *, delta: str = "delta") -> DataFrame:
    """The locations, as the function `stacks` gives stacks: location_id, build_id, file, address, lines. An address
    above 2**63 - 1 is negative, because Spark has no unsigned numbers."""
    return _distinct(deltas, "locations", delta)


def functions(deltas: DataFrame, *, delta: str = "delta") -> DataFrame:
    """The functions, as the function `stacks` gives stacks: function_id, name, system_name, file, start_line."""
    return _distinct(deltas, "functions", delta)


def _distinct(deltas: DataFrame, name: str, delta: str) -> DataFrame:
    rows = deltas.select(f.inline(name)) if name in deltas.columns else _read(deltas, name, delta, (), ())
    return rows if deltas.isStreaming else rows.dropDuplicates(rows.columns[:1])


def kinds(names: Iterable[str], types: Iterable[str]) -> dict[str, Any]:
    """The types of the rows of the tables with these names."""
    values = ", ".join(f"`{name}` bigint" for name in types)
    return {name: t.DataType.fromDDL(f"struct<{_KINDS[name].format(values)}>") for name in names}


def _read(deltas: DataFrame, name: str, delta: str, types: Iterable[str], own: Iterable[str]) -> DataFrame:
    """The rows of a table of deltas, behind these columns of their deltas."""
    types = tuple(types)
    bound_batches(deltas.sparkSession)
    rows = deltas.select(f.col(delta).alias("delta"), *(f"`{one}`" for one in own))
    beside = {field.name: field.dataType for field in rows.schema.fields[1:]}
    known = (*beside, "attempt" if "sequence" in beside else "")
    stamp = {one: kind for one, kind in _STAMP.items() if name == "samples" and one not in known}
    out = t.StructType([*struct(beside | stamp).fields, *kinds([name], types)[name]])
    arrow = arrow_schema(out, deltas.sparkSession)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = Parts(name, pa.schema(list(arrow)[len(beside) :]))
        for batch in batches:
            for number, delta in enumerate(batch.column(0)):
                try:
                    parts.add(batches_of(table(delta.as_buffer()), types)[name] if delta.is_valid else None)
                except Error as error:
                    error.add_note(f"in the row {batch.slice(number, 1).drop_columns('delta').to_pylist()}")
                    raise
                if parts.size >= BATCH_BYTES or number == len(batch) - 1:
                    found = parts.take()
                    first, parents = number + 1 - len(found), pc.list_parent_indices(found)
                    own = [column.slice(first).take(parents) for column in batch.columns[1:]]
                    yield pa.RecordBatch.from_arrays([*own, *found.flatten().flatten()], schema=arrow)

    # mapInArrow cannot have a dot in the name of a column that comes in.
    return rows.toDF("delta", *map(str, range(len(beside)))).mapInArrow(read, out)


# ---- Arrow ------------------------------------------------------------------------------------------


def bound_batches(spark: SparkSession) -> None:
    """Limits the bytes of an Arrow batch, if the session has no limit. Older versions have none."""
    if (spark.conf.get(_LIMIT) or "").rstrip("b") == str(2**31 - 1):
        spark.conf.set(_LIMIT, str(64 << 20))


def struct(kinds: Mapping[str, t.DataType]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in kinds.items()])


def arrow_schema(out: t.StructType, spark: SparkSession) -> pa.Schema:
    try:
        return to_arrow_schema(out, timezone=spark.conf.get("spark.sql.session.timeZone") or "UTC")
    except TypeError:  # before Spark 4.3, timestamps are in UTC
        return to_arrow_schema(out)


def batches_of(tables: Tables, types: Iterable[str]) -> dict[str, pa.RecordBatch]:
    found = {name: pa.record_batch(getattr(tables, name)) for name in TABLES}
    if types and not set(types) & set(found["samples"].schema.names):
        told = f"the profile has none of the types {', '.join(types)}; `types` names those that become columns"
        raise MismatchError(told, Status.MISMATCH, Stage.WRITE)
    return found


class Parts:
    """The rows of one table on their way to a batch. Those that came before, also in an earlier batch, are left out."""

    def __init__(self, name: str, arrow: pa.Schema) -> None:
        self.arrow = arrow
        self.known: set[int] | None = None if name == "samples" else set()
        self._clear()

    def _clear(self) -> None:
        self.parts: list[pa.Table] = []
        self.counts: list[int | None] = []  # the rows of each delta; None: there is no delta
        self.size = 0

    def add(self, rows: pa.RecordBatch | None) -> None:
        """Adds the rows of a delta."""
        if rows is not None and self.known is not None:
            ids = rows.column(0).to_pylist()
            new = [number for number, one in enumerate(ids) if one not in self.known]
            if len(self.known) > _KNOWN_IDS:
                self.known.clear()
            self.known.update(ids)
            rows = rows.take(pa.array(new, pa.int64()))
        self.counts.append(None if rows is None else len(rows))
        if rows:
            self.parts.append(pa.Table.from_batches([rows]))
            self.size += rows.nbytes

    def take(self) -> pa.ListArray:
        """An array of rows for each delta, as Spark takes them: without dictionaries and unsigned numbers. There are
        none afterwards."""
        rows = pa.concat_tables(self.parts, promote_options="default") if self.parts else self.arrow.empty_table()
        for field in self.arrow:
            if field.name not in rows.schema.names:
                rows = rows.append_column(field, pa.nulls(len(rows), field.type))
        rows = rows.select(self.arrow.names).cast(self.arrow, safe=False)
        values = pa.StructArray.from_arrays([one.combine_chunks() for one in rows.columns], fields=list(self.arrow))
        ends = pa.array(accumulate((count or 0 for count in self.counts), initial=0), pa.int32())
        is_null = pa.array([count is None for count in self.counts], pa.bool_())
        self._clear()
        return pa.ListArray.from_arrays(ends, values, mask=is_null)
