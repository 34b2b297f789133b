"""Merges: one profile for each group of deltas, in two steps.

    deltas -> shuffle by (group, target) -> sort -> the merge of a group in this task
           -> shuffle by group           -> sort -> the merge of these merges

All windows of a target in a group are in one task of the first step, so its merges have no target in common. They are all
that the second step moves: one profile for each group and task. So a group of any size is the work of all tasks, with the
memory of one merge. Rows are in the order of their stamps, so a task that is started again gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from .._adder import Adder
from .._context import Context
from .._errors import Error
from .._options import MergeOptions
from ._tables import BATCH_BYTES, NUMBER, arrow_schema, bound_batches, struct
from ._windows import BATCH_ROWS, ERROR, check_type, error_of

_SIZES = ("windows", "targets")
_PLACE = ("id", "epoch", "sequence", "attempt")
_STAMP = struct(dict.fromkeys((*_PLACE, *_SIZES), NUMBER))


def merged(
    deltas: DataFrame,
    by: str | Column | Iterable[str | Column],
    *,
    delta: str = "delta",
    partitions: int | None = None,
    **options: Unpack[MergeOptions],
) -> DataFrame:
    """Merges the deltas of each group, as the function `pprofdelta.merge` does.

    deltas     what `deltas` or the sink of `write_deltas` gives, without rows=True; or any other DataFrame with a
               column of deltas whose stamps name a target, as those of a state or a recorded process do
    by         the columns of a group, such as ["service", "hour"]
    delta      the column with the delta; null: there is none
    partitions the number of partitions of each shuffle; None: as Spark is configured
    options    as for `pprofdelta.merge`; max_memory is 1 GiB unless it is given

    The result has one row for each group that has a delta:

    (by)       the columns of the group
    delta      the merge, which `samples` and the others also take; null: there is an error, or nothing to send
    windows, targets
               how many there are in it
    error      null, or why there is no merge, with the members of the error of `deltas`

    It has the samples of the flat merge of the same deltas in one process. A window that is there twice, or in several
    attempts, counts once. A delta that cannot be added fails its group, and no other one.

    With disjoint=True, the deltas of a group may be merges of different targets, such as those of another `merged`.
    """
    if deltas.isStreaming:
        raise TypeError("this DataFrame is a stream: a group would never be complete; merge what the sink has written")
    wanted = MergeOptions(max_memory=1 << 30)
    wanted.update(options)
    wanted["counters"] = tuple(options.get("counters", ()))
    wanted["gauges"] = tuple(options.get("gauges", ()))
    Adder(merge=True, **wanted).close()
    keys = [by] if isinstance(by, str | Column) else list(by)
    if not keys:
        raise ValueError("by: no column is named")
    check_type(deltas, delta, ("binary",), "binary")
    bound_batches(deltas.sparkSession)
    none = f.lit(None).cast(ERROR).alias("error")
    rows = deltas.select(f.struct(*keys).alias("key"), f.col(delta).alias("delta"), none).where("delta IS NOT NULL")
    inner: MergeOptions = {
        **wanted, "compression": "zstd", "level": 0, "format": "pprof", "resource": None, "stamp": True
    }  # fmt: skip
    wanted["disjoint"] = True
    of_tasks = _merges(rows, ("key", f.coalesce("stamp.id", "hash")), partitions, inner)
    of_groups = _merges(of_tasks.drop(*_SIZES), ("key",), partitions, wanted)
    return of_groups.select("key.*", "delta", *_SIZES, "error")


def _merges(
    rows: DataFrame, spread: Iterable[str | Column], partitions: int | None, options: MergeOptions
) -> DataFrame:
    """The merge of each group in each partition."""
    placed = rows.withColumns({"stamp": _stamp(options)("delta"), "hash": f.xxhash64("delta")})
    shuffled = placed.repartition(partitions, *spread) if partitions else placed.repartition(*spread)
    ordered = shuffled.sortWithinPartitions("key", "stamp", "hash")
    out = t.StructType([*rows.schema.fields, *struct(dict.fromkeys(_SIZES, NUMBER)).fields])
    arrow = arrow_schema(out, rows.sparkSession)
    return ordered.mapInArrow(partial(_merged_batches, arrow=arrow, options=options), out)


def _stamp(options: MergeOptions) -> Any:
    """A function of Spark: the stamp, with signed numbers in the same order. Null: it names no target."""

    def stamps(deltas: pa.Array) -> pa.Array:
        found = []
        with Context(max_memory=options["max_memory"]) as context:
            for delta in deltas:
                try:
                    stamp = context.check(delta.as_buffer()).stamp if delta.is_valid else None
                except Error:  # it comes again when the delta is added
                    stamp = None
                place = stamp and stamp.id and [getattr(stamp, name) - (1 << 63) for name in _PLACE]
                found.append((*place, stamp.windows, stamp.targets) if stamp and place else None)
        return pa.array(found, pa.struct([(name, pa.int64()) for name in _STAMP.names]))

    return f.arrow_udf(stamps, _STAMP)  # type: ignore[attr-defined, unused-ignore]


class _Merge:
    """The merge of a group, or the first error in it."""

    def __init__(self, key: pa.Array, options: MergeOptions) -> None:
        self.key = key
        self._adder = Adder(merge=True, **options)
        self._error: tuple[Any, ...] | None = None
        self._sizes = [0, 0]

    def add(self, delta: pa.BinaryScalar, stamp: dict[str, int] | None, error: dict[str, Any] | None) -> None:
        if error:
            self._error = self._error or tuple(error.values())
        if self._error:
            return
        try:
            self._adder.add(delta.as_buffer())
            self._sizes = [total + (stamp or {}).get(name, 0) for total, name in zip(self._sizes, _SIZES, strict=True)]
        except Error as refused:
            self._error = error_of(refused)

    def finish(self) -> tuple[Any, ...]:
        """delta, error and sizes."""
        with self._adder as adder:
            try:
                delta = None if self._error else adder.finish() or None
            except Error as refused:
                delta, self._error = None, error_of(refused)
        return (delta, self._error, *([None] * 2 if self._error else self._sizes))


def _merged_batches(
    batches: Iterable[pa.RecordBatch], arrow: pa.Schema, options: MergeOptions
) -> Iterator[pa.RecordBatch]:
    kept: list[tuple[pa.Array, tuple[Any, ...]]] = []
    size = 0
    for merge in _groups(batches, options):
        kept.append((merge.key, merge.finish()))
        size += len(kept[-1][1][0] or b"")
        if len(kept) == BATCH_ROWS or size >= BATCH_BYTES:
            yield _batch(kept, arrow)
            kept, size = [], 0
    if kept:
        yield _batch(kept, arrow)


def _batch(kept: list[tuple[pa.Array, tuple[Any, ...]]], arrow: pa.Schema) -> pa.RecordBatch:
    keys, rows = zip(*kept, strict=True)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, list(arrow)[1:], strict=True)]
    return pa.RecordBatch.from_arrays([pa.concat_arrays(keys).cast(arrow.field("key").type), *arrays], schema=arrow)


def _groups(batches: Iterable[pa.RecordBatch], options: MergeOptions) -> Iterator[_Merge]:
    """The merges of sorted rows, each with all that it has."""
    merge, last = None, None
    for batch in batches:
        keys = batch.column("key")
        rows = zip(*(batch.column(name).to_pylist() for name in ("key", "stamp", "error")), strict=True)
        for row, (key, stamp, error) in enumerate(rows):
            if not merge or repr(key) != last:  # NaN is not NaN
                if merge:
                    yield merge
                merge, last = _Merge(keys.slice(row, 1), options), repr(key)
            merge.add(batch.column("delta")[row], stamp, error)
    if merge:
        yield merge
