// The declarations of pprofdelta_common.h, pprofdelta.h and pprofdelta_heap.h. The headers have the contract.
// Made by bindings/facts.py from these headers. Do not edit.

use crate::PPROFDELTA_HEAP_FILTER_LEN;
use core::ffi::{c_char, c_int, c_uint, c_void};

pub type pprofdelta_status = c_uint;
pub const PPROFDELTA_OK: pprofdelta_status = 0;
pub const PPROFDELTA_E_MEMORY: pprofdelta_status = 1;
pub const PPROFDELTA_E_LIMIT: pprofdelta_status = 2;
pub const PPROFDELTA_E_INFLATE: pprofdelta_status = 3;
pub const PPROFDELTA_E_WIRE: pprofdelta_status = 4;
pub const PPROFDELTA_E_PROFILE: pprofdelta_status = 5;
pub const PPROFDELTA_E_MISMATCH: pprofdelta_status = 6;
pub const PPROFDELTA_E_STAMPED: pprofdelta_status = 7;
pub const PPROFDELTA_E_RESET: pprofdelta_status = 8;
pub const PPROFDELTA_E_VERIFY: pprofdelta_status = 9;
pub const PPROFDELTA_E_SINK: pprofdelta_status = 10;
pub const PPROFDELTA_E_USAGE: pprofdelta_status = 11;
pub const PPROFDELTA_E_STATE: pprofdelta_status = 12;
pub const PPROFDELTA_E_SOURCE: pprofdelta_status = 13;
pub const PPROFDELTA_E_NOT_CUMULATIVE: pprofdelta_status = 14;
pub const PPROFDELTA_E_OLDER: pprofdelta_status = 15;
pub const PPROFDELTA_E_OTHER_TARGET: pprofdelta_status = 16;

pub type pprofdelta_reason = c_uint;
pub const PPROFDELTA_REASON_NONE: pprofdelta_reason = 0;
pub const PPROFDELTA_REASON_MAX_MEMORY: pprofdelta_reason = 1;
pub const PPROFDELTA_REASON_ADDRESS_SPACE: pprofdelta_reason = 2;
pub const PPROFDELTA_REASON_IS_STATE: pprofdelta_reason = 3;
pub const PPROFDELTA_REASON_SEVERAL: pprofdelta_reason = 4;
pub const PPROFDELTA_REASON_IS_WINDOW: pprofdelta_reason = 5;
pub const PPROFDELTA_REASON_SWAPPED: pprofdelta_reason = 6;
pub const PPROFDELTA_REASON_NO_COUNTER: pprofdelta_reason = 7;
pub const PPROFDELTA_REASON_OTHER_TYPES: pprofdelta_reason = 8;
pub const PPROFDELTA_REASON_OTHER_OPTIONS: pprofdelta_reason = 9;
pub const PPROFDELTA_REASON_WINDOW_MISSING: pprofdelta_reason = 10;
pub const PPROFDELTA_REASON_WINDOW_LATE: pprofdelta_reason = 11;
pub const PPROFDELTA_REASON_NOT_A_STATE: pprofdelta_reason = 12;
pub const PPROFDELTA_REASON_NEWER_STATE: pprofdelta_reason = 13;
pub const PPROFDELTA_REASON_TWO_TARGETS: pprofdelta_reason = 14;
pub const PPROFDELTA_REASON_NO_TARGET: pprofdelta_reason = 15;

pub type pprofdelta_stage = c_uint;
pub const PPROFDELTA_STAGE_OPTIONS: pprofdelta_stage = 0;
pub const PPROFDELTA_STAGE_MEMORY: pprofdelta_stage = 1;
pub const PPROFDELTA_STAGE_INFLATE: pprofdelta_stage = 2;
pub const PPROFDELTA_STAGE_WIRE: pprofdelta_stage = 3;
pub const PPROFDELTA_STAGE_PROFILE: pprofdelta_stage = 4;
pub const PPROFDELTA_STAGE_DELTA: pprofdelta_stage = 5;
pub const PPROFDELTA_STAGE_WRITE: pprofdelta_stage = 6;
pub const PPROFDELTA_STAGE_STATE: pprofdelta_stage = 7;
pub const PPROFDELTA_STAGE_SUM: pprofdelta_stage = 8;
pub const PPROFDELTA_STAGE_RECOVER: pprofdelta_stage = 9;

pub type pprofdelta_compression = c_uint;
pub const PPROFDELTA_GZIP: pprofdelta_compression = 0;
pub const PPROFDELTA_ZSTD: pprofdelta_compression = 1;
pub const PPROFDELTA_PLAIN: pprofdelta_compression = 2;

pub type pprofdelta_format = c_uint;
pub const PPROFDELTA_PPROF: pprofdelta_format = 0;
pub const PPROFDELTA_OTLP: pprofdelta_format = 1;
pub const PPROFDELTA_OTLP_PARCA: pprofdelta_format = 2;
pub const PPROFDELTA_OTLP_PLAIN: pprofdelta_format = 3;
pub const PPROFDELTA_TABLES: pprofdelta_format = 4;

pub const PPROFDELTA_NO_STAMP: c_uint = 1;
pub const PPROFDELTA_NO_MAPPINGS: c_uint = 1024;

pub type pprofdelta_fork = c_uint;
pub const PPROFDELTA_FORK_PREPARE: pprofdelta_fork = 0;
pub const PPROFDELTA_FORK_PARENT: pprofdelta_fork = 1;
pub const PPROFDELTA_FORK_CHILD: pprofdelta_fork = 2;
pub const PPROFDELTA_FORK_LOST: pprofdelta_fork = 3;
pub const PPROFDELTA_FORK_ANEW: pprofdelta_fork = 4;

pub const PPROFDELTA_HEAP_ATTACHED: c_uint = 8192;
pub const PPROFDELTA_HEAP_AGES: c_uint = 4096;
pub const PPROFDELTA_HEAP_NAMES_ONLY: c_uint = 2048;

pub const PPROFDELTA_HEAP_DROPPED: c_uint = 0;
pub const PPROFDELTA_HEAP_DEFERRED: c_uint = 1;
pub const PPROFDELTA_HEAP_COMPLETE_SOON: c_uint = 2;

pub type pprofdelta_heap_kind = c_uint;
pub const PPROFDELTA_HEAP_DELTA: pprofdelta_heap_kind = 0;
pub const PPROFDELTA_HEAP_FULL: pprofdelta_heap_kind = 1;

pub type pprofdelta_heap_inuse = c_uint;
pub const PPROFDELTA_HEAP_BY_FORMAT: pprofdelta_heap_inuse = 0;
pub const PPROFDELTA_HEAP_CHANGES: pprofdelta_heap_inuse = 1;
pub const PPROFDELTA_HEAP_SNAPSHOT: pprofdelta_heap_inuse = 2;

pub type pprofdelta_on_reset = c_uint;
pub const PPROFDELTA_ON_RESET_AUTO: pprofdelta_on_reset = 0;
pub const PPROFDELTA_ON_RESET_RESTART: pprofdelta_on_reset = 1;
pub const PPROFDELTA_ON_RESET_CLAMP: pprofdelta_on_reset = 2;
pub const PPROFDELTA_ON_RESET_NEGATIVE: pprofdelta_on_reset = 3;
pub const PPROFDELTA_ON_RESET_FAIL: pprofdelta_on_reset = 4;

pub type pprofdelta_first = c_uint;
pub const PPROFDELTA_FIRST_FULL: pprofdelta_first = 0;
pub const PPROFDELTA_FIRST_ZERO: pprofdelta_first = 1;

pub const PPROFDELTA_FORCE: c_uint = 2;
pub const PPROFDELTA_VERIFY: c_uint = 4;
pub const PPROFDELTA_DEFAULT_COUNTER: c_uint = 8;
pub const PPROFDELTA_NO_SEQUENCE: c_uint = 16;
pub const PPROFDELTA_ABSENT_TYPES: c_uint = 32;
pub const PPROFDELTA_MERGE: c_uint = 64;
pub const PPROFDELTA_DISJOINT: c_uint = 128;

pub type pprofdelta_restart = c_uint;
pub const PPROFDELTA_RESTART_NONE: pprofdelta_restart = 0;
pub const PPROFDELTA_RESTART_STARTED: pprofdelta_restart = 1;
pub const PPROFDELTA_RESTART_BUILD_ID: pprofdelta_restart = 2;
pub const PPROFDELTA_RESTART_MASS: pprofdelta_restart = 3;
pub const PPROFDELTA_RESTART_ANY: pprofdelta_restart = 4;
pub const PPROFDELTA_RESTART_LIVE: pprofdelta_restart = 5;

pub type pprofdelta_live = c_uint;
pub const PPROFDELTA_LIVE_NONE: pprofdelta_live = 0;
pub const PPROFDELTA_LIVE_FULL: pprofdelta_live = 1;
pub const PPROFDELTA_LIVE_DELTA: pprofdelta_live = 2;
pub const PPROFDELTA_LIVE_WINDOW: pprofdelta_live = 3;

pub type pprofdelta_join = c_uint;
pub const PPROFDELTA_JOIN_FIRST: pprofdelta_join = 0;
pub const PPROFDELTA_JOIN_NEXT: pprofdelta_join = 1;
pub const PPROFDELTA_JOIN_RESTART: pprofdelta_join = 2;
pub const PPROFDELTA_JOIN_AGAIN: pprofdelta_join = 3;
pub const PPROFDELTA_JOIN_STALE: pprofdelta_join = 4;
pub const PPROFDELTA_JOIN_UNTIMED: pprofdelta_join = 5;
pub const PPROFDELTA_JOIN_FORCED: pprofdelta_join = 6;
pub const PPROFDELTA_JOIN_RESYNC: pprofdelta_join = 7;
pub const PPROFDELTA_JOIN_GAP: pprofdelta_join = 8;
pub const PPROFDELTA_JOIN_ENDED: pprofdelta_join = 9;
pub const PPROFDELTA_JOIN_EQUAL: pprofdelta_join = 10;
pub const PPROFDELTA_JOIN_APART: pprofdelta_join = 11;

#[repr(C)]
pub struct pprofdelta {
    _private: [u8; 0],
}

#[repr(C)]
pub struct pprofdelta_adder {
    _private: [u8; 0],
}

#[repr(C)]
pub struct pprofdelta_heap {
    _private: [u8; 0],
}

#[repr(C)]
pub struct pprofdelta_tables {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_error {
    pub status: pprofdelta_status,
    pub reason: pprofdelta_reason,
    pub stage: pprofdelta_stage,
    pub is_prev: c_int,
    pub field: *const c_char,
    pub element: u64,
    pub offset: u64,
    pub text: [c_char; 472],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_allocator {
    pub resize: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub cookie: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_sink {
    pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int>,
    pub cookie: *mut c_void,
    pub tables: Option<unsafe extern "C" fn(*mut c_void, *mut pprofdelta_tables) -> c_int>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_source {
    pub read: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize) -> c_int>,
    pub cookie: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_receiver {
    pub word: *const c_char,
    pub name: *const c_char,
    pub version: *const c_char,
    pub format: pprofdelta_format,
    pub compression: pprofdelta_compression,
    pub max_age: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_attribute {
    pub key: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_label {
    pub key: *const c_char,
    pub str: *const c_char,
    pub num: i64,
    pub num_unit: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_frame {
    pub name: *const c_char,
    pub system_name: *const c_char,
    pub filename: *const c_char,
    pub start_line: i64,
    pub line: i64,
    pub column: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_symbol {
    pub frames: *const pprofdelta_frame,
    pub frames_len: usize,
    pub hide: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_sum {
    pub lo: u64,
    pub hi: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_weight {
    pub objects: i64,
    pub bytes: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_sampler {
    pub left: i64,
    pub held: i64,
    pub interval: u64,
    pub random: [u64; 2],
    pub pauses: u32,
    pub has_begun: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_filter {
    pub at: [u8; PPROFDELTA_HEAP_FILTER_LEN],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_pages {
    pub map: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    pub unmap: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize)>,
    pub cookie: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_options {
    pub size: usize,
    pub flags: c_uint,
    pub period: u64,
    pub id: u64,
    pub started_nanos: i64,
    pub filter: *mut pprofdelta_heap_filter,
    pub pages: *const pprofdelta_heap_pages,
    pub max_memory: u64,
    pub max_live: u32,
    pub max_sites: u32,
    pub max_depth: u32,
    pub max_deferred: u32,
    pub max_attempts: u32,
    pub max_retry: u64,
    pub max_export: u64,
    pub compression: pprofdelta_compression,
    pub level: c_int,
    pub symbolize: Option<unsafe extern "C" fn(*mut c_void, u64, *mut pprofdelta_symbol)>,
    pub symbolize_cookie: *mut c_void,
    pub format: pprofdelta_format,
    pub resource: *const pprofdelta_attribute,
    pub resource_len: usize,
    pub gauge: *const c_char,
    pub gauge_unit: *const c_char,
    pub work: *const pprofdelta_heap_pages,
    pub second_gauge: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_event {
    pub ptr: *const c_void,
    pub weight: pprofdelta_weight,
    pub stack: *const u64,
    pub depth: usize,
    pub labels: *const pprofdelta_label,
    pub labels_len: usize,
    pub code: u64,
    pub size: usize,
    pub is_piece: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_realloc {
    pub held: u64,
    pub bytes: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_window {
    pub size: usize,
    pub kind: pprofdelta_heap_kind,
    pub id: u64,
    pub epoch: u64,
    pub sequence: u64,
    pub attempt: u64,
    pub from_nanos: i64,
    pub to_nanos: i64,
    pub changed: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_row {
    pub frames: *const pprofdelta_frame,
    pub frames_len: usize,
    pub stack: *const u64,
    pub depth: usize,
    pub value: i64,
    pub second: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_area {
    pub bytes: *const c_void,
    pub len: usize,
    pub base: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_remains {
    pub areas: *const pprofdelta_heap_area,
    pub areas_len: usize,
    pub root: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_heap_stats {
    pub size: usize,
    pub live: u64,
    pub sites: u64,
    pub deferred: u64,
    pub inuse_objects: i64,
    pub inuse_bytes: i64,
    pub memory: u64,
    pub tracked: u64,
    pub untracked: u64,
    pub not_tracked: u64,
    pub replaced: u64,
    pub cut: u64,
    pub dropped_live: u64,
    pub dropped_sites: u64,
    pub dropped_memory: u64,
    pub dropped_deferred: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub forgotten: u64,
    pub batches: u64,
    pub committed: u64,
    pub abandoned: u64,
    pub lost: u64,
    pub resyncs: u64,
    pub epoch: u64,
    pub sequence: u64,
    pub changed: u64,
    pub peak_objects: i64,
    pub peak_bytes: i64,
    pub peak_nanos: i64,
    pub dropped_ages: u64,
    pub refused: u64,
    pub left_out: u64,
    pub filter: *const pprofdelta_heap_filter,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_options {
    pub size: usize,
    pub flags: c_uint,
    pub on_reset: pprofdelta_on_reset,
    pub first: pprofdelta_first,
    pub compression: pprofdelta_compression,
    pub level: c_int,
    pub max_memory: u64,
    pub counters: *const *const c_char,
    pub counters_len: usize,
    pub gauges: *const *const c_char,
    pub gauges_len: usize,
    pub format: pprofdelta_format,
    pub resource: *const pprofdelta_attribute,
    pub resource_len: usize,
    pub resource_weak: usize,
    pub id: u64,
    pub target_label: *const c_char,
    pub last_sequence: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_type_report {
    pub r#type: *const c_char,
    pub unit: *const c_char,
    pub is_counter: c_int,
    pub prev: pprofdelta_sum,
    pub cur: pprofdelta_sum,
    pub delta: pprofdelta_sum,
    pub clamped: pprofdelta_sum,
    pub vanished: pprofdelta_sum,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_report {
    pub size: usize,
    pub samples_in: u64,
    pub samples_out: u64,
    pub matched: u64,
    pub fresh: u64,
    pub vanished: u64,
    pub clamped: u64,
    pub duplicates: u64,
    pub by_address: u64,
    pub by_lines: u64,
    pub files_replaced: u64,
    pub other_build: c_int,
    pub unknown_fields: u64,
    pub had_base: c_int,
    pub restart: pprofdelta_restart,
    pub from_nanos: i64,
    pub to_nanos: i64,
    pub sequence: u64,
    pub attempt: u64,
    pub output_len: u64,
    pub types: *const pprofdelta_type_report,
    pub types_len: usize,
    pub types_stride: usize,
    pub is_same: c_int,
    pub may_be_window: c_int,
    pub clock_set_back: c_int,
    pub id: u64,
    pub left_out: u64,
    pub may_be_two_kinds: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_memory {
    pub size: usize,
    pub has_base: c_int,
    pub sequence: u64,
    pub attempts: u64,
    pub samples: u64,
    pub unseen: u64,
    pub from_nanos: i64,
    pub to_nanos: i64,
    pub restart: pprofdelta_restart,
    pub build_id: *const c_char,
    pub types: *const pprofdelta_type_report,
    pub types_len: usize,
    pub types_stride: usize,
    pub open_sequence: u64,
    pub open_from_nanos: i64,
    pub open_to_nanos: i64,
    pub open_restart: pprofdelta_restart,
    pub id: u64,
    pub bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct pprofdelta_stamp {
    pub is_delta: c_int,
    pub from_nanos: i64,
    pub to_nanos: i64,
    pub sequence: u64,
    pub restart: pprofdelta_restart,
    pub live: pprofdelta_live,
    pub id: u64,
    pub epoch: u64,
    pub first: u64,
    pub attempt: u64,
    pub acked: u64,
    pub windows: u64,
    pub targets: u64,
}

extern "C" {
    pub fn pprofdelta_version() -> *const c_char;
    pub fn pprofdelta_error_line(
        err: *const pprofdelta_error,
        out: *mut c_char,
        cap: usize,
    ) -> usize;
    pub fn pprofdelta_sampler_init(sampler: *mut pprofdelta_sampler, interval: u64, seed: u64);
    pub fn pprofdelta_sampler_take(
        sampler: *mut pprofdelta_sampler,
        size: usize,
        weight: *mut pprofdelta_weight,
    ) -> c_int;
    pub fn pprofdelta_heap_new(
        options: *const pprofdelta_heap_options,
        out: *mut *mut pprofdelta_heap,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_heap_free(heap: *mut pprofdelta_heap);
    pub fn pprofdelta_heap_track(
        heap: *mut pprofdelta_heap,
        event: *const pprofdelta_heap_event,
    ) -> c_int;
    pub fn pprofdelta_heap_untrack(heap: *mut pprofdelta_heap, ptr: *const c_void) -> c_int;
    pub fn pprofdelta_heap_realloc_begin(
        heap: *mut pprofdelta_heap,
        ptr: *const c_void,
        r: *mut pprofdelta_heap_realloc,
    ) -> c_int;
    pub fn pprofdelta_heap_realloc_end(
        heap: *mut pprofdelta_heap,
        r: *mut pprofdelta_heap_realloc,
        ptr: *const c_void,
        before: usize,
        after: usize,
    );
    pub fn pprofdelta_heap_defer(
        heap: *mut pprofdelta_heap,
        event: *const pprofdelta_heap_event,
    ) -> c_int;
    pub fn pprofdelta_heap_complete(
        heap: *mut pprofdelta_heap,
        completion: Option<unsafe extern "C" fn(*mut c_void, *mut pprofdelta_heap_event) -> c_int>,
        cookie: *mut c_void,
    ) -> usize;
    pub fn pprofdelta_heap_begin(
        heap: *mut pprofdelta_heap,
        now: i64,
        window: *mut pprofdelta_heap_window,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_heap_write(
        heap: *mut pprofdelta_heap,
        inuse: pprofdelta_heap_inuse,
        sink: *const pprofdelta_sink,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_heap_set_gauge(
        heap: *mut pprofdelta_heap,
        rows: *const pprofdelta_heap_row,
        rows_len: usize,
        comment: *const c_char,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_heap_commit(heap: *mut pprofdelta_heap) -> pprofdelta_status;
    pub fn pprofdelta_heap_abandon(heap: *mut pprofdelta_heap);
    pub fn pprofdelta_heap_resync(heap: *mut pprofdelta_heap);
    pub fn pprofdelta_heap_note_mappings(heap: *mut pprofdelta_heap);
    pub fn pprofdelta_heap_dump(
        heap: *const pprofdelta_heap,
        fd: c_int,
        n: usize,
        name: Option<unsafe extern "C" fn(*mut c_void, u64, *mut pprofdelta_frame) -> c_int>,
        cookie: *mut c_void,
    ) -> c_int;
    pub fn pprofdelta_heap_fork(heap: *mut pprofdelta_heap, step: pprofdelta_fork, now: i64);
    pub fn pprofdelta_heap_recover(
        remains: *const pprofdelta_heap_remains,
        options: *const pprofdelta_heap_options,
        out: *mut *mut pprofdelta_heap,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_heap_describe(
        heap: *mut pprofdelta_heap,
        out: *mut pprofdelta_heap_stats,
    ) -> pprofdelta_status;
    pub fn pprofdelta_new(
        options: *const pprofdelta_options,
        allocator: *const pprofdelta_allocator,
        out: *mut *mut pprofdelta,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_free(pd: *mut pprofdelta);
    pub fn pprofdelta_set_started(pd: *mut pprofdelta, started_nanos: i64);
    pub fn pprofdelta_base(
        pd: *mut pprofdelta,
        bytes: *const c_void,
        len: usize,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_window(
        pd: *mut pprofdelta,
        bytes: *const c_void,
        len: usize,
        sink: *const pprofdelta_sink,
        report: *mut pprofdelta_report,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_begin(
        pd: *mut pprofdelta,
        bytes: *const c_void,
        len: usize,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_write(
        pd: *mut pprofdelta,
        sink: *const pprofdelta_sink,
        report: *mut pprofdelta_report,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_commit(pd: *mut pprofdelta) -> pprofdelta_status;
    pub fn pprofdelta_abandon(pd: *mut pprofdelta);
    pub fn pprofdelta_save(
        pd: *mut pprofdelta,
        sink: *const pprofdelta_sink,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_load(
        pd: *mut pprofdelta,
        source: *const pprofdelta_source,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_describe(
        pd: *mut pprofdelta,
        out: *mut pprofdelta_memory,
    ) -> pprofdelta_status;
    pub fn pprofdelta_adder_new(
        options: *const pprofdelta_options,
        allocator: *const pprofdelta_allocator,
        out: *mut *mut pprofdelta_adder,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_adder_free(adder: *mut pprofdelta_adder);
    pub fn pprofdelta_adder_add(
        adder: *mut pprofdelta_adder,
        bytes: *const c_void,
        len: usize,
        join: *mut pprofdelta_join,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
    pub fn pprofdelta_adder_finish(
        adder: *mut pprofdelta_adder,
        sink: *const pprofdelta_sink,
        err: *mut pprofdelta_error,
    ) -> pprofdelta_status;
}
