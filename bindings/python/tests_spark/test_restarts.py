"""Streams that are killed at random points and stopped, and start again from their checkpoint: with profiles that
come late, duplicates, and targets that go silent.

Every row must be there once: in one query with the bytes of a plain loop, and in the other with the rows of its tables.
PPROFDELTA_TEST_RUNS is the number of runs (1), and PPROFDELTA_TEST_KILLS that of the kills of each kind (1).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from conftest import HERE, SETTINGS
from streams import LATENESS, SECOND, Stream
from timelines import TABLES, bag, dicts, expected, growing, plain, tables_of

RUNS, KILLS = (int(os.environ.get(f"PPROFDELTA_TEST_{name}", many)) for name, many in (("RUNS", 1), ("KILLS", 1)))
WINDOWS, TARGETS, FILES = 32, 15, 4
NAMES = "target", "from", "to", "sequence", "note", "restart", "delta", "status"


def submit(folder: Path) -> int:
    """Runs streams.py by spark-submit, with two executors that are processes of their own. Returns how it ended."""
    variables = {"PYTHONPATH": str(HERE / "killing"), "PPROFDELTA_TEST_FOLDER": str(folder)}
    settings = {**SETTINGS, **{f"spark.executorEnv.{name}": value for name, value in variables.items()}}
    settings |= {"spark.executor.memory": "512m", "spark.task.maxFailures": "20"}
    home = folder / "home"  # the executors' folders are there
    if not home.exists():
        home.mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (home / path.name).symlink_to(path)
    command = [str(home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = {**os.environ, **variables, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    with open(folder / "log", "ab") as log:
        command += [str(HERE / "streams.py"), str(folder)]
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        for order in folder.glob("kill-driver-*"):
            order.write_text(str(job.pid))
        return job.wait()


@pytest.mark.parametrize("seed", range(RUNS))
def test_killed_at_random_points(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    stream, rows_stream = both = Stream(tmp_path), Stream(tmp_path, is_rows=True)
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
    kills = ("worker", "daemon", "executor", "driver") * KILLS
    for what, at in zip(kills, chance.sample(range(10, 2 * TARGETS * WINDOWS), len(kills)), strict=True):
        (tmp_path / f"kill-{what}-{at}").touch()
    while (ended := submit(tmp_path)) < 0:
        pass
    assert ended == 0, (tmp_path / "log").read_text()
    assert not list(tmp_path.glob("kill-*")) and len(list(tmp_path.glob("done-*"))) == len(kills)

    # The queries are stopped at a random point, and go on. Then the silent targets are forgotten.
    arguments: dict[str, Any] = {"lateness": LATENESS, "expire_after": SECOND}

    def go_on() -> None:
        for query in [one.start(spark, **arguments) for one in both]:
            query.awaitTermination()

    rest = rows[FILES * size :]
    stream.feed(rest[: len(rest) // 2])
    queries = [one.start(spark, **arguments) for one in both]
    time.sleep(chance.random() * 3)
    for query in queries:
        query.stop()
    go_on()
    time.sleep(1.1)
    last = [(target, 999, line[-1][1]) for target, line in lines.items() if len(line) > WINDOWS]
    for part in (rest[len(rest) // 2 :], [*last, ("t01", 500, lines["t01"][-1][1]), ("t01", 999, b"")]):
        stream.feed(part)
        go_on()
    want = expected(lines)
    for one in both:
        result = dicts(one.result(spark))
        [back] = [row for row in result if row["to"] == 500]
        assert back["target"] == "t01" and back["sequence"] == 1 and not back["report"]["had_base"]
        late = sorted((row["target"], row["to"]) for row in result if row["note"] == "late")
        assert late == [("t05", 2), ("t06", 3)]
        found = [row | {"status": row["error"] and row["error"]["status"]} for row in result if row["to"] != 500]
        for row in found:
            row["delta"] = None if one.is_rows else plain(row["delta"], row["sequence"])
        got = [tuple(map(row.get, NAMES)) for row in found if row["sequence"]]
        wanted = [(*row[:6], None if one.is_rows else row[6], row[7]) for row in want]
        assert sorted(got, key=itemgetter(0, 3)) == wanted
    tables = {name: Counter[str]() for name in TABLES}
    for target, begin, end, sequence, _, restart, delta, _ in want:
        told = {"target": target, "from": begin, "time": end, "sequence": sequence, "restart": restart != "none"}
        for name, rows_here in tables_of(delta, **told).items() if delta else ():
            tables[name].update(rows_here)
    for name in TABLES:
        got_rows = bag(dicts(rows_stream.result(spark, name).where("time != 500" if name == "samples" else "true")))
        assert got_rows == tables[name] if name == "samples" else set(got_rows) == set(tables[name])
