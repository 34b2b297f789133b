/* What the fuzz targets of whole profiles share: a broken promise ends the run and says which. */
#ifndef PD_TESTS_FUZZ_H
#define PD_TESTS_FUZZ_H

#include "census.h"
#include "codec/source.h"
#include "pprofdelta.h"
#include "text/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_MAX_MEMORY (UINT64_C(64) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern size_t fuzz_reader_quick;  /* of fuzz_reader.c: samples that the quick reader took */
extern size_t fuzz_delta_starved; /* of fuzz_delta.c: so many allocations fail in turn */

#define require(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Opens the file as a whole. End the source in any case. */
static inline int fuzz_inflate(pd_source *source, pd_mem *mem, const uint8_t *data, size_t size)
{
    *source = (pd_source){0};
    pd_mem_init(mem, NULL, FUZZ_MAX_MEMORY);
    return !pd_source_open(source, mem, (pd_bytes){data, size}, 0, NULL);
}

/* census_of, within the limit of all targets. */
static inline pprofdelta_status fuzz_census(const void *bytes, size_t len, pprofdelta_census *out,
                                            pprofdelta_error *err)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    return census_within(&options, NULL, bytes, len, out, err);
}

/* A heap profile in text form: fuzz_text's, whatever it comes packed in. */
static inline int fuzz_is_text(const uint8_t *data, size_t size)
{
    pd_mem mem;
    pd_source source;
    pd_records records;
    int is_text =
        fuzz_inflate(&source, &mem, data, size) && pd_records_begin(&records, source.whole);
    pd_source_end(&source);
    return is_text;
}

/* An error struct that no failure leaves like this. */
static inline pprofdelta_error fuzz_unfilled(void)
{
    pprofdelta_error err;
    memset(&err, 0x5a, sizeof err);
    return err;
}

/* A success leaves the struct alone. */
static inline void fuzz_require_untouched(const pprofdelta_error *err)
{
    const unsigned char *byte = (const unsigned char *)err;
    for (size_t i = 0; i < sizeof *err; i++)
        require(byte[i] == 0x5a);
}

/* A failure fills all of it in, and points into the input: `len` bytes as they came, `inflated_len`
 * where they could be inflated. */
static inline void fuzz_require_filled(const pprofdelta_error *err, pprofdelta_status status,
                                       size_t len, size_t inflated_len)
{
    require(err->status == status);
    require(err->stage <= PPROFDELTA_STAGE_RECOVER);
    require(memchr(err->text, 0, sizeof err->text) && err->text[0]);
    require(err->element == PPROFDELTA_NOWHERE ||
            err->stage == PPROFDELTA_STAGE_SUM || /* which input */
            (err->field[0] && err->element < inflated_len));
    size_t most = err->stage != PPROFDELTA_STAGE_INFLATE ? inflated_len : len;
    require(err->offset == PPROFDELTA_NOWHERE || err->offset <= most);
}

/* Whether a call without an input went well or not. */
static inline void fuzz_require_told(const pprofdelta_error *err, pprofdelta_status status)
{
    if (status)
        fuzz_require_filled(err, status, 0, 0);
    else
        fuzz_require_untouched(err);
}

/* wrong: what is wrong, or NULL. */
static inline void fuzz_agree(const char *wrong)
{
    if (wrong)
        fprintf(stderr, "%s\n", wrong);
    require(!wrong);
}

#endif
