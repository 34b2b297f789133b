"""A day of a fleet as rows in Parquet, and the questions of ENGINES.md in DuckDB: day.py FOLDER [TARGETS]

100 targets run one program with 5,000 stacks. A window of a minute has 500 samples, more often of some stacks than of
others; a stack allocates objects of one size, and half of the stacks have objects in use. These are 72 million
samples. Each hour is a file, in the order of stacks and targets. FOLDER keeps them for the next run.

For each question, the medians of five runs with two threads: seconds of the clock and of the processor. The bytes of the
day are those of the four tables, and of blobs: the gzip profiles of 100 of the windows, by to_pprof, times their share.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pprofdelta

STACKS, FUNCTIONS, WINDOWS, SAMPLES, RUNS = 5000, 2000, 60, 500, 5
BEGIN = np.datetime64("2026-11-24T00:00", "ns")
VALUES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")


def id_of(kind: int, numbers: Any) -> Any:
    """Ids as those of the library: 64 bits without an order."""
    return (np.asarray(numbers, np.uint64) * 0x9E3779B97F4A7C15 + kind).view(np.int64)


def program(folder: Path) -> dict[str, pa.Table]:
    """The stacks, locations and functions: two locations for each function, 8 to 23 of them in a stack."""
    chance = np.random.default_rng(1)
    names = [f"shop/internal/part{number % 37}.(*Service{number % 211}).handle{number}" for number in range(FUNCTIONS)]
    lines = [[{"function_id": int(id_of(1, number // 2)), "line": number % 900, "inlined": False}] for number in range(2 * FUNCTIONS)]
    frames = [id_of(2, chance.zipf(1.3, chance.integers(8, 24)) * 7919 % (2 * FUNCTIONS)).tolist() for _ in range(STACKS)]
    found = {
        "functions": pa.table({"function_id": id_of(1, np.arange(FUNCTIONS)), "name": names, "system_name": names,
                               "file": [f"shop/internal/part{number % 37}/service.go" for number in range(FUNCTIONS)],
                               "start_line": np.arange(FUNCTIONS)}),
        "locations": pa.table({"location_id": id_of(2, np.arange(2 * FUNCTIONS)), "build_id": ["9f167ff9"] * 2 * FUNCTIONS,
                               "file": ["/opt/shop"] * 2 * FUNCTIONS, "address": np.arange(2 * FUNCTIONS) * 64, "lines": lines}),
        "stacks": pa.table({"stack_id": id_of(3, np.arange(STACKS)), "location_ids": frames}),
    }  # fmt: skip
    for name, table in found.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / name / "all.parquet", compression="zstd")
    return found


def hour(number: int, targets: int) -> pa.Table:
    chance = np.random.default_rng(number)
    weight = (1 / np.arange(1, STACKS + 1) ** 0.7).astype(np.float32)
    size = 16 << np.random.default_rng(2).integers(0, 9, STACKS)
    windows = targets * WINDOWS
    chosen = np.empty((windows, SAMPLES), np.int64)
    for window in range(windows):  # a sample without replacement: the smallest of weighted exponentials
        chosen[window] = np.argpartition(chance.standard_exponential(STACKS, np.float32) / weight, SAMPLES)[:SAMPLES]
    stack = chosen.ravel()
    target = np.repeat(np.arange(targets), WINDOWS * SAMPLES)
    minute = np.tile(np.repeat(np.arange(WINDOWS), SAMPLES), targets) + number * 60
    order = np.lexsort((minute, target, stack))
    stack, target, minute = stack[order], target[order], minute[order]
    objects = chance.geometric(0.05, len(stack))
    in_use = np.where(stack % 2, 0, 40 + stack * target % 400 + minute // 60)
    at = BEGIN + minute * np.timedelta64(1, "m")
    names = pa.array([f"host{n}" for n in range(targets)])
    texts = {"service": np.zeros(len(stack), np.int32), "version": (target % 2).astype(np.int32)}
    words = {"service": pa.array(["shop"]), "version": pa.array(["1.4", "1.5"])}
    columns = {
        "target": pa.DictionaryArray.from_arrays(target.astype(np.int32), names),
        **{name: pa.DictionaryArray.from_arrays(codes, words[name]) for name, codes in texts.items()},
        "from": pa.array(at - np.timedelta64(1, "m"), pa.timestamp("us", "UTC"), safe=False),
        "time": pa.array(at, pa.timestamp("us", "UTC"), safe=False),
        "sequence": minute + 1,
        "stack_id": id_of(3, stack),
        **dict(zip(VALUES, (objects, objects * size[stack], in_use, in_use * size[stack]), strict=True)),
    }
    return pa.table(columns)


def blobs(samples: pa.Table, tables: dict[str, pa.Table]) -> float:
    """The mean size of 100 windows."""
    rest = [tables[name].to_pylist() for name in ("stacks", "locations", "functions")]
    sizes = []
    for n in range(100):
        is_here = pa.compute.and_(pa.compute.equal(samples["target"].cast(pa.string()), f"host{n % 10}"),
                                  pa.compute.equal(samples["sequence"], n // 10 + 1))  # fmt: skip
        sizes.append(len(pprofdelta.to_pprof(samples.filter(is_here), *rest)))
    return mean(sizes)


def main(place: str, count: str = "100") -> None:
    folder, targets = Path(place), int(count)
    tables = program(folder / "rows")
    for number in range(24):
        path = folder / "rows" / "samples" / f"{number:02}.parquet"
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            pq.write_table(hour(number, targets), path, compression="zstd", row_group_size=1 << 20)
    size = sum(path.stat().st_size for path in (folder / "rows").rglob("*.parquet"))
    blob = blobs(hour(0, min(targets, 10)), tables)
    windows = 24 * WINDOWS * targets
    print(f"{windows * SAMPLES:,} samples; rows {size / 1e6:,.0f} MB, blobs {blob * windows / 1e6:,.0f} MB ({blob:,.0f} bytes)")
    os.chdir(folder)
    text = (Path(__file__).resolve().parents[1] / "ENGINES.md").read_text()
    sections = {section.partition("\n")[0]: re.findall(r"```sql\n(.*?)```", section, re.S) for section in text.split("\n## ")}
    duck = duckdb.connect(config={"threads": 2})
    for statement in "".join(sections["DuckDB"]).split(";\n"):
        duck.execute(statement)
    for question in sections["# Questions to a fleet"]:
        spent = []
        for _ in range(RUNS):
            begin, used = time.perf_counter(), time.process_time()
            rows = len(duck.execute(question).fetchall())
            spent.append((time.perf_counter() - begin, time.process_time() - used))
        clock, processor = (median(one[n] for one in spent) for n in (0, 1))
        print(f"{clock:6.2f} s, processor {processor:6.2f} s, {rows:5} rows: {question.partition(chr(10))[0]}", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
