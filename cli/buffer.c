#include "buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One large piece is kept without spare room; many pieces cost few copies. */
static int append(void *cookie, const void *data, size_t len)
{
    cli_buffer *b = cookie;
    if (len > b->cap - b->len) {
        size_t cap = b->len + len > b->cap * 2 ? b->len + len : b->cap * 2;
        uint8_t *grown = cap < len ? NULL : realloc(b->bytes, cap);
        if (!grown)
            return -1;
        b->bytes = grown;
        b->cap = cap;
    }
    memcpy(b->bytes + b->len, data, len);
    b->len += len;
    return 0;
}

pprofdelta_sink cli_buffer_sink(cli_buffer *buffer)
{
    return (pprofdelta_sink){.write = append, .cookie = buffer};
}

int cli_write_all(int fd, const void *bytes, size_t len)
{
    for (const char *at = bytes; len;) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? errno : EIO;
        at += done;
        len -= (size_t)done;
    }
    return 0;
}
