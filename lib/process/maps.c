/* The table of mappings. maps_read.c fills it. */
#include "process/maps.h"

#include "base/order.h"
#include "profile/identity.h"

/* ---- a line ---------------------------------------------------------------------------------- */

static bool take_char(pd_bytes *s, char c)
{
    bool is_there = s->len && s->ptr[0] == (uint8_t)c;
    *s = pd_bytes_behind(*s, is_there);
    return is_there;
}

static bool take_number(pd_bytes *s, unsigned base, uint64_t *out)
{
    return pd_bytes_take_number(s, base, UINT64_MAX, out);
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
    line = pd_bytes_behind(line, 4);
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

/* ---- the table ------------------------------------------------------------------------------- */

void pd_maps_clear(pd_maps *m)
{
    m->len = m->sorted_len = m->text.len = 0;
    pd_keymap_clear(&m->keys);
    m->main = PD_MAP_NONE;
    m->is_read = false;
}

pprofdelta_status pd_maps_add(pd_maps *m, pd_mem *mem, const pd_maps_line *line, pd_bytes build_id,
                              pprofdelta_error *err)
{
    pd_map map = {.start = line->start,
                  .limit = line->limit,
                  .file_offset = line->file_offset,
                  .name_off = m->text.len,
                  .name_len = (uint32_t)line->name.len,
                  .build_id_len = (uint32_t)build_id.len,
                  .is_there = true};
    PD_TRY(pd_buffer_add_text(mem, &m->text, line->name, err));
    PD_TRY(PD_GROW(mem, m->maps, m->len + 1, err));
    map.build_id_off = m->text.len;
    PD_TRY(pd_buffer_add_text(mem, &m->text, build_id, err));
    m->maps[m->len++] = map;
    return PPROFDELTA_OK;
}

static bool is_behind(const void *cookie, uint32_t a, uint32_t b)
{
    const pd_map *maps = cookie;
    return maps[a].start != maps[b].start ? maps[a].start > maps[b].start : a > b;
}

pprofdelta_status pd_maps_sort(pd_maps *m, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(PD_GROW(mem, m->sorted, m->len, err));
    m->sorted_len = 0;
    for (uint32_t i = 0; i < m->len; i++)
        if (m->maps[i].is_there)
            m->sorted[m->sorted_len++] = i;
    pd_order(m->sorted, m->sorted_len, is_behind, m->maps);
    return PPROFDELTA_OK;
}

uint32_t pd_maps_find(const pd_maps *m, uint64_t address)
{
    size_t low = 0, high = m->sorted_len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->maps[m->sorted[middle]].limit <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == m->sorted_len || m->maps[m->sorted[low]].start > address)
        return PD_MAP_NONE;
    return m->sorted[low];
}
