/* pprofdelta_profile: one profile: what it has, its bytes, and how it is written again.
 *
 *     pprofdelta_profile *profile;
 *     pprofdelta_census census = {.size = sizeof census};
 *     if (pprofdelta_profile_open(NULL, NULL, bytes, len, &profile, &err) == PPROFDELTA_OK) {
 *         pprofdelta_profile_census(profile, &census);
 *         printf("%llu samples\n", (unsigned long long)census.samples);
 *         pprofdelta_profile_free(profile);
 *     }
 */
#ifndef PPROFDELTA_PROFILE_H
#define PPROFDELTA_PROFILE_H

#include "pprofdelta.h"

PPROFDELTA_BEGIN

/* What a valid profile has. */
typedef struct pprofdelta_census {
    size_t size; /* the caller sets it to sizeof(pprofdelta_census) */
    /* Static: "gzip", "zstd", or "plain"; for what is not compressed and no pprof profile, "text"
     * (a text heap profile) or "otlp" (an OTLP request). */
    const char *format;
    uint64_t inflated_len; /* bytes of the profile, the text or the request, not compressed */
    uint64_t types, samples, mappings, locations, functions, strings;
    uint64_t by_address, by_lines;
    uint64_t unknown_fields;
    int64_t time_nanos, duration_nanos;
    int is_stamped;         /* 1: a delta that pprofdelta wrote */
    pprofdelta_stamp stamp; /* is_delta is also 0 if the stamp is not valid */
    /* The file and the build id of the first mapping, which is the main binary. Empty if unknown.
     * Not NUL-terminated. Valid as long as the profile. */
    const char *binary, *build_id;
    size_t binary_len, build_id_len;
    /* An OTLP request: one ExportProfilesServiceRequest of
     * opentelemetry.proto.collector.profiles.v1development, inflated; NULL: the file is none. Valid
     * until the next call on the profile. */
    const uint8_t *request;
    size_t request_len;
    uint64_t resources, scopes, profiles; /* of a request; else 0 */
    uint64_t timestamps, links; /* that its samples have; they are labels of the profile */
    /* Not in the pprof profile: original payloads, and attributes of mappings, locations and
     * profiles that a pprof profile has no field for. */
    uint64_t payloads, other_attributes;
} pprofdelta_census;

typedef struct pprofdelta_profile pprofdelta_profile;

/* Opens a profile, or an OTLP request, and checks all of it, as pprofdelta_window does. The bytes are
 * borrowed until pprofdelta_profile_free. Of the options, max_memory counts, and for
 * pprofdelta_profile_rewrite the compression, the level, the format and the resource. options and
 * allocator may be NULL.
 *
 * The samples of a request share stacks, attributes and resources; those of a pprof profile have a
 * copy each. So the profile of a request may be larger than the request. Returns E_LIMIT if the
 * conversion makes more than 512 times the bytes of the inflated request and 64 MiB, or takes more
 * than max_memory. */
PPROFDELTA_API pprofdelta_status pprofdelta_profile_open(const pprofdelta_options *options,
    const pprofdelta_allocator *allocator, const void *bytes, size_t len, pprofdelta_profile **out,
    pprofdelta_error *err);

/* Frees the profile, and what was returned of it. profile may be NULL. */
PPROFDELTA_API void pprofdelta_profile_free(pprofdelta_profile *profile);

/* Sets *out to what the profile has: of a request, what the profile has that is made of it. E_USAGE if
 * out->size is not set. */
PPROFDELTA_API pprofdelta_status pprofdelta_profile_census(
    const pprofdelta_profile *profile, pprofdelta_census *out);

/* Sets *out to the inflated bytes of the pprof profile. A text heap profile is converted to an
 * unsampled profile, and an OTLP request to one profile with all its samples. The bytes belong to the
 * profile and are valid until the next call on it, or are those that were opened if they are plain. */
PPROFDELTA_API pprofdelta_status pprofdelta_profile_bytes(
    pprofdelta_profile *profile, const uint8_t **out, size_t *out_len, pprofdelta_error *err);

/* Writes the profile again in the compact form: all samples with their values, in their order, and
 * only what they use. The stamp stays. For profiles whose tables the caller has changed. */
PPROFDELTA_API pprofdelta_status pprofdelta_profile_rewrite(
    pprofdelta_profile *profile, const pprofdelta_sink *sink, pprofdelta_error *err);

/* The kind of a file. */
typedef enum pprofdelta_file_kind {
    PPROFDELTA_FILE_UNKNOWN = 0, /* none of these */
    PPROFDELTA_FILE_EMPTY,       /* no byte, or compressed data without content */
    PPROFDELTA_FILE_PROFILE,     /* a pprof profile, perhaps damaged */
    PPROFDELTA_FILE_STATE,       /* written by pprofdelta_save */
    PPROFDELTA_FILE_HTML,        /* an HTML page */
    PPROFDELTA_FILE_OTHER,       /* another kind that has a name */
    PPROFDELTA_FILE_OTLP,        /* an OTLP request with profiles, perhaps damaged */
    PPROFDELTA_FILE_TEXT,        /* a text heap profile that pprofdelta_profile_bytes converts */
    PPROFDELTA_FILE_ARROW        /* a table in Arrow's IPC file format */
} pprofdelta_file_kind;

/* Finds the kind of a file from head[0..len): the whole file, or its first 64 KiB. They may be
 * compressed (gzip or zstd). *name is a static noun with its article ("a zip archive"). Compressed
 * data that cannot be inflated is PPROFDELTA_FILE_UNKNOWN. Returns E_LIMIT if a zstd frame needs a
 * window of more than PPROFDELTA_DEFAULT_MAX_MEMORY. */
PPROFDELTA_API pprofdelta_status pprofdelta_identify(const void *head, size_t len,
    pprofdelta_file_kind *kind, const char **name, pprofdelta_error *err);

PPROFDELTA_END
#endif
