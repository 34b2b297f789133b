#include "profile/samples.h"

#include "base/sum.h"

/* How far behind a record the quick way may look. */
enum { SLACK = 8 };

/* The next sample record: where it starts and its body. */
static inline bool next_sample(pd_reader *top, const uint8_t **start, pd_reader *body)
{
    while (!pd_reader_expect(top, PD_TAG_SAMPLE, start, body)) {
        pd_field f;
        if (!pd_reader_next(top, &f))
            return false;
        if (f.number == PD_PROFILE_SAMPLE) {
            *start = f.start;
            *body = f.body;
            return true;
        }
    }
    return true;
}

pprofdelta_status pd_samples_read(pd_tables *tables, const pd_stack_numbers *numbers,
                                  const pd_columns *columns, pd_window *window, pd_mem *mem,
                                  pprofdelta_error *err)
{
    pd_sample_reader r = {.parse = {.mem = mem, .err = err, .zero = tables->bytes.ptr},
                          .tables = tables,
                          .numbers = numbers,
                          .columns = columns};
    const uint8_t *end = tables->bytes.ptr + tables->bytes.len, *start;
    pd_reader top = pd_reader_of(tables->bytes.ptr + tables->samples_off,
                                 tables->bytes.len - tables->samples_off);
    pd_reader body;
    pd_sample s;
    for (size_t i = 0; i < tables->samples && next_sample(&top, &start, &body); i++) {
        r.parse.element = i;
        if (end - body.end < SLACK || !pd_sample_read_quick(&r, body, &s))
            pd_sample_read(&r, body, &s);
        pprofdelta_status status = r.parse.status;
        if (window && !status)
            status = pd_window_add(window, mem, pd_stack_hash_key(&s.stack),
                                   pd_parse_offset(&r.parse, start), s.values, err);
        if (__builtin_expect(status != PPROFDELTA_OK, 0))
            return status;
    }
    tables->unknown_fields += r.parse.unknown_fields;
    return PPROFDELTA_OK;
}

static void sum_values(pd_reader body, pprofdelta_sum *sums)
{
    size_t column = 0;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        uint64_t value = f.value;
        if (f.number != PD_SAMPLE_VALUE)
            continue;
        if (f.wire == PD_WIRE_VARINT)
            pd_sum_add(&sums[column++], (int64_t)value);
        else
            while (pd_reader_varint(&f.body, &value))
                pd_sum_add(&sums[column++], (int64_t)value);
    }
}

void pd_samples_sum(const pd_tables *tables, pprofdelta_sum *sums)
{
    pd_reader top = pd_reader_of(tables->bytes.ptr, tables->bytes.len);
    pd_field f;
    while (pd_reader_next(&top, &f))
        if (f.number == PD_PROFILE_SAMPLE)
            sum_values(f.body, sums);
}
