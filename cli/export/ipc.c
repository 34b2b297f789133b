/* Arrow's IPC file format: see ipc.h.
 *
 *     "ARROW1\0\0"
 *     message: Schema                           message:  0xFFFFFFFF, length of the head
 *     message: RecordBatch, body                          head: the flatbuffer "Message", padded
 *     ...                                                 body: the buffers of the columns, padded
 *     message: DictionaryBatch, body
 *     0xFFFFFFFF, 0
 *     the flatbuffer "Footer": the schema, and where each dictionary and each batch is
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
 * Rows are added to the buffers of the batch that is being made, which has a column for each node of
 * the schema, a parent before its children. The rows of a column are a list of indices; -1 is a null. So
 * the items of a list, the strings of a dictionary and a choice of rows are one case.
 *
 * What fails ends the process (cli_must). */
#include "export/ipc.h"

#include "cli.h"
#include "keep.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { PREFIX_LEN = 8, BLOCK_LEN = 24, RECORD_LEN = 16 };

/* Memory for a table, which is named if there is none. */
static void *check_memory(const cli_ipc *ipc, void *memory)
{
    if (!memory)
        exit(cli_system_error(ipc->out->name, "write", ENOMEM));
    return memory;
}

/* Returns len bytes at the end of the buffer, valid until it grows again. They are not set. */
static uint8_t *add_room(cli_ipc *ipc, cli_buffer *buffer, size_t len)
{
    return check_memory(ipc, cli_buffer_extend(buffer, len));
}

/* The same, zeroed. */
static uint8_t *extend_buffer(cli_ipc *ipc, cli_buffer *buffer, size_t len)
{
    return memset(add_room(ipc, buffer, len), 0, len);
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
enum { SCHEMA = 1, DICTIONARY = 2, BATCH = 3 }; /* what a message is about */
enum { ZSTD_CODEC = 1 };
enum { INT = 2, UTF8 = 5, BOOL = 6, TIMESTAMP = 10, LIST = 12, STRUCT = 13 };
enum { WORD = 255 }; /* not Arrow's: an index in a dictionary of the file */

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

/* Does the file have a dictionary for this column of the table? Its words are hosts, files and build ids, of
 * which there are few. Labels may have as many strings as there are samples, so they have none. */
static bool has_words(const cli_ipc *ipc, const struct ArrowSchema *parent, size_t child)
{
    return ipc->zstd && parent == &ipc->schema && parent->children[child]->dictionary;
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
        const uint64_t encoding = has_words(ipc, schema, i) ? 0 : NO_FIELD;
        table = put_table(ipc, 6, (uint64_t[]){0, is_nullable, type, 0, encoding, 0});
        set_reference(ipc, at + 4 * i, table);
        put_string(ipc, table, 0, child->name);
        const uint64_t number[] = {64, values->format[0] == 'l'}, time[] = {NANOSECONDS, 0};
        size_t of_type =
            put_table(ipc, type == INT || type == TIMESTAMP ? 2 : 0, type == INT ? number : time);
        set_reference(ipc, table + PLACE(3), of_type);
        if (type == TIMESTAMP)
            put_string(ipc, of_type, 1, values->format + strlen("tsn:"));
        if (has_words(ipc, schema, i)) {
            size_t words = put_table(ipc, 2, (uint64_t[]){i, 0}); /* id, type of the indices */
            set_reference(ipc, table + PLACE(4), words);
            set_reference(ipc, words + PLACE(1), put_table(ipc, 2, (uint64_t[]){32, true}));
        }
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

/* The buffers of a column. VALUES is where strings and lists end. */
enum { VALIDITY, VALUES, TEXT };

static bool has_bit(const uint8_t *bits, int64_t at)
{
    return !bits || bits[at / 8] >> at % 8 & 1;
}

/* Sets bits behind the first `at` bits of the buffer. */
static void add_bits(cli_ipc *ipc, cli_buffer *to, size_t at, const uint8_t *bits,
                     const int64_t *rows, size_t len)
{
    extend_buffer(ipc, to, (at + len + 7) / 8 - to->len);
    for (size_t i = 0; i < len; i++)
        to->bytes[(at + i) / 8] |=
            (uint8_t)((rows[i] >= 0 && has_bit(bits, rows[i])) << (at + i) % 8);
}

/* There are no bits before the first null. */
static void add_validity(cli_ipc *ipc, cli_ipc_column *c, const int64_t *rows, size_t len)
{
    size_t nulls = 0;
    for (size_t i = 0; i < len; i++)
        nulls += rows[i] < 0;
    if (nulls && !c->nulls) {
        memset(extend_buffer(ipc, &c->parts[VALIDITY], (c->len + 7) / 8), 0xff, c->len / 8);
        if (c->len % 8)
            c->parts[VALIDITY].bytes[c->len / 8] = (uint8_t)((1U << c->len % 8) - 1);
    }
    c->nulls += nulls;
    if (c->nulls)
        add_bits(ipc, &c->parts[VALIDITY], c->len, NULL, rows, len);
}

static void add_numbers(cli_ipc *ipc, cli_buffer *to, const uint64_t *numbers, const int64_t *rows,
                        size_t len)
{
    uint8_t *at = add_room(ipc, to, 8 * len);
    for (size_t i = 0; i < len; i++)
        store_number(at + 8 * i, rows[i] < 0 ? 0 : numbers[rows[i]], 8);
}

/* Adds where the items of each row end: bytes of a string, rows of a list. Returns how many items are
 * new; `before` are there. */
static size_t add_ends(cli_ipc *ipc, cli_buffer *to, const int32_t *ends, size_t before,
                       const int64_t *rows, size_t len)
{
    size_t all = before;
    if (!to->len)
        put_number(ipc, to, 0, 4);
    uint8_t *at = add_room(ipc, to, 4 * len);
    for (size_t i = 0; i < len; i++) {
        all += rows[i] < 0 ? 0 : (size_t)(ends[rows[i] + 1] - ends[rows[i]]);
        store_number(at + 4 * i, all, 4);
    }
    return all - before;
}

static void add_strings(cli_ipc *ipc, cli_ipc_column *c, const struct ArrowArray *array,
                        const int64_t *rows, size_t len)
{
    const int32_t *ends = array->buffers[1];
    const uint8_t *bytes = array->buffers[2];
    cli_buffer *text = &c->parts[TEXT];
    size_t all = add_ends(ipc, &c->parts[VALUES], ends, text->len, rows, len);
    uint8_t *at = add_room(ipc, text, all);
    for (size_t i = 0; i < len && all; i++) {
        size_t some = rows[i] < 0 ? 0 : (size_t)(ends[rows[i] + 1] - ends[rows[i]]);
        if (some)
            memcpy(at, bytes + ends[rows[i]], some);
        at += some;
    }
}

/* Returns the index of a string in the dictionary of the file. */
static size_t index_of_word(cli_ipc *ipc, cli_ipc_words *words, const struct ArrowArray *array,
                            int64_t row)
{
    const int32_t *ends = array->buffers[1];
    const size_t len = (size_t)(ends[row + 1] - ends[row]), next = words->strings.len;
    const cli_key key = cli_key_of((const uint8_t *)array->buffers[2] + ends[row], len);
    const size_t index = cli_numbers_of(&words->numbers, key, next);
    if (index == next) {
        if (len > INT32_MAX - words->strings.parts[TEXT].len || next == INT32_MAX)
            cli_must(cli_system_error(ipc->out->name, "write", EOVERFLOW));
        add_strings(ipc, &words->strings, array, &row, 1);
        words->strings.len++;
        ipc->held += len + 4 * sizeof *words->numbers.slots;
    }
    return index;
}

/* Adds the indices in the dictionary of the file for rows of a dictionary of one array. */
static void add_words(cli_ipc *ipc, cli_ipc_column *c, const struct ArrowArray *array,
                      const int64_t *rows, size_t len)
{
    uint8_t *to = extend_buffer(ipc, &c->parts[VALUES], 4 * len);
    size_t *known_1 = check_memory(ipc, calloc((size_t)array->length + 1, sizeof *known_1));
    for (size_t i = 0; i < len; i++) {
        if (rows[i] < 0)
            continue;
        if (!known_1[rows[i]])
            known_1[rows[i]] = index_of_word(ipc, c->words, array, rows[i]) + 1;
        store_number(to + 4 * i, known_1[rows[i]] - 1, 4);
    }
    free(known_1);
}

static void add_column(cli_ipc *ipc, cli_ipc_column **next, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, const int64_t *rows, size_t len);

static void add_lists(cli_ipc *ipc, cli_ipc_column *c, cli_ipc_column **next,
                      const struct ArrowSchema *schema, const struct ArrowArray *array,
                      const int64_t *rows, size_t len)
{
    const int32_t *ends = array->buffers[1];
    size_t all = add_ends(ipc, &c->parts[VALUES], ends, (*next)->len, rows, len), at = 0;
    int64_t *items = check_memory(ipc, malloc((all + 1) * sizeof *items));
    for (size_t i = 0; i < len; i++)
        for (int32_t k = rows[i] < 0 ? 0 : ends[rows[i]]; rows[i] >= 0 && k < ends[rows[i] + 1];
             k++)
            items[at++] = k;
    add_column(ipc, next, schema->children[0], array->children[0], items, all);
    free(items);
}

/* Adds the rows to the next column of the batch, and to those of its children. */
static void add_column(cli_ipc *ipc, cli_ipc_column **next, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    const int32_t *words = schema->dictionary ? array->buffers[1] : NULL;
    const struct ArrowArray *values = words ? array->dictionary : array;
    cli_ipc_column *c = (*next)++;
    int64_t *chosen = NULL;
    if (words || array->buffers[0]) {
        chosen = check_memory(ipc, malloc((len + 1) * sizeof *chosen));
        for (size_t i = 0; i < len; i++) {
            bool is_null = rows[i] < 0 || !has_bit(array->buffers[0], rows[i]);
            chosen[i] = is_null ? -1 : words ? words[rows[i]] : rows[i];
        }
    }
    const int64_t *at = chosen ? chosen : rows;
    add_validity(ipc, c, at, len);
    if (c->type == BOOL)
        add_bits(ipc, &c->parts[VALUES], c->len, values->buffers[1], at, len);
    else if (c->type == UTF8)
        add_strings(ipc, c, values, at, len);
    else if (c->type == WORD)
        add_words(ipc, c, values, at, len);
    else if (c->type == LIST)
        add_lists(ipc, c, next, schema, values, at, len);
    else if (c->type != STRUCT)
        add_numbers(ipc, &c->parts[VALUES], values->buffers[1], at, len);
    for (int64_t i = 0; c->type == STRUCT && i < schema->n_children; i++)
        add_column(ipc, next, schema->children[i], values->children[i], at, len);
    c->len += len;
    free(chosen);
}

/* The bytes of rows in the body, without their bits. */
static uint64_t bytes_of(const cli_ipc *ipc, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, int64_t row, int64_t end)
{
    uint64_t bytes = 0;
    const int32_t *ends = array->buffers[1];
    const unsigned type = type_of(schema);
    if (schema->dictionary)
        for (; row < end; row++)
            bytes += !has_bit(array->buffers[0], row)
                         ? 4
                         : bytes_of(ipc, schema->dictionary, array->dictionary, ends[row],
                                    ends[row] + 1);
    else if (type == STRUCT)
        for (int64_t i = 0; i < schema->n_children; i++)
            bytes += has_words(ipc, schema, (size_t)i)
                         ? 4 * (uint64_t)(end - row)
                         : bytes_of(ipc, schema->children[i], array->children[i], row, end);
    else if (type == UTF8)
        bytes = 4 * (uint64_t)(end - row) + (uint64_t)(ends[end] - ends[row]);
    else if (type == LIST)
        bytes = 4 * (uint64_t)(end - row) +
                bytes_of(ipc, schema->children[0], array->children[0], ends[row], ends[end]);
    else if (type != BOOL)
        bytes = 8 * (uint64_t)(end - row);
    return bytes;
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

/* Adds a column for the schema, and those of its children. Returns its index. */
static size_t list_columns(cli_ipc *ipc, const struct ArrowSchema *schema)
{
    CLI_KEEP_MORE(ipc->columns, 1);
    const size_t at = ipc->columns_len++;
    ipc->columns[at].type = type_of(schema->dictionary ? schema->dictionary : schema);
    for (size_t i = 0; i < (size_t)schema->n_children; i++) {
        const size_t child = list_columns(ipc, schema->children[i]);
        if (!has_words(ipc, schema, i))
            continue;
        ipc->columns[child].type = WORD;
        ipc->columns[child].words = cli_keep(1, sizeof *ipc->columns->words);
        *ipc->columns[child].words = (cli_ipc_words){.id = i, .strings = {.type = UTF8}};
    }
    return at;
}

void cli_ipc_begin(cli_ipc *ipc, cli_output *out, struct ArrowSchema *schema)
{
    ipc->out = out;
    ipc->schema = *schema;
    schema->release = NULL;
    list_columns(ipc, &ipc->schema);
    write_bytes(ipc, "ARROW1\0", 8);
    put_schema(ipc, begin_head(ipc, SCHEMA, 0), 2);
    write_message(ipc, false);
}

/* Adds the compressed bytes behind their length, or the bytes behind -1 if they do not become fewer. */
static void compress_buffer(cli_ipc *ipc, const uint8_t *bytes, size_t len)
{
    enum { LEVEL = 1 }; /* as Arrow's own libraries */
    const size_t most = ZSTD_compressBound(len);
    put_number(ipc, &ipc->body, len, 8);
    uint8_t *to = add_room(ipc, &ipc->body, most);
    size_t made = ZSTD_compressCCtx(ipc->zstd, to, most, bytes, len, LEVEL);
    if (ZSTD_isError(made))
        check_memory(ipc, NULL);
    if (made >= len) {
        store_number(to - 8, UINT64_MAX, 8);
        memcpy(to, bytes, made = len);
    }
    ipc->body.len -= most - made;
}

/* Moves a buffer of a column into the body. */
static void put_buffer(cli_ipc *ipc, cli_buffer *from)
{
    const size_t len = from->len, at = ipc->body.len;
    if (len && ipc->zstd)
        compress_buffer(ipc, from->bytes, len);
    else if (len)
        memcpy(add_room(ipc, &ipc->body, len), from->bytes, len);
    put_number(ipc, &ipc->buffers, at, 8);
    put_number(ipc, &ipc->buffers, ipc->body.len - at, 8);
    extend_buffer(ipc, &ipc->body, -ipc->body.len % 8);
    from->len = 0;
}

static void put_columns(cli_ipc *ipc, cli_ipc_column *columns, size_t len)
{
    ipc->nodes.len = ipc->buffers.len = 0;
    for (size_t i = 0; i < len; i++) {
        cli_ipc_column *c = &columns[i];
        put_number(ipc, &ipc->nodes, c->len, 8);
        put_number(ipc, &ipc->nodes, c->nulls, 8);
        put_buffer(ipc, &c->parts[VALIDITY]);
        if (c->type != STRUCT)
            put_buffer(ipc, &c->parts[VALUES]);
        if (c->type == UTF8)
            put_buffer(ipc, &c->parts[TEXT]);
        c->len = c->nulls = 0;
    }
}

/* Writes the reference of a table, and that to which it refers: the rows of a batch, whose columns are in
 * the body. */
static void put_batch(cli_ipc *ipc, size_t table, size_t field, uint64_t rows)
{
    const cli_buffer *const records[] = {&ipc->nodes, &ipc->buffers};
    /* rows, nodes, buffers, compression */
    size_t batch = put_table(ipc, ipc->zstd ? 4 : 3, (uint64_t[]){rows, 0, 0, 0});
    set_reference(ipc, table + PLACE(field), batch);
    for (size_t i = 0; i < 2; i++)
        put_vector(ipc, batch, i + 1, records[i]->bytes, records[i]->len / RECORD_LEN, RECORD_LEN);
    if (ipc->zstd) {
        size_t how = put_table(ipc, 2, (uint64_t[]){ZSTD_CODEC, 0}); /* each buffer by itself */
        set_reference(ipc, batch + PLACE(3), how);
    }
}

/* Writes the message, and adds where it is. */
static void write_block(cli_ipc *ipc, cli_buffer *blocks)
{
    const uint64_t at = ipc->at, body_len = ipc->body.len;
    write_message(ipc, false);
    free(ipc->body.bytes); /* not held while the next batch is made */
    ipc->body = (cli_buffer){.bytes = NULL};
    put_number(ipc, blocks, at, 8);
    put_number(ipc, blocks, ipc->head.len, 8);
    put_number(ipc, blocks, body_len, 8);
}

/* Writes the rows that were added. */
static void write_batch(cli_ipc *ipc)
{
    const uint64_t rows = ipc->columns->len; /* the first column is the struct of all */
    put_columns(ipc, ipc->columns + 1, ipc->columns_len - 1);
    put_batch(ipc, begin_head(ipc, BATCH, ipc->body.len), 2, rows);
    write_block(ipc, &ipc->blocks);
    ipc->columns->len = ipc->bytes = 0;
}

static void write_dictionary(cli_ipc *ipc, cli_ipc_words *words)
{
    const uint64_t rows = words->strings.len;
    put_columns(ipc, &words->strings, 1);
    size_t message = begin_head(ipc, DICTIONARY, ipc->body.len);
    size_t table = put_table(ipc, 2, (uint64_t[]){words->id, 0}); /* id, strings */
    set_reference(ipc, message + PLACE(2), table);
    put_batch(ipc, table, 1, rows);
    write_block(ipc, &ipc->dictionaries);
}

/* Adds rows that are one behind the other. */
static void add_run(cli_ipc *ipc, const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    while (len) {
        const size_t room = CLI_IPC_BATCH_ROWS - ipc->columns->len;
        size_t some = len < room ? len : room;
        uint64_t bytes = bytes_of(ipc, &ipc->schema, array, *rows, *rows + (int64_t)some);
        while (some > 1 && bytes > CLI_IPC_BATCH_BYTES) {
            some /= 2;
            bytes = bytes_of(ipc, &ipc->schema, array, *rows, *rows + (int64_t)some);
        }
        if (bytes > INT32_MAX - CLI_IPC_BATCH_BYTES)
            cli_must(cli_system_error(ipc->out->name, "write", EOVERFLOW));
        add_column(ipc, &(cli_ipc_column *){ipc->columns}, &ipc->schema, array, rows, some);
        ipc->bytes += bytes;
        rows += some;
        len -= some;
        if (ipc->columns->len == CLI_IPC_BATCH_ROWS || ipc->bytes >= CLI_IPC_BATCH_BYTES)
            write_batch(ipc);
    }
}

void cli_ipc_add(cli_ipc *ipc, const struct ArrowArray *array, const int64_t *rows, size_t len)
{
    for (size_t first = 0, end = 0; first < len; first = end) {
        for (end = first + 1; end < len && rows[end] == rows[end - 1] + 1; end++) {
        }
        add_run(ipc, array, rows + first, end - first);
    }
}

void cli_ipc_end(cli_ipc *ipc)
{
    if (ipc->columns->len)
        write_batch(ipc);
    for (size_t i = 0; i < ipc->columns_len; i++)
        if (ipc->columns[i].words)
            write_dictionary(ipc, ipc->columns[i].words);
    size_t table = begin_head(ipc, 0, 0); /* its prefix is the end of the messages */
    put_schema(ipc, table, 1);
    const cli_buffer *const blocks[] = {&ipc->dictionaries, &ipc->blocks};
    for (size_t i = 0; i < 2; i++)
        put_vector(ipc, table, i + 2, blocks[i]->bytes, blocks[i]->len / BLOCK_LEN, BLOCK_LEN);
    put_number(ipc, &ipc->head, ipc->head.len - PREFIX_LEN, 4);
    put_number(ipc, &ipc->head, UINT64_C(0x31574f525241), 6); /* "ARROW1" */
    ipc->body.len = 0;
    write_message(ipc, true);
}
