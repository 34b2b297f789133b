/* What the doors of the WebAssembly module have in common: glue.c, the parsed door, and recorded.h, the recorder.
 * The module is for hosts that cannot link a C library. bindings/go is such a host.
 *
 * It imports three functions. Each may end the call by a trap; the instance is then of no use.
 *
 *     host.write         takes bytes of the output: a delta, a state, a sum
 *     host.poll          is called between two pieces that are inflated, and often by faster.py: the host may end the call there
 *     host.grow          makes room (memory.c)
 *
 * An instance has these buffers:
 *
 *     room               input; the host writes it there
 *     answer             a report, a memory, a census, a join, or an error
 *
 * Every function returns a pprofdelta_status. pd_buffers returns the address of two 32-bit numbers:
 * address and length of the answer. They change with each call.
 *
 * An answer is the members of the C struct in their order, without padding: numbers in little-endian
 * bytes (int, bool and enum: 4 bytes; others: 8), strings as a 4-byte length and the bytes, arrays as a
 * 4-byte length and the elements. Errors have their own members likewise.
 *
 * With PPROFDELTA_TABLES, the output is the four tables, one behind the other. A table is a column, which is its format
 * and its name, as strings; its flags, its length, the number of its children, and whether it has a dictionary, 4 bytes
 * each; the children, and the dictionary; the validity bitmap if it is nullable; values or offsets; and of utf8 the
 * text, whose length is the last offset. */
#include "base/mem.h"
#include "pprofdelta_profile.h"
#include "pprofdelta_tables.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) pprofdelta_status export_##name
#define IMPORT(name) __attribute__((import_module("host"), import_name(#name))) void host_##name

IMPORT(write)(const void *data, size_t len);
IMPORT(poll)(void);

/* The library calls this between two pieces of what it inflates. */
void pd_poll(void);
void pd_poll(void)
{
    host_poll();
}

/* ---- buffers ------------------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t *ptr;
    size_t len, cap;
    int has_failed; /* memory was short */
} bytes;

static bytes room, answer;

static struct {
    uint32_t answer, answer_len;
} where;

static uint8_t *space(bytes *to, size_t more)
{
    if (more > to->cap - to->len) {
        size_t cap = to->len + more + to->len / 2 + 256;
        uint8_t *ptr = cap < more ? NULL : realloc(to->ptr, cap);
        if (!ptr) {
            to->has_failed = 1;
            return NULL;
        }
        to->ptr = ptr;
        to->cap = cap;
    }
    to->len += more;
    return to->ptr + to->len - more;
}

static void put(bytes *to, const void *data, size_t len)
{
    uint8_t *at = space(to, len);
    if (at && len)
        memcpy(at, data, len);
}

/* WebAssembly is little-endian. */
static void put32(uint32_t value)
{
    put(&answer, &value, sizeof value);
}

static void put64(uint64_t value)
{
    put(&answer, &value, sizeof value);
}

static void put_bytes(const char *text, size_t len)
{
    put32((uint32_t)len);
    put(&answer, text, len);
}

static void put_text(const char *text)
{
    put_bytes(text, text ? strlen(text) : 0);
}

static int to_output(void *cookie, const void *data, size_t len)
{
    (void)cookie;
    host_write(data, len);
    return 0;
}

/* ---- tables --------------------------------------------------------------------------------------- */

static void write_text(const char *text)
{
    const uint32_t len = (uint32_t)strlen(text);
    host_write(&len, sizeof len);
    host_write(text, len);
}

/* The library makes no column with an offset. */
static void write_column(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    const size_t len = (size_t)array->length, bits = (len + 7) / 8;
    const uint32_t head[] = {(uint32_t)schema->flags, (uint32_t)len, (uint32_t)schema->n_children,
                             schema->dictionary != NULL};
    const uint32_t *values = array->buffers[1];
    write_text(schema->format);
    write_text(schema->name);
    host_write(head, sizeof head);
    for (int64_t i = 0; i < schema->n_children; i++)
        write_column(schema->children[i], array->children[i]);
    if (schema->dictionary)
        write_column(schema->dictionary, array->dictionary);
    if (schema->flags & ARROW_FLAG_NULLABLE)
        host_write(array->buffers[0], bits);
    switch (schema->format[0]) {
    case '+':
        if (schema->format[1] == 'l')
            host_write(values, (len + 1) * sizeof *values);
        break;
    case 'u':
        host_write(values, (len + 1) * sizeof *values);
        host_write(array->buffers[2], values[len]);
        break;
    case 'i':
        host_write(values, len * sizeof *values);
        break;
    case 'b':
        host_write(values, bits);
        break;
    default:
        host_write(values, len * sizeof(int64_t));
    }
}

static int to_columns(void *cookie, pprofdelta_tables *tables)
{
    pprofdelta_table *const all[] = {&tables->samples, &tables->stacks, &tables->locations,
                                     &tables->functions};
    (void)cookie;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        write_column(&all[i]->schema, &all[i]->array);
    return 0;
}

static const pprofdelta_sink sink = {.write = to_output, .tables = to_columns};

static void begin(void)
{
    answer.len = 0;
    answer.has_failed = 0;
}

/* ---- answers ------------------------------------------------------------------------------------- */

static pprofdelta_error error;

static void put_error(void)
{
    static const char *const words[] = {PPROFDELTA_STAGE_WORDS};
    put64(error.element);
    put64(error.offset);
    put32((uint32_t)error.reason);
    put32((uint32_t)error.is_prev);
    put_text(words[error.stage]);
    put_text(error.field);
    put_text(error.text);
}

static void put_sum(pprofdelta_sum sum)
{
    put64(sum.lo);
    put64((uint64_t)sum.hi);
}

#include "answers.h"

/* What a function returns: status, or PPROFDELTA_E_MEMORY if there was no memory for the result. */
static pprofdelta_status finish(pprofdelta_status status)
{
    if (answer.has_failed) {
        begin();
        status = PPROFDELTA_E_MEMORY;
    } else if (status) {
        answer.len = 0;
        put_error();
    }
    where.answer = (uint32_t)(uintptr_t)answer.ptr;
    where.answer_len = (uint32_t)answer.len;
    return status;
}

/* ---- the host's view of the buffers -------------------------------------------------------------- */

__attribute__((export_name("pd_buffers"))) const void *pd_buffers(void)
{
    return &where;
}

/* Returns the room, of `size` bytes, or NULL. */
__attribute__((export_name("pd_room"))) uint8_t *pd_room(uint32_t size)
{
    if (size > room.cap) {
        free(room.ptr);
        room.ptr = malloc(size);
        room.cap = room.ptr ? size : 0;
    }
    return room.ptr;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static uint64_t max_memory; /* for everything: of the options that were given last */

/* What of max_memory the library may use for its arrays. The inputs are in the same memory, the host
 * has a copy of the output, and growing arrays leave holes: measured, all this takes up to 2.1 times
 * the arrays. */
static uint64_t for_arrays(uint64_t inputs_len)
{
    uint64_t left = max_memory > inputs_len ? max_memory - inputs_len : 0;
    return left / 5 * 2 + 1; /* 0 would be the default */
}

static void make_room(pd_mem *mem, uint64_t inputs_len)
{
    uint64_t limit = for_arrays(inputs_len);
    mem->limit = limit < PD_MEM_MOST ? limit : PD_MEM_MOST;
    if (mem->limit < mem->used) /* by what an earlier call needed */
        mem->limit = mem->used;
}

/* ---- options ------------------------------------------------------------------------------------- */

/* The options in the room:
 *
 *     flags, on_reset, first, counters_len, gauges_len,
 *     format, resource_len (keys and values)               4 bytes each
 *     max_memory, id                                       8 bytes each
 *     the names of the counters, then of the gauges, then
 *     each key of the resource with its value behind it,
 *     and the key of the target's label, or nothing        strings that end with a NUL
 */
typedef struct given_options {
    uint32_t flags, on_reset, first, counters_len, gauges_len, format, resource_len, max_memory[2],
        id[2];
} given_options;

static const char **names_at(const char *at, size_t len)
{
    const char **names = malloc((len + 1) * sizeof *names);
    for (size_t i = 0; names && i < len; i++) {
        names[i] = at;
        at += strlen(at) + 1;
    }
    return names;
}

/* What the options point to. */
typedef struct given_texts {
    const char **names; /* of counters, of gauges, keys and values, and the label */
    pprofdelta_attribute *resource;
} given_texts;

static void free_texts(given_texts *texts)
{
    free(texts->names);
    free(texts->resource);
}

/* The caller frees *texts when the library has copied the options, whatever is returned. */
static pprofdelta_status read_options(pprofdelta_options *out, given_texts *texts)
{
    given_options given;
    memcpy(&given, room.ptr, sizeof given);
    max_memory = given.max_memory[0] | (uint64_t)given.max_memory[1] << 32;
    size_t counters = given.counters_len, gauges = given.gauges_len, len = given.resource_len / 2;
    texts->names = names_at((const char *)room.ptr + sizeof given, counters + gauges + 2 * len + 1);
    texts->resource = malloc((len + 1) * sizeof *texts->resource);
    if (!texts->names || !texts->resource) {
        answer.has_failed = 1;
        return PPROFDELTA_E_MEMORY;
    }
    const char **pairs = texts->names + counters + gauges, *label = pairs[2 * len];
    for (size_t i = 0; i < len; i++)
        texts->resource[i] = (pprofdelta_attribute){pairs[2 * i], pairs[2 * i + 1]};
    *out = (pprofdelta_options){.size = sizeof *out,
                                .flags = given.flags,
                                .on_reset = (pprofdelta_on_reset)given.on_reset,
                                .first = (pprofdelta_first)given.first,
                                .compression = PPROFDELTA_PLAIN,
                                .max_memory = for_arrays(0),
                                .counters = texts->names,
                                .counters_len = counters,
                                .gauges = texts->names + counters,
                                .gauges_len = gauges,
                                .format = (pprofdelta_format)given.format,
                                .resource = texts->resource,
                                .resource_len = len,
                                .id = given.id[0] | (uint64_t)given.id[1] << 32,
                                .target_label = *label ? label : NULL};
    return PPROFDELTA_OK;
}

/* ---- the C library of the module ------------------------------------------------------------------ */

/* wasi-libc asks the host for a random number at its start, for stack protection, which the module does
 * not use. With this function the module does not import that. */
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t buf, int32_t len);
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t buf, int32_t len)
{
    memset((void *)(uintptr_t)(uint32_t)buf, 0, (size_t)len);
    return 0;
}
