"""`pprofdelta.spark.deltas` with a real Spark, against contexts in a plain loop and the oracle."""

from __future__ import annotations

import datetime
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pprofdelta
from conftest import VALID
from oracle import Reading, parse
from pprofdelta.spark import deltas
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
    rows_of,
    shortened,
)


@pytest.mark.parametrize("windows_per_range", [None, 5])
def test_the_rows_are_those_of_a_plain_loop(spark: SparkSession, windows_per_range: int | None) -> None:
    lines = lines_of(12, 16)
    got = collected(deltas(frame(spark, lines), windows_per_range=windows_per_range, verify=True))
    assert shortened(got) == expected(lines)
    assert sum(row[4] == "duplicate" for row in got) == 1
    assert [row[8]["status"] for row in got if row[8]] == ["wire"]
    assert {row[5] for row in got} == {None, "none", "mass"}


def test_a_worker_that_is_killed_changes_nothing(spark: SparkSession, folder: Path) -> None:
    lines = lines_of(10, 16)
    (folder / "kill-worker-8").touch()
    got = collected(deltas(frame(spark, lines), windows_per_range=5, partitions=2))
    assert (folder / "done-worker-8").exists()
    assert shortened(got) == expected(lines)


def test_the_deltas_add_up_to_the_last_profile(spark: SparkSession) -> None:
    lines = {f"t{number}": growing(number, 24) for number in range(6)}
    got = collected(deltas(frame(spark, lines), windows_per_range=7))
    for target, line in lines.items():
        found = [row[6] for row in got if row[0] == target]
        assert len(found) == len(line)
        assert Reading(pprofdelta.sum(*found)).nonzero == Reading(line[-1][1]).nonzero


def test_what_only_a_whole_time_line_knows(spark: SparkSession) -> None:
    """A cut forgets what a counter had before it went backwards, and samples that were away."""

    def line(*values: int | None) -> Line:
        looks = []
        for time, value in enumerate(values, start=1):
            counts = {"steady": 1000 * time} | ({"f": value} if value else {})
            looks.append((time, profile(counts, time * 1000)))
        return looks

    def windows(df: DataFrame, target: str) -> list[int]:
        found = []
        for row in collected(df):
            if row[0] == target:
                reading = parse(row[6])
                names = {one.id: reading.string_table[one.name] for one in reading.function}
                found.append(
                    sum(s.value[0] for s in reading.sample if names.get(s.location_id[0]) == b"f")
                )
        return found

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


def test_a_hundred_thousand_windows_of_one_target_are_many_tasks(spark: SparkSession, tmp_path: Path) -> None:
    message = Profile.FromString(profile({"f": 1}, 1))
    count, tasks = 100_000, 8

    def look(number: int) -> bytes:
        message.time_nanos, message.sample[0].value[0] = number * 1000, number * (number + 1) // 2
        return bytes(message.SerializeToString())

    table = {"target": ["a"] * count, "time": range(1, count + 1), "profile": map(look, range(1, count + 1))}
    path = str(tmp_path / "line.parquet")
    pq.write_table(pa.table({name: pa.array(column) for name, column in table.items()}), path, compression="gzip")
    result = deltas(spark.read.parquet(path), partitions=tasks)
    assert "hashpartitioning(target" in result._jdf.queryExecution().executedPlan().toString()
    found = (
        result.groupBy(f.spark_partition_id().alias("task"))
        .agg(
            f.count("*").alias("rows"),
            f.count("delta").alias("deltas"),
            f.sum((f.col("sequence") == f.col("to")).cast("int")).alias("in_place"),
            f.sum((f.col("report.types")[0]["delta"] == f.col("sequence")).cast("int")).alias("exact"),
        )
        .collect()
    )
    for column in ("rows", "deltas", "in_place", "exact"):
        assert sum(row[column] for row in found) == count, column
    assert len(found) > tasks / 2 and max(row.rows for row in found) < count / 2


def test_equal_times_are_told(spark: SparkSession) -> None:
    line = growing(1, 3)
    rows = [("a", 1, line[0][1]), ("a", 2, line[1][1]), ("a", 2, line[2][1])]
    for windows_per_range in (None, 1):
        got = collected(deltas(spark.createDataFrame(rows, SCHEMA), windows_per_range=windows_per_range))
        assert [row[4] for row in got] == [None, None, "equal_time"]


def test_times_may_be_timestamps_and_columns_have_other_names(spark: SparkSession) -> None:
    noon = datetime.datetime(2026, 11, 22, 12)
    rows = [(7, noon + datetime.timedelta(minutes=time), data) for time, data in growing(1, 4)]
    df = spark.createDataFrame(rows, "`the host` long, at timestamp, `a.b` binary")
    result = deltas(df, "`the host`", "at", "`a.b`", windows_per_range=2, compression="none")
    assert [field.name for field in result.schema][:4] == ["target", "from", "to", "sequence"]
    got = collected(result)
    assert [(row[0], row[1], row[2]) for row in got] == [
        (7, rows[number - 1][1] if number else None, rows[number][1]) for number in range(4)
    ]
    assert all(pprofdelta.check(row[6]).format == "plain" for row in got)


def test_nulls_and_positions_are_in_the_error(spark: SparkSession) -> None:
    message = parse(load("heap.1.pb.gz"))
    message.sample[12].location_id[1] = 99_999
    damaged = bytes(message.SerializeToString())
    rows = [("a", 1, damaged), ("b", None, damaged), ("c", 1, None), (None, 1, damaged)]
    got = deltas(spark.createDataFrame(rows, SCHEMA)).collect()
    found = {row.target: row.error for row in got}
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
    large = [("a", 1, bytes(3_000_000)), ("a", 2, bytes(3_000_000)), *rows_of({"b": growing(2, 40)})]
    got = collected(deltas(spark.createDataFrame(large, SCHEMA), partitions=1))
    assert len(got) == 42 and sum(row[8] is None for row in got) == 40
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


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_the_types_are_right() -> None:
    here = Path(__file__).resolve().parent
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", "/dev/null"]
    for what in (["-p", "pprofdelta"], [str(path) for path in sorted(here.glob("*.py"))]):
        ran = subprocess.run(
            [*command, *what], capture_output=True, text=True, check=False, cwd=here.parent / "tests"
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
