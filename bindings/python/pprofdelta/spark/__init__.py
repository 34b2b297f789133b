"""Deltas of the profiles of a fleet, on Apache Spark: pip install pprofdelta[spark].

The engine moves the rows, and starts tasks again when they fail. Each task computes the windows of its
targets with one context at a time.
"""

from ._batch import deltas as deltas
from ._merge import merged as merged
from ._stream import write_deltas as write_deltas
from ._tables import functions as functions
from ._tables import locations as locations
from ._tables import samples as samples
from ._tables import stacks as stacks

__all__ = ["deltas", "functions", "locations", "merged", "samples", "stacks", "write_deltas"]
for _name in __all__:
    globals()[_name].__module__ = __name__
