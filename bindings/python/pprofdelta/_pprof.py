"""Rows become a profile again: `to_pprof` writes the messages of profile.proto."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from typing import Any

# The value types of heap, mutex and block profiles.
_UNITS = {
    "alloc_objects": "count", "alloc_space": "bytes", "inuse_objects": "count", "inuse_space": "bytes",
    "contentions": "count", "delay": "nanoseconds",
}  # fmt: skip
Row = Mapping[str, Any]


def to_pprof(
    samples: Any, stacks: Any, locations: Any, functions: Any, *,
    types: Mapping[str, str] | None = None, time_nanos: int = 0, duration_nanos: int = 0,
) -> bytes:  # fmt: skip
    """Returns rows of the four tables as a pprof profile in gzip.

    samples, stacks, locations, functions
               mappings from the names of the columns to the values, such as row.asDict(recursive=True) in Spark, or
               what has such rows: the tables of `Tables`, or by to_pylist(), as a table of pyarrow does. Samples have
               stack_id and values, and may have labels. Rows of the other tables that no sample needs are left out
    types      the columns of the values and their units, as in {"alloc_space": "bytes"}. None: those of the first
               sample that heap, mutex and block profiles have, without those that are null
    time_nanos, duration_nanos
               when the profile ends, in nanoseconds since 1970, and the length of its time

    An address is that in the file, as in the tables. An id that is in no table raises KeyError.
    """
    rows = _rows(samples, {"stack_id", "labels", *(_UNITS if types is None else types)})
    if types is None:
        first = rows[0] if rows else {}
        types = {name: _UNITS[name] for name in first if name in _UNITS and first[name] is not None}
    writer = _Writer(_rows(stacks), _rows(locations), _rows(functions))
    for name, unit in types.items():
        writer.add(1, writer.string(name), writer.string(unit))
    for row in rows:
        writer.sample(row, types)
    writer.out += [_bytes(6, text.encode()) for text in writer.strings]
    writer.out.append(_numbers(*[0] * 8, time_nanos, duration_nanos))
    return gzip.compress(b"".join(writer.out), 6, mtime=0)


def _rows(table: Any, names: set[str] | None = None) -> list[Row]:
    """The rows. Of a table of Arrow, with these columns only: datetime cannot have its nanoseconds."""
    if hasattr(table, "to_pylist"):
        table = table.select([name for name in table.schema.names if not names or name in names]).to_pylist()
    return list(table)


# ---- protobuf ---------------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _numbers(*values: int) -> bytes:
    """Numbers in the fields from 1 on. A field that is 0 is left out."""
    return b"".join(_varint(field << 3) + _varint(value) for field, value in enumerate(values, start=1) if value)


class _Writer:
    """Writes what samples need, once, and numbers it from 1."""

    def __init__(self, stacks: list[Row], locations: list[Row], functions: list[Row]) -> None:
        self.stacks = {row["stack_id"]: row["location_ids"] for row in stacks}
        self.rows = {4: {row["location_id"]: row for row in locations}}
        self.rows[5] = {row["function_id"]: row for row in functions}
        self.known: dict[int, dict[Any, int]] = {3: {}, 4: {}, 5: {}}  # the numbers in each field of the profile
        self.strings = {"": 0}
        self.out: list[bytes] = []

    def add(self, field: int, *values: int, rest: bytes = b"") -> None:
        self.out.append(_bytes(field, _numbers(*values) + rest))

    def string(self, text: str | None) -> int:
        return self.strings.setdefault(text or "", len(self.strings))

    def number(self, field: int, key: Any) -> int:
        """The number of a mapping (3), a location (4) or a function (5), which is written first."""
        known = self.known[field]
        if not key or key == ("", ""):
            return 0
        if key not in known:
            known[key] = number = len(known) + 1
            if field == 3:
                self.add(3, number, 0, 0, 0, *map(self.string, key), 1)
                return number
            row = self.rows[field][key]
            if field == 4:
                lines = (
                    _numbers(self.number(5, line["function_id"]), line["line"])
                    for line in row["lines"]
                    if line["function_id"]  # readers refuse a line without a function
                )
                rest = b"".join(_bytes(4, line) for line in lines)
                self.add(4, number, self.number(3, (row["file"], row["build_id"])), row["address"], rest=rest)
            else:
                texts = (self.string(row[name]) for name in ("name", "system_name", "file"))
                self.add(5, number, *texts, row["start_line"])
        return known[key]

    def sample(self, row: Row, types: Iterable[str]) -> None:
        places = b"".join(_varint(self.number(4, key)) for key in self.stacks[row["stack_id"]])
        values = b"".join(_varint(row[name] or 0) for name in types)
        labels = (
            _numbers(self.string(one["key"]), self.string(one["str"]), one["num"] or 0, self.string(one["unit"]))
            for one in row.get("labels") or ()
        )
        self.add(2, rest=_bytes(1, places) + _bytes(2, values) + b"".join(_bytes(3, label) for label in labels))
