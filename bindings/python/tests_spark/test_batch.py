"""`pprofdelta.spark.deltas` with a real Spark, against contexts in a plain loop and the oracle."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pprofdelta
from conftest import VALID
from oracle import parse
from pprofdelta.spark import deltas, samples
from profile_message import Profile
from timelines import (
    SCHEMA,
    Line,
    collected,
    expected,
    frame,
    growing,
    lines_of,
    load,
    profile,
    shortened,
)


@pytest.mark.parametrize("windows_per_range", [None, 5])
def test_the_rows_are_those_of_a_plain_loop(spark: SparkSession, folder: Path, windows_per_range: int | None) -> None:
    lines = lines_of(12, 16)
    (folder / f"kill-worker-{windows_per_range or 8}").touch()
    got = collected(deltas(frame(spark, lines), windows_per_range=windows_per_range, verify=True))
    assert (folder / f"done-worker-{windows_per_range or 8}").exists()
    assert shortened(got) == expected(lines)
    assert sum(row[4] == "duplicate" for row in got) == 1
    assert [row[8]["status"] for row in got if row[8]] == ["wire"]
    assert {row[5] for row in got} == {None, "none", "mass"}


def test_a_request_without_samples_is_null(spark: SparkSession) -> None:
    line = [(time, profile({"f": value}, time)) for time, value in enumerate([5, 5, 7], start=1)]
    got = deltas(frame(spark, {"a": line}), format="otlp")
    rows = sorted(got.collect(), key=lambda row: row.to)
    assert [row.delta is None for row in rows] == [False, True, False]
    assert [row.report.samples_out for row in rows] == [1, 0, 1] and not any(row.error for row in rows)
    assert sum(row.alloc_space for row in samples(got, types=["alloc_space"]).collect()) == 7


def test_what_only_a_whole_time_line_knows(spark: SparkSession) -> None:
    """A cut forgets what a counter had before it went backwards, and samples that were away."""

    def line(*values: int | None) -> Line:
        looks = []
        for time, value in enumerate(values, start=1):
            counts = {"steady": 1000 * time} | ({"f": value} if value else {})
            looks.append((time, profile(counts, time * 1000)))
        return looks

    def windows(df: DataFrame, target: str) -> list[int]:
        """The values of f: the others of a window are 1000 together."""
        return [row[7]["types"][0]["delta"] - 1000 for row in collected(df) if row[0] == target]

    df = frame(spark, {"clamped": line(100, 90, 105), "away": line(100, None, 105)})
    whole, cut = deltas(df, windows_per_range=None), deltas(df, windows_per_range=2)
    assert windows(whole, "clamped") == [100, 0, 5] and windows(cut, "clamped") == [100, 0, 15]
    assert windows(whole, "away") == [100, 0, 5] and windows(cut, "away") == [100, 0, 105]


def test_a_cut_at_a_profile_that_does_not_fit_the_series(spark: SparkSession) -> None:
    other = Profile.FromString(profile({"f": 1}, 2000))
    other.string_table[1:3] = [b"contentions", b"count"]
    line = [(1, profile({"f": 1}, 1000)), (2, bytes(other.SerializeToString())), (3, profile({"f": 3}, 3000))]
    df = frame(spark, {"a": line})
    for windows_per_range, errors in ((None, [None, "mismatch", None]), (2, [None, "mismatch", "mismatch"])):
        got = collected(deltas(df, windows_per_range=windows_per_range))
        assert [row[8] and row[8]["status"] for row in got] == errors


def test_twenty_thousand_windows_of_one_target_are_many_tasks(spark: SparkSession) -> None:
    count, tasks = 20_000, 8
    line = [("a", time, profile({"f": time * (time + 1) // 2}, time * 1000)) for time in range(1, count + 1)]
    result = deltas(spark.createDataFrame(line, SCHEMA), partitions=tasks)
    assert "hashpartitioning(target" in result._jdf.queryExecution().executedPlan().toString()
    columns = (f.spark_partition_id(), "sequence", "to", f.col("report.types")[0]["delta"].cast("long"))
    found = [tuple(row) for row in result.select(*columns).collect()]
    assert sorted(row[1:] for row in found) == [(number,) * 3 for number in range(1, count + 1)]
    rows_of_tasks = Counter(row[0] for row in found)
    assert len(rows_of_tasks) > tasks / 2 and max(rows_of_tasks.values()) < count / 2


def test_equal_times_are_told(spark: SparkSession) -> None:
    line = growing(1, 3)
    rows = [("a", 1, line[0][1]), ("a", 2, line[1][1]), ("a", 2, line[2][1])]
    for windows_per_range in (None, 1):
        got = collected(deltas(spark.createDataFrame(rows, SCHEMA), windows_per_range=windows_per_range))
        assert [row[4] for row in got] == [None, None, "equal_time"]


def test_nulls_and_positions_are_in_the_error(spark: SparkSession) -> None:
    message = parse(load("heap.1.pb.gz"))
    message.sample[12].location_id[1] = 99_999
    damaged = bytes(message.SerializeToString())
    rows = [("a", 1, damaged), ("b", None, damaged), ("c", 1, None), (None, 1, damaged)]
    got = deltas(spark.createDataFrame(rows, SCHEMA)).collect()
    found = {row.target: row.error for row in got}
    assert {row.target: row.sequence for row in got} == {"a": 1, "b": None, "c": 1, None: None}
    with pytest.raises(pprofdelta.Error) as raised:
        pprofdelta.check(damaged)
    error = raised.value
    assert tuple(found["a"]) == ("profile", "profile", "sample.location_id", 12, error.offset, error.text)
    assert [found[name].text for name in ("b", "c", None)] == [
        f"the column of the {name} is null" for name in ("time", "profile", "target")
    ]
    assert all(row.delta is None and row.restart is None and row.report is None for row in got)


def test_the_report_is_that_of_a_context(spark: SparkSession) -> None:
    one, two = load("heap.1.pb.gz"), load("heap.2.pb.gz")
    [_, row] = deltas(spark.createDataFrame([("a", 1, one), ("a", 2, two)], SCHEMA)).orderBy("sequence").collect()
    context = pprofdelta.Context(sequence=False)
    context.base(one)
    report = context.window(two).report
    for name in row.report.asDict():
        if name != "types":
            assert row.report[name] == getattr(report, name), name
    assert [tuple(kind) for kind in row.report.types] == [
        (t.type, t.unit, t.is_counter, t.prev, t.cur, t.delta, t.clamped, t.vanished) for t in report.types
    ]


def test_the_size_of_batches_is_bounded(spark: SparkSession) -> None:
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    df = frame(spark, {"a": growing(1, 2)})
    spark.conf.set(name, str(2**31 - 1))  # no limit, which is the default of older versions of Spark
    deltas(df)
    assert spark.conf.get(name) == str(64 << 20)
    spark.conf.set(name, "1000000")
    deltas(df)
    assert spark.conf.get(name) == "1000000"
    spark.conf.unset(name)


def test_the_job_of_the_readme(spark: SparkSession, folder: Path) -> None:
    lines = lines_of(3, 8)
    frame(spark, lines).write.parquet(str(folder / "profiles"))
    readme = (VALID.parents[1] / "bindings" / "python" / "README.md").read_text()
    [job] = [block for block in re.findall(r"```python\n(.*?)```", readme, re.S) if "pprofdelta.spark" in block]
    exec(compile(job, "README.md", "exec"), {})
    assert shortened(collected(spark.read.parquet(str(folder / "deltas")))) == expected(lines)


def test_a_wrong_argument_fails_before_any_task(spark: SparkSession) -> None:
    df = frame(spark, {"a": growing(1, 2)})
    for options, error in (
        ({"compression": "brotli"}, ValueError),
        ({"level": 11}, pprofdelta.UsageError),
        ({"nosuch": 1}, TypeError),
        ({"sequence": True}, TypeError),
        ({"started": 1}, TypeError),
        ({"windows_per_range": 0}, ValueError),
        ({"profile": "target"}, TypeError),
        ({"time": "target"}, TypeError),
    ):
        with pytest.raises(error):
            deltas(df, **options)
