"""A real Spark in this process: two threads, and tasks that are tried again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
VALID = HERE.parents[2] / "testdata" / "valid"
SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # The default, Snappy, does not load where a loader of musl is installed beside glibc.
    "spark.sql.parquet.compression.codec": "gzip",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="session")
def spark(folder: Path) -> Iterator[SparkSession]:
    # Each JVM lives for seconds: the second compiler, a parallel collector and the verifier cost more than they gain.
    options = "TieredStopAtLevel=1 +UseSerialGC +UnlockDiagnosticVMOptions -BytecodeVerificationRemote"
    os.environ["JDK_JAVA_OPTIONS"] = " ".join(f"-XX:{option}" for option in options.split())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(HERE / "killing")
    os.environ["PPROFDELTA_TEST_FOLDER"] = str(folder)
    os.chdir(folder)  # workers import from the working directory first
    builder = SparkSession.builder.master("local[2,8]")
    session = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).config(map=SETTINGS).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
