/* The library as a WebAssembly module. An instance has one context and one sum. */
#include "delta/context.h"
#include "glue.h"
#include "recorded.h"

/* ---- the context --------------------------------------------------------------------------------- */

static pprofdelta *context;

/* Makes the context anew, with the options in the room. */
EXPORT(pd_new)(void)
{
    pprofdelta_options options;
    given_texts texts = {0};
    begin();
    pprofdelta_free(context);
    context = NULL;
    pprofdelta_status status = read_options(&options, &texts);
    if (!status)
        status = pprofdelta_new(&options, NULL, &context, &error);
    free_texts(&texts);
    return finish(status);
}

typedef struct reading {
    const uint8_t *at;
    size_t left;
} reading;

static int read_some(void *cookie, void *buf, size_t len, size_t *got)
{
    reading *from = cookie;
    *got = len < from->left ? len : from->left;
    if (*got)
        memcpy(buf, from->at, *got);
    from->at += *got;
    from->left -= *got;
    return 0;
}

/* Loads the state in the room. */
EXPORT(pd_load)(uint32_t len)
{
    reading from = {room.ptr, len};
    const pprofdelta_source source = {read_some, &from};
    begin();
    make_room(&context->mem, len);
    return finish(pprofdelta_load(context, &source, &error));
}

/* Writes the state. */
EXPORT(pd_save)(void)
{
    begin();
    return finish(pprofdelta_save(context, &sink, &error));
}

EXPORT(pd_base)(uint32_t len)
{
    begin();
    make_room(&context->mem, len);
    return finish(pprofdelta_base(context, room.ptr, len, &error));
}

/* The profile is in the room. Writes the delta. The answer is the report. The window is pending. */
EXPORT(pd_window)(uint32_t len, int64_t started_nanos)
{
    pprofdelta_report report = {.size = sizeof report};
    begin();
    make_room(&context->mem, len);
    pprofdelta_set_started(context, started_nanos);
    pprofdelta_status status = pprofdelta_window(context, room.ptr, len, &sink, &report, &error);
    if (!status)
        put_report(&report);
    return finish(status);
}

EXPORT(pd_commit)(void)
{
    begin();
    (void)pprofdelta_commit(context); /* without a window there is nothing to commit */
    return finish(PPROFDELTA_OK);
}

EXPORT(pd_abandon)(void)
{
    begin();
    pprofdelta_abandon(context);
    return finish(PPROFDELTA_OK);
}

/* The answer is the pprofdelta_memory. */
EXPORT(pd_describe)(void)
{
    pprofdelta_memory memory = {.size = sizeof memory};
    begin();
    pprofdelta_describe(context, &memory);
    put_memory(&memory);
    return finish(PPROFDELTA_OK);
}

EXPORT(pd_check)(uint32_t len)
{
    pprofdelta_census census = {.size = sizeof census};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_profile *profile;
    begin();
    options.max_memory = for_arrays(len);
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta_status status =
        pprofdelta_profile_open(&options, NULL, room.ptr, len, &profile, &error);
    if (!status) {
        pprofdelta_profile_census(profile, &census);
        put_census(&census);
        pprofdelta_profile_free(profile);
    }
    return finish(status);
}

/* ---- the sum ------------------------------------------------------------------------------------- */

static pprofdelta_adder *adder;

/* Begins a sum, with the options in the room. */
EXPORT(pd_sum_new)(void)
{
    pprofdelta_options options;
    given_texts texts = {0};
    begin();
    pprofdelta_adder_free(adder);
    adder = NULL;
    pprofdelta_status status = read_options(&options, &texts);
    if (!status)
        status = pprofdelta_adder_new(&options, NULL, &adder, &error);
    free_texts(&texts);
    return finish(status);
}

/* The answer is the pprofdelta_join. */
EXPORT(pd_sum_add)(uint32_t len)
{
    pprofdelta_join join;
    begin();
    make_room(pd_adder_mem(adder), len);
    pprofdelta_status status = pprofdelta_adder_add(adder, room.ptr, len, &join, &error);
    if (!status)
        put32((uint32_t)join);
    return finish(status);
}

/* Writes the sum, which is gone afterwards. */
EXPORT(pd_sum_finish)(void)
{
    begin();
    pprofdelta_status status = pprofdelta_adder_finish(adder, &sink, &error);
    pprofdelta_adder_free(adder);
    adder = NULL;
    return finish(status);
}
