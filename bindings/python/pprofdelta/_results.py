"""What the library returns, as frozen dataclasses. Names and meanings are those of pprofdelta.h.

Text from a profile (the names of types, files and build ids) is decoded as UTF-8. Bytes that are not
UTF-8 are shown as \\\\xNN.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from . import _core


class Restart(StrEnum):
    """Why a window counts as a restart of the target. The values are those of `--report=json`."""

    NONE = "none"  #: no restart
    STARTED = "started"  #: the target began after the last profile (the option `started`)
    BUILD_ID = "build_id"  #: the main binary has another build id
    MASS = "mass"  #: half of a counter, or more, went away
    ANY = "decrease"  #: a counter went backwards, with on_reset="restart"
    LIVE = "live"  #: the stamp of the live heap is of another process or of a later start


class Live(StrEnum):
    """The kind of a live heap's profile (pprofdelta_heap.h)."""

    NONE = "none"
    FULL = "full"
    DELTA = "delta"
    WINDOW = "window"


class Joint(StrEnum):
    """How a profile joined a sum."""

    FIRST = "first"  #: it is the first
    NEXT = "next"  #: it begins where the last one ends
    RESTART = "restart"  #: the same, in a new process: the sum is of both
    AGAIN = "again"  #: it is a later attempt at the last window, and replaces it
    STALE = "stale"  #: it is an earlier attempt at the last window, and does not count
    UNTIMED = "untimed"  #: neither has a time: a missing window cannot be noticed
    FORCED = "forced"  #: it does not join (the option `force`)
    RESYNC = "resync"  #: a live heap's full profile, which includes all before it
    GAP = "gap"  #: batches of a live heap are missing before it: it does not count
    ENDED = "ended"  #: a window that a restart ended is missing before it: it was never acknowledged
    EQUAL = "equal"  #: it has the sequence and the attempt of the last window: it does not count


@dataclass(frozen=True, slots=True)
class TypeReport:
    """One value type of a window, with its sums over all samples.

    For a counter, prev + delta - clamped - vanished = cur. For a gauge, only cur and delta are set.
    """

    type: str
    unit: str
    is_counter: bool
    prev: int  #: what the context remembered
    cur: int  #: the profile
    delta: int  #: the output
    clamped: int  #: how far counters of the profile are below what the context remembered
    vanished: int  #: the samples that the context remembers and the profile does not have


@dataclass(frozen=True, slots=True)
class Report:
    """What went into a window and what came out."""

    from_nanos: int  #: the time of the last profile; 0: unknown, or the begin of the process
    to_nanos: int  #: the time of this profile
    sequence: int  #: 1 for the first window of a context, 2 for the first after a base
    attempt: int  #: 1 for the first delta of this sequence, and 1 more for each further one
    id: int  #: of the series of windows, as in the stamp; 0 without a sequence
    had_base: bool  #: False: the context was empty (see the option `first`)
    samples_in: int  #: sample records in the profile
    samples_out: int  #: sample records written
    matched: int  #: distinct samples of the profile that the context remembers
    fresh: int  #: distinct samples of the profile that it does not
    vanished: int  #: samples that the context remembers and the profile does not have
    clamped: int  #: distinct samples with a counter that went backwards
    duplicates: int  #: records that were added to an earlier equal one
    by_address: int  #: locations that are identified by their address
    by_lines: int  #: locations that are identified by their lines
    files_replaced: int  #: mappings whose file was replaced, removed or renamed
    other_build: bool  #: the main mapping has another build id, but the process is the same
    unknown_fields: int  #: fields that profile.proto does not have; they are skipped
    output_len: int  #: the length of the delta in bytes
    is_same: bool  #: the profile is the same as the last one
    may_be_window: bool  #: the durations do not show that both profiles are cumulative
    clock_set_back: bool  #: the time is before that of the last profile, and the profile is later
    restart: Restart
    types: tuple[TypeReport, ...]  #: in the order of the profile


@dataclass(frozen=True, slots=True)
class Window:
    """A delta and its report."""

    delta: bytes
    report: Report


@dataclass(frozen=True, slots=True)
class Memory:
    """What a context remembers. In `types`, only `prev` of the sums is set."""

    has_base: bool  #: False: nothing, or only attempts at the first window
    sequence: int  #: of the last committed window, or 1 after a base
    attempts: int  #: deltas of the window that is open; 0: none is
    id: int  #: of the series of windows; set without a base, too
    samples: int  #: distinct samples, with those of the open window
    unseen: int  #: those of them that the last profile did not have
    from_nanos: int  #: begin of the last committed window; 0: unknown
    to_nanos: int  #: its end
    build_id: str  #: of the target's main mapping, or ""
    restart: Restart  #: of the last committed window
    types: tuple[TypeReport, ...]  #: counters first
    open_sequence: int  #: of the window that is open; 0: none is
    open_from_nanos: int
    open_to_nanos: int
    open_restart: Restart


@dataclass(frozen=True, slots=True)
class Stamp:
    """The stamp of a profile that pprofdelta wrote. pprofdelta.h, "Sequence and attempt", has the
    rule for receivers."""

    is_delta: bool  #: False: no delta; then only `to_nanos` and the members of a live heap are set
    from_nanos: int
    to_nanos: int
    sequence: int  #: 0: none, as in a delta of two files
    attempt: int
    id: int  #: of the series of windows, or of the tracker of a live heap; 0: none
    epoch: int
    first: int
    restart: Restart
    live: Live
    acked: int  #: the sequence that was committed last before it


@dataclass(frozen=True, slots=True)
class Census:
    """What a valid profile has."""

    format: str  #: "gzip", "zstd", "plain" or "text"
    inflated_len: int
    types: int
    samples: int
    mappings: int
    locations: int
    functions: int
    strings: int
    by_address: int
    by_lines: int
    unknown_fields: int
    time_nanos: int
    duration_nanos: int
    binary: str  #: the file of the first mapping, which is the main binary, or ""
    build_id: str  #: its build id, or ""
    is_stamped: bool  #: a delta that pprofdelta wrote
    stamp: Stamp


_RESTARTS = tuple(Restart)
_LIVES = tuple(Live)
JOINTS = tuple(Joint)


def window_of(delta: bytes, raw: _core.RawReport) -> Window:
    return Window(delta, Report(*raw[:-2], _RESTARTS[raw[-2]], _types_of(raw[-1])))


def memory_of(raw: _core.RawMemory) -> Memory:
    return Memory(*raw[:9], _RESTARTS[raw[9]], _types_of(raw[10]), *raw[11:14], _RESTARTS[raw[14]])


def census_of(raw: _core.RawCensus) -> Census:
    stamp = raw[-1]
    return Census(*raw[:-1], Stamp(*stamp[:8], _RESTARTS[stamp[8]], _LIVES[stamp[9]], stamp[10]))


def _types_of(raw: tuple[_core.RawType, ...]) -> tuple[TypeReport, ...]:
    return tuple(TypeReport(*one) for one in raw)
