/* The looks of a delta, each read in one pass (profile/once.h).
 *
 * The base is keyed by assumed names, and its naming tells what they mean; so what is remembered is
 * of no use to anybody else, and cannot be saved. A window assumes what the base did, and is right
 * or begins again. */
#include "parsed/context.h"
#include "profile/tables_quick.h"

/* From so many bytes on it is the quicker way, too. */
enum { LARGE = 8 << 20 };

static bool is_wanted(const pprofdelta *pd, const pd_look *look, const void *bytes, size_t len)
{
    if (!(pd->flags & PPROFDELTA_NO_SAVE) || pd->ahead || pd->way || !bytes ||
        pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return false;
    return pd_look_is_large(pd, look, bytes, len) || (pd_format_of(bytes, len) != PD_FORMAT_PLAIN &&
                                                      pd_inflate_announced(bytes, len) >= LARGE);
}

static bool begin(pprofdelta *pd, pd_look *look, const void *bytes, size_t len, pd_once *once)
{
    look->packed = (pd_bytes){bytes, len};
    look->is_streamed = true;
    look->is_kept = false;
    look->dump.rate = 0;
    look->dump.has_no_sums = false;
    pd_buffer_release(&pd->mem, &look->inflated);
    return !pd_look_stream(pd, look, NULL) &&
           pd_once_begin(once, &look->tables, &look->text, &look->stream, &pd->numbers, &pd->mem);
}

/* What Go's profiles have: two counters, and for a heap two gauges. */
static bool guess_columns(size_t types, pd_columns *columns)
{
    if (types != 2 && types != 4)
        return false;
    *columns = (pd_columns){.len = types};
    for (size_t i = 0; i < types; i++)
        columns->slot[i] = (uint8_t)i;
    return true;
}

static bool same_columns(const pd_columns *a, const pd_columns *b)
{
    return a->len == b->len && !memcmp(a->slot, b->slot, a->len);
}

/* Is the schema what was guessed, and does the look have its columns? */
static bool has_columns(pd_look *look, const pd_schema *schema, const pd_columns *guess)
{
    return !pd_schema_match(schema, look->names, look->tables.types_len, &look->columns, NULL) &&
           same_columns(&look->columns, guess);
}

/* Room for as many samples as a profile of that length usually has. What the file says of its length
 * is believed as far as profiles compress. */
static bool make_room(pprofdelta *pd, const void *bytes, size_t len)
{
    enum { USUAL = 64, RATIO = 8 }; /* bytes for a sample */
    uint64_t announced = pd_inflate_announced(bytes, len);
    announced = announced / RATIO < len ? announced : (uint64_t)len * RATIO;
    return !pd_ledger_reserve(&pd->spare, &pd->mem, (size_t)(announced / USUAL) + 16, NULL);
}

static bool read_base(pprofdelta *pd, pd_once *once, const void *bytes, size_t len)
{
    enum { COUNTERS = 2 };
    pd_look *look = &pd->cur;
    pd_columns guess;
    if (!guess_columns(look->tables.types_len, &guess))
        return false;
    pd_ledger_clear(&pd->spare, COUNTERS);
    if (!make_room(pd, bytes, len) ||
        !pd_once_read(once, &guess, (pd_sample_taker){.ledger = &pd->spare}))
        return false;
    pd_look_name_columns(look);
    if (pd_look_classify(pd, look, NULL) ||
        pd_schema_set(&pd->spare_schema, &pd->mem, look->names, guess.len, NULL) ||
        pd->spare_schema.counters != COUNTERS || !has_columns(look, &pd->spare_schema, &guess) ||
        !pd_naming_learn(&pd->spare_naming, &look->tables, &once->triples))
        return false;
    pd_ledger_settle(&pd->spare);
    pd->assumed = guess;
    return true;
}

bool pd_once_base(pprofdelta *pd, const void *bytes, size_t len)
{
    pd_look *look = &pd->cur;
    pd_once once;
    pd->spare_naming.is_set = false;
    look->tables.naming = NULL;
    if (!is_wanted(pd, look, bytes, len) || !begin(pd, look, bytes, len, &once))
        return false;
    if (!read_base(pd, &once, bytes, len)) {
        pd_ledger_release(&pd->spare, &pd->mem); /* its room was guessed */
        return false;
    }
    if (pd_look_is_large(pd, look, bytes, len))
        pd_ledger_trim(&pd->spare, &pd->mem, pd_ledger_roomy(pd->spare.keys.len));
    return true;
}

bool pd_once_window(pprofdelta *pd, const void *bytes, size_t len)
{
    enum { KEPT = 16 }; /* a part of what the limit has left */
    pd_look *look = &pd->cur;
    pd_once once;
    pd_columns guess = pd->assumed;
    look->tables.naming = pd->naming.is_set ? &pd->naming : NULL;
    if (!pd->naming.is_set || !pd->has_base || !is_wanted(pd, look, bytes, len) ||
        !begin(pd, look, bytes, len, &once) || look->tables.types_len != guess.len)
        return false;
    pd_window *window = &look->window;
    pd_window_abandon(window);
    if (pd_window_begin(window, &pd->mem, &pd->ledger, guess.len, pd->ledger.keys.len / 8, NULL))
        return false;
    window->skips_still = window->is_tight = true;
    pd_kept_begin(&look->kept, (size_t)(pd_mem_left(&pd->mem) / KEPT));
    look->is_kept = true;
    if (!pd_once_read(&once, &guess, (pd_sample_taker){.window = window, .kept = &look->kept}))
        return false;
    pd_look_name_columns(look);
    return has_columns(look, &pd->schema, &guess) &&
           pd_naming_agrees(&pd->naming, &look->tables, &once.triples);
}

bool pd_once_suits(pprofdelta *pd, const void *bytes, size_t len)
{
    pd_look *look = &pd->cur;
    const pd_tables *t = &look->tables;
    pd_once once;
    bool is_like_it = is_wanted(pd, look, bytes, len) && begin(pd, look, bytes, len, &once) &&
                      pd_tables_meets_sample(t, &once.top) && t->locations_len;
    pd_stream_rest(&look->stream);
    return is_like_it;
}
