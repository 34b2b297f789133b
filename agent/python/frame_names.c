/* Numbers of frames and what they mean: see python.h.
 *
 * A number is the address of a record in the tracker's pages. Records are only added. An index by contents finds
 * them, so that equal frames have one number. */
#include "agent/python/python.h"

#include "agent/base/agent.h"
#include "agent/base/region.h"
#include "agent/base/reserve.h"
#include "base/lock.h"

#include <string.h>

enum { CHUNK = 32 << 10, NAME_MAX_LEN = 512, FILE_MAX_LEN = 1024, SLOTS_FIRST = 1024 };

typedef struct slot {
    uint64_t hash; /* 0: free */
    uint64_t address;
} slot;

static PD_OF_PROCESS pd_lock lock; /* of all of these */
static slot *slots;
static size_t slots_len, slots_used;
static char *room, *room_end;

void pd_python_hold(void)
{
    pd_lock_take(&lock);
}

void pd_python_give(void)
{
    pd_lock_give(&lock);
}

/* ---- records ----------------------------------------------------------------------------------- */

static void *new_record(size_t size)
{
    if ((size_t)(room_end - room) < size) {
        room = pd_region_map(NULL, CHUNK);
        room_end = room ? room + CHUNK : NULL;
    }
    void *record = room;
    room += record ? size : 0;
    return record;
}

static slot *find_slot(slot *in, size_t len, uint64_t hash)
{
    size_t at = hash & (len - 1);
    while (in[at].hash && in[at].hash != hash)
        at = (at + 1) & (len - 1);
    return &in[at];
}

/* Returns false without memory. */
static bool have_slots(void)
{
    size_t len = slots_len ? slots_len * 2 : SLOTS_FIRST;
    if (slots_used < slots_len / 4 * 3)
        return true;
    slot *more = atomic_load(&pd_is_confined) ? NULL : pd_reserve_map(len * sizeof *more);
    if (!more)
        return false;
    for (size_t i = 0; i < slots_len; i++)
        if (slots[i].hash)
            *find_slot(more, len, slots[i].hash) = slots[i];
    pd_reserve_unmap(slots, slots_len * sizeof *slots);
    slots = more;
    slots_len = len;
    return true;
}

static uint64_t hash_of(const char *text, size_t len, uint64_t hash)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* ---- texts ------------------------------------------------------------------------------------- */

static size_t put_letter(uint32_t letter, char to[4])
{
    if (letter < 0x80)
        return to[0] = (char)letter, 1;
    if (letter < 0x800)
        return to[0] = (char)(0xc0 | letter >> 6), to[1] = (char)(0x80 | (letter & 63)), 2;
    if (letter < 0x10000)
        return to[0] = (char)(0xe0 | letter >> 12), to[1] = (char)(0x80 | (letter >> 6 & 63)),
               to[2] = (char)(0x80 | (letter & 63)), 3;
    return to[0] = (char)(0xf0 | (letter >> 18 & 7)), to[1] = (char)(0x80 | (letter >> 12 & 63)),
           to[2] = (char)(0x80 | (letter >> 6 & 63)), to[3] = (char)(0x80 | (letter & 63)), 4;
}

/* Writes the text as UTF-8, at most `most` bytes and a NUL. Returns the length. */
static size_t put_text(const pd_python_text *text, char *to, size_t most)
{
    size_t len = 0;
    for (size_t i = 0; i < text->len && len + 4 <= most; i++) {
        const void *at = text->bytes + i * text->width;
        uint32_t letter = text->width == 1   ? *(const uint8_t *)at
                          : text->width == 2 ? *(const uint16_t *)at
                                             : *(const uint32_t *)at;
        len += put_letter(letter, to + len);
    }
    to[len] = 0;
    return len;
}

/* The name of the module, as its file has it: "rows" of "/srv/app/rows.py", "app" of "/srv/app/__init__.py", and
 * "importlib._bootstrap" of "<frozen importlib._bootstrap>". Writes a dot behind it. */
static size_t put_module(const char *file, size_t len, char *to, size_t most)
{
    static const char frozen[] = "<frozen ", package[] = "/__init__.py", ending[] = ".py";
    size_t from = 0, end = len;
    if (len >= sizeof frozen && !strncmp(file, frozen, sizeof frozen - 1) && file[len - 1] == '>') {
        from = sizeof frozen - 1;
        end--;
    } else if (len >= sizeof package && !strcmp(file + len - (sizeof package - 1), package)) {
        end -= sizeof package - 1;
    } else if (len >= sizeof ending && !strcmp(file + len - (sizeof ending - 1), ending)) {
        end -= sizeof ending - 1;
    } else {
        return 0;
    }
    for (size_t i = from; i < end; i++)
        from = file[i] == '/' ? i + 1 : from;
    if (end - from + 1 > most)
        return 0;
    memcpy(to, file + from, end - from);
    to[end - from] = '.';
    return end - from + 1;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* The address of the record of a function; 0: no memory. */
static uint64_t intern_function(const char *name, size_t name_len, const char *file,
                                size_t file_len, int first_line)
{
    uint64_t hash = hash_of(file, file_len, hash_of(name, name_len, (uint64_t)first_line));
    slot *at = have_slots() ? find_slot(slots, slots_len, hash) : NULL;
    if (!at || at->hash)
        return at ? at->address : 0;
    const size_t size = pd_remains_size_of_function((uint32_t)name_len, (uint32_t)file_len);
    pd_remains_function *function = new_record(size);
    if (!function)
        return 0;
    function->name_len = (uint32_t)name_len;
    function->file_len = (uint32_t)file_len;
    function->first_line = (uint32_t)first_line;
    memcpy(function->text, name, name_len);
    memcpy(function->text + name_len + 1, file, file_len);
    function->check = pd_remains_check(&function->check, size);
    *at = (slot){hash, (uintptr_t)function};
    slots_used++;
    return at->address;
}

static uint64_t intern_frame(uint64_t function, uint64_t line)
{
    const uint64_t both[] = {function, line};
    uint64_t hash = hash_of((const char *)both, sizeof both, 1);
    slot *at = function && have_slots() ? find_slot(slots, slots_len, hash) : NULL;
    if (!at || at->hash)
        return at ? at->address : 0;
    pd_remains_frame *frame = new_record(sizeof *frame);
    if (!frame)
        return 0;
    frame->function = function;
    frame->line = line;
    frame->check = pd_remains_check(&frame->check, sizeof *frame);
    *at = (slot){hash, (uintptr_t)frame};
    slots_used++;
    return at->address;
}

static uint64_t number_of(const char *name, size_t name_len, const char *file, size_t file_len,
                          int first_line, int line)
{
    pd_lock_take(&lock);
    uint64_t frame =
        intern_frame(intern_function(name, name_len, file, file_len, first_line), (uint64_t)line);
    pd_lock_give(&lock);
    return frame ? frame | PD_REMAINS_NUMBER : 0;
}

uint64_t pd_python_number(const pd_python_text *function, const pd_python_text *file,
                          int first_line, int line)
{
    char path[FILE_MAX_LEN + 1], name[NAME_MAX_LEN + 1];
    size_t file_len = put_text(file, path, FILE_MAX_LEN);
    size_t name_len = put_module(path, file_len, name, NAME_MAX_LEN / 2);
    name_len += put_text(function, name + name_len, NAME_MAX_LEN - name_len);
    return number_of(name, name_len, path, file_len, first_line, line);
}

uint64_t pd_python_deeper(void)
{
    static const char name[] = "(deeper frames)";
    return number_of(name, sizeof name - 1, "", 0, 0, 0);
}

/* ---- names ------------------------------------------------------------------------------------- */

static const void *find_here(const void *cookie, uint64_t address, size_t len)
{
    (void)cookie, (void)len;
    return (const void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

int pd_python_name_frame(void *cookie, uint64_t address, pprofdelta_frame *out)
{
    (void)cookie;
    return pd_remains_name_frame(find_here, NULL, address, out);
}

bool pd_python_name(uint64_t address, pprofdelta_symbol *out)
{
    static pprofdelta_frame frame;
    if (!pd_python_name_frame(NULL, address, &frame))
        return false;
    *out = (pprofdelta_symbol){.frames = &frame, .frames_len = 1};
    return true;
}
