/* Reads /proc/self/smaps: see smaps.h.
 *
 *     7f0000000000-7f0000021000 rw-p 00000000 00:00 0        [heap]       a line of maps
 *     Rss:                 132 kB                                         then lines of fields
 *     Anonymous:           132 kB
 */
#include "agent/account/smaps.h"

#include "agent/delivery/spool.h"
#include "process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Reads the number of a line such as "Rss:   132 kB". Returns false if the line has another name. */
static bool read_field(pd_bytes line, const char *name, uint64_t *out)
{
    size_t at = strlen(name);
    uint64_t kib = 0;
    if (line.len < at || memcmp(line.ptr, name, at) != 0)
        return false;
    while (at < line.len && line.ptr[at] == ' ')
        at++;
    for (; at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9'; at++)
        kib = kib * 10 + (line.ptr[at] - '0');
    *out = kib << 10;
    return true;
}

void pd_smaps_end(pd_smaps_text *text)
{
    if (text->has_area)
        text->take(text->cookie, &text->area);
    text->has_area = false;
}

static bool is_start(pd_bytes line)
{
    return line.len && ((line.ptr[0] >= '0' && line.ptr[0] <= '9') ||
                        (line.ptr[0] >= 'a' && line.ptr[0] <= 'f'));
}

void pd_smaps_line(pd_smaps_text *text, pd_bytes line)
{
    pd_smaps_area *area = &text->area;
    pd_maps_line map;
    if (!is_start(line)) {
        if (text->has_area && !read_field(line, "Rss:", &area->resident))
            read_field(line, "Anonymous:", &area->copied);
        return;
    }
    pd_smaps_end(text);
    if (!pd_maps_parse_line(line, &map))
        return;
    size_t len = map.name.len < sizeof text->name ? map.name.len : sizeof text->name;
    if (len)
        memcpy(text->name, map.name.ptr, len);
    *area = (pd_smaps_area){.begin = map.start,
                            .end = map.limit,
                            .inode = map.inode,
                            .name = {(const uint8_t *)text->name, len}};
    text->has_area = true;
}

/* As with the files in proc.h: /proc/self is empty when the main thread has ended. */
static int open_smaps(void)
{
    char first;
    int fd = pd_spool_high(open("/proc/self/smaps", O_RDONLY | O_CLOEXEC));
    if (fd >= 0 && pread(fd, &first, 1, 0) == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    return pd_spool_high(open("/proc/thread-self/smaps", O_RDONLY | O_CLOEXEC));
}

/* Takes the complete lines, and moves the rest to the beginning. Returns the length of the rest. */
static size_t take_lines(pd_smaps_text *text, char *bytes, size_t len)
{
    size_t at = 0;
    for (const char *end; (end = memchr(bytes + at, '\n', len - at));) {
        size_t next = (size_t)(end - bytes);
        pd_smaps_line(text, (pd_bytes){(const uint8_t *)bytes + at, next - at});
        at = next + 1;
    }
    memmove(bytes, bytes + at, len - at);
    return len - at;
}

int pd_smaps_read(pd_smaps_taker *take, void *cookie)
{
    static char bytes[64 << 10]; /* longer than every line */
    static pd_smaps_text text;
    int fd = open_smaps(), error = fd < 0 ? errno : 0;
    size_t len = 0;
    bool is_any = false;
    text = (pd_smaps_text){.take = take, .cookie = cookie};
    for (ssize_t got = 1; !error && got;) {
        got = read(fd, bytes + len, sizeof bytes - len);
        if (got < 0)
            error = errno == EINTR ? 0 : errno;
        is_any |= got > 0;
        len = got > 0 ? take_lines(&text, bytes, len + (size_t)got) : len;
    }
    if (fd >= 0)
        close(fd);
    pd_smaps_end(&text);
    return error ? error : is_any ? 0 : ENOENT;
}
