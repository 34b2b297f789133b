"""The exceptions of the package: one class for each kind of failure, all with the same members."""

from __future__ import annotations

from ._answers import Reason as Reason
from ._answers import Stage as Stage
from ._answers import Status as Status

NOWHERE = 2**64 - 1  # PPROFDELTA_NOWHERE


class Error(Exception):
    """A call of the library failed. Everything that the call would have changed is as before.

    text     a sentence without the position: "no location has the id 99"
    status   a `Status`
    reason   a `Reason`; NONE if there is no more to know than the status
    line     the text with the position; str() puts "prev: " before it if is_prev
    stage    a `Stage`, the part of the library that failed
    field    the field of the profile, as in "sample.location_id", or ""
    element  the index, from 0, of the element of the first part of `field`, or None
    offset   the byte offset, or None. In stage "inflate" it counts in the compressed profile, in
             stage "state" in the state, and in later stages in the inflated profile.
    is_prev  the error is in the older one of two profiles
    """

    def __init__(
        self, text: str, status: Status = Status.USAGE, stage: Stage = Stage.OPTIONS, field: str = "",
        element: int | None = None, offset: int | None = None, is_prev: bool = False, reason: Reason = Reason.NONE,
        line: str = "",
    ) -> None:  # fmt: skip
        # All of them in args, so that an exception can be pickled.
        super().__init__(text, status, stage, field, element, offset, is_prev, reason, line)
        self.text = text
        self.status = status
        self.stage = stage
        self.field = field
        self.element = element
        self.offset = offset
        self.is_prev = is_prev
        self.reason = reason
        self.line = line or text

    def __str__(self) -> str:
        return f"prev: {self.line}" if self.is_prev else self.line


class InvalidProfileError(Error):
    """The bytes are not a valid profile: they are damaged, truncated, or something else."""


class MismatchError(Error):
    """Each profile is valid, but they have no delta: the types differ, the order is wrong, no type
    is a counter, or they are of two services. In a sum, a window is missing."""


class OlderError(MismatchError):
    """The profile is older than the one before it: no counter has grown, and some have fallen or are
    missing."""


class NotCumulativeError(Error):
    """The profile is a delta or a window already, or its types are not cumulative. The option
    `force` accepts it."""


class ResetError(Error):
    """A counter went backwards, and the option `on_reset` is "fail"."""


class LimitError(Error):
    """The profile does not fit in the option `max_memory`."""


class StateError(Error):
    """The bytes are not a state, or are a damaged state, or a state of another version."""


class UsageError(Error, ValueError):
    """An argument is invalid, or the call is not allowed at this point."""


class OutOfMemoryError(Error, MemoryError):
    """The system has no more memory."""


class InternalError(Error):
    """The result of the library is not consistent. Please report this as a bug."""


_STATUSES = tuple(Status)
_REASONS = tuple(Reason)
_STAGES = tuple(Stage)
_CLASSES: dict[Status, type[Error]] = {
    Status.MEMORY: OutOfMemoryError,
    Status.LIMIT: LimitError,
    Status.INFLATE: InvalidProfileError,
    Status.WIRE: InvalidProfileError,
    Status.PROFILE: InvalidProfileError,
    Status.MISMATCH: MismatchError,
    Status.STAMPED: NotCumulativeError,
    Status.RESET: ResetError,
    Status.VERIFY: InternalError,
    Status.USAGE: UsageError,
    Status.STATE: StateError,
    Status.NOT_CUMULATIVE: NotCumulativeError,
    Status.OLDER: OlderError,
    Status.OTHER_TARGET: MismatchError,
}


def error_for(
    text: str, number: int, stage: int, field: str, element: int, offset: int, is_prev: bool, reason: int, line: str
) -> Error:
    """Makes the exception for an error of the library. The extension module calls this."""
    status = _STATUSES[number]
    item, place = (None if one == NOWHERE else one for one in (element, offset))
    return _CLASSES.get(status, Error)(
        text, status, _STAGES[stage], field, item, place, is_prev, _REASONS[reason], line
    )
