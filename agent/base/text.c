/* Texts and files: see text.h. */
#include "agent/base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void pd_text_add_list(pd_fixed_text *text, const char *format, va_list list)
{
    size_t room = sizeof text->bytes - text->len;
    int len = vsnprintf(text->bytes + text->len, room, format, list);
    text->len += len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

void pd_text_add(pd_fixed_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    pd_text_add_list(text, format, list);
    va_end(list);
}

/* strerror may allocate and load a catalogue. These are the errors that writing a file can cause. */
const char *pd_words_of_error(int error)
{
    static const struct {
        int error;
        const char *words;
    } known[] = {
        {EACCES, "permission denied"},
        {EAGAIN, "resource temporarily unavailable"},
        {EDQUOT, "disk quota exceeded"},
        {EFBIG, "file too large"},
        {EIO, "input/output error"},
        {EMFILE, "too many open files"},
        {ENFILE, "too many open files in the system"},
        {ENOENT, "no such file or directory"},
        {ENOMEM, "out of memory"},
        {ENOSPC, "no space left on device"},
        {ENOTDIR, "not a directory"},
        {EPERM, "operation not permitted"},
        {EROFS, "read-only file system"},
    };
    static __thread char other[16] __attribute__((tls_model("initial-exec")));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            return known[i].words;
    snprintf(other, sizeof other, "error %d", error);
    return other;
}

void pd_close(int fd)
{
    PD_KEEP_ERRNO;
    if (fd >= 0)
        close(fd);
}

int pd_open_high(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    pd_close(fd);
    return high;
}

int pd_open(const char *path, int flags)
{
    return pd_open_high(open(path, flags | O_CLOEXEC));
}

int pd_write_all(int fd, const void *data, size_t len)
{
    for (const char *at = data; len;) {
        ssize_t wrote = write(fd, at, len);
        if (wrote < 0 && errno != EINTR)
            return errno;
        if (wrote == 0)
            return ENOSPC;
        if (wrote > 0) {
            at += wrote;
            len -= (size_t)wrote;
        }
    }
    return 0;
}

bool pd_read_text(const char *path, char *text, size_t size)
{
    int fd = pd_open(path, O_RDONLY);
    ssize_t len = fd >= 0 ? read(fd, text, size - 1) : -1;
    pd_close(fd);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

const char *pd_name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Takes the complete lines, and moves the rest to the beginning. Returns the length of the rest. */
static size_t take_lines(char *bytes, size_t len, void (*take)(void *, pd_bytes), void *cookie)
{
    size_t at = 0;
    for (const char *end; (end = memchr(bytes + at, '\n', len - at));) {
        size_t next = (size_t)(end - bytes);
        take(cookie, (pd_bytes){(const uint8_t *)bytes + at, next - at});
        at = next + 1;
    }
    memmove(bytes, bytes + at, len - at);
    return len - at;
}

int pd_read_lines(int fd, char *bytes, size_t size, void (*take)(void *, pd_bytes), void *cookie)
{
    int error = fd < 0 ? errno : 0;
    size_t len = 0;
    bool is_any = false;
    for (ssize_t got = 1; !error && got;) {
        got = read(fd, bytes + len, size - len);
        if (got < 0)
            error = errno == EINTR ? 0 : errno;
        is_any |= got > 0;
        len = got > 0 ? take_lines(bytes, len + (size_t)got, take, cookie) : len;
    }
    pd_close(fd);
    return error ? error : is_any ? 0 : ENOENT;
}

/* strtoull would have another name on each C library. */
uint64_t pd_number_at(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        number = 10 * number + (uint64_t)(*text - '0');
    return number;
}
