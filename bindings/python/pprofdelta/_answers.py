"""The enums of the library, and what it returns as frozen dataclasses. Made by bindings/facts.py from pprofdelta.h. Do not edit.

Text from a profile (the names of types, files and build ids) is decoded as UTF-8. Bytes that are not
UTF-8 are shown as \\\\xNN.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias


class Restart(StrEnum):
    """Why a window counts as a restart of the target. The values are those of `--report=json`."""

    NONE = "none"
    #: the target began after prev's time (`Context.set_started`)
    STARTED = "started"
    #: the same as MASS, and the main mapping has another build id
    BUILD_ID = "build_id"
    #: half of a counter, or more, went away
    MASS = "mass"
    #: a decrease, with the option on_reset="restart"
    ANY = "decrease"
    #: The stamp of cur's live heap (pprofdelta_heap.h) has another id than prev's, or begins after prev's
    #: end.
    LIVE = "live"


RESTARTS = tuple(Restart)


class Live(StrEnum):
    """The kind of a live heap's profile (pprofdelta_heap.h)."""

    NONE = "none"
    #: everything since the tracker began; is_delta is 0
    FULL = "full"
    #: what was allocated, and the change of what is in use
    DELTA = "delta"
    #: what was allocated, and all that is in use
    WINDOW = "window"


LIVES = tuple(Live)


class Join(StrEnum):
    """How a profile joined a sum."""

    #: it is the first
    FIRST = "first"
    #: it begins where the last one ends
    NEXT = "next"
    #: the same, in a new process: the sum is of both
    RESTART = "restart"
    #: it is a later attempt at the last window, and replaces it
    AGAIN = "again"
    #: it is an earlier attempt at the last window, and does not count
    STALE = "stale"
    #: neither has a time: a missing window cannot be noticed
    UNTIMED = "untimed"
    #: it does not join (the option `force`)
    FORCED = "forced"
    #: a live heap's full profile, which includes all before it
    RESYNC = "resync"
    #: batches of a live heap are missing before it: it does not count
    GAP = "gap"
    #: like Join.RESTART, and a window that the restart ended is missing: it was never acknowledged
    ENDED = "ended"
    #: it has the sequence and the attempt of the last window, and does not end later: it does not count. A
    #: profile that names no target: its bytes were added before
    EQUAL = "equal"
    #: a merge: it counts, and windows of its target before it are missing
    APART = "apart"


JOINS = tuple(Join)


class Status(StrEnum):
    """What failed."""

    OK = "ok"
    #: the allocator returned NULL
    MEMORY = "memory"
    #: more than the option `max_memory` allows, or a count that overflows
    LIMIT = "limit"
    #: Compressed input is damaged, truncated, or followed by other bytes; or the library was built without
    #: compression libraries.
    INFLATE = "inflate"
    #: not well-formed protobuf
    WIRE = "wire"
    #: protobuf, but not a valid profile
    PROFILE = "profile"
    #: valid profiles that have no delta: types, order, no counter
    MISMATCH = "mismatch"
    #: the input is itself a delta (see the option `force`)
    STAMPED = "stamped"
    #: a counter went backwards and `on_reset` is "fail"
    RESET = "reset"
    #: the conservation law does not hold: a bug in this library
    VERIFY = "verify"
    #: the sink refused the output
    SINK = "sink"
    #: an invalid argument, or a call that is not allowed at this point
    USAGE = "usage"
    #: not a state, a damaged state, or a state of another version
    STATE = "state"
    #: the source failed
    SOURCE = "source"
    #: The input is not cumulative: its times show that it is a window, or its types show that it is a CPU
    #: profile, a goroutine profile or the like (see the option `force`).
    NOT_CUMULATIVE = "not_cumulative"
    #: The profile is older than the one before it in the series: no counter has grown, and some have
    #: fallen or are missing. It came late; what the context remembers is as before.
    OLDER = "older"
    #: the profiles are of two services (see the option `force`)
    OTHER_TARGET = "other_target"


class Reason(StrEnum):
    """Why a call failed, where a status has several reasons."""

    #: there is no more to know than the status
    NONE = "none"
    #: a higher max_memory may be enough
    MAX_MEMORY = "max_memory"
    #: more than a 32-bit process has room for
    ADDRESS_SPACE = "address_space"
    #: the input is a state
    IS_STATE = "is_state"
    #: an OTLP request has profiles of several resources, scopes or times, and the call takes one
    SEVERAL = "several"
    #: the times of the input show that it is a window
    IS_WINDOW = "is_window"
    #: cur is older than prev
    SWAPPED = "swapped"
    #: no value type is known as a counter
    NO_COUNTER = "no_counter"
    #: the value types differ
    OTHER_TYPES = "other_types"
    #: the options `counters` and `gauges` are not those of the state
    OTHER_OPTIONS = "other_options"
    #: a sum: windows or batches are missing between the two
    WINDOW_MISSING = "window_missing"
    #: A sum: the window or batch comes before one that was added already. A merge: likewise, or after
    #: windows of another target; or a merge has the target.
    WINDOW_LATE = "window_late"
    #: the bytes are something else
    NOT_A_STATE = "not_a_state"
    #: a newer version of the library wrote the state
    NEWER_STATE = "newer_state"
    #: a sum: the two are of two states or processes
    TWO_TARGETS = "two_targets"
    #: a merge: no stamp names the target and the window; a sum or a merge: the profile is a merge
    NO_TARGET = "no_target"


class OnReset(StrEnum):
    """What to do when a counter went backwards or the target restarted."""

    #: a restart counts from zero, a lone decrease is clamped
    AUTO = "auto"
    #: every decrease is a restart
    RESTART = "restart"
    #: no decrease is a restart
    CLAMP = "clamp"
    #: negative values are written, also for vanished samples; the window follows a base
    NEGATIVE = "negative"
    #: the window fails with `ResetError`
    FAIL = "fail"


class Stage(StrEnum):
    """The part of the library that failed."""

    #: arguments, and calls out of order
    OPTIONS = "options"
    MEMORY = "memory"
    INFLATE = "inflate"
    #: protobuf
    WIRE = "wire"
    #: the fields of a profile
    PROFILE = "profile"
    #: the subtraction
    DELTA = "delta"
    #: the sink
    WRITE = "write"
    STATE = "state"
    SUM = "sum"
    RECOVER = "recover"


class First(StrEnum):
    """What the first window of an empty context is."""

    #: everything since the process began
    FULL = "full"
    #: nothing, as if the profile had not changed
    ZERO = "zero"


class Compression(StrEnum):
    """The compression of the output."""

    GZIP = "gzip"
    ZSTD = "zstd"
    NONE = "none"


class Format(StrEnum):
    """The format of the output."""

    PPROF = "pprof"
    #: for Pyroscope and most receivers
    OTLP = "otlp"
    #: the same, with the period type as it is
    OTLP_PARCA = "otlp-parca"
    #: by the conventions of OpenTelemetry alone
    OTLP_PLAIN = "otlp-plain"
    TABLES = "tables"


@dataclass(frozen=True, slots=True)
class TypeReport:
    """One value type of a window, with its sums over all samples."""

    type: str
    unit: str
    is_counter: bool
    #: Sums over all samples. prev: the ledger. cur: the input. delta: the output. clamped: how far
    #: counters of cur are below the ledger. vanished: the ledger's samples that cur does not have. For a
    #: counter, prev + delta - clamped - vanished = cur. For a gauge, only cur and delta are set.
    prev: int
    cur: int
    delta: int
    clamped: int
    vanished: int


def type_report_of(raw: tuple[Any, ...]) -> TypeReport:
    values = [*raw[0:8]]
    return TypeReport(*values)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The stamp of a profile that pprofdelta wrote. pprofdelta.h, "Sequence and attempt", has the rule
    for receivers."""

    #: False: no delta; then only to_nanos is set, and the live heap's members
    is_delta: bool
    #: 0: unknown, or the beginning of the process
    from_nanos: int
    #: 0: unknown
    to_nanos: int
    #: 0: none, as in a delta of two files
    sequence: int
    restart: Restart
    #: Live.NONE: epoch and first are zero
    live: Live
    #: of the tracker or the series; of a merge, the highest; 0: none
    id: int
    #: of the full batch that this batch continues
    epoch: int
    #: this is the sum of the batches first to sequence; full: sequence
    first: int
    #: at this sequence, from 1; 0: none, as in a delta of two files
    attempt: int
    #: the sequence that was committed last before it; sequence - 1 unless a restart ended an open window;
    #: 0 in a batch of a live heap
    acked: int
    #: of a merge: how many; else 0
    windows: int
    targets: int


def stamp_of(raw: tuple[Any, ...]) -> Stamp:
    values = [*raw[0:4], RESTARTS[raw[4]], LIVES[raw[5]], *raw[6:13]]
    return Stamp(*values)


@dataclass(frozen=True, slots=True)
class Report:
    """What went into a window and what came out."""

    #: sample records in cur
    samples_in: int
    #: sample records written
    samples_out: int
    #: distinct samples of cur that are in the ledger
    matched: int
    #: distinct samples of cur that are not
    fresh: int
    #: ledger entries that cur does not have
    vanished: int
    #: distinct samples with a counter below the ledger's, or below what an earlier attempt at the window
    #: had
    clamped: int
    #: records of cur that were added to an earlier equal one
    duplicates: int
    #: locations of cur that are identified by their address
    by_address: int
    #: locations of cur that are identified by their lines
    by_lines: int
    #: mappings of cur whose file was replaced, removed or renamed since prev: the counters show the same
    #: process, or the option `on_reset` says so
    files_replaced: int
    #: likewise: the main mapping is one of them, and has another build id
    other_build: bool
    #: fields of cur that its format does not have; they are skipped
    unknown_fields: int
    #: False: the context was empty, or only had attempts at this window (see the option `first`). 0 with a
    #: sequence above 1: a window of a state that an older version wrote, which merged locations of cur.
    #: What that remembers cannot be compared: the window begins anew, as with FIRST_ZERO
    had_base: bool
    #: between this window and the one before it: the same in all attempts
    restart: Restart
    #: prev's time; 0 if unknown, or if the window begins with the process
    from_nanos: int
    #: cur's time; but never before the end of the window or attempt before
    to_nanos: int
    #: 1 for the first window of a context, 2 for the first after a base; see "Sequence and attempt"
    sequence: int
    #: 1 for the first delta of this sequence, and 1 more for each further one; 0 with sequence 0
    attempt: int
    #: bytes given to the sink
    output_len: int
    #: in cur's order; see Format.TYPE
    types: tuple[TypeReport, ...]
    #: cur is the same profile as prev: it has the same time, no new sample and no counter that is higher.
    is_same: bool
    #: the durations do not show that both profiles are cumulative. Only one of prev and cur has a
    #: duration, or cur begins before prev did, or cur has a duration and there is no prev. If that profile
    #: is a window, the delta is wrong. Never True with the option `force`.
    may_be_window: bool
    #: cur's time is before that of the profile before it, and the counters show that cur is later (see "A
    #: clock that is set back" in pprofdelta-delta(1)).
    clock_set_back: bool
    #: of the series of windows, as in the stamp; 0 with sequence 0
    id: int
    #: What an OTLP request has and the delta does not have: original payloads; in Format.PPROF, also the
    #: attributes of the resource and the scope, and those of profiles, mappings and locations that a pprof
    #: profile has no field for.
    left_out: int
    #: a restart by the counters alone, and prev and cur may be of two kinds that have the same value
    #: types, such as Go's mutex and block profiles: the period type or the default type is another, or the
    #: window before began with such a restart, too. Each kind needs a context of its own.
    may_be_two_kinds: bool


def report_of(raw: tuple[Any, ...]) -> Report:
    values = [*raw[0:13], RESTARTS[raw[13]], *raw[14:19], tuple(map(type_report_of, raw[19])), *raw[20:26]]
    return Report(*values)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a context remembers."""

    #: False: nothing, or only attempts at the first window
    has_base: bool
    #: of the last committed window, or 1 after a base; 0: none
    sequence: int
    #: deltas of the window that is open; 0: none is
    attempts: int
    #: distinct samples, with those of the open window
    samples: int
    #: those of them that the last profile did not have
    unseen: int
    #: begin of the last committed window; 0 if unknown
    from_nanos: int
    #: its end
    to_nanos: int
    #: of the last committed window
    restart: Restart
    #: of the target's main mapping; empty if it has none
    build_id: str
    #: counters first; only prev of the sums is set: what was committed, of the process that was seen last
    types: tuple[TypeReport, ...]
    #: The open window, of which the last attempt was not committed. All 0 if none is open.
    open_sequence: int
    #: of the last attempt
    open_from_nanos: int
    open_to_nanos: int
    open_restart: Restart
    #: of the series of windows; also set without a base
    id: int
    #: Bytes that the context holds at this moment, with what the compression libraries have allocated for
    #: it besides max_memory (of libdeflate, the numbers at pprofdelta_allocator).
    bytes: int = field(compare=False)


def memory_of(raw: tuple[Any, ...]) -> Memory:
    values = [*raw[0:7], RESTARTS[raw[7]], *raw[8:9], tuple(map(type_report_of, raw[9])), *raw[10:13],
        RESTARTS[raw[13]], *raw[14:16]]
    return Memory(*values)


@dataclass(frozen=True, slots=True)
class Census:
    """What a valid profile has."""

    #: "gzip", "zstd", or "plain"; for what is not compressed and no pprof profile, "text" (a text heap
    #: profile) or "otlp" (an OTLP request).
    format: str
    #: bytes of the profile, the text or the request, not compressed
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
    #: a delta that pprofdelta wrote
    is_stamped: bool
    #: is_delta is also 0 if the stamp is not valid
    stamp: Stamp
    #: The file and the build id of the first mapping, which is the main binary. Empty if unknown.
    binary: str
    build_id: str
    #: of a request; else 0
    resources: int
    scopes: int
    profiles: int
    #: that its samples have; they are labels of the profile
    timestamps: int
    links: int
    #: Not in the pprof profile: original payloads, and attributes of mappings, locations and profiles that
    #: a pprof profile has no field for.
    payloads: int
    other_attributes: int


def census_of(raw: tuple[Any, ...]) -> Census:
    values = [*raw[0:14], stamp_of(raw[14]), *raw[15:24]]
    return Census(*values)


ReceiverLike: TypeAlias = Literal["pyroscope", "parca", "otel", "pprof"]
# What each takes, as --for of the command.
RECEIVERS: dict[str, tuple[Format, Compression]] = {
    "pyroscope": (Format.OTLP, Compression.GZIP),
    "parca": (Format.OTLP_PARCA, Compression.GZIP),
    "otel": (Format.OTLP_PLAIN, Compression.GZIP),
    "pprof": (Format.PPROF, Compression.GZIP),
}
