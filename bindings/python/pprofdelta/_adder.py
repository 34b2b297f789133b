"""Sums: a cumulative profile plus deltas, the inverse of the subtraction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import _core
from ._answers import JOINS, Join
from ._handle import Buffer, Handle
from ._options import CompressionLike, FormatLike, named, pack


class Adder(Handle):
    """Adds up profiles: first a cumulative profile or any delta, then deltas in their order.

    Of several attempts at one window, the highest counts. `MismatchError` if a window is missing.
    After `LimitError` and `OutOfMemoryError`, the adder is closed. `SumOptions` describes the options.
    """

    __slots__ = ()
    _core: _core.Adder
    _instead = "make another one, and add the profiles again"

    def __init__(
        self, *, counters: Iterable[str] = (), gauges: Iterable[str] = (), compression: CompressionLike = "gzip",
        level: int = 0, format: FormatLike = "pprof", resource: Mapping[str, str] | None = None,
        max_memory: int = 0, stamp: bool = True, force: bool = False, default_counter: bool = False,
    ) -> None:  # fmt: skip
        self._core = _core.Adder(pack(locals()))

    def add(self, profile: Buffer) -> Join:
        """Adds a profile, and returns how it joined the sum. A profile that raises is not added."""
        return JOINS[self._core.add(profile)]

    def finish(self) -> bytes:
        """Returns the sum. The adder is closed afterwards."""
        return self._core.finish()


def sum(
    first: Buffer, *deltas: Buffer, counters: Iterable[str] = (), gauges: Iterable[str] = (),
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
