/* Writes one table as a file in Arrow's IPC format, from arrays of Arrow's C data interface.
 *
 *     cli_ipc_begin(&ipc, &out, &schema);
 *     for (each array)
 *         cli_ipc_add(&ipc, &array, rows, len);
 *     cli_ipc_end(&ipc);
 *
 * The caller chooses which rows of an array are written, so that a row that the file already has can be
 * left out. One batch is in memory at a time.
 *
 * These types are written: 64-bit integers, timestamps, bool, utf8, list and struct. Strings that have
 * a dictionary are written as plain strings: all batches of a file would share one dictionary, which
 * would have to stay in memory until the end, and some readers (nanoarrow before 0.9, which DuckDB's
 * extension is built on) refuse dictionaries.
 *
 * Parquet is not written. Arrow C++ (libparquet, and arrow-glib for C) would write it, but Debian 12
 * has no package of it, and it is far larger than this command. nanoarrow writes IPC only, and
 * has no package either. */
#ifndef CLI_IPC_H
#define CLI_IPC_H

#include "output_file.h"
#include "pprofdelta_tables.h"

/* An array with more bytes becomes several batches. */
enum { CLI_IPC_BATCH_BYTES = 64 << 20 };

/* Zero it to begin. */
typedef struct cli_ipc {
    cli_output *out;           /* a regular file */
    struct ArrowSchema schema; /* of the file */
    uint64_t at;               /* bytes written */
    cli_buffer head, body;     /* of the message that is being made */
    cli_buffer nodes, buffers; /* the records of what is in the body */
    cli_buffer blocks;         /* the records of the batches in the file */
    size_t body_most;
    bool is_too_large;
} cli_ipc;

/* What fails is printed, and ends the process (cli_must). */

/* Begins the file. Moves the schema, as the C data interface describes. */
void cli_ipc_begin(cli_ipc *ipc, cli_output *out, struct ArrowSchema *schema);

/* Writes the rows of a struct array that have these indices. Its schema is that of the file. */
void cli_ipc_add(cli_ipc *ipc, const struct ArrowArray *array, const int64_t *rows, size_t len);

/* Writes the end of the file. */
void cli_ipc_end(cli_ipc *ipc);

#endif
