/* pprofdelta export FILE... -o DIR: profiles as tables, in Arrow's IPC file format.
 *
 *     FILE -> library -> columns -> rows of batches -> DIR/samples.arrow
 *                                                      DIR/stacks.arrow, locations.arrow, functions.arrow
 *
 * Several FILEs are read twice: first for their stamps, since a window counts once, and its highest
 * attempt may be in any FILE. One FILE is in memory at a time, with a batch of each table and the ids of the
 * rows so far: a stack, a location and a function are written when the first FILE has them.
 *
 * All tables are written whole before the first of them replaces an old one. The samples are last, so that
 * what they refer to is there. */
#include "arguments.h"
#include "cli.h"
#include "export/ipc.h"
#include "input.h"
#include "keep.h"
#include "message.h"
#include "numbers.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { STACKS, LOCATIONS, FUNCTIONS, SAMPLES, TABLES };
static const char *const names[TABLES] = {"stacks", "locations", "functions", "samples"};

typedef struct table {
    cli_output out;
    cli_ipc ipc;
    cli_numbers ids; /* so far */
    uint64_t rows;
} table;

typedef struct run {
    const char *dir;
    pprofdelta_options library;
    pprofdelta_attribute target;
    bool is_made; /* this run made dir, and is not complete */
    int is_plain; /* --compress: 0 is zstd */
    cli_report_form report;
    cli_arguments files;
    const char *name;         /* of the file that is read */
    pprofdelta_stamp *stamps; /* of the files */
    size_t replaced;          /* files that do not count */
    table tables[TABLES];
    sigset_t before; /* the signals that were blocked before there were temporary files */
} run;

static run r = {.library = PPROFDELTA_OPTIONS_INIT, .target.key = "target"};

static const cli_option options[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(run, dir), CLI_FOLDER, 0,
     "  -o, --output DIR       write the tables to DIR, which is created\n"},
    {"--target", 0, CLI_VALUE, cli_take_text, offsetof(run, target.value), 0, 0,
     "      --target=NAME      the target of all samples, in place of the state's id\n"},
    {"--compress", 0, CLI_VALUE, cli_take_choice, offsetof(run, is_plain), CLI_BODY, 0,
     "      --compress=HOW     zstd (the default), or none: plain buffers and strings\n"},
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

/* Only the names of value columns differ between profiles, and the last column is the same. */
static void check_types(const struct ArrowSchema *all, const struct ArrowSchema *these)
{
    for (int64_t i = 0; i < all->n_children; i++)
        if (strcmp(all->children[i]->name, these->children[i]->name) != 0) {
            cli_error("%s: its value types are not those of the files before it: %s in place of %s",
                      r.name, these->children[i]->name, all->children[i]->name);
            cli_must(cli_hint("export each kind of profile by itself, into a DIR of its own"));
        }
}

/* Is the id, which is a hash, the first of its kind in the table? */
static bool is_new(table *t, uint64_t id)
{
    size_t next = t->ids.len;
    return cli_numbers_of(&t->ids, (cli_key){id, 0}, next) == next;
}

/* Adds the rows with new ids; all samples. */
static void add_rows(table *t, pprofdelta_table *from)
{
    const struct ArrowArray *array = &from->array;
    const uint64_t *ids = array->children[0]->buffers[1];
    size_t len = (size_t)array->length, kept = 0;
    if (t->ipc.out)
        check_types(&t->ipc.schema, &from->schema);
    else
        cli_ipc_begin(&t->ipc, &t->out, &from->schema);
    int64_t *rows = cli_keep(len, sizeof *rows);
    for (size_t i = 0; i < len; i++)
        if (t == &r.tables[SAMPLES] || is_new(t, ids[i]))
            rows[kept++] = (int64_t)i;
    t->rows += kept;
    cli_ipc_add(&t->ipc, array, rows, kept);
    cli_drop(rows);
}

/* Called by the library, once for each FILE. */
static int take_tables(void *cookie, pprofdelta_tables *tables)
{
    pprofdelta_table *const from[TABLES] = {&tables->stacks, &tables->locations, &tables->functions,
                                            &tables->samples};
    (void)cookie;
    for (size_t i = 0; i < TABLES; i++)
        add_rows(&r.tables[i], from[i]);
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What the ids and the dictionaries so far leave of --max-memory. */
static uint64_t memory_left(void)
{
    uint64_t left = r.library.max_memory;
    for (size_t i = 0; i < TABLES; i++) {
        uint64_t held = r.tables[i].ids.cap * sizeof *r.tables[i].ids.slots + r.tables[i].ipc.held;
        left = held < left ? left - held : 1;
    }
    return left;
}

/* Reads the stamp of file i, or exports it. */
static void read_file(size_t i, bool is_exported)
{
    const pprofdelta_sink sink = {.tables = take_tables};
    pprofdelta_options library = r.library;
    pprofdelta_error err;
    cli_profile profile;
    cli_input input;
    sigset_t ending;
    const cli_file file = {.path = r.files.operands[i], .is_regular = r.files.operands_len > 1};
    library.max_memory = memory_left();
    cli_must(cli_input_read(&input, file, library.max_memory));
    r.name = input.name;
    cli_ending_signals(&ending); /* now, since a pipe has been read */
    sigprocmask(SIG_BLOCK, &ending, NULL);
    cli_progress_say("exporting", r.name);
    cli_must(cli_profile_open(&profile, input, &library));
    if (is_exported && pprofdelta_profile_rewrite(profile.opened, &sink, &err))
        cli_must(cli_library_error(r.name, &err));
    r.stamps[i] = profile.census.stamp;
    cli_profile_free(&profile);
    if (cli_is_ending(&r.before))
        exit(CLI_FAILED);
}

/* Of equal attempts at a window the one that ends later counts, or the first. */
static bool is_replaced(const pprofdelta_stamp *a, const pprofdelta_stamp *by)
{
    return a->attempt != by->attempt ? a->attempt < by->attempt : a->to_nanos < by->to_nanos;
}

/* Returns the file that counts for the window of each file. */
static const size_t *choose_attempts(size_t len)
{
    cli_numbers windows = {.len = 0};
    size_t *of = cli_keep(len, sizeof *of), *best = cli_keep(len, sizeof *best);
    for (size_t i = 0; i < len; i++) {
        const pprofdelta_stamp *stamp = &r.stamps[i];
        /* What no series numbers is a window by itself. */
        const uint64_t window[] = {stamp->id, stamp->sequence, stamp->sequence ? 0 : i};
        const size_t next = windows.len;
        of[i] = cli_numbers_of(&windows, cli_key_of(window, sizeof window), next);
        if (of[i] == next || is_replaced(&r.stamps[best[of[i]]], stamp))
            best[of[i]] = i;
    }
    for (size_t i = 0; i < len; i++)
        of[i] = best[of[i]];
    return of;
}

static void read_all(void)
{
    const char **names_of = r.files.operands;
    const size_t len = r.files.operands_len;
    for (size_t i = 0; i < len && len > 1; i++) {
        read_file(i, false);
        if (r.target.value && !r.stamps[i].targets && r.stamps[i].id != r.stamps->id)
            cli_must(cli_error("%s: is of another state than %s; --target names one", names_of[i],
                               *names_of));
    }
    const size_t *counting = choose_attempts(len);
    for (size_t i = 0; i < len; i++) {
        const size_t k = counting[i];
        r.replaced += k != i;
        if (k == i)
            read_file(i, true);
        else
            cli_note("%s: does not count: %s is the same window, sent again", names_of[i],
                     names_of[k]);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

/* At the end of the process, after the temporary files were removed. */
static void end_run(void)
{
    if (r.is_made)
        rmdir(r.dir);
    sigprocmask(SIG_SETMASK, &r.before, NULL); /* a signal that has come ends the process */
}

static void prepare_tables(void)
{
    r.stamps = cli_keep(r.files.operands_len, sizeof *r.stamps);
    r.library.format = PPROFDELTA_TABLES;
    r.library.resource = &r.target;
    r.library.resource_len = r.target.value != NULL;
    sigprocmask(SIG_BLOCK, NULL, &r.before);
    r.is_made = !mkdir(r.dir, 0777);
    if (!r.is_made && errno != EEXIST)
        cli_must(cli_system_error(r.dir, "make the directory", errno));
    atexit(end_run);
    ZSTD_CCtx *zstd = r.is_plain ? NULL : ZSTD_createCCtx();
    if (!r.is_plain && !zstd)
        cli_must(cli_system_error(r.dir, "write", ENOMEM));
    for (size_t i = 0; i < TABLES; i++) {
        r.tables[i].out = (cli_output){.fd = -1, .is_table = true};
        r.tables[i].ipc.zstd = zstd;
        cli_must(
            cli_output_prepare(&r.tables[i].out, cli_keep_print("%s/%s.arrow", r.dir, names[i])));
    }
}

static void print_report(void)
{
    bool is_json = r.report == CLI_REPORT_JSON;
    const char *text = cli_keep_print(is_json ? "{\"files\": %zu, \"replaced\": %zu"
                                              : "files      %zu, of which %zu do not count\n",
                                      r.files.operands_len, r.replaced);
    for (size_t i = 0; i < TABLES; i++)
        text =
            cli_keep_print(is_json ? "%s, \"%s\": {\"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 "}"
                                   : "%s%-9s  %" PRIu64 " rows, %" PRIu64 " bytes\n",
                           text, names[i], r.tables[i].rows, r.tables[i].ipc.at);
    text = cli_keep_print(is_json ? "%s}\n" : "%s", text);
    cli_message_raw(text, strlen(text));
}

int cli_export(int argc, char **argv)
{
    r.files = (cli_arguments){.argc = argc, .argv = argv};
    r.library.max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY;
    cli_command_read(&command, &r.files, &r);
    if (!r.dir)
        cli_usage("-o DIR is missing: pprofdelta export FILE... -o DIR");
    if (!strcmp(r.dir, "-"))
        cli_usage("-o -: the tables are four files, in a folder: pprofdelta export FILE... -o DIR");
    cli_check_files(r.files.operands, r.files.operands_len, r.files.operands_len > 1);
    cli_progress_start();
    prepare_tables();
    read_all();
    for (size_t i = 0; i < TABLES; i++)
        cli_ipc_end(&r.tables[i].ipc);
    for (size_t i = 0; i < TABLES; i++)
        cli_must(cli_output_finish(&r.tables[i].out));
    r.is_made = false;
    if (r.report)
        print_report();
    return CLI_DONE;
}
