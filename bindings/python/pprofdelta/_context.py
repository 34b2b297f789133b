"""Contexts, and the functions that need one for a single call."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from . import _core
from ._options import Options, pack
from ._results import Census, Memory, Window, census_of, memory_of, window_of

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Context:
    """Remembers the counters of the last profile of one target.

    Each window is pending until it is committed or abandoned:

    >>> import pprofdelta
    >>> context = pprofdelta.Context()
    >>> context.base(open("heap.1.pb.gz", "rb").read())
    >>> window = context.window(open("heap.2.pb.gz", "rb").read())
    >>> window.report.samples_in, window.report.samples_out
    (433, 348)
    >>> context.commit()

    A call that fails raises an `Error` and leaves the context as it was. One thread at a time may
    use a context: a call during another call raises `UsageError`. Two contexts work in two threads
    at once, since the GIL is released while the library works.

    A profile is any object with a contiguous buffer: bytes, bytearray, memoryview, mmap, a NumPy
    array. bytes are read where they are; all others are copied, so they may change during the call.
    """

    __slots__ = ("_core",)

    def __init__(self, **options: Unpack[Options]) -> None:
        self._core = _core.Context(pack(options))
        self.set_started(options.get("started"))

    @classmethod
    def load(cls, state: Buffer, **options: Unpack[Options]) -> Self:
        """Makes a context that remembers what `save` saved.

        The options `counters` and `gauges` must be those that the state was made with; otherwise
        the next window fails. A state that is damaged, or of another version, raises `StateError`.
        """
        context = cls(**options)
        context._core.load(state)
        return context

    def window(self, profile: Buffer) -> Window:
        """Computes the delta of this profile against what the context remembers.

        The window is then pending until `commit` or `abandon`; a second window before that raises
        `UsageError`. The profile may be gzip, zstd or plain, or a text heap profile of jemalloc or
        gperftools.
        """
        return window_of(*self._core.window(profile))

    def base(self, profile: Buffer) -> None:
        """Makes the context remember this profile, whatever it remembered before.

        In a context with `sequence=False`, the window after it is the delta of two profiles; an error
        in the older one has `is_prev` set.
        """
        self._core.base(profile)

    def commit(self) -> None:
        """The pending window has arrived: the next window begins where it ends."""
        self._core.commit()

    def abandon(self) -> None:
        """The pending window was lost, or may have been lost: it stays open. The next window also
        covers its time, with the same sequence and the next attempt, unless the process restarts."""
        self._core.abandon()

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

    def check(self, profile: Buffer) -> Census:
        """Checks a profile as `window` does. What the context remembers stays as it is."""
        return census_of(self._core.check(profile))

    def set_started(self, started: int | None) -> None:
        """Sets when the target process began, in nanoseconds since 1970 (None: unknown)."""
        self._core.set_started(started or 0)

    def close(self) -> None:
        """Frees the memory of the context. A pending window is abandoned."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def delta(prev: Buffer, cur: Buffer, **options: Unpack[Options]) -> bytes:
    """Returns the delta of two cumulative profiles: what the program did between them.

    >>> import pprofdelta
    >>> first, second = (open(f"heap.{n}.pb.gz", "rb").read() for n in (1, 2))
    >>> pprofdelta.check(pprofdelta.delta(first, second)).is_stamped
    True
    """
    return compare(prev, cur, **options).delta


def compare(prev: Buffer, cur: Buffer, **options: Unpack[Options]) -> Window:
    """Returns the delta of two cumulative profiles with its report. The window belongs to no series."""
    options["sequence"] = False
    with Context(**options) as context:
        context.base(prev)
        return context.window(cur)


def check(profile: Buffer, *, max_memory: int = 0) -> Census:
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
