/* Arrow's IPC file format: see ipc.h.
 *
 *     "ARROW1\0\0"
 *     message: Schema                           message:  0xFFFFFFFF, length of the head
 *     message: RecordBatch, body                          head: the flatbuffer "Message", padded
 *     ...                                                 body: the buffers of the columns, padded
 *     0xFFFFFFFF, 0
 *     the flatbuffer "Footer": the schema, and where each batch is
 *     length of the footer, "ARROW1"
 *
 * All numbers are little-endian.
 *
 * A flatbuffer is written from its beginning to its end: a table is written with empty references, and
 * each is set when what it refers to is written. Each field of a table takes 8 bytes, of which a reader
 * takes as many as the field has:
 *
 *     list of places: lengths of list and table, place of each field (0: the table does not have it)
 *     table:          distance of the list, field 0, field 1, ...
 *
 * A column is written as a list of rows, by their indices; -1 is a null. So a slice, the items of a
 * list, the strings of a dictionary and a choice of rows are one case.
 *
 * What fails ends the process (cli_must), but for a batch that is too large, which becomes two. */
#include "export/ipc.h"

#include "cli.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LEN = 8, BLOCK_LEN = 24, RECORD_LEN = 16 };

/* Memory for a table, which is named if there is none. */
static void *check_memory(const cli_ipc *ipc, void *memory)
{
    if (!memory)
        exit(cli_system_error(ipc->out->name, "write", ENOMEM));
    return memory;
}

/* Returns len zeroed bytes at the end of the buffer, valid until it grows again. */
static uint8_t *extend_buffer(cli_ipc *ipc, cli_buffer *buffer, size_t len)
{
    return memset(check_memory(ipc, cli_buffer_extend(buffer, len)), 0, len);
}

static void store_number(uint8_t *to, uint64_t value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void put_number(cli_ipc *ipc, cli_buffer *buffer, uint64_t value, size_t len)
{
    store_number(extend_buffer(ipc, buffer, len), value, len);
}

/* ---- flatbuffers ----------------------------------------------------------------------------- */

#define NO_FIELD     UINT64_MAX
#define PLACE(field) (8 * ((size_t)(field) + 1)) /* in a table */

/* Pads the head, so that what comes `before` bytes later is aligned to 8. */
static void align_head(cli_ipc *ipc, size_t before)
{
    extend_buffer(ipc, &ipc->head, -(ipc->head.len + before) % 8);
}

/* Sets the reference at `from`. */
static void set_reference(cli_ipc *ipc, size_t from, size_t to)
{
    store_number(ipc->head.bytes + from, to - from, 4);
}

/* Writes a table with these fields. Returns where it is. */
static size_t put_table(cli_ipc *ipc, size_t len, const uint64_t *fields)
{
    size_t list_len = 4 + 2 * len;
    align_head(ipc, list_len);
    put_number(ipc, &ipc->head, list_len, 2);
    put_number(ipc, &ipc->head, PLACE(len), 2);
    for (size_t i = 0; i < len; i++)
        put_number(ipc, &ipc->head, fields[i] == NO_FIELD ? 0 : PLACE(i), 2);
    put_number(ipc, &ipc->head, list_len, 8);
    for (size_t i = 0; i < len; i++)
        put_number(ipc, &ipc->head, fields[i], 8);
    return ipc->head.len - PLACE(len);
}

/* Writes a vector for a field of a table, and returns where its items are. bytes may be NULL: zeros. */
static size_t put_vector(cli_ipc *ipc, size_t table, size_t field, const void *bytes, size_t len,
                         size_t item_len)
{
    align_head(ipc, 4);
    set_reference(ipc, table + PLACE(field), ipc->head.len);
    put_number(ipc, &ipc->head, len, 4);
    uint8_t *to = extend_buffer(ipc, &ipc->head, len * item_len);
    if (bytes)
        memcpy(to, bytes, len * item_len);
    return ipc->head.len - len * item_len;
}

static void put_string(cli_ipc *ipc, size_t table, size_t field, const char *text)
{
    put_vector(ipc, table, field, text, strlen(text), 1);
    put_number(ipc, &ipc->head, 0, 1);
}

/* ---- the schema ------------------------------------------------------------------------------ */

enum { VERSION = 4, NANOSECONDS = 3 };
enum { SCHEMA = 1, BATCH = 3 }; /* what a message is about */
enum { INT = 2, UTF8 = 5, BOOL = 6, TIMESTAMP = 10, LIST = 12, STRUCT = 13 };

/* The type that a format of the C data interface names. */
static unsigned type_of(const struct ArrowSchema *schema)
{
    const char *format = schema->format;
    return *format == 'u'     ? UTF8
           : *format == 'b'   ? BOOL
           : *format == 't'   ? TIMESTAMP /* "tsn:UTC" */
           : *format != '+'   ? INT       /* "l"; "L" has no sign */
           : format[1] == 'l' ? LIST
                              : STRUCT;
}

/* Writes the columns of the schema. With a dictionary, the type is that of its strings. */
static void put_fields(cli_ipc *ipc, size_t table, size_t field, const struct ArrowSchema *schema)
{
    size_t len = (size_t)schema->n_children, at = put_vector(ipc, table, field, NULL, len, 4);
    for (size_t i = 0; i < len; i++) {
        const struct ArrowSchema *child = schema->children[i];
        const struct ArrowSchema *values = child->dictionary ? child->dictionary : child;
        const unsigned type = type_of(values);
        const uint64_t is_nullable = (child->flags & ARROW_FLAG_NULLABLE) != 0;
        /* name, nullable, type, its table, dictionary, children */
        table = put_table(ipc, 6, (uint64_t[]){0, is_nullable, type, 0, NO_FIELD, 0});
        set_reference(ipc, at + 4 * i, table);
        put_string(ipc, table, 0, child->name);
        const uint64_t number[] = {64, values->format[0] == 'l'}, time[] = {NANOSECONDS, 0};
        size_t of_type =
            put_table(ipc, type == INT || type == TIMESTAMP ? 2 : 0, type == INT ? number : time);
        set_reference(ipc, table + PLACE(3), of_type);
        if (type == TIMESTAMP)
            put_string(ipc, of_type, 1, values->format + strlen("tsn:"));
        put_fields(ipc, table, 5, values);
    }
}

static void put_schema(cli_ipc *ipc, size_t table, size_t field)
{
    size_t schema = put_table(ipc, 2, (uint64_t[]){0, 0}); /* little-endian, fields */
    set_reference(ipc, table + PLACE(field), schema);
    put_fields(ipc, schema, 1, &ipc->schema);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Begins a buffer of the body and returns its zeroed bytes; NULL if the batch is too large. */
static uint8_t *put_buffer(cli_ipc *ipc, size_t len)
{
    ipc->is_too_large |= len > ipc->body_most - ipc->body.len;
    if (ipc->is_too_large)
        return NULL;
    put_number(ipc, &ipc->buffers, ipc->body.len, 8);
    put_number(ipc, &ipc->buffers, len, 8);
    return extend_buffer(ipc, &ipc->body, len + -len % 8);
}

static bool has_bit(const uint8_t *bits, int64_t at)
{
    return !bits || bits[at / 8] >> at % 8 & 1;
}

static void put_bits(cli_ipc *ipc, const uint8_t *bits, const int64_t *rows, size_t len)
{
    uint8_t *to = put_buffer(ipc, (len + 7) / 8);
    for (size_t i = 0; i < len && to; i++)
        to[i / 8] |= (uint8_t)((rows[i] >= 0 && has_bit(bits, rows[i])) << i % 8);
}

static void put_numbers(cli_ipc *ipc, const uint64_t *numbers, const int64_t *rows, size_t len)
{
    uint8_t *to = put_buffer(ipc, 8 * len);
    for (size_t i = 0; i < len && to; i++)
        store_number(to + 8 * i, rows[i] < 0 ? 0 : numbers[rows[i]], 8);
}

static void put_column(cli_ipc *ipc, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, const int64_t *rows, size_t len);

/* Strings, whose items are bytes, and lists. */
static void put_items(cli_ipc *ipc, const struct ArrowSchema *schema,
                      const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    const int32_t *ends = array->buffers[1];
    const char *bytes = schema->n_children ? NULL : array->buffers[2];
    uint8_t *to = put_buffer(ipc, 4 * (len + 1)), *text = NULL;
    int64_t *items = NULL;
    size_t all = 0, at = 0;
    for (size_t i = 0; i < len && to && all <= INT32_MAX; i++) {
        all += rows[i] < 0 ? 0 : (size_t)(ends[rows[i] + 1] - ends[rows[i]]);
        store_number(to + 4 * (i + 1), all, 4);
    }
    ipc->is_too_large |= all > ipc->body_most;
    if (!schema->n_children)
        text = put_buffer(ipc, all);
    else if (!ipc->is_too_large)
        items = check_memory(ipc, calloc(all + 1, sizeof *items));
    for (size_t i = 0; at < all && (text || items); i++)
        for (int32_t k = rows[i] < 0 ? 0 : ends[rows[i]]; rows[i] >= 0 && k < ends[rows[i] + 1];
             k++)
            if (items)
                items[at++] = k;
            else
                text[at++] = (uint8_t)bytes[k];
    if (items)
        put_column(ipc, schema->children[0], array->children[0], items, all);
    free(items);
}

static void put_column(cli_ipc *ipc, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    const int32_t *words = schema->dictionary ? array->buffers[1] : NULL;
    const unsigned type = type_of(schema);
    uint64_t nulls = 0;
    if (ipc->is_too_large)
        return;
    int64_t *at = check_memory(ipc, calloc(len + 1, sizeof *at));
    for (size_t i = 0; i < len; i++) {
        int64_t row = array->offset + rows[i];
        bool is_null = rows[i] < 0 || !has_bit(array->buffers[0], row);
        at[i] = is_null ? -1 : words ? words[row] : row;
        nulls += is_null;
    }
    if (schema->dictionary) {
        put_column(ipc, schema->dictionary, array->dictionary, at, len);
    } else {
        put_number(ipc, &ipc->nodes, len, 8);
        put_number(ipc, &ipc->nodes, nulls, 8);
        put_bits(ipc, NULL, at, nulls ? len : 0);
        if (type == BOOL)
            put_bits(ipc, array->buffers[1], at, len);
        else if (type == UTF8 || type == LIST)
            put_items(ipc, schema, array, at, len);
        else if (type != STRUCT)
            put_numbers(ipc, array->buffers[1], at, len);
        for (int64_t i = 0; type == STRUCT && i < schema->n_children; i++)
            put_column(ipc, schema->children[i], array->children[i], at, len);
    }
    free(at);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Begins the head of a message: version, what it is about, the reference to that, length of the body. Or
 * that of the footer: version, schema, dictionaries, batches. Returns where the table is. */
static size_t begin_head(cli_ipc *ipc, uint64_t about, uint64_t body_len)
{
    ipc->head.len = 0;
    put_number(ipc, &ipc->head, UINT32_MAX, PREFIX_LEN);
    put_number(ipc, &ipc->head, 0, 4);
    size_t table = put_table(ipc, 4, (uint64_t[]){VERSION, about, 0, body_len});
    set_reference(ipc, PREFIX_LEN, table);
    return table;
}

static void write_bytes(cli_ipc *ipc, const void *bytes, size_t len)
{
    if (len && cli_output_write(ipc->out, bytes, len))
        cli_must(ipc->out->failure);
    ipc->at += len;
}

/* Completes the head, and writes it and the body. */
static void write_message(cli_ipc *ipc, bool is_footer)
{
    const cli_buffer *const parts[] = {&ipc->head, &ipc->body};
    if (!is_footer) {
        align_head(ipc, 0);
        store_number(ipc->head.bytes + 4, ipc->head.len - PREFIX_LEN, 4);
    }
    for (size_t i = 0; i < 2; i++)
        write_bytes(ipc, parts[i]->bytes, parts[i]->len);
}

void cli_ipc_begin(cli_ipc *ipc, cli_output *out, struct ArrowSchema *schema)
{
    ipc->out = out;
    ipc->schema = *schema;
    schema->release = NULL;
    write_bytes(ipc, "ARROW1\0", 8);
    put_schema(ipc, begin_head(ipc, SCHEMA, 0), 2);
    write_message(ipc, false);
}

void cli_ipc_add(cli_ipc *ipc, const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    if (!len)
        return;
    const uint64_t at = ipc->at;
    const cli_buffer *const records[] = {&ipc->nodes, &ipc->buffers};
    ipc->body.len = ipc->nodes.len = ipc->buffers.len = 0;
    ipc->is_too_large = false;
    ipc->body_most = len > 1 ? CLI_IPC_BATCH_BYTES : INT32_MAX;
    put_column(ipc, &ipc->schema, array, rows, len);
    if (ipc->is_too_large && len > 1) { /* in halves */
        cli_ipc_add(ipc, array, rows, len / 2);
        cli_ipc_add(ipc, array, rows + len / 2, len - len / 2);
        return;
    }
    if (ipc->is_too_large)
        cli_must(cli_system_error(ipc->out->name, "write", EOVERFLOW));
    size_t message = begin_head(ipc, BATCH, ipc->body.len);
    size_t table = put_table(ipc, 3, (uint64_t[]){len, 0, 0}); /* rows, nodes, buffers */
    set_reference(ipc, message + PLACE(2), table);
    /* The first records are those of the struct array itself. */
    for (size_t i = 0; i < 2; i++)
        put_vector(ipc, table, i + 1, records[i]->bytes + RECORD_LEN,
                   records[i]->len / RECORD_LEN - 1, RECORD_LEN);
    write_message(ipc, false);
    const size_t body_len = ipc->body.len;
    free(ipc->body.bytes); /* not held while the next array is made */
    ipc->body = (cli_buffer){.bytes = NULL};
    put_number(ipc, &ipc->blocks, at, 8);
    put_number(ipc, &ipc->blocks, ipc->head.len, 8);
    put_number(ipc, &ipc->blocks, body_len, 8);
}

void cli_ipc_end(cli_ipc *ipc)
{
    size_t table = begin_head(ipc, 0, 0); /* its prefix is the end of the messages */
    put_schema(ipc, table, 1);
    put_vector(ipc, table, 2, NULL, 0, BLOCK_LEN);
    put_vector(ipc, table, 3, ipc->blocks.bytes, ipc->blocks.len / BLOCK_LEN, BLOCK_LEN);
    put_number(ipc, &ipc->head, ipc->head.len - PREFIX_LEN, 4);
    put_number(ipc, &ipc->head, UINT64_C(0x31574f525241), 6); /* "ARROW1" */
    ipc->body.len = 0;
    write_message(ipc, true);
}
