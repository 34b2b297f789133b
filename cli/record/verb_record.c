/* pprofdelta record [-o DIR] [...] -- COMMAND [ARG...]: runs COMMAND under the heap agent.
 *
 * The agent is a shared object that the loader loads before all others. Environment variables
 * hold its settings, and it needs nothing else from this verb. So this verb finds the agent,
 * checks that the agent can be loaded into COMMAND, sets the variables and becomes COMMAND: the
 * process, the descriptors, the signals and the exit status are COMMAND's. */
#include "cli.h"
#include "input.h"
#include "instant.h"
#include "keep.h"
#include "message.h"
#include "arguments.h"
#include "receiver.h"
#include "resource.h"
#include "attach/attach.h"
#include "record/recover.h"

#include "agent/base/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

typedef struct record_options {
    const char *dir;        /* NULL: not given */
    cli_recovering how;     /* also for COMMAND's own profiles */
    int64_t interval_nanos; /* 0: not given; the same for the members below */
    uint64_t rate, threshold;
    bool is_share;    /* threshold is a percentage */
    int signal;       /* -1: not given; 0: none */
    const char *keep; /* what keep_most limits, as the agent's variable has it; NULL: nothing */
    uint64_t keep_most;
    int snapshot; /* CLI_NOT_GIVEN, or whether in-use values are written, and not their changes */
    bool no_account, no_live, pressure, is_probes;
    bool anyway; /* COMMAND runs also if it cannot be recorded */
    pprofdelta_format format;
    cli_resource given; /* the values of --resource */
    int pid;            /* of a process that runs already; 0: a command is run */
    int64_t duration_nanos;
    bool is_stop, has_report;
    char **command; /* with its arguments, NULL at the end */
} record_options;

static void take_number(const cli_option *option, const char *value, void *number)
{
    (void)value;
    *(int *)number = option->what;
}

/* A size or a percentage. */
static void take_threshold(const cli_option *option, const char *value, void *options)
{
    static const char share[] = "100%"; /* the longest */
    record_options *o = options;
    size_t digits = strspn(value, "0123456789");
    o->is_share = digits && digits < sizeof share - 1 && !strcmp(value + digits, "%");
    o->threshold = o->is_share ? strtoull(value, NULL, 10) : 0;
    bool is_good = o->is_share ? o->threshold && o->threshold <= 100
                               : cli_size_parse(value, &o->threshold) && o->threshold <= INT64_MAX;
    if (!is_good)
        cli_bad_value(option->name, value,
                      "a size like 500M or 2G, or a share of the memory limit, from 1% to 100%");
}

/* A number of files, a time or a size: their units have nothing in common. */
static void take_keep(const cli_option *option, const char *value, void *options)
{
    record_options *o = options;
    int64_t nanos;
    if (cli_size_parse(value, &o->keep_most)) {
        o->keep = value[strspn(value, "0123456789")] ? "bytes" : "files";
    } else if (value[strspn(value, "0123456789.")] && cli_span_parse(value, &nanos)) {
        o->keep = "nanos";
        o->keep_most = (uint64_t)nanos;
    } else {
        cli_bad_value(option->name, value,
                      "a time like 12h or 7d, a size like 500M or 1G, or a number of files");
    }
}

/* ---- the signal ------------------------------------------------------------------------------ */

/* Other signals are refused, so they have no names here. */
static const struct {
    const char *name;
    int number;
} signals[] = {
    {"USR2", SIGUSR2},     {"USR1", SIGUSR1}, {"HUP", SIGHUP}, {"ALRM", SIGALRM},
    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"IO", SIGIO},   {"PWR", SIGPWR},
};

/* Reads a decimal number of at most 3 digits. */
static bool read_number(const char *text, int *out)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 3 || text[digits])
        return false;
    *out = atoi(text); // NOLINT(cert-err34-c): nothing but a few digits
    return true;
}

/* Reads "RTMIN", "RTMIN+3", "RTMAX" or "RTMAX-3". */
static bool read_realtime(const char *text, int *out)
{
    bool is_from_least = !strncasecmp(text, "RTMIN", 5);
    int away = 0;
    if (!is_from_least && strncasecmp(text, "RTMAX", 5) != 0)
        return false;
    text += 5;
    if (*text && (*text != (is_from_least ? '+' : '-') || !read_number(text + 1, &away)))
        return false;
    *out = is_from_least ? SIGRTMIN + away : SIGRTMAX - away;
    return *out >= SIGRTMIN && *out <= SIGRTMAX;
}

static bool read_signal_name(const char *text, int *out)
{
    if (!strncasecmp(text, "SIG", 3))
        text += 3;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!strcasecmp(text, signals[i].name)) {
            *out = signals[i].number;
            return true;
        }
    }
    return read_realtime(text, out);
}

static void take_signal(const cli_option *option, const char *value, void *out)
{
    int number = 0;
    bool is_none = !strcmp(value, "none");
    if (!is_none && !read_number(value, &number) && !read_signal_name(value, &number))
        cli_bad_value(option->name, value,
                      "the name or the number of a signal (USR1, RTMIN+3, 10), or none");
    if (!is_none && !pd_launch_may_ask(number))
        cli_usage("--signal=%s: this signal cannot ask for a profile; USR1, USR2 and HUP can",
                  value);
    *(int *)out = number;
}

static void take_pid(const cli_option *option, const char *value, void *pid)
{
    char *rest;
    long number = strtol(value, &rest, 10);
    if (*value < '0' || *value > '9' || *rest || number < 1 || number > INT_MAX)
        cli_bad_value(option->name, value, "the number of a process");
    *(int *)pid = (int)number;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const cli_option table[] = {
    {"--output", 'o', CLI_VALUE, cli_take_name, offsetof(record_options, dir), CLI_FOLDER, 0,
     "  -o, --output DIR       write profiles to DIR, which is created (default: .)\n"},
    {"--pid", 'p', CLI_VALUE, take_pid, offsetof(record_options, pid), 0, 0,
     "  -p, --pid=PID          record a process that runs already, until Ctrl-C, and\n"
     "                         leave it as it was\n"},
    {"--duration", 0, CLI_VALUE, cli_take_span, offsetof(record_options, duration_nanos), 0, 0,
     "      --duration=TIME    of PID: for so long: 30s, 5m\n"},
    {"--stop", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, is_stop), 0, 0,
     "      --stop             of PID: end what another run records\n"},
    {"--report", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, has_report), 0, 0,
     "      --report           of PID: say for how long a thread was stopped\n"},
    {"--to", 0, CLI_VALUE, cli_take_name, offsetof(record_options, how.to), CLI_SHELL, 0,
     "      --to=COMMAND       run this shell command with each profile on its stdin;\n"
     "                         the profile has arrived if it exits with status 0; of\n"
     "                         what did not at the end, DIR has the live file\n"},
    {"--timeout", 0, CLI_VALUE, cli_take_span, offsetof(record_options, how.timeout_nanos), 0, 0,
     "      --timeout=TIME     end this command after TIME (default: the interval,\n"
     "                         but at least 5s and at most 60s)\n"},
    {"--max-age", 0, CLI_VALUE, cli_take_span, offsetof(record_options, how.max_age_nanos), 0, 0,
     "      --max-age=TIME     what killed processes left and is older stays in DIR\n"},
    {"--interval", 0, CLI_VALUE, cli_take_span, offsetof(record_options, interval_nanos), 0, 0,
     "      --interval=TIME    between two profiles: 60s (the default), 500ms, 5m, 1h\n"},
    {"--rate", 0, CLI_VALUE, cli_take_size, offsetof(record_options, rate), 0, 0,
     "      --rate=SIZE        bytes between two samples: 512k (the default)\n"},
    {"--snapshot", 0, CLI_ALONE, take_number, offsetof(record_options, snapshot), true, 0,
     "      --snapshot         write in-use values, not their changes: the default\n"
     "                         for a command, a receiver and OTLP\n"},
    {"--changes", 0, CLI_ALONE, take_number, offsetof(record_options, snapshot), false, 0,
     "      --changes          write the changes of in-use values also then\n"},
    {"--keep", 0, CLI_VALUE, take_keep, 0, 0, 0,
     "      --keep=LIMIT       delete the oldest profiles of this run, over a time\n"
     "                         (7d), a size (1G) or a number (100); as --snapshot\n"},
    {"--no-account", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, no_account), 0, 0,
     "      --no-account       do not say what the process is made of (rss_space)\n"},
    {"--no-live-file", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, no_live), 0, 0,
     "      --no-live-file     keep no file from which pprofdelta recover makes the\n"
     "                         last window if the program is killed\n"},
    {"--probes-only", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, is_probes), 0, 0,
     "      --probes-only      no profiles and no stacks: samples are the USDT probes\n"
     "                         otel_memory:alloc and free, while somebody listens\n"},
    {"--anyway", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, anyway), 0, 0,
     "      --anyway           run COMMAND also if it cannot be recorded, and say so\n"},
    {"--format", 0, CLI_VALUE, cli_take_choice, offsetof(record_options, format), CLI_FORMAT, 0,
     "      --format=FORMAT    pprof (the default), otlp, otlp-parca or otlp-plain:\n"
     "                         DIR/...otlp.gz\n"},
    {"--for", 0, CLI_VALUE, cli_receiver_take, offsetof(record_options, how.receiver), 0, 0,
     "      --for=RECEIVER     what it takes, as --snapshot:\n"},
    {"--resource", 0, CLI_VALUE, cli_resource_take, offsetof(record_options, given), 0, 0,
     "      --resource=KEY=VALUE  an attribute of the resource, for otlp\n"},
    {"--signal", 0, CLI_VALUE, take_signal, offsetof(record_options, signal), 0, 0,
     "      --signal=NAME      the signal that asks for a profile: USR2 (default),\n"
     "                         USR1, HUP, RTMIN+N, ..., its number, or none\n"},
    {"--threshold", 0, CLI_VALUE, take_threshold, 0, 0, 0,
     "      --threshold=SIZE   write the largest sites when SIZE bytes are in use, or\n"
     "                         a share of the memory limit, like 80%\n"},
    {"--pressure", 0, CLI_ALONE, cli_take_flag, offsetof(record_options, pressure), 0, 0,
     "      --pressure         write a profile when programs wait for memory (PSI)\n"},
    {"--quiet", 'q', CLI_ALONE, cli_take_quiet, 0, 0, 0,
     "  -q, --quiet            do not print where the profiles are\n"},
    {"--help", 'h', CLI_ALONE, NULL, 0, 0, 0, "  -h, --help\n"},
};

static const cli_command command = {
    .before = "usage: pprofdelta record [-o DIR] [option ...] [--] COMMAND [ARG...]\n"
              "       pprofdelta record --pid PID [-o DIR] [option ...]\n"
              "Runs COMMAND with the heap agent, which writes a profile every interval, on a\n"
              "signal and at the end: DIR/heap.PROGRAM.PID.SEQUENCE.pb.gz. What COMMAND\n"
              "starts is recorded too. At the end a message says where the profiles are.\n"
              "\n",
    .options = table,
    .after = "\n"
             "Exit status: that of COMMAND; 125 record failed, 126 COMMAND cannot be run or\n"
             "recorded, 127 COMMAND is not found\n",
    .is_for_command = true,
};

/* Either a command or a process. */
static void check_subject(const record_options *options, size_t operands)
{
    if (!options->pid && !operands)
        cli_usage("the command is missing: pprofdelta record -o DIR -- COMMAND");
    if (options->pid && operands)
        cli_usage("--pid records a process that runs already: there is no COMMAND");
    if (!options->pid && (options->is_stop || options->has_report || options->duration_nanos))
        cli_usage("--duration, --stop and --report are for --pid, which is missing");
    if (options->pid && (options->signal >= 0 || options->anyway))
        cli_usage("--signal and --anyway are for a COMMAND, and not for --pid");
}

/* What a receiver shows is what a profile says: it has no use for changes. */
static void check_options(record_options *options)
{
    pprofdelta_compression gzip = PPROFDELTA_GZIP;
    cli_receiver_set(options->how.receiver, &options->format, &gzip);
    if (!options->snapshot && options->format != PPROFDELTA_PPROF)
        cli_usage("--changes needs --format=pprof: a request has what is in use");
    if (!options->snapshot && options->keep)
        cli_usage("--changes are of no use without all the changes before them, and --keep deletes "
                  "profiles");
    if (options->snapshot == CLI_NOT_GIVEN)
        options->snapshot = options->how.to || options->keep || options->how.receiver;
    if ((options->how.timeout_nanos || options->how.max_age_nanos) && !options->how.to)
        cli_usage("%s is for the command of --to, which is missing",
                  options->how.timeout_nanos ? "--timeout" : "--max-age");
    if (options->how.timeout_nanos > (int64_t)PD_TIMEOUT_SECONDS_MAX * SECOND)
        cli_usage("--timeout is 1d at most");
    if (options->rate > PD_RATE_MAX)
        cli_usage("--rate is %" PRIu64 " at most", PD_RATE_MAX);
    if (options->is_probes && (options->dir || options->how.to || options->keep ||
                               options->threshold || options->interval_nanos || options->pressure))
        cli_usage("--probes-only writes nothing: there is no -o, --to, --keep, --interval, "
                  "--threshold or --pressure");
    if (options->keep && options->how.to)
        cli_usage("--keep deletes files, and --to writes none");
    if (options->given.list_len && options->format == PPROFDELTA_PPROF)
        cli_usage("--resource needs --format=otlp, which is missing");
}

/* ---- finding the agent ----------------------------------------------------------------------- */

/* Searches the directories around this program, where the agent is in a build folder or in an
 * installation, even one that was moved, and then the configured directory. */
static int find_agent(char path[PATH_MAX])
{
    static const char *const places[] = {"/../agent/", "/" PD_AGENT_FROM_BIN "/"};
    char self[PATH_MAX];
    const char *given = getenv("PPROFDELTA_AGENT");
    if (given && *given)
        return realpath(given, path) ? CLI_DONE : cli_system_error(given, "read", errno);
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len > 0) {
        self[len] = '\0';
        *strrchr(self, '/') = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (realpath(cli_keep_print("%s%s%s", self, places[i], PD_AGENT_NAME), path))
                return CLI_DONE;
    }
    if (realpath(PD_AGENT_DIR "/" PD_AGENT_NAME, path))
        return CLI_DONE;
    cli_error("the heap agent %s is neither in a directory near this program nor in %s",
              PD_AGENT_NAME, PD_AGENT_DIR);
    return cli_hint("install it, or name it in the variable PPROFDELTA_AGENT");
}

/* ---- the program ----------------------------------------------------------------------------- */

/* The program cannot be run: prints why. */
static int not_run(const char *path, int error)
{
    cli_system_error(path, "run", error);
    return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_RUN;
}

static int refuse_program(const pd_launch_result *found)
{
    cli_error("%s: %s, so it cannot be recorded", found->path, found->obstacle);
    const char *advice = pd_launch_advice(found->path);
    if (*advice)
        cli_hint("%s", advice);
    return CLI_NOT_RUN;
}

/* Any ELF file is taken for the agent: the loader judges it. */
static int check_agent(const char *path)
{
    char magic[SELFMAG + 1] = "";
    cli_text_read(AT_FDCWD, path, magic, sizeof magic);
    return !strcmp(magic, ELFMAG)
               ? CLI_DONE
               : cli_error("%s: is no shared object, and so not the heap agent", path);
}

/* Can the agent be loaded into the program that execvp finds? Of a script, the interpreter is checked. */
static int check_program(const char *name, const char *agent)
{
    char path[PATH_MAX];
    pd_launch_result found;
    int error = pd_launch_find(name, getenv("PATH"), path);
    if (error)
        return not_run(name, error);
    if (check_agent(agent))
        return CLI_RECORD_FAILED;
    pd_launch_check(path, &found);
    if (found.error)
        return not_run(found.path, found.error);
    return found.obstacle ? refuse_program(&found) : CLI_DONE;
}

/* ---- the agent's variables ------------------------------------------------------------------- */

static int make_dir(const char *dir, char path[PATH_MAX])
{
    const char *within = cli_keep_print("%s/.", dir); /* of what is no directory, there is none */
    const char *what = "make the directory";
    if (!mkdir(dir, 0777) || errno == EEXIST) {
        what = "write profiles to";
        if (realpath(within, path) && !access(path, W_OK | X_OK))
            return CLI_DONE;
    }
    return cli_system_error(dir, what, errno);
}

/* Seconds with a fraction, rounded up, so that a time above 0 is one for the agent, too. */
static bool set_duration(const char *name, int64_t nanos)
{
    uint64_t millis = ((uint64_t)nanos + 999999) / 1000000;
    return cli_set_variable(name, millis, "%" PRIu64 ".%03" PRIu64, millis / 1000, millis % 1000);
}

/* A run is named by its process and its time. */
static bool set_keep(const record_options *o)
{
    const int64_t now = cli_instant_now();
    return cli_set_variable(PD_VARIABLE_KEEP, o->keep, "%s=%" PRIu64 ",%lxx%llxx%lx",
                            o->keep ? o->keep : "", o->keep_most, (unsigned long)getpid(),
                            (unsigned long long)(now / SECOND), (unsigned long)(now % SECOND));
}

static bool has_entry(const char *list, const char *entry)
{
    const size_t len = strlen(entry);
    const char *at = list;
    while ((at = strstr(at, entry)) &&
           ((at > list && !strchr(": ", at[-1])) || !strchr(": ", at[len])))
        at++;
    return at;
}

/* Puts the agent first, so that no other preloaded malloc comes before it. */
static bool set_preload(const char *agent)
{
    const char *others = getenv("LD_PRELOAD");
    if (!others || !*others)
        return cli_set_variable("LD_PRELOAD", true, "%s", agent);
    return has_entry(others, agent) || cli_set_variable("LD_PRELOAD", true, "%s:%s", agent, others);
}

/* The attributes of the resource as text; NULL if the profiles have none. */
static int make_resource(const record_options *o, char **text)
{
    *text = NULL;
    if (o->format == PPROFDELTA_PPROF)
        return CLI_DONE;
    cli_resource resource = cli_resource_make(&o->given);
    *text = cli_resource_text(&resource);
    return strlen(*text) < PD_RESOURCE_MAX
               ? CLI_DONE
               : cli_error("the attributes of the resource are longer than %d bytes",
                           PD_RESOURCE_MAX - 1);
}

/* dir: empty for none. */
static int set_environment(const record_options *o, const char *agent, const char *dir)
{
    char *resource = NULL;
    if (strpbrk(agent, " :"))
        return cli_error("%s: the loader takes no path with a space or a colon in LD_PRELOAD",
                         agent);
    int code = make_resource(o, &resource);
    if (!code &&
        !(cli_set_variable(PD_VARIABLE_DIR, *dir, "%s", dir) &&
          cli_set_variable(PD_VARIABLE_COMMAND, o->how.to, "%s", o->how.to) &&
          cli_set_variable(PD_VARIABLE_SNAPSHOT, o->snapshot, "1") &&
          cli_set_variable(PD_VARIABLE_QUIET, cli_is_quiet, "1") &&
          cli_set_variable(PD_VARIABLE_ACCOUNT, o->no_account, "0") &&
          cli_set_variable(PD_VARIABLE_LIVE, o->no_live, "0") &&
          cli_set_variable(PD_VARIABLE_PRESSURE, o->pressure, "1") &&
          cli_set_variable(PD_VARIABLE_PROBES, o->is_probes, "1") &&
          cli_set_variable(PD_VARIABLE_SAID, true, "00") &&
          set_duration(PD_VARIABLE_TIMEOUT, o->how.timeout_nanos) &&
          set_duration(PD_VARIABLE_INTERVAL, o->interval_nanos) &&
          cli_set_variable(PD_VARIABLE_RATE, o->rate, "%" PRIu64, o->rate) &&
          cli_set_variable(PD_VARIABLE_THRESHOLD, o->threshold, "%" PRIu64 "%s", o->threshold,
                           o->is_share ? "%" : "") &&
          cli_set_variable(PD_VARIABLE_SIGNAL, o->signal >= 0, "%d", o->signal) &&
          cli_set_variable(PD_VARIABLE_PID, true, "%ld", (long)getpid()) && set_keep(o) &&
          cli_set_variable(PD_VARIABLE_FORMAT, resource, "%s",
                           cli_choices[CLI_FORMAT][o->format]) &&
          cli_set_variable(PD_VARIABLE_RESOURCE, resource, "%s", resource) && set_preload(agent)))
        code = cli_system_error("the environment", "set", ENOMEM);
    return code;
}

/* The agent's tables and reserves count for the limit, used or not. A program that gets too little may
 * not even be loaded. */
static void note_small_space(void)
{
    enum { AGENT_MIB = 20, SMALL_MIB = 64 };
    const double mib = 1 << 20;
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < (rlim_t)SMALL_MIB << 20)
        cli_note("the address space of COMMAND is limited to %.1f MiB (ulimit -v); the agent takes "
                 "%d MiB of it",
                 (double)space.rlim_cur / mib, AGENT_MIB);
}

/* Processes that were killed while they recorded to this folder: their windows come first, and what cannot be
 * recovered does not keep COMMAND from running, nor for longer than one profile may take. */
static void recover_last(const record_options *o, const char *dir)
{
    const int64_t interval = o->interval_nanos ? o->interval_nanos : 60 * SECOND;
    const uint64_t seconds = pd_launch_timeout((uint64_t)o->how.timeout_nanos, (uint64_t)interval);
    cli_recovering how = o->how;
    how.timeout_nanos = (int64_t)seconds * SECOND;
    how.is_before = true;
    if (*dir && !o->no_live)
        cli_recover_folder(dir, &how);
}

/* ---- a process that runs already ------------------------------------------------------------- */

/* Makes a directory where the process sees it, which has other mounts. */
static int make_dir_there(int pid, const char *dir)
{
    const char *through = cli_keep_print("/proc/%d/root%s", pid, dir);
    if (*dir != '/')
        return cli_error("the process has other mounts than this one (a container): -o must be a "
                         "path that begins with "
                         "a slash, and is one of there");
    return !mkdir(through, 0777) || errno == EEXIST
               ? CLI_DONE
               : cli_system_error(through, "make the directory", errno);
}

/* The directory as that process sees it. If it is new, root gives it to the user of the process. */
static int make_dir_of_process(const record_options *o, char path[PATH_MAX])
{
    struct stat status;
    const char *dir = o->dir ? o->dir : ".";
    if (cli_attach_is_apart(o->pid)) {
        snprintf(path, PATH_MAX, "%s", dir);
        return make_dir_there(o->pid, dir);
    }
    const bool is_new = stat(dir, &status) != 0;
    int code = make_dir(dir, path);
    if (!code && is_new && !geteuid() && !stat(cli_keep_print("/proc/%d", o->pid), &status) &&
        chown(path, status.st_uid, status.st_gid))
        code = cli_system_error(dir, "give to the user of the process", errno);
    return code;
}

/* Does what recording needs: finds the agent, makes the directory and sets the agent's variables. */
static int prepare_recording(const record_options *o, char agent[PATH_MAX], char dir[PATH_MAX])
{
    int code = find_agent(agent);
    *dir = '\0';
    code = code ? code : o->pid ? check_agent(agent) : check_program(o->command[0], agent);
    if (!code && !o->is_probes && (o->dir || !o->how.to))
        code = o->pid ? make_dir_of_process(o, dir) : make_dir(o->dir ? o->dir : ".", dir);
    if (!code && !o->pid)
        recover_last(o, dir);
    return code ? code : set_environment(o, agent, dir);
}

static int record_process(const record_options *o)
{
    char agent[PATH_MAX], dir[PATH_MAX];
    if (!cli_attach_open)
        return cli_error(
            "--pid is for x86-64 and arm64; start the program under pprofdelta record");
    int code = cli_attach_open(o->pid, o->is_stop);
    if (code || o->is_stop)
        return code ? code : cli_attach_stop();
    code = prepare_recording(o, agent, dir);
    const cli_attach how = {agent, dir, o->duration_nanos, o->has_report};
    return code ? code : cli_attach_record(&how);
}

/* Becomes COMMAND, or returns an exit status. */
int cli_record(int argc, char **argv)
{
    char agent[PATH_MAX], dir[PATH_MAX];
    cli_arguments arguments = {.argc = argc, .argv = argv};
    record_options options = {.signal = -1,
                              .snapshot = CLI_NOT_GIVEN,
                              .format = (pprofdelta_format)CLI_NOT_GIVEN,
                              .command = argv}; /* where the operands will be */
    cli_command_read(&command, &arguments, &options);
    check_subject(&options, arguments.operands_len);
    check_options(&options);
    if (options.pid)
        return record_process(&options);
    int code = prepare_recording(&options, agent, dir);
    if (!code)
        note_small_space();
    if (code && (!options.anyway || code == CLI_NOT_FOUND))
        return code;
    if (code)
        cli_hint("%s runs all the same, without being recorded (--anyway)", argv[0]);
    cli_inherited_restore();
    execvp(argv[0], argv);
    return not_run(argv[0], errno);
}
