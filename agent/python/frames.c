/* The Python frames of a thread, and where they belong among its native frames: see python.h. */
#include "agent/python/python.h"

#include "agent/base/agent.h"

#include <string.h>

typedef struct walk {
    const pd_python_layout *layout;
    uintptr_t frame;  /* the next one, the innermost first; 0: there are no more */
    uintptr_t record; /* of the evaluation that it belongs to; 0: there are none in this version */
} walk;

/* ---- reading ----------------------------------------------------------------------------------- */

static uintptr_t word_at(uintptr_t object, size_t off)
{
    return *(const uintptr_t *)(object + off); // NOLINT(performance-no-int-to-ptr)
}

static int int_at(uintptr_t object, size_t off)
{
    return *(const int *)(object + off); // NOLINT(performance-no-int-to-ptr)
}

static unsigned byte_at(uintptr_t object, size_t off)
{
    return *(const uint8_t *)(object + off); // NOLINT(performance-no-int-to-ptr)
}

static bool is_of_type(uintptr_t object, const void *type)
{
    const size_t off = sizeof(uintptr_t); /* behind the count of references */
    return object && object % sizeof(void *) == 0 && word_at(object, off) == (uintptr_t)type;
}

static pd_python_text text_at(const pd_python_layout *layout, uintptr_t str)
{
    unsigned state = (unsigned)int_at(str, layout->str_state);
    bool is_ascii = state >> layout->str_ascii_bit & 1;
    return (pd_python_text){
        .bytes = (const uint8_t *)str + (is_ascii ? layout->str_ascii : layout->str_wide), // NOLINT
        .len = state >> layout->str_kind_bit & 7 ? word_at(str, layout->str_length) : 0,
        .width = state >> layout->str_kind_bit & 7,
    };
}

/* What a code object has. */
typedef struct code {
    pd_python_text name, file, lines;
    int first_line;
} code;

static bool read_code(const pd_python_layout *layout, uintptr_t from, code *out)
{
    uintptr_t name = word_at(from, layout->code_name), file = word_at(from, layout->code_file);
    uintptr_t lines = word_at(from, layout->code_lines);
    if (!is_of_type(name, pd_the_python.str_type) || !is_of_type(file, pd_the_python.str_type) ||
        !is_of_type(lines, pd_the_python.bytes_type))
        return false;
    out->name = text_at(layout, name);
    out->file = text_at(layout, file);
    out->first_line = int_at(from, layout->code_first_line);
    out->lines = (pd_python_text){(const uint8_t *)lines + layout->bytes_text, // NOLINT
                                  word_at(lines, layout->bytes_length), 1};
    return true;
}

/* ---- the cache ---------------------------------------------------------------------------------
 * Numbers of frames by code object and instruction, without a lock: like the cache of rules in callers.c. A code
 * object may die and another one take its place, so the contents that matter are in the key. */

enum { CACHE_BITS = 12, CACHE_LEN = 1 << CACHE_BITS };

static struct {
    _Atomic uint64_t check, number;
} cache[CACHE_LEN];

static uint64_t mix(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

/* A long text by its ends. */
static uint64_t mix_text(uint64_t key, const pd_python_text *text)
{
    enum { MOST = 2048 };
    size_t len = text->len * text->width, whole = len < MOST ? len : MOST;
    uint64_t word;
    key = mix(key, len);
    for (size_t at = 0; at + sizeof word <= whole; at += sizeof word) {
        memcpy(&word, text->bytes + at, sizeof word);
        key = mix(key, word);
    }
    word = 0;
    if (len >= sizeof word)
        memcpy(&word, text->bytes + len - sizeof word, sizeof word);
    else
        memcpy(&word, text->bytes, len);
    return mix(key, word);
}

static uint64_t number_of(const pd_python_layout *layout, uintptr_t object, const code *c,
                          long instruction)
{
    uint64_t key = mix(mix(mix(object, (uint64_t)instruction), (uint64_t)c->first_line), 0);
    key = mix_text(mix_text(mix_text(key, &c->name), &c->file), &c->lines);
    size_t slot = (size_t)(key >> (64 - CACHE_BITS));
    uint64_t number = atomic_load_explicit(&cache[slot].number, memory_order_relaxed);
    if ((atomic_load_explicit(&cache[slot].check, memory_order_relaxed) ^ number) == key && number)
        return number;
    int line =
        pd_python_line(layout->minor, c->lines.bytes, c->lines.len, c->first_line, instruction);
    number = pd_python_number(&c->name, &c->file, c->first_line, line);
    atomic_store_explicit(&cache[slot].number, number, memory_order_relaxed);
    atomic_store_explicit(&cache[slot].check, key ^ number, memory_order_relaxed);
    return number;
}

/* ---- frames ------------------------------------------------------------------------------------ */

enum { OWNED_BY_EVALUATION = 3, FRAMES_MOST = 1 << 16 };

/* Since 3.14 the lowest bits of a reference say how it is counted. */
static const uintptr_t TAGS = 3;

static long instruction_of(const pd_python_layout *layout, uintptr_t frame, uintptr_t object)
{
    enum { UNIT = 2 };
    if (layout->minor < 10)
        return int_at(frame, layout->frame_instruction);
    if (layout->minor < 11)
        return UNIT * (long)int_at(frame, layout->frame_instruction);
    return (long)(word_at(frame, layout->frame_instruction) - object - layout->code_size);
}

static bool is_text(const pd_python_text *text, const char *is)
{
    const size_t len = strlen(is);
    return text->width == 1 && text->len == len && !memcmp(text->bytes, is, len);
}

/* The frame that a call of a class has for its __init__ since 3.13: it has no file, or one that is none. */
static bool is_shim(const code *c)
{
    return !c->file.len || is_text(&c->file, "<shim>") || is_text(&c->file, "__init__");
}

/* The number of a frame; 0: it is none of the program's. */
static uint64_t number_of_frame(const walk *w)
{
    code c;
    uintptr_t object = word_at(w->frame, w->layout->frame_code) & ~TAGS;
    if (!is_of_type(object, pd_the_python.code_type) || !read_code(w->layout, object, &c) ||
        is_shim(&c))
        return 0;
    return number_of(w->layout, object, &c, instruction_of(w->layout, w->frame, object));
}

static bool is_entry(const walk *w, uintptr_t frame)
{
    const pd_python_layout *layout = w->layout;
    return layout->minor < 11   ? true
           : layout->minor < 12 ? byte_at(frame, layout->frame_is_entry) != 0
                                : byte_at(frame, layout->frame_owner) >= OWNED_BY_EVALUATION;
}

/* The state of this thread, or 0. Up to 3.11 the first function has that of the thread which runs Python now. Later ones
 * know their thread's own, and the state of an interpreter within may have been made by another one. */
static uintptr_t state_of_thread(const pd_python_layout *layout)
{
    const uintptr_t self = (uintptr_t)pthread_self();
    uintptr_t now = (uintptr_t)pd_the_python.current_state();
    if (now && (layout->minor > 11 || word_at(now, layout->thread_id) == self))
        return now;
    uintptr_t own = pd_the_python.is_finalizing() ? 0 : (uintptr_t)pd_the_python.own_state();
    return own && word_at(own, layout->thread_id) == self ? own : 0;
}

static walk begin_walk(void)
{
    const pd_python_layout *layout = pd_the_python.layout;
    uintptr_t state = layout ? state_of_thread(layout) : 0;
    if (!state)
        return (walk){.frame = 0};
    uintptr_t record = layout->thread_record ? word_at(state, layout->thread_record) : 0;
    return (walk){layout, word_at(record ? record : state, layout->thread_frame), record};
}

/* The last frame of the next evaluation. */
static uintptr_t last_of_group(const walk *w)
{
    uintptr_t frame = w->frame, next;
    for (unsigned i = 0; i < FRAMES_MOST && !is_entry(w, frame); i++, frame = next) {
        next = word_at(frame, w->layout->frame_previous);
        if (!next)
            break;
    }
    return frame;
}

/* Does the next evaluation run in the native frame? Its stack ends at `end`. */
static bool is_evaluated_by(const walk *w, uintptr_t pc, uintptr_t end)
{
    if (w->layout->minor < 11)
        return pc >= pd_the_python.evaluation && pc < pd_the_python.evaluation_end;
    return (w->layout->minor < 12 ? w->record : last_of_group(w)) < end;
}

/* Adds the frames of the next evaluation, as far as they fit. */
static size_t put_group(walk *w, uint64_t *stack, size_t depth, size_t most, bool *is_cut)
{
    const pd_python_layout *layout = w->layout;
    const uintptr_t last = last_of_group(w);
    for (bool is_last = false; !is_last && w->frame;
         w->frame = word_at(w->frame, layout->frame_previous)) {
        is_last = w->frame == last;
        if (depth == most) {
            *is_cut = true;
            w->frame = last;
            is_last = true;
            continue;
        }
        uint64_t number = number_of_frame(w);
        stack[depth] = number;
        depth += number != 0;
    }
    if (layout->minor == 11 && w->record)
        w->record = word_at(w->record, layout->record_previous);
    return depth;
}

static size_t join_frames(uint64_t stack[PD_JOINED_MAX], const uintptr_t tops[PD_STACK_MAX],
                          size_t depth)
{
    walk w = begin_walk();
    const uint64_t *native = stack + PD_JOINED_MAX - depth;
    size_t len = 0;
    bool is_cut = false;
    if (!w.frame)
        return depth;
    memmove(stack + PD_JOINED_MAX - depth, stack, depth * sizeof *stack);
    for (size_t i = 0; i < depth; i++) {
        const size_t most = PD_JOINED_MAX - (depth - i - 1);
        const uintptr_t pc = (uintptr_t)native[i], end = i + 1 < depth ? tops[i + 1] : UINTPTR_MAX;
        stack[len++] = native[i];
        for (bool goes_on = true; goes_on && w.frame && is_evaluated_by(&w, pc, end);
             goes_on = w.layout->minor > 10)
            len = put_group(&w, stack, len, most, &is_cut);
    }
    while (w.frame && !is_cut)
        len = put_group(&w, stack, len, PD_JOINED_MAX, &is_cut);
    if (is_cut)
        stack[len - 1] = pd_python_deeper();
    return len;
}

/* Functions of their own, so that a program without Python has the smaller one on its stack. */
static __attribute__((noinline)) void use_joined(const pd_caller *caller, pd_stack_use *use,
                                                 void *cookie)
{
    uint64_t stack[PD_JOINED_MAX];
    uintptr_t tops[PD_STACK_MAX];
    size_t depth = pd_unwind(caller, stack, tops);
    use(cookie, stack, join_frames(stack, tops, depth));
}

static __attribute__((noinline)) void use_native(const pd_caller *caller, pd_stack_use *use,
                                                 void *cookie)
{
    uint64_t stack[PD_STACK_MAX];
    size_t depth = pd_unwind(caller, stack, NULL);
    use(cookie, stack, depth);
}

void pd_python_stack(const pd_caller *caller, pd_stack_use *use, void *cookie)
{
    (pd_the_python.layout ? use_joined : use_native)(caller, use, cookie);
}
