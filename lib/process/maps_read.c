/* Where the mappings come from: /proc/self/maps and the loader. */
#include "process/elf.h"
#include "process/maps.h"
#include "process/proc.h"
#include "profile/identity.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static pd_key key_of(const pd_maps_line *line)
{
    pd_key name = pd_key_of_bytes(line->name.ptr, line->name.len, 0);
    uint64_t words[] = {line->start, line->limit, line->file_offset, name.lo, name.hi};
    return pd_key_of_words(words, sizeof words / sizeof *words, 0);
}

static pprofdelta_status read_file(pd_maps *m, pd_mem *mem, pprofdelta_error *err)
{
    m->file.len = 0;
    int fd = pd_proc_open_maps();
    pprofdelta_status status = PPROFDELTA_OK;
    for (ssize_t got = 1; fd >= 0 && got && !status;) {
        status = pd_buffer_room(mem, &m->file, 1 << 14, err);
        if (status)
            break;
        got = read(fd, m->file.ptr + m->file.len, m->file.cap - m->file.len);
        if (got < 0 && errno != EINTR)
            break;
        m->file.len += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static void find_main(pd_maps *m)
{
    char buffer[4096];
    ssize_t len = pd_proc_program(buffer, sizeof buffer);
    pd_bytes name =
        pd_filename_unmarked((pd_bytes){(const uint8_t *)buffer, len > 0 ? (size_t)len : 0});
    m->main = m->sorted_len ? m->sorted[0] : PD_MAP_NONE;
    for (size_t i = m->sorted_len; i-- > 0;)
        if (name.len && pd_bytes_equal(pd_maps_name(m, m->sorted[i]), name))
            m->main = m->sorted[i];
}

/* A mapping that an earlier reading had keeps its number. file_start: the address of the
 * file's first byte, or 0 if that is not mapped. */
static pprofdelta_status take_line(pd_maps *m, pd_mem *mem, int memory, const pd_maps_line *line,
                                   uint64_t file_start, pprofdelta_error *err)
{
    char id[2 * PD_BUILD_ID_MAX];
    const pd_key key = key_of(line);
    PD_TRY(pd_keymap_room(&m->keys, mem, key, err));
    uint32_t known = pd_keymap_find(&m->keys, key);
    if (known == PD_KEYMAP_NONE) {
        size_t len = file_start ? pd_build_id_at(memory, file_start, id) : 0;
        PD_TRY(pd_maps_add(m, mem, line, (pd_bytes){(const uint8_t *)id, len}, err));
        known = pd_keymap_add(&m->keys, key);
    }
    m->maps[known].is_there = true;
    return PPROFDELTA_OK;
}

static pprofdelta_status take_lines(pd_maps *m, pd_mem *mem, int memory, pprofdelta_error *err)
{
    /* The mappings of a file follow each other. The one with offset 0 has the file's first byte. */
    uint64_t file_start = 0;
    pd_bytes file_name = {0};
    for (size_t at = 0; at < m->file.len;) {
        const uint8_t *start = m->file.ptr + at, *end = memchr(start, '\n', m->file.len - at);
        pd_bytes text = {start, end ? (size_t)(end - start) : m->file.len - at};
        pd_maps_line line;
        at += text.len + 1;
        if (!pd_maps_parse_line(text, &line))
            continue;
        if (!pd_bytes_equal(line.name, file_name) || !line.file_offset) {
            file_name = line.name;
            file_start = line.name.len && !line.file_offset ? line.start : 0;
        }
        /* Where the kernel uses huge pages for code it leaves empty mappings without a name. */
        if (line.is_executable && (line.inode || line.name.len))
            PD_TRY(take_line(m, mem, memory, &line, file_start, err));
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_maps_read(pd_maps *m, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(read_file(m, mem, err));
    if (!m->file.len && m->is_read)
        return PPROFDELTA_OK;
    for (size_t i = 0; i < m->len; i++)
        m->maps[i].is_there = false;
    int memory = pd_proc_open_mem();
    pprofdelta_status status = take_lines(m, mem, memory, err);
    if (memory >= 0)
        close(memory);
    PD_TRY(status);
    PD_TRY(pd_maps_sort(m, mem, err));
    find_main(m);
    m->is_read = true;
    return PPROFDELTA_OK;
}

static int take_loads(struct dl_phdr_info *info, size_t size, void *out)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(uint64_t *)out = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    return 1; /* the same for all objects: one is enough */
}

uint64_t pd_maps_loads(void)
{
    uint64_t loads = 0;
    dl_iterate_phdr(take_loads, &loads);
    return loads;
}
