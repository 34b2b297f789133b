/* pprofdelta for agents inside the process that they profile. There are two parts.
 *
 * The recorder takes raw cumulative records (a stack of program counters and what it has counted so
 * far) and writes what they counted since the last window. No profile is serialised or parsed in
 * between.
 *
 *     pprofdelta_recorder *r;
 *     pprofdelta_recorder_new(NULL, NULL, &r, &err);          // NULL: a heap recorder
 *     for (each window) {
 *         status = pprofdelta_recorder_begin(r, NULL, &err);
 *         for (each record, while status is OK)
 *             status = pprofdelta_recorder_add(r, &record, &err);
 *         if (!status)
 *             status = pprofdelta_recorder_write(r, &sink, NULL, &err);
 *         if (!status && the profile has arrived)
 *             pprofdelta_recorder_commit(r);      // the next window begins here
 *         else
 *             pprofdelta_recorder_abandon(r);     // the next window covers this one, too
 *     }
 *     pprofdelta_recorder_free(r);
 *
 * The builder takes finished samples (of a CPU sampler, of exceptions), from any thread:
 *
 *     pprofdelta_sample sample = {.frames = frames, .frames_len = len, .values = values};
 *     pprofdelta_builder_add(b, &sample, NULL);
 *
 * One thread writes what was added:
 *
 *     if (pprofdelta_builder_begin(b, &err) == PPROFDELTA_OK) {
 *         status = pprofdelta_builder_write(b, &sink, NULL, &err);
 *         if (!status && the profile has arrived)
 *             pprofdelta_builder_commit(b);
 *         else
 *             pprofdelta_builder_abandon(b);
 *     }
 *
 * The rules for all functions are in pprofdelta_common.h. pprofdelta_record(3) describes how the
 * functions are used together. */
#ifndef PPROFDELTA_RECORD_H
#define PPROFDELTA_RECORD_H

#include "pprofdelta.h"

PPROFDELTA_BEGIN

/* ---------------------------------------------------------------------------------------------
 * Value types and flags
 * ------------------------------------------------------------------------------------------ */

/* A column of values. A counter only grows. A gauge is not subtracted: the value of the record is
 * written. A builder adds up all columns and ignores is_counter. Strings end with a NUL; NULL is
 * the empty string. */
typedef struct pprofdelta_value_type {
    const char *type, *unit;
    int is_counter;
} pprofdelta_value_type;

/* Flags of pprofdelta_recorder_options, besides PPROFDELTA_NO_STAMP, PPROFDELTA_NO_MAPPINGS and
 * PPROFDELTA_VERIFY. */
enum {
    /* The recorder does not copy stacks. The caller keeps them unchanged until commit or
     * abandon. */
    PPROFDELTA_BORROW_STACKS = 1u << 8,
    /* Program counters are return addresses, as backtrace(3) and Go report them. They stand for the
     * call before them, so the profile has the address minus 1. */
    PPROFDELTA_RETURN_ADDRESSES = 1u << 9
};

/* ---------------------------------------------------------------------------------------------
 * The recorder: options
 * ------------------------------------------------------------------------------------------ */

/* The value types of a recorder, in this order. */
typedef enum pprofdelta_kind {
    /* Counters alloc_objects/count and alloc_space/bytes, gauges inuse_objects/count and
     * inuse_space/bytes. Period space/bytes. */
    PPROFDELTA_KIND_HEAP = 0,
    /* Counters contentions/count and delay/nanoseconds. Period contentions/count. */
    PPROFDELTA_KIND_CONTENTION,
    /* options.types and options.period_type. At least one type is a counter. */
    PPROFDELTA_KIND_TYPES
} pprofdelta_kind;

/* Begin with PPROFDELTA_RECORDER_OPTIONS_INIT. 0 and NULL are the defaults. Strings and arrays are
 * copied. A member that pprofdelta_options has, too, means the same. */
typedef struct pprofdelta_recorder_options {
    size_t size;    /* sizeof(pprofdelta_recorder_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP, _VERIFY, _BORROW_STACKS, _RETURN_ADDRESSES,
                       _NO_MAPPINGS */
    pprofdelta_kind kind;
    /* Any but NEGATIVE. With CLAMP the recorder does not look for restarts: only
     * pprofdelta_recording.restarted reports one. */
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    pprofdelta_compression compression;
    int level;
    uint64_t max_memory;
    /* Called at most once for each program counter, by pprofdelta_recorder_add (for program
     * counters that lead a stack) or pprofdelta_recorder_write (for those of samples that are
     * written). NULL: the profile has addresses and mappings only. */
    pprofdelta_symbolizer *symbolize;
    void *symbolize_cookie;
    /* The next five members: PPROFDELTA_KIND_TYPES only, except default_type. */
    const pprofdelta_value_type *types;
    size_t types_len;
    const char *period_type, *period_unit; /* NULL: no period */
    const char *default_type;              /* the profile's default_sample_type; NULL: none */
    int64_t started_nanos; /* when counting began, for the duration of the first window; 0: not
                              known */
    pprofdelta_format format;
    const pprofdelta_attribute *resource;
    size_t resource_len;
    uint64_t id; /* of the series of windows, for the stamp; 0: a random one */
} pprofdelta_recorder_options;

#define PPROFDELTA_RECORDER_OPTIONS_INIT PPROFDELTA_SIZED(pprofdelta_recorder_options)

/* ---------------------------------------------------------------------------------------------
 * The recorder: windows
 * ------------------------------------------------------------------------------------------ */

/* How the records of a window were taken.
 *
 * Unsampling. If only a part was recorded, the profile has estimates for the whole:
 *     heap         values are multiplied by 1 / (1 - exp(-size / rate)). size is the record's
 *                  block_size, or else the mean size of what it allocated in the window (or has
 *                  in use)
 *     contention   contentions are multiplied by 1 / fraction; delay, which is then in cycles, by
 *                  1e9 / cycles_per_second / fraction
 *     types        values are multiplied by scales[], one for each type
 * The increment of each window is scaled with the numbers of that window. What is lost by rounding
 * is carried to the next window (24 bits of it). So the windows of a record add up to its scaled
 * total, rounded to the nearest unit, whatever their number. A change of rate has no effect on what
 * was counted before it. Gauges are scaled with the numbers of the window and rounded. */
typedef struct pprofdelta_recording {
    int64_t time_nanos; /* since 1970; 0: now, by the system's clock */
    int64_t period;     /* the profile's period. For a heap also the rate: the mean number of bytes
                           between two samples; 0 and 1: every allocation is recorded */
    double cycles_per_second; /* contention: 0: delay is in nanoseconds */
    double fraction;          /* contention: the part of the events that is recorded, such as 0.01;
                                 0 and 1: all events */
    const double *scales;     /* types: NULL: 1 for each */
    /* All counters began again at zero after the last window: the remembered counters count as
     * zero. Holds until a window is written, so set it once, even if that window is abandoned.
     * With ON_RESET_FAIL, write fails from then on: make a new recorder. */
    int restarted;
    /* 1: code was unloaded (dlclose), or code that was generated at run time is gone: the recorder
     * forgets the symbols and the mappings of program counters. Counters are kept. */
    int has_unloaded;
} pprofdelta_recording;

/* A cumulative record. Everything is read until pprofdelta_recorder_add returns; for stacks see
 * PPROFDELTA_BORROW_STACKS. */
typedef struct pprofdelta_record {
    const uint64_t *stack; /* program counters, the leaf first */
    size_t depth;          /* any */
    const int64_t *values; /* one for each type */
    /* heap: the size of each of its allocations. It becomes the label bytes/bytes, so records with
     * other sizes are other samples. 0: not known, or various */
    int64_t block_size;
    const pprofdelta_label *labels;
    size_t labels_len;
} pprofdelta_record;

typedef struct pprofdelta_recorder pprofdelta_recorder;

/* Makes an empty recorder. options and allocator may be NULL for the defaults. A recorder is used
 * by one thread at a time, which need not be always the same. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_new(const pprofdelta_recorder_options *options,
    const pprofdelta_allocator *allocator, pprofdelta_recorder **out, pprofdelta_error *err);

/* Frees the recorder. recorder may be NULL. */
PPROFDELTA_API void pprofdelta_recorder_free(pprofdelta_recorder *recorder);

/* Begins a window. how may be NULL for zeros. End each window with commit or abandon. E_USAGE if a
 * window is under way, or while a sink of this recorder is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_begin(
    pprofdelta_recorder *recorder, const pprofdelta_recording *how, pprofdelta_error *err);

/* Adds a record to the window. Give every record that there is, also those that did not change: they
 * cost little (see Memory in pprofdelta_record(3)).
 * Records with equal stacks (without the leading frames that are hidden), block sizes and labels
 * are added up. Records whose values are all 0 are ignored. After a failure the window can only be
 * abandoned, since a window without that record would be wrong. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_add(
    pprofdelta_recorder *recorder, const pprofdelta_record *record, pprofdelta_error *err);

/* Writes the delta of the window to the sink. report may be NULL. Its sums are of the raw values,
 * before unsampling. It may be called again, after a failure and after a success, until the window
 * is committed or abandoned; it then writes the same profile. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_write(pprofdelta_recorder *recorder,
    const pprofdelta_sink *sink, pprofdelta_report *report, pprofdelta_error *err);

/* The profile has arrived: the next window begins where this one ended. E_USAGE unless the last write
 * of the window succeeded, and while a sink of this recorder is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_recorder_commit(pprofdelta_recorder *recorder);

/* The profile was lost, or may have been lost. If a sink was called, the window stays open: the next one
 * also covers its time, with the same sequence and the next attempt, unless counting began again in
 * between (see "Sequence and attempt" in pprofdelta.h). Otherwise the window is dropped. Cannot fail;
 * without a window, does nothing. */
PPROFDELTA_API void pprofdelta_recorder_abandon(pprofdelta_recorder *recorder);

/* ---------------------------------------------------------------------------------------------
 * The builder
 * ------------------------------------------------------------------------------------------ */

/* Begin with PPROFDELTA_BUILDER_OPTIONS_INIT. Strings and arrays are copied. types is required. */
typedef struct pprofdelta_builder_options {
    size_t size;    /* sizeof(pprofdelta_builder_options) */
    unsigned flags; /* PPROFDELTA_NO_STAMP */
    pprofdelta_compression compression;
    int level;
    /* Bytes for each of these: the samples that were added, the window, a sample that is being
     * added, and the output. 0: PPROFDELTA_DEFAULT_MAX_MEMORY. */
    uint64_t max_memory;
    const pprofdelta_value_type *types;
    size_t types_len;
    const char *period_type, *period_unit; /* NULL: no period */
    int64_t period;
    const char *default_type; /* the profile's default_sample_type; NULL: none */
    /* As in pprofdelta_options. */
    pprofdelta_format format;
    const pprofdelta_attribute *resource;
    size_t resource_len;
    /* Of the series of windows, for the stamp; 0: a random one. A process after a fork has a random
     * one. */
    uint64_t id;
} pprofdelta_builder_options;

#define PPROFDELTA_BUILDER_OPTIONS_INIT PPROFDELTA_SIZED(pprofdelta_builder_options)

typedef struct pprofdelta_builder pprofdelta_builder;

/* Makes an empty builder. The allocator must be safe to call from every thread that uses the
 * builder. pprofdelta_builder_add may be called by any thread at any time, the functions of windows by
 * one thread at a time, and pprofdelta_builder_free only if no thread uses the builder. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_new(const pprofdelta_builder_options *options,
    const pprofdelta_allocator *allocator, pprofdelta_builder **out, pprofdelta_error *err);

/* Frees the builder and all its samples. builder may be NULL. */
PPROFDELTA_API void pprofdelta_builder_free(pprofdelta_builder *builder);

/* ---- samples -------------------------------------------------------------------------------- */

/* A sample. Everything is copied. */
typedef struct pprofdelta_sample {
    const pprofdelta_frame *frames; /* the leaf first */
    /* Of the frames; NULL: 0 for each. A frame is identified by its line, and by its address if that is
     * not 0. A builder has no mappings, so an address has a meaning in this process only. */
    const uint64_t *addresses;
    size_t frames_len;
    const int64_t *values; /* one for each type */
    const pprofdelta_label *labels;
    size_t labels_len;
} pprofdelta_sample;

/* Adds a sample to the next window. Equal samples are added up; one whose sum does not fit in 64 bits is
 * left out (samples_lost). A sample whose values are all 0 is left out. E_MEMORY or E_LIMIT: there is no room
 * for it, or for the samples that were added before, and this one is not added. Never waits: neither for a
 * window nor for another sample. A function of the allocator, or a signal handler, may add one, too. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_add(
    pprofdelta_builder *builder, const pprofdelta_sample *sample, pprofdelta_error *err);

/* ---- windows -------------------------------------------------------------------------------- */

/* What was written. */
typedef struct pprofdelta_builder_report {
    size_t size;           /* the caller sets it to sizeof(pprofdelta_builder_report) */
    int64_t pid;           /* the process, as in the stamp */
    uint64_t sequence;     /* 1 for the first window of this process */
    uint64_t attempt;      /* at this sequence, from 1 (see pprofdelta.h) */
    int64_t from_nanos;    /* the end of the last committed window; or when the builder was made, or
                              the fork */
    int64_t to_nanos;      /* when the window was begun */
    uint64_t samples_in;   /* samples that were added */
    uint64_t samples_out;  /* samples in the profile: distinct ones */
    uint64_t samples_lost; /* left out: the sum with equal samples does not fit in 64 bits, or the
                              sample alone takes more than max_memory */
    uint64_t strings;      /* strings in the profile */
    uint64_t output_len;   /* bytes given to the sink */
} pprofdelta_builder_report;

/* Begins a window with all samples that were added up to now. Later samples go into the next
 * window, and so do those that max_memory has no room for. If it fails with E_MEMORY or E_LIMIT, no
 * window is begun and all samples stay for the next one. E_USAGE if a window is under way. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_begin(
    pprofdelta_builder *builder, pprofdelta_error *err);

/* Writes the window to the sink. report may be NULL. It may be called again, after a failure and
 * after a success, until the window is committed or abandoned; it then writes the same profile. The
 * profile has a stamp like a delta, so that no delta is made of it. E_USAGE without a window or a
 * sink, or while a sink of this builder is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_write(pprofdelta_builder *builder,
    const pprofdelta_sink *sink, pprofdelta_builder_report *report, pprofdelta_error *err);

/* The profile has arrived: its samples are forgotten. E_USAGE unless the last write of the window
 * succeeded, and while a sink of this builder is being called. */
PPROFDELTA_API pprofdelta_status pprofdelta_builder_commit(pprofdelta_builder *builder);

/* The profile was lost, or may have been lost. The next window also has its samples. It has the
 * same sequence, and a higher attempt if a sink was called. Cannot fail; without a window, does
 * nothing. */
PPROFDELTA_API void pprofdelta_builder_abandon(pprofdelta_builder *builder);

/* ---- fork ----------------------------------------------------------------------------------- */

/* See pprofdelta_fork. The builder of the child is empty, with its own pid and a random id, and its
 * windows are numbered from 1. Samples that were added in the parent are written by the parent only.
 * PREPARE may wait for a window function on another thread, but never for a sink. PPROFDELTA_FORK_LOST is as
 * CHILD. */
PPROFDELTA_API void pprofdelta_builder_fork(pprofdelta_builder *builder, pprofdelta_fork step);

PPROFDELTA_END
#endif
