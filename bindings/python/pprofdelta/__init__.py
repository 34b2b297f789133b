"""Deltas of cumulative pprof profiles.

Go, C and C++ services expose heap, mutex and block profiles that count from the start of the process
and only grow. This package computes what the process did between two such profiles. It is a binding
of the C library libpprofdelta; pprofdelta-delta(1) has every rule of what a delta is.
"""

from ._adder import Adder, merge
from ._adder import sum as sum
from ._answers import Census, Compression, First, Format, Join, Live, Memory, OnReset, Reason, Report, Restart
from ._answers import Stage, Stamp, Status, TypeReport
from ._context import Context, Tables, Window, check, compare, delta, table
from ._core import version as _version
from ._errors import Error, InternalError, InvalidProfileError, LimitError, MismatchError, NotCumulativeError
from ._errors import OlderError, OutOfMemoryError, ResetError, StateError, UsageError
from ._options import AdderOptions, MergeOptions, Options, SumOptions, options_for
from ._pprof import to_pprof

__version__ = _version()

# `sum` is left out: `from pprofdelta import *` must not replace the function of Python.
__all__ = [
    "Adder", "AdderOptions", "Census", "Compression", "Context", "Error", "First", "Format", "InternalError",
    "InvalidProfileError", "Join", "LimitError", "Live", "Memory", "MergeOptions", "MismatchError", "NotCumulativeError",
    "OlderError", "OnReset", "Options", "OutOfMemoryError", "Reason", "Report", "ResetError", "Restart",
    "Stage", "Stamp", "StateError", "Status", "SumOptions", "Tables", "TypeReport", "UsageError", "Window", "check",
    "compare", "delta", "merge", "options_for", "table", "to_pprof",
]  # fmt: skip

# Messages, pickles and doctests name the public module.
for _name in (*__all__, "sum"):
    globals()[_name].__module__ = __name__
del _name
