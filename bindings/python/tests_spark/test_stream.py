"""`pprofdelta.spark.write_deltas` with a real Spark, against contexts in a plain loop."""

from __future__ import annotations

import datetime
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pprofdelta
from pprofdelta.spark import _stream, deltas, write_deltas
from streams import Stream
from timelines import SCHEMA, Line, collected, expected, growing, lines_of, load, profile, rows_of, shortened


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def files_of(lines: dict[str, Line], windows: int) -> list[list[tuple[str, int, bytes]]]:
    """The rows of some time lines in files of so many windows, each in random order."""
    rows = rows_of(lines)
    last = max(time for _, time, _ in rows)
    return [[row for row in rows if (row[1] - 1) // windows == number] for number in range((last - 1) // windows + 1)]


def in_place(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows that have a place in a time line."""
    return [row for row in rows if row[3] is not None]


def ordered(stream: Stream, spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = [tuple(row.asDict(recursive=True).values()) for row in stream.result(spark).collect()]
    return sorted(rows, key=lambda row: (str(row[0]), row[3] or 0, row[2] or 0))


def test_the_rows_are_those_of_a_plain_loop_and_of_the_batch(
    spark: SparkSession, stream: Stream, folder: Path
) -> None:
    lines = lines_of(12, 15)
    for rows in files_of(lines, 5):
        stream.feed(rows)
    (folder / "kill-worker-8").touch()
    stream.run(spark, verify=True)
    assert (folder / "done-worker-8").exists()
    got = collected(stream.result(spark))
    assert shortened(got) == expected(lines)
    batch = deltas(spark.createDataFrame(rows_of(lines), SCHEMA), verify=True)
    assert collected(batch) == got


def test_late_profiles_have_a_row_and_change_nothing(spark: SparkSession, stream: Stream) -> None:
    line = growing(1, 8)
    stream.feed([("a", *line[0]), ("a", *line[3])])
    stream.feed([("a", *line[1]), ("a", *line[4]), ("a", *line[2])])  # two are too late
    stream.feed([("a", *line[4]), ("a", 6, line[5][1])])  # a duplicate
    stream.feed([("a", *line[0])])  # nothing but a late one
    stream.feed([("a", 6, line[6][1])])  # an equal time
    stream.feed([("a", *line[5]), ("a", *line[7])])  # a duplicate of the one before
    stream.run(spark)
    got = ordered(stream, spark)
    late = [row for row in got if row[4] == "late"]
    assert [row[1:4] for row in late] == [(6, 1, None), (4, 2, None), (4, 3, None)]
    assert all(row[5:] == (None,) * 4 for row in late)
    rest = in_place(got)
    assert [row[1:5] for row in rest] == [
        (None, 1, 1, None),
        (1, 4, 2, None),
        (4, 5, 3, None),
        (5, 5, 4, "duplicate"),
        (5, 6, 5, None),
        (6, 6, 6, "equal_time"),
        (6, 6, 7, "duplicate"),
        (6, 8, 8, None),
    ]
    context = pprofdelta.Context(sequence=False)
    for number, row in zip((0, 3, 4, 5, 6, 7), [row for row in rest if row[4] != "duplicate"], strict=True):
        assert context.window(line[number][1]).delta == row[6]
        context.commit()


def test_profiles_within_the_lateness_are_put_in_order(spark: SparkSession, stream: Stream) -> None:
    lines = lines_of(6, 24)
    chance = random.Random(3)
    arrivals = sorted(rows_of(lines), key=lambda row: row[1] + chance.random() * 5)
    size = len(arrivals) // 4 + 1
    for begin in range(0, len(arrivals), size):
        stream.feed(arrivals[begin : begin + size])
    stream.run(spark, lateness=5)
    got = collected(stream.result(spark))
    assert not [row for row in got if row[4] == "late"]
    newest = {target: line[-1][0] for target, line in lines.items()}
    want = [row for row in expected(lines) if row[2] <= newest[row[0]] - 5]
    assert shortened(got) == want and len(want) > 100
    # A query may go on with another lateness: all that waits comes out.
    stream.feed([(target, 100, line[-1][1]) for target, line in lines.items()])
    stream.run(spark, lateness=0)
    for line in lines.values():
        line.append((100, line[-1][1]))
    assert shortened(collected(stream.result(spark))) == expected(lines)


def test_silent_targets_are_forgotten(spark: SparkSession, stream: Stream) -> None:
    silent, living = growing(1, 6), growing(2, 8)
    second = datetime.timedelta(seconds=1)

    def run(*rows: tuple[str, int, bytes]) -> None:
        stream.feed(rows)
        stream.run(spark, lateness=2, expire_after=second)

    run(*(("silent", *one) for one in silent[:4]), ("living", *living[0]))
    assert [row[2] for row in ordered(stream, spark)] == [1, 2]
    time.sleep(1.1)
    run(*(("living", *one) for one in living[1:4]))
    time.sleep(1.1)
    run(("living", *living[4]), ("living", *living[5]))
    rows = [row for row in ordered(stream, spark) if row[0] == "silent"]
    assert shortened(rows) == expected({"silent": silent[:4]})  # what waited came out
    run(("silent", *silent[4]), ("silent", 9, silent[5][1]), ("living", *living[6]))
    rows = [row for row in ordered(stream, spark) if row[0] == "silent" and row[2] == 5]
    assert [(row[1], row[3], row[7]["had_base"]) for row in rows] == [(None, 1, False)]
    rows = [row for row in ordered(stream, spark) if row[0] == "living"]
    assert shortened(rows) == expected({"living": living})[: len(rows)] and len(rows) == 5


def test_errors_are_rows(spark: SparkSession, stream: Stream) -> None:
    good = growing(1, 4)
    stream.feed([(None, 1, good[0][1]), ("a", None, good[0][1]), ("a", 1, None), ("a", 2, b"damaged"), ("a", *good[2])])
    stream.run(spark)
    got = ordered(stream, spark)
    found = [(row[0], row[2], row[3], row[8] and row[8]["text"]) for row in got]
    assert found[0] == (None, 1, None, "the column of the target is null")
    assert found[1] == ("a", None, None, "the column of the time is null")
    assert found[2] == ("a", 1, 1, "the column of the profile is null")
    assert found[3][:3] == ("a", 2, 2) and found[3][3]
    assert found[4] == ("a", 3, 3, None)


def test_a_state_that_does_not_fit_is_an_error_and_stays(spark: SparkSession, stream: Stream) -> None:
    one, two = ({f"f{n}": n + add for n in range(1, 5000)} for add in (0, 7))
    stream.feed([("a", 1, profile(one, 1000))])
    stream.run(spark)
    stream.feed([("a", 2, profile(one, 2000)), ("a", 2, profile(two, 2000))])
    stream.run(spark, max_memory=80_000)
    stream.feed([("a", 3, profile(two, 3000))])
    stream.run(spark)
    got = ordered(stream, spark)
    assert [(row[2], row[3], row[8] and row[8]["status"]) for row in got if row[3] is None] == [(2, None, "limit")] * 2
    context = pprofdelta.Context(sequence=False)
    context.base(profile(one, 1000))
    assert [row[1:4] for row in got if row[3]] == [(None, 1, 1), (1, 3, 2)]
    assert got[-1][6] == context.window(profile(two, 3000)).delta


def test_large_profiles_wait_in_the_state_store(spark: SparkSession, stream: Stream) -> None:
    """More than may wait in memory, in one micro-batch, and not in order."""
    line = growing(1, 4)
    large = [(time, bytes([time]) * 15_000_000) for time in range(5, 9)]
    rows = [("a", *one) for one in [*line, *large]] + [("a", *line[1]), ("a", *large[2])]
    random.Random(1).shuffle(rows)
    assert sum(len(row[2]) for row in rows) > 2 * _stream._HELD_BYTES
    stream.feed(rows)
    stream.run(spark)
    want = expected({"a": sorted([*line, *large, line[1], large[2]])})
    assert shortened(collected(stream.result(spark))) == want
    assert [row[4] for row in want].count("duplicate") == 2


NOON = datetime.datetime(2026, 11, 22, 12, 0, 0, 123456)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "int"])
def test_times_and_targets_of_other_types(spark: SparkSession, stream: Stream, kind: str) -> None:
    line = growing(1, 4)
    is_int = kind == "int"
    times: list[Any] = [n if is_int else NOON + n * datetime.timedelta(minutes=1) for n in range(4)]
    arrow_time = pa.int32() if is_int else pa.timestamp("us", tz="UTC" if kind == "timestamp" else None)
    arrow = pa.schema([("the host", pa.int64()), ("at", arrow_time), ("a.b", pa.binary())])
    rows = [(7, at, data) for at, (_, data) in zip(times, line, strict=True)]
    stream.feed([rows[0], rows[2]], arrow)
    stream.feed([rows[1], rows[3]], arrow)
    lateness: Any = 1 if is_int else datetime.timedelta(minutes=1)
    stream.run(spark, f"`the host` long, at {kind}, `a.b` binary", target="`the host`", time="at", profile="`a.b`",
               lateness=lateness, expire_after=None, compression="none")  # fmt: skip
    result = stream.result(spark)
    assert dict(result.dtypes)["target"] == "bigint" and dict(result.dtypes)["from"] == kind
    got = collected(result)
    assert [(row[0], row[1], row[2]) for row in got] == [(7, times[n - 1] if n else None, times[n]) for n in range(3)]
    assert all(pprofdelta.check(row[6]).format == "plain" for row in got)


def test_real_profiles(spark: SparkSession, stream: Stream) -> None:
    one, two = load("heap.1.pb.gz"), load("heap.2.pb.gz")
    stream.feed([("a", 1, one)])
    stream.feed([("a", 2, two)])
    stream.run(spark)
    [_, row] = stream.result(spark).orderBy("sequence").collect()
    context = pprofdelta.Context(sequence=False)
    context.base(one)
    report = context.window(two).report
    assert row.report.samples_in == report.samples_in == 433
    assert [tuple(kind) for kind in row.report.types] == [
        (t.type, t.unit, t.is_counter, t.prev, t.cur, t.delta, t.clamped, t.vanished) for t in report.types
    ]


def test_a_wrong_argument_fails_before_any_query(spark: SparkSession, stream: Stream) -> None:
    df = spark.readStream.schema(SCHEMA).parquet(str(stream.input))
    second = datetime.timedelta(seconds=1)
    for options, error in (
        ({"compression": "brotli"}, ValueError),
        ({"nosuch": 1}, TypeError),
        ({"sequence": True}, TypeError),
        ({"target": "profile"}, TypeError),
        ({"profile": "target"}, TypeError),
        ({"time": "target"}, TypeError),
        ({"lateness": second}, TypeError),
        ({"lateness": -1}, ValueError),
        ({"expire_after": 0 * second}, ValueError),
    ):
        with pytest.raises(error):
            write_deltas(df, **options)
    with pytest.raises(TypeError, match="not a stream"):
        write_deltas(spark.createDataFrame([("a", 1, profile({}, 1))], SCHEMA))
    timed = spark.readStream.schema("target string, time timestamp, profile binary").parquet(str(stream.input))
    with pytest.raises(TypeError, match="a timedelta"):
        write_deltas(timed, lateness=1)
