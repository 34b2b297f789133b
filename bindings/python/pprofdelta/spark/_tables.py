"""The tables of deltas as DataFrames. libpprofdelta-tables(3) has what is in them.

    window -> its four tables -> four arrays in the row of the window -> a row for each element

Each row has the samples of its window. It has those stacks, locations and functions that no row before it in the same
task has, so the tables are those of all rows together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from .._answers import Status
from .._context import Tables, table
from .._errors import Error, MismatchError
from ._input import FLAG, NUMBER, TEXT, arrow_schema, bound_batches, struct

TABLES = ("samples", "stacks", "locations", "functions")
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "contentions", "delay")
_LEFT_OUT = ("delta", "note", "report", "error", *TABLES)
BATCH_BYTES = 8 << 20  # a batch is complete when its deltas or tables have this many bytes
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
    if "samples" not in deltas.columns:
        deltas = _nested(deltas, "samples", delta, types)
    return deltas.select(*(f"`{name}`" for name in deltas.columns if name not in _LEFT_OUT), f.inline("samples"))


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
    rows = (deltas if name in deltas.columns else _nested(deltas, name, delta, ())).select(f.inline(name))
    return rows if deltas.isStreaming else rows.dropDuplicates(rows.columns[:1])


def kinds(names: Iterable[str], types: Iterable[str]) -> dict[str, t.DataType]:
    """The types of the arrays with these names."""
    values = ", ".join(f"`{name}` bigint" for name in types)
    return {name: t.DataType.fromDDL(f"array<struct<{_KINDS[name].format(values)}>>") for name in names}


def _nested(deltas: DataFrame, name: str, delta: str, types: Iterable[str]) -> DataFrame:
    """The rows with an array: the table of this name of their deltas."""
    types, spark = tuple(types), deltas.sparkSession
    bound_batches(spark)
    is_wanted = name == "samples"
    own = [one for one in deltas.columns if one not in (*_LEFT_OUT, delta.strip("`")) and is_wanted]
    rows = deltas.select(f.col(delta).alias("delta"), *(f"`{one}`" for one in own))
    known = (*own, "attempt" if "sequence" in own else "")
    stamp = [one for one in _STAMP if one not in known and is_wanted]
    own_kinds = {field.name: field.dataType for field in rows.schema.fields[1:]}
    out = struct(own_kinds | {one: _STAMP[one] for one in stamp} | kinds([name], types))
    task = _Task(name, types, stamp, arrow_schema(out, spark))
    # mapInArrow cannot have a dot in the name of a column that comes in.
    return rows.toDF("delta", *map(str, range(len(own)))).mapInArrow(task, out)


@dataclass
class _Task:
    """Makes the arrays of one table."""

    name: str
    types: tuple[str, ...]
    stamp: list[str]
    arrow: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrays = Arrays(self.name, self.arrow.field(self.name).type)
        for batch in batches:
            begin, size = 0, 0
            stamps: list[pa.RecordBatch | None] = []
            for number, delta in enumerate(batch.column(0)):
                try:
                    found = batches_of(table(delta.as_buffer()), self.types) if delta.is_valid else {}
                except Error as error:
                    error.add_note(f"in the row {batch.slice(number, 1).drop_columns('delta').to_pylist()}")
                    raise
                size += arrays.add(found.get(self.name))
                stamps.append(found["samples"] if found and len(found["samples"]) else None)
                if size >= BATCH_BYTES or number == len(batch) - 1:
                    kept = batch.slice(begin, number + 1 - begin).columns[1:]
                    told = (self._stamped(name, stamps) for name in self.stamp)
                    yield pa.RecordBatch.from_arrays([*kept, *told, arrays.array()], schema=self.arrow)
                    begin, size, stamps = number + 1, 0, []

    def _stamped(self, name: str, stamps: list[pa.RecordBatch | None]) -> pa.Array:
        """A column of the stamps, which each sample of a delta has."""
        kind = self.arrow.field(name).type
        first = (pa.nulls(1, kind) if one is None else one.column(name)[:1].cast(kind, safe=False) for one in stamps)
        return pa.concat_arrays(list(first))


# ---- Arrow ------------------------------------------------------------------------------------------


def batches_of(tables: Tables, types: Iterable[str]) -> dict[str, pa.RecordBatch]:
    found = {name: pa.record_batch(getattr(tables, name)) for name in TABLES}
    if types and not set(types) & set(found["samples"].schema.names):
        told = f"the profile has none of the types {', '.join(types)}; `types` names those that become columns"
        raise MismatchError(told, Status.MISMATCH, "write")
    return found


class Arrays:
    """A column of arrays on its way to a batch: those of one table."""

    def __init__(self, name: str, kind: pa.ListType) -> None:
        self.kind = kind
        self.known: set[int] | None = None if name == "samples" else set()
        self._clear()

    def _clear(self) -> None:
        self.parts: list[pa.RecordBatch] = []
        self.ends, self.is_null = [0], list[bool]()

    def add(self, rows: pa.RecordBatch | None) -> int:
        """Adds the rows of a window, or null, and returns their bytes."""
        self.is_null.append(rows is None)
        if rows is not None and self.known is not None:
            ids = rows.column(0).to_pylist()
            new = [number for number, one in enumerate(ids) if one not in self.known]
            if len(self.known) > _KNOWN_IDS:
                self.known.clear()
            self.known.update(ids)
            rows = rows.take(pa.array(new, pa.int64())) if new else None
        if rows is None:
            self.ends.append(self.ends[-1])
            return 0
        self.parts.append(rows)
        self.ends.append(self.ends[-1] + rows.num_rows)
        return int(rows.nbytes)

    def array(self) -> pa.Array:
        """The arrays. There are none afterwards."""
        fields = list(self.kind.value_type)
        columns = [_plain(self._column(field), field.type) for field in fields]
        values = pa.StructArray.from_arrays(columns, fields=fields)
        ends, is_null = pa.array(self.ends, pa.int32()), pa.array(self.is_null, pa.bool_())
        self._clear()
        return pa.ListArray.from_arrays(ends, values, type=self.kind, mask=is_null)

    def _column(self, field: pa.Field) -> pa.Array:
        name, parts = field.name, self.parts
        here = [one.column(name) if name in one.schema.names else pa.nulls(len(one), field.type) for one in parts]
        return pa.concat_arrays(here) if here else pa.nulls(0, field.type)


def _plain(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array as Spark takes it: without dictionaries and unsigned numbers."""
    if array.type == kind:
        return array
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _plain(array.values, kind.value_type), type=kind)
    if pa.types.is_struct(kind):
        fields = list(kind)
        return pa.StructArray.from_arrays([_plain(array.field(one.name), one.type) for one in fields], fields=fields)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array.view(kind)
