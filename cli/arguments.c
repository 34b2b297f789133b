/* Reading a command line: see arguments.h. */
#include "arguments.h"

#include "cli.h"
#include "input.h"
#include "message.h"
#include "suggest.h"

#include <string.h>

/* The number of options that begin with name. getopt does not say if a name is ambiguous. */
static int candidates(const struct option *options, const char *name)
{
    int count = 0;
    for (; options->name; options++)
        count += !strncmp(options->name, name, strlen(name));
    return count;
}

/* The long option that was probably meant, or NULL. */
static const char *nearest(const struct option *options, const char *name, size_t len)
{
    cli_suggestion suggestion = cli_suggest_for(name, len);
    for (; options->name; options++)
        cli_suggest_consider(&suggestion, options->name);
    return suggestion.meant;
}

/* The token is not an option: "--otuput=x", "-state" or "-z". */
static void refuse_unknown(const cli_arguments *arguments, const char *token, int len)
{
    bool is_long = !strncmp(token, "--", 2);
    size_t name_len = strcspn(token, "=");
    const char *meant =
        nearest(arguments->options, token + 1 + is_long, name_len - 1 - (size_t)is_long);
    if (meant)
        cli_usage("there is no option %.*s; did you mean --%s?", len, token, meant);
    else if (is_long)
        cli_usage("there is no option %.*s", len, token);
    else
        cli_usage("there is no option -%c", optopt);
}

static int refuse(const cli_arguments *arguments, int kind, const char *token)
{
    enum { SHOWN = 60 };
    int is_long = !strncmp(token, "--", 2);
    const char *equals = is_long ? strchr(token, '=') : NULL;
    size_t token_len = strcspn(token, "=");
    int len = token_len < SHOWN ? (int)token_len : SHOWN;
    if (kind == ':' && is_long)
        cli_usage("%.*s needs a value", len, token);
    else if (kind == ':')
        cli_usage("-%c needs a value", optopt);
    else if (is_long && optopt)
        cli_usage("%.*s takes no value", len, token);
    else if (is_long && !equals && candidates(arguments->options, token + 2) > 1)
        cli_usage("%.*s could be several options", len, token);
    else
        refuse_unknown(arguments, token, len);
    return CLI_WRONG;
}

int cli_arguments_next(cli_arguments *arguments)
{
    /* "-" returns operands in order, even if POSIXLY_CORRECT is set. ":" prints no messages. */
    char letters[64] = "-:";
    strncat(letters, arguments->letters, sizeof letters - 3);
    int at = optind;
    /* A lone "-" is an operand, but musl's getopt ends the options there. */
    if (!arguments->has_ended && at < arguments->argc && !strcmp(arguments->argv[at], "-")) {
        optarg = arguments->argv[optind++];
        return CLI_OPERAND;
    }
    opterr = 0;
    optopt = 0;
    int got = CLI_END;
    if (!arguments->has_ended)
        got = getopt_long(arguments->argc, arguments->argv, letters, arguments->options, NULL);
    if (got == ':' || got == '?')
        return refuse(arguments, got, arguments->argv[at]);
    arguments->has_ended = got == CLI_END;
    if (got == CLI_END && optind < arguments->argc) { /* after "--" */
        optarg = arguments->argv[optind++];
        return CLI_OPERAND;
    }
    return got;
}

int cli_check_stdin(const char *const *files, size_t len)
{
    size_t from_stdin = 0;
    for (size_t i = 0; i < len; i++)
        from_stdin += cli_input_is_stdin(files[i]);
    return from_stdin > 1 ? cli_usage("-: stdin can be read only once") : CLI_DONE;
}
