"""Streams that are stopped and killed, and start again from their checkpoint: 200 windows of 50 targets.

Every row must be there once, with the bytes of a plain loop, and the sum of the deltas of a target must be
its last profile, sample by sample.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import pprofdelta
from conftest import HERE
from oracle import Reading
from streams import Stream, is_slow
from timelines import Line, collected, expected, growing, rows_of, shortened

WINDOWS, TARGETS, FILES = 200, 50, 8
HOME = Path(pyspark.__file__).parent
# The options of the session of conftest.py, as options of spark-submit.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.task.maxFailures": "4",
}


@pytest.fixture(scope="module")
def lines() -> dict[str, Line]:
    return {f"t{number:02}": growing(number, WINDOWS) for number in range(TARGETS)}


@pytest.fixture
def stream(tmp_path: Path, lines: dict[str, Line]) -> Stream:
    stream = Stream(tmp_path)
    rows = rows_of(lines)
    for number in range(FILES):
        stream.feed(row for row in rows if (row[1] - 1) * FILES // WINDOWS == number)
    return stream


def is_complete(spark: SparkSession, stream: Stream, lines: dict[str, Line]) -> None:
    got = collected(stream.result(spark))
    assert shortened(got) == expected(lines)
    for target, line in lines.items():
        total = pprofdelta.sum(*(row[6] for row in got if row[0] == target))
        assert Reading(total).nonzero == Reading(line[-1][1]).nonzero


def submit(stream: Stream, folder: Path, master: str, kill_at: int) -> int:
    """Runs stream_job.py by spark-submit, in a process group of its own. The group is killed when this many
    windows have been computed; 0: never. Returns how the program ended."""
    settings = {**SETTINGS, "spark.pyspark.python": sys.executable, "spark.executor.memory": "512m"}
    for name in ("PYTHONPATH", "PPROFDELTA_TEST_FOLDER"):
        settings[f"spark.executorEnv.{name}"] = {"PYTHONPATH": str(HERE / "killing")}.get(name, str(folder))
    command = [str(HOME / "bin" / "spark-submit"), "--master", master]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += [str(HERE / "stream_job.py"), str(stream.input), str(stream.output), str(stream.checkpoint)]
    (folder / "windows").write_bytes(b"")
    with open(folder / "log", "ab") as log:
        environment = {**os.environ, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable}
        environment.update(PYTHONPATH=str(HERE / "killing"), PPROFDELTA_TEST_FOLDER=str(folder))
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        job = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        if kill_at:
            (folder / "next").write_text(f"{job.pid} {kill_at}")
            (folder / "next").rename(folder / "kill-group")
        return job.wait()


def test_a_stopped_and_killed_query_goes_on(
    spark: SparkSession, stream: Stream, folder: Path, tmp_path: Path, lines: dict[str, Line]
) -> None:
    chance = random.Random(20)
    total = WINDOWS * TARGETS
    # The process is killed within a micro-batch.
    assert submit(stream, tmp_path, "local[2,4]", chance.randrange(total // 10, total // 4)) < 0
    assert (tmp_path / "killed-group").exists()
    # The query is stopped while windows are computed, and between micro-batches.
    windows, commits = folder / "windows", stream.checkpoint / "commits"
    for is_within in (True, False, True):
        windows.write_bytes(b"")
        done = len(list(commits.glob("[0-9]*")))
        at = chance.randrange(1, total // 10)
        query = stream.start(spark)
        while query.isActive:
            if windows.stat().st_size >= at if is_within else len(list(commits.glob("[0-9]*"))) > done:
                break
            time.sleep(0.01)
        query.stop()
        error = query.exception()
        assert error is None or is_slow(error)
    windows.unlink()
    assert len(list(commits.glob("[0-9]*"))) < FILES
    stream.run(spark)
    is_complete(spark, stream, lines)


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and two workers on this machine, with ports that the system chooses."""
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.update(SPARK_DAEMON_MEMORY="256m", SPARK_WORKER_DIR=str(folder / "work"))
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"daemon{len(started)}.log"
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        with open(log, "wb") as file:
            started.append(
                subprocess.Popen(
                    [*command, "--port", "0", "--webui-port", "0", *arguments],
                    stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment,
                )
            )  # fmt: skip
        return log

    def logged(log: Path, pattern: str) -> str:
        while True:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[0]
            assert all(one.poll() is None for one in started), log.read_text()
            time.sleep(0.05)

    try:
        master = logged(start("master.Master"), r"spark://127\.0\.0\.1:[1-9]\d*")
        workers = [start("worker.Worker", "--cores", "1", "--memory", "768m", master) for _ in range(2)]
        for log in workers:
            logged(log, "Successfully registered with master")
        yield master
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            one.wait()


def test_a_cluster_of_two_workers(
    spark: SparkSession, stream: Stream, tmp_path: Path, lines: dict[str, Line]
) -> None:
    """A worker process kills itself, then the driver is killed; spark-submit starts the job again."""
    with standalone(tmp_path) as master:
        (tmp_path / "kill").touch()
        assert submit(stream, tmp_path, master, random.Random(21).randrange(3000, 6000)) < 0
        assert (tmp_path / "killed").exists() and (tmp_path / "killed-group").exists()
        executors = {path.parent.name for path in (tmp_path / "work").glob("app-*/*/stderr")}
        assert executors == {"0", "1"}
        assert submit(stream, tmp_path, master, 0) == 0, (tmp_path / "log").read_text()
    is_complete(spark, stream, lines)
