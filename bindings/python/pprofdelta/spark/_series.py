"""The windows of one target, profile by profile in the order of their times.

The batch and the stream have this in common. A `Series` decides what a row becomes: a delta, a duplicate or an error.
The rules of a delta are those of the context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._context import Context
from .._answers import Status
from .._errors import Error, UsageError
from ._rows import Rows

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .._context import Window


def null_error(column: str) -> UsageError:
    return UsageError(f"the column of the {column} is null", Status.USAGE, "row", column)


class Series:
    """A context, and the place in the time line of its target."""

    def __init__(self, target: Any, context: Context, sequence: int = 0) -> None:
        self.target, self.context, self.sequence = target, context, sequence
        self.begin: int | None = None  # the time of the profile that the context remembers
        self.last: int | None = None  # the time of the row before
        self.seen: set[int] = set()  # the hashes of the profiles with that time

    def base(self, time: int | None, profile: Buffer) -> None:
        """The profile before the first window of this series."""
        self.context.base(profile)
        self.begin = time

    def take(self, rows: Rows, time: int | None, key: int, profile: Buffer | None) -> None:
        """Adds the row of a profile. `key` is its hash. The time is not before that of the row before."""
        self.sequence += 1
        is_again = time == self.last and key in self.seen
        if time is not None and is_again:
            rows.add(self.target, self.begin, time, self.sequence, "duplicate")
            return
        if self.target is None or time is None or profile is None:
            error = null_error("target" if self.target is None else "time" if time is None else "profile")
            rows.add(self.target, self.begin, time, self.sequence, error=error)
            return
        note = "equal_time" if time == self.last else None
        if note is None:
            self.seen.clear()
        self.last = time
        self.seen.add(key)
        window: Window | None = None
        error_here: Error | None = None
        try:
            window = self.context.window(profile)
        except Error as error:
            error_here = error
        rows.add(self.target, self.begin, time, self.sequence, note, window, error_here)
        if window:
            self.context.commit()
            self.begin = time
