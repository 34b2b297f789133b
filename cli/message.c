/* What the command prints on stderr: see message.h. */
#include "message.h"

#include "cli.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- the line of progress -----------------------------------------------------------------------
 *
 * The handler of SIGALRM adds the seconds to the line and writes it. It uses only the struct below.
 * All other code changes the struct while the signal is blocked. */

enum { FIRST = 2, NAME_COLUMNS = 48, LINE_ROOM = 512 };

static struct {
    bool is_on, is_shown;
    unsigned long long seconds;
    char line[LINE_ROOM];
    size_t len;
} progress;

static const char erase[] = "\r\033[K";

/* A failed write is ignored: the run does not need the line. */
static void put_bytes(const char *bytes, size_t len)
{
    ssize_t done = write(STDERR_FILENO, bytes, len);
    (void)done;
}

static void draw_progress(int signal)
{
    char text[LINE_ROOM + 32];
    char digits[24];
    size_t len = progress.len, at = sizeof digits;
    int kept = errno;
    (void)signal;
    progress.seconds++;
    if (!len)
        return;
    for (unsigned long long left = progress.seconds; left; left /= 10)
        digits[--at] = (char)('0' + left % 10);
    memcpy(text, progress.line, len);
    memcpy(text + len, digits + at, sizeof digits - at);
    len += sizeof digits - at;
    text[len++] = ' ';
    text[len++] = 's';
    put_bytes(text, len);
    progress.is_shown = true;
    errno = kept;
}

/* Blocks or unblocks the signal. */
static void hold_alarm(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(how, &set, NULL);
}

/* From `first` seconds on, once a second; 0 ends it. */
static void set_timer(time_t first)
{
    struct itimerval timer = {{1, 0}, {first, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void cli_progress_start(void)
{
    struct sigaction action = {.sa_handler = draw_progress, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (cli_is_quiet || !isatty(STDERR_FILENO) || atexit(cli_progress_end) ||
        sigaction(SIGALRM, &action, NULL))
        return;
    progress.is_on = true;
    progress.seconds = FIRST - 1;
    set_timer(FIRST);
}

void cli_progress_say(const char *doing, const char *name)
{
    char line[LINE_ROOM];
    if (!progress.is_on)
        return;
    size_t name_len = strlen(name), cut = name_len > NAME_COLUMNS ? name_len - NAME_COLUMNS : 0;
    size_t len = (size_t)snprintf(line, sizeof line, "%spprofdelta: %.32s ", erase, doing);
    len += cli_string_write(line + len, sizeof line - len - 2, cli_string_of(name + cut));
    line[len++] = ',';
    line[len++] = ' ';
    hold_alarm(SIG_BLOCK);
    memcpy(progress.line, line, len);
    progress.len = len;
    hold_alarm(SIG_UNBLOCK);
}

void cli_progress_clear(void)
{
    if (!progress.is_on)
        return;
    hold_alarm(SIG_BLOCK);
    if (progress.is_shown)
        put_bytes(erase, sizeof erase - 1);
    progress.is_shown = false;
    hold_alarm(SIG_UNBLOCK);
}

void cli_progress_end(void)
{
    if (!progress.is_on)
        return;
    set_timer(0);
    cli_progress_clear();
    progress.is_on = false;
}

void cli_progress_end_for_text(void)
{
    struct stat status;
    if (fstat(STDOUT_FILENO, &status) || !S_ISREG(status.st_mode))
        cli_progress_end();
}

/* ---- messages -------------------------------------------------------------------------------- */

#define PREFIX "pprofdelta: "
#define INDENT "            "
#define WIDTH  80

static const char raise_limit[] = "--max-memory=SIZE raises the limit";

void cli_message_raw(const char *bytes, size_t len)
{
    cli_progress_clear();
    fflush(stdout);                /* keeps the order if stdout and stderr are one file */
    fwrite(bytes, 1, len, stderr); /* which has no buffer: one write */
}

/* A terminal gets lines of at most WIDTH columns, unless one word is wider, and indents those after the
 * first. A log gets one line, for grep and for counting. */
static void print_message(const char *kind, const char *format, va_list args)
{
    /* A byte of text is shown as 4 at most, and a line of the output has more than two words. */
    char text[8192], shown[1 << 15], out[1 << 16];
    vsnprintf(text, sizeof text, format, args);
    size_t used = 0, len = (size_t)snprintf(shown, sizeof shown, "%s", kind);
    len += cli_string_write(shown + len, sizeof shown - len, cli_string_of(text));
    size_t room = isatty(STDERR_FILENO) ? WIDTH - 1 - strlen(PREFIX) : len;
    for (size_t at = 0, cut; at < len; at += cut + (shown[at + cut] == ' ')) {
        cut = len - at;
        if (cut > room)
            for (cut = room; cut && shown[at + cut] != ' ';)
                cut--;
        if (!cut)
            cut = strcspn(shown + at, " ");
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s\n", at ? INDENT : PREFIX,
                                 (int)cut, shown + at);
    }
    cli_message_raw(out, used);
}

bool cli_is_quiet;

static struct {
    char verb[16]; /* with a space before it; empty for the delta */
    int failed, misused;
} asked = {.failed = CLI_FAILED, .misused = CLI_USAGE};

void cli_message_verb(const char *verb, int failed, int misused)
{
    snprintf(asked.verb, sizeof asked.verb, " %s", verb);
    asked.failed = failed;
    asked.misused = misused;
}

int cli_message(cli_message_kind kind, const char *format, ...)
{
    static const char *const titles[] = {"", "hint: ", "note: "};
    va_list args;
    if (kind == CLI_NOTE && cli_is_quiet)
        return asked.failed;
    va_start(args, format);
    print_message(titles[kind], format, args);
    va_end(args);
    return asked.failed;
}

void cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message("", format, args);
    va_end(args);
    cli_error("try pprofdelta%s --help", asked.verb);
    exit(asked.misused);
}

int cli_memory_error(const char *name, const char *why)
{
    cli_error("%s: %s", name, why);
    return cli_hint("%s", raise_limit);
}

int cli_system_error(const char *name, const char *verb, int error)
{
    return cli_error("%s: cannot %s: %s", name, verb, strerror(error));
}

/* ---- errors of the library ------------------------------------------------------------------ */

enum { ANY = CLI_ONE_FILE | CLI_TWO_FILES | CLI_A_STATE | CLI_A_SUM | CLI_A_MERGE };

/* What to do next. The first row that matches counts. */
static const struct advice {
    pprofdelta_status status;
    unsigned inputs;
    pprofdelta_reason reason; /* NONE: any */
    const char *text;
} advices[] = {
    {PPROFDELTA_E_STAMPED, ANY, PPROFDELTA_REASON_NONE, "--force takes a delta as an input"},
    {PPROFDELTA_E_NOT_CUMULATIVE, ANY, PPROFDELTA_REASON_IS_WINDOW,
     "take both profiles without ?seconds=; if both do count from the start of the process, use "
     "--force"},
    {PPROFDELTA_E_NOT_CUMULATIVE, ANY, PPROFDELTA_REASON_NONE,
     "pprofdelta show PREV CUR compares such profiles; --force with -c TYPE subtracts them"},
    {PPROFDELTA_E_OTHER_TARGET, CLI_A_STATE, PPROFDELTA_REASON_NONE,
     "a state is for one target; move it away to begin a new one, or use --force if the service "
     "has another name now"},
    {PPROFDELTA_E_OTHER_TARGET, ANY, PPROFDELTA_REASON_NONE,
     "--force takes the second as a restart of the first"},
    {PPROFDELTA_E_LIMIT, ANY, PPROFDELTA_REASON_MAX_MEMORY, raise_limit},
    {PPROFDELTA_E_LIMIT, ANY, PPROFDELTA_REASON_ADDRESS_SPACE, "use a 64-bit pprofdelta"},
    {PPROFDELTA_E_PROFILE, ANY, PPROFDELTA_REASON_IS_STATE, "--state=FILE takes a state"},
    {PPROFDELTA_E_PROFILE, ANY, PPROFDELTA_REASON_SEVERAL,
     "pprofdelta show prints what is in a request; write each resource, scope and time as "
     "one of its own"},
    {PPROFDELTA_E_MISMATCH, ANY, PPROFDELTA_REASON_NO_TARGET,
     "merge windows of states or of record; pprofdelta merge --disjoint takes merges of different "
     "targets, and --force any other profile as a target of its own"},
    {PPROFDELTA_E_MISMATCH, CLI_A_SUM, PPROFDELTA_REASON_TWO_TARGETS,
     "pprofdelta merge adds up several targets"},
    {PPROFDELTA_E_MISMATCH, CLI_A_SUM, PPROFDELTA_REASON_WINDOW_LATE,
     "give the files of all windows in their order; pprofdelta merge sorts them"},
    {PPROFDELTA_E_MISMATCH, CLI_A_MERGE, PPROFDELTA_REASON_WINDOW_LATE,
     "merge the windows of this target themselves; --disjoint is for merges that have no target in "
     "common"},
    {PPROFDELTA_E_MISMATCH, CLI_A_SUM, PPROFDELTA_REASON_WINDOW_MISSING,
     "give the files of all windows in their order; --force adds them as they are"},
    {PPROFDELTA_E_MISMATCH, CLI_A_SUM, PPROFDELTA_REASON_NONE, "--force adds them"},
    {PPROFDELTA_E_OLDER, ANY, PPROFDELTA_REASON_NONE,
     "the state has a later profile already: another run came first, and nothing is lost"},
    {PPROFDELTA_E_MISMATCH, CLI_A_STATE, PPROFDELTA_REASON_OTHER_TYPES,
     "a state is for one kind of profile of one target; if the target has other types now, move "
     "the state away to begin a new one"},
    {PPROFDELTA_E_MISMATCH, ANY, PPROFDELTA_REASON_SWAPPED,
     "the older profile comes first: pprofdelta PREV CUR"},
    {PPROFDELTA_E_MISMATCH, ANY, PPROFDELTA_REASON_OTHER_OPTIONS,
     "give the same -c and -g as before, or move the state away to begin a new one"},
    {PPROFDELTA_E_MISMATCH, ANY, PPROFDELTA_REASON_NO_COUNTER,
     "-c TYPE makes a sample type that only grows a counter"},
    {PPROFDELTA_E_RESET, ANY, PPROFDELTA_REASON_NONE,
     "--on-reset=fail refuses this; nothing was written"},
    {PPROFDELTA_E_STATE, ANY, PPROFDELTA_REASON_NEWER_STATE,
     "use that pprofdelta, or move the state away to begin a new one"},
    {PPROFDELTA_E_STATE, ANY, PPROFDELTA_REASON_NONE,
     "the file is unchanged; move it away to begin a new state, whose first delta counts from the "
     "start of the process (unless --first=zero is given)"},
};

static const char *advice_for(const pprofdelta_error *err, unsigned inputs)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        const struct advice *a = &advices[i];
        if (a->status == err->status && a->inputs & inputs &&
            (!a->reason || a->reason == err->reason))
            return a->text;
    }
    return NULL;
}

static const char *describe_error(const pprofdelta_error *err, char to[PPROFDELTA_ERROR_LINE])
{
    pprofdelta_error_line(err, to, PPROFDELTA_ERROR_LINE);
    return to;
}

void cli_note_left_out(const char *name, const char *why)
{
    cli_note("%s: %s; it is left out", name, why);
}

void cli_note_refused(const char *name, const pprofdelta_error *err)
{
    char text[PPROFDELTA_ERROR_LINE];
    cli_note_left_out(name, describe_error(err, text));
}

int cli_inputs_error(unsigned kind, const char *first, const char *second,
                     const pprofdelta_error *err)
{
    char text[PPROFDELTA_ERROR_LINE];
    bool is_about_both =
        first && err->reason != PPROFDELTA_REASON_NO_TARGET &&
        (err->status == PPROFDELTA_E_MISMATCH || err->status == PPROFDELTA_E_OLDER);
    const char *advice = advice_for(err, first ? kind : CLI_ONE_FILE);
    if (is_about_both)
        cli_error("%s and %s: %s", first, second, describe_error(err, text));
    else
        cli_error("%s: %s", second, describe_error(err, text));
    if (advice)
        cli_hint("%s", advice);
    return err->status == PPROFDELTA_E_RESET   ? CLI_RESET
           : err->status == PPROFDELTA_E_USAGE ? asked.misused
                                               : asked.failed;
}

int cli_library_error(const char *name, const pprofdelta_error *err)
{
    return cli_inputs_error(CLI_ONE_FILE, NULL, name, err);
}

int cli_options_error(const char *first, const pprofdelta_error *err)
{
    if (err->status == PPROFDELTA_E_USAGE)
        cli_usage("%s", err->text);
    return cli_library_error(err->status == PPROFDELTA_E_LIMIT ? first : "options", err);
}
