/* pprofdelta: cumulative profiles in, deltas out.
 *
 * Go, C and C++ services expose heap, mutex and block profiles that count from the start of the
 * process and only grow. A context remembers the counters of the last profile of one target. From
 * the next profile it computes the delta: the small profile of the time in between.
 *
 *     pprofdelta *pd;
 *     pprofdelta_new(NULL, NULL, &pd, &err);
 *     for (each scrape) {
 *         if (pprofdelta_window(pd, bytes, len, &sink, NULL, &err) == PPROFDELTA_OK && uploaded)
 *             pprofdelta_commit(pd);      // the next window begins here
 *         else
 *             pprofdelta_abandon(pd);     // the next window covers this one, too
 *     }
 *     pprofdelta_free(pd);
 *
 * pprofdelta-delta(1) has every rule of what a delta is. pprofdelta_common.h has the rules for all
 * functions of the library. For this header:
 *   - What a context returns (the names in a report) belongs to the context. It is valid until the
 *     next call on the context.
 *   - The context remembers a window only when pprofdelta_commit is called. A call that fails leaves
 *     the context as it was.
 *   - In the steady state (the same samples, no growth) a window of pprof profiles allocates no memory.
 */
#ifndef PPROFDELTA_H
#define PPROFDELTA_H

#include "pprofdelta_common.h"

PPROFDELTA_BEGIN

/* ---------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------ */

/* What to do when a counter went backwards or the target restarted. */
typedef enum pprofdelta_on_reset {
    PPROFDELTA_ON_RESET_AUTO = 0, /* a restart counts from zero, a lone decrease is clamped */
    PPROFDELTA_ON_RESET_RESTART,  /* every decrease is a restart */
    PPROFDELTA_ON_RESET_CLAMP,    /* no decrease is a restart */
    /* negative values are written, also for vanished samples; the window follows a base */
    PPROFDELTA_ON_RESET_NEGATIVE,
    PPROFDELTA_ON_RESET_FAIL /* the window fails with PPROFDELTA_E_RESET */
} pprofdelta_on_reset;

/* What the first window of an empty context is. */
typedef enum pprofdelta_first {
    PPROFDELTA_FIRST_FULL = 0, /* everything since the process began */
    PPROFDELTA_FIRST_ZERO      /* nothing, as if the profile had not changed */
} pprofdelta_first;

/* options.flags, besides PPROFDELTA_NO_STAMP */
enum {
    /* Accept an input that would fail with PPROFDELTA_E_STAMPED, _NOT_CUMULATIVE or _OTHER_TARGET.
     * In a sum, also add a profile that does not join, unless it may count twice. In a merge, take
     * a profile that names no target as a target of its own. */
    PPROFDELTA_FORCE = 1u << 1,
    PPROFDELTA_VERIFY = 1u << 2,          /* check the conservation law before any output */
    PPROFDELTA_DEFAULT_COUNTER = 1u << 3, /* a default type that is a gauge becomes its counter */
    /* Windows have no sequence and no attempt: for windows that belong to no series. */
    PPROFDELTA_NO_SEQUENCE = 1u << 4,
    /* counters and gauges may name types that a profile does not have: for one list of options for
     * profiles of several kinds. */
    PPROFDELTA_ABSENT_TYPES = 1u << 5,
    PPROFDELTA_MERGE = 1u << 6,   /* a sum is a merge: see pprofdelta_adder_add */
    PPROFDELTA_DISJOINT = 1u << 7 /* a merge takes merges of other targets, too */
};

#define PPROFDELTA_MAX_TYPES 64

/* Begin with PPROFDELTA_OPTIONS_INIT. Zero is the default of every member. The strings and arrays are copied. */
typedef struct pprofdelta_options {
    size_t size;    /* sizeof(pprofdelta_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP and so on */
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    pprofdelta_compression compression;
    int level;                   /* 1..9; 0: the default, chosen for speed */
    uint64_t max_memory;         /* bytes that the context may hold, with the inflated input;
                                    0: PPROFDELTA_DEFAULT_MAX_MEMORY; in a 32-bit process at most
                                    1 GiB. Compressed input that may not fit is inflated a piece at
                                    a time, once for each pass, until more than max_memory is not
                                    of samples, or until it is 1 MiB and 100 times what was read
                                    of the input: it is refused then. What succeeds with one limit
                                    succeeds with every higher one, with the same bytes */
    const char *const *counters; /* more counters, "type" or "type/unit" */
    size_t counters_len;
    const char *const *gauges; /* types that are gauges whatever their name says */
    size_t gauges_len;
    pprofdelta_format format; /* of the output */
    /* PPROFDELTA_OTLP: the attributes of the resource. A later one replaces an earlier one with the
     * same key. If the input is a request, its attributes come first: the first resource_weak of these
     * are only for keys that it does not have, and the others replace what it has. */
    const pprofdelta_attribute *resource;
    size_t resource_len, resource_weak;
    /* Of the series of windows, which a receiver tells by it from every other one. A state that is
     * loaded replaces it. 0: a random one; a build with -Ddoors=portable has none then. */
    uint64_t id;
    /* PPROFDELTA_MERGE: the key of a label that every sample gets, with the id of its target as 16
     * hexadecimal digits. That of a target without an id is a hash of its profile. NULL: none. */
    const char *target_label;
    /* The sequence after which the first window comes, for a caller that keeps the numbers of a series (`id`) itself.
     * Of this and of the sequence of a state that is loaded, the higher one counts, unless the state has an open
     * window. */
    uint64_t last_sequence;
} pprofdelta_options;

#define PPROFDELTA_OPTIONS_INIT PPROFDELTA_SIZED(pprofdelta_options)

/* ---------------------------------------------------------------------------------------------
 * Results
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_type_report {
    const char *type, *unit; /* NUL-terminated; a NUL in the name ends it early */
    int is_counter;
    /* Sums over all samples. prev: the ledger. cur: the input. delta: the output. clamped: how far
     * counters of cur are below the ledger. vanished: the ledger's samples that cur does not have.
     * For a counter, prev + delta - clamped - vanished = cur. For a gauge, only cur and delta are
     * set. */
    pprofdelta_sum prev, cur, delta, clamped, vanished;
} pprofdelta_type_report;

/* Type i of a report or of a memory, both of which are pointers. Do not index `types`: in a later version its
 * elements may be larger. */
#define PPROFDELTA_TYPE(of, i)                                                                     \
    ((const pprofdelta_type_report *)((const char *)(of)->types + (i) * (of)->types_stride))

/* Why a window counts as a restart of the target. */
typedef enum pprofdelta_restart {
    PPROFDELTA_RESTART_NONE = 0,
    PPROFDELTA_RESTART_STARTED,  /* the target began after prev's time (pprofdelta_set_started) */
    PPROFDELTA_RESTART_BUILD_ID, /* the same as MASS, and the main mapping has another build id */
    PPROFDELTA_RESTART_MASS,     /* half of a counter, or more, went away */
    PPROFDELTA_RESTART_ANY,      /* a decrease, with PPROFDELTA_ON_RESET_RESTART */
    /* The stamp of cur's live heap (pprofdelta_heap.h) has another id than prev's, or begins after
     * prev's end. */
    PPROFDELTA_RESTART_LIVE
} pprofdelta_restart;

typedef struct pprofdelta_report {
    size_t size;             /* the caller sets it to sizeof(pprofdelta_report) */
    uint64_t samples_in;     /* sample records in cur */
    uint64_t samples_out;    /* sample records written */
    uint64_t matched;        /* distinct samples of cur that are in the ledger */
    uint64_t fresh;          /* distinct samples of cur that are not */
    uint64_t vanished;       /* ledger entries that cur does not have */
    uint64_t clamped;        /* distinct samples with a counter below the ledger's, or below what an
                                earlier attempt at the window had */
    uint64_t duplicates;     /* records of cur that were added to an earlier equal one */
    uint64_t by_address;     /* locations of cur that are identified by their address */
    uint64_t by_lines;       /* locations of cur that are identified by their lines */
    uint64_t files_replaced; /* mappings of cur whose file was replaced, removed or renamed since
                                prev: the counters show the same process, or options.on_reset
                                says so */
    int other_build; /* likewise: the main mapping is one of them, and has another build id */
    uint64_t unknown_fields; /* fields of cur that its format does not have; they are skipped */
    int had_base;            /* 0: the context was empty, or only had attempts at this window (see
                     options.first). 0 with a sequence above 1: a window of a state that an older
                     version wrote, which merged locations of cur. What that remembers cannot be
                     compared: the window begins anew, as with FIRST_ZERO */
    pprofdelta_restart restart; /* between this window and the one before it: the same in all
                                   attempts */
    int64_t from_nanos; /* prev's time; 0 if unknown, or if the window begins with the process */
    int64_t to_nanos;   /* cur's time; but never before the end of the window or attempt before */
    uint64_t sequence;  /* 1 for the first window of a context, 2 for the first after a base; see
                          "Sequence and attempt" */
    uint64_t attempt; /* 1 for the first delta of this sequence, and 1 more for each further one; 0
                          with sequence 0 */
    uint64_t output_len;                 /* bytes given to the sink */
    const pprofdelta_type_report *types; /* in cur's order; see PPROFDELTA_TYPE */
    size_t types_len, types_stride;
    /* 1: cur is the same profile as prev: it has the same time, no new sample and no counter that
     * is higher. */
    int is_same;
    /* 1: the durations do not show that both profiles are cumulative. Only one of prev and cur has
     * a duration, or cur begins before prev did, or cur has a duration and there is no prev. If
     * that profile is a window, the delta is wrong. Never 1 with PPROFDELTA_FORCE. */
    int may_be_window;
    /* 1: cur's time is before that of the profile before it, and the counters show that cur is later
     * (see "A clock that is set back" in pprofdelta-delta(1)). */
    int clock_set_back;
    uint64_t id; /* of the series of windows, as in the stamp; 0 with sequence 0 */
    /* What an OTLP request has and the delta does not have: original payloads; in PPROFDELTA_PPROF, also
     * the attributes of the resource and the scope, and those of profiles, mappings and locations that
     * a pprof profile has no field for. */
    uint64_t left_out;
    /* 1: a restart by the counters alone, and prev and cur may be of two kinds that have the same value
     * types, such as Go's mutex and block profiles: the period type or the default type is another, or the
     * window before began with such a restart, too. Each kind needs a context of its own. */
    int may_be_two_kinds;
} pprofdelta_report;

/* What a context remembers. */
typedef struct pprofdelta_memory {
    size_t size;                /* the caller sets it to sizeof(pprofdelta_memory) */
    int has_base;               /* 0: nothing, or only attempts at the first window */
    uint64_t sequence;          /* of the last committed window, or 1 after a base; 0: none */
    uint64_t attempts;          /* deltas of the window that is open; 0: none is */
    uint64_t samples;           /* distinct samples, with those of the open window */
    uint64_t unseen;            /* those of them that the last profile did not have */
    int64_t from_nanos;         /* begin of the last committed window; 0 if unknown */
    int64_t to_nanos;           /* its end */
    pprofdelta_restart restart; /* of the last committed window */
    const char *build_id;       /* of the target's main mapping; empty if it has none */
    const pprofdelta_type_report *types; /* counters first; only prev of the sums is set: what was
                                            committed, of the process that was seen last */
    size_t types_len, types_stride;
    /* The open window, of which the last attempt was not committed. All 0 if none is open. */
    uint64_t open_sequence;
    int64_t open_from_nanos, open_to_nanos; /* of the last attempt */
    pprofdelta_restart open_restart;
    uint64_t id; /* of the series of windows; also set without a base */
    /* Bytes that the context holds at this moment, with what the compression libraries have allocated for it
     * besides max_memory (of libdeflate, the numbers at pprofdelta_allocator). */
    uint64_t bytes;
} pprofdelta_memory;

/* The kind of a live heap's profile (pprofdelta_heap.h). */
typedef enum pprofdelta_live {
    PPROFDELTA_LIVE_NONE = 0,
    PPROFDELTA_LIVE_FULL,  /* everything since the tracker began; is_delta is 0 */
    PPROFDELTA_LIVE_DELTA, /* what was allocated, and the change of what is in use */
    PPROFDELTA_LIVE_WINDOW /* what was allocated, and all that is in use */
} pprofdelta_live;

/* Sequence and attempt
 *
 * The rule for receivers: of the deltas with the same id and the same sequence, the one with the
 * highest attempt counts, and everything that counts is added up. The order of arrival and the times
 * do not matter. If the receiver keeps what it has acknowledged, nothing that was delivered
 * is lost and nothing counts twice. pprofdelta_adder follows this rule, and libpprofdelta(3) has a
 * receiver in C.
 *
 * The context holds up its side: a window that was handed out is open until it is committed. The next
 * delta is another attempt at it: it has the same sequence, begins at the same time, and has at least
 * what the attempts before it had, of each sample that its profile and theirs have. A committed
 * attempt is the last one of its sequence. A sequence belongs to one process: after a restart, the
 * open window ends as it was delivered, and the new process begins with the next sequence. Whether a
 * process has restarted is judged by the profile that was seen last, in a failed attempt, too.
 *
 * To notice a missing window: the window with the next sequence begins (from_nanos) where the one
 * that counts ends (to_nanos). A window that a restart ended may never have arrived; nobody has it
 * any more. So a stamp has the sequence that was committed last (acked): only sequences up to that
 * one must have arrived.
 *
 * The attempt must be saved before the delta is sent, so that the rule also holds if the process
 * ends: see pprofdelta_save. The batches of a live heap follow the same rule (see
 * pprofdelta_heap.h). */

/* The stamp of a profile that pprofdelta wrote. */
typedef struct pprofdelta_stamp {
    int is_delta;       /* 0: no delta; then only to_nanos is set, and the live heap's members */
    int64_t from_nanos; /* 0: unknown, or the beginning of the process */
    int64_t to_nanos;   /* 0: unknown */
    uint64_t sequence;  /* 0: none, as in a delta of two files */
    pprofdelta_restart restart;
    pprofdelta_live live; /* LIVE_NONE: epoch and first are zero */
    uint64_t id;          /* of the tracker or the series; of a merge, the highest; 0: none */
    uint64_t epoch;       /* of the full batch that this batch continues */
    uint64_t first;       /* this is the sum of the batches first to sequence; full: sequence */
    uint64_t attempt;     /* at this sequence, from 1; 0: none, as in a delta of two files */
    uint64_t acked; /* the sequence that was committed last before it; sequence - 1 unless a restart
                       ended an open window; 0 in a batch of a live heap */
    uint64_t windows, targets; /* of a merge: how many; else 0 */
} pprofdelta_stamp;

/* ---------------------------------------------------------------------------------------------
 * The context: one target, one consumer
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta pprofdelta;

/* Makes an empty context. options and allocator may be NULL: the defaults. */
PPROFDELTA_API pprofdelta_status pprofdelta_new(const pprofdelta_options *options,
    const pprofdelta_allocator *allocator, pprofdelta **out, pprofdelta_error *err);

/* Frees the context. Does nothing if pd is NULL. */
PPROFDELTA_API void pprofdelta_free(pprofdelta *pd);

/* Sets when the target process began, in nanoseconds since 1970 (0: unknown). If that is after the
 * time of the last profile, the next window is a restart. Valid until it is set again. Some profiles have
 * no time (the text heap profiles). Only INT64_MAX is after these: set it if the process is known to have
 * begun after the last profile was taken. */
PPROFDELTA_API void pprofdelta_set_started(pprofdelta *pd, int64_t started_nanos);

/* Makes the context remember this profile, whatever it remembered before. In an empty context it
 * has sequence 1, so the first window after it has sequence 2. Otherwise the next window has the
 * sequence after the last one that was handed out. The bytes are not needed any more when the call
 * has returned. Fails like pprofdelta_window, with err->is_prev 1 if the error is in the profile; the
 * context is then as before. If the profile is a window itself, only the next window shows that, and
 * fails with PPROFDELTA_E_NOT_CUMULATIVE. PPROFDELTA_E_USAGE if a window was written and has not ended.
 *
 * The delta of two profiles is a base and a window, in a context with PPROFDELTA_NO_SEQUENCE. There
 * the window after a base fails with PPROFDELTA_E_MISMATCH if its profile is older than the base.
 * With PPROFDELTA_ON_RESET_NEGATIVE the context keeps the inflated base until the next base, because
 * the stacks of vanished samples are written. */
PPROFDELTA_API pprofdelta_status pprofdelta_base(
    pprofdelta *pd, const void *bytes, size_t len, pprofdelta_error *err);

/* Computes the delta of this profile (gzip, zstd or plain) against what the context remembers and
 * writes it to the sink: pprofdelta_begin and pprofdelta_write in one call. report may be NULL.
 * After PPROFDELTA_OK the window is under way until pprofdelta_commit or pprofdelta_abandon. After
 * any other status no window is under way and nothing has changed, except that PPROFDELTA_E_SINK
 * counts as an attempt.
 *
 * The text heap profiles of jemalloc and gperftools are accepted, too. Their raw counts are
 * subtracted and reported. The values of the output are unsampled. So are OTLP requests, of one resource,
 * scope and time: each is read as the profile that it stands for. In PPROFDELTA_OTLP, the delta of a
 * request has its resource, scope, attributes and links (pprofdelta-formats(5)). */
PPROFDELTA_API pprofdelta_status pprofdelta_window(pprofdelta *pd, const void *bytes, size_t len,
    const pprofdelta_sink *sink, pprofdelta_report *report, pprofdelta_error *err);

/* Begins a window with this profile. The bytes are borrowed until pprofdelta_write has succeeded or the window has ended.
 * pprofdelta_load or pprofdelta_base may be called before pprofdelta_write, and the delta is then
 * computed against what they give. Errors in the profile are returned by pprofdelta_write.
 * PPROFDELTA_E_USAGE if a window is under way, or while a sink of this context is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_begin(
    pprofdelta *pd, const void *bytes, size_t len, pprofdelta_error *err);

/* Computes the delta of the window that was begun, and writes it to the sink. report may be NULL. It
 * may be called again, after a failure and after a success, until the window is committed or
 * abandoned; it then writes the same delta. pprofdelta_save may be called in between. E_USAGE without a
 * window or a sink, or while a sink of this context is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_write(
    pprofdelta *pd, const pprofdelta_sink *sink, pprofdelta_report *report, pprofdelta_error *err);

/* The profile has arrived: the context remembers the window. E_USAGE unless the last write of the
 * window succeeded, and while a sink of this context is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_commit(pprofdelta *pd);

/* The profile was lost, or may have been lost: if a sink was called, the window stays open. Otherwise it
 * is dropped. Cannot fail; without a window, does nothing. */
PPROFDELTA_API void pprofdelta_abandon(pprofdelta *pd);

/* ---------------------------------------------------------------------------------------------
 * The state: what a context remembers, saved
 * ------------------------------------------------------------------------------------------ */

/* Writes what the context remembers to the sink, in several calls: what was committed, and the last
 * attempt at a window that is open or under way.
 *
 * Save and sync the attempt before the delta is sent, and save again when it has arrived:
 * pprofdelta_window, pprofdelta_save, send the delta, pprofdelta_commit, pprofdelta_save. To keep
 * states in files, write each one beside the old one, sync it, and rename it. Instead of the second
 * save, a program may overwrite the last byte of the file, which is 0, by 1: pprofdelta_load then
 * commits the attempt. */
PPROFDELTA_API pprofdelta_status pprofdelta_save(
    pprofdelta *pd, const pprofdelta_sink *sink, pprofdelta_error *err);

/* Makes the context remember what was saved, whatever it remembered before. Reads the source to its
 * end. A state that is damaged, truncated, or from another version fails with PPROFDELTA_E_STATE.
 * After any failure the context is as before. options.counters and options.gauges must be those
 * that the state was made with; otherwise the next window fails. */
PPROFDELTA_API pprofdelta_status pprofdelta_load(
    pprofdelta *pd, const pprofdelta_source *source, pprofdelta_error *err);

/* Sets *out to what the context remembers. E_USAGE if out->size is not set. */
PPROFDELTA_API pprofdelta_status pprofdelta_describe(pprofdelta *pd, pprofdelta_memory *out);

/* ---------------------------------------------------------------------------------------------
 * The sum: a cumulative profile plus deltas, the inverse of the subtraction
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_adder pprofdelta_adder;

/* How a profile joined the sum. */
typedef enum pprofdelta_join {
    PPROFDELTA_JOIN_FIRST = 0, /* it is the first */
    PPROFDELTA_JOIN_NEXT,      /* it begins where the last one ends */
    PPROFDELTA_JOIN_RESTART,   /* the same, in a new process: the sum is of both */
    PPROFDELTA_JOIN_AGAIN,     /* it is a later attempt at the last window, and replaces it */
    PPROFDELTA_JOIN_STALE,     /* it is an earlier attempt at the last window, and does not count */
    PPROFDELTA_JOIN_UNTIMED,   /* neither has a time: a missing window cannot be noticed */
    PPROFDELTA_JOIN_FORCED,    /* it does not join (PPROFDELTA_FORCE) */
    PPROFDELTA_JOIN_RESYNC,    /* a live heap's full profile, which includes all before it */
    PPROFDELTA_JOIN_GAP,       /* batches of a live heap are missing before it: it does not count */
    PPROFDELTA_JOIN_ENDED,     /* like JOIN_RESTART, and a window that the restart ended is missing:
                                 it was never acknowledged */
    PPROFDELTA_JOIN_EQUAL, /* it has the sequence and the attempt of the last window, and does not end
                                 later: it does not count. A profile that names no target: its bytes
                                 were added before */
    PPROFDELTA_JOIN_APART /* a merge: it counts, and windows of its target before it are missing */
} pprofdelta_join;

/* Makes an empty sum. These options are used: the flags NO_STAMP, FORCE, DEFAULT_COUNTER and MERGE,
 * compression, level, format, resource, max_memory, counters, gauges and target_label. options and
 * allocator may be NULL. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_new(const pprofdelta_options *options,
    const pprofdelta_allocator *allocator, pprofdelta_adder **out, pprofdelta_error *err);
PPROFDELTA_API void pprofdelta_adder_free(pprofdelta_adder *adder);

/* Adds a profile: first a cumulative profile or any delta, then deltas in their order. Of several
 * attempts at one window the highest counts; of equal ones the one that ends later, or the first.
 * Counters are added up; gauges are those of the last profile. PPROFDELTA_E_MISMATCH if a window is
 * missing or overlaps. join may be NULL.
 *
 * Batches of a live heap are added up as pprofdelta_heap.h describes, with their in-use values. If
 * one is missing, the join is PPROFDELTA_JOIN_GAP. The full profile of a later epoch corrects
 * that; without one, pprofdelta_adder_finish fails with PPROFDELTA_E_MISMATCH.
 *
 * With PPROFDELTA_MERGE, the sum is of any number of targets: windows of states (delta stamps with id
 * and sequence) and batches of live heaps. Counters and gauges are added up over the targets. For
 * each target, counters are added up over its windows, and gauges are those of its last one. The
 * windows of a target are given together and in order of epoch and sequence, the attempts at one
 * window in any order; targets in any order. What comes late is refused (REASON_WINDOW_LATE), since
 * it may be in the sum already: sort by the stamps (pprofdelta_profile_census). The first window of
 * each target has PPROFDELTA_JOIN_FIRST. A window that is missing is no error (JOIN_APART); a missing
 * batch is one, as above. Profiles without id and sequence, and merges, are refused
 * (REASON_NO_TARGET). With PPROFDELTA_FORCE each is a target of its own, and equal ones count once.
 *
 * With PPROFDELTA_DISJOINT, a merge also takes merges of other targets, made in any tree, in any order. Equal ones count
 * once. Each has a list of its targets. One that has a target of a merge or a window that was added before is refused
 * (REASON_WINDOW_LATE), and so is such a window; err->element is then the number of the profile that was added before,
 * from 0, without those that were refused. A list has at most 1024 targets, those with the highest ids: what larger
 * merges have in common besides these is not noticed.
 *
 * If a profile is refused, the sum is as before. After PPROFDELTA_E_MEMORY or PPROFDELTA_E_LIMIT
 * the adder can only be freed. Bytes that are needed later are copied. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_add(pprofdelta_adder *adder, const void *bytes,
    size_t len, pprofdelta_join *join, pprofdelta_error *err);

/* Writes the sum to the sink. Afterwards, also after a failure, the adder can only be freed. A sum
 * that begins with a cumulative profile, with the first full delta of a state or with a restart is
 * a cumulative profile, and has no stamp. Any other sum is a delta, and has the stamp of the longer
 * window. The sum of a live heap's batches has the stamp of a batch, which later batches continue.
 *
 * A merge has a stamp with the numbers of windows and targets, and the highest id of these, and the list of the targets
 * as a comment. Its time is the last end, its duration
 * is from the earliest beginning (0 if one is not known), and its period is the longest. It has no
 * other comments, and no resource but that of the options. Everything else is that of the
 * last profile. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_finish(
    pprofdelta_adder *adder, const pprofdelta_sink *sink, pprofdelta_error *err);

PPROFDELTA_END

#endif
