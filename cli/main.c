/* The command: prepares the process and calls the verb that the first argument names.
 *
 * If the first argument is not a verb, the command line is that of the delta. A file that has the
 * name of a verb is written ./show. */
#include "cli.h"
#include "keep.h"
#include "message.h"
#include "pprofdelta.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int help_about(int argc, char **argv);

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"show", cli_show},   {"check", cli_check},   {"sum", cli_sum},
    {"merge", cli_merge}, {"record", cli_record}, {"symbolize", cli_symbolize},
    {"leaks", cli_leaks}, {"export", cli_export}, {"recover", cli_recover},
    {"help", help_about},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(word, verbs[i].name))
            return &verbs[i];
    return NULL;
}

static const char all_verbs[] =
    "there are show, check, sum, merge, record, symbolize, leaks, export and recover";

/* What was probably meant by a word that is no verb; NULL: nothing is near. */
static const char *meant_by(const char *word, const char *before)
{
    cli_suggestion nearest = cli_suggest_for(word, strlen(word));
    const char *instead = cli_suggest_instead(word, strlen(word));
    for (size_t i = 0; i < VERBS; i++)
        cli_suggest_consider(&nearest, verbs[i].name);
    return instead || !*nearest.meant ? instead
                                      : cli_keep_print("did you mean %s%s?", before, nearest.meant);
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    bool is_record = verb->run == cli_record;
    if (verb->run != help_about)
        cli_message_verb(verb->name, is_record ? CLI_RECORD_FAILED : CLI_FAILED,
                         is_record ? CLI_RECORD_FAILED : CLI_USAGE);
    return verb->run(argc, argv);
}

/* pprofdelta help [VERB] */
static int help_about(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc > 2)
        cli_usage("%.60s: is one operand too many; help takes one verb", argv[2]);
    if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help") || !strcmp(argv[1], "delta"))
        return cli_delta(2, (char *[]){argv[0], option, NULL});
    const struct verb *verb = find_verb(argv[1]);
    if (verb)
        return run_verb(verb, 2, (char *[]){argv[1], option, NULL});
    const char *meant = meant_by(argv[1], "");
    cli_usage("there is no verb %.60s; %s", argv[1], meant ? meant : all_verbs);
}

/* A first operand that is no verb is a profile. One profile alone is none of a delta, so "version"
 * alone means the option. */
static int run_delta(int argc, char **argv)
{
    static char option[] = "--version";
    if (argc == 2 && !strcmp(argv[1], "version"))
        return cli_delta(2, (char *[]){argv[0], option, NULL});
    if (argc < 2 || argv[1][0] == '-' || !access(argv[1], F_OK))
        return cli_delta(argc, argv);
    const char *meant = meant_by(argv[1], "pprofdelta ");
    if (!meant && argc > 2)
        return cli_delta(argc, argv);
    cli_usage("there is no file and no verb %.60s; %s", argv[1], meant ? meant : all_verbs);
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

bool cli_set_variable(const char *name, bool has_value, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    bool is_set =
        has_value ? vasprintf(&text, format, args) >= 0 && !setenv(name, text, 1) : !unsetenv(name);
    va_end(args);
    free(text);
    return is_set;
}

void cli_must(int code)
{
    if (code)
        exit(code);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    if (hold_standard_streams())
        return CLI_FAILED;
    /* With musl's small buffer most of a text would be written, and could fail, before the check. */
    setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
    /* A closed pipe or a file size limit makes a write fail, and does not kill the process. */
    inherited_sigpipe = signal(SIGPIPE, SIG_IGN);
    inherited_sigxfsz = signal(SIGXFSZ, SIG_IGN);
    const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;
    return verb ? run_verb(verb, argc - 1, argv + 1) : run_delta(argc, argv);
}
