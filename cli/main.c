/* The command: prepares the process and calls the verb that the first argument names.
 *
 * If the first argument is not a verb, the command line is that of the delta. A file that has the
 * name of a verb is written ./show. */
#include "cli.h"
#include "message.h"
#include "output_file.h"
#include "pprofdelta.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int help_about(int argc, char **argv);

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"show", cli_show},     {"check", cli_check},         {"sum", cli_sum},
    {"record", cli_record}, {"symbolize", cli_symbolize}, {"leaks", cli_leaks},
    {"help", help_about},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const char help[] =
    "usage: pprofdelta PREV CUR [-o OUT]  what a program did between two profiles\n"
    "       pprofdelta --state FILE [CUR] [-o OUT]  ... since the last run with FILE\n"
    "       pprofdelta --state FILE [CUR] -- UPLOADER [ARG...]\n"
    "       pprofdelta sum BASE DELTA... [-o OUT]  add deltas to a profile\n"
    "       pprofdelta show [PREV] FILE [--type T] [--top|--raw|--folded|--json]\n"
    "       pprofdelta check FILE...      check that profiles are valid\n"
    "       pprofdelta record -- COMMAND  run COMMAND with the heap agent\n"
    "       pprofdelta symbolize FILE [-o OUT]  add functions and lines to addresses\n"
    "       pprofdelta leaks FILE...      stacks that keep growing\n"
    "       pprofdelta help [VERB]        print this help, or that of a verb\n"
    "An input is a pprof profile (gzip, zstd or plain); - or a missing CUR is stdin.\n"
    "\n"
    "  -o, --output OUT           write to the file OUT (default, or -: stdout)\n"
    "  -c, --counter TYPE[/UNIT]  subtract this sample type too\n"
    "  -g, --gauge TYPE[/UNIT]    do not subtract this sample type\n"
    "      --on-reset=HOW         if a counter fell: auto (the default), restart,\n"
    "                             clamp, negative or fail\n"
    "      --started=TIME         when the program started: RFC 3339 or @SECONDS\n"
    "      --default-type[=HOW]   if the default type is a gauge: counter or keep\n"
    "      --compress=HOW         gzip, zstd or none\n"
    "      --format=FORMAT        pprof (the default) or otlp\n"
    "      --resource=KEY=VALUE   an attribute of the resource, for otlp\n"
    "  -1 ... -9                  compress fast ... compress well\n"
    "      --report[=FORM]        print counts and sums to stderr, as text or json\n"
    "      --verify               check that the sums add up before writing\n"
    "      --no-stamp             leave out the comment that marks a delta\n"
    "      --force                accept inputs that are not cumulative\n"
    "      --max-memory=SIZE      use at most SIZE bytes: 512M, 8G (the default)\n"
    "  -q, --quiet                print no notes on stderr\n"
    "  -h, --help, --version\n"
    "\n"
    "      --state=FILE           PREV is in FILE. It becomes CUR when OUT is on the\n"
    "                             disk, or UPLOADER (stdin: the delta) exits with 0\n"
    "      --first=HOW            with a new FILE: full (the default), or zero\n"
    "      --timeout=TIME         end UPLOADER after 30s, 2m, ...\n"
    "      --no-wait              fail if another run is using FILE\n"
    "      --status[=FORM]        only print what is in FILE, as text or json\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong command line, 3 a reset with\n"
    "--on-reset=fail, 4 UPLOADER failed: FILE is unchanged\n";

int cli_help(void)
{
    return cli_output_text(help);
}

int cli_version(void)
{
    printf("pprofdelta %s\nOTLP: opentelemetry-proto %s, profiles v1development\n",
           pprofdelta_version(), PPROFDELTA_OTLP_PROTO);
    return cli_output_end_text();
}

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(word, verbs[i].name))
            return &verbs[i];
    return NULL;
}

bool cli_is_verb(const char *word)
{
    return find_verb(word) != NULL;
}

/* The verb that was probably meant, or NULL. */
static const char *nearest_verb(const char *word)
{
    cli_suggestion suggestion = cli_suggest_for(word, strlen(word));
    for (size_t i = 0; i < VERBS; i++)
        cli_suggest_consider(&suggestion, verbs[i].name);
    return suggestion.meant;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    if (verb->run != help_about)
        cli_message_verb(verb->name);
    return verb->run(argc, argv);
}

/* pprofdelta help [VERB] */
static int help_about(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc > 2)
        return cli_usage("%.60s: is one operand too many; help takes one verb", argv[2]);
    if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help"))
        return cli_help();
    const struct verb *verb = find_verb(argv[1]);
    const char *meant = verb ? NULL : nearest_verb(argv[1]);
    if (!verb && meant)
        return cli_usage("there is no verb %.60s; did you mean %s?", argv[1], meant);
    if (!verb)
        return cli_usage("there is no verb %.60s; there are show, check, sum, record, "
                         "symbolize and leaks",
                         argv[1]);
    char *line[] = {argv[1], option, NULL};
    return run_verb(verb, 2, line);
}

/* A first argument that is not a verb is a profile. If no file has that name, returns the verb that
 * was probably meant, or NULL. */
static const char *meant_verb(const char *word)
{
    return word[0] == '-' || !access(word, F_OK) ? NULL : nearest_verb(word);
}

/* If the process is started with stdin, stdout or stderr closed, the next file that it opens gets
 * that descriptor, and a message could be written into a profile. So each closed descriptor is
 * opened here: stdin for writing only, stdout and stderr for reading only. */
static bool is_held[STDERR_FILENO + 1];

static int hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        int got = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (got < 0)
            got = open("/", O_RDONLY | O_DIRECTORY);
        if (got != fd)
            return -1;
        is_held[fd] = true;
    }
    return 0;
}

static void (*inherited_sigpipe)(int), (*inherited_sigxfsz)(int);

void cli_inherited_restore(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (is_held[fd])
            close(fd);
    signal(SIGPIPE, inherited_sigpipe);
    signal(SIGXFSZ, inherited_sigxfsz);
}

/* With musl's small buffer most of a text would be written, and could fail, before the check. */
static void give_stdout_room(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
}

int main(int argc, char **argv)
{
    if (hold_standard_streams())
        return CLI_FAILED;
    give_stdout_room();
    /* A closed pipe or a file size limit makes a write fail, and does not kill the process. */
    inherited_sigpipe = signal(SIGPIPE, SIG_IGN);
    inherited_sigxfsz = signal(SIGXFSZ, SIG_IGN);
    const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;
    if (verb)
        return run_verb(verb, argc - 1, argv + 1);
    const char *meant = argc > 1 ? meant_verb(argv[1]) : NULL;
    if (meant)
        return cli_usage("there is no file and no verb %.60s; did you mean pprofdelta %s?", argv[1],
                         meant);
    return cli_delta(argc, argv);
}
