/* pprofdelta for agents that live in the process they watch: two doors that need no profile to
 * begin with.
 *
 * The recorder takes raw cumulative records (a stack of program counters and what it has counted so
 * far) and writes what they did since the last window. Nothing is written and parsed in between.
 *
 *     pprofdelta_recorder *r;
 *     pprofdelta_recorder_new(NULL, NULL, &r, &err);          // NULL: a heap recorder
 *     for (each window) {
 *         status = pprofdelta_recorder_begin(r, NULL, &err);
 *         for (each record, while status is OK)
 *             status = pprofdelta_recorder_add(r, &record, &err);
 *         if (!status)
 *             status = pprofdelta_recorder_write(r, &sink, NULL, &err);
 *         if (!status && it has arrived)
 *             pprofdelta_recorder_commit(r);      // remembered: the next window starts here
 *         else
 *             pprofdelta_recorder_abandon(r);     // forgotten: the next window covers this one too
 *     }
 *     pprofdelta_recorder_free(r);
 *
 * The builder takes finished samples (a CPU sampler's, an exception sampler's), put together piece
 * by piece on any thread, and writes what has come in since the last export.
 *
 *     pprofdelta_sample *s = pprofdelta_sample_start(b);
 *     pprofdelta_sample_push_frame(s, &frame, 0);             // the leaf first
 *     pprofdelta_sample_push_value(s, 0, 1);
 *     pprofdelta_sample_push_label(s, &label);
 *     pprofdelta_sample_flush(s, NULL);                       // or pprofdelta_sample_discard(s)
 *
 * The rules of the house are those of pprofdelta.h: a status from all that can fail, results
 * through out-parameters, borrowed inputs, the caller's allocator, no global state, and no
 * allocation where nothing is new. pprofdelta_record(3) is the long form. */
#ifndef PPROFDELTA_RECORD_H
#define PPROFDELTA_RECORD_H

#include "pprofdelta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * What both doors speak of
 * ------------------------------------------------------------------------------------------ */

/* A column of values. A counter only grows; of a gauge the last value counts. In a builder every
 * column is added up and is_counter is not looked at. */
typedef struct pprofdelta_value_type {
    const char *type, *unit;
    int is_counter;
} pprofdelta_value_type;

/* Flags of these two doors, beside PPROFDELTA_NO_STAMP and PPROFDELTA_VERIFY. */
enum {
    /* The recorder does not copy stacks: they stay as they are until commit or abandon. */
    PPROFDELTA_BORROW_STACKS = 1u << 8,
    /* Program counters are return addresses, as backtrace(3) and Go give them: the place they stand
     * for is the call before, so the profile has the address one less. */
    PPROFDELTA_RETURN_ADDRESSES = 1u << 9
};

/* ---------------------------------------------------------------------------------------------
 * The recorder: options
 * ------------------------------------------------------------------------------------------ */

typedef enum pprofdelta_kind {
    /* alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes, in this
     * order; period space/bytes. The first two are counters. */
    PPROFDELTA_KIND_HEAP = 0,
    /* contentions/count, delay/nanoseconds, both counters; period contentions/count. */
    PPROFDELTA_KIND_CONTENTION,
    /* options.types and options.period_type. At least one type is a counter. */
    PPROFDELTA_KIND_TYPES
} pprofdelta_kind;

/* Begin with PPROFDELTA_RECORDER_OPTIONS_INIT. Zero is the default of every member; strings and
 * arrays are copied. Where a member is called as in pprofdelta_options it means the same. */
typedef struct pprofdelta_recorder_options {
    size_t size;    /* sizeof(pprofdelta_recorder_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP, _VERIFY, _BORROW_STACKS, _RETURN_ADDRESSES,
                       _NO_MAPPINGS */
    pprofdelta_kind kind;
    pprofdelta_on_reset on_reset; /* not NEGATIVE. With CLAMP the recorder never guesses that
                                     counting began anew (see pprofdelta_look.restarted), and
                                     keeps nothing of the records that did not move */
    pprofdelta_first first;
    pprofdelta_compression compression;
    int level;
    uint64_t max_memory;
    /* Called at most once for each program counter, by pprofdelta_recorder_add (for program counters that
     * lead a stack) or pprofdelta_recorder_write (for those of samples that are written). NULL: the
     * profile has addresses and mappings only. */
    pprofdelta_symbolizer *symbolize;
    void *symbolize_cookie;
    const pprofdelta_value_type *types; /* KIND_TYPES only, as all down to period_unit */
    size_t types_len;
    const char *period_type, *period_unit; /* NULL: no period */
    const char *default_type;              /* the profile's default_sample_type; NULL: none */
    int64_t started_nanos; /* when counting began, for the duration of the first window; 0: not
                              known */
} pprofdelta_recorder_options;

#define PPROFDELTA_RECORDER_OPTIONS_INIT                                                           \
    {                                                                                              \
        sizeof(pprofdelta_recorder_options), 0, PPROFDELTA_KIND_HEAP, PPROFDELTA_ON_RESET_AUTO,    \
            PPROFDELTA_FIRST_FULL, PPROFDELTA_GZIP, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0 \
    }

/* ---------------------------------------------------------------------------------------------
 * The recorder: windows
 * ------------------------------------------------------------------------------------------ */

/* How this look at the process was taken.
 *
 * Unsampling. What was sampled is scaled to what there was, and the profile has the scaled values:
 *     heap         1 / (1 - exp(-size / rate)), where size is the record's block_size, else the mean
 *                  size of what it allocated in the window (or has in use)
 *     contention   1 / fraction for contentions; for delay, which is then in cycles,
 *                  1e9 / cycles_per_second / fraction
 *     types        scales, one to each type
 * The increment of each window is scaled by the numbers of that window, exactly, and what is left
 * behind the point stays with the record (24 bits of it, rounded to the nearest). So what the windows
 * of a record say adds up to its scaled total, rounded to the nearest unit, whatever the number of
 * windows; and a change of rate scales what comes after it and nothing before. Gauges are scaled by
 * the window's numbers and rounded. */
typedef struct pprofdelta_look {
    int64_t time_nanos; /* since 1970; 0: now, by the system's clock */
    int64_t period;     /* the profile's period. For a heap also the rate: the mean number of bytes
                           between two samples, where 0 and 1 mean that every one was taken */
    double cycles_per_second; /* contention: 0: delay is in nanoseconds already */
    double fraction;          /* contention: the part of the events that is recorded, as 0.01; 0
                                 and 1: all of them */
    const double *scales;     /* types: or NULL for 1 */
    int restarted; /* all counters began anew after the last window (the tables were cleared): it
                      counts as empty. Holds until a window is committed: say it once, even if the
                      window is then abandoned. With ON_RESET_FAIL all windows are refused from then
                      on; make a new recorder */
} pprofdelta_look;

/* A cumulative record. Everything is borrowed until pprofdelta_recorder_add returns, but see
 * PPROFDELTA_BORROW_STACKS. */
typedef struct pprofdelta_record {
    const uintptr_t *stack; /* the leaf first */
    size_t depth;           /* any */
    const int64_t *values;  /* one to each type */
    int64_t block_size;     /* heap: of all its allocations, which keeps it apart from records with
                               another (the label bytes/bytes); 0: not known or not the same */
    const pprofdelta_label *labels;
    size_t labels_len;
} pprofdelta_record;

typedef struct pprofdelta_recorder pprofdelta_recorder;

/* Makes an empty recorder. options and allocator may be NULL for the defaults. Recorders know
 * nothing of each other. One recorder may be used by one thread at a time, whichever it is. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_new(const pprofdelta_recorder_options *options,
                                                         const pprofdelta_allocator *allocator,
                                                         pprofdelta_recorder **out,
                                                         pprofdelta_error *err);

/* Gives everything back. NULL is fine. */
PPROFDELTA_API void pprofdelta_recorder_free(pprofdelta_recorder *recorder);

/* Begins a window. how may be NULL for zeros. Every window that began ends with commit or
 * abandon. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_begin(pprofdelta_recorder *recorder,
                                                           const pprofdelta_look *how,
                                                           pprofdelta_error *err);

/* Adds a record to the window. Records with equal stacks (as they are shown: without the leading
 * frames that are hidden), block sizes and labels add up. Records without any value are ignored.
 * A window that lacks a record would be wrong: after a failure it can only be abandoned. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_add(pprofdelta_recorder *recorder,
                                                         const pprofdelta_record *record,
                                                         pprofdelta_error *err);

/* Writes the delta of the window to the sink. report may be NULL; its sums are of raw values,
 * before unsampling, and its output_len and samples_out are of this call. It may be called again,
 * after a failure and after a success, until the window is committed or abandoned, and writes the
 * same. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_write(pprofdelta_recorder *recorder,
                                                           const pprofdelta_sink *sink,
                                                           pprofdelta_report *report,
                                                           pprofdelta_error *err);

/* The window has arrived: remember it. A window whose last write did not succeed is abandoned.
 * Cannot fail; without a window, does nothing. */
PPROFDELTA_API void pprofdelta_recorder_commit(pprofdelta_recorder *recorder);

/* The window was lost, or it is not known whether it arrived: the next one covers its time too, with
 * the same sequence and, if this one was written, a higher attempt (see pprofdelta.h). Of what the
 * window was given, only pprofdelta_look.restarted is kept. A restart that the recorder found by
 * itself is not: the counters of the next window are judged anew. If report.restart was set and the
 * cause is known, set restarted in the next look. */
PPROFDELTA_API void pprofdelta_recorder_abandon(pprofdelta_recorder *recorder);

/* Forgets what program counters stand for and where files are mapped, after dlclose(3) or when code
 * that was made at run time is gone. What was counted stays. Not within a window: then it does
 * nothing. */
PPROFDELTA_API void pprofdelta_recorder_forget_symbols(pprofdelta_recorder *recorder);

/* What a recorder holds. */
typedef struct pprofdelta_recorder_size {
    uint64_t entries;       /* stacks that it remembers */
    uint64_t ledger_bytes;  /* ... and what they take, room to grow included */
    uint64_t window_bytes;  /* what the largest window took, kept for the next */
    uint64_t symbols_bytes; /* program counters, functions, strings, mappings */
    uint64_t all_bytes;     /* all of it, with what writes the profile */
} pprofdelta_recorder_size;

PPROFDELTA_API void pprofdelta_recorder_measure(const pprofdelta_recorder *recorder,
                                                pprofdelta_recorder_size *out);

/* ---------------------------------------------------------------------------------------------
 * The sample builder
 * ------------------------------------------------------------------------------------------ */

/* Begin with PPROFDELTA_BUILDER_OPTIONS_INIT. */
typedef struct pprofdelta_builder_options {
    size_t size;    /* sizeof(pprofdelta_builder_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP */
    pprofdelta_compression compression;
    int level;
    uint64_t max_memory; /* bytes that what was flushed may take, and a sample under way; 0:
                            PPROFDELTA_DEFAULT_MAX_MEMORY */
    const pprofdelta_value_type *types;
    size_t types_len;
    const char *period_type, *period_unit; /* NULL: no period */
    int64_t period;
    const char *default_type;
} pprofdelta_builder_options;

#define PPROFDELTA_BUILDER_OPTIONS_INIT                                                            \
    {                                                                                              \
        sizeof(pprofdelta_builder_options), 0, PPROFDELTA_GZIP, 0, 0, NULL, 0, NULL, NULL, 0, NULL \
    }

typedef struct pprofdelta_builder pprofdelta_builder;

/* A sample on its way. Any number may be on their way at once, on one thread or many, one begun
 * while another is not finished; one sample is pushed to by one thread at a time. */
typedef struct pprofdelta_sample pprofdelta_sample;

/* Makes an empty builder. The allocator must be safe to call from any thread that builds samples.
 * Every function below may be called from any thread at any time, but for what is said of one
 * sample, of exports and of pprofdelta_builder_free. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_new(const pprofdelta_builder_options *options,
                                                        const pprofdelta_allocator *allocator,
                                                        pprofdelta_builder **out,
                                                        pprofdelta_error *err);

/* Gives everything back, samples on their way included. Nobody else may be using the builder. NULL
 * is fine. */
PPROFDELTA_API void pprofdelta_builder_free(pprofdelta_builder *builder);

/* Begins a sample, or returns NULL where there is no memory; the pushes and flush take NULL and say
 * PPROFDELTA_E_MEMORY, so that nothing has to be asked before the flush. */
PPROFDELTA_API pprofdelta_sample *pprofdelta_sample_start(pprofdelta_builder *builder);

/* Pushes copy what they are given. Trouble is sticky: a push after one that failed does nothing and
 * says the same, and so does the flush, which then adds nothing. */

/* The leaf first. address may be 0; where it is not, the frame is known by it and not by its lines.
 * A builder has no mappings, so an address means the same in this process only: use 0 where
 * profiles of several processes come together, and for numbers that are not addresses. */
PPROFDELTA_API pprofdelta_status pprofdelta_sample_push_frame(pprofdelta_sample *sample,
                                                              const pprofdelta_frame *frame,
                                                              uint64_t address);

/* Adds to the value of options.types[type]. A sample may have values of any of the types; the
 * others are 0. */
PPROFDELTA_API pprofdelta_status pprofdelta_sample_push_value(pprofdelta_sample *sample,
                                                              size_t type, int64_t value);

PPROFDELTA_API pprofdelta_status pprofdelta_sample_push_label(pprofdelta_sample *sample,
                                                              const pprofdelta_label *label);

/* Ends the sample by adding it to the next export. Equal samples add up; one without any value is
 * left out. It waits for nobody: not for an export, not for another flush. */
PPROFDELTA_API pprofdelta_status pprofdelta_sample_flush(pprofdelta_sample *sample,
                                                         pprofdelta_error *err);

/* Ends the sample without a trace. NULL is fine. */
PPROFDELTA_API void pprofdelta_sample_discard(pprofdelta_sample *sample);

/* What went out with an export. */
typedef struct pprofdelta_export_report {
    int64_t pid;          /* the process, as in the stamp */
    uint64_t sequence;    /* 1 for the first export of this process */
    uint64_t attempt;     /* at this sequence, from 1: an export that the sink refused is made again
                              with the same sequence and the next attempt (see pprofdelta.h) */
    int64_t from_nanos;   /* the end of the last export, or when the builder was made, or */
    int64_t to_nanos;     /* ... the fork; and now */
    uint64_t samples_in;  /* flushed */
    uint64_t samples_out; /* written: distinct ones */
    uint64_t samples_lost; /* flushed while there was no memory to keep them */
    uint64_t strings;      /* distinct strings in them */
    uint64_t output_len;   /* bytes given to the sink */
} pprofdelta_export_report;

/* Writes all samples that were flushed before it to the sink and begins anew, while new ones come
 * in. report may be NULL. If it fails they stay, and the next export has them too, once. One export
 * at a time: while another is under way it is PPROFDELTA_E_USAGE. The profile is made of
 * increments: it is stamped like a delta, so that none is made of it. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_export(pprofdelta_builder *builder,
                                                           const pprofdelta_sink *sink,
                                                           pprofdelta_export_report *report,
                                                           pprofdelta_error *err);

/* Throws away what was flushed and not exported; samples on their way stay. While an export is
 * under way it is PPROFDELTA_E_USAGE. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_clear(pprofdelta_builder *builder,
                                                          pprofdelta_error *err);

/* Around fork(2), in this order: before it, on the thread that forks; and after it, in the parent
 * and in the child. The child's builder is empty, its locks work, and its exports are numbered from
 * 1 under its own pid; what was flushed in the parent is exported by the parent alone, and a sample
 * begun in the parent is discarded when the child flushes it. prefork waits for the part of an
 * export that is computation, never for a sink. */
PPROFDELTA_API void pprofdelta_builder_prefork(pprofdelta_builder *builder);
PPROFDELTA_API void pprofdelta_builder_postfork_parent(pprofdelta_builder *builder);
PPROFDELTA_API void pprofdelta_builder_postfork_child(pprofdelta_builder *builder);

/* Has the three called at every fork from now on, by pthread_atfork(3), until the builder is freed.
 * Asking twice changes nothing. (That such builders can be found when a fork comes is the one thing
 * that this library keeps per process.) */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_atfork(pprofdelta_builder *builder,
                                                           pprofdelta_error *err);

#ifdef __cplusplus
}
#endif
#endif
