"""Sums: a cumulative profile plus deltas, the inverse of the subtraction; and windows of many targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from mmap import mmap

from . import _core
from ._answers import JOINS, Join
from ._context import check
from ._handle import Handle, Source
from ._options import CompressionLike, FormatLike, MergeOptions, named, pack


class Adder(Handle):
    """Adds up profiles: first a cumulative profile or any delta, then deltas in their order.

    Of several attempts at one window, the highest counts. `MismatchError` if a window is missing.
    After `LimitError` and `OutOfMemoryError`, the adder is closed. `AdderOptions` describes the options.

    With `merge=True`, it adds up windows of many targets, as `merge` does, with one window in memory at a
    time. The windows of a target are given together and in order of `stamp.epoch` and `stamp.sequence`
    (`check(delta).stamp`); the attempts at one window, and the targets, in any order. What comes late is a
    `MismatchError` with the reason `WINDOW_LATE`.
    """

    __slots__ = ()
    _core: _core.Adder
    _instead = "make another one, and add the profiles again"

    def __init__(
        self, *, counters: Iterable[str] = (), gauges: Iterable[str] = (), compression: CompressionLike = "gzip",
        level: int = 0, format: FormatLike = "pprof", resource: Mapping[str, str] | None = None,
        max_memory: int = 0, stamp: bool = True, force: bool = False, default_counter: bool = False,
        target_label: str | None = None, disjoint: bool = False, merge: bool = False,
    ) -> None:  # fmt: skip
        self._core = _core.Adder(pack(locals()))

    def add(self, profile: Source) -> Join:
        """Adds a profile, and returns how it joined the sum. A profile that raises is not added."""
        return JOINS[self._core.add(profile)]

    def finish(self) -> bytes:
        """Returns the sum. The adder is closed afterwards."""
        return self._core.finish()


def sum(
    first: Source, *deltas: Source, counters: Iterable[str] = (), gauges: Iterable[str] = (),
    compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
    resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
    default_counter: bool = False,
) -> bytes:  # fmt: skip
    """Returns the sum of a cumulative profile (or a delta) and deltas in their order. `SumOptions`
    describes the options.

    >>> import pprofdelta
    >>> one, two = (open(f"heap.{n}.pb.gz", "rb").read() for n in (1, 2))
    >>> total = pprofdelta.sum(one, pprofdelta.delta(one, two))
    >>> [t.delta for t in pprofdelta.compare(two, total).report.types if t.is_counter]
    [0, 0]
    """
    with Adder(**named(locals())) as adder:
        for profile in (first, *deltas):
            adder.add(profile)
        return adder.finish()


def _held(delta: Source) -> Source:
    """An open file can be read once only."""
    return delta.read() if hasattr(delta, "read") and not isinstance(delta, mmap) else delta


def _place(delta: Source) -> tuple[int, int, int, int]:
    """By target, then by window and attempt."""
    stamp = check(delta).stamp
    return (stamp.id, stamp.epoch, stamp.sequence, stamp.attempt)


def merge(
    deltas: Iterable[Source], *, counters: Iterable[str] = (), gauges: Iterable[str] = (),
    compression: CompressionLike = "gzip", level: int = 0, format: FormatLike = "pprof",
    resource: Mapping[str, str] | None = None, max_memory: int = 0, stamp: bool = True, force: bool = False,
    default_counter: bool = False, target_label: str | None = None, disjoint: bool = False,
) -> bytes:  # fmt: skip
    """Returns the windows of many targets, in any order, as one profile. `MergeOptions` describes the
    options.

    Counters and gauges are added up over the targets. For each target, counters are added up over its
    windows, and gauges are those of its last one. Each window counts once, with its highest attempt. A
    profile whose stamp names no target, such as a cumulative one, is a `MismatchError` with the reason
    `NO_TARGET`.
    """
    with Adder(merge=True, **named(locals(), MergeOptions)) as adder:
        for delta in sorted(map(_held, deltas), key=_place):
            adder.add(delta)
        return adder.finish()
