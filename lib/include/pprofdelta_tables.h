/* pprofdelta: profiles as tables of columns, in the Arrow C data interface.
 *
 * With format PPROFDELTA_TABLES, every call that writes a profile to a sink hands over four tables in place
 * of bytes, through the sink's member `tables`: samples, stacks, locations and functions. What each
 * column holds and what enters each id is in libpprofdelta-tables(3).
 *
 *     static int take(void *cookie, pprofdelta_tables *tables)
 *     {
 *         struct mine *mine = cookie;
 *         mine->samples = tables->samples;              // moves it: copy both structs ...
 *         tables->samples.schema.release = NULL;        // ... and mark what was moved
 *         tables->samples.array.release = NULL;
 *         return 0;
 *     }
 *
 *     pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
 *     options.format = PPROFDELTA_TABLES;
 *     pprofdelta_sink sink = {.tables = take, .cookie = &mine};
 *
 * Ownership
 *   - The library releases what was not moved when the next profile is written, or when the object is freed.
 *   - What was moved is the caller's until the caller calls its release. It stays valid after the object
 *     that made it was freed. Different threads may release different tables at the same time.
 *   - Its memory was allocated with the allocator of the object, which must still work then; NULL is malloc.
 *     The tables of a live heap are always allocated by malloc.
 *   - What was moved is read only: the object may have the same memory, to write the window once more.
 *   - What was moved does not count against max_memory when the next window begins.
 *
 * A call that fails hands over nothing, with one exception: PPROFDELTA_E_SINK means that `tables` did not
 * return 0. In both cases the window is still under way, and can be written again.
 *
 * The columns, in this order. Columns are not null unless the list says so; "dict" is a dictionary with int32
 * indices. Strings are UTF-8: each byte that is no part of a well-formed sequence is U+FFFD.
 *
 *     samples     target       utf8 dict     names the series of windows; see below
 *                 from         tsn:UTC       begin of the window; null: not known
 *                 time         tsn:UTC       its end; null: not known
 *                 sequence     int64         of the window; null: it belongs to no series
 *                 attempt      int64         at the sequence; null: likewise
 *                 restart      bool          the process has restarted before the window
 *                 stack_id     int64
 *                 ...          int64         the values: a column for each value type
 *                 labels       list<struct<key utf8 dict, str utf8 dict null, num int64 null,
 *                                          unit utf8 dict null>>
 *     stacks      stack_id     int64
 *                 location_ids list<int64>   leaf first
 *     locations   location_id  int64
 *                 build_id     utf8 dict     of the mapped file; empty: not known
 *                 file         utf8 dict     its name; empty: not known
 *                 address      uint64        offset in the file; without a file, the address as it is
 *                 lines        list<struct<function_id int64, line int64, inlined bool>>
 *                                            innermost first: all but the last are inlined
 *     functions   function_id  int64
 *                 name         utf8
 *                 system_name  utf8
 *                 file         utf8 dict
 *                 start_line   int64
 *
 * target is the value of the attribute "target" of options.resource; without it, the id of the series in 16
 * hexadecimal digits, as in the stamp; without a stamp, empty. from, time, sequence, attempt and restart are
 * those of the stamp. Without a stamp, from and time are made of the time and the duration of the profile.
 * Of the rows with the same target and sequence, those with the highest attempt count (see "Sequence
 * and attempt" in pprofdelta.h). So a target that the caller names must be one series.
 *
 * A value column has the name of the type. If another type, or a column above, has the same name, or if the name
 * is empty, it is "type/unit"; if that is taken, too, "type/unit/2" and so on.
 *
 * An id is the same in every window, on every host and in every process: it is a hash of what the row says.
 * An id is in its table once. In-use values of a live heap are absolute, as in PPROFDELTA_OTLP. */
#ifndef PPROFDELTA_TABLES_H
#define PPROFDELTA_TABLES_H

#include "pprofdelta_common.h"

PPROFDELTA_BEGIN

/* The Arrow C data interface, which does not change. Another header may have it, too. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};
#endif

/* A struct array: its children are the columns. */
typedef struct pprofdelta_table {
    struct ArrowSchema schema;
    struct ArrowArray array;
} pprofdelta_table;

typedef struct pprofdelta_tables {
    size_t size; /* sizeof(pprofdelta_tables) of the library */
    pprofdelta_table samples, stacks, locations, functions;
} pprofdelta_tables;

PPROFDELTA_END
#endif
