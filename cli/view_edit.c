/* Changes to an unpacked profile: see view_edit.h. */
#include "view_edit.h"

#include "cli.h"
#include "keep.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for one more element of an array of the view. Returns the array, which may have
 * moved. */
static void *make_room(void *array, size_t len, size_t *room, size_t size)
{
    enum { LEAST = 64 };
    if (len < *room)
        return array;
    *room += *room / 2 + LEAST;
    void *grown = cli_take(*room * size);
    if (len)
        memcpy(grown, array, len * size);
    cli_give(array);
    return grown;
}

#define MAKE_ROOM(edit, list, room)                                                                \
    ((edit)->profile->view->list =                                                                 \
         make_room((edit)->profile->view->list, (edit)->profile->view->n_##list, &(edit)->room,    \
                   sizeof *(edit)->profile->view->list))

/* ---- strings and records --------------------------------------------------------------------- */

static int64_t add_string(cli_edit *edit, cli_string text)
{
    Pd__View__Profile *view = edit->profile->view;
    MAKE_ROOM(edit, string_table, string_room);
    view->string_table[view->n_string_table] =
        (ProtobufCBinaryData){text.len, memcpy(cli_take(text.len), text.ptr, text.len)};
    return (int64_t)view->n_string_table++;
}

/* The strings that were there before the first change. */
static void number_strings(cli_edit *edit)
{
    for (size_t i = 0; i < edit->profile->view->n_string_table; i++) {
        cli_string text = cli_profile_string(edit->profile, (int64_t)i);
        cli_numbers_of(&edit->strings, cli_key_of(text.ptr, text.len), i);
    }
}

int64_t cli_edit_string(cli_edit *edit, cli_string text)
{
    size_t next = edit->profile->view->n_string_table;
    if (!text.len)
        return 0;
    if (!edit->strings.len)
        number_strings(edit);
    size_t number = cli_numbers_of(&edit->strings, cli_key_of(text.ptr, text.len), next);
    return number < next ? (int64_t)number : add_string(edit, text);
}

/* Adds a function with the least id that is free. */
static uint64_t add_function(cli_edit *edit, const Pd__View__Function *wanted)
{
    Pd__View__Profile *view = edit->profile->view;
    MAKE_ROOM(edit, function, function_room);
    Pd__View__Function *fresh = view->function[view->n_function++] = cli_take(sizeof *fresh);
    while (cli_profile_function(edit->profile, edit->next_function))
        edit->next_function++;
    *fresh = *wanted;
    fresh->id = edit->next_function++;
    return fresh->id;
}

/* Returns the id of the function with these parts; 0: it has no name, so there is none. */
static uint64_t function_of(cli_edit *edit, const cli_edit_frame *frame)
{
    Pd__View__Profile *view = edit->profile->view;
    Pd__View__Function wanted = PD__VIEW__FUNCTION__INIT;
    if (!frame->name.ptr)
        return 0;
    wanted.name = cli_edit_string(edit, frame->name);
    wanted.system_name = cli_edit_string(edit, frame->system_name);
    wanted.filename = cli_edit_string(edit, frame->filename);
    wanted.start_line = frame->start_line;
    const int64_t parts[] = {wanted.name, wanted.system_name, wanted.filename, wanted.start_line};
    size_t number =
        cli_numbers_of(&edit->functions, cli_key_of(parts, sizeof parts), view->n_function);
    return number < view->n_function ? view->function[number]->id : add_function(edit, &wanted);
}

uint64_t cli_edit_mapping(cli_edit *edit, const Pd__View__Mapping *wanted)
{
    Pd__View__Profile *view = edit->profile->view;
    MAKE_ROOM(edit, mapping, mapping_room);
    Pd__View__Mapping *fresh = view->mapping[view->n_mapping++] = cli_take(sizeof *fresh);
    *fresh = *wanted;
    return fresh->id = view->n_mapping;
}

Pd__View__Location *cli_edit_location(cli_edit *edit)
{
    Pd__View__Profile *view = edit->profile->view;
    MAKE_ROOM(edit, location, location_room);
    Pd__View__Location *fresh = view->location[view->n_location++] = cli_take(sizeof *fresh);
    *fresh = (Pd__View__Location)PD__VIEW__LOCATION__INIT;
    fresh->id = view->n_location;
    return fresh;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void cli_edit_lines(cli_edit *edit, Pd__View__Location *location, const cli_edit_frame *frames,
                    size_t len)
{
    for (size_t i = 0; i < location->n_line; i++)
        pd__view__line__free_unpacked(location->line[i], &cli_kept_messages);
    cli_give(location->line);
    location->line = cli_take(len * sizeof *location->line);
    location->n_line = len;
    for (size_t i = 0; i < len; i++) {
        Pd__View__Line *line = location->line[i] = cli_take(sizeof *line);
        *line = (Pd__View__Line)PD__VIEW__LINE__INIT;
        line->function_id = function_of(edit, &frames[i]);
        line->line = frames[i].line;
        line->column = frames[i].column;
    }
    edit->profile->changes++;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void cli_edit_begin(cli_edit *edit, cli_profile *profile)
{
    *edit = (cli_edit){.profile = profile,
                       .string_room = profile->view->n_string_table,
                       .function_room = profile->view->n_function,
                       .next_function = 1};
}

void cli_edit_new(cli_edit *edit, cli_profile *profile)
{
    *edit = (cli_edit){.profile = profile, .next_function = 1};
    *profile = (cli_profile){.view = cli_take(sizeof *profile->view)};
    *profile->view = (Pd__View__Profile)PD__VIEW__PROFILE__INIT;
    add_string(edit, cli_string_of(""));
}

void cli_edit_end(cli_edit *edit)
{
    cli_drop(edit->strings.slots);
    cli_drop(edit->functions.slots);
    cli_profile_index(edit->profile);
}

/* ---- writing --------------------------------------------------------------------------------- */

int cli_edit_write(const cli_profile *profile, cli_buffer *to)
{
    const Pd__View__Profile *view = profile->view;
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = to};
    pprofdelta_error err;
    size_t tables_len = pd__view__profile__get_packed_size(view);
    const cli_samples *samples = &profile->samples;
    size_t len = tables_len + cli_fields_copy(samples->at, samples->end, true, NULL);
    uint8_t *bytes = cli_keep(len, 1);
    pd__view__profile__pack(view, bytes);
    cli_fields_copy(samples->at, samples->end, true, bytes + tables_len);
    pprofdelta_profile *edited = NULL;
    bool is_wrong = pprofdelta_profile_open(&profile->options, NULL, bytes, len, &edited, &err) ||
                    pprofdelta_profile_rewrite(edited, &sink, &err);
    pprofdelta_profile_free(edited);
    cli_drop(bytes);
    return is_wrong ? cli_library_error(profile->input.name, &err) : CLI_DONE;
}
