"""`pprofdelta.spark.merged` with a real Spark, against the flat merge of the same deltas in this process."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pprofdelta
from oracle import Reading
from pprofdelta.spark import deltas, merged, samples
from timelines import frame, growing, load, profile

SCHEMA = "service string, hour int, target string, sequence long, delta binary"
Groups = dict[tuple[Any, ...], Any]


@pytest.fixture(scope="module")
def windows(spark: SparkSession) -> DataFrame:
    """Deltas of some targets in three services and two hours. Those of a service have in-use values; of the others, one
    has a restart, one a damaged profile, and one a duplicate."""
    lines = {f"{service}{number}": growing(number, 8) for number, service in enumerate(["shop", "shop", "cart", "cart"])}
    lines["shop0"][5] = (6, profile({"f1": 1}, 6000))
    lines["shop1"][2] = (3, b"damaged")
    lines["cart2"].insert(3, lines["cart2"][3])
    lines |= {f"heap{number}": [(at, load(f"heap.{at}.pb.gz")) for at in (1, 2)] for number in range(5)}
    rows = deltas(frame(spark, lines), windows_per_range=5, partitions=3).collect()
    told = [(row.target[:4], row.to // 5, row.target, row.sequence, row.delta) for row in rows]
    return spark.createDataFrame(told, SCHEMA).repartition(4)


def flat(rows: DataFrame, by: list[str]) -> Groups:
    groups = defaultdict(list)
    for row in rows.where("delta IS NOT NULL").collect():
        groups[tuple(row[name] for name in by)].append(bytes(row.delta))
    return {key: told(pprofdelta.merge(found)) for key, found in groups.items()}


def told(merge: bytes) -> tuple[Any, ...]:
    reading = Reading(merge)
    stamp = pprofdelta.check(merge).stamp
    return (reading.nonzero, stamp, reading.profile.period, reading.profile.time_nanos, reading.profile.duration_nanos)


def groups_of(df: DataFrame, by: list[str]) -> Groups:
    rows = df.collect()
    found = {tuple(row[name] for name in by): told(bytes(row.delta)) for row in rows}
    assert len(found) == len(rows) and not any(row.error for row in rows)
    assert all((row.windows, row.targets) == (told(row.delta)[1].windows, told(row.delta)[1].targets) for row in rows)
    return found


def test_a_tree_is_the_flat_merge_when_workers_are_killed(spark: SparkSession, folder: Path, windows: DataFrame) -> None:
    by = ["service", "hour"]
    want = flat(windows, by)
    assert len(want) == 5 and {"shop", "cart", "heap"} == {service for service, _ in want}
    (folder / "kill-worker-20").touch()
    found = merged(windows, by, partitions=3)
    assert groups_of(found, by) == want
    assert (folder / "done-worker-20").exists()
    bytes_of = [sorted(row.delta for row in merged(rows, by, partitions=3).collect())
                for rows in (windows, windows.repartition(7))]
    assert bytes_of[0] == bytes_of[1]
    assert groups_of(merged(found, "service", disjoint=True).where("service = 'heap'"), ["service"]) == {
        key: one for key, one in flat(windows, ["service"]).items() if key == ("heap",)}


def test_deltas_that_came_twice_count_once(windows: DataFrame) -> None:
    by = ["service", "hour"]
    assert groups_of(merged(windows.union(windows).repartition(5), by), by) == flat(windows, by)


def test_the_stamp_of_a_window_has_its_target_and_its_row(windows: DataFrame) -> None:
    ids = defaultdict(set)
    for row in windows.where("delta IS NOT NULL").collect():
        stamp = pprofdelta.check(row.delta).stamp
        assert (stamp.sequence, stamp.attempt) == (row.sequence, 1)
        ids[row.target].add(stamp.id)
    assert all(len(found) == 1 for found in ids.values()) and len(set.union(*ids.values())) == len(ids)


def test_attempts_of_other_senders(spark: SparkSession) -> None:
    """Windows of states, sent in several attempts, in any partition."""
    sent = []
    for _ in range(3):
        with pprofdelta.Context() as context:
            for at in (1, 2):
                for _ in range(3):
                    context.abandon()
                    sent.append(context.window(load(f"heap.{at}.pb.gz")).delta)
                context.commit()
    random.Random(3).shuffle(sent)
    df = spark.createDataFrame([(1, one) for one in sent], "k int, sent binary").repartition(6)
    [row] = merged(df, "k", delta="sent", target_label="host", partitions=4).collect()
    assert told(row.delta)[:2] == told(pprofdelta.merge(sent, target_label="host"))[:2]
    assert (row.windows, row.targets) == (6, 3)
    [total] = samples(merged(df, "k", delta="sent"), types=["inuse_space"]).agg(f.sum("inuse_space")).collect()
    assert total[0] == sum(values[3] for values in told(pprofdelta.merge(sent))[0].values())


def test_what_cannot_be_merged_fails_its_group(spark: SparkSession, windows: DataFrame) -> None:
    good = [bytes(row.delta) for row in windows.where("target = 'heap1'").collect()]
    [other, *_] = windows.where("target = 'shop0'").collect()
    rows: list[tuple[str, bytes | None]] = [("good", one) for one in good]
    rows += [("damaged", one[:-9]) for one in good] + [("no target", load("heap.1.pb.gz"))]
    rows += [("types", good[0]), ("types", bytes(other.delta)), ("null", None)]
    rows += [("merge", pprofdelta.merge(good)), ("merge", good[0])]
    df = spark.createDataFrame(rows, "k string, delta binary")
    found = {row.k: row for row in merged(df, "k", disjoint=True).collect()}
    assert found["good"].error is None and "null" not in found
    assert found["damaged"].error.status in ("inflate", "wire", "profile")
    for name, text in (("no target", "no stamp"), ("types", "cur has"), ("merge", "would count twice")):
        row = found[name]
        assert (row.delta, row.windows, row.error.status) == (None, None, "mismatch") and text in row.error.text
    with pytest.raises(pprofdelta.UsageError):
        merged(df, "k", level=11)
    with pytest.raises(ValueError, match="no column"):
        merged(df, [])
    with pytest.raises(TypeError, match="not binary"):
        merged(df, "delta", delta="k")
