#!/usr/bin/env python3
"""Makes tables of the windows in the folder DELTAS, and asks DuckDB for the functions that allocated most."""
import glob
import os
import subprocess
import sys

import duckdb
import pyarrow.feather

deltas, tables = os.environ.get("DELTAS", "./deltas"), os.environ.get("TABLES", "./tables")
subprocess.run(["pprofdelta", "export", "-q", *sorted(glob.glob(f"{deltas}/*.pb.gz")), "-o", tables], check=True)
database = duckdb.connect(os.environ.get("DATABASE", ":memory:"))
for table in ("samples", "stacks", "locations", "functions"):
    database.register(table, pyarrow.feather.read_table(f"{tables}/{table}.arrow"))
database.sql("""
    SELECT f.name AS name, sum(s.alloc_space) AS bytes
    FROM samples AS s JOIN stacks AS k USING (stack_id) JOIN locations AS l ON l.location_id = k.location_ids[1]
    JOIN functions AS f ON f.function_id = l.lines[1].function_id
    GROUP BY f.name ORDER BY bytes DESC, name LIMIT 10
""").write_csv("/dev/stdout", header=False)
