"""What a profile costs on Spark: fleet.py GENERATE STEADY [SAMPLES]...

GENERATE and STEADY are build/tests/generate and build/tests/steady. For each number of samples (500, 5000 and
50000), a series of gzip profiles is made, which many targets share. Each job runs in one Spark session with two
threads, from Parquet to a sink that drops everything. The jobs take turns. The table has the medians:

deltas      pprofdelta.spark.deltas, deltas not compressed
rows        the same with rows=True
spark       the same job without the windows: scan, shuffle, sort, and the profiles to the Python workers
protobuf    the same job with a plain subtraction in Python, by Google's protobuf (upb)
stream      pprofdelta.spark.write_deltas, with the trigger availableNow
C           STEADY on one pair of the series, which has no Spark and no Python

The unit is profiles for each second of processor time, of the JVM and of the workers together: what one core
does. On a busy machine it varies less than the time of the clock. It does not have the first runs, which warm up.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pprofdelta
from pprofdelta.spark import deltas, write_deltas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from profile_message import Profile

ROUNDS, LOOKS, MINUTE = 3, 10, 60_000_000_000
PROFILES = {500: 2000, 5000: 600, 50_000: 100}  # of a job
TARGETS_OF_PROTOBUF = {500: 100, 5000: 10, 50_000: 1}


def series(generate: str, samples: int, folder: str) -> list[bytes]:
    """Profiles of a process: a tenth of the samples count more in each minute."""
    paths = [os.path.join(folder, name) for name in ("prev", "cur")]
    subprocess.run([generate, str(samples), "1", "go", "distinct", *paths], check=True)
    profile = Profile.FromString(Path(paths[0]).read_bytes())
    names = [profile.string_table[kind.type] for kind in profile.sample_type]
    counters = [place for place, name in enumerate(names) if name in (b"alloc_objects", b"alloc_space")]
    chance, found = random.Random(1), []
    for _ in range(LOOKS):
        found.append(gzip.compress(profile.SerializeToString(), 6))
        profile.time_nanos += MINUTE
        for sample in chance.sample(list(profile.sample), samples // 10):
            for place in counters:
                sample.value[place] += chance.randrange(1, 1000)
    return found


# ---- jobs -------------------------------------------------------------------------------------------


def sorted_as_in_deltas(df: DataFrame) -> DataFrame:
    keyed = df.withColumn("hash", f.xxhash64("profile"))
    return keyed.repartition("target").sortWithinPartitions("target", "time", "hash")


def drop(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["target", "time"])


def subtract(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A subtraction as one would write it: by the addresses of the stacks, without any check."""
    prev: dict[Any, tuple[int, ...]] = {}
    last = None
    for batch in batches:
        out = []
        columns = (batch.column(name).to_pylist() for name in ("target", "profile"))
        for target, profile in zip(*columns, strict=True):
            if target != last:
                prev, last = {}, target
            message = Profile.FromString(gzip.decompress(profile))
            names = [message.string_table[kind.type] for kind in message.sample_type]
            is_counter = [name in (b"alloc_objects", b"alloc_space") for name in names]
            places = {
                one.id: (one.address, one.mapping_id) if one.address
                else tuple((line.function_id, line.line) for line in one.line)
                for one in message.location
            }  # fmt: skip
            cur: dict[Any, tuple[int, ...]] = {}
            kept = []
            for sample in message.sample:
                labels = frozenset((label.key, label.str, label.num) for label in sample.label)
                key = (tuple(places[number] for number in sample.location_id), labels)
                values = tuple(sample.value)
                cur[key] = values
                before = prev.get(key)
                if before:
                    values = tuple(c - b if k else c for c, b, k in zip(values, before, is_counter, strict=True))
                    sample.value[:] = values
                if any(values):
                    kept.append(sample)
            delta = Profile()
            delta.CopyFrom(message)
            del delta.sample[:]
            delta.sample.extend(kept)
            prev = cur
            out.append((target, delta.SerializeToString()))
        targets, found = zip(*out, strict=True) if out else ((), ())
        arrays = [pa.array(targets, pa.string()), pa.array(found, pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, ["target", "delta"])


def sunk(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = folder / "events"
        self.events.mkdir()
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1] / "tests")
        self.spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.sql.parquet.compression.codec", "gzip")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.rolling.enabled", "false")
            .config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", self.events.as_uri())
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("OFF")
        self.spark.range(1000).selectExpr("uuid() as a").repartition(2).write.format("noop").mode("overwrite").save()

    def processor_seconds(self) -> float:
        """Of this process and of all below it, also of those that have ended."""
        ticks, parents = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            ticks[number] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
        ours, grown = {os.getpid()}, True
        while grown:
            more = {number for number, parent in parents.items() if parent in ours} - ours
            ours |= more
            grown = bool(more)
        return sum(ticks[number] for number in ours) / os.sysconf("SC_CLK_TCK")

    def shuffled_bytes(self) -> int:
        """Of all tasks so far."""
        total = 0
        for path in self.events.glob("*"):
            for line in path.read_text().splitlines():
                if '"SparkListenerTaskEnd"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        return total

    def cost(self, job: Callable[[], None]) -> tuple[float, int]:
        seconds, shuffled = self.processor_seconds(), self.shuffled_bytes()
        job()
        return self.processor_seconds() - seconds, self.shuffled_bytes() - shuffled

    def write(self, profiles: list[bytes], count: int, name: str) -> Path:
        """The profiles of count / LOOKS targets: one file for each look, so that a stream reads them in order."""
        folder = self.folder / name
        folder.mkdir()
        targets = [f"target{number:06}" for number in range(count // LOOKS)]
        for time, profile in enumerate(profiles, start=1):
            columns = [pa.array(targets), pa.array([time] * len(targets), pa.int64())]
            table = pa.table([*columns, pa.array([profile] * len(targets), pa.binary())], ["target", "time", "profile"])
            path = folder / f"{time:03}.parquet"
            pa.parquet.write_table(table, path, compression="none", use_dictionary=False)
            os.utime(path, (time, time))
        return folder

    def stream(self, source: Path, count: int) -> int:
        """Runs a stream, and returns the bytes of its checkpoint's state."""
        checkpoint = self.folder / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        schema = "target string, time long, profile binary"
        df = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(source))
        out = write_deltas(df, lambda rows, _: sunk(rows), str(checkpoint), partitions=2, compression="none")
        query = out.trigger(availableNow=True).start()
        query.awaitTermination()
        assert sum(one["numInputRows"] for one in query.recentProgress) == count
        return sum(path.stat().st_size for path in (checkpoint / "pprofdelta").rglob("*") if path.is_file())

    def measure(self, generate: str, steady: str, samples: int) -> None:
        profiles = series(generate, samples, str(self.folder))
        count = PROFILES.get(samples, 100)
        source = self.write(profiles, count, f"in{samples}")
        rows = self.spark.read.parquet(str(source))
        stored: list[int] = []

        few = rows.where(f.col("target") < f"target{TARGETS_OF_PROTOBUF.get(samples, 1):06}")
        jobs: dict[str, Callable[[], None]] = {
            "deltas": lambda: sunk(deltas(rows, windows_per_range=None, compression="none")),
            "rows": lambda: sunk(deltas(rows, windows_per_range=None, rows=True)),
            "spark": lambda: sunk(sorted_as_in_deltas(rows).mapInArrow(drop, "target string, time long")),
            "protobuf": lambda: sunk(sorted_as_in_deltas(few).mapInArrow(subtract, "target string, delta binary")),
            "stream": lambda: stored.append(self.stream(source, count)),
        }
        seconds: dict[str, list[float]] = {name: [] for name in jobs}
        shuffled: dict[str, int] = {}
        counts = dict.fromkeys(jobs, count)
        counts["protobuf"] = few.count()
        for number in range(ROUNDS + 1):
            for name, job in jobs.items():
                spent, shuffled[name] = self.cost(job)
                if number:
                    seconds[name].append(spent / counts[name])
        paths = [self.folder / name for name in ("prev.gz", "cur.gz")]
        for path, profile in zip(paths, profiles, strict=False):
            path.write_bytes(profile)
        ran = subprocess.run([steady, *map(str, paths), "60"], capture_output=True, text=True, check=True)
        in_c = median(int(line.split()[1]) for line in ran.stdout.splitlines() if not line.startswith("#")) / 1e9

        def median_ratio(name: str, other: str) -> float:
            return median(a / b for a, b in zip(seconds[name], seconds[other], strict=True))

        with pprofdelta.Context() as context:
            context.base(profiles[0])
            state = len(context.save())
        size = sum(map(len, profiles)) // LOOKS
        speeds = " ".join(f"{1 / median(spent):10.1f}" for spent in seconds.values())
        print(f"{samples:7,}{size:10,} {speeds}{1 / in_c:10.1f}{median_ratio('spark', 'deltas'):9.0%}"
              f"{median_ratio('protobuf', 'deltas'):9.1f}x{shuffled['deltas'] // count:11,}"
              f"{shuffled['stream'] // count:11,}{state:10,}{stored[-1] // (count // LOOKS):12,}", flush=True)  # fmt: skip


def main(generate: str, steady: str, *sizes: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        print(f"load average {os.getloadavg()[0]:.1f}; profiles a second and core, and bytes of a profile:")
        print("samples     bytes     deltas       rows      spark   protobuf     stream         C  spark's  protobuf"
              "    shuffle    shuffle     saved   checkpoint")
        print(" " * 80 + "share     costs     deltas     stream     state   of a target", flush=True)
        for samples in sizes or map(str, PROFILES):
            bench.measure(generate, steady, int(samples))
        print(f"load average {os.getloadavg()[0]:.1f}")
        bench.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
