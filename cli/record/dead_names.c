/* The names of functions of a dead process: see dead_names.h. */
#include "record/dead_names.h"

#include "cli.h"
#include "keep.h"
#include "symbolize/symbolize_view.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
    const cli_dead_name *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void take_names(cli_dead_names *names, const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    names->at = cli_keep(view->n_location, sizeof *names->at);
    for (size_t i = 0; i < view->n_location; i++) {
        const Pd__View__Location *l = view->location[i];
        const Pd__View__Function *f =
            l->n_line ? cli_profile_function(profile, l->line[0]->function_id) : NULL;
        if (l->address && f)
            names->at[names->len++] = (cli_dead_name){
                l->address, cli_keep_string(cli_profile_string(profile, f->name)).ptr};
    }
    qsort(names->at, names->len, sizeof *names->at, by_address);
}

int cli_dead_names_find(cli_dead_names *names, const char *name, cli_buffer *profile)
{
    cli_profile unnamed = {0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    cli_symbolize_report report = {0};
    const cli_symbolizing how = {.places = {.needs_build_id = true, .has_tables_only = true},
                                 .is_not_demangled = true};
    options.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    int code =
        cli_profile_take(&unnamed, (cli_input){name, profile->bytes, profile->len}, &options);
    *profile = (cli_buffer){0};
    if (!code) {
        cli_symbolize_profile(&unnamed, &how, &report);
        take_names(names, &unnamed);
    }
    cli_drop(report.modules);
    cli_profile_free(&unnamed);
    return code;
}

void cli_dead_names_symbolize(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    cli_dead_names *names = cookie;
    const cli_dead_name wanted = {.address = address};
    const cli_dead_name *found =
        names->len ? bsearch(&wanted, names->at, names->len, sizeof wanted, by_address) : NULL;
    if (!found)
        return;
    names->frame = (pprofdelta_frame){.name = found->name};
    *out = (pprofdelta_symbol){.frames = &names->frame, .frames_len = 1};
}
