/* Bytes in memory that grow at their end, and the loop that writes all of them to a descriptor. */
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include "pprofdelta.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cli_buffer {
    uint8_t *bytes; /* free them */
    size_t len, cap;
} cli_buffer; /* zero it to begin */

/* A sink that appends to the buffer. It refuses bytes that there is no memory for. */
pprofdelta_sink cli_buffer_sink(cli_buffer *buffer);

/* Writes len bytes, also after an interruption. Returns 0 or an errno value. */
int cli_write_all(int fd, const void *bytes, size_t len);

#endif
