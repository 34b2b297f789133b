/* pprofdelta: what did this program do between two looks at it?
 *
 * Go, C and C++ services expose heap, mutex and block profiles that count from the start of the
 * process and only grow. A context of this library remembers what one target had counted when it
 * was last looked at, and turns the next look into the small profile of the time between:
 *
 *     pprofdelta *pd;
 *     pprofdelta_new(NULL, NULL, &pd, &err);
 *     for (each scrape) {
 *         if (pprofdelta_window(pd, bytes, len, &sink, NULL, &err) == PPROFDELTA_OK && uploaded)
 *             pprofdelta_commit(pd);      // remembered: the next window starts here
 *         else
 *             pprofdelta_abandon(pd);     // forgotten: the next window covers this one too
 *     }
 *     pprofdelta_free(pd);
 *
 * What a delta is, rule by rule, is told in pprofdelta(1).
 *
 * Rules of the house
 *   - Every function that can fail returns a status, PPROFDELTA_OK = 0. Results come through
 *     out-parameters, which a failure leaves untouched.
 *   - Inputs are const and borrowed until the call returns. What a context hands out (the names in
 *     a report) belongs to the context and lasts until the next call on it.
 *   - The library never prints, exits, asserts on input or keeps global state. Two contexts may be
 *     used from two threads at once; one context may not.
 *   - Nothing is remembered until pprofdelta_commit: a failure leaves the context as it was.
 *   - In the steady state (same samples, no growth) a window allocates nothing.
 */
#ifndef PPROFDELTA_H
#define PPROFDELTA_H

#include "pprofdelta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------ */

/* What to do when a counter went backwards or the target restarted. */
typedef enum pprofdelta_on_reset {
    PPROFDELTA_ON_RESET_AUTO = 0, /* a restart counts from zero, a lone decrease is clamped */
    PPROFDELTA_ON_RESET_RESTART,  /* every decrease is a restart */
    PPROFDELTA_ON_RESET_CLAMP,    /* no decrease is a restart */
    PPROFDELTA_ON_RESET_NEGATIVE, /* emit it, vanished samples too; needs pprofdelta_base */
    PPROFDELTA_ON_RESET_FAIL      /* PPROFDELTA_E_RESET */
} pprofdelta_on_reset;

/* What the first window of an empty context is. */
typedef enum pprofdelta_first {
    PPROFDELTA_FIRST_FULL = 0, /* everything since the process began */
    PPROFDELTA_FIRST_ZERO      /* nothing, as if the profile had not changed */
} pprofdelta_first;

/* options.flags, besides PPROFDELTA_NO_STAMP */
enum {
    /* Take an input that would be PPROFDELTA_E_STAMPED or PPROFDELTA_E_NOT_CUMULATIVE. In a sum,
     * add also what does not join. */
    PPROFDELTA_FORCE = 1u << 1,
    PPROFDELTA_VERIFY = 1u << 2,          /* check the conservation law before any output */
    PPROFDELTA_DEFAULT_COUNTER = 1u << 3, /* a default type that is a gauge becomes its counter */
    /* Windows have no sequence and no attempt: for windows that belong to no series. */
    PPROFDELTA_NO_SEQUENCE = 1u << 4
};

#define PPROFDELTA_MAX_TYPES 64

/* Begin with PPROFDELTA_OPTIONS_INIT; later versions add members at the end and tell by `size`
 * what the caller knew. Zero is the default of every member. The strings and arrays are copied. */
typedef struct pprofdelta_options {
    size_t size;    /* sizeof(pprofdelta_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP and so on */
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    pprofdelta_compression compression;
    int level;                   /* 1..9; 0: the default, chosen for speed */
    uint64_t max_memory;         /* bytes that the context may hold, inflated input included;
                                    0: PPROFDELTA_DEFAULT_MAX_MEMORY; in a 32-bit process never
                                    more than 1 GiB. Compressed input that might not fit is never
                                    held whole, for more time: the bounded way. What succeeds
                                    with one limit succeeds with every higher one, and has the
                                    same bytes */
    const char *const *counters; /* more counters, "type" or "type/unit" */
    size_t counters_len;
    const char *const *gauges; /* types that are gauges whatever their name says */
    size_t gauges_len;
    const pprofdelta_runner *runner; /* copied; NULL: everything runs on the calling thread */
} pprofdelta_options;

#define PPROFDELTA_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pprofdelta_options), 0, PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_FIRST_FULL,            \
            PPROFDELTA_GZIP, 0, 0, NULL, 0, NULL, 0, NULL                                          \
    }

/* ---------------------------------------------------------------------------------------------
 * What the library tells
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_type_report {
    const char *type, *unit; /* NUL-terminated; a NUL inside the name ends it early */
    int is_counter;
    /* prev: what the ledger held. cur: the input. delta: the output. clamped: how far counters were
     * behind the ledger. vanished: what the ledger holds of samples that cur does not have. For a
     * counter prev + delta - clamped - vanished = cur, always. For a gauge only cur and delta. */
    pprofdelta_sum prev, cur, delta, clamped, vanished;
} pprofdelta_type_report;

/* Why a window was taken as a restart of the target. */
typedef enum pprofdelta_restart {
    PPROFDELTA_RESTART_NONE = 0,
    PPROFDELTA_RESTART_STARTED,  /* the target began after prev was taken (set_started) */
    PPROFDELTA_RESTART_BUILD_ID, /* another build id on the main mapping, which is in another place
                                    or has lost half of a counter, or more */
    PPROFDELTA_RESTART_MASS,     /* half of a counter, or more, went away */
    PPROFDELTA_RESTART_ANY,      /* a decrease, with PPROFDELTA_ON_RESET_RESTART */
    /* The stamp of cur's live heap (pprofdelta_heap.h) has another id than prev's, or begins after
     * prev's end. */
    PPROFDELTA_RESTART_LIVE
} pprofdelta_restart;

typedef struct pprofdelta_report {
    uint64_t samples_in;     /* sample records in cur */
    uint64_t samples_out;    /* sample records written */
    uint64_t matched;        /* distinct samples of cur that the ledger knew */
    uint64_t fresh;          /* distinct samples of cur that it did not know */
    uint64_t vanished;       /* ledger entries that cur does not have */
    uint64_t clamped;        /* distinct samples with a counter behind the ledger */
    uint64_t duplicates;     /* records of cur that were added to an earlier equal one */
    uint64_t by_address;     /* locations of cur that are known by their address */
    uint64_t by_lines;       /* ... and by their lines */
    uint64_t files_replaced; /* mappings of cur whose file was replaced, removed or renamed since
                                prev: the counters show the same process, or options.on_reset
                                says so */
    int other_build;         /* likewise: the main mapping has another build id than in prev */
    uint64_t unknown_fields; /* fields of cur that profile.proto does not have: skipped */
    int had_base;            /* 0: the context was empty, see options.first */
    pprofdelta_restart restart;
    int64_t from_nanos;  /* prev's time; 0 where unknown or from the beginning */
    int64_t to_nanos;    /* cur's time */
    uint64_t sequence;   /* 1 for the first window of a context, 2 for the first after a base; see
                          "Sequence and attempt" */
    uint64_t attempt;    /* 1 when the sequence is handed out first, and 1 more each time that it is
                          handed out again; 0 with sequence 0 */
    uint64_t output_len; /* bytes given to the sink */
    const pprofdelta_type_report *types; /* in cur's order */
    size_t types_len;
    /* 1: cur is the same profile as prev: it has the same time, no new sample and no counter that is
     * higher. */
    int is_same;
    /* 1: the durations do not show that both profiles are cumulative. Only one of prev and cur has a
     * duration, or cur begins before prev did, or cur has a duration and there is no prev. If that
     * profile is a window, the delta is wrong. Never 1 with PPROFDELTA_FORCE. */
    int may_be_window;
} pprofdelta_report;

/* What a context remembers. */
typedef struct pprofdelta_memory {
    int has_base;       /* 0: nothing, and the rest is zero or empty, but for attempts */
    uint64_t sequence;  /* of the last committed window; 1: or of a base */
    uint64_t attempts;  /* how often the window after it was handed out; set without a base, too */
    uint64_t samples;   /* distinct samples */
    uint64_t unseen;    /* ... of which the last profile did not have so many */
    int64_t from_nanos; /* the last committed window; 0 where unknown */
    int64_t to_nanos;   /* ... and where the next one begins */
    pprofdelta_restart restart;          /* ... and what it was */
    const char *build_id;                /* of the target's main mapping; empty where it has none */
    const pprofdelta_type_report *types; /* counters first; of the sums, prev */
    size_t types_len;
} pprofdelta_memory;

/* A profile of a live heap (pprofdelta_heap.h), and of which kind. */
typedef enum pprofdelta_live {
    PPROFDELTA_LIVE_NONE = 0,
    PPROFDELTA_LIVE_FULL,  /* everything since the tracker began; is_delta is 0 */
    PPROFDELTA_LIVE_DELTA, /* what was allocated, and what came into use minus what went */
    PPROFDELTA_LIVE_WINDOW /* what was allocated, and all that is in use */
} pprofdelta_live;

/* Sequence and attempt
 *
 * Every window of a context has a sequence number, one more than the last committed window. A window
 * that was abandoned is handed out again: the next delta has the same sequence, begins where the
 * first one began, and has a higher attempt. An attempt that was committed is the last attempt of
 * its sequence. So a receiver that has several deltas of one sequence, of one context or state,
 * takes the one with the highest attempt, in whatever order they came and whatever their times say.
 *
 * A restart is the exception. The new process has not counted what the old one did, so an attempt
 * that says restart does not take the place of an attempt that does not:
 *
 *     b takes a's place:   a.sequence == b.sequence && a.attempt < b.attempt &&
 *                          (a.restart || !b.restart)
 *
 * A delta counts as long as no other takes its place. A delta that comes later with a lower attempt
 * is thrown away by the same rule. Nothing is then lost and nothing counts twice, as long as a
 * receiver keeps what it has acknowledged. A receiver can tell that something is missing: the window
 * with the next sequence begins (from_nanos) where the one that counts ends (to_nanos).
 * libpprofdelta(3) has such a receiver, as C. pprofdelta_adder does the same.
 *
 * For this to hold over the end of the process, the attempt has to be saved before the delta is sent:
 * see pprofdelta_save. The batches of a live heap follow the same rule; see pprofdelta_heap.h. */

/* What a delta that pprofdelta wrote says of itself. */
typedef struct pprofdelta_stamp {
    int is_delta;       /* 0: not stamped, and the rest is zero but for to_nanos (and LIVE_FULL) */
    int64_t from_nanos; /* 0: unknown, or the beginning of the process */
    int64_t to_nanos;   /* 0: unknown */
    uint64_t sequence;  /* 0: none, as for a delta of two files */
    pprofdelta_restart restart;
    pprofdelta_live live; /* of a live heap; else what follows is zero */
    uint64_t id, epoch;   /* of the tracker, and of the full batch that its batches continue */
    uint64_t first;       /* the sum of the batches from first to sequence; a full one: sequence */
    uint64_t attempt;     /* at this sequence, from 1; 0: none, as for a delta of two files */
} pprofdelta_stamp;

/* What pprofdelta_check saw in a valid profile. */
typedef struct pprofdelta_census {
    const char
        *format; /* static: "gzip", "zstd", "plain", or "text" for an allocator's dump that is
                           not compressed */
    uint64_t inflated_len;
    uint64_t types, samples, mappings, locations, functions, strings;
    uint64_t by_address, by_lines;
    uint64_t unknown_fields;
    int64_t time_nanos, duration_nanos;
    int is_stamped;         /* a delta that pprofdelta wrote */
    pprofdelta_stamp stamp; /* is_delta is 0 also where the stamp cannot be understood */
    /* The file and the build id of the first mapping, which is the main binary; empty where they are
     * not known. No NUL ends them. They last until the next call on the context, and no longer than
     * the caller's bytes. */
    const char *binary, *build_id;
    size_t binary_len, build_id_len;
} pprofdelta_census;

/* What a file is. */
typedef enum pprofdelta_file_kind {
    PPROFDELTA_FILE_UNKNOWN = 0, /* data of no kind that is known here */
    PPROFDELTA_FILE_EMPTY,       /* no byte, or compressed data of none */
    PPROFDELTA_FILE_PROFILE,     /* a pprof profile */
    PPROFDELTA_FILE_STATE,       /* what pprofdelta_save wrote */
    PPROFDELTA_FILE_HTML,        /* a page */
    PPROFDELTA_FILE_OTHER        /* something else that has a name */
} pprofdelta_file_kind;

/* ---------------------------------------------------------------------------------------------
 * The context: one target, one consumer
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta pprofdelta;

/* Makes an empty context. options and allocator may be NULL for the defaults. */
PPROFDELTA_API pprofdelta_status pprofdelta_new(const pprofdelta_options *options,
                                                const pprofdelta_allocator *allocator,
                                                pprofdelta **out, pprofdelta_error *err);

/* Gives everything back. NULL is fine. */
PPROFDELTA_API void pprofdelta_free(pprofdelta *pd);

/* Tells when the target process began, in nanoseconds since 1970 (0: not known). A start after the
 * time of the last profile is a restart for certain. Holds until it is set again. */
PPROFDELTA_API void pprofdelta_set_started(pprofdelta *pd, int64_t started_nanos);

/* Makes this profile what the context remembers, whatever it held before: prev, in a delta of two.
 * Committed at once. In an empty context it takes sequence 1, so that the first window after it has
 * sequence 2; else sequence and attempts stay as they are. Fails like pprofdelta_window, and then the
 * context stands as before. That prev is a window shows only beside cur: the next window then fails
 * with PPROFDELTA_E_NOT_CUMULATIVE. */
PPROFDELTA_API pprofdelta_status pprofdelta_base(pprofdelta *pd, const void *bytes, size_t len,
                                                 pprofdelta_error *err);

/* Computes the delta of this profile (gzip, zstd or plain) against what the context remembers and
 * writes it to the sink: pprofdelta_begin and pprofdelta_write in one call. report may be NULL. After
 * PPROFDELTA_OK the window is pending until pprofdelta_commit or pprofdelta_abandon. After any other
 * status nothing is pending and nothing has changed, except that PPROFDELTA_E_SINK counts as an
 * attempt.
 *
 * The text heap profiles of jemalloc and gperftools are taken, too. Their raw counts are subtracted
 * (and reported); what is written is unsampled. */
PPROFDELTA_API pprofdelta_status pprofdelta_window(pprofdelta *pd, const void *bytes, size_t len,
                                                   const pprofdelta_sink *sink,
                                                   pprofdelta_report *report,
                                                   pprofdelta_error *err);

/* Begins a window with this profile. The bytes are borrowed until pprofdelta_write or
 * pprofdelta_abandon returns. With a runner, a large profile is read in a task; pprofdelta_load or
 * pprofdelta_base may be called meanwhile, and the delta is then computed against what they give.
 * What is wrong with the profile is returned by pprofdelta_write. PPROFDELTA_E_USAGE if a window is
 * begun or pending. */
PPROFDELTA_API pprofdelta_status pprofdelta_begin(pprofdelta *pd, const void *bytes, size_t len,
                                                  pprofdelta_error *err);

/* Computes the delta of the window that was begun, and writes it to the sink. If this fails before
 * the sink is called, the window is abandoned. Otherwise it is pending, and pprofdelta_write may be
 * called again to write the same delta to another sink, for example after PPROFDELTA_E_SINK. With
 * sink NULL the delta is computed, and with a runner it is compressed in tasks until a later call
 * writes it. pprofdelta_commit and pprofdelta_save may be called in between; other functions of the
 * context may not. report may be NULL; the first call fills it in, a later call sets output_len
 * only. */
PPROFDELTA_API pprofdelta_status pprofdelta_write(pprofdelta *pd, const pprofdelta_sink *sink,
                                                  pprofdelta_report *report, pprofdelta_error *err);

/* Computes the delta of two profiles and writes it to the sink. The window belongs to no series: it
 * has no sequence and no attempt. The context remembers nothing afterwards, whatever it remembered
 * before; the report lasts until the next call. If the error is in prev and not in cur or in both,
 * err->is_prev is 1. */
PPROFDELTA_API pprofdelta_status pprofdelta_compare(pprofdelta *pd, const void *prev,
                                                    size_t prev_len, const void *cur,
                                                    size_t cur_len, const pprofdelta_sink *sink,
                                                    pprofdelta_report *report,
                                                    pprofdelta_error *err);

/* The pending window has arrived: remember it. Cannot fail; without a pending window, does nothing.
 */
PPROFDELTA_API void pprofdelta_commit(pprofdelta *pd);

/* The pending window was lost, or it is not known whether it arrived: the next one covers its time
 * too, with the same sequence and the next attempt. A window that was only begun is dropped. */
PPROFDELTA_API void pprofdelta_abandon(pprofdelta *pd);

/* ---------------------------------------------------------------------------------------------
 * The state: what a context remembers, outside of the process
 * ------------------------------------------------------------------------------------------ */

/* Writes what the context remembers to the sink, in several calls. Of a pending window only the
 * attempt is in it: save after pprofdelta_commit to save the window. Whoever keeps states in files
 * writes a new one beside the old, syncs it, and renames it when the window has arrived.
 *
 * The attempt has to be saved and synced before the delta is sent. Otherwise a process that ends
 * between sending and saving hands out the same attempt twice. There are two ways:
 *   - pprofdelta_window, pprofdelta_save, send the delta, pprofdelta_commit, pprofdelta_save.
 *   - Append one zero byte to the file with the last saved state, and sync it, before the delta is
 *     sent. Each zero byte behind a saved state counts as one attempt more. */
PPROFDELTA_API pprofdelta_status pprofdelta_save(pprofdelta *pd, const pprofdelta_sink *sink,
                                                 pprofdelta_error *err);

/* Makes the context remember what was saved, whatever it held before. Reads to the end of the
 * source and trusts none of it: what is damaged, cut short, foreign or from another version is
 * PPROFDELTA_E_STATE, and after any failure the context stands as before. The options that name
 * counters and gauges must be those that the state was made with; the next window tells. */
PPROFDELTA_API pprofdelta_status pprofdelta_load(pprofdelta *pd, const pprofdelta_source *source,
                                                 pprofdelta_error *err);

/* Tells what the context remembers. */
PPROFDELTA_API void pprofdelta_describe(pprofdelta *pd, pprofdelta_memory *out);

/* ---------------------------------------------------------------------------------------------
 * The sum: a cumulative profile plus deltas, the inverse of the subtraction
 * ------------------------------------------------------------------------------------------ */

typedef struct pprofdelta_adder pprofdelta_adder;

/* How a profile joined the sum. */
typedef enum pprofdelta_joint {
    PPROFDELTA_JOINT_FIRST = 0, /* it is the first */
    PPROFDELTA_JOINT_NEXT,      /* it begins where the last one ends */
    PPROFDELTA_JOINT_RESTART,   /* ... in a new process: the sum goes over both */
    PPROFDELTA_JOINT_AGAIN, /* it is a later attempt at the last window, and counts in its place */
    PPROFDELTA_JOINT_STALE, /* it is an earlier attempt at the last window, and does not count */
    PPROFDELTA_JOINT_UNTIMED, /* neither says its time: nothing tells whether a window is missing */
    PPROFDELTA_JOINT_FORCED,  /* it does not join (PPROFDELTA_FORCE) */
    PPROFDELTA_JOINT_RESYNC,  /* a live heap's full profile, which says all that came before it */
    PPROFDELTA_JOINT_GAP      /* batches of a live heap are missing before it: it does not count */
} pprofdelta_joint;

/* Makes an empty sum. Of the options the flags NO_STAMP, FORCE (add what does not join, too) and
 * DEFAULT_COUNTER, compression, level, max_memory, counters and gauges count. Both may be NULL. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_new(const pprofdelta_options *options,
                                                      const pprofdelta_allocator *allocator,
                                                      pprofdelta_adder **out,
                                                      pprofdelta_error *err);
PPROFDELTA_API void pprofdelta_adder_free(pprofdelta_adder *adder);

/* Adds a profile: first a cumulative one or any delta, then deltas in their order. Of attempts at
 * one window the highest counts. Counters are added up, gauges are the last profile's. A window that
 * is missing, or overlaps, is PPROFDELTA_E_MISMATCH. The batches of a live heap are added up as pprofdelta_heap.h says, in-use
 * values included. There a missing one is noticed (JOINT_GAP), and may be put right by the full
 * profile of a later epoch: only where none has come does pprofdelta_adder_finish fail with
 * PPROFDELTA_E_MISMATCH. joint may be NULL. A profile that is refused leaves the sum as it was;
 * after PPROFDELTA_E_MEMORY or PPROFDELTA_E_LIMIT it can only be freed. The bytes are copied where
 * they are needed later. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_add(pprofdelta_adder *adder, const void *bytes,
                                                      size_t len, pprofdelta_joint *joint,
                                                      pprofdelta_error *err);

/* Writes the sum to the sink; after that, and after a failure, the adder can only be freed. A sum
 * that begins with a cumulative profile, the first full delta of a state or a restart is a
 * cumulative profile, and not stamped; any other is the delta of a longer window, and stamped as
 * that. The sum of a live heap's batches is stamped as one, which later batches continue. */
PPROFDELTA_API pprofdelta_status pprofdelta_adder_finish(pprofdelta_adder *adder,
                                                         const pprofdelta_sink *sink,
                                                         pprofdelta_error *err);

/* ---------------------------------------------------------------------------------------------
 * Looking at profiles
 * ------------------------------------------------------------------------------------------ */

/* Is this a valid profile? Checks everything that pprofdelta_window checks of one profile. census
 * may be NULL. Leaves what the context remembers alone. */
PPROFDELTA_API pprofdelta_status pprofdelta_check(pprofdelta *pd, const void *bytes, size_t len,
                                                  pprofdelta_census *census, pprofdelta_error *err);

/* Tells what a file is by its first bytes: head[0..len), which are the whole file or 64 KiB of it.
 * They may be compressed (gzip or zstd). *name becomes a noun with its article ("a zip archive"),
 * which is static. This is a guess at what somebody meant the file to be: a damaged profile is one
 * too. Compressed data that cannot be inflated are PPROFDELTA_FILE_UNKNOWN. */
PPROFDELTA_API pprofdelta_status pprofdelta_identify(pprofdelta *pd, const void *head, size_t len,
                                                     pprofdelta_file_kind *kind, const char **name,
                                                     pprofdelta_error *err);

/* Takes a file's container off: gzip (any number of members), zstd or plain; an allocator's text
 * becomes the unsampled profile that it stands for. *out belongs to the
 * context (or is `bytes` itself where they are plain) and lasts until the next call on it. */
PPROFDELTA_API pprofdelta_status pprofdelta_inflate(pprofdelta *pd, const void *bytes, size_t len,
                                                    const uint8_t **out, size_t *out_len,
                                                    pprofdelta_error *err);

/* How much of a mapping's file name, which has `len` bytes, is the name of a file: all but
 * " (deleted)" at its end. 0 if it is empty, or made up for memory without a file, such as "[anon]" or
 * "/memfd:jit (deleted)"; pprofdelta(1), "Identity", has all such names. A mapping with length 0 and
 * without a build id is known by its addresses. */
PPROFDELTA_API size_t pprofdelta_file_len(const char *filename, size_t len);

#ifdef __cplusplus
}
#endif

#endif
