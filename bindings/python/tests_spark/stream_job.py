"""A whole streaming job, as a program for spark-submit: stream_job.py INPUT OUTPUT CHECKPOINT"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from streams import LATENESS, SECOND, finish, start


def main(source: str, sink: str, checkpoint: str) -> None:
    session = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    arguments = {"partitions": 2, "lateness": LATENESS, "expire_after": SECOND}
    finish(lambda: start(session, Path(source), Path(sink), Path(checkpoint), **arguments))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
