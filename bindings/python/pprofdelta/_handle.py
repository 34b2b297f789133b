"""What contexts and adders have in common: an object of the library that is closed, and never copied."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Self, TypeAlias

from . import _core

if sys.version_info >= (3, 12):
    from collections.abc import Buffer as Buffer
elif TYPE_CHECKING:
    import typing_extensions

    class _Array(Protocol):
        """A NumPy array, whose type has no __buffer__ before Python 3.12."""

        @property
        def __array_interface__(self) -> dict[str, Any]: ...

    Buffer: TypeAlias = typing_extensions.Buffer | _Array
else:
    Buffer = bytes | Any


class Readable(Protocol):
    """An open file."""

    def read(self) -> Buffer: ...


# Where bytes are taken.
Source: TypeAlias = Buffer | os.PathLike[str] | Readable


class Handle:
    """Owns an object of the extension module."""

    __slots__ = ("__weakref__", "_core")
    _core: _core.Context | _core.Adder
    _instead: ClassVar[str]  # of a copy

    def close(self) -> None:
        """Frees the memory. A context abandons its pending window."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} objects cannot be copied or pickled: {self._instead}")
