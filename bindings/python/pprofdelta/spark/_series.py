"""The windows of one target, profile by profile in the order of their times.

The batch and the stream have this in common. A `Series` decides what a row becomes: a delta, a duplicate or an error.
The rules of a delta are those of the context.
"""

from __future__ import annotations

from typing import Any

from .._answers import Status
from .._context import Context
from .._errors import Error, UsageError
from .._options import Options
from ._input import Profile
from ._rows import Rows


def null_error(column: str) -> UsageError:
    return UsageError(f"the column of the {column} is null", Status.USAGE, "row", column)


class Series:
    """A context, and the place in the time line of its target."""

    def __init__(self, target: Any, context: Context) -> None:
        self.target, self.context, self.sequence = target, context, 0
        self.begin: int | None = None  # the time of the profile that the context remembers
        self.last: int | None = None  # the time of the row before
        self.seen: set[int] = set()  # the hashes of the profiles with that time

    def base(self, one: Profile) -> None:
        """The profile before the first window of this series."""
        self.context.base(one.data)
        self.begin = one.time

    def add(self, rows: Rows, one: Profile, note: str | None = None, **answer: Any) -> None:
        """Adds a row, of which `answer` is the window or the error."""
        rows.add(self.target, self.begin, one, self.sequence, note, **answer)

    def take(self, rows: Rows, one: Profile) -> None:
        """Adds the row of a profile. The time is not before that of the row before."""
        self.sequence += 1
        is_again = one.time is not None and one.time == self.last
        if is_again and one.hash in self.seen:
            return self.add(rows, one, "duplicate")
        if self.target is None or one.time is None or one.data is None:
            column = "target" if self.target is None else "time" if one.time is None else "profile"
            return self.add(rows, one, error=null_error(column))
        if not is_again:
            self.seen.clear()
        self.last = one.time
        self.seen.add(one.hash)
        note = "equal_time" if is_again else None
        try:
            window = self.context.window(one.data)
        except Error as error:
            return self.add(rows, one, note, error=error)
        self.add(rows, one, note, window=window)
        self.context.commit()
        self.begin = one.time


class Contexts(Context):
    """One context, for one series after the other."""

    def __init__(self, options: Options) -> None:
        super().__init__(**options)
        self._empty = self.save()

    def series(self, target: Any, state: bytes | None = None) -> Series:
        """A series that goes on with this state. If that fails, the context is as before."""
        self._core.load(self._empty if state is None else state)
        return Series(target, self)
