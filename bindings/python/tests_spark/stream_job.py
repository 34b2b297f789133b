"""A whole streaming job, as a program for spark-submit: stream_job.py INPUT OUTPUT CHECKPOINT"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from streams import finish, start


def main(source: str, sink: str, checkpoint: str) -> None:
    session = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    finish(lambda: start(session, Path(source), Path(sink), Path(checkpoint)))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
