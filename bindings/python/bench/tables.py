"""What engines take to read the tables of `pprofdelta export`, beside the same batches written by pyarrow.

    python3 tables.py DIR [zstd | none]

DIR has the tables, which were exported with this --compress. Prints the size of each as a ratio of pyarrow's, and for the samples the processor time of each
engine that is installed: the median of 9 readings of each file in turn, as a ratio. Needs pyarrow.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather


def rewrite(table: str, out: str, compression: str | None) -> None:
    with pa.ipc.open_file(table) as file:
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        with pa.ipc.new_file(out, file.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as to:
            for batch in batches:
                to.write_batch(batch)


def engines() -> dict[str, Callable[[str], Any]]:
    def dataset(table: str) -> Any:
        return pa.dataset.dataset(table, format="ipc")

    found: dict[str, Callable[[str], Any]] = {
        "Feather": lambda table: pa.feather.read_table(table, memory_map=False),
        "dataset": lambda table: dataset(table).to_table(),
    }
    try:
        import duckdb
        found["DuckDB"] = lambda table: duckdb.from_arrow(dataset(table)).aggregate("sum(hash(COLUMNS(*)))").fetchall()
    except ImportError:
        pass
    try:
        import polars
        found["Polars"] = polars.read_ipc
    except ImportError:
        pass
    try:
        from chdb.session import Session
        session = Session()
        found["ClickHouse"] = lambda table: session.query(f"SELECT * FROM file('{table}', Arrow) FORMAT Null")
    except ImportError:
        pass
    return found


def cost(read: Callable[[str], Any], table: str) -> float:
    before = time.process_time()
    read(table)
    return time.process_time() - before


def main(folder: str, compression: str = "zstd") -> None:
    with tempfile.TemporaryDirectory() as beside:
        for name in ("samples", "stacks", "locations", "functions"):
            ours, theirs = (os.path.abspath(f"{place}/{name}.arrow") for place in (folder, beside))
            rewrite(ours, theirs, None if compression == "none" else compression)
            size = os.path.getsize(ours)
            print(f"{name}: {size} bytes, {size / os.path.getsize(theirs):.3f} of pyarrow's")
        ours, theirs = (os.path.abspath(f"{place}/samples.arrow") for place in (folder, beside))
        for engine, read in engines().items():
            times = [(cost(read, ours), cost(read, theirs)) for _ in range(10)][1:]
            of_ours, of_theirs = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{engine}: {of_ours / of_theirs:.2f}")


main(*sys.argv[1:])
