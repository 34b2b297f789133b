"""Contexts, and the functions that need one for a single call."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from . import _core
from ._answers import Census, Memory, Report, census_of, memory_of, report_of
from ._errors import UsageError
from ._handle import Handle, Source
from ._options import CompressionLike, FirstLike, FormatLike, OnResetLike, Options
from ._options import named, pack, started_nanos, text_or_none


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Tables:
    """A profile as tables, which packages of Arrow take without a copy (pyarrow, polars, DuckDB, pandas).

    libpprofdelta-tables(3) has the columns. Where one table is expected, this is the table of the samples.
    Iteration gives the four tables in this order. A table is a sequence of its rows, which are mappings.
    """

    samples: _core.Table
    stacks: _core.Table
    locations: _core.Table
    functions: _core.Table

    def __iter__(self) -> Iterator[_core.Table]:
        return iter((self.samples, self.stacks, self.locations, self.functions))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.samples.__arrow_c_stream__(requested_schema)


class _Pending:
    """What a window knows of its context: nothing that is copied, compared or pickled."""

    __slots__ = ("__weakref__", "_context", "_tables")
    _context: weakref.ref[Context]
    _tables: Tables | None

    def _pending_in(self) -> Context | None:
        """The context in which this window is pending."""
        context = self._context() if hasattr(self, "_context") else None
        return context if context and context._pending and context._pending() is self else None


@dataclass(frozen=True, slots=True)
class Window(_Pending):
    """A delta and its report.

    In a `with` statement, the window is committed at the end of the block. An exception abandons it.
    """

    delta: bytes
    report: Report

    def table(self, *, target: str | None = None) -> Tables:
        """Returns the delta as tables, as the function `table` does. With format="tables" these are the tables
        that the window was written as: its delta is empty, and a copy of the window has no tables."""
        tables: Tables | None = getattr(self, "_tables", None)
        if tables and target is not None:
            raise UsageError("the window is tables already: the option resource={'target': ...} names the target")
        return tables or table(self.delta, target=target)

    def __enter__(self) -> Self:
        if not self._pending_in():
            raise UsageError("this window is not pending: it was committed or abandoned, or has no context")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context = self._pending_in()
        if context:
            context.abandon() if kind else context.commit()


class Context(Handle):
    """Remembers the counters of the last profile of one target.

    Each window is pending until it is committed or abandoned. A `with` statement does one or the other:

    >>> import pprofdelta
    >>> context = pprofdelta.Context()
    >>> context.base(open("heap.1.pb.gz", "rb").read())
    >>> with context.window(open("heap.2.pb.gz", "rb").read()) as window:
    ...     window.report.samples_in, window.report.samples_out
    (433, 348)

    A call that fails raises an `Error` and leaves the context as it was. One thread at a time may
    use a context: a call during another call raises `UsageError`. Two contexts work in two threads
    at once, since the GIL is released while the library works.

    A profile is any object with a contiguous buffer: bytes, bytearray, memoryview, mmap, a NumPy
    array. bytes are read where they are; all others are copied, so they may change during the call.
    Or it is a file: a path (pathlib.Path), or what is open for reading, which is read to its end.
    `Options` describes the options.
    """

    __slots__ = ("_pending",)
    _core: _core.Context
    _series = (0, 0)  # the id of the series of windows, 0: a random one; and the sequence after which they begin
    _instead = "save() returns a state, and Context.load(state) makes another context"

    def __init__(
        self, *, counters: Iterable[str] = (), gauges: Iterable[str] = (),
        compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
        resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
        default_counter: bool = False, on_reset: OnResetLike = "auto", first: FirstLike = "full",
        verify: bool = False, sequence: bool = True, started: int | None = None,
    ) -> None:  # fmt: skip
        nanos = started_nanos(started)
        self._core = _core.Context(pack({**locals(), "series": self._series}))
        self._core.set_started(nanos)
        self._pending: weakref.ref[Window] | None = None

    @classmethod
    def load(
        cls, state: Source, *, counters: Iterable[str] = (), gauges: Iterable[str] = (),
        compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
        resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
        default_counter: bool = False, on_reset: OnResetLike = "auto", first: FirstLike = "full",
        verify: bool = False, sequence: bool = True, started: int | None = None,
    ) -> Self:  # fmt: skip
        """Makes a context that remembers what `save` saved.

        The options `counters` and `gauges` must be those that the state was made with; otherwise
        the next window fails. A state that is damaged, or of another version, raises `StateError`.
        """
        context = cls(**named(locals(), Options))
        context._core.load(state)
        return context

    def window(self, profile: Source) -> Window:
        """Computes the delta of this profile against what the context remembers.

        The window is then pending until `commit` or `abandon`; a second window before that raises
        `UsageError`. The profile may be gzip, zstd or plain, or a text heap profile of jemalloc or
        gperftools.
        """
        try:
            delta, raw, tables = self._core.window(profile)
        except UsageError:
            if not self._pending:
                raise
            told = "a window is pending: call commit() or abandon() first, or put it in a `with` statement"
            raise UsageError(told) from None
        window = Window(delta, report_of(raw))
        object.__setattr__(window, "_tables", tables and Tables(*tables))
        object.__setattr__(window, "_context", weakref.ref(self))
        self._pending = weakref.ref(window)
        return window

    def base(self, profile: Source) -> None:
        """Makes the context remember this profile, whatever it remembered before.

        In a context with `sequence=False`, the window after it is the delta of two profiles; an error
        in the older one has `is_prev` set.
        """
        self._core.base(profile)

    def commit(self) -> None:
        """The pending window has arrived: the next window begins where it ends."""
        self._core.commit()
        self._pending = None

    def abandon(self) -> None:
        """The pending window was lost, or may have been lost: it stays open. The next window also
        covers its time, with the same sequence and the next attempt, unless the process restarts."""
        self._core.abandon()
        self._pending = None

    def save(self) -> bytes:
        """Returns what the context remembers as a state: what was committed, and the last attempt at a
        window that is open or pending.

        Save before the delta is sent, and save again after the commit. Instead of the second time, the
        last byte of the state, which is 0, may be overwritten by 1: `load` then commits the attempt.
        """
        return self._core.save()

    def describe(self) -> Memory:
        """Returns what the context remembers."""
        return memory_of(self._core.describe())

    def check(self, profile: Source) -> Census:
        """Checks a profile as `window` does. What the context remembers stays as it is."""
        return census_of(self._core.check(profile))

    def set_started(self, started: int | None) -> None:
        """Sets when the target process began, in nanoseconds since 1970 (None: unknown)."""
        self._core.set_started(started_nanos(started))

    def close(self) -> None:
        """Frees the memory of the context. A pending window is abandoned."""
        super().close()
        self._pending = None


def delta(
    prev: Source, cur: Source, *, counters: Iterable[str] = (), gauges: Iterable[str] = (),
    compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
    resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
    default_counter: bool = False, on_reset: OnResetLike = "auto", first: FirstLike = "full",
    verify: bool = False, sequence: bool = True, started: int | None = None,
) -> bytes:  # fmt: skip
    """Returns the delta of two cumulative profiles: what the program did between them.

    >>> import pprofdelta
    >>> first, second = (open(f"heap.{n}.pb.gz", "rb").read() for n in (1, 2))
    >>> pprofdelta.check(pprofdelta.delta(first, second)).is_stamped
    True
    """
    if format == "tables":
        raise UsageError("format='tables': a delta is bytes; use compare() and Window.table()")
    return compare(**locals()).delta


def compare(
    prev: Source, cur: Source, *, counters: Iterable[str] = (), gauges: Iterable[str] = (),
    compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
    resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
    default_counter: bool = False, on_reset: OnResetLike = "auto", first: FirstLike = "full",
    verify: bool = False, sequence: bool = True, started: int | None = None,
) -> Window:  # fmt: skip
    """Returns the delta of two cumulative profiles with its report. The window belongs to no series, as
    with sequence=False, and is not pending."""
    with Context(**named(locals(), Options) | {"sequence": False}) as context:
        context.base(prev)
        return context.window(cur)


def check(profile: Source, *, max_memory: int = 0) -> Census:
    """Checks whether this is a valid profile, and returns what it has.

    >>> import pprofdelta
    >>> pprofdelta.check(open("heap.1.pb.gz", "rb").read()).format
    'gzip'
    >>> pprofdelta.check(b"<html>")
    Traceback (most recent call last):
        ...
    pprofdelta.InvalidProfileError: this is an HTML page, not a pprof profile
    """
    with Context(max_memory=max_memory) as context:
        return context.check(profile)


def table(profile: Source, *, target: str | None = None, max_memory: int = 0) -> Tables:
    """Returns a delta, or any other profile, as tables. `target` is the value of the column target; None: the id
    of the series in the stamp.

    >>> import pprofdelta
    >>> tables = pprofdelta.table(open("heap.2.pb.gz", "rb").read(), target="host1")
    >>> samples = tables.samples  # pyarrow.table(samples), polars.DataFrame(samples), "FROM samples" in DuckDB
    """
    with Context(max_memory=max_memory) as context:
        return Tables(*context._core.tables(profile, text_or_none("target", target)))
