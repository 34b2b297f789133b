/* pprofdelta: what all parts of the library share.
 *
 * A program does not need to include this header: each of the others includes it.
 *
 *     pprofdelta.h          cumulative profiles in, deltas out
 *     pprofdelta_profile.h  one profile by itself: its census and its bytes
 *     pprofdelta_record.h   records and samples of the program itself in, profiles out
 *     pprofdelta_heap.h     sampled allocations in, heap profiles out
 *     pprofdelta_alloc.hpp  the same in a few lines of C++
 *     pprofdelta_tables.h   profiles as Arrow tables, for sinks that take them
 *
 * Rules for all functions of the library
 *   - A function that can fail returns a status. PPROFDELTA_OK is 0. Results are returned through
 *     out-parameters. A function that fails leaves its out-parameters as they were.
 *   - Input is const. The library reads it until the call returns and keeps no pointer to it,
 *     unless the comment of the function says otherwise.
 *   - The library never prints, never exits, never asserts on input, and has no global state.
 *   - Later versions add members to a struct at the end, if its first member is `size`. The caller sets
 *     it to the sizeof of the struct that it was compiled with: PPROFDELTA_SIZED(type) makes one of zeros. Members
 *     of options that the caller does not have are 0; members that the library does not have must be 0. Of a struct
 *     that the library fills, it fills the members that both have. A size that was not set is E_USAGE.
 *   - All other structs are frozen: later versions do not change them, and what is new gets a struct or a
 *     function of its own. One exception: pprofdelta_type_report grows at its end, since programs reach it by
 *     PPROFDELTA_TYPE only. pprofdelta_stamp is frozen; what a later stamp has more will be in pprofdelta_census.
 *   - A pointer to an object must be valid; free and abandon of all objects also take NULL. Other pointers may be
 *     NULL where the comment says so, and for arrays whose length is 0; NULL elsewhere is E_USAGE, and so is
 *     a sink or a source whose function is NULL.
 *   - Numbers never wrap around. A sum of values of equal samples, a difference of counters or an unsampled value
 *     that does not fit in 64 bits is refused: E_LIMIT. Where no call can fail any more, the sample or the allocation
 *     is left out and counted (pprofdelta_builder_report.samples_lost, pprofdelta_heap_stats.refused). Sums in
 *     reports have 128 bits.
 *   - Two objects may be used by two threads at once. One object is used by one thread at a time,
 *     unless the comment of its functions says otherwise.
 *   - In the steady state (the same stacks, no growth) the library allocates no memory, neither from the
 *     caller's allocator nor by malloc.
 *   - What is experimental is declared only if PPROFDELTA_EXPERIMENTAL is defined before a header is included.
 *     It may change in a version in which nothing else does; libpprofdelta(3) lists it.
 *
 * Functions of the caller that the library calls
 *   - A sink is called once for one output, with all of its bytes, after the input was checked and the output is
 *     complete. Only the sink of pprofdelta_save is called several times, with one piece after the other.
 *   - An allocator, a symbolizer and all functions of a heap must return: neither an exception nor a longjmp may
 *     leave them, and they must not call the object for which they are called, unless a comment says so.
 *   - A sink, and the source of pprofdelta_load, may also be left by an exception or a longjmp: see "A sink that
 *     does not return" below. Such a function may call other objects. Of its own object, it may call abandon,
 *     describe, pprofdelta_save, and what tracks allocations or adds samples of a builder. The rest is E_USAGE.
 *
 * The same word means the same in all headers:
 *     begin     begins a window
 *     write     writes the profile of the window to a sink. After a failure the window is still under
 *               way: write it again or abandon it
 *     commit    ends the window: the profile has arrived, so the next window begins where this one
 *               ended. E_USAGE, and nothing changes, unless the last write succeeded
 *     abandon   ends the window: the profile was lost, or may have been lost. The next window also
 *               covers the time of this one and has the same sequence, and a higher attempt if a sink
 *               was called. Without a window it does nothing
 *     describe  sets a struct to what the object holds
 *
 * A call that is not allowed at its point is E_USAGE and changes nothing. While a sink is called,
 * begin, write and commit of the same object are E_USAGE; of a context, also base and load, and all of them
 * while a state is saved or loaded. If the sink abandons the window, the write that called the sink is
 * E_USAGE, and what the sink was given is valid no longer; it may then begin the next window.
 *
 * A sink that does not return (an exception, a longjmp) leaves the window under way, and all calls above E_USAGE,
 * until the window is abandoned. The window may have arrived, so the next one is another attempt at it. After that
 * from the sink of pprofdelta_save or the source of pprofdelta_load, call pprofdelta_abandon, too. An adder whose
 * sink did not return can only be freed; a profile can be used. Nothing leaks.
 */
#ifndef PPROFDELTA_COMMON_H
#define PPROFDELTA_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* A struct of zeros with its size, to begin a variable with: pprofdelta_options o = PPROFDELTA_OPTIONS_INIT, or
 * pprofdelta_report r = PPROFDELTA_SIZED(pprofdelta_report). */
#ifdef __cplusplus
#define PPROFDELTA_BEGIN       extern "C" {
#define PPROFDELTA_END         }
#define PPROFDELTA_SIZED(type) pprofdelta_sized<type>()
template <typename Struct> inline Struct pprofdelta_sized()
{
    Struct sized = Struct();
    sized.size = sizeof sized;
    return sized;
}
#else
#define PPROFDELTA_BEGIN
#define PPROFDELTA_END
#define PPROFDELTA_SIZED(type)                                                                     \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#endif

PPROFDELTA_BEGIN

#if defined(PPROFDELTA_STATIC)
#define PPROFDELTA_API
#elif defined(__GNUC__)
#define PPROFDELTA_API __attribute__((visibility("default")))
#else
#define PPROFDELTA_API
#endif

#define PPROFDELTA_VERSION "0.1.0"

/* The same for #if: (major * 100 + minor) * 100 + patch. */
#define PPROFDELTA_VERSION_NUMBER 100

/* Is increased when a program that was compiled with this header does not run with a newer library.
 * The soname of the library ends with this number, and PPROFDELTA_VERSION begins with it. */
#define PPROFDELTA_API_VERSION 0

/* Returns the PPROFDELTA_VERSION of the library that is loaded. */
PPROFDELTA_API const char *pprofdelta_version(void);

/* ---------------------------------------------------------------------------------------------
 * Status and error
 * ------------------------------------------------------------------------------------------ */

typedef enum pprofdelta_status {
    PPROFDELTA_OK = 0,
    PPROFDELTA_E_MEMORY, /* the allocator returned NULL */
    PPROFDELTA_E_LIMIT,  /* more than options.max_memory allows, or a count that overflows */
    /* Compressed input is damaged, truncated, or followed by other bytes; or the library was built
     * without compression libraries. */
    PPROFDELTA_E_INFLATE,
    PPROFDELTA_E_WIRE,     /* not well-formed protobuf */
    PPROFDELTA_E_PROFILE,  /* protobuf, but not a valid profile */
    PPROFDELTA_E_MISMATCH, /* valid profiles that have no delta: types, order, no counter */
    PPROFDELTA_E_STAMPED,  /* the input is itself a delta (see PPROFDELTA_FORCE) */
    PPROFDELTA_E_RESET,    /* a counter went backwards and options.on_reset is FAIL */
    PPROFDELTA_E_VERIFY,   /* the conservation law does not hold: a bug in this library */
    PPROFDELTA_E_SINK,     /* the sink refused the output */
    PPROFDELTA_E_USAGE,    /* an invalid argument, or a call that is not allowed at this point */
    PPROFDELTA_E_STATE,    /* not a state, a damaged state, or a state of another version */
    PPROFDELTA_E_SOURCE,   /* the source failed */
    /* The input is not cumulative: its times show that it is a window, or its types show that it is
     * a CPU profile, a goroutine profile or the like (see PPROFDELTA_FORCE). */
    PPROFDELTA_E_NOT_CUMULATIVE,
    /* The profile is older than the one before it in the series: no counter has grown, and some have
     * fallen or are missing. It came late; what the context remembers is as before. */
    PPROFDELTA_E_OLDER,
    PPROFDELTA_E_OTHER_TARGET /* the profiles are of two services (see PPROFDELTA_FORCE) */
} pprofdelta_status;

/* Why a call failed, where a status has several reasons that a caller may handle differently. The
 * numbers do not change. A later version may have more of them. */
typedef enum pprofdelta_reason {
    PPROFDELTA_REASON_NONE = 0, /* there is no more to know than the status */
    /* E_LIMIT */
    PPROFDELTA_REASON_MAX_MEMORY,    /* a higher max_memory may be enough */
    PPROFDELTA_REASON_ADDRESS_SPACE, /* more than a 32-bit process has room for */
    /* E_PROFILE */
    PPROFDELTA_REASON_IS_STATE, /* the input is a state */
    PPROFDELTA_REASON_SEVERAL,  /* an OTLP request has profiles of several resources, scopes or
                                   times, and the call takes one */
    /* E_NOT_CUMULATIVE */
    PPROFDELTA_REASON_IS_WINDOW, /* the times of the input show that it is a window */
    /* E_MISMATCH */
    PPROFDELTA_REASON_SWAPPED,        /* cur is older than prev */
    PPROFDELTA_REASON_NO_COUNTER,     /* no value type is known as a counter */
    PPROFDELTA_REASON_OTHER_TYPES,    /* the value types differ */
    PPROFDELTA_REASON_OTHER_OPTIONS,  /* options.counters and gauges are not those of the state */
    PPROFDELTA_REASON_WINDOW_MISSING, /* a sum: windows or batches are missing between the two */
    /* A sum: the window or batch comes before one that was added already. A merge: likewise, or
     * after windows of another target; or a merge has the target. */
    PPROFDELTA_REASON_WINDOW_LATE,
    /* E_STATE */
    PPROFDELTA_REASON_NOT_A_STATE, /* the bytes are something else */
    PPROFDELTA_REASON_NEWER_STATE, /* a newer version of the library wrote the state */
    /* E_MISMATCH */
    PPROFDELTA_REASON_TWO_TARGETS, /* a sum: the two are of two states or processes */
    PPROFDELTA_REASON_NO_TARGET    /* a merge: no stamp names the target and the window; a sum or a
                                   merge: the profile is a merge */
} pprofdelta_reason;

/* The part of the library that failed. The numbers do not change. A later version may have more. */
typedef enum pprofdelta_stage {
    PPROFDELTA_STAGE_OPTIONS = 0, /* arguments, and calls out of order */
    PPROFDELTA_STAGE_MEMORY,
    PPROFDELTA_STAGE_INFLATE,
    PPROFDELTA_STAGE_WIRE,    /* protobuf */
    PPROFDELTA_STAGE_PROFILE, /* the fields of a profile */
    PPROFDELTA_STAGE_DELTA,   /* the subtraction */
    PPROFDELTA_STAGE_WRITE,   /* the sink */
    PPROFDELTA_STAGE_STATE,
    PPROFDELTA_STAGE_SUM,
    PPROFDELTA_STAGE_RECOVER
} pprofdelta_stage;

/* Their words: static const char *const words[] = {PPROFDELTA_STAGE_WORDS}; */
#define PPROFDELTA_STAGE_WORDS                                                                     \
    "options", "memory", "inflate", "wire", "profile", "delta", "write", "state", "sum", "recover"

#define PPROFDELTA_NOWHERE UINT64_MAX

/* What failed, and where. The caller owns the struct. All functions accept NULL instead of it. A
 * call that fails sets all members; a call that succeeds changes none. */
typedef struct pprofdelta_error {
    pprofdelta_status status;
    pprofdelta_reason reason; /* of the status; text is for people only */
    pprofdelta_stage stage;
    int is_prev;       /* 1: the error is in the profile of pprofdelta_base; else 0 */
    const char *field; /* static: "sample.location_id", or empty */
    uint64_t element;  /* index, from 0, of the element of the first part of field (12 for
                          sample[12].location_id), or PPROFDELTA_NOWHERE */
    uint64_t offset;   /* byte offset, or PPROFDELTA_NOWHERE. In STAGE_INFLATE: in the compressed
                          input. In STAGE_STATE: in the state. In others: in the inflated input */
    char text[472];    /* a sentence without the position: "no location has the id 99"; in UTF-8,
                          with the control characters of quoted names as \xNN */
} pprofdelta_error;

/* The longest line of an error, with its NUL. */
#define PPROFDELTA_ERROR_LINE 768

/* Writes the error with its position in one line, as snprintf does: "sample[12].location_id: no location
 * has the id 99 (at byte 812 of the uncompressed file)". is_prev is not in it. Returns the length. */
PPROFDELTA_API size_t pprofdelta_error_line(const pprofdelta_error *err, char *out, size_t cap);

/* ---------------------------------------------------------------------------------------------
 * What the caller supplies
 * ------------------------------------------------------------------------------------------ */

/* Memory. resize(cookie, NULL, n) allocates n bytes. resize(cookie, p, n) changes the size of p,
 * as realloc does; if it returns NULL, p stays valid. n is never 0. release frees p, which is
 * never NULL.
 *
 * What libdeflate and libzstd need for themselves is not allocated here and does not count against max_memory,
 * but for zstd's window: libdeflate's allocator has no cookie, and libzstd's is no part of its shared library's
 * interface. malloc makes it when it is first needed, and it is kept until the object is freed: to read, 11 KiB
 * (gzip) and 93 KiB (zstd); to write, 200 KiB (gzip, level 1), 0.7 MiB (gzip, other levels), 0.3 to 1.3 MiB
 * (zstd, levels up to 3) and up to 13 MiB (zstd, level 9). */
typedef struct pprofdelta_allocator {
    void *(*resize)(void *cookie, void *ptr, size_t size);
    void (*release)(void *cookie, void *ptr);
    void *cookie;
} pprofdelta_allocator;

struct pprofdelta_tables; /* pprofdelta_tables.h */

/* Output. write returns 0, or any other number to refuse the data; the call of the library then
 * fails with PPROFDELTA_E_SINK. With PPROFDELTA_TABLES, `tables` is called instead, once, by the same rules. The
 * function that is not called may be NULL; `tables` is not read with the other formats. */
typedef struct pprofdelta_sink {
    int (*write)(void *cookie, const void *data, size_t len);
    void *cookie;
    int (*tables)(void *cookie, struct pprofdelta_tables *tables);
} pprofdelta_sink;

/* Input. read puts at most len bytes (len is never 0) into buf and sets *got to their number. *got
 * is 0 at the end of the input and nowhere else. It returns 0, or any other number if it failed;
 * the call of the library then fails with PPROFDELTA_E_SOURCE. */
typedef struct pprofdelta_source {
    int (*read)(void *cookie, void *buf, size_t len, size_t *got);
    void *cookie;
} pprofdelta_source;

/* Compression of the output. A library that was built without compression libraries has
 * PPROFDELTA_PLAIN only, which must be chosen: others are PPROFDELTA_E_USAGE. */
typedef enum pprofdelta_compression {
    PPROFDELTA_GZIP = 0,
    PPROFDELTA_ZSTD,
    PPROFDELTA_PLAIN
} pprofdelta_compression;

/* The format of the output. A profile in PPROFDELTA_OTLP is one ExportProfilesServiceRequest of
 * OpenTelemetry's profiles (opentelemetry-proto PPROFDELTA_OTLP_PROTO, package v1development), with
 * one Profile for each value type that has samples. If none has, there is nothing to send: the sink is not called,
 * output_len is 0, and the window can be committed. pprofdelta-formats(5) describes what becomes what. PPROFDELTA_TABLES
 * is no bytes, but Arrow tables (pprofdelta_tables.h): compression and level have no effect. */
typedef enum pprofdelta_format {
    PPROFDELTA_PPROF = 0,
    PPROFDELTA_OTLP,       /* for Pyroscope and most receivers */
    PPROFDELTA_OTLP_PARCA, /* the same, with the period type as it is */
    PPROFDELTA_OTLP_PLAIN, /* by the conventions of OpenTelemetry alone */
    PPROFDELTA_TABLES
} pprofdelta_format;

/* The words for all but tables, as in --format. */
#define PPROFDELTA_FORMAT_NAMES "pprof", "otlp", "otlp-parca", "otlp-plain"

#define PPROFDELTA_OTLP_PROTO "1.11"

/* What a receiver of profiles takes: --for of the command, and a preset of each binding. All of them show a heap as it
 * is, so they need in-use values and not their changes (PPROFDELTA_HEAP_SNAPSHOT). None makes a series of the stamp. */
typedef struct pprofdelta_receiver {
    const char *word, *name; /* as in --for, and as people write it */
    const char *version;     /* with which this was compared */
    pprofdelta_format format;
    pprofdelta_compression compression;
    int64_t max_age; /* seconds since the time in a profile, by its defaults; 0: any */
} pprofdelta_receiver;

/* All of them: static const pprofdelta_receiver receivers[] = {PPROFDELTA_RECEIVERS}; */
/* clang-format off */
#define PPROFDELTA_RECEIVERS                                                                            \
    {"pyroscope", "Pyroscope", "2 of August 2026", PPROFDELTA_OTLP, PPROFDELTA_GZIP, 3600},             \
    {"parca", "Parca", "of July 2026", PPROFDELTA_OTLP_PARCA, PPROFDELTA_GZIP, 0},                      \
    {"otel", "OpenTelemetry", "profcheck of August 2026", PPROFDELTA_OTLP_PLAIN, PPROFDELTA_GZIP, 0},   \
    {"pprof", "pprof", "of Go 1.26", PPROFDELTA_PPROF, PPROFDELTA_GZIP, 0}
/* clang-format on */

/* An attribute of the resource in the formats of OTLP, such as {"service.name", "checkout"}; "profile.name" is also
 * what the profile is called. key is not empty. value NULL is the empty string. In PPROFDELTA_TABLES, the attribute "target" names the
 * series, and the others are not used. */
typedef struct pprofdelta_attribute {
    const char *key, *value;
} pprofdelta_attribute;

/* The default of max_memory in pprofdelta_options, pprofdelta_recorder_options and
 * pprofdelta_builder_options: bytes. In a 32-bit process the limit is never more than 1 GiB. */
#define PPROFDELTA_DEFAULT_MAX_MEMORY (UINT64_C(8) << 30)

/* Flags that options of several kinds have. */
enum {
    PPROFDELTA_NO_STAMP = 1u << 0, /* leave out the comment that marks a profile as a delta */
    /* Addresses are not code, such as the numbers of an interpreter's frames. /proc/self/maps is
     * not read, and profiles have no mappings. Without this flag, native addresses and such numbers
     * may be mixed if no number lies in a mapped file. (Recorder and live heap.) */
    PPROFDELTA_NO_MAPPINGS = 1u << 10
};

/* ---------------------------------------------------------------------------------------------
 * Stacks and labels
 * ------------------------------------------------------------------------------------------ */

/* A label has a string or a number. If str is neither NULL nor empty, num and num_unit are ignored.
 * Strings end with a NUL; NULL is the empty string. The order of labels has no meaning. */
typedef struct pprofdelta_label {
    const char *key, *str;
    int64_t num;
    const char *num_unit;
} pprofdelta_label;

/* A line of source code in a stack. Strings end with a NUL; NULL is the empty string. Numbers are 0
 * if they are not known. */
typedef struct pprofdelta_frame {
    const char *name;        /* of the function */
    const char *system_name; /* the name that the linker uses (mangled); NULL: the same as name */
    const char *filename;
    int64_t start_line; /* of the function */
    int64_t line, column;
} pprofdelta_frame;

/* What an address stands for. All members are zero when the symbolizer is called. */
typedef struct pprofdelta_symbol {
    const pprofdelta_frame *frames; /* innermost first: inlined functions, then the function that
                                       contains them */
    size_t frames_len;              /* 0: not known; the profile has the address only */
    int hide; /* recorder only: leave the frame out if all frames before it, from the leaf on, are
                 left out, too (the internals of an allocator) */
} pprofdelta_symbol;

/* Sets *out to what stands at this address. What out->frames points to must stay valid until the
 * symbolizer is called again or the call of the library returns. It must not call the recorder or
 * the tracker that called it (but for functions that track), and must not fork.
 *
 * An address in a mapping is written with its mapping and its frames. An address in no mapping that
 * has frames is identified by them: its location is written without an address, and two addresses
 * with equal frames are one location. So the address may be any number, such as the number of an
 * interpreter's frame (see PPROFDELTA_NO_MAPPINGS). An address in no mapping and without frames is
 * written as an address. */
typedef void pprofdelta_symbolizer(void *cookie, uint64_t address, pprofdelta_symbol *out);

/* ---------------------------------------------------------------------------------------------
 * fork
 * ------------------------------------------------------------------------------------------ */

/* What is to be done around fork(2), on the thread that forks, for an object that several threads
 * use: pprofdelta_heap_fork, pprofdelta_builder_fork. pthread_atfork(3) may do so. An object that is
 * used by one thread at a time is a copy in the child; free it there and make a new one, since two
 * processes must not continue one series of windows. */
typedef enum pprofdelta_fork {
    /* Before fork(2): waits for the other threads and takes all locks. */
    PPROFDELTA_FORK_PREPARE = 0,
    PPROFDELTA_FORK_PARENT, /* after it, in the parent, also if it failed */
    PPROFDELTA_FORK_CHILD,  /* after it, in the child */
    PPROFDELTA_FORK_LOST,   /* after it, in a child without PREPARE: see pprofdelta_heap_fork */
    PPROFDELTA_FORK_ANEW    /* no fork; between PREPARE and PARENT: see pprofdelta_heap_fork */
} pprofdelta_fork;

/* ---------------------------------------------------------------------------------------------
 * Numbers in reports
 * ------------------------------------------------------------------------------------------ */

/* A sum of 64-bit values in two's complement. 128 bits: it never overflows. */
typedef struct pprofdelta_sum {
    uint64_t lo;
    int64_t hi;
} pprofdelta_sum;

PPROFDELTA_END
#endif
