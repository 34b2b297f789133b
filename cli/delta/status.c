/* --status: which states are read, and what is printed about all of them: a table, or metrics. What is printed about
 * one state is in report.c.
 *
 * A state that cannot be read hides no other one: its message is printed, and the exit status is CLI_FAILED. */
#include "delta/report.h"

#include "cli.h"
#include "input.h"
#include "instant.h"
#include "keep.h"
#include "message.h"
#include "numbers.h"
#include "output_file.h"

#include <math.h>
#include <string.h>

enum { AGE, END, ATTEMPTS, RESTART, BYTES, SEQUENCE, READABLE, METRICS };

static const struct {
    const char *name, *unit, *help;
} metrics[METRICS] = {
    {"state_window_age_seconds", "seconds", "Time since the end of the last window that arrived."},
    {"state_window_end_timestamp_seconds", "seconds", "End of the last window that arrived."},
    {"state_open_attempts", "", "Attempts at the window that is open; 0 if none is."},
    {"state_restart", "", "1 if the last window that arrived is that of a restart."},
    {"state_bytes", "bytes", "Size of the state."},
    {"state_sequence", "", "Number of the last window that arrived."},
    {"state_readable", "", "0 if the state is damaged or cannot be read."},
};

typedef struct row {
    const char *path;
    bool
        has_namesake; /* a state in another folder: then its label is the path, and not the name of the file */
    double values[METRICS]; /* NAN: not known */
} row;

static struct {
    row *list;
    size_t list_len, list_cap, unreadable;
    cli_numbers paths, names;
    double now;
} all;

/* ---- which states ---------------------------------------------------------------------------- */

/* Nothing is there twice: no collector takes the same label twice. */
static void add_state(const char *path)
{
    size_t at = all.list_len;
    cli_string name = cli_string_base(cli_string_of(path));
    if (cli_numbers_of(&all.paths, cli_key_of(path, strlen(path)), at) < at)
        return;
    size_t first = cli_numbers_of(&all.names, cli_key_of(name.ptr, name.len), at);
    CLI_KEEP_MORE(all.list, 1);
    all.list[all.list_len++] = (row){.path = path, .has_namesake = !name.len};
    all.list[first].has_namesake |= first < at;
    all.list[at].has_namesake |= first < at;
}

/* A link or a pipe is no state. Some file systems do not say what an entry is. */
static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
}

/* Adds the states in a folder, also what is empty or overwritten: it may be one that is damaged. */
static void add_folder(const char *path)
{
    cli_folder folder;
    const char *why;
    all.unreadable += cli_folder_read(&folder, path, is_wanted) != CLI_DONE;
    for (size_t i = 0; i < folder.files_len; i++) {
        pprofdelta_file_kind kind;
        const char *file = folder.files[i].path, *what = cli_regular_kind(file, &kind, &why);
        if (!what || kind <= PPROFDELTA_FILE_EMPTY || kind == PPROFDELTA_FILE_STATE)
            add_state(file);
        else
            cli_note_left_out(file, cli_keep_print("this is %s, and not a state", what));
    }
    cli_folder_close(&folder);
}

/* ---- what is in them ------------------------------------------------------------------------- */

static void put_row(const row *r)
{
    const double *of = r->values;
    if (isnan(of[BYTES]))
        printf("%53s  ", "unreadable");
    else
        printf("%10s%10.0f%9s%12.0f%12.0f  ",
               isnan(of[AGE]) ? "-" : cli_keep_print("%.0fs", of[AGE]), of[ATTEMPTS],
               of[RESTART] > 0 ? "yes" : "no", of[BYTES], of[SEQUENCE]);
    cli_string_put(stdout, cli_string_of(r->path), CLI_TEXT_SHOWN);
    putchar('\n');
}

/* Reads the state, and prints what is in it in the forms that have a part for each state. Text heap profiles have no
 * time: that of the last change of the file stands in, unless it was an attempt. */
static void read_row(const cli_options *o, row *to, bool is_table)
{
    static cli_state state;
    pprofdelta *context;
    pprofdelta_error err;
    pprofdelta_memory m = {.size = sizeof m};
    if (pprofdelta_new(&o->library, NULL, &context, &err))
        cli_must(cli_options_error(to->path, &err));
    bool is_read = !cli_state_read(&state, to->path, context);
    pprofdelta_describe(context, &m);
    double end = m.to_nanos                  ? (double)m.to_nanos / 1e9
                 : m.sequence && !m.attempts ? (double)state.is.st_mtim.tv_sec
                                             : NAN;
    const double values[METRICS] = {
        all.now - end,      end, (double)m.attempts, m.restart ? 1 : 0, (double)state.is.st_size,
        (double)m.sequence, 1};
    for (int i = 0; i < METRICS; i++)
        to->values[i] = is_read ? values[i] : i == READABLE ? 0 : NAN;
    all.unreadable += !is_read;
    if (o->status == CLI_REPORT_JSON)
        cli_status_json(&state, is_read ? &m : NULL, to->values[AGE]);
    else if (o->status == CLI_REPORT_TEXT && is_table)
        put_row(to);
    else if (o->status == CLI_REPORT_TEXT && is_read)
        cli_status_text(&state, &m);
    pprofdelta_free(context);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void put_metric(int which)
{
    const char *name = metrics[which].name, *unit = metrics[which].unit;
    printf("# TYPE pprofdelta_%s gauge\n# HELP pprofdelta_%s %s\n", name, name,
           metrics[which].help);
    if (*unit)
        printf("# UNIT pprofdelta_%s %s\n", name, unit);
    for (const row *r = all.list; r < all.list + all.list_len; r++) {
        if (isnan(r->values[which]))
            continue;
        cli_string path = cli_string_of(r->path);
        printf("pprofdelta_%s{state=", name);
        cli_string_put(stdout, r->has_namesake ? path : cli_string_base(path), CLI_TEXT_LABEL);
        printf("} %.*f\n", *unit == 's' ? 3 : 0, r->values[which]);
    }
}

int cli_status_print(const cli_options *o)
{
    const cli_arguments *given = &o->arguments;
    bool is_table = given->operands_len > 1;
    if (o->state)
        add_state(o->state);
    for (size_t i = 0; i < given->operands_len; i++) {
        bool is_folder = cli_is_folder(given->operands[i]);
        (is_folder ? add_folder : add_state)(given->operands[i]);
        is_table |= is_folder;
    }
    if (is_table && o->status == CLI_REPORT_TEXT)
        puts("       age  attempts  restart       bytes    sequence  state");
    all.now = (double)cli_instant_now() / 1e9;
    for (size_t i = 0; i < all.list_len; i++)
        read_row(o, &all.list[i], is_table);
    for (int i = 0; i < METRICS && o->status == CLI_OPENMETRICS; i++)
        put_metric(i);
    if (o->status == CLI_OPENMETRICS)
        printf("# TYPE pprofdelta_states_unreadable gauge\n"
               "# HELP pprofdelta_states_unreadable States and directories that cannot be read.\n"
               "pprofdelta_states_unreadable %zu\n# EOF\n",
               all.unreadable);
    int code = cli_output_end_text();
    return all.unreadable ? CLI_FAILED : code;
}
