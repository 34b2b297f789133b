/* pprofdelta export FILE... -o DIR: profiles as tables, in Arrow's IPC file format.
 *
 *     FILE -> library -> columns -> a batch of each -> DIR/samples.arrow
 *                                                      DIR/stacks.arrow, locations.arrow, functions.arrow
 *
 * Several FILEs are read twice: first for their stamps, since a window counts once, and its highest
 * attempt may be in any FILE. One FILE is in memory at a time, with the ids of the rows so far: a stack, a
 * location and a function are written when the first FILE has them.
 *
 * All tables are written whole before the first of them replaces an old one. The samples are last, so that
 * what they refer to is there. */
#include "arguments.h"
#include "cli.h"
#include "export/ipc.h"
#include "input.h"
#include "keep.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACKS, LOCATIONS, FUNCTIONS, SAMPLES, TABLES };
static const char *const names[TABLES] = {"stacks", "locations", "functions", "samples"};

typedef struct table {
    char *path;
    cli_output out;
    cli_ipc ipc;
    /* The ids so far, which are hashes, in a hash table that is at most half full. A free slot is 0. */
    uint64_t *ids;
    size_t ids_len, ids_cap;
    uint64_t rows;
} table;

typedef struct run {
    const char *dir;
    pprofdelta_options library;
    pprofdelta_attribute target;
    bool is_made; /* this run made dir */
    cli_report_form report;
    cli_arguments files;
    const char *name;         /* of the file that is read */
    pprofdelta_stamp *stamps; /* of the files */
    size_t replaced;          /* files that do not count */
    table tables[TABLES];
    sigset_t before; /* the signals that were blocked before there were temporary files */
    int code;        /* of a failure while the library was called */
} run;

static const cli_option options[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(run, dir), CLI_FOLDER, 0,
     "  -o, --output DIR       write the tables to DIR, which is created\n"},
    {"--target", 0, CLI_VALUE, cli_take_text, offsetof(run, target.value), 0, 0,
     "      --target=NAME      the target of all samples, in place of the state's id\n"},
    {"--max-memory", 0, CLI_VALUE, cli_take_size, offsetof(run, library.max_memory), 0, 0,
     "      --max-memory=SIZE  use at most SIZE bytes: 512M, 8G (the default)\n"},
    {"--report", 0, CLI_MAY_HAVE_VALUE, cli_take_choice, offsetof(run, report), CLI_REPORT, 0,
     "      --report[=FORM]    print counts to stderr, as text or json\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet            print no notes on stderr\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta export FILE... -o DIR\n"
              "Writes profiles (- alone is stdin) as tables, which are Arrow files in DIR:\n"
              "samples, stacks, locations and functions. Of several attempts at one window\n"
              "the highest counts.\n"
              "\n",
    .options = options,
    .missing = "a profile is missing: pprofdelta export FILE... -o DIR",
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns 1 if the id is new, 0 if it is known, -1 if there is no memory. */
static int add_id(table *t, uint64_t id)
{
    if (2 * t->ids_len >= t->ids_cap) {
        table grown = {.ids_cap = t->ids_cap ? 2 * t->ids_cap : 1024};
        if (!(grown.ids = calloc(grown.ids_cap, sizeof id)))
            return -1;
        for (size_t i = 0; i < t->ids_cap; i++)
            if (t->ids[i])
                add_id(&grown, t->ids[i]);
        free(t->ids);
        t->ids = grown.ids;
        t->ids_cap = grown.ids_cap;
    }
    id = id ? id : 1; /* the id of the empty stack is 0 */
    size_t at = id & (t->ids_cap - 1);
    while (t->ids[at] && t->ids[at] != id)
        at = (at + 1) & (t->ids_cap - 1);
    bool is_new = !t->ids[at];
    t->ids[at] = id;
    t->ids_len += is_new;
    return is_new;
}

/* Only the names of value columns differ between profiles, and the last column is the same. */
static int check_types(const run *r, const struct ArrowSchema *all, const struct ArrowSchema *these)
{
    for (int64_t i = 0; i < all->n_children; i++)
        if (strcmp(all->children[i]->name, these->children[i]->name) != 0) {
            cli_error("%s: its value types are not those of the files before it: %s in place of %s",
                      r->name, these->children[i]->name, all->children[i]->name);
            return cli_hint("export each kind of profile by itself, into a DIR of its own");
        }
    return CLI_DONE;
}

/* Writes the rows with new ids; all samples. */
static int write_rows(run *r, table *t, pprofdelta_table *from)
{
    const struct ArrowArray *array = &from->array;
    const uint64_t *ids = array->children[0]->buffers[1];
    size_t len = (size_t)array->length, kept = 0;
    int is_new = 1, code = t->ipc.out ? check_types(r, &t->ipc.schema, &from->schema)
                                      : cli_ipc_begin(&t->ipc, &t->out, &from->schema);
    int64_t *rows = code ? NULL : calloc(len + 1, sizeof *rows);
    for (size_t i = 0; i < len && rows && is_new >= 0; i++) {
        is_new = t == &r->tables[SAMPLES] ? 1 : add_id(t, ids[i]);
        rows[kept] = (int64_t)i;
        kept += is_new > 0;
    }
    t->rows += kept;
    if (!code)
        code = rows && is_new >= 0 ? cli_ipc_add(&t->ipc, array, rows, kept)
                                   : cli_system_error(t->path, "write", ENOMEM);
    free(rows);
    return code;
}

/* Called by the library, once for each FILE. */
static int take_tables(void *cookie, pprofdelta_tables *tables)
{
    run *r = cookie;
    pprofdelta_table *const from[TABLES] = {&tables->stacks, &tables->locations, &tables->functions,
                                            &tables->samples};
    for (size_t i = 0; i < TABLES && !r->code; i++)
        r->code = write_rows(r, &r->tables[i], from[i]);
    return r->code;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What the ids so far leave of --max-memory. */
static uint64_t memory_left(const run *r)
{
    uint64_t left = r->library.max_memory;
    for (size_t i = 0; i < TABLES; i++) {
        uint64_t held = r->tables[i].ids_cap * sizeof *r->tables[i].ids;
        left = held < left ? left - held : 1;
    }
    return left;
}

/* Reads the stamp of file i, or exports it. */
static int read_file(run *r, size_t i, bool is_exported)
{
    const pprofdelta_sink sink = {.tables = take_tables, .cookie = r};
    pprofdelta_options library = r->library;
    uint64_t limit = library.max_memory = memory_left(r);
    pprofdelta_error err;
    pprofdelta_census census = {.size = sizeof census};
    pprofdelta_profile *profile = NULL;
    cli_input input;
    sigset_t ending;
    const cli_file file = {.path = r->files.operands[i], .is_regular = r->files.operands_len > 1};
    int code = cli_input_read(&input, file, limit);
    r->name = input.name;
    cli_ending_signals(&ending); /* now, since a pipe has been read */
    sigprocmask(SIG_BLOCK, &ending, NULL);
    cli_progress_say("exporting", r->name);
    if (!code && (pprofdelta_profile_open(&library, NULL, input.bytes, input.len, &profile, &err) ||
                  (is_exported && pprofdelta_profile_rewrite(profile, &sink, &err))))
        code = r->code ? r->code : cli_library_error(r->name, &err);
    if (!code) {
        pprofdelta_profile_census(profile, &census);
        r->stamps[i] = census.stamp;
    }
    pprofdelta_profile_free(profile);
    cli_input_free(&input);
    return !code && cli_is_ending(&r->before) ? CLI_FAILED : code;
}

/* Does the window of file i count as file k? Of equal attempts the one that ends later counts, or the
 * first. */
static bool is_replaced(const pprofdelta_stamp *stamps, size_t i, size_t k)
{
    const pprofdelta_stamp *a = &stamps[i], *b = &stamps[k];
    return a->sequence && a->id == b->id && a->sequence == b->sequence &&
           (a->attempt != b->attempt     ? a->attempt < b->attempt
            : a->to_nanos != b->to_nanos ? a->to_nanos < b->to_nanos
                                         : k < i);
}

static int read_all(run *r)
{
    const char **names_of = r->files.operands;
    size_t len = r->files.operands_len, k;
    int code = CLI_DONE;
    for (size_t i = 0; i < len && len > 1 && !code; i++) {
        code = read_file(r, i, false);
        if (!code && r->target.value && r->stamps[i].id != r->stamps->id)
            code = cli_error("%s: is of another state than %s; --target names one", names_of[i],
                             *names_of);
    }
    for (size_t i = 0; i < len && !code; i++) {
        for (k = 0; k < len && !is_replaced(r->stamps, i, k); k++) {
        }
        r->replaced += k < len;
        if (k == len)
            code = read_file(r, i, true);
        else
            cli_note("%s: does not count: %s is the same window, sent again", names_of[i],
                     names_of[k]);
    }
    return code;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int prepare_tables(run *r)
{
    int code = CLI_DONE;
    r->stamps = cli_keep(r->files.operands_len, sizeof *r->stamps);
    r->library.format = PPROFDELTA_TABLES;
    r->library.resource = &r->target;
    r->library.resource_len = r->target.value != NULL;
    r->is_made = !mkdir(r->dir, 0777);
    if (!r->is_made && errno != EEXIST)
        return cli_system_error(r->dir, "make the directory", errno);
    for (size_t i = 0; i < TABLES && !code; i++) {
        table *t = &r->tables[i];
        t->out = (cli_output){.fd = -1, .is_table = true};
        if (asprintf(&t->path, "%s/%s.arrow", r->dir, names[i]) < 0) {
            t->path = NULL;
            return cli_system_error(r->dir, "write", ENOMEM);
        }
        code = cli_output_prepare(&t->out, t->path);
    }
    return code;
}

static void print_report(const run *r)
{
    char text[1024];
    bool is_json = r->report == CLI_REPORT_JSON;
    int len = snprintf(text, sizeof text,
                       is_json ? "{\"files\": %zu, \"replaced\": %zu"
                               : "files      %zu, of which %zu do not count\n",
                       r->files.operands_len, r->replaced);
    for (size_t i = 0; i < TABLES; i++)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        is_json ? ", \"%s\": {\"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 "}"
                                : "%-9s  %" PRIu64 " rows, %" PRIu64 " bytes\n",
                        names[i], r->tables[i].rows, r->tables[i].ipc.at);
    len += snprintf(text + len, sizeof text - (size_t)len, "%s", is_json ? "}\n" : "");
    cli_message_raw(text, (size_t)len);
}

static int run_command(run *r)
{
    sigprocmask(SIG_BLOCK, NULL, &r->before);
    int code = prepare_tables(r);
    code = code ? code : read_all(r);
    for (size_t i = 0; i < TABLES && !code; i++)
        code = cli_ipc_end(&r->tables[i].ipc);
    for (size_t i = 0; i < TABLES && !code; i++)
        code = cli_output_finish(&r->tables[i].out);
    if (!code && r->report)
        print_report(r);
    for (size_t i = 0; i < TABLES; i++) {
        cli_ipc_free(&r->tables[i].ipc);
        cli_output_close(&r->tables[i].out);
        free(r->tables[i].path);
        free(r->tables[i].ids);
    }
    if (code && r->is_made)
        rmdir(r->dir);
    sigprocmask(SIG_SETMASK, &r->before, NULL); /* a signal that has come ends the process */
    return code;
}

int cli_export(int argc, char **argv)
{
    run r = {.library = PPROFDELTA_OPTIONS_INIT,
             .target.key = "target",
             .files = {.argc = argc, .argv = argv}};
    r.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    int code = cli_command_read(&command, &r.files, &r);
    if (code)
        return code;
    if (!r.dir)
        return cli_usage("-o DIR is missing: pprofdelta export FILE... -o DIR");
    if (!strcmp(r.dir, "-"))
        return cli_usage(
            "-o -: the tables are four files, in a folder: pprofdelta export FILE... -o DIR");
    if (cli_check_files(r.files.operands, r.files.operands_len, r.files.operands_len > 1))
        return CLI_USAGE;
    cli_progress_start();
    return run_command(&r);
}
