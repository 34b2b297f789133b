/* Unsampling the long way: what each record is to have said, by numbers that are not rounded,
 * beside what its windows said. */
#ifndef PD_TESTS_FUZZ_ACCOUNTS_H
#define PD_TESTS_FUZZ_ACCOUNTS_H

#include "compare.h"
#include "fuzz.h"
#include "process.h"

typedef struct account {
    const char *key; /* the record's stack and labels */
    long double owed[PPROFDELTA_MAX_TYPES];
    long double said[PPROFDELTA_MAX_TYPES];
} account;

typedef struct accounts {
    account *ptr;
    size_t len, cap;
    unsigned forgotten; /* times that what was left behind the point may have been lost */
} accounts;

/* The record's block size is its one label of this name. */
static inline int64_t account_block_size(const expected_row *row)
{
    static const char name[] = "5:bytes0:";
    const char *at = strstr(row->labels, name);
    return at ? strtoll(at + sizeof name - 1, NULL, 10) : 0;
}

static inline long double account_factor(const process *p, const expected_row *row, size_t type)
{
    if (p->r.options.kind != PPROFDELTA_KIND_HEAP)
        return (long double)p->scales[type];
    int64_t objects = row->values[type / 2 * 2], bytes = row->values[type / 2 * 2 + 1];
    long double size = (long double)account_block_size(row), rate = (long double)p->look.period;
    if (size <= 0 && objects > 0)
        size = (long double)bytes / (long double)objects;
    return rate > 1 && size > 0 ? -1 / expm1l(-size / rate) : 1;
}

static inline account *account_of(accounts *all, arena *a, const char *key)
{
    for (size_t i = 0; i < all->len; i++)
        if (!strcmp(all->ptr[i].key, key))
            return &all->ptr[i];
    ARENA_PUSH(a, all->ptr, all->len, all->cap, (account){.key = arena_text(a, key)});
    return &all->ptr[all->len - 1];
}

static inline const char *account_key(arena *a, const char *stack, const char *labels)
{
    buf b = buf_begin(a);
    buf_text(&b, stack);
    buf_text(&b, labels);
    return buf_string(&b);
}

/* Is what was said what is owed, but for `roundings`? What 64 bits cannot hold is not looked at. */
static inline void account_require(long double said, long double owed, unsigned roundings)
{
    long double slack = 1e-3L + owed * 1e-12L;
    require(owed > 4e18L || fabsl(said - owed) <= 0.5L * roundings + slack);
}

/* Adds the window to the accounts, which have to balance. `values` are those of the sample in the
 * output, or NULL where there is none. */
static inline void account_add(const process *p, account *a, const expected_row *row,
                               const int64_t *values, unsigned forgotten)
{
    for (size_t i = 0; i < p->r.types_len; i++) {
        long double owed = account_factor(p, row, i) * (long double)row->values[i];
        long double said = values ? (long double)values[i] : 0;
        if (!p->r.types[i].is_counter) {
            account_require(said, owed, 1);
            continue;
        }
        a->owed[i] += owed;
        a->said[i] += said;
        account_require(a->said[i], a->owed[i], 1 + forgotten);
    }
}

/* Holds what is said of a window against what is expected of it, and enters it if it is remembered.
 * a: of the window; accounts live in the process's. */
static inline void accounts_settle(accounts *all, process *p, arena *a, const expectation *x,
                                   const reading *out, bool is_remembered)
{
    bool is_restart = x->report.restart != PPROFDELTA_RESTART_NONE;
    size_t found = 0;
    const char **keys = ARENA_ARRAY(a, const char *, out->samples_len);
    for (size_t n = 0; n < out->samples_len; n++)
        keys[n] = account_key(a, compare_stack(a, out, &out->samples[n]), out->samples[n].labels);
    for (size_t i = 0; i < x->rows_len; i++) {
        const expected_row *row = &x->rows[i];
        const char *key = account_key(a, row->stack, row->labels);
        const int64_t *values = NULL;
        for (size_t n = 0; n < out->samples_len && !values; n++)
            values = strcmp(keys[n], key) ? NULL : out->samples[n].values;
        found += values != NULL;
        account *kept = account_of(all, &p->r.arena, key), now = *kept;
        account_add(p, &now, row, values, all->forgotten + is_restart);
        if (is_remembered)
            *kept = now;
    }
    require(found == out->samples_len);
    if (is_remembered) /* and who vanished may be forgotten */
        all->forgotten += (unsigned)is_restart + (x->report.vanished != 0);
}

#endif
