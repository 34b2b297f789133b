#include "process/maps_line.h"

#include "profile/identity.h"

static bool take_char(pd_bytes *s, char c)
{
    if (!s->len || s->ptr[0] != (uint8_t)c)
        return false;
    s->ptr++;
    s->len--;
    return true;
}

static bool take_number(pd_bytes *s, unsigned base, uint64_t *out)
{
    size_t digits = 0;
    *out = 0;
    for (; s->len; digits++, s->ptr++, s->len--) {
        uint8_t c = s->ptr[0];
        unsigned digit = c >= '0' && c <= '9'   ? c - (unsigned)'0'
                         : c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10
                                                : base;
        if (digit >= base)
            break;
        *out = *out * base + digit;
    }
    return digits > 0;
}

/*     55e0c1a00000-55e0c1a02000 r-xp 00001000 fe:01 787766      /usr/bin/cat (deleted)           */
bool pd_maps_parse_line(pd_bytes line, pd_maps_line *out)
{
    uint64_t major, minor;
    *out = (pd_maps_line){0};
    if (!take_number(&line, 16, &out->start) || !take_char(&line, '-') ||
        !take_number(&line, 16, &out->limit) || !take_char(&line, ' ') || line.len < 5)
        return false;
    out->is_executable = line.ptr[2] == 'x';
    line.ptr += 4;
    line.len -= 4;
    if (!take_char(&line, ' ') || !take_number(&line, 16, &out->file_offset) ||
        !take_char(&line, ' ') || !take_number(&line, 16, &major) || !take_char(&line, ':') ||
        !take_number(&line, 16, &minor) || !take_char(&line, ' ') ||
        !take_number(&line, 10, &out->inode) || out->limit <= out->start)
        return false;
    while (take_char(&line, ' '))
        continue;
    out->name = pd_filename_unmarked(line);
    out->is_deleted = out->name.len != line.len;
    return true;
}
