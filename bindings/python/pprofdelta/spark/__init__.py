"""Deltas of the profiles of a fleet, on Apache Spark: pip install pprofdelta[spark].

The engine moves the rows, and starts tasks again when they fail. Each task computes the windows of its
targets with one context at a time.
"""

from ._batch import deltas as deltas
from ._stream import write_deltas as write_deltas

__all__ = ["deltas", "write_deltas"]
deltas.__module__ = write_deltas.__module__ = __name__
