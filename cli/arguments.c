/* Reading a command line: see arguments.h. */
#include "arguments.h"

#include "cli.h"
#include "input.h"
#include "message.h"
#include "output_file.h"
#include "suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 40, LONG = 256, OPERAND = 1, SHOWN = 60 };

/* The table as getopt has it. Option i has the value LONG + i, or its letter. */
typedef struct grammar {
    struct option options[MOST + 1];
    char letters[3 * MOST];
} grammar;

static bool has_option(const cli_command *command, const cli_option *option)
{
    return !option->verbs || option->verbs & command->verb;
}

/* The letters begin with "-", which returns operands in order even if POSIXLY_CORRECT is set, and
 * ":", which prints no messages. */
static void make_grammar(const cli_command *command, grammar *g)
{
    static const int arity[] = {no_argument, required_argument, optional_argument};
    size_t len = 0, letters = 2;
    *g = (grammar){.letters = "-:"};
    for (int i = 0; command->options[i].help; i++) {
        const cli_option *option = &command->options[i];
        if (!has_option(command, option))
            continue;
        if (option->name)
            g->options[len++] =
                (struct option){option->name + 2, arity[option->arity], NULL, LONG + i};
        if (option->letter == '0')
            letters += (size_t)sprintf(g->letters + letters, "0123456789");
        else if (option->letter)
            letters += (size_t)sprintf(g->letters + letters, "%c%s", option->letter,
                                       option->arity == CLI_VALUE ? ":" : "");
    }
}

static const cli_option *find_option(const cli_command *command, int got)
{
    if (got >= LONG)
        return &command->options[got - LONG];
    char letter = got >= '0' && got <= '9' ? '0' : (char)got;
    const cli_option *option = command->options;
    while (option->letter != letter || !has_option(command, option))
        option++;
    return option;
}

/* getopt has refused the token. What is ambiguous is unknown, too. */
static int refuse(const grammar *g, int kind, const char *token)
{
    char name[SHOWN + 1];
    size_t dashes = token[1] == '-' ? 2 : 1, len = strcspn(token, "=");
    if (dashes == 2)
        snprintf(name, sizeof name, "%.*s", len < SHOWN ? (int)len : SHOWN, token);
    else
        snprintf(name, sizeof name, "-%c", optopt);
    if (kind == ':')
        return cli_usage("%s needs a value", name);
    if (dashes == 2 && optopt)
        return cli_usage("%s takes no value", name);
    cli_suggestion nearest = cli_suggest_for(token + dashes, len - dashes);
    for (const struct option *option = g->options; option->name; option++)
        cli_suggest_consider(&nearest, option->name);
    return nearest.meant
               ? cli_usage("there is no option %s; did you mean --%s?", name, nearest.meant)
               : cli_usage("there is no option %s", name);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns what getopt does; OPERAND also for what stands behind "--". */
static int next(cli_arguments *arguments, const grammar *g)
{
    int at = optind, got = -1;
    /* A lone "-" is an operand, but musl's getopt ends the options there. */
    bool is_stdin =
        !arguments->has_ended && at < arguments->argc && !strcmp(arguments->argv[at], "-");
    opterr = 0;
    optopt = 0;
    if (!arguments->has_ended && !is_stdin)
        got = getopt_long(arguments->argc, arguments->argv, g->letters, g->options, NULL);
    arguments->has_ended |= at < arguments->argc && !strcmp(arguments->argv[at], "--");
    if (got != -1 || optind >= arguments->argc)
        return got;
    optarg = arguments->argv[optind++];
    return OPERAND;
}

static int print_help(const cli_command *command)
{
    fputs(command->before, stdout);
    for (const cli_option *option = command->options; option->help; option++)
        if (has_option(command, option))
            fputs(option->help, stdout);
    return cli_output_text(command->after);
}

int cli_command_read(const cli_command *command, cli_arguments *arguments, void *options)
{
    grammar g;
    make_grammar(command, &g);
    arguments->operands = (const char **)arguments->argv;
    for (;;) {
        const char *token = optind < arguments->argc ? arguments->argv[optind] : "";
        int got = next(arguments, &g), code = CLI_DONE;
        if (got == -1)
            return CLI_DONE;
        if (got == ':' || got == '?')
            return refuse(&g, got, token);
        const cli_option *option = got == OPERAND ? NULL : find_option(command, got);
        if (option && !option->take) {
            arguments->is_done = true;
            return print_help(command);
        }
        if (option)
            code = option->take(option, option->letter == '0' ? strchr(token, got) : optarg,
                                (char *)options + option->at);
        else if (command->operand)
            code = command->operand(options, optarg);
        if (code)
            return code == CLI_ENOUGH ? CLI_DONE : code;
        if (!option)
            arguments->operands[arguments->operands_len++] = optarg;
    }
}

int cli_check_stdin(const char *const *files, size_t len)
{
    size_t from_stdin = 0;
    for (size_t i = 0; i < len; i++)
        from_stdin += cli_input_is_stdin(files[i]);
    return from_stdin > 1 ? cli_usage("-: stdin can be read only once") : CLI_DONE;
}
