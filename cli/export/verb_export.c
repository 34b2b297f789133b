/* pprofdelta export FILE... -o DIR: profiles as tables, in Arrow's IPC file format.
 *
 *     FILE -> library -> columns -> a batch each -> DIR/samples.arrow
 *                                                   DIR/stacks.arrow, locations.arrow, functions.arrow
 *
 * One FILE is in memory at a time, and the ids of the rows so far: a stack, a location and a function are
 * written when the first FILE has them. All four files are complete before the first is renamed; the
 * samples are renamed last, so that what they refer to is there.
 *
 * A window counts once. If a later FILE is a higher attempt at it, its rows take the place of those that
 * were written. */
#include "arguments.h"
#include "cli.h"
#include "export/ipc.h"
#include "input.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES, STACKS, LOCATIONS, FUNCTIONS, TABLES };

/* Ids, which are hashes, in a hash table of which at most half is used. A slot that is 0 is free. */
typedef struct id_set {
    uint64_t *slots;
    size_t len, cap;
} id_set;

typedef struct window {
    pprofdelta_stamp stamp;
    const char *name;
    size_t first, end; /* its batches of samples */
} window;

typedef struct run {
    const char *dir, *target;
    pprofdelta_options library;
    bool quiet, is_made;
    cli_input input;
    struct table {
        char *path;
        cli_output out;
        cli_ipc ipc;
        id_set known;
    } tables[TABLES];
    cli_buffer windows; /* of window */
    id_set known;       /* windows, by a hash */
    window *window;     /* of the FILE that is being written; NULL: it belongs to no series */
    const char *first;  /* the first FILE */
    sigset_t before;    /* the signals that were blocked before the first byte was written */
    int code;           /* of a failure while the library was called */
} run;

/* ---- the command line ------------------------------------------------------------------------ */

static const cli_option options[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(run, dir),
     "  -o, --output DIR       write the tables to DIR, which is created\n", CLI_FOLDER, 0},
    {"--target", 0, CLI_VALUE, cli_take_text, offsetof(run, target),
     "      --target=NAME      the target of all samples (default: the id of the state)\n", 0, 0},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(run, library.max_memory),
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n", 0, 0},
    {"--quiet", 'q', CLI_ALONE, cli_take_flag, offsetof(run, quiet),
     "  -q, --quiet            print no notes on stderr\n", 0, 0},
    {"--help", 'h', CLI_ALONE, NULL, 0, "  -h, --help\n", 0, 0},
    {NULL, 0, CLI_ALONE, NULL, 0, NULL, 0, 0},
};

static const cli_command command = {
    .before = "usage: pprofdelta export FILE... -o DIR\n"
              "Writes the FILEs (- is stdin) as four tables: samples, stacks, locations and\n"
              "functions, which are files in Arrow's IPC format. Ids are equal in all windows\n"
              "and on all hosts. Of several attempts at one window the highest counts.\n"
              "\n",
    .options = options,
    .after = "",
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns 1 if the id is new, 0 if it is known, -1 if there is no memory. */
static int add_id(id_set *set, uint64_t id)
{
    if (2 * set->len >= set->cap) {
        id_set grown = {calloc(set->cap ? 2 * set->cap : 1024, sizeof id), 0,
                        set->cap ? 2 * set->cap : 1024};
        if (!grown.slots)
            return -1;
        for (size_t i = 0; i < set->cap; i++)
            if (set->slots[i])
                add_id(&grown, set->slots[i]);
        free(set->slots);
        *set = grown;
    }
    size_t at = id & (set->cap - 1);
    while (set->slots[at] && set->slots[at] != id)
        at = (at + 1) & (set->cap - 1);
    bool is_new = !set->slots[at];
    set->slots[at] = id;
    set->len += is_new;
    return is_new;
}

/* Do the columns have the same names? All other columns are the same in every profile. */
static int check_types(const run *r, const struct ArrowSchema *all, const struct ArrowSchema *these)
{
    int64_t i = 0;
    while (i < all->n_children && i < these->n_children &&
           !strcmp(all->children[i]->name, these->children[i]->name))
        i++;
    if (i == all->n_children && i == these->n_children)
        return CLI_DONE;
    cli_error("%s: its value types are not those of %s: %s, where that has %s", r->input.name,
              r->first, i < these->n_children ? these->children[i]->name : "none",
              i < all->n_children ? all->children[i]->name : "none");
    cli_hint("give each kind of profile a call and a DIR of its own");
    return CLI_FAILED;
}

/* Writes the rows with new ids, of samples all rows. */
static int write_rows(run *r, struct table *table, pprofdelta_table *from)
{
    const struct ArrowArray *array = &from->array, *ids = array->children[0];
    size_t len = (size_t)array->length, kept = 0;
    bool is_samples = table == &r->tables[SAMPLES];
    int code = table->ipc.out ? check_types(r, &table->ipc.schema, &from->schema)
                              : cli_ipc_begin(&table->ipc, &table->out, &from->schema);
    int64_t *rows = code ? NULL : calloc(len + 1, sizeof *rows);
    for (size_t i = 0; i < len && rows; i++) {
        int is_new = is_samples || add_id(&table->known, ((const uint64_t *)ids->buffers[1])[i]);
        if (is_new < 0) {
            free(rows);
            rows = NULL;
        } else if (is_new) {
            rows[kept++] = (int64_t)i;
        }
    }
    if (!code)
        code = rows ? cli_ipc_add(&table->ipc, array, rows, kept)
                    : cli_system_error(table->path, "write", ENOMEM);
    free(rows);
    return code;
}

static int take(void *cookie, pprofdelta_tables *tables)
{
    run *r = cookie;
    pprofdelta_table *const from[TABLES] = {&tables->samples, &tables->stacks, &tables->locations,
                                            &tables->functions};
    struct table *samples = &r->tables[SAMPLES];
    window *window = r->window;
    if (!samples->ipc.out) {
        sigset_t ending;
        cli_ending_signals(&ending);
        sigprocmask(SIG_BLOCK, &ending, &r->before);
    }
    for (; window && window->first < window->end && !r->code; window->first++)
        r->code = cli_ipc_clear(&samples->ipc, &from[SAMPLES]->array, window->first);
    size_t first = cli_ipc_batches(&samples->ipc);
    for (size_t i = 0; i < TABLES && !r->code; i++)
        r->code = write_rows(r, &r->tables[i], from[i]);
    if (window) {
        window->first = first;
        window->end = cli_ipc_batches(&samples->ipc);
    }
    return r->code;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Finds the window, or adds it, and sets r->window. Sets *counts to whether this attempt counts. */
static int find_window(run *r, const pprofdelta_stamp *stamp, bool *counts)
{
    const char *name = r->input.name;
    window *all = (window *)(void *)r->windows.bytes, new = {*stamp, name, 0, 0};
    size_t len = r->windows.len / sizeof *all, i = len;
    *counts = true;
    r->window = NULL;
    if (!stamp->sequence)
        return CLI_DONE;
    if (r->target && len && all->stamp.id != stamp->id) {
        cli_error("%s: is of another target than %s, and --target names one", name, all->name);
        return CLI_FAILED;
    }
    int is_new = add_id(&r->known, stamp->id ^ stamp->sequence * UINT64_C(0x9e3779b97f4a7c15));
    for (i = is_new ? len : 0; i < len; i++)
        if (all[i].stamp.id == stamp->id && all[i].stamp.sequence == stamp->sequence)
            break;
    if (is_new < 0 || (i == len && cli_buffer_append(&r->windows, &new, sizeof new)))
        return cli_system_error(name, "write", ENOMEM);
    r->window = (window *)(void *)r->windows.bytes + i;
    if (i == len)
        return CLI_DONE;
    const pprofdelta_stamp *was = &r->window->stamp;
    *counts = stamp->attempt > was->attempt ||
              (stamp->attempt == was->attempt && stamp->to_nanos > was->to_nanos);
    if (*counts)
        cli_note("%s: is the same window as %s, sent again; this one counts", name,
                 r->window->name);
    else
        cli_note("%s: is %s attempt at the same window as %s; it does not count", name,
                 stamp->attempt < was->attempt ? "an earlier" : "the same", r->window->name);
    if (*counts) {
        r->window->stamp = *stamp;
        r->window->name = name;
    }
    return CLI_DONE;
}

static int add(run *r, const char *path)
{
    pprofdelta_error err;
    pprofdelta_profile *profile = NULL;
    pprofdelta_census census = {.size = sizeof census};
    const pprofdelta_sink sink = {.tables = take, .cookie = r};
    bool counts = false;
    int code = cli_input_read(&r->input, path, r->library.max_memory);
    if (code)
        return code;
    r->first = r->first ? r->first : r->input.name;
    cli_progress_say("exporting", r->input.name);
    if (pprofdelta_profile_open(&r->library, NULL, r->input.bytes, r->input.len, &profile, &err))
        return cli_library_error(r->input.name, &err);
    pprofdelta_profile_census(profile, &census);
    code = find_window(r, &census.stamp, &counts);
    if (counts && !code && pprofdelta_profile_rewrite(profile, &sink, &err))
        code = r->code ? r->code : cli_library_error(r->input.name, &err);
    pprofdelta_profile_free(profile);
    cli_input_free(&r->input);
    return code;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int prepare(run *r)
{
    static const char *const names[TABLES] = {"samples", "stacks", "locations", "functions"};
    int code = CLI_DONE;
    r->is_made = !mkdir(r->dir, 0777);
    if (!r->is_made && errno != EEXIST)
        return cli_system_error(r->dir, "make the directory", errno);
    for (size_t i = 0; i < TABLES && !code; i++) {
        struct table *table = &r->tables[i];
        if (asprintf(&table->path, "%s/%s.arrow", r->dir, names[i]) < 0)
            table->path = NULL;
        code = table->path ? cli_output_prepare(&table->out, table->path)
                           : cli_system_error(r->dir, "write", ENOMEM);
    }
    return code;
}

static int finish(run *r)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < TABLES && !code; i++) {
        code = cli_ipc_end(&r->tables[i].ipc);
        code = code ? code : cli_output_settle(&r->tables[i].out);
    }
    for (size_t i = TABLES; i-- > 0 && !code;)
        code = cli_output_finish(&r->tables[i].out);
    return code;
}

/* After a signal, CLI_FAILED is returned, and the signal ends the process when nothing is left over. */
static int perform(run *r, const cli_arguments *files)
{
    pprofdelta_attribute target = {"target", r->target};
    r->library.format = PPROFDELTA_TABLES;
    r->library.resource = &target;
    r->library.resource_len = r->target != NULL;
    int code = prepare(r);
    if (r->quiet)
        cli_message_quiet();
    else
        cli_progress_start();
    for (size_t i = 0; i < files->operands_len && !code; i++) {
        code = add(r, files->operands[i]);
        if (!code && cli_is_ending(&r->before))
            code = CLI_FAILED;
    }
    return code ? code : finish(r);
}

static void clean_up(run *r, bool has_failed)
{
    bool is_blocked = r->tables[SAMPLES].ipc.out != NULL;
    for (size_t i = 0; i < TABLES; i++) {
        cli_ipc_free(&r->tables[i].ipc);
        cli_output_close(&r->tables[i].out);
        free(r->tables[i].path);
        free(r->tables[i].known.slots);
    }
    if (has_failed && r->is_made)
        rmdir(r->dir);
    cli_input_free(&r->input);
    free(r->windows.bytes);
    free(r->known.slots);
    if (is_blocked)
        sigprocmask(SIG_SETMASK, &r->before, NULL);
}

int cli_export(int argc, char **argv)
{
    run r = {.library = PPROFDELTA_OPTIONS_INIT};
    cli_arguments arguments = {.argc = argc, .argv = argv};
    for (size_t i = 0; i < TABLES; i++)
        r.tables[i].out = (cli_output){.fd = -1, .is_table = true};
    r.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    int code = cli_command_read(&command, &arguments, &r);
    if (code || arguments.is_done)
        return code;
    if (!arguments.operands_len || !r.dir)
        return cli_usage("%s: pprofdelta export FILE... -o DIR",
                         r.dir ? "a profile is missing" : "-o DIR is missing");
    code = cli_check_stdin(arguments.operands, arguments.operands_len);
    code = code ? code : perform(&r, &arguments);
    clean_up(&r, code != CLI_DONE);
    return code;
}
