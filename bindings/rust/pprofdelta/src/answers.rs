// The enums of the library, and what it returns. Made by bindings/facts.py from the headers. Do not edit.

use crate::error::{sum, text};
use pprofdelta_sys as sys;

/// The kind of an [`Error`](crate::Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The allocator returned NULL
    Memory = 1,
    /// More than max_memory allows, or a count that overflows
    Limit = 2,
    /// Compressed input is damaged, truncated, or followed by other bytes.
    Inflate = 3,
    /// Not well-formed protobuf
    Wire = 4,
    /// Protobuf, but not a valid profile
    Profile = 5,
    /// Valid profiles that have no delta: types, order, no counter
    Mismatch = 6,
    /// The input is itself a delta (see `force`)
    Stamped = 7,
    /// A counter went backwards and on_reset is FAIL
    Reset = 8,
    /// The conservation law does not hold: a bug in this library
    Verify = 9,
    /// The sink refused the output
    Sink = 10,
    /// An invalid argument, or a call that is not allowed at this point
    Usage = 11,
    /// Not a state, a damaged state, or a state of another version
    State = 12,
    /// The source failed
    Source = 13,
    /// The input is not cumulative: its times show that it is a window, or its types show that it
    /// is a CPU profile, a goroutine profile or the like (see `force`).
    NotCumulative = 14,
    /// The profile is older than the one before it in the series: no counter has grown, and some
    /// have fallen or are missing. It came late; what the context remembers is as before.
    Older = 15,
    /// The profiles are of two services (see `force`)
    OtherTarget = 16,
    /// A value that this version of the crate does not know.
    Unknown = -1,
}

impl Status {
    pub(crate) fn from_raw(value: sys::pprofdelta_status) -> Self {
        match value {
            1 => Self::Memory,
            2 => Self::Limit,
            3 => Self::Inflate,
            4 => Self::Wire,
            5 => Self::Profile,
            6 => Self::Mismatch,
            7 => Self::Stamped,
            8 => Self::Reset,
            9 => Self::Verify,
            10 => Self::Sink,
            11 => Self::Usage,
            12 => Self::State,
            13 => Self::Source,
            14 => Self::NotCumulative,
            15 => Self::Older,
            16 => Self::OtherTarget,
            _ => Self::Unknown,
        }
    }
}

/// Why a call failed, where a [`Status`] has several reasons that a caller may handle differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// There is no more to know than the status
    None = 0,
    /// `Status::Limit`: a higher max_memory may be enough
    MaxMemory = 1,
    /// `Status::Limit`: more than a 32-bit process has room for
    AddressSpace = 2,
    /// `Status::Profile`: the input is a state
    IsState = 3,
    /// `Status::Profile`: an OTLP request has profiles of several resources, scopes or times, and
    /// the call takes one
    Several = 4,
    /// `Status::NotCumulative`: the times of the input show that it is a window
    IsWindow = 5,
    /// `Status::Mismatch`: cur is older than prev
    Swapped = 6,
    /// `Status::Mismatch`: no value type is known as a counter
    NoCounter = 7,
    /// `Status::Mismatch`: the value types differ
    OtherTypes = 8,
    /// `Status::Mismatch`: counters and gauges are not those of the state
    OtherOptions = 9,
    /// `Status::Mismatch`: a sum: windows or batches are missing between the two
    WindowMissing = 10,
    /// `Status::Mismatch`: A sum: the window or batch comes before one that was added already. A
    /// merge: likewise, or after windows of another target; or a merge has the target.
    WindowLate = 11,
    /// `Status::State`: the bytes are something else
    NotAState = 12,
    /// `Status::State`: a newer version of the library wrote the state
    NewerState = 13,
    /// `Status::Mismatch`: a sum: the two are of two states or processes
    TwoTargets = 14,
    /// `Status::Mismatch`: a merge: no stamp names the target and the window; a sum or a merge: the
    /// profile is a merge
    NoTarget = 15,
    /// A value that this version of the crate does not know.
    Unknown = -1,
}

impl Reason {
    pub(crate) fn from_raw(value: sys::pprofdelta_reason) -> Self {
        match value {
            0 => Self::None,
            1 => Self::MaxMemory,
            2 => Self::AddressSpace,
            3 => Self::IsState,
            4 => Self::Several,
            5 => Self::IsWindow,
            6 => Self::Swapped,
            7 => Self::NoCounter,
            8 => Self::OtherTypes,
            9 => Self::OtherOptions,
            10 => Self::WindowMissing,
            11 => Self::WindowLate,
            12 => Self::NotAState,
            13 => Self::NewerState,
            14 => Self::TwoTargets,
            15 => Self::NoTarget,
            _ => Self::Unknown,
        }
    }
}

/// The part of the library that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Arguments, and calls out of order
    Options = 0,
    /// `PPROFDELTA_STAGE_MEMORY`.
    Memory = 1,
    /// `PPROFDELTA_STAGE_INFLATE`.
    Inflate = 2,
    /// Protobuf
    Wire = 3,
    /// The fields of a profile
    Profile = 4,
    /// The subtraction
    Delta = 5,
    /// The sink
    Write = 6,
    /// `PPROFDELTA_STAGE_STATE`.
    State = 7,
    /// `PPROFDELTA_STAGE_SUM`.
    Sum = 8,
    /// `PPROFDELTA_STAGE_RECOVER`.
    Recover = 9,
    /// A value that this version of the crate does not know.
    Unknown = -1,
}

impl Stage {
    pub(crate) fn from_raw(value: sys::pprofdelta_stage) -> Self {
        match value {
            0 => Self::Options,
            1 => Self::Memory,
            2 => Self::Inflate,
            3 => Self::Wire,
            4 => Self::Profile,
            5 => Self::Delta,
            6 => Self::Write,
            7 => Self::State,
            8 => Self::Sum,
            9 => Self::Recover,
            _ => Self::Unknown,
        }
    }
}

/// Why a window counts as a restart of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Restart {
    /// `PPROFDELTA_RESTART_NONE`.
    None = 0,
    /// The target began after prev's time (`Context::set_started`)
    Started = 1,
    /// The same as MASS, and the main mapping has another build id
    BuildId = 2,
    /// Half of a counter, or more, went away
    Mass = 3,
    /// A decrease, with `OnReset::Restart`
    Any = 4,
    /// The stamp of cur's live heap (the header pprofdelta_heap.h) has another id than prev's, or
    /// begins after prev's end.
    Live = 5,
    /// A value that this version of the crate does not know.
    Unknown = -1,
}

impl Restart {
    pub(crate) fn from_raw(value: sys::pprofdelta_restart) -> Self {
        match value {
            0 => Self::None,
            1 => Self::Started,
            2 => Self::BuildId,
            3 => Self::Mass,
            4 => Self::Any,
            5 => Self::Live,
            _ => Self::Unknown,
        }
    }
}

/// What to do when a counter went backwards or the target restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnReset {
    /// A restart counts from zero, a lone decrease is clamped
    #[default]
    Auto = 0,
    /// Every decrease is a restart
    Restart = 1,
    /// No decrease is a restart
    Clamp = 2,
    /// Negative values are written, also for vanished samples; the window follows a base
    Negative = 3,
    /// The window fails with `Status::Reset`
    Fail = 4,
}

/// What the first window of an empty context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum First {
    /// Everything since the process began
    #[default]
    Full = 0,
    /// Nothing, as if the profile had not changed
    Zero = 1,
}

/// Compression of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// `PPROFDELTA_GZIP`.
    #[default]
    Gzip = 0,
    /// `PPROFDELTA_ZSTD`.
    Zstd = 1,
    /// `PPROFDELTA_PLAIN`.
    Plain = 2,
}

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Format {
    /// `PPROFDELTA_PPROF`.
    #[default]
    Pprof = 0,
    /// For Pyroscope and most receivers
    Otlp = 1,
    /// The same, with the period type as it is
    OtlpParca = 2,
    /// By the conventions of OpenTelemetry alone
    OtlpPlain = 3,
}

/// The sums of one type over all samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TypeReport {
    /// See the header.
    pub r#type: String,
    /// `unit`
    pub unit: String,
    /// `is_counter`
    pub is_counter: bool,
    /// Sums over all samples. prev: the ledger. cur: the input. delta: the output. clamped: how far
    /// counters of cur are below the ledger. vanished: the ledger's samples that cur does not have.
    /// For a counter, prev + delta - clamped - vanished = cur. For a gauge, only cur and delta are
    /// set.
    pub prev: i128,
    /// `cur`
    pub cur: i128,
    /// `delta`
    pub delta: i128,
    /// `clamped`
    pub clamped: i128,
    /// `vanished`
    pub vanished: i128,
}

impl TypeReport {
    /// # Safety
    /// `from` was filled by the library, and what it points to is valid.
    pub(crate) unsafe fn from_raw(from: &sys::pprofdelta_type_report) -> Self {
        Self {
            r#type: text(from.r#type),
            unit: text(from.unit),
            is_counter: from.is_counter != 0,
            prev: sum(from.prev),
            cur: sum(from.cur),
            delta: sum(from.delta),
            clamped: sum(from.clamped),
            vanished: sum(from.vanished),
        }
    }
}

/// What a window found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Sample records in cur
    pub samples_in: u64,
    /// Sample records written
    pub samples_out: u64,
    /// Distinct samples of cur that are in the ledger
    pub matched: u64,
    /// Distinct samples of cur that are not
    pub fresh: u64,
    /// Ledger entries that cur does not have
    pub vanished: u64,
    /// Distinct samples with a counter below the ledger's, or below what an earlier attempt at the
    /// window had
    pub clamped: u64,
    /// Records of cur that were added to an earlier equal one
    pub duplicates: u64,
    /// Locations of cur that are identified by their address
    pub by_address: u64,
    /// Locations of cur that are identified by their lines
    pub by_lines: u64,
    /// Mappings of cur whose file was replaced, removed or renamed since prev: the counters show
    /// the same process, or on_reset says so
    pub files_replaced: u64,
    /// Likewise: the main mapping is one of them, and has another build id
    pub other_build: bool,
    /// Fields of cur that its format does not have; they are skipped
    pub unknown_fields: u64,
    /// False: the context was empty, or only had attempts at this window (see first). 0 with a
    /// sequence above 1: a window of a state that an older version wrote, which merged locations of
    /// cur. What that remembers cannot be compared: the window begins anew, as with FIRST_ZERO
    pub had_base: bool,
    /// Between this window and the one before it: the same in all attempts
    pub restart: Restart,
    /// Prev's time; 0 if unknown, or if the window begins with the process
    pub from_nanos: i64,
    /// Cur's time; but never before the end of the window or attempt before
    pub to_nanos: i64,
    /// 1 for the first window of a context, 2 for the first after a base; see "Sequence and
    /// attempt"
    pub sequence: u64,
    /// 1 for the first delta of this sequence, and 1 more for each further one; 0 with sequence 0
    pub attempt: u64,
    /// Bytes given to the sink
    pub output_len: u64,
    /// In cur's order; see `Type`
    pub types: Vec<TypeReport>,
    /// Cur is the same profile as prev: it has the same time, no new sample and no counter that is
    /// higher.
    pub is_same: bool,
    /// The durations do not show that both profiles are cumulative. Only one of prev and cur has a
    /// duration, or cur begins before prev did, or cur has a duration and there is no prev. If that
    /// profile is a window, the delta is wrong. Never true with `force`.
    pub may_be_window: bool,
    /// Cur's time is before that of the profile before it, and the counters show that cur is later
    /// (see "A clock that is set back" in pprofdelta-delta(1)).
    pub clock_set_back: bool,
    /// Of the series of windows, as in the stamp; 0 with sequence 0
    pub id: u64,
    /// What an OTLP request has and the delta does not have: original payloads; in `Pprof`, also
    /// the attributes of the resource and the scope, and those of profiles, mappings and locations
    /// that a pprof profile has no field for.
    pub left_out: u64,
    /// A restart by the counters alone, and prev and cur may be of two kinds that have the same
    /// value types, such as Go's mutex and block profiles: the period type or the default type is
    /// another, or the window before began with such a restart, too. Each kind needs a context of
    /// its own.
    pub may_be_two_kinds: bool,
}

impl Report {
    /// # Safety
    /// `from` was filled by the library, and what it points to is valid.
    pub(crate) unsafe fn from_raw(from: &sys::pprofdelta_report) -> Self {
        Self {
            samples_in: from.samples_in,
            samples_out: from.samples_out,
            matched: from.matched,
            fresh: from.fresh,
            vanished: from.vanished,
            clamped: from.clamped,
            duplicates: from.duplicates,
            by_address: from.by_address,
            by_lines: from.by_lines,
            files_replaced: from.files_replaced,
            other_build: from.other_build != 0,
            unknown_fields: from.unknown_fields,
            had_base: from.had_base != 0,
            restart: Restart::from_raw(from.restart),
            from_nanos: from.from_nanos,
            to_nanos: from.to_nanos,
            sequence: from.sequence,
            attempt: from.attempt,
            output_len: from.output_len,
            types: crate::error::list(from.types, from.types_len, from.types_stride, |one| TypeReport::from_raw(one)),
            is_same: from.is_same != 0,
            may_be_window: from.may_be_window != 0,
            clock_set_back: from.clock_set_back != 0,
            id: from.id,
            left_out: from.left_out,
            may_be_two_kinds: from.may_be_two_kinds != 0,
        }
    }
}

/// A receiver of profiles: what it takes, as `--for` of the command has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Receiver {
    /// [`Format::Otlp`], [`Compression::Gzip`], and what is in use.
    Pyroscope,
    /// [`Format::OtlpParca`], [`Compression::Gzip`], and what is in use.
    Parca,
    /// [`Format::OtlpPlain`], [`Compression::Gzip`], and what is in use.
    Otel,
    /// [`Format::Pprof`], [`Compression::Gzip`], and what is in use.
    Pprof,
}

impl Receiver {
    pub(crate) fn takes(self) -> (Format, Compression) {
        match self {
            Self::Pyroscope => (Format::Otlp, Compression::Gzip),
            Self::Parca => (Format::OtlpParca, Compression::Gzip),
            Self::Otel => (Format::OtlpPlain, Compression::Gzip),
            Self::Pprof => (Format::Pprof, Compression::Gzip),
        }
    }
}
