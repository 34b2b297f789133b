#include "profile/samples.h"

#include "base/processor.h"
#include "base/sum.h"

bool pd_sample_next_far(pd_reader *top, const uint8_t **start, pd_reader *body)
{
    pd_field f = {0};
    while (pd_reader_next_quick(top, &f))
        if (f.number == PD_PROFILE_SAMPLE) {
            *start = f.start;
            *body = f.body;
            return true;
        }
    return false;
}

pd_sample_run *pd_sample_run_best(void)
{
    return pd_has_avx512() ? pd_sample_run_avx512 : pd_sample_run_portable;
}

pd_sample_values *pd_sample_values_best(void)
{
    return pd_has_avx512() ? pd_sample_values_avx512 : pd_sample_values_portable;
}

pprofdelta_status pd_samples_read(pd_sample_reader *r, pd_reader *top, pd_sample_taker taker)
{
    pd_sample_run *run = pd_sample_run_best();
    size_t samples = r->tables->samples;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && r->parse.element < samples) {
        const uint8_t *start;
        pd_reader body;
        pd_sample s;
        status = run(r, top, taker);
        if (status || r->parse.element >= samples || !pd_sample_next(top, &start, &body))
            break;
        pd_sample_read(r, body, &s);
        status = r->parse.status;
        if (!status)
            status = pd_sample_take(taker, &r->parse, pd_identity_key(&s.stack), start, s.values);
        r->parse.element++;
    }
    return status;
}

pprofdelta_status pd_samples_meet(pd_sample_reader *r, pd_reader *top, const pd_sample_keys *keys,
                                  pd_window *window)
{
    pd_sample_values *quick = pd_sample_values_best();
    pd_sample_taker taker = {.window = window};
    pd_reader body;
    const uint8_t *start;
    pd_sample s;
    pprofdelta_status status = PPROFDELTA_OK;
    const size_t end = keys->first + keys->len;
    while (!status && r->parse.element < end && pd_sample_next(top, &start, &body)) {
        pd_reader_ask_ahead(body.end);
        if (top->end - body.end < PD_QUICK_SLACK || !quick(r->columns, body.at, body.end, s.values))
            pd_sample_read(r, body, &s);
        size_t nth = (size_t)r->parse.element++ - keys->first;
        status = pd_sample_take(taker, &r->parse, keys->keys[nth], start, s.values);
    }
    return status;
}

void pd_sample_values_read(pd_reader body, int64_t *values)
{
    size_t column = 0;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        uint64_t value = f.value;
        if (f.number != PD_SAMPLE_VALUE)
            continue;
        if (f.wire == PD_WIRE_VARINT)
            values[column++] = (int64_t)value;
        else
            while (pd_reader_varint(&f.body, &value))
                values[column++] = (int64_t)value;
    }
}

void pd_samples_sum(pd_reader *top, size_t types_len, pprofdelta_sum *sums)
{
    int64_t values[PPROFDELTA_MAX_TYPES] = {0};
    pd_field f;
    while (pd_reader_next(top, &f)) {
        if (f.number != PD_PROFILE_SAMPLE)
            continue;
        pd_sample_values_read(f.body, values);
        for (size_t i = 0; i < types_len; i++)
            pd_sum_add(&sums[i], values[i]);
    }
}
