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
               what has such rows by to_pylist(), as a table of pyarrow does. Samples have stack_id and values, and may
               have labels. Rows of the other tables that no sample needs are left out
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
    writer = _Writer()
    writer.stacks = {row["stack_id"]: row["location_ids"] for row in _rows(stacks)}
    writer.locations = {row["location_id"]: row for row in _rows(locations)}
    writer.functions = {row["function_id"]: row for row in _rows(functions)}
    for name, unit in types.items():
        writer.out.append(_bytes(1, _number(1, writer.string(name)) + _number(2, writer.string(unit))))
    for row in rows:
        writer.sample(row, types)
    writer.out += [_bytes(6, text.encode()) for text in writer.strings]
    writer.out += [_number(9, time_nanos), _number(10, duration_nanos)]
    return gzip.compress(b"".join(writer.out), 6, mtime=0)


def _rows(table: Any, names: set[str] | None = None) -> list[Row]:
    """The rows. Of a table of Arrow, with these columns only: datetime cannot have its nanoseconds."""
    if hasattr(table, "to_pylist"):
        table = table.select([name for name in table.schema.names if not names or name in names]).to_pylist()
    return list(table)


# ---- protobuf: 0 and an empty string are left out ---------------------------------------------------


def _varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


class _Writer:
    """Writes what samples need, once, and numbers it from 1."""

    stacks: dict[int, list[int]]
    locations: dict[int, Row]
    functions: dict[int, Row]

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self.strings: dict[str, int] = {"": 0}
        self.known: dict[int, dict[Any, int]] = {3: {}, 4: {}, 5: {}}  # numbers in the fields of the profile

    def string(self, text: str | None) -> int:
        return self.strings.setdefault(text or "", len(self.strings))

    def numbered(self, field: int, key: Any, values: Iterable[int], rest: bytes = b"") -> int:
        """Adds a message: its number, these values in the fields from 2 on, and the rest."""
        number = self.known[field][key] = len(self.known[field]) + 1
        body = b"".join(_number(place, value) for place, value in enumerate((number, *values), start=1))
        self.out.append(_bytes(field, body + rest))
        return number

    def mapping(self, file: str, build_id: str) -> int:
        key = (file, build_id)
        if key == ("", ""):
            return 0
        known = self.known[3].get(key)
        return known or self.numbered(3, key, (0, 0, 0, self.string(file), self.string(build_id), 1))

    def location(self, key: int) -> int:
        if key in self.known[4]:
            return self.known[4][key]
        row = self.locations[key]
        lines = ((self.function(line["function_id"]), line["line"]) for line in row["lines"])
        rest = b"".join(_bytes(4, _number(1, function) + _number(2, line)) for function, line in lines)
        return self.numbered(4, key, (self.mapping(row["file"], row["build_id"]), row["address"]), rest)

    def function(self, key: int) -> int:
        if not key or key in self.known[5]:
            return key and self.known[5][key]
        row = self.functions[key]
        texts = (self.string(row[name]) for name in ("name", "system_name", "file"))
        return self.numbered(5, key, (*texts, row["start_line"]))

    def sample(self, row: Row, types: Iterable[str]) -> None:
        body = _packed(1, map(self.location, self.stacks[row["stack_id"]])) + _packed(2, (row[name] or 0 for name in types))
        for label in row.get("labels") or ():
            told = (self.string(label["key"]), self.string(label["str"]), label["num"] or 0, self.string(label["unit"]))
            body += _bytes(3, b"".join(_number(place, value) for place, value in enumerate(told, start=1)))
        self.out.append(_bytes(2, body))
