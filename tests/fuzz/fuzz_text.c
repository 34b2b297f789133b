/* Any two texts as heap profiles of one process: they are refused with a reason, or what they stand
 * for is a valid profile, and their delta is one too and adds up.
 *
 * A 0 byte parts the input; without one it is both. */
#include "fuzz.h"
#include "run.h"

/* What it stands for is a profile, and its census is that of the text. */
static int read_text(const uint8_t *text, size_t len)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_census census = {.size = sizeof census}, again;
    pprofdelta_profile *profile;
    const uint8_t *out;
    size_t out_len;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    pprofdelta_status status = pprofdelta_profile_open(&options, NULL, text, len, &profile, &err);
    if (status) {
        fuzz_require_filled(&err, status, len, len);
        return 0;
    }
    fuzz_require_untouched(&err);
    pprofdelta_profile_census(profile, &census);
    require(!pprofdelta_profile_bytes(profile, &out, &out_len, NULL));
    require(!fuzz_census(out, out_len, &again, NULL));
    require(census.samples == again.samples && census.locations == again.locations &&
            census.mappings == again.mappings && census.strings == again.strings &&
            census.types == again.types);
    pprofdelta_profile_free(profile);
    return 1;
}

static void subtract(const uint8_t *prev, size_t prev_len, const uint8_t *cur, size_t cur_len)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    options.compression = PPROFDELTA_PLAIN;
    options.flags = PPROFDELTA_VERIFY;
    pprofdelta *context = NULL;
    require(pprofdelta_new(&options, NULL, &context, NULL) == PPROFDELTA_OK);
    arena a = {0};
    collector out = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&out);
    pprofdelta_error err = fuzz_unfilled();
    if (pprofdelta_base(context, prev, prev_len, &err) == PPROFDELTA_OK) {
        pprofdelta_status status = pprofdelta_window(context, cur, cur_len, &sink, NULL, &err);
        require(status == PPROFDELTA_OK || status == PPROFDELTA_E_MISMATCH ||
                status == PPROFDELTA_E_LIMIT || status == PPROFDELTA_E_INFLATE ||
                status == PPROFDELTA_E_PROFILE || status == PPROFDELTA_E_WIRE ||
                status == PPROFDELTA_E_OLDER || status == PPROFDELTA_E_OTHER_TARGET);
        if (!status)
            require(!fuzz_census(out.bytes.ptr, out.bytes.len, NULL, NULL));
    }
    pprofdelta_free(context);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *part = size ? memchr(data, 0, size) : NULL;
    size_t first = part ? (size_t)(part - data) : size, skipped = part ? first + 1 : 0;
    pd_records records;
    if (!pd_records_begin(&records, (pd_bytes){data, first}))
        return 0;
    if (read_text(data, first))
        subtract(data, first, data + skipped, size - skipped);
    return 0;
}
