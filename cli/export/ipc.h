/* Writes one table as a file in Arrow's IPC format, from arrays of Arrow's C data interface.
 *
 *     cli_ipc_begin(&ipc, &out, &schema);
 *     for (each array)
 *         cli_ipc_add(&ipc, &array, rows, len);
 *     cli_ipc_end(&ipc);
 *
 * The caller chooses which rows of an array are written, so that a row that the file already has can be
 * left out. Rows of several arrays become one batch: it is written when it has so many rows, or so
 * many bytes before compression, and that is what is in memory. Its buffers are compressed with
 * zstd, each by itself, as the format describes (BodyCompression).
 *
 * These types are written: 64-bit integers, timestamps, bool, utf8, list and struct. If the file is
 * compressed, a column of strings that has a dictionary in the arrays has one in the file, which stays in
 * memory until the end and is written once, behind the batches: a file names its dictionaries in its
 * footer. Otherwise all strings are plain strings, for readers that read a file from its
 * beginning or take no dictionaries (nanoarrow before 0.9, which DuckDB's extension is built on).
 *
 * Parquet is not written. Arrow C++ (libparquet, and arrow-glib for C) would write it, but Debian 12
 * has no package of it, and it is far larger than this command. nanoarrow writes IPC only, and
 * has no package either. */
#ifndef CLI_IPC_H
#define CLI_IPC_H

#include "numbers.h"
#include "output_file.h"
#include "pprofdelta_tables.h"

/* A batch with this many rows or bytes is written. So all but the last have at least one of them. Before that, as
 * many bytes again are added at most, or one row. */
enum { CLI_IPC_BATCH_ROWS = 64 << 10, CLI_IPC_BATCH_BYTES = 8 << 20 };

/* The rows of a column so far. */
typedef struct cli_ipc_column {
    unsigned type;
    size_t len, nulls;
    cli_buffer parts[3];
    struct cli_ipc_words *words; /* the dictionary of the file for it, or NULL */
} cli_ipc_column;

/* A dictionary of the file: it has each string once. */
typedef struct cli_ipc_words {
    size_t id;
    cli_numbers numbers;
    cli_ipc_column strings;
} cli_ipc_words;

/* Zero it to begin, and set zstd, of which several files may have the same. */
typedef struct cli_ipc {
    struct ZSTD_CCtx_s *zstd;  /* what compresses the file; NULL: it is not compressed */
    cli_output *out;           /* a regular file */
    struct ArrowSchema schema; /* of the file */
    uint64_t at;               /* bytes written */
    uint64_t held;             /* the bytes that the dictionaries take, at most */
    cli_ipc_column *columns;   /* the first is the struct of all */
    size_t columns_len, columns_cap;
    uint64_t bytes;            /* of the rows in them */
    cli_buffer head, body;     /* of the message that is being made */
    cli_buffer nodes, buffers; /* the records of what is in the body */
    cli_buffer blocks;         /* the records of the batches in the file, and of its dictionaries */
    cli_buffer dictionaries;
} cli_ipc;

/* What fails is printed, and ends the process (cli_must). */

/* Begins the file. Moves the schema, as the C data interface describes. */
void cli_ipc_begin(cli_ipc *ipc, cli_output *out, struct ArrowSchema *schema);

/* Adds the rows of a struct array that have these indices. Its schema is that of the file. */
void cli_ipc_add(cli_ipc *ipc, const struct ArrowArray *array, const int64_t *rows, size_t len);

/* Writes the last batch and the end of the file. */
void cli_ipc_end(cli_ipc *ipc);

#endif
