"""Time lines of generated profiles, and the rows that a plain loop over each of them gives."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import pprofdelta
from conftest import VALID
from oracle import parse
from pprofdelta.spark import functions, locations, samples, stacks
from profile_message import Profile

SCHEMA = "target string, time long, profile binary"
TABLES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "samples": samples, "stacks": stacks, "locations": locations, "functions": functions,
}  # fmt: skip
VALUES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "contentions", "delay"]
Line = list[tuple[int, bytes]]


def load(name: str) -> bytes:
    return (VALID / name).read_bytes()


def profile(counts: dict[str, int], time: int) -> bytes:
    """A profile with one counter, whose stacks are single functions."""
    message = Profile(time_nanos=time, string_table=[b"", b"alloc_space", b"bytes"])
    message.sample_type.add(type=1, unit=2)
    for number, (name, count) in enumerate(counts.items(), start=1):
        message.string_table.append(name.encode())
        message.function.add(id=number, name=len(message.string_table) - 1)
        message.location.add(id=number).line.add(function_id=number)
        message.sample.add(location_id=[number], value=[count])
    return bytes(message.SerializeToString())


def growing(seed: int, windows: int) -> Line:
    """A time line whose counters never go backwards."""
    chance = random.Random(seed)
    counts: dict[str, int] = {}
    line = []
    for number in range(1, windows + 1):
        for _ in range(5):
            name = f"f{chance.randrange(30)}"
            counts[name] = counts.get(name, 0) + chance.randrange(1, 1000)
        line.append((number, profile(counts, number * 1000)))
    return line


def rows_of(lines: dict[str, Line]) -> list[tuple[str, int, bytes]]:
    """The rows of some time lines in random order."""
    rows = [(target, time, data) for target, line in lines.items() for time, data in line]
    random.Random(7).shuffle(rows)
    return rows


def frame(spark: SparkSession, lines: dict[str, Line]) -> DataFrame:
    return spark.createDataFrame(rows_of(lines), SCHEMA).repartition(4)


def collected(df: DataFrame) -> list[tuple[Any, ...]]:
    """The result in order. Rows and structs become tuples."""
    rows = [tuple(row.asDict(recursive=True).values()) for row in df.collect()]
    return sorted(rows, key=lambda row: (row[0], row[3]))


def bag(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


def dicts(df: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def tables_of(delta: bytes, **more: Any) -> dict[str, Counter[str]]:
    """The rows of a delta; those of the samples with what its window has more."""
    tables = pprofdelta.table(delta)
    found = {name: pa.table(getattr(tables, name)) for name in TABLES}
    rows = found["samples"].drop_columns(["target", "from", "time", "sequence", "attempt", "restart"]).to_pylist()
    bags = {name: bag(found[name].to_pylist()) for name in TABLES if name != "samples"}
    return {"samples": bag(dict.fromkeys(VALUES) | more | row for row in rows), **bags}


def plain(delta: bytes | None, sequence: int | None = None) -> bytes | None:
    """The delta, decoded, without its place in a series. If there is a sequence, it must have this one."""
    if delta is None:
        return None
    message = parse(delta)
    place = re.compile(rb" seq=(\d+) attempt=1(?: acked=\d+)? id=[0-9a-f]{16}")
    for comment in message.comment:
        found = place.search(message.string_table[comment])
        assert sequence is None or found and int(found[1]) == sequence
        message.string_table[comment] = place.sub(b"", message.string_table[comment])
    return bytes(message.SerializeToString())


def expected(lines: dict[str, Line], **options: Any) -> list[tuple[Any, ...]]:
    """target, from, to, sequence, note, restart, delta and status of each row, by a plain loop."""
    rows: list[tuple[Any, ...]] = []
    for target, line in sorted(lines.items()):
        context = pprofdelta.Context(sequence=False, **options)
        begin, last = None, None
        for sequence, (time, data) in enumerate(line, start=1):
            place = (target, begin, time, sequence)
            if (time, data) == last:
                rows.append((*place, "duplicate", None, None, None))
                continue
            last = (time, data)
            try:
                window = context.window(data)
            except pprofdelta.Error as error:
                rows.append((*place, None, None, None, error.status.value))
                continue
            context.commit()
            rows.append((*place, None, window.report.restart.value, plain(window.delta), None))
            begin = time
    return rows


def shortened(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(*row[:6], plain(row[6], row[3]), row[8] and row[8]["status"]) for row in rows]


def lines_of(targets: int, windows: int) -> dict[str, Line]:
    lines = {f"t{number:02}": growing(number, windows) for number in range(targets)}
    lines["t00"][4] = (5, lines["t00"][4][1][:-5])  # damaged, and the place of a cut
    lines["t01"].insert(3, lines["t01"][3])  # a duplicate
    lines["t02"][6] = (7, profile({"f1": 1}, 7000))  # a restart
    lines["real"] = [(1, load("heap.1.pb.gz")), (2, load("heap.2.pb.gz"))]
    return lines
