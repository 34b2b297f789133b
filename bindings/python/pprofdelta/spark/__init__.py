"""Deltas of the profiles of a fleet, on Apache Spark: pip install pprofdelta[spark].

The engine moves the rows, and starts tasks again when they fail. Each task computes the windows of its
targets with one context at a time.
"""

from ._batch import deltas as deltas
from ._stream import stream_deltas as stream_deltas

__all__ = ["deltas", "stream_deltas"]
deltas.__module__ = stream_deltas.__module__ = __name__
