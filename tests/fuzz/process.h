/* A process as the bytes of an input tell it: what kind of records it keeps, how they change, and
 * how it is looked at. What is done to the recorder, and what has to come of it, is
 * fuzz_records.c's. */
#ifndef PD_TESTS_FUZZ_PROCESS_H
#define PD_TESTS_FUZZ_PROCESS_H

#include "program.h"
#include "records.h"

#include <math.h>

enum { PROCESS_SITES = 12, PROCESS_MOST_ROWS = 24, PROCESS_DEEP = 300 };

typedef struct process {
    program in;
    records r;
    bool is_limited; /* there may be too little memory at any time */
    bool is_wild;    /* values that the oracle cannot add up, or a clock that was set back */
    bool is_sampled; /* some look may be */
    size_t renamed;  /* which names the sites have */
    pprofdelta_recording look;
    double scales[PPROFDELTA_MAX_TYPES]; /* of the look, but for a heap's */
} process;

static inline const char *process_name(size_t n)
{
    static const char *const names[] = {"main", "malloc", NULL, "", "f", "g", "main", "h"};
    return names[n % (sizeof names / sizeof *names)];
}

/* Which of the sites hide, and which names all have. */
static inline void process_name_sites(process *p, uint64_t hidden, size_t renamed)
{
    p->renamed = renamed;
    for (size_t i = 0; i < PROCESS_SITES; i++) {
        records_site *site = &p->r.sites[i];
        site->is_hidden = hidden >> i & 1;
        for (size_t n = 0; n < site->frames_len; n++)
            site->frames[n] =
                (pprofdelta_frame){process_name(i + n + renamed), process_name(i / 2 + renamed),
                                   process_name(i * n),           (int64_t)(i % 3),
                                   (int64_t)(i + renamed),        (int64_t)n};
    }
}

static inline void process_make_sites(process *p)
{
    p->r.sites_len = PROCESS_SITES;
    p->r.sites = ARENA_ARRAY(&p->r.arena, records_site, PROCESS_SITES);
    for (size_t i = 0; i < PROCESS_SITES; i++) {
        p->r.sites[i] = (records_site){.pc = 0x1000 + 16 * i, .frames_len = i % 4};
        p->r.sites[i].frames = ARENA_ARRAY(&p->r.arena, pprofdelta_frame, i % 4);
    }
    process_name_sites(p, program_number(&p->in), 0);
}

/* A name is always of the same kind, and may be there twice. */
static inline void process_make_types(process *p)
{
    static const pprofdelta_value_type some[] = {{"turns", "count", 1},
                                                 {"held", "count", 0},
                                                 {"turns", "bytes", 1},
                                                 {"alloc_space", "bytes", 0}};
    pprofdelta_recorder_options *o = &p->r.options;
    if (o->kind == PPROFDELTA_KIND_TYPES) {
        size_t len = 1 + program_below(&p->in, 8);
        unsigned which = program_byte(&p->in);
        o->types_len = len < 8 ? len : PPROFDELTA_MAX_TYPES;
        pprofdelta_value_type *types =
            ARENA_ARRAY(&p->r.arena, pprofdelta_value_type, o->types_len);
        for (size_t i = 0; i < o->types_len; i++)
            types[i] = some[i ? (which >> i * 2 % 8) % 4 : which % 2 * 2];
        o->types = types;
        o->period_type = which & 1 ? "turns" : NULL;
        o->default_type = which & 2 ? "held" : NULL;
    }
    records_use_types(&p->r);
}

static inline void process_begin(process *p)
{
    static const pprofdelta_on_reset modes[] = {PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_CLAMP,
                                                PPROFDELTA_ON_RESET_RESTART,
                                                PPROFDELTA_ON_RESET_FAIL};
    unsigned how = program_byte(&p->in), what = program_byte(&p->in);
    pprofdelta_recorder_options *o = &p->r.options;
    *o = (pprofdelta_recorder_options)PPROFDELTA_RECORDER_OPTIONS_INIT;
    o->kind = (pprofdelta_kind)(how % 3);
    o->on_reset = modes[what & 3];
    o->first = (pprofdelta_first)(what >> 2 & 1);
    o->flags = PPROFDELTA_NO_MAPPINGS;
    o->flags |= what & 8 ? PPROFDELTA_VERIFY : 0;
    o->flags |= what & 16 ? PPROFDELTA_BORROW_STACKS : 0;
    o->flags |= what & 32 ? PPROFDELTA_RETURN_ADDRESSES : 0;
    o->flags |= what & 64 ? PPROFDELTA_NO_STAMP : 0;
    o->symbolize = what & 128 ? NULL : records_symbolize;
    o->symbolize_cookie = &p->r;
    o->compression = how >= 252 ? (pprofdelta_compression)(how & 1) : PPROFDELTA_PLAIN;
    p->is_limited = how >= 240 && how < 252;
    o->max_memory = p->is_limited ? 20000 + 4000 * program_number(&p->in) % 200000 : 0;
    p->is_sampled = how >> 5 & 1;
    process_make_types(p);
    process_make_sites(p);
    p->r.time_nanos = 1000;
}

/* Sums of all that a program can name stay within 63 bits; what does not is wild. */
static inline int64_t process_read_value(process *p)
{
    uint64_t value = program_number(&p->in);
    p->is_wild |= value > UINT64_C(1) << 52;
    return (int64_t)value;
}

static inline void process_read_labels(process *p, records_row *row)
{
    static const pprofdelta_label some[] = {{"thread", "a", 0, NULL}, {"thread", "b", 0, NULL},
                                            {"size", NULL, 8, "kb"},  {"size", NULL, 8, NULL},
                                            {NULL, "a", 0, ""},       {"size", "", 0, "kb"},
                                            {"thread", "a", 7, "kb"}};
    row->labels_len = program_below(&p->in, 4);
    row->labels = ARENA_ARRAY(&p->r.arena, pprofdelta_label, row->labels_len);
    for (size_t i = 0; i < row->labels_len; i++)
        row->labels[i] = some[program_below(&p->in, sizeof some / sizeof *some)];
}

static inline void process_add_row(process *p)
{
    records *r = &p->r;
    unsigned shape = program_byte(&p->in);
    records_row row = {.depth = shape % 8 < 7 ? shape % 8 : PROCESS_DEEP};
    if (r->rows_len == PROCESS_MOST_ROWS)
        return;
    row.stack = ARENA_ARRAY(&r->arena, size_t, row.depth);
    size_t site = program_byte(&p->in);
    for (size_t i = 0; i < row.depth; i++) {
        site += row.depth == PROCESS_DEEP ? i * i : i ? program_byte(&p->in) : 0;
        row.stack[i] = site % PROCESS_SITES;
    }
    row.block_size = shape & 8 ? (int64_t)program_number(&p->in) : 0;
    if (shape & 16)
        process_read_labels(p, &row);
    if (shape & 32 && r->rows_len) { /* one that is there already */
        row = r->rows[site % r->rows_len];
        row.is_gone = false;
    }
    row.values = ARENA_ARRAY(&r->arena, int64_t, r->types_len);
    for (size_t i = 0; i < r->types_len; i++)
        row.values[i] = i < 4 ? process_read_value(p) : (int64_t)(i * site);
    ARENA_PUSH(&r->arena, r->rows, r->rows_len, r->rows_cap, row);
}

/* `how` says what becomes of a value, or of all of them. */
static inline void process_change(process *p, size_t how)
{
    records *r = &p->r;
    if (!r->rows_len)
        return;
    records_row *row = &r->rows[program_below(&p->in, r->rows_len)];
    int64_t *value = &row->values[program_below(&p->in, r->types_len)];
    if (how == 0)
        *value = (int64_t)((uint64_t)*value + (uint64_t)process_read_value(p));
    else if (how == 1)
        *value = process_read_value(p);
    else if (how == 2)
        row->is_gone = !row->is_gone;
    else
        for (size_t i = 0; i < r->rows_len * r->types_len; i++)
            r->rows[i / r->types_len].values[i % r->types_len] /= 2 + (*value & 3);
}

static inline bool process_is_number(double number)
{
    return isfinite(number) && number >= 0;
}

/* False: no such look is taken. */
static inline bool process_read_look(process *p, unsigned how)
{
    static const double some[] = {0, 1, 0.5, 0.01, 1.0 / 3, 2.5, 1e9, 2.4e9, -1, (double)NAN};
    pprofdelta_recording *look = &p->look;
    *look = (pprofdelta_recording){.time_nanos = p->r.time_nanos, .restarted = (how & 32) != 0};
    look->period = p->is_sampled ? (int64_t)program_number(&p->in) : how >> 6 & 1;
    p->r.period = look->period;
    bool is_good = true;
    for (size_t i = 0; i < p->r.types_len; i++)
        p->scales[i] = 1;
    if (p->is_sampled && p->r.options.kind == PPROFDELTA_KIND_CONTENTION) {
        double fraction = look->fraction = some[program_below(&p->in, 10)];
        double cycles = look->cycles_per_second = some[program_below(&p->in, 10)];
        is_good = process_is_number(fraction) && fraction <= 1 && process_is_number(cycles);
        p->scales[0] = fraction > 0 ? 1 / fraction : 1;
        p->scales[1] = (cycles > 0 ? 1e9 / cycles : 1) / (fraction > 0 ? fraction : 1);
    }
    if (p->is_sampled && p->r.options.kind == PPROFDELTA_KIND_TYPES) {
        for (size_t i = 0; i < p->r.types_len; i++) {
            p->scales[i] = i < 4 ? some[program_below(&p->in, 10)] : 1;
            is_good &= process_is_number(p->scales[i]) && p->scales[i] > 0;
        }
        look->scales = p->scales;
    }
    return is_good;
}

static inline bool process_is_scaled(const process *p)
{
    bool is_any = p->r.options.kind == PPROFDELTA_KIND_HEAP && p->look.period > 1;
    for (size_t i = 0; i < p->r.types_len; i++)
        is_any |= p->scales[i] != 1;
    return is_any;
}

#endif
