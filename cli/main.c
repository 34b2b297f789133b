/* The command: picks the verb and makes the process safe for it to run in.
 *
 * Two files without a verb are the delta, the most frequent use; everything else is named by the
 * first argument. A file that is called like a verb is written ./show. */
#include "cli.h"
#include "message.h"
#include "output.h"
#include "pprofdelta.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int help_about(int argc, char **argv);

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"show", cli_show},     {"check", cli_check}, {"sum", cli_sum},
    {"record", cli_record}, {"help", help_about},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const char help[] =
    "usage: pprofdelta PREV CUR [-o OUT]  what a program did between two profiles\n"
    "       pprofdelta --state FILE [CUR] [-o OUT]  ... since the last run with FILE\n"
    "       pprofdelta --state FILE [CUR] -- UPLOADER [ARG...]\n"
    "       pprofdelta sum BASE DELTA... [-o OUT]  the inverse\n"
    "       pprofdelta show FILE [--type T] [--top|--raw|--folded|--json|--flame F]\n"
    "       pprofdelta check FILE...      valid or not, and where not\n"
    "       pprofdelta record -- COMMAND  run it with the heap agent\n"
    "       pprofdelta help [VERB]        this, or the options of a verb\n"
    "Each is a pprof profile (gzip, zstd or plain); - is stdin, as is a missing CUR.\n"
    "\n"
    "  -o, --output OUT           replace the file OUT; else, or with -, stdout\n"
    "  -c, --counter TYPE[/UNIT]  subtract this sample type too\n"
    "  -g, --gauge TYPE[/UNIT]    keep this sample type as it is in CUR\n"
    "      --on-reset=HOW         where a counter fell: auto (the default), restart,\n"
    "                             clamp, negative or fail\n"
    "      --started=TIME         when the program began: an RFC 3339 time, @SECONDS\n"
    "      --default-type[=HOW]   default type: the gauge's counter, or keep\n"
    "      --compress=HOW         gzip, zstd or none\n"
    "  -1 ... -9                  compress fast ... compress well\n"
    "      --report[=FORM]        counts and sums to stderr, as text or json\n"
    "      --verify               check that the sums add up before writing\n"
    "      --no-stamp             leave out the comment that marks a delta\n"
    "      --force                take a delta or a window as an input all the same\n"
    "      --max-memory=SIZE      bytes to use at most, or 512M, 8G (the default)\n"
    "  -q, --quiet                no notes on stderr\n"
    "  -h, --help, --version\n"
    "\n"
    "      --state=FILE           PREV is what FILE remembers; it moves on to CUR\n"
    "                             when the output is safe, or UPLOADER (which has\n"
    "                             it as its stdin) has ended with status 0\n"
    "      --first=HOW            with a new FILE: full (the default), or zero\n"
    "      --timeout=TIME         end UPLOADER after 30s, 2m, ...\n"
    "      --no-wait              fail where another run is using FILE\n"
    "      --status[=FORM]        only tell what FILE holds, as text or json\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 usage, 3 a reset with --on-reset=fail,\n"
    "4 UPLOADER failed: FILE is as it was\n";

int cli_help(void)
{
    fputs(help, stdout);
    return cli_output_end_text();
}

int cli_version(void)
{
    printf("pprofdelta %s\n", pprofdelta_version());
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
    const char *found = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < VERBS; i++) {
        size_t distance = cli_suggest_distance(word, strlen(word), verbs[i].name);
        if (distance < least && cli_suggest_is_near(word, strlen(word), verbs[i].name)) {
            least = distance;
            found = verbs[i].name;
        }
    }
    return found;
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
        return cli_usage("%.60s: is one operand too many; help is about one verb", argv[2]);
    if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help"))
        return cli_help();
    const struct verb *verb = find_verb(argv[1]);
    const char *meant = verb ? NULL : nearest_verb(argv[1]);
    if (!verb && meant)
        return cli_usage("there is no verb %.60s; did you mean %s?", argv[1], meant);
    if (!verb)
        return cli_usage("there is no verb %.60s; there are show, check, sum and record", argv[1]);
    char *line[] = {argv[1], option, NULL};
    return run_verb(verb, 2, line);
}

/* A word that is no verb is the name of a profile, unless there is none of that name and a verb is
 * near. */
static const char *meant_verb(const char *word)
{
    return word[0] == '-' || !access(word, F_OK) ? NULL : nearest_verb(word);
}

/* A process may be started with stdin, stdout or stderr closed, and then the next file that it
 * opens takes the place: a message would end up in somebody's profile. Each closed one is held by
 * a descriptor that refuses the transfers it is for. */
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
    }
    return 0;
}

static void (*inherited_sigpipe)(int), (*inherited_sigxfsz)(int);

void cli_signals_restore(void)
{
    signal(SIGPIPE, inherited_sigpipe);
    signal(SIGXFSZ, inherited_sigxfsz);
}

/* musl's own buffer is so small that most of a text fails to be written before anybody asks why. */
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
    /* A write that fails is told as one: neither a closed pipe nor a file size limit kills. */
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
