"""Deltas of cumulative pprof profiles.

Go, C and C++ services expose heap, mutex and block profiles that count from the start of the process
and only grow. This package computes what the process did between two such profiles. It is a binding
of the C library libpprofdelta; pprofdelta-delta(1) has every rule of what a delta is.
"""

from ._adder import Adder as Adder
from ._adder import sum as sum
from ._answers import (
    Census as Census,
    Join as Join,
    Live as Live,
    Memory as Memory,
    OnReset as OnReset,
    Reason as Reason,
    Report as Report,
    Restart as Restart,
    Stamp as Stamp,
    Status as Status,
    TypeReport as TypeReport,
)
from ._context import Context as Context
from ._context import Window as Window
from ._context import check as check
from ._context import compare as compare
from ._context import delta as delta
from ._core import version as _version
from ._errors import (
    Error as Error,
    InternalError as InternalError,
    InvalidProfileError as InvalidProfileError,
    LimitError as LimitError,
    MismatchError as MismatchError,
    NotCumulativeError as NotCumulativeError,
    OlderError as OlderError,
    OutOfMemoryError as OutOfMemoryError,
    ResetError as ResetError,
    StateError as StateError,
    UsageError as UsageError,
)
from ._options import (
    Compression as Compression,
    First as First,
    Format as Format,
    Options as Options,
    SumOptions as SumOptions,
)

__version__ = _version()

# `sum` is left out: `from pprofdelta import *` must not replace the function of Python.
__all__ = [
    "Adder",
    "Census",
    "Compression",
    "Context",
    "Error",
    "First",
    "Format",
    "InternalError",
    "InvalidProfileError",
    "Join",
    "LimitError",
    "Live",
    "Memory",
    "MismatchError",
    "NotCumulativeError",
    "OlderError",
    "OnReset",
    "Options",
    "OutOfMemoryError",
    "Reason",
    "Report",
    "ResetError",
    "Restart",
    "Stamp",
    "StateError",
    "Status",
    "SumOptions",
    "TypeReport",
    "UsageError",
    "Window",
    "check",
    "compare",
    "delta",
]

# Messages, pickles and doctests name the public module.
for _name in (*__all__, "sum"):
    globals()[_name].__module__ = __name__
del _name
