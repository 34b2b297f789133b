"""`pprofdelta.spark.write_deltas` with a real Spark, against contexts in a plain loop."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import pprofdelta
from pprofdelta.spark import deltas, write_deltas
from pprofdelta.spark._states import HELD_BYTES
from streams import Stream
from timelines import SCHEMA, collected, expected, growing, lines_of, plain, profile, rows_of, shortened


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def ignore(rows: DataFrame, number: int) -> None:
    """A sink."""


def ordered(stream: Stream, spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = [tuple(row.asDict(recursive=True).values()) for row in stream.result(spark).collect()]
    return sorted(rows, key=lambda row: (str(row[0]), row[3] or 0, row[2] or 0))


def test_the_rows_are_those_of_a_plain_loop_and_of_the_batch(
    spark: SparkSession, stream: Stream, folder: Path
) -> None:
    lines = lines_of(12, 15)
    for first in (1, 6, 11):
        stream.feed(row for row in rows_of(lines) if first <= row[1] < first + 5)
    (folder / "kill-worker-9").touch()
    stream.run(spark, verify=True)
    assert (folder / "done-worker-9").exists()
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
    rest = [row for row in got if row[3] is not None]
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
        assert plain(context.window(line[number][1]).delta) == plain(row[6], row[3])
        context.commit()


def test_profiles_within_the_lateness_are_put_in_order(spark: SparkSession, stream: Stream) -> None:
    lines = lines_of(6, 24)
    lines["large"] = [*growing(1, 4), *((time, bytes([time]) * 15_000_000) for time in range(5, 10))]
    assert 5 * 15_000_000 > 2 * HELD_BYTES  # more than may wait in memory
    chance = random.Random(3)
    arrivals = sorted(rows_of(lines), key=lambda row: row[1] + chance.random() * 5)
    arrivals.insert(1, next(row for row in arrivals if row[:2] == ("large", 9)))  # a duplicate, which waits too
    lines["large"].append(lines["large"][-1])
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
    assert [row[1:4] for row in got if row[3]] == [(None, 1, 1), (1, 3, 2)]
    assert plain(got[-1][6]) == plain(pprofdelta.delta(profile(one, 1000), profile(two, 3000)))


NOON = datetime.datetime(2026, 11, 22, 12, 0, 0, 123456)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "int"])
def test_times_and_targets_of_other_types(spark: SparkSession, stream: Stream, tmp_path: Path, kind: str) -> None:
    line = growing(1, 4)
    is_int = kind == "int"
    times: list[Any] = [n if is_int else NOON + n * datetime.timedelta(minutes=1) for n in range(4)]
    arrow_time = pa.int32() if is_int else pa.timestamp("us", tz="UTC" if kind == "timestamp" else None)
    arrow = pa.schema([("the host", pa.int64()), ("at", arrow_time), ("a.b", pa.binary())])
    rows = [(7, at, data) for at, (_, data) in zip(times, line, strict=True)]
    stream.feed([rows[0], rows[2]], arrow)
    stream.feed([rows[1], rows[3]], arrow)
    lateness: Any = 1 if is_int else datetime.timedelta(minutes=1)
    schema, states = f"`the host` long, at {kind}, `a.b` binary", (tmp_path / "states").as_uri()
    where: Any = {"target": "`the host`", "time": "at", "profile": "`a.b`", "compression": "none"}
    stream.run(spark, schema, states=states, lateness=lateness, expire_after=None, **where)
    result = stream.result(spark)
    assert dict(result.dtypes)["target"] == "bigint" and dict(result.dtypes)["from"] == kind
    got = collected(result)
    assert [(row[0], row[1], row[2]) for row in got] == [(7, times[n - 1] if n else None, times[n]) for n in range(3)]
    assert all(pprofdelta.check(row[6]).format == "plain" for row in got)
    assert collected(deltas(spark.createDataFrame(rows, schema), **where, windows_per_range=2))[:3] == got


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
        ({"partitions": 0}, ValueError),
    ):
        with pytest.raises(error):
            write_deltas(df, **{"sink": ignore, "checkpoint": "checkpoint", **dict[str, Any](options)})
    with pytest.warns(UserWarning, match="partitions=200"):
        write_deltas(df, ignore, str(stream.checkpoint), partitions=200)
    with pytest.raises(TypeError, match="not a stream"):
        write_deltas(spark.createDataFrame([("a", 1, profile({}, 1))], SCHEMA), ignore, "checkpoint")
    timed = spark.readStream.schema("target string, time timestamp, profile binary").parquet(str(stream.input))
    with pytest.raises(TypeError, match="a timedelta"):
        write_deltas(timed, ignore, "checkpoint", lateness=1)


def test_states_belong_to_a_checkpoint(spark: SparkSession, stream: Stream, tmp_path: Path) -> None:
    def fails(match: str, **arguments: Any) -> None:
        with pytest.raises(StreamingQueryException, match=match):
            stream.run(spark, **arguments)

    line = growing(1, 3)
    stream.feed([("a", *line[0])])
    stream.run(spark, sink=ignore, partitions=3)  # a sink that reads nothing: the states go on
    stream.feed([("a", *line[1])])
    fails("partitions=2: the checkpoint has 3", partitions=2)
    states = stream.checkpoint / "pprofdelta"
    states.rename(tmp_path / "away")
    fails("needs the states of the one before, and there are none")
    (tmp_path / "away").rename(states)
    stream.run(spark)
    [row] = ordered(stream, spark)
    assert row[1:4] == (1, 2, 2) and plain(row[6]) == plain(pprofdelta.delta(line[0][1], line[1][1]))
