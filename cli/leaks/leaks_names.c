/* The names of what is shown, for all runs at once: see leaks.h. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "message.h"

#include <stdlib.h>

/* The profile that is made: the places of all runs, each once. */
typedef struct names {
    ProtobufCBinaryData *strings;
    size_t strings_len, strings_cap;
    Pd__View__Function **functions;
    size_t functions_len, functions_cap;
    Pd__View__Mapping **mappings;
    size_t mappings_len, mappings_cap;
    Pd__View__Location **locations;
    size_t locations_len, locations_cap;
    cli_numbers by_text, by_function, by_mapping, by_place;
} names;

/* ---- which places --------------------------------------------------------------------------- */

static void want(bool *wanted, const cli_leaks_rows *rows, const cli_leaks_row *row)
{
    for (size_t i = 0; i < row->stack_len; i++)
        wanted[rows->stacks[row->stack + i]] = true;
}

static bool has_frame(const cli_leaks_rows *rows, const cli_leaks_row *row,
                      const cli_leaks_frame *frame)
{
    bool has = false;
    for (size_t i = 0; i < row->path_len; i++)
        has |= cli_leaks_frame_at(rows, row, i) == frame;
    return has;
}

/* Is the row one of what was found, or may it be one of the place of a suspect? */
static bool is_found(const cli_leaks_run *run, const cli_leaks_row *row)
{
    return row->verdict.kind != CLI_LEAKS_NONE || row->group ||
           (run->findings.suspects && row->verdict.growth > 0);
}

/* Of an area, the cause may be in a stack. */
static void want_finding(bool *wanted, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_rows *rows = &run->rows;
    if (f->what != CLI_LEAKS_AREAS)
        want(wanted, rows, &rows->rows[f->row]);
    for (size_t i = 0; i < rows->len && f->what == CLI_LEAKS_AREAS; i++)
        if (has_frame(rows, &rows->rows[i], f->cause.frame))
            want(wanted, rows, &rows->rows[i]);
}

static bool *choose(const cli_leaks_run *run, const cli_leaks_rows *rows, const cli_leaks_how *how)
{
    bool *wanted = cli_keep(rows->places_len, sizeof *wanted);
    const cli_leaks_findings *found = &run->findings;
    bool is_shown = how->names_all || found->suspects || found->unknown;
    for (size_t i = 0; i < rows->len && is_shown; i++)
        if (how->names_all || rows == &run->areas || is_found(run, &rows->rows[i]))
            want(wanted, rows, &rows->rows[i]);
    for (size_t i = 0; i < found->shown_len && rows == &run->rows; i++)
        want_finding(wanted, run, found->shown[i]);
    return wanted;
}

/* ---- one profile ---------------------------------------------------------------------------- */

static int64_t add_string(names *n, cli_string text)
{
    size_t number = cli_numbers_of(&n->by_text, cli_key_of(text.ptr, text.len), n->strings_len);
    if (number == n->strings_len) {
        CLI_KEEP_MORE(n->strings, 1);
        n->strings[n->strings_len++] = (ProtobufCBinaryData){text.len, (uint8_t *)text.ptr};
    }
    return (int64_t)number;
}

/* This and the next return the id. */
static uint64_t add_function(names *n, const cli_frame_text *text)
{
    const int64_t words[] = {add_string(n, text->name), add_string(n, text->file)};
    size_t number =
        cli_numbers_of(&n->by_function, cli_key_of(words, sizeof words), n->functions_len);
    if (number < n->functions_len)
        return number + 1;
    CLI_KEEP_MORE(n->functions, 1);
    Pd__View__Function *made = n->functions[n->functions_len++] = cli_keep(1, sizeof *made);
    *made = (Pd__View__Function)PD__VIEW__FUNCTION__INIT;
    made->id = number + 1;
    made->name = made->system_name = words[0];
    made->filename = words[1];
    return made->id;
}

/* Its addresses are those in the file. */
static uint64_t add_mapping(names *n, const cli_leaks_module *module)
{
    const int64_t words[] = {add_string(n, module->name), add_string(n, module->build_id),
                             (int64_t)module->file_offset, module->has_filenames,
                             module->has_line_numbers};
    size_t number =
        cli_numbers_of(&n->by_mapping, cli_key_of(words, sizeof words), n->mappings_len);
    if (number < n->mappings_len)
        return number + 1;
    CLI_KEEP_MORE(n->mappings, 1);
    Pd__View__Mapping *made = n->mappings[n->mappings_len++] = cli_keep(1, sizeof *made);
    *made = (Pd__View__Mapping)PD__VIEW__MAPPING__INIT;
    made->id = number + 1;
    made->memory_start = made->file_offset = module->file_offset;
    made->memory_limit = UINT64_MAX;
    made->filename = words[0];
    made->build_id = words[1];
    made->has_filenames = module->has_filenames;
    made->has_line_numbers = module->has_line_numbers;
    return made->id;
}

/* The names that there are. */
static void add_lines(names *n, Pd__View__Location *location, const cli_leaks_rows *rows,
                      const cli_leaks_place *place)
{
    Pd__View__Line *lines = cli_keep(place->len, sizeof *lines);
    location->line = cli_keep(place->len, sizeof *location->line);
    for (size_t i = 0; i < place->len; i++) {
        const cli_frame_text *text = &rows->frames[place->first + i].text;
        if (text->is_nameless)
            return;
        lines[i] = (Pd__View__Line)PD__VIEW__LINE__INIT;
        lines[i].function_id = add_function(n, text);
        lines[i].line = text->line;
        location->line[location->n_line++] = &lines[i];
    }
}

static void add_place(names *n, const cli_leaks_rows *rows, const cli_leaks_place *place)
{
    if (cli_numbers_of(&n->by_place, place->key, n->locations_len) < n->locations_len)
        return;
    CLI_KEEP_MORE(n->locations, 1);
    Pd__View__Location *made = n->locations[n->locations_len++] = cli_keep(1, sizeof *made);
    *made = (Pd__View__Location)PD__VIEW__LOCATION__INIT;
    made->id = n->locations_len;
    made->address = place->address;
    if (place->module_1)
        made->mapping_id = add_mapping(n, &rows->modules[place->module_1 - 1]);
    add_lines(n, made, rows, place);
}

/* Makes the profile, and finds the names of its locations. */
static int make(names *n, cli_profile *profile, const cli_leaks_how *how)
{
    cli_input made = {.name = "the stacks that are shown"};
    Pd__View__Profile view = PD__VIEW__PROFILE__INIT;
    Pd__View__ValueType type = PD__VIEW__VALUE_TYPE__INIT, *types[] = {&type};
    type.type = add_string(n, cli_string_of("space"));
    type.unit = add_string(n, cli_string_of("bytes"));
    view.n_sample_type = 1;
    view.sample_type = types;
    view.n_string_table = n->strings_len;
    view.string_table = n->strings;
    view.n_function = n->functions_len;
    view.function = n->functions;
    view.n_mapping = n->mappings_len;
    view.mapping = n->mappings;
    view.n_location = n->locations_len;
    view.location = n->locations;
    made.bytes = malloc(pd__view__profile__get_packed_size(&view));
    if (!made.bytes)
        return cli_memory_error(made.name, "there is not enough memory");
    made.len = pd__view__profile__pack(&view, made.bytes);
    int code = cli_profile_take(profile, made, &how->library);
    return code ? code : cli_names_find(profile, how->names);
}

/* ---- all runs ------------------------------------------------------------------------------- */

/* Which places of a run are wanted. */
typedef struct wish {
    bool *stacks, *areas;
} wish;

static void add_places(names *n, const cli_leaks_rows *rows, const bool *wanted)
{
    for (size_t i = 0; i < rows->places_len; i++)
        if (wanted[i])
            add_place(n, rows, &rows->places[i]);
}

/* Returns whether a place got a name. */
static bool rename_places(names *n, cli_leaks_rows *rows, const bool *wanted,
                          const cli_profile *profile)
{
    bool any = false;
    for (size_t i = 0; i < rows->places_len; i++) {
        if (!wanted[i])
            continue;
        size_t number = cli_numbers_of(&n->by_place, rows->places[i].key, 0);
        cli_leaks_rows_rename(rows, i, profile, profile->view->location[number]);
        any = true;
    }
    if (any)
        cli_leaks_rows_end(rows);
    return any;
}

static int rename_run(names *n, cli_leaks_run *run, const wish *wanted, const cli_leaks_work *w,
                      const cli_profile *profile)
{
    bool any = rename_places(n, &run->rows, wanted->stacks, profile);
    any |= rename_places(n, &run->areas, wanted->areas, profile);
    int code = cli_leaks_check_memory(run, &w->how, w->files[run->first].place.path);
    if (any && !code)
        cli_leaks_rank(run, &w->how);
    return code;
}

int cli_leaks_find_names(cli_leaks_work *w)
{
    names n = {.strings = NULL};
    cli_profile profile = {.view = NULL};
    wish *wishes = cli_keep(w->runs_len, sizeof *wishes);
    add_string(&n, cli_string_of(""));
    for (size_t i = 0; i < w->runs_len; i++) {
        const cli_leaks_run *run = &w->runs[i];
        wishes[i] = (wish){choose(run, &run->rows, &w->how), choose(run, &run->areas, &w->how)};
        add_places(&n, &run->rows, wishes[i].stacks);
        add_places(&n, &run->areas, wishes[i].areas);
    }
    int code = n.locations_len ? make(&n, &profile, &w->how) : CLI_DONE;
    for (size_t i = 0; i < w->runs_len && n.locations_len && !code; i++)
        code = rename_run(&n, &w->runs[i], &wishes[i], w, &profile);
    cli_profile_free(&profile);
    return code;
}
