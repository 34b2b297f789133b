"""Sums: a cumulative profile plus deltas, the inverse of the subtraction."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from . import _core
from ._options import SumOptions, pack_for_sum
from ._answers import JOINS, Join

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Adder:
    """Adds up profiles: first a cumulative profile or any delta, then deltas in their order.

    Of several attempts at one window, the highest counts. `MismatchError` if a window is missing.
    After `LimitError` and `OutOfMemoryError`, the adder is closed.
    """

    __slots__ = ("_core",)

    def __init__(self, **options: Unpack[SumOptions]) -> None:
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
