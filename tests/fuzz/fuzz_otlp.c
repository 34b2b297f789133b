/* Any bytes as an OTLP request: the reader refuses them with a reason, or it makes a valid profile
 * that means what protobuf-c reads in the request. A smaller memory limit and a second call give the
 * same result or a refusal. A first window of the request means the same, in both formats, and a second one has no
 * counters. The window as a request has the form that the manual promises (otlp_form.h).
 *
 * Bytes that do not have the shape of a request are given to the reader all the same. */
#include "fuzz.h"

#include "delta/kind.h"
#include "otlp/request.h"
#include "otlp_form.h"
#include "otlp_points.h"
#include "run.h"

enum { MOST = 32 << 10 }; /* larger inputs take long and find nothing more */

static otlp_lines points_of(arena *a, const void *bytes, size_t len, pprofdelta_format format)
{
    otlp_lines points;
    if (format == PPROFDELTA_OTLP) {
        Pd__Otlp__Request *request = pd__otlp__request__unpack(NULL, len, bytes);
        require(request);
        points = otlp_points_of_request(a, request);
        pd__otlp__request__free_unpacked(request, NULL);
        return points;
    }
    Pd__View__Profile *profile = pd__view__profile__unpack(NULL, len, bytes);
    require(profile);
    points = otlp_points_of_profile(a, profile);
    pd__view__profile__free_unpacked(profile, NULL);
    return points;
}

static void require_same_points(pd_bytes request, pd_bytes made, pprofdelta_format format)
{
    arena a = {NULL};
    otlp_lines want = points_of(&a, request.ptr, request.len, PPROFDELTA_OTLP);
    otlp_lines got = points_of(&a, made.ptr, made.len, format);
    fuzz_agree(otlp_lines_differ(&a, &got, &want));
    arena_free(&a);
}

static void require_valid(pd_bytes made)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = fuzz_census(made.ptr, made.len, NULL, &err);
    if (status)
        fprintf(stderr, "%s: %s\n", err.field, err.text);
    require(!status || status == PPROFDELTA_E_LIMIT);
}

/* protobuf-c takes tags and lengths of at most 5 bytes. */
static int is_readable(const uint8_t *data, size_t size)
{
    Pd__Otlp__Request *request = pd__otlp__request__unpack(NULL, size, data);
    if (request)
        pd__otlp__request__free_unpacked(request, NULL);
    return request != NULL;
}

static void with_less(const uint8_t *data, size_t size, uint64_t limit, pd_bytes whole)
{
    pd_mem mem;
    pd_request less = {.takes_several = true};
    pd_bytes bytes = {data, size};
    pprofdelta_error err = fuzz_unfilled();
    pd_mem_init(&mem, NULL, limit);
    pprofdelta_status status = pd_request_read(&less, &mem, &bytes, &err);
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT);
    if (!status)
        require(bytes.len == whole.len && !memcmp(bytes.ptr, whole.ptr, whole.len));
    pd_mem_drop(&mem);
    require(mem.used == 0);
}

/* Labels of a resource or a scope that has no profile are only in what check and show make of the request. */
static int is_of_one_scope(const uint8_t *data, size_t size)
{
    Pd__Otlp__Request *request = pd__otlp__request__unpack(NULL, size, data);
    int is_one =
        request->n_resource_profiles == 1 && request->resource_profiles[0]->n_scope_profiles == 1;
    pd__otlp__request__free_unpacked(request, NULL);
    return is_one;
}

static uint64_t place_of(const Pd__Otlp__Dictionary *d, const Pd__Otlp__Location *l)
{
    return l->address - d->mapping_table[l->mapping_index]->memory_start;
}

/* In a file, an address is known by itself: of two locations with one address, a window has the lines of the first. */
static int has_equal_places(const uint8_t *data, size_t size)
{
    Pd__Otlp__Request *request = pd__otlp__request__unpack(NULL, size, data);
    const Pd__Otlp__Dictionary *d = request->dictionary;
    int has = 0;
    for (size_t i = 1; d && i < d->n_location_table && !has; i++)
        for (size_t k = 1; k < i && !has; k++)
            has = d->location_table[i]->mapping_index && d->location_table[k]->mapping_index &&
                  place_of(d, d->location_table[i]) == place_of(d, d->location_table[k]);
    pd__otlp__request__free_unpacked(request, NULL);
    return has;
}

/* Does a window read the bytes as a request? By their shape, they may also be a profile. */
static int is_told(const uint8_t *data, size_t size)
{
    pprofdelta_file_kind kind;
    const char *what;
    return !pprofdelta_identify(data, size, &kind, &what, NULL) && kind == PPROFDELTA_FILE_OTLP;
}

static void windows(const uint8_t *data, size_t size, pprofdelta_format format)
{
    arena a = {NULL};
    pprofdelta *pd;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_report report = {.size = sizeof report};
    collector c = {.bytes = buf_begin(&a)}, again = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c), second = collector_sink(&again);
    options.flags = PPROFDELTA_FORCE | PPROFDELTA_VERIFY | PPROFDELTA_NO_STAMP;
    options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
    options.compression = PPROFDELTA_PLAIN;
    options.format = format;
    options.max_memory = FUZZ_MAX_MEMORY;
    require(!pprofdelta_new(&options, NULL, &pd, NULL));
    pprofdelta_status status = pprofdelta_window(pd, data, size, &sink, NULL, NULL);
    require(!status || status == PPROFDELTA_E_LIMIT || status == PPROFDELTA_E_MISMATCH ||
            status == PPROFDELTA_E_PROFILE);
    if (!status && is_of_one_scope(data, size) && !has_equal_places(data, size))
        require_same_points((pd_bytes){data, size}, (pd_bytes){c.bytes.ptr, c.bytes.len}, format);
    if (!status && format == PPROFDELTA_OTLP && c.bytes.len)
        fuzz_agree(otlp_form_wrong_bytes(&a, c.bytes.ptr, c.bytes.len));
    if (!status) {
        pprofdelta_commit(pd);
        status = pprofdelta_window(pd, data, size, &second, &report, NULL);
        require(!status || status == PPROFDELTA_E_LIMIT);
    }
    for (size_t i = 0; i < report.types_len && !status; i++)
        require(!report.types[i].is_counter ||
                !(report.types[i].delta.lo | (uint64_t)report.types[i].delta.hi));
    pprofdelta_free(pd);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pd_mem mem;
    pd_request otlp = {.takes_several = true};
    pd_bytes bytes = {data, size};
    pprofdelta_error err = fuzz_unfilled();
    if (size > MOST)
        return 0;
    pd_mem_init(&mem, NULL, FUZZ_MAX_MEMORY);
    pd_kind_of(bytes);
    pprofdelta_status status = pd_request_read(&otlp, &mem, &bytes, &err);
    if (status) {
        require(status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE ||
                status == PPROFDELTA_E_LIMIT);
        fuzz_require_filled(&err, status, size, size);
    } else {
        fuzz_require_untouched(&err);
        require_valid(bytes);
        if (is_readable(data, size))
            require_same_points((pd_bytes){data, size}, bytes, PPROFDELTA_PPROF);
        if (is_readable(data, size) && is_told(data, size)) {
            windows(data, size, PPROFDELTA_PPROF);
            windows(data, size, PPROFDELTA_OTLP);
        }
        with_less(data, size, mem.peak / 2 + 1, bytes);
        with_less(data, size, mem.peak, bytes);
    }
    pd_mem_drop(&mem);
    require(mem.used == 0);
    return 0;
}
