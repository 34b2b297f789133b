/* Reading a command line: see arguments.h. */
#include "arguments.h"

#include "instant.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"
#include "receiver.h"
#include "suggest.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, LONG = 256, OPERAND = 1, SHOWN = 60 };

/* The table as getopt has it. Option i has the value LONG + i, or its letter. */
typedef struct grammar {
    struct option options[MOST + 1];
    char letters[3 * MOST];
    unsigned char row[LONG]; /* of each letter and digit in the table */
} grammar;

/* The letters begin with "-", which returns operands in order even if POSIXLY_CORRECT is set, and
 * ":", which prints no messages. */
static void make_grammar(const cli_command *command, grammar *g)
{
    static const int arity[] = {no_argument, required_argument, optional_argument};
    size_t len = 0, letters = 2;
    *g = (grammar){.letters = "-:"};
    for (int i = 0; !i || command->options[i - 1].take; i++) {
        const cli_option *option = &command->options[i];
        if (option->not_of & command->verb)
            continue;
        if (option->name)
            g->options[len++] =
                (struct option){option->name + 2, arity[option->arity], NULL, LONG + i};
        memset(g->row + option->letter, i, option->letter == '0' ? 10 : 1);
        if (option->letter == '0')
            letters += (size_t)sprintf(g->letters + letters, "0123456789");
        else if (option->letter)
            letters += (size_t)sprintf(g->letters + letters, "%c%s", option->letter,
                                       option->arity == CLI_VALUE ? ":" : "");
    }
}

static cli_suggestion nearest_option(const grammar *g, const char *word, size_t word_len)
{
    cli_suggestion nearest = cli_suggest_for(word, word_len);
    for (const struct option *option = g->options; option->name; option++)
        cli_suggest_consider(&nearest, option->name);
    return nearest;
}

/* Is the token an option of pprof with one dash ("-output=x", "-http=:1"), or "-o=x"? getopt would read
 * another value in it. "-help" is what it seems. */
static bool has_one_dash(const grammar *g, const char *token)
{
    size_t len = strcspn(token, "=");
    if (token[0] != '-' || len < 2 || token[1] == '-' || !strcmp(token, "-help"))
        return false;
    const char *letter = strchr(g->letters + 2, token[1]);
    return len == 2 ? token[2] && letter && letter[1] == ':'
                    : !nearest_option(g, token + 1, len - 1).distance ||
                          cli_suggest_instead(token + 1, len - 1);
}

/* The clause that says what was probably meant by the word; NULL: nothing is near. If it abbreviates
 * several options, these were meant. */
static const char *meant_by(const grammar *g, const char *word, size_t word_len, bool is_long)
{
    const char *instead = cli_suggest_instead(word, word_len), *found = NULL;
    cli_suggestion nearest = nearest_option(g, word, word_len);
    for (const struct option *option = g->options; is_long && option->name; option++)
        if (word_len && !strncmp(option->name, word, word_len))
            found =
                cli_keep_print("%s%s--%s", found ? found : "", found ? " or " : "", option->name);
    if (!found && (!*nearest.meant || (instead && nearest.distance)))
        return instead;
    return cli_keep_print("did you mean %s%s?", found ? found : "--", found ? "" : nearest.meant);
}

/* getopt has refused the token, or has_one_dash. What is ambiguous is unknown, too. */
static _Noreturn void refuse_argument(const grammar *g, int kind, const char *token)
{
    char name[SHOWN + 1], letter[] = {'-', (char)optopt, 0};
    size_t dashes = token[1] == '-' ? 2 : 1, len = strcspn(token, "=");
    bool is_long = dashes == 2;
    snprintf(name, sizeof name, "%.*s", len < SHOWN ? (int)len : SHOWN, token);
    if (kind == ':')
        cli_usage("%s needs a value", is_long ? name : letter);
    if (is_long && optopt)
        cli_usage("%s takes no value", name);
    if (len == 2 && !is_long && !optopt)
        cli_usage("%s=%.40s: a value follows its letter without =: %s %.40s", name, token + 3, name,
                  token + 3);
    const char *meant = meant_by(g, token + dashes, len - dashes, is_long);
    if (!meant && !is_long && optopt) {
        memcpy(name, letter, sizeof letter);
        meant = cli_suggest_instead(letter + 1, 1);
    }
    cli_usage("there is no option %s%s%s", name, meant ? "; " : "", meant ? meant : "");
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns what getopt does; OPERAND also for what stands behind "--". */
static int next_argument(cli_arguments *arguments, const grammar *g)
{
    int at = optind, got = -1;
    /* A lone "-" is an operand, but musl's getopt ends the options there. */
    bool is_stdin =
        !arguments->has_ended && at < arguments->argc && !strcmp(arguments->argv[at], "-");
    opterr = 0;
    optopt = 0;
    if (!arguments->has_ended && at < arguments->argc && has_one_dash(g, arguments->argv[at]))
        return '?';
    if (!arguments->has_ended && !is_stdin)
        got = getopt_long(arguments->argc, arguments->argv, g->letters, g->options, NULL);
    arguments->has_ended |= at < arguments->argc && !strcmp(arguments->argv[at], "--");
    if (got != -1 || optind >= arguments->argc)
        return got;
    optarg = arguments->argv[optind++];
    return OPERAND;
}

static _Noreturn void print_help(const cli_command *command)
{
    fputs(command->before, stdout);
    const cli_option *option = command->options;
    do {
        if (!(option->not_of & command->verb))
            fputs(option->help, stdout);
        if (option->take == cli_receiver_take)
            cli_receiver_help();
    } while (option++->take);
    fputs(command->after ? command->after : "", stdout);
    exit(cli_output_end_text());
}

void cli_command_read(const cli_command *command, cli_arguments *arguments, void *options)
{
    grammar g;
    make_grammar(command, &g);
    arguments->operands = (const char **)arguments->argv;
    for (;;) {
        const char *token = optind < arguments->argc ? arguments->argv[optind] : "";
        int got = next_argument(arguments, &g);
        if (got == -1)
            break;
        if (got == ':' || got == '?')
            refuse_argument(&g, got, token);
        if (got == OPERAND) {
            arguments->has_ended |= command->is_for_command;
            arguments->ended_at += !arguments->has_ended;
            arguments->operands[arguments->operands_len++] = optarg;
            continue;
        }
        const cli_option *option = &command->options[got >= LONG ? got - LONG : g.row[got]];
        if (!option->take)
            print_help(command);
        option->take(option, option->letter == '0' ? strchr(token, got) : optarg,
                     (char *)options + option->at);
    }
    arguments->operands[arguments->operands_len] = NULL;
    if (command->missing && !arguments->operands_len)
        cli_usage("%s", command->missing);
}

void cli_check_files(const char *const *files, size_t len, bool are_read_again)
{
    size_t from_stdin = 0;
    for (size_t i = 0; i < len; i++) {
        if (!*files[i])
            cli_usage("the name of a file is empty");
        from_stdin += !strcmp(files[i], "-");
    }
    if (from_stdin && are_read_again)
        cli_usage("-: these files are read more than once, so stdin cannot be one of them");
    if (from_stdin > 1)
        cli_usage("-: stdin can be read only once");
}

/* ---- values ---------------------------------------------------------------------------------- */

const char cli_size_allowed[] = "a number of bytes above 0, or one with k, M, G or T";

void cli_bad_value(const char *option, const char *value, const char *allowed)
{
    enum { SHOWN_VALUE = 32 };
    const char *rest = strlen(value) > SHOWN_VALUE ? "..." : "";
    cli_usage("%s=%.*s%s: must be %s", option, SHOWN_VALUE, value, rest, allowed);
}

/* "auto, restart, clamp, negative or fail" */
static const char *list_names(const char *const *names)
{
    const char *list = *names;
    for (int i = 1; names[i]; i++)
        list = cli_keep_print("%s%s%s", list, names[i + 1] ? ", " : " or ", names[i]);
    return list;
}

const char *const cli_choices[CLI_CHOICES][CLI_WORDS_MOST] = {
    [CLI_COMPRESSION] = {"gzip", "zstd", "none"},
    [CLI_BODY] = {"zstd", "none"}, /* of the buffers of an Arrow file */
    [CLI_FORMAT] = {PPROFDELTA_FORMAT_NAMES},
    [CLI_ON_RESET] = {"auto", "restart", "clamp", "negative", "fail"},
    [CLI_FIRST] = {"full", "zero"},
    [CLI_DEFAULT_TYPE] = {"counter", "keep"},
    [CLI_REPORT] = {"", "text", "json"},
    [CLI_STATUS] = {"", "text", "json", "openmetrics"},
};

int cli_choose(const cli_option *option, const char *const *words, const char *value)
{
    int first = !*words[0], i = first;
    while (value && words[i] && strcmp(value, words[i]) != 0)
        i++;
    if (value && !words[i])
        cli_bad_value(option->name, value, list_names(words + first));
    return i;
}

void cli_take_choice(const cli_option *option, const char *value, void *chosen)
{
    *(int *)chosen = cli_choose(option, cli_choices[option->what], value);
}

void cli_take_flag(const cli_option *option, const char *value, void *flag)
{
    (void)value;
    *(bool *)flag = option->what != CLI_CLEARED;
}

void cli_take_quiet(const cli_option *option, const char *value, void *none)
{
    (void)none;
    cli_take_flag(option, value, &cli_is_quiet);
}

void cli_take_bit(const cli_option *option, const char *value, void *bits)
{
    (void)value;
    *(unsigned *)bits |= (unsigned)option->what;
}

void cli_take_text(const cli_option *option, const char *value, void *text)
{
    (void)option;
    *(const char **)text = value;
}

void cli_take_size(const cli_option *option, const char *value, void *size)
{
    if (!cli_size_parse(value, size))
        cli_bad_value(option->name, value, cli_size_allowed);
}

void cli_take_rows(const cli_option *option, const char *value, void *rows)
{
    enum { MOST_ROWS = 1000000000 };
    size_t digits = strspn(value, "0123456789");
    unsigned long long read = digits < 11 ? strtoull(value, NULL, 10) : 0;
    if (value[digits] || !read || read > MOST_ROWS)
        cli_bad_value(option->name, value, "a number of rows, 1 or more");
    *(size_t *)rows = (size_t)read;
}

void cli_take_span(const cli_option *option, const char *value, void *nanos)
{
    if (!cli_span_parse(value, nanos))
        cli_bad_value(option->name, value,
                      "a time above 0 like 30s, 500ms, 2m or 1h, and a year at most");
}

void cli_take_type(const cli_option *option, const char *value, void *type)
{
    if (!*value || *value == '/')
        cli_bad_value(option->name, value, "TYPE or TYPE/UNIT, like alloc_space/bytes");
    *(const char **)type = value;
}

void cli_take_name(const cli_option *option, const char *value, void *name)
{
    static const char *const allowed[] = {
        [CLI_OUT] = "the name of a file, or - for stdout",
        [CLI_STATE] = "the name of a file",
        [CLI_FOLDER] = "the name of a directory",
        [CLI_SHELL] = "a shell command",
    };
    size_t len = strlen(value);
    if (!len || (option->what == CLI_STATE && value[len - 1] == '/'))
        cli_bad_value(option->name, value, allowed[option->what]);
    *(const char **)name = value;
}

bool cli_size_parse(const char *text, uint64_t *size)
{
    static const char letters[] = "kMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno || !value)
        return false;
    const char *letter = *end ? strchr(letters, *end == 'K' ? 'k' : *end) : NULL;
    unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    if ((*end && !letter) || value > UINT64_MAX >> shift ||
        (letter && end[1] && strcmp(end + 1, "iB") != 0))
        return false;
    *size = (uint64_t)value << shift;
    return true;
}
