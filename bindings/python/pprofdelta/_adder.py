"""Sums: a cumulative profile plus deltas, the inverse of the subtraction; and windows of many targets."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from . import _core
from ._answers import JOINS, Join
from ._context import check
from ._options import AdderOptions, MergeOptions, SumOptions, pack_for_sum

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Adder:
    """Adds up profiles: first a cumulative profile or any delta, then deltas in their order.

    Of several attempts at one window, the highest counts. `MismatchError` if a window is missing.
    After `LimitError` and `OutOfMemoryError`, the adder is closed.

    With `merge=True`, it adds up windows of many targets, as `merge` does, with one window in memory at a
    time. The windows of a target are given together and in order of `stamp.epoch` and `stamp.sequence`
    (`check(delta).stamp`); the attempts at one window, and the targets, in any order. What comes late is a
    `MismatchError` with the reason `WINDOW_LATE`.
    """

    __slots__ = ("_core",)

    def __init__(self, **options: Unpack[AdderOptions]) -> None:
        self._core = _core.Adder(pack_for_sum(options))

    def add(self, profile: Buffer) -> Join:
        """Adds a profile, and returns how it joined the sum. A profile that raises is not added."""
        return JOINS[self._core.add(profile)]

    def finish(self) -> bytes:
        """Returns the sum. The adder is closed afterwards."""
        return self._core.finish()

    def close(self) -> None:
        """Frees the memory of the adder."""
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


def sum(first: Buffer, *deltas: Buffer, **options: Unpack[SumOptions]) -> bytes:
    """Returns the sum of a cumulative profile (or a delta) and deltas in their order.

    >>> import pprofdelta
    >>> one, two = (open(f"heap.{n}.pb.gz", "rb").read() for n in (1, 2))
    >>> total = pprofdelta.sum(one, pprofdelta.delta(one, two))
    >>> [t.delta for t in pprofdelta.compare(two, total).report.types if t.is_counter]
    [0, 0]
    """
    with Adder(**options) as adder:
        for profile in (first, *deltas):
            adder.add(profile)
        return adder.finish()


def _place(delta: Buffer) -> tuple[int, int, int, int]:
    """By target, then by window and attempt."""
    stamp = check(delta).stamp
    return (stamp.id, stamp.epoch, stamp.sequence, stamp.attempt)


def merge(deltas: Iterable[Buffer], **options: Unpack[MergeOptions]) -> bytes:
    """Returns the windows of many targets, in any order, as one profile.

    Counters and gauges are added up over the targets. For each target, counters are added up over its
    windows, and gauges are those of its last one. Each window counts once, with its highest attempt. A
    profile whose stamp names no target, such as a cumulative one, is a `MismatchError` with the reason
    `NO_TARGET`.
    """
    with Adder(merge=True, **options) as adder:
        for delta in sorted(deltas, key=_place):
            adder.add(delta)
        return adder.finish()
