/* Changes to an unpacked profile: see view_edit.h. */
#include "view_edit.h"

#include "cli.h"
#include "memory.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct cli_edit_slot {
    uint64_t hash;
    size_t index_1; /* index in the table of the view plus one; 0: the slot is free */
} cli_edit_slot;

enum { FIRST_CAP = 1 << 8 };

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(cli_string text)
{
    uint64_t hash = mix(1, text.len), word = 0;
    size_t at = 0;
    for (; text.len - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text.ptr + at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, text.ptr + at, text.len - at);
    return mix(hash, word);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *take(cli_edit *edit, size_t size)
{
    void *ptr =
        edit->is_failed || size > edit->profile->memory_left ? NULL : malloc(size ? size : 1);
    if (ptr)
        edit->profile->memory_left -= size;
    else
        edit->is_failed = true;
    return ptr;
}

/* Makes room for one more element of an array of the view. */
static void *make_room(cli_edit *edit, void *array, size_t len, size_t *room, size_t size)
{
    size_t more = len + len / 2 + FIRST_CAP;
    if (len < *room)
        return array;
    void *ptr = more > SIZE_MAX / 2 / size ? NULL : take(edit, more * size);
    if (!ptr) {
        edit->is_failed = true;
        return NULL;
    }
    if (len)
        memcpy(ptr, array, len * size);
    free(array);
    *room = more;
    return ptr;
}

/* ---- hash tables ----------------------------------------------------------------------------- */

static cli_edit_slot *place_for(cli_edit_slot *slots, size_t cap, uint64_t hash)
{
    size_t at = (size_t)hash & (cap - 1);
    while (slots[at].index_1)
        at = (at + 1) & (cap - 1);
    return &slots[at];
}

/* Makes room for `len` entries: at most half of the slots are used. */
static bool grow(cli_edit *edit, cli_edit_slot **slots, size_t *cap, size_t len)
{
    size_t more = *cap ? *cap : FIRST_CAP;
    while (more / 2 <= len && more <= SIZE_MAX / 4 / sizeof **slots)
        more *= 2;
    if (more == *cap)
        return true;
    cli_edit_slot *fresh = take(edit, more * sizeof *fresh);
    if (!fresh)
        return false;
    memset(fresh, 0, more * sizeof *fresh);
    for (size_t i = 0; i < *cap; i++)
        if ((*slots)[i].index_1)
            *place_for(fresh, more, (*slots)[i].hash) = (*slots)[i];
    free(*slots);
    *slots = fresh;
    *cap = more;
    return true;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int64_t find_string(const cli_edit *edit, cli_string text, uint64_t hash)
{
    for (size_t at = (size_t)hash & (edit->strings_cap - 1); edit->strings[at].index_1;
         at = (at + 1) & (edit->strings_cap - 1)) {
        int64_t index = (int64_t)edit->strings[at].index_1 - 1;
        if (edit->strings[at].hash == hash &&
            !cli_string_compare(cli_profile_string(edit->profile, index), text))
            return index;
    }
    return -1;
}

static void note_string(cli_edit *edit, uint64_t hash, size_t index)
{
    *place_for(edit->strings, edit->strings_cap, hash) = (cli_edit_slot){hash, index + 1};
}

static int64_t add_string(cli_edit *edit, cli_string text, uint64_t hash)
{
    Pd__View__Profile *view = edit->profile->view;
    size_t at = view->n_string_table;
    void *strings =
        make_room(edit, view->string_table, at, &edit->string_room, sizeof *view->string_table);
    if (!strings)
        return 0;
    view->string_table = strings;
    uint8_t *bytes = take(edit, text.len);
    if (!bytes || !grow(edit, &edit->strings, &edit->strings_cap, at + 1)) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, text.ptr, text.len);
    view->string_table[view->n_string_table++] = (ProtobufCBinaryData){text.len, bytes};
    note_string(edit, hash, at);
    return (int64_t)at;
}

int64_t cli_edit_string(cli_edit *edit, cli_string text)
{
    if (!text.len || edit->is_failed)
        return 0;
    uint64_t hash = hash_of(text);
    int64_t found = find_string(edit, text, hash);
    return found >= 0 ? found : add_string(edit, text, hash);
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint64_t hash_of_function(const Pd__View__Function *f)
{
    uint64_t hash = mix(mix(2, (uint64_t)f->name), (uint64_t)f->system_name);
    return mix(mix(hash, (uint64_t)f->filename), (uint64_t)f->start_line);
}

static bool is_same(const Pd__View__Function *a, const Pd__View__Function *b)
{
    return a->name == b->name && a->system_name == b->system_name && a->filename == b->filename &&
           a->start_line == b->start_line;
}

static uint64_t find_function(const cli_edit *edit, const Pd__View__Function *wanted, uint64_t hash)
{
    if (!edit->functions_cap)
        return 0;
    for (size_t at = (size_t)hash & (edit->functions_cap - 1); edit->functions[at].index_1;
         at = (at + 1) & (edit->functions_cap - 1)) {
        const Pd__View__Function *f =
            edit->profile->view->function[edit->functions[at].index_1 - 1];
        if (edit->functions[at].hash == hash && is_same(f, wanted))
            return f->id;
    }
    return 0;
}

/* The least id that no function has. */
static uint64_t new_id(cli_edit *edit)
{
    while (cli_profile_function(edit->profile, edit->next_function))
        edit->next_function++;
    return edit->next_function++;
}

/* Returns the id of the function with these parts, or 0 on failure. */
static uint64_t function_of(cli_edit *edit, const cli_edit_frame *frame)
{
    Pd__View__Profile *view = edit->profile->view;
    Pd__View__Function wanted = PD__VIEW__FUNCTION__INIT;
    wanted.name = cli_edit_string(edit, frame->name);
    wanted.system_name = cli_edit_string(edit, frame->system_name);
    wanted.filename = cli_edit_string(edit, frame->filename);
    wanted.start_line = frame->start_line;
    uint64_t hash = hash_of_function(&wanted), found = find_function(edit, &wanted, hash);
    if (found)
        return found;
    void *functions = make_room(edit, view->function, view->n_function, &edit->function_room,
                                sizeof *view->function);
    if (!functions)
        return 0;
    view->function = functions;
    Pd__View__Function *fresh = take(edit, sizeof *fresh);
    if (!fresh || !grow(edit, &edit->functions, &edit->functions_cap, view->n_function + 1)) {
        free(fresh);
        return 0;
    }
    *fresh = wanted;
    fresh->id = new_id(edit);
    *place_for(edit->functions, edit->functions_cap, hash) =
        (cli_edit_slot){hash, view->n_function + 1};
    view->function[view->n_function++] = fresh;
    return fresh->id;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void free_lines(cli_profile *profile, Pd__View__Line **lines, size_t len)
{
    ProtobufCAllocator allocator = cli_profile_allocator(profile);
    for (size_t i = 0; i < len; i++)
        if (lines[i])
            pd__view__line__free_unpacked(lines[i], &allocator);
    free(lines);
}

void cli_edit_lines(cli_edit *edit, Pd__View__Location *location, const cli_edit_frame *frames,
                    size_t len)
{
    Pd__View__Line **lines = take(edit, len * sizeof *lines);
    if (!lines)
        return;
    for (size_t i = 0; i < len; i++)
        lines[i] = NULL;
    for (size_t i = 0; i < len; i++) {
        uint64_t function = function_of(edit, &frames[i]);
        lines[i] = take(edit, sizeof **lines);
        if (!lines[i])
            break;
        *lines[i] = (Pd__View__Line)PD__VIEW__LINE__INIT;
        lines[i]->function_id = function;
        lines[i]->line = frames[i].line;
        lines[i]->column = frames[i].column;
    }
    if (edit->is_failed) {
        free_lines(edit->profile, lines, len);
        return;
    }
    free_lines(edit->profile, location->line, location->n_line);
    location->line = lines;
    location->n_line = len;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void cli_edit_begin(cli_edit *edit, cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    *edit = (cli_edit){.profile = profile,
                       .string_room = view->n_string_table,
                       .function_room = view->n_function,
                       .next_function = 1};
    if (!grow(edit, &edit->strings, &edit->strings_cap, view->n_string_table))
        return;
    for (size_t i = 0; i < view->n_string_table; i++)
        note_string(edit, hash_of(cli_profile_string(profile, (int64_t)i)), i);
}

int cli_edit_end(cli_edit *edit)
{
    free(edit->strings);
    free(edit->functions);
    edit->strings = edit->functions = NULL;
    if (edit->is_failed) {
        cli_error("%s: there is not enough memory for its symbols", edit->profile->input.name);
        cli_hint_memory();
        return CLI_FAILED;
    }
    return cli_profile_index(edit->profile);
}

/* ---- value types ----------------------------------------------------------------------------- */

static bool is_among(cli_string name, const char *const *types, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (cli_string_is(name, types[i]))
            return true;
    return false;
}

static bool has_value(const Pd__View__Sample *sample)
{
    for (size_t i = 0; i < sample->n_value; i++)
        if (sample->value[i])
            return true;
    return false;
}

static void leave_out_column(cli_profile *profile, size_t column)
{
    Pd__View__Profile *view = profile->view;
    ProtobufCAllocator allocator = cli_profile_allocator(profile);
    pd__view__value_type__free_unpacked(view->sample_type[column], &allocator);
    view->n_sample_type--;
    for (size_t i = column; i < view->n_sample_type; i++)
        view->sample_type[i] = view->sample_type[i + 1];
    for (size_t i = 0; i < view->n_sample; i++) {
        Pd__View__Sample *sample = view->sample[i];
        sample->n_value--;
        for (size_t j = column; j < sample->n_value; j++)
            sample->value[j] = sample->value[j + 1];
    }
}

void cli_edit_leave_out(cli_profile *profile, const char *const *types, size_t len)
{
    Pd__View__Profile *view = profile->view;
    ProtobufCAllocator allocator = cli_profile_allocator(profile);
    size_t kept = 0;
    for (size_t column = view->n_sample_type; column-- > 0;)
        if (is_among(cli_profile_type(profile, column), types, len))
            leave_out_column(profile, column);
    for (size_t i = 0; i < view->n_sample; i++) {
        if (has_value(view->sample[i]))
            view->sample[kept++] = view->sample[i];
        else
            pd__view__sample__free_unpacked(view->sample[i], &allocator);
    }
    view->n_sample = kept;
}

/* ---- writing --------------------------------------------------------------------------------- */

int cli_edit_write(cli_profile *profile, cli_output *out)
{
    const Pd__View__Profile *view = profile->view;
    pprofdelta_sink sink = cli_output_sink(out);
    pprofdelta_error err;
    size_t len = pd__view__profile__get_packed_size(view);
    uint8_t *bytes = len <= profile->memory_left ? malloc(len + 1) : NULL;
    if (!bytes) {
        cli_error("%s: there is not enough memory to write it", profile->input.name);
        cli_hint_memory();
        return CLI_FAILED;
    }
    pd__view__profile__pack(view, bytes);
    pprofdelta_profile *edited = NULL;
    pprofdelta_status status =
        pprofdelta_profile_open(&profile->options, cli_memory_within(profile->options.max_memory),
                                bytes, len, &edited, &err);
    if (!status)
        status = pprofdelta_profile_rewrite(edited, &sink, &err);
    pprofdelta_profile_free(edited);
    free(bytes);
    if (status)
        return out->failure ? out->failure : cli_library_error(profile->input.name, &err);
    return cli_output_finish(out);
}
