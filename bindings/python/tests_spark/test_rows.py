"""Rows: the tables of deltas against those of the library; and the questions of ENGINES.md as they are there, on Spark,
DuckDB and ClickHouse, against the messages of the deltas."""

from __future__ import annotations

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import pprofdelta
from conftest import HERE
from oracle import Reading, parse
from pprofdelta.spark import deltas, samples, stacks
from test_command import run
from timelines import SCHEMA, TABLES, VALUES, bag, dicts, growing, lines_of, load, rows_of, tables_of


def test_the_tables_are_those_of_the_library(spark: SparkSession) -> None:
    """From blobs, and from profiles without a blob between."""
    lines = lines_of(3, 8)
    lines["real"] = [(time, lines["real"][time % 2][1]) for time in range(1, 150)]  # more than a batch of output
    more = [(*row, "shop", {"zone": row[0], "n": str(row[1])}) for row in rows_of(lines)]
    df = spark.createDataFrame(more, f"{SCHEMA}, service string, `a.map` map<string, string>")
    arguments: Any = {"attributes": ["service", "`a.map`"], "windows_per_range": 50, "on_reset": "restart"}
    blobs, nested = deltas(df, **arguments), deltas(df, rows=True, **arguments)
    want: dict[str, Counter[str]] = defaultdict(Counter)
    for row in blobs.collect():
        told = {"target": row.target, "from": row["from"], "time": row.to, "sequence": row.sequence}
        told |= {"service": "shop", "a.map": {"zone": row.target, "n": str(row.to)}}
        if row.delta:
            for name, rows in tables_of(row.delta, **told, restart=row.restart != "none").items():
                want[name].update(rows if name == "samples" else rows.keys() - want[name].keys())
    for name, table in TABLES.items():
        assert bag(dicts(table(blobs))) == bag(dicts(table(nested))) == want[name], name
    kept = "target", "service", "sequence", "note", "report", "error"
    assert bag(dicts(blobs.select(*kept))) == bag(dicts(nested.select(*kept)))


def test_blobs_without_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    """What the row does not have comes from the stamp."""
    context, blobs = pprofdelta.Context(), list[tuple[bytes | None]]([(None,)])
    want: Counter[str] = Counter()
    for number in (1, 2):
        with context.window(load(f"heap.{number}.pb.gz")) as window:
            blobs.append((window.delta,))
        begin, end = (
            datetime.datetime.fromtimestamp(nanos // 1000 / 10**6) if nanos else None
            for nanos in (window.report.from_nanos, window.report.to_nanos)
        )
        told = {"target": f"{window.report.id:016x}", "from": begin, "time": end, "sequence": number, "attempt": 1}
        want += tables_of(window.delta, **told, restart=False)["samples"]
    df = spark.createDataFrame(blobs, "blob binary")
    assert bag(dicts(samples(df, delta="blob"))) == want
    df.write.parquet(str(tmp_path / "blobs"))
    stream = spark.readStream.schema("blob binary").parquet(str(tmp_path / "blobs"))
    for table in (samples, stacks):
        write = table(stream, delta="blob").writeStream.format("memory").queryName(f"found_{table.__name__}")
        write = write.option("checkpointLocation", str(tmp_path / table.__name__)).trigger(availableNow=True)
        write.start().awaitTermination()
    assert bag(dicts(spark.table("found_samples"))) == want
    assert set(bag(dicts(spark.table("found_stacks")))) == set(bag(dicts(stacks(df, delta="blob"))))
    assert samples(df, delta="blob", types=["alloc_space"]).columns[-3:] == ["stack_id", "alloc_space", "labels"]
    for blob, types, match in ((b"damaged", VALUES, "InvalidProfileError"), (blobs[1][0], ["nosuch"], "types nosuch")):
        with pytest.raises(PythonException, match=match):
            samples(spark.createDataFrame([(7, blob)], "n int, blob binary"), delta="blob", types=types).collect()


def test_a_profile_without_the_types_is_an_error(spark: SparkSession) -> None:
    line = growing(1, 2)
    df = spark.createDataFrame([("a", *line[0]), ("a", 2, b"damaged"), ("b", 1, load("mutex.1.pb.gz"))], SCHEMA)
    df = df.withColumn("zone", f.create_map(f.lit("at"), f.lit("b")))  # a map without nulls
    got = deltas(df, rows=True, types=["alloc_space"], attributes=["zone"]).orderBy("target", "to").collect()
    assert all(row.zone == {"at": "b"} for row in got)
    assert [row.error and row.error.status for row in got] == [None, "profile", "mismatch"]
    assert [row.samples is None for row in got] == [False, True, True]
    wrongs: list[Any] = [{"format": "otlp"}, {"types": []}, {"attributes": ["time"]}]
    for wrong in wrongs:
        with pytest.raises((TypeError, ValueError)):
            deltas(df, rows=True, **wrong)
    with pytest.raises(TypeError):
        deltas(df, format="tables")


# ---- the questions ----------------------------------------------------------------------------------

ENGINES = (HERE.parent / "ENGINES.md").read_text()
SECTIONS = {section.partition("\n")[0]: section for section in ENGINES.split("\n## ")}
QUESTIONS = re.findall(r"```sql\n(.*?)```", ENGINES.partition("\n## ")[0], re.S)
FLEET = {  # target: service, version, profiles
    "host1": ("shop", "1.4", ["heap.1.pb.gz", "heap.2.pb.gz"]),
    "host2": ("shop", "1.5", ["heap.2.pb.gz"]),
    "host3": ("cart", "1.3", ["heap.1.pb.gz"]),
}


def profiles_of(target: str) -> list[bytes]:
    """host3 runs another binary, one location of which has no symbols."""
    found = [parse(load(name)) for name in FLEET[target][2]]
    for message in found if target == "host3" else []:
        message.mapping[0].build_id = len(message.string_table)
        message.string_table.append(b"another")
        del message.location[5].line[:]
    return [bytes(message.SerializeToString()) for message in found]


def statements(engine: str) -> list[str]:
    return [one for block in re.findall(r"```sql\n(.*?)```", SECTIONS[engine], re.S) for one in block.split(";\n")]


def plain(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """Times in seconds, and numbers as they are equal in every engine."""

    def value(one: Any) -> Any:
        return int(one.timestamp()) if isinstance(one, datetime.datetime) else one if isinstance(one, str) else float(one)

    return [tuple(map(value, row)) for row in rows]


def answers() -> list[list[tuple[Any, ...]]]:
    flat, cumulative, growth, folded = (Counter[str]() for _ in range(4))
    history = []
    for target, (service, version, names) in FLEET.items():
        context = pprofdelta.Context()
        for data in profiles_of(target):
            with context.window(data) as window:
                reading = Reading(window.delta)
            s = reading.strings
            by_id = {one.id: one for one in reading.profile.location}
            for sample in reading.profile.sample:
                frames = []
                for one in map(by_id.__getitem__, sample.location_id):
                    mapping = reading.mappings[one.mapping_id]
                    where = f"{s[mapping.filename]} {one.address - mapping.memory_start + mapping.file_offset:X}"
                    frames += [s[reading.functions[line.function_id].name] for line in one.line] or [where]
                flat[frames[0]] += sample.value[1]
                for name in set(frames):
                    cumulative[name] += sample.value[1]
                growth[frames[0]] += {"1.5": 2, "1.4": -1}.get(version, 0) * sample.value[1]
                folded[";".join(reversed(frames))] += sample.value[1] * (service == "shop")
            if target == "host1":
                values = (sum(sample.value[n] for sample in reading.profile.sample) for n in (1, 3))
                history.append((window.report.to_nanos // 10**9, *values))

    def first(found: Counter[str]) -> list[tuple[Any, ...]]:
        return sorted(found.items(), key=lambda one: (-one[1], one[0]))[:10]

    half = Counter({name: value / 2 for name, value in growth.items()})  # two windows of 1.4, one of 1.5
    return [first(flat), first(cumulative), first(half), sorted((k, v) for k, v in folded.items() if v), history]


@pytest.fixture(scope="module")
def rows(spark: SparkSession, folder: Path) -> Path:
    """The Parquet files that the job for Spark in ENGINES.md writes."""
    looks = [
        (target, datetime.datetime.fromtimestamp(parse(data).time_nanos // 1000 / 10**6), data, service, version)
        for target, (service, version, _) in FLEET.items()
        for data in profiles_of(target)
    ]
    schema = "target string, time timestamp, profile binary, service string, version string"
    spark.createDataFrame(looks, schema).write.mode("overwrite").parquet(str(folder / "profiles"))
    [job] = re.findall(r"```python\n(.*?)```", SECTIONS["Spark"], re.S)
    exec(compile(job, "ENGINES.md", "exec"), {"spark": spark})
    return folder


def ask_spark(spark: SparkSession, folder: Path) -> Any:
    for statement in statements("Spark"):
        spark.sql(statement)
    return lambda question: spark.sql(question).collect()


def ask_duckdb(spark: SparkSession, folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    duck = duckdb.connect()
    for statement in statements("DuckDB"):
        duck.execute(statement)
    return lambda question: duck.execute(question).fetchall()


def ask_clickhouse(spark: SparkSession, folder: Path) -> Any:
    session = pytest.importorskip("chdb.session", reason="chdb is not installed").Session(str(folder / "clickhouse"))
    schema, inserts = statements("ClickHouse")[:-4], statements("ClickHouse")[-4:]
    for statement in schema:
        session.query(statement)
    for target, (service, version, _) in FLEET.items():
        context = pprofdelta.Context()
        paths = []
        for number, data in enumerate(profiles_of(target)):
            with context.window(data) as window:
                paths.append(folder / f"{target}.{number}.pb.gz")
                paths[-1].write_bytes(window.delta)
        assert not run("export", *paths, "-q", f"--target={target}", "-o", folder / target).returncode
        for statement in inserts:
            told = statement.replace("host1", target).replace("'shop', '1.4'", f"'{service}', '{version}'")
            session.query(told)

    def ask(question: str) -> Any:
        table = pa.ipc.open_file(session.query(question, "Arrow").bytes()).read_all()
        return zip(*(column.to_pylist() for column in table.columns), strict=True)

    hours = list(ask("SELECT stack_id, sum(alloc_space) FROM hours GROUP BY stack_id ORDER BY stack_id"))
    assert hours == list(ask("SELECT stack_id, sum(alloc_space) FROM samples GROUP BY stack_id ORDER BY stack_id"))
    return ask


@pytest.mark.parametrize("engine", [ask_spark, ask_duckdb, ask_clickhouse])
def test_the_questions(spark: SparkSession, rows: Path, engine: Callable[[SparkSession, Path], Any]) -> None:
    ask = engine(spark, rows)
    assert len(QUESTIONS) == len(answers())
    for question, answer in zip(QUESTIONS, answers(), strict=True):
        assert plain(ask(question)) == plain(answer), question
