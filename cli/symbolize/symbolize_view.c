/* A profile's locations and the files that know them: see symbolize_view.h.
 *
 *     locations that need names -> sorted by mapping and address -> one request for each mapping
 *     answer -> lines of the locations, flags of the mapping
 */
#include "symbolize/symbolize_view.h"

#include "keep.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES_MAX = 512 }; /* more are not believed */

/* A location to be looked for. */
typedef struct place {
    Pd__View__Mapping *mapping;
    uint64_t address; /* of the instruction */
    Pd__View__Location *location;
} place;

typedef struct places {
    place *at;
    size_t len;
} places;

/* ---- which locations ------------------------------------------------------------------------- */

static bool has_file(const cli_profile *profile, const Pd__View__Mapping *mapping)
{
    cli_string name = cli_profile_string(profile, mapping->filename);
    return cli_profile_file_len(name) || cli_profile_string(profile, mapping->build_id).len;
}

/* Has a line a file or a number? */
static bool has_lines(const cli_profile *profile, const Pd__View__Location *location)
{
    for (size_t i = 0; i < location->n_line; i++) {
        const Pd__View__Function *f = cli_profile_function(profile, location->line[i]->function_id);
        if (location->line[i]->line || (f && cli_profile_string(profile, f->filename).len))
            return true;
    }
    return false;
}

static bool is_named(const cli_profile *profile, const Pd__View__Location *location,
                     const Pd__View__Mapping *mapping)
{
    bool claims_lines = mapping->has_filenames || mapping->has_line_numbers;
    return location->n_line && (claims_lines || has_lines(profile, location));
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->mapping != y->mapping)
        return x->mapping->id < y->mapping->id ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* Marks the locations that are a leaf of some sample. */
static bool *find_leaves(const cli_profile *profile)
{
    bool *is_leaf = cli_keep(profile->view->n_location, sizeof *is_leaf);
    cli_sample sample;
    for (cli_samples rest = profile->samples; cli_samples_next(&rest, &sample);)
        if (sample.path < sample.path_end)
            is_leaf[cli_profile_location_index(
                profile, cli_path_next(&sample.path, sample.is_tagged))] = true;
    return is_leaf;
}

static void choose_location(places *chosen, const cli_profile *profile, const cli_symbolizing *how,
                            size_t index, bool is_call, cli_symbolize_report *report)
{
    Pd__View__Location *location = profile->view->location[index];
    Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    if (!location->address || (how->wanted && !how->wanted[index]))
        return;
    report->locations++;
    if (mapping && !how->is_forced && is_named(profile, location, mapping))
        report->kept++;
    else if (!mapping || !has_file(profile, mapping))
        report->placeless += !location->n_line;
    else
        chosen->at[chosen->len++] = (place){mapping, location->address - is_call, location};
}

static void choose_locations(places *chosen, const cli_profile *profile, const cli_symbolizing *how,
                             cli_symbolize_report *report)
{
    size_t len = profile->view->n_location;
    bool *is_leaf = how->has_return_addresses ? find_leaves(profile) : NULL;
    chosen->at = cli_keep(len, sizeof *chosen->at);
    for (size_t i = 0; i < len; i++)
        choose_location(chosen, profile, how, i, is_leaf && !is_leaf[i], report);
    cli_drop(is_leaf);
    qsort(chosen->at, chosen->len, sizeof *chosen->at, by_place);
}

/* ---- one mapping ----------------------------------------------------------------------------- */

static cli_edit_frame read_frame(cli_answer *answer)
{
    cli_edit_frame frame = {.name = cli_answer_string(answer)};
    frame.system_name = cli_answer_string(answer);
    frame.filename = cli_answer_string(answer);
    frame.start_line = (int64_t)(cli_answer_number(answer) & INT32_MAX);
    frame.line = (int64_t)(cli_answer_number(answer) & INT32_MAX);
    frame.column = (int64_t)(cli_answer_number(answer) & INT32_MAX);
    if (frame.system_name.len) /* which is demangled later */
        frame.name = frame.system_name;
    return frame;
}

/* Sets the lines of a location. */
static void set_lines(cli_edit *edit, const place *at, const cli_edit_frame *frames, size_t len,
                      cli_module_report *module)
{
    Pd__View__Mapping *mapping = at->mapping;
    bool has_line = false;
    for (size_t i = 0; i < len; i++) {
        mapping->has_functions |= frames[i].name.len != 0;
        mapping->has_filenames |= frames[i].filename.len != 0;
        has_line |= frames[i].line != 0;
    }
    mapping->has_line_numbers |= has_line;
    mapping->has_inline_frames |= module->state == CLI_MODULE_READ;
    /* A name that is there is no worse than the same name without a line. */
    if (has_line || !at->location->n_line)
        cli_edit_lines(edit, at->location, frames, len);
    module->lined += has_line;
}

/* Reads the answer as far as it is whole. */
static void read_answer(cli_edit *edit, cli_answer *answer, const place *from, size_t places_len,
                        cli_module_report *module)
{
    cli_edit_frame frames[FRAMES_MAX];
    module->state = (cli_module_state)cli_answer_number(answer);
    if (answer->is_over || module->state > CLI_MODULE_UNREADABLE) {
        module->state = CLI_MODULE_UNREADABLE;
        return;
    }
    for (uint64_t number; (number = cli_answer_number(answer)) && number <= places_len;) {
        uint64_t len = cli_answer_number(answer);
        for (uint64_t i = 0; i < len && i < FRAMES_MAX; i++)
            frames[i] = read_frame(answer);
        if (!len || len > FRAMES_MAX || answer->is_over)
            return;
        set_lines(edit, &from[number - 1], frames, (size_t)len, module);
    }
}

static void ask_about(cli_edit *edit, const cli_symbolizing *how, const place *from,
                      const place *end, cli_module_report *module)
{
    const Pd__View__Mapping *mapping = from->mapping;
    cli_string name = cli_profile_string(edit->profile, mapping->filename);
    size_t len = (size_t)(end - from);
    uint64_t *addresses = cli_keep(len, sizeof *addresses);
    cli_answer answer;
    *module = (cli_module_report){.mapping = mapping, .wanted = len};
    name.len = cli_profile_file_len(name);
    const char *path = cli_keep_string(name).ptr;
    char *build_id =
        (char *)cli_keep_string(cli_profile_string(edit->profile, mapping->build_id)).ptr;
    for (char *at = build_id; *at; at++)
        if (*at >= 'A' && *at <= 'F')
            *at += 'a' - 'A';
    for (size_t i = 0; i < len; i++)
        addresses[i] = from[i].address;
    const cli_module_request request = {
        path, build_id, mapping->memory_start, mapping->file_offset, addresses, len, &how->places};
    module->end = cli_module_resolve(&request, &answer);
    read_answer(edit, &answer, from, len, module);
    cli_answer_free(&answer);
    cli_drop(addresses);
    for (const place *p = from; p < end; p++)
        module->named += p->location->n_line != 0;
}

/* ---- all mappings ---------------------------------------------------------------------------- */

static void ask_all(cli_edit *edit, const cli_symbolizing *how, const places *chosen,
                    cli_symbolize_report *report)
{
    const place *end = chosen->at + chosen->len;
    report->modules = cli_keep(edit->profile->view->n_mapping, sizeof *report->modules);
    for (const place *from = chosen->at; from < end;) {
        const place *next = from;
        while (next < end && next->mapping == from->mapping)
            next++;
        ask_about(edit, how, from, next, &report->modules[report->len++]);
        from = next;
    }
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* What a module does not have, as the end of a sentence. NULL: nothing. */
static const char *missing_of(const cli_module_report *module)
{
    static const char *const reasons[] = {
        [CLI_MODULE_READ] = NULL,
        [CLI_MODULE_TABLE_ONLY] =
            "has no debug information, only a symbol table; install its debug symbols",
        [CLI_MODULE_NO_SYMBOLS] = "has no symbols; install its debug symbols",
        [CLI_MODULE_MISSING] =
            "is not here; --debug-dir names a directory that has it or its debug file",
        [CLI_MODULE_OTHER_BUILD] = ("the file has another build id and is not used; --debug-dir "
                                    "names a directory that has the right one"),
        [CLI_MODULE_UNREADABLE] = "is not an ELF file that can be read",
    };
    return module->end == CLI_APART_DONE ? reasons[module->state] : cli_apart_reason(module->end);
}

void cli_symbolize_note(const cli_profile *profile, const cli_module_report *module)
{
    char name[1024], id[256];
    const char *why = missing_of(module);
    uint64_t left = module->wanted - module->lined;
    size_t name_len =
        cli_string_write(name, sizeof name, cli_profile_string(profile, module->mapping->filename));
    size_t id_len =
        cli_string_write(id, sizeof id, cli_profile_string(profile, module->mapping->build_id));
    const char *before = !id_len ? "" : name_len ? " (build id " : "(build id ";
    if (left)
        cli_note("%s%s%s%s: %s%s %" PRIu64 " of %" PRIu64 " locations%s", name, before, id,
                 id_len ? ")" : "", why ? why : "its debug information has no lines for",
                 why ? ";" : "", left, module->wanted, why ? " have no lines" : "");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_wrong(const cli_module_report *module)
{
    return module->end != CLI_APART_DONE || module->state == CLI_MODULE_OTHER_BUILD;
}

void cli_symbolize_profile(cli_profile *profile, const cli_symbolizing *how,
                           cli_symbolize_report *report)
{
    cli_edit edit;
    places chosen = {0};
    cli_edit_begin(&edit, profile);
    if (!how->is_not_symbolized && cli_module_resolve) {
        choose_locations(&chosen, profile, how, report);
        ask_all(&edit, how, &chosen, report);
        cli_drop(chosen.at);
    }
    if (!how->is_not_demangled && cli_demangle)
        cli_demangle_view(&edit);
    cli_edit_end(&edit);
}

void cli_names_find(cli_profile *profile, cli_symbolizing how)
{
    cli_symbolize_report report = {0};
    how.places.needs_build_id = true;
    cli_symbolize_profile(profile, &how, &report);
    for (size_t i = 0; i < report.len; i++)
        if (is_wrong(&report.modules[i]))
            cli_symbolize_note(profile, &report.modules[i]);
    cli_drop(report.modules);
}

/* ---- options --------------------------------------------------------------------------------- */

void cli_names_take_dir(const cli_option *option, const char *dir, void *member)
{
    cli_debug_places *known = member;
    if (!*dir)
        cli_bad_value(option->name, dir, "a directory");
    if (access(dir, R_OK | X_OK))
        cli_usage("%s: %.200s: %s", option->name, dir, strerror(errno));
    if (known->dirs_len == sizeof known->dirs / sizeof *known->dirs)
        cli_usage("%s may be given %zu times", option->name, known->dirs_len);
    known->dirs[known->dirs_len++] = dir;
}
