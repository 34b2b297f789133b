"""Streams that are killed at random points and stopped, and start again from their checkpoint: with profiles that
come late, duplicates, and targets that go silent.

Every row must be there once, with the bytes of a plain loop, and the sum of the deltas of a target must be its last
profile, sample by sample. PPROFDELTA_TEST_RUNS is the number of runs (1). Each has five kills.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import pprofdelta
from conftest import HERE
from oracle import Reading
from streams import LATENESS, SECOND, Stream, is_slow
from timelines import collected, expected, growing, shortened

RUNS = int(os.environ.get("PPROFDELTA_TEST_RUNS", "1"))
WINDOWS, TARGETS, FILES = 48, 15, 6
HOME = Path(pyspark.__file__).parent
SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",  # two executors, each a process of its own
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.task.maxFailures": "20",
    "spark.pyspark.python": sys.executable,
}


def submit(stream: Stream, folder: Path) -> int:
    """Runs streams.py by spark-submit, with executors that are processes of their own. Returns how it ended."""
    variables = {"PYTHONPATH": str(HERE / "killing"), "PPROFDELTA_TEST_FOLDER": str(folder)}
    settings = {**SETTINGS, **{f"spark.executorEnv.{name}": value for name, value in variables.items()}}
    command = [str(HOME / "bin" / "spark-submit")]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += [str(HERE / "streams.py"), str(stream.input), str(stream.output), str(stream.checkpoint)]
    with open(folder / "log", "ab") as log:
        environment = {**os.environ, **variables, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder / "work")}
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        for order in folder.glob("kill-driver-*"):
            order.write_text(str(job.pid))
        return job.wait()


@pytest.mark.parametrize("seed", range(RUNS))
def test_killed_at_random_points(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    stream = Stream(tmp_path)
    lines = {f"t{number:02}": growing(number, WINDOWS + 2 * LATENESS) for number in range(TARGETS)}
    for target in ("t01", "t02", "t03"):  # these go silent
        del lines[target][WINDOWS // 3 :]
    lines["t04"].insert(9, lines["t04"][9])  # a duplicate, in another micro-batch or in the same
    rows = [(target, at, data) for target, line in lines.items() for at, data in line]
    rows.sort(key=lambda row: row[1] + chance.random() * LATENESS)
    size = sum(row[1] <= WINDOWS for row in rows) // FILES
    for number in range(FILES - 1):
        stream.feed(rows[number * size : (number + 1) * size])
    stream.feed([*rows[(FILES - 1) * size : FILES * size], ("t05", *lines["t05"][1]), ("t06", *lines["t06"][2])])
    for what in ("worker", "worker", "daemon", "executor", "driver"):
        (tmp_path / f"kill-{what}-{chance.randrange(10, TARGETS * WINDOWS)}").touch()
    while (ended := submit(stream, tmp_path)) < 0:
        pass
    assert ended == 0, (tmp_path / "log").read_text()
    assert not list(tmp_path.glob("kill-*")) and len(list(tmp_path.glob("done-*"))) == 5

    # The query is stopped at a random point, and goes on. Then the silent targets are forgotten.
    arguments = {"lateness": LATENESS, "expire_after": SECOND}
    rest = rows[FILES * size :]
    stream.feed(rest[: len(rest) // 2])
    query = stream.start(spark, **arguments)
    time.sleep(chance.random() * 3)
    query.stop()
    error = query.exception()
    assert error is None or is_slow(error)
    stream.run(spark, **arguments)
    time.sleep(1.1)
    for part in (rest[len(rest) // 2 :], [(target, 999, line[-1][1]) for target, line in lines.items() if len(line) > WINDOWS]):
        stream.feed(part)
        stream.run(spark, **arguments)
    got = [tuple(row.asDict(recursive=True).values()) for row in stream.result(spark).collect()]
    late = [row[:5] for row in got if row[4] == "late"]
    assert sorted((row[0], row[2]) for row in late) == [("t05", 2), ("t06", 3)]
    found = collected(stream.result(spark).where("sequence is not null"))
    assert shortened(found) == expected(lines)
    for target, line in lines.items():
        total = pprofdelta.sum(*(row[6] for row in found if row[0] == target and row[6]))
        assert Reading(total).nonzero == Reading(line[-1][1]).nonzero
