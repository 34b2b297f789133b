/* pprofdelta record [-o DIR] [...] -- COMMAND [ARG...]: runs COMMAND under the heap agent.
 *
 * The agent is a shared object that the loader loads before all others. Environment variables
 * hold its settings, and it needs nothing else from this verb. So this verb finds the agent,
 * checks that the agent can be loaded into COMMAND, sets the variables and becomes COMMAND: the
 * process, the descriptors, the signals and the exit status are COMMAND's. */
#include "arguments.h"
#include "cli.h"
#include "instant.h"
#include "message.h"
#include "option_values.h"
#include "output_file.h"
#include "resource.h"
#include "record/target.h"
#include "record/tree.h"

#include "agent/base/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: pprofdelta record [-o DIR] [option ...] [--] COMMAND [ARG...]\n"
    "Runs COMMAND with the heap agent, which writes a profile every interval, on a\n"
    "signal and at the end: DIR/heap.PROGRAM.PID.SEQUENCE.pb.gz. What COMMAND\n"
    "starts is recorded too. At the end a message says where the profiles are.\n"
    "\n"
    "  -o, --output DIR       write profiles to DIR, which is created (default: .)\n"
    "      --to=COMMAND       run this shell command with each profile on its stdin;\n"
    "                         the profile has arrived if it exits with status 0; DIR\n"
    "                         then gets what did not arrive at the end\n"
    "      --timeout=TIME     end this command after TIME (default: the interval,\n"
    "                         but at least 5s and at most 60s)\n"
    "      --interval=TIME    between two profiles: 60s (the default), 500ms, 5m, 1h\n"
    "      --rate=SIZE        bytes between two samples: 512k (the default)\n"
    "      --snapshot         write in-use values, not their changes\n"
    "      --keep=LIMIT       delete the oldest profiles of this run, over a time\n"
    "                         (7d), a size (1G) or a number (100); as --snapshot\n"
    "      --no-account       do not say what the process is made of (rss_space)\n"
    "      --format=FORMAT    pprof (the default) or otlp: DIR/...otlp.gz\n"
    "      --resource=KEY=VALUE  an attribute of the resource, for otlp\n"
    "      --signal=NAME      the signal that asks for a profile: USR2 (default),\n"
    "                         USR1, HUP, RTMIN+N, ..., its number, or none\n"
    "      --threshold=SIZE   write the largest sites when SIZE bytes are in use\n"
    "      --pid-tree         add up the profiles of COMMAND and of all processes\n"
    "                         that it started, when the last one has ended:\n"
    "                         DIR/tree.PROGRAM.PID.pb.gz\n"
    "  -q, --quiet            do not print where the profiles are\n"
    "  -h, --help\n"
    "\n"
    "Exit status: that of COMMAND; 125 record failed, 126 COMMAND cannot be run or\n"
    "recorded, 127 COMMAND is not found\n";

enum {
    OPT_TO = CLI_LONG,
    OPT_TIMEOUT,
    OPT_INTERVAL,
    OPT_RATE,
    OPT_SNAPSHOT,
    OPT_KEEP,
    OPT_NO_ACCOUNT,
    OPT_FORMAT,
    OPT_RESOURCE,
    OPT_SIGNAL,
    OPT_THRESHOLD,
    OPT_TREE
};

static const struct option table[] = {
    {"output", required_argument, NULL, 'o'},
    {"to", required_argument, NULL, OPT_TO},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"rate", required_argument, NULL, OPT_RATE},
    {"snapshot", no_argument, NULL, OPT_SNAPSHOT},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"no-account", no_argument, NULL, OPT_NO_ACCOUNT},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"resource", required_argument, NULL, OPT_RESOURCE},
    {"signal", required_argument, NULL, OPT_SIGNAL},
    {"threshold", required_argument, NULL, OPT_THRESHOLD},
    {"pid-tree", no_argument, NULL, OPT_TREE},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

typedef struct record_options {
    const char *dir;          /* NULL: not given */
    const char *to;           /* NULL: into files */
    uint64_t interval_millis; /* 0: not given; the same for the members below */
    uint64_t timeout_millis;
    uint64_t rate, threshold;
    int signal;       /* -1: not given; 0: none */
    const char *keep; /* what keep_most limits, as the agent's variable has it; NULL: nothing */
    uint64_t keep_most;
    bool snapshot, no_account, tree, quiet, help;
    pprofdelta_format format;
    const char **resources; /* the values of --resource */
    size_t resources_len;
    char **command; /* with its arguments, NULL at the end */
} record_options;

/* Rounded up, so that a time above 0 is one here, too. */
static uint64_t millis_of(int64_t nanos)
{
    return ((uint64_t)nanos + 999999) / 1000000;
}

static int set_interval(record_options *options, const char *value)
{
    int64_t nanos = 0;
    int code = cli_take_span("--interval", value, &nanos);
    options->interval_millis = millis_of(nanos);
    return code;
}

static int set_timeout(record_options *options, const char *value)
{
    int64_t nanos;
    if (!cli_span_parse(value, &nanos) || millis_of(nanos) > PD_TIMEOUT_SECONDS_MAX * 1000)
        return cli_bad_value("--timeout", value, "a time like 30s, 2m or 1h, 1d at most");
    options->timeout_millis = millis_of(nanos);
    return CLI_DONE;
}

/* A number of files, a time or a size: their units have nothing in common. */
static int set_keep(record_options *options, const char *value)
{
    int64_t nanos;
    if (cli_size_parse(value, &options->keep_most)) {
        options->keep = value[strspn(value, "0123456789")] ? "bytes" : "files";
    } else if (value[strspn(value, "0123456789.")] && cli_span_parse(value, &nanos)) {
        options->keep = "nanos";
        options->keep_most = (uint64_t)nanos;
    } else {
        return cli_bad_value("--keep", value,
                             "a time like 12h or 7d, a size like 500M or 1G, or a number of files");
    }
    options->snapshot = true; /* a change is of no use without all the changes before it */
    return CLI_DONE;
}

/* ---- the signal ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"ILL", SIGILL},
    {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},     {"BUS", SIGBUS},   {"FPE", SIGFPE},
    {"KILL", SIGKILL}, {"USR1", SIGUSR1},     {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},     {"TERM", SIGTERM}, {"CHLD", SIGCHLD},
    {"CONT", SIGCONT}, {"STOP", SIGSTOP},     {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU}, {"URG", SIGURG},       {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},
    {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"IO", SIGIO},     {"WINCH", SIGWINCH},
    {"PWR", SIGPWR},   {"SYS", SIGSYS},
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

static int set_signal(int *out, const char *value)
{
    int number;
    if (!strcmp(value, "none")) {
        *out = 0;
        return CLI_DONE;
    }
    if (!read_number(value, &number) && !read_signal_name(value, &number))
        return cli_bad_value("--signal", value,
                             "the name or the number of a signal (USR1, RTMIN+3, 10), or none");
    const char *refusal = pd_launch_signal_refusal(number);
    if (refusal)
        return cli_usage("--signal=%s: this signal %s", value, refusal);
    *out = number;
    return CLI_DONE;
}

static int apply(record_options *options, int option, const char *value)
{
    switch (option) {
    case 'o':
        options->dir = value;
        return *value ? CLI_DONE : cli_bad_value("--output", value, "the name of a directory");
    case OPT_TO:
        options->to = value;
        return *value ? CLI_DONE : cli_bad_value("--to", value, "a shell command");
    case OPT_INTERVAL:
        return set_interval(options, value);
    case OPT_TIMEOUT:
        return set_timeout(options, value);
    case OPT_RATE:
        return cli_size_parse(value, &options->rate) && options->rate <= PD_RATE_MAX
                   ? CLI_DONE
                   : cli_bad_value("--rate", value, cli_size_allowed);
    case OPT_THRESHOLD:
        return cli_size_parse(value, &options->threshold) && options->threshold <= INT64_MAX
                   ? CLI_DONE
                   : cli_bad_value("--threshold", value, cli_size_allowed);
    case OPT_SIGNAL:
        return set_signal(&options->signal, value);
    case OPT_SNAPSHOT:
        options->snapshot = true;
        return CLI_DONE;
    case OPT_KEEP:
        return set_keep(options, value);
    case OPT_NO_ACCOUNT:
        options->no_account = true;
        return CLI_DONE;
    case OPT_TREE:
        options->tree = true;
        return CLI_DONE;
    case 'q':
        options->quiet = true;
        return CLI_DONE;
    case OPT_FORMAT:
        return cli_take_format(value, &options->format);
    case OPT_RESOURCE:
        options->resources[options->resources_len++] = value;
        return cli_resource_check(value);
    case 'h':
        options->help = true;
        return CLI_DONE;
    default:
        return CLI_USAGE;
    }
}

/* Options end where COMMAND begins. What follows belongs to COMMAND. */
static int parse(record_options *options, int argc, char **argv)
{
    cli_arguments arguments = {argc, argv, "o:qh", table, false};
    for (int option; (option = cli_arguments_next(&arguments)) != CLI_END;) {
        if (option == CLI_OPERAND) {
            options->command = argv + optind - 1;
            break;
        }
        int code = apply(options, option, optarg);
        if (code)
            return code;
    }
    if (options->help)
        return CLI_DONE;
    if (options->timeout_millis && !options->to)
        return cli_usage("--timeout is for the command of --to, which is missing");
    if (options->tree && options->to)
        return cli_usage("--pid-tree adds up files, and --to writes none");
    if (options->keep && options->to)
        return cli_usage("--keep deletes files, and --to writes none");
    if (options->keep && options->tree)
        return cli_usage("--pid-tree adds up all profiles, and --keep deletes some");
    if (options->tree && options->format == PPROFDELTA_OTLP)
        return cli_usage("--pid-tree adds up pprof profiles; for OTLP, give what it wrote to "
                         "pprofdelta sum --format=otlp");
    if (options->resources_len && options->format != PPROFDELTA_OTLP)
        return cli_usage("--resource needs --format=otlp, which is missing");
    return options->command
               ? CLI_DONE
               : cli_usage("the command is missing: pprofdelta record -o DIR -- COMMAND");
}

/* ---- finding the agent ----------------------------------------------------------------------- */

/* Looks beside this program, where the agent is in a build folder or in an installation, even one
 * that was moved. Then looks in the configured directory. */
static int find_agent(char path[PATH_MAX])
{
    static const char *const places[] = {"/../agent/", "/" PD_AGENT_FROM_BIN "/"};
    char self[PATH_MAX], tried[2 * PATH_MAX];
    const char *given = getenv("PPROFDELTA_AGENT");
    if (given && *given) {
        if (realpath(given, path))
            return CLI_DONE;
        return cli_system_error(given, "read", errno);
    }
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len > 0) {
        self[len] = '\0';
        *strrchr(self, '/') = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            snprintf(tried, sizeof tried, "%s%s%s", self, places[i], PD_AGENT_NAME);
            if (realpath(tried, path))
                return CLI_DONE;
        }
    }
    if (realpath(PD_AGENT_DIR "/" PD_AGENT_NAME, path))
        return CLI_DONE;
    cli_error("the heap agent %s is neither beside this program nor in %s", PD_AGENT_NAME,
              PD_AGENT_DIR);
    cli_hint("install it, or name it in the variable PPROFDELTA_AGENT");
    return CLI_FAILED;
}

/* ---- the agent's variables ------------------------------------------------------------------- */

static int make_dir(const char *dir, char path[PATH_MAX])
{
    if (mkdir(dir, 0777) && errno != EEXIST)
        return cli_system_error(dir, "make the directory", errno);
    struct stat status;
    if (!realpath(dir, path) || stat(path, &status))
        return cli_system_error(dir, "use as a directory", errno);
    if (!S_ISDIR(status.st_mode))
        return cli_system_error(dir, "write profiles to", ENOTDIR);
    if (access(path, W_OK | X_OK))
        return cli_system_error(dir, "write profiles to", errno);
    return CLI_DONE;
}

static int set(const char *name, const char *value)
{
    return (value ? setenv(name, value, 1) : unsetenv(name))
               ? cli_system_error(name, "set the variable", errno)
               : CLI_DONE;
}

static int set_number(const char *name, bool is_given, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return set(name, is_given ? text : NULL);
}

/* Puts the agent first, so that no other preloaded malloc comes before it. */
static int set_preload(const char *agent)
{
    const char *others = getenv("LD_PRELOAD");
    if (strpbrk(agent, " :")) {
        cli_error("%s: the loader takes no path with a space or a colon in LD_PRELOAD", agent);
        return CLI_FAILED;
    }
    if (!others || !*others || strstr(others, agent))
        return set("LD_PRELOAD", others && *others ? others : agent);
    size_t size = strlen(agent) + strlen(others) + 2;
    char *both = malloc(size);
    if (!both)
        return cli_system_error("LD_PRELOAD", "set the variable", ENOMEM);
    snprintf(both, size, "%s:%s", agent, others);
    int code = set("LD_PRELOAD", both);
    free(both);
    return code;
}

/* Writes seconds with a fraction. */
static int set_duration(const char *name, uint64_t millis)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 ".%03" PRIu64, millis / 1000, millis % 1000);
    return set(name, millis ? text : NULL);
}

static int set_dir(const record_options *options)
{
    char path[PATH_MAX];
    if (options->to && !options->dir)
        return set(PD_VARIABLE_DIR, NULL);
    int code = make_dir(options->dir ? options->dir : ".", path);
    return code ? code : set(PD_VARIABLE_DIR, path);
}

static int set_format_variables(const record_options *options)
{
    cli_resource resource = {0};
    char *text = NULL;
    int code = set(PD_VARIABLE_FORMAT, options->format == PPROFDELTA_OTLP ? "otlp" : NULL);
    if (!code && options->format == PPROFDELTA_OTLP)
        code = cli_resource_make(&resource, options->resources, options->resources_len);
    if (!code && options->format == PPROFDELTA_OTLP && !(text = cli_resource_text(&resource)))
        code = cli_system_error(PD_VARIABLE_RESOURCE, "set the variable", ENOMEM);
    if (!code && text && strlen(text) >= PD_RESOURCE_MAX) {
        cli_error("the attributes of the resource are longer than %d bytes", PD_RESOURCE_MAX - 1);
        code = CLI_FAILED;
    }
    if (!code)
        code = set(PD_VARIABLE_RESOURCE, text);
    free(text);
    cli_resource_free(&resource);
    return code;
}

/* A run is named by its process and its time. */
static int set_keep_variable(const record_options *options)
{
    struct timespec now = {0, 0};
    char text[96];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%s=%" PRIu64 ",%lxx%llxx%lx", options->keep ? options->keep : "",
             options->keep_most, (unsigned long)getpid(), (unsigned long long)now.tv_sec,
             (unsigned long)now.tv_nsec);
    return set(PD_VARIABLE_KEEP, options->keep ? text : NULL);
}

static int set_environment(const record_options *options, const char *agent)
{
    int code = set_dir(options);
    if (!code)
        code = set(PD_VARIABLE_COMMAND, options->to);
    if (!code)
        code = set_duration(PD_VARIABLE_TIMEOUT, options->timeout_millis);
    if (!code)
        code = set_duration(PD_VARIABLE_INTERVAL, options->interval_millis);
    if (!code)
        code = set_number(PD_VARIABLE_RATE, options->rate, options->rate);
    if (!code)
        code = set_number(PD_VARIABLE_THRESHOLD, options->threshold, options->threshold);
    if (!code)
        code = set_number(PD_VARIABLE_SIGNAL, options->signal >= 0, (uint64_t)options->signal);
    if (!code)
        code = set(PD_VARIABLE_SNAPSHOT, options->snapshot ? "1" : NULL);
    if (!code)
        code = set(PD_VARIABLE_QUIET, options->quiet ? "1" : NULL);
    if (!code)
        code = set(PD_VARIABLE_TREE, options->tree ? "1" : NULL);
    if (!code)
        code = set(PD_VARIABLE_ACCOUNT, options->no_account ? "0" : NULL);
    if (!code)
        code = set(PD_VARIABLE_SAID, "00");
    if (!code)
        code = set_number(PD_VARIABLE_PID, true, (uint64_t)getpid());
    if (!code)
        code = set_keep_variable(options);
    if (!code)
        code = set_format_variables(options);
    return code ? code : set_preload(agent);
}

/* Runs COMMAND and does not return, or returns an exit status. */
static int run_tree(const record_options *options)
{
    char folder[PATH_MAX];
    int code = cli_tree_make_folder(getenv(PD_VARIABLE_DIR), options->command[0], folder);
    if (!code)
        code = set(PD_VARIABLE_DIR, folder);
    return code ? code : cli_tree_run(options->command, folder, options->quiet);
}

/* The agent's tables and reserves count for the limit, used or not. A program that gets too little may
 * not even be loaded. */
static void note_small_space(bool is_quiet)
{
    enum { AGENT_MIB = 18, SMALL_MIB = 64 };
    const double mib = 1 << 20;
    struct rlimit space;
    if (!is_quiet && getrlimit(RLIMIT_AS, &space) == 0 &&
        space.rlim_cur < (rlim_t)(SMALL_MIB * mib))
        cli_note("the address space of COMMAND is limited to %.1f MiB (ulimit -v); the agent takes "
                 "%d MiB of it",
                 (double)space.rlim_cur / mib, AGENT_MIB);
}

/* Becomes COMMAND, or returns an exit status. */
static int run(const record_options *options)
{
    char agent[PATH_MAX];
    int code = find_agent(agent);
    if (!code)
        code = cli_target_check(options->command[0], agent);
    if (!code)
        code = set_environment(options, agent);
    if (!code)
        note_small_space(options->quiet);
    if (code || options->tree)
        return code ? code : run_tree(options);
    cli_inherited_restore();
    execvp(options->command[0], options->command);
    int error = errno;
    cli_system_error(options->command[0], "run", error);
    return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_RUN;
}

int cli_record(int argc, char **argv)
{
    record_options options = {.signal = -1};
    options.resources = calloc((size_t)argc + 1, sizeof *options.resources);
    int code = options.resources ? parse(&options, argc, argv)
                                 : cli_system_error("--resource", "read the options", ENOMEM);
    if (!code && options.help) {
        free(options.resources);
        fputs(help, stdout);
        return cli_output_end_text() ? CLI_RECORD_FAILED : CLI_DONE;
    }
    if (!code && options.command)
        code = run(&options);
    free(options.resources);
    return code == CLI_NOT_RUN || code == CLI_NOT_FOUND ? code : CLI_RECORD_FAILED;
}
