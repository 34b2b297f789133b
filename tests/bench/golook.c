/* Writes a profile in one of two orders. As Go's runtime does:
 *
 *     period type, period, sample types
 *     for each sample, the newest first:
 *         the locations that no earlier sample has, each followed by its new functions
 *         the sample: values, location ids (packed if more than two), the label "bytes"
 *     time, mapping, string table
 *
 * By field numbers, as google/pprof does, and inside of messages, too:
 *
 *     sample types, samples (the newest first), mapping, locations, functions, string table,
 *     time, period type, period
 *
 * Both give ids and string indices in the order of first use: a sample that is new in a profile
 * changes the ids of everything after it. */
#include "golook.h"
#include "wire/writer.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAPPING_START UINT64_C(0x400000)
#define SAMPLING_RATE 524288

static const char *const types[TYPES][2] = {{"alloc_objects", "count"},
                                            {"alloc_space", "bytes"},
                                            {"inuse_objects", "count"},
                                            {"inuse_space", "bytes"}};

typedef struct look {
    const process *process;
    golook_order order;
    pd_mem mem;
    pd_writer writer;
    pd_buffer out, part, inner; /* the profile; the message and the message in it being written */
    pd_buffer late_locations, late_functions; /* what follows the samples, by field numbers */
    pd_buffer *locations, *functions;         /* where they are written: there, or to out */
    pd_buffer strings;                        /* the table, as on the wire */
    uint64_t strings_len;
    uint32_t *location_ids, *function_ids; /* by site, by function; 0: not used yet */
    uint32_t *file_strings;                /* by type; a type has a file */
    uint32_t locations_len, functions_len;
} look;

static void varint(look *l, pd_buffer *buffer, uint32_t field, uint64_t value)
{
    pd_write_varint(&l->writer, buffer, field, value);
}

static uint64_t add_string(look *l, const char *text)
{
    pd_write_bytes(&l->writer, &l->strings, 6, (const uint8_t *)text, strlen(text));
    return l->strings_len++;
}

/* ---- the header ------------------------------------------------------------------------------ */

enum { STRING_SPACE = 1, STRING_BYTES }; /* the first two strings, in both orders */

static void write_period(look *l)
{
    varint(l, &l->part, 1, STRING_SPACE);
    varint(l, &l->part, 2, STRING_BYTES);
    pd_write_part(&l->writer, &l->out, 11, &l->part);
    varint(l, &l->out, 12, SAMPLING_RATE);
}

static void write_types(look *l)
{
    uint64_t count = 0; /* the string "count" */
    for (size_t i = 0; i < TYPES; i++) {
        varint(l, &l->part, 1, add_string(l, types[i][0]));
        if (i == 0)
            count = add_string(l, types[i][1]);
        varint(l, &l->part, 2, i % 2 ? STRING_BYTES : count);
        pd_write_part(&l->writer, &l->out, 1, &l->part);
    }
}

/* ---- functions and locations ----------------------------------------------------------------- */

static uint32_t file_string(look *l, uint32_t type, uint32_t package)
{
    if (!l->file_strings[type]) {
        char text[96];
        snprintf(text, sizeof text, "example.com/shop/internal/pkg%" PRIu32 "/type%" PRIu32 ".go",
                 package, type);
        l->file_strings[type] = (uint32_t)add_string(l, text);
    }
    return l->file_strings[type];
}

static void write_function(look *l, uint32_t number)
{
    const function *f = &l->process->functions[number];
    char text[96];
    snprintf(text, sizeof text,
             "example.com/shop/internal/pkg%" PRIu32 ".(*Type%" PRIu32 ").Method%" PRIu32,
             f->package, f->type, number);
    uint64_t name = add_string(l, text);
    varint(l, &l->part, 1, l->function_ids[number]);
    varint(l, &l->part, 2, name);
    varint(l, &l->part, 3, name);
    varint(l, &l->part, 4, file_string(l, f->type, f->package));
    varint(l, &l->part, 5, f->start_line);
    pd_write_part(&l->writer, l->functions, 5, &l->part);
}

/* Adds a line to the location in l->part. Returns whether its function is new. */
static bool write_line(look *l, uint32_t number, uint32_t line)
{
    bool is_new = !l->function_ids[number];
    if (is_new)
        l->function_ids[number] = ++l->functions_len;
    varint(l, &l->inner, 1, l->function_ids[number]);
    varint(l, &l->inner, 2, line);
    pd_write_part(&l->writer, &l->part, 4, &l->inner);
    return is_new;
}

static void write_location(look *l, uint32_t number)
{
    const site *s = &l->process->sites[number];
    bool inlined_is_new = false;
    l->location_ids[number] = ++l->locations_len;
    varint(l, &l->part, 1, l->locations_len);
    if (l->order == GOLOOK_BY_FIELDS)
        varint(l, &l->part, 2, 1);
    varint(l, &l->part, 3, s->address);
    if (s->inlined != PROCESS_NONE)
        inlined_is_new =
            write_line(l, s->inlined, l->process->functions[s->inlined].start_line + 1);
    bool is_new = write_line(l, s->function, s->line);
    if (l->order == GOLOOK_BY_GO)
        varint(l, &l->part, 2, 1);
    pd_write_part(&l->writer, l->locations, 4, &l->part);
    if (inlined_is_new)
        write_function(l, s->inlined);
    if (is_new)
        write_function(l, s->function);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A list of numbers, packed if it is long: Go's runtime and google/pprof agree on how long. */
static void write_list(look *l, uint32_t field, const uint64_t *values, size_t len)
{
    if (len <= 2) {
        for (size_t i = 0; i < len; i++)
            pd_write_varint_always(&l->writer, &l->part, field, values[i]);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t *end = pd_write_room(&l->writer, &l->inner, PD_VARINT_MAX);
        if (end)
            pd_write_done(&l->inner, pd_varint_encode(end, values[i]));
    }
    pd_write_part(&l->writer, &l->part, field, &l->inner);
}

static void write_sample(look *l, const sample *s)
{
    const node *nodes = l->process->nodes;
    uint64_t stack[128], values[TYPES];
    size_t depth = 0;
    for (uint32_t n = s->leaf; n != PROCESS_NONE && depth < 128; n = nodes[n].parent) {
        if (!l->location_ids[nodes[n].site])
            write_location(l, nodes[n].site);
        stack[depth++] = l->location_ids[nodes[n].site];
    }
    for (size_t i = 0; i < TYPES; i++)
        values[i] = (uint64_t)s->values[i];
    if (l->order == GOLOOK_BY_GO)
        write_list(l, 2, values, TYPES);
    write_list(l, 1, stack, depth);
    if (l->order == GOLOOK_BY_FIELDS)
        write_list(l, 2, values, TYPES);
    varint(l, &l->inner, 1, STRING_BYTES);
    varint(l, &l->inner, 3, s->block_size);
    pd_write_part(&l->writer, &l->part, 3, &l->inner);
    pd_write_part(&l->writer, &l->out, 2, &l->part);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void write_mapping(look *l)
{
    const process *p = l->process;
    varint(l, &l->part, 1, 1);
    varint(l, &l->part, 2, MAPPING_START);
    varint(l, &l->part, 3, p->sites[p->sites_len - 1].address + 0x1000);
    varint(l, &l->part, 5, add_string(l, "/usr/local/bin/shop"));
    varint(l, &l->part, 6, add_string(l, "6b8f1c9a3c6f4f0e9d0b7a5c2e1d8f7a6b5c4d3e"));
    varint(l, &l->part, 7, 1);
    pd_write_part(&l->writer, &l->out, 3, &l->part);
}

static void write_samples(look *l)
{
    for (uint32_t i = l->process->samples_len; i > 0; i--)
        write_sample(l, &l->process->samples[i - 1]);
}

static void write_strings(look *l)
{
    pd_write_raw(&l->writer, &l->out, l->strings.ptr, l->strings.len);
}

static void write_as_go(look *l, int64_t time_nanos)
{
    l->locations = l->functions = &l->out;
    write_period(l);
    write_types(l);
    write_samples(l);
    varint(l, &l->out, 9, (uint64_t)time_nanos);
    write_mapping(l);
    write_strings(l);
}

static void write_by_fields(look *l, int64_t time_nanos)
{
    l->locations = &l->late_locations;
    l->functions = &l->late_functions;
    write_types(l);
    write_samples(l);
    write_mapping(l);
    pd_write_raw(&l->writer, &l->out, l->late_locations.ptr, l->late_locations.len);
    pd_write_raw(&l->writer, &l->out, l->late_functions.ptr, l->late_functions.len);
    write_strings(l);
    varint(l, &l->out, 9, (uint64_t)time_nanos);
    write_period(l);
}

static void write_all(look *l, int64_t time_nanos)
{
    add_string(l, "");
    add_string(l, "space");
    add_string(l, "bytes");
    if (l->order == GOLOOK_BY_GO)
        write_as_go(l, time_nanos);
    else
        write_by_fields(l, time_nanos);
}

int golook_write(const process *p, golook_order order, int64_t time_nanos, FILE *file)
{
    look l = {.process = p, .order = order};
    int result = -1;
    pd_mem_init(&l.mem, NULL, UINT64_MAX);
    l.writer.mem = &l.mem;
    l.location_ids = calloc(p->sites_len, sizeof *l.location_ids);
    l.function_ids = calloc(p->functions_len, sizeof *l.function_ids);
    l.file_strings = calloc(p->functions_len, sizeof *l.file_strings);
    if (l.location_ids && l.function_ids && l.file_strings) {
        write_all(&l, time_nanos);
        if (!l.writer.status && fwrite(l.out.ptr, 1, l.out.len, file) == l.out.len)
            result = 0;
    }
    free(l.location_ids);
    free(l.function_ids);
    free(l.file_strings);
    pd_buffer_release(&l.mem, &l.out);
    pd_buffer_release(&l.mem, &l.part);
    pd_buffer_release(&l.mem, &l.inner);
    pd_buffer_release(&l.mem, &l.strings);
    pd_buffer_release(&l.mem, &l.late_locations);
    pd_buffer_release(&l.mem, &l.late_functions);
    return result;
}
