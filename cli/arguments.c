/* The walk along a command line: see arguments.h. */
#include "arguments.h"

#include "cli.h"
#include "message.h"
#include "suggest.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

const char cli_size_allowed[] = "a number of bytes above 0, or one with k, M, G or T";

/* getopt has no word for an ambiguous beginning; count what it could have meant. */
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
    const char *found = NULL;
    size_t least = SIZE_MAX;
    for (; options->name; options++) {
        size_t distance = cli_suggest_distance(name, len, options->name);
        if (distance < least && cli_suggest_is_near(name, len, options->name)) {
            least = distance;
            found = options->name;
        }
    }
    return found;
}

/* "--otuput=x", "-state" or "-z". */
static void tell_unknown(const cli_arguments *arguments, const char *token, int len)
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

static int wrong(const cli_arguments *arguments, int kind, const char *token)
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
        tell_unknown(arguments, token, len);
    return CLI_WRONG;
}

int cli_arguments_next(cli_arguments *arguments)
{
    /* "-" hands over operands in order, whatever POSIXLY_CORRECT says; ":" leaves the words to
     * us. */
    char letters[64] = "-:";
    strncat(letters, arguments->letters, sizeof letters - 3);
    int at = optind;
    /* A lone "-" is an operand; musl's getopt takes it for the end. */
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
        return wrong(arguments, got, arguments->argv[at]);
    arguments->has_ended = got == CLI_END;
    if (got == CLI_END && optind < arguments->argc) { /* behind "--" */
        optarg = arguments->argv[optind++];
        return CLI_OPERAND;
    }
    return got;
}

int cli_bad_value(const char *option, const char *value, const char *allowed)
{
    enum { SHOWN = 32 };
    int cut = strlen(value) > SHOWN;
    return cli_usage("%s=%.*s%s: must be %s", option, SHOWN, value, cut ? "..." : "", allowed);
}

int cli_choose(const char *value, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(value, names[i]))
            return i;
    return -1;
}

bool cli_size_parse(const char *text, unsigned long long *size)
{
    static const char letters[] = "kMGT";
    unsigned long long value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (value > (ULLONG_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (p == text || !value)
        return false;
    if (*p) {
        const char *letter = strchr(letters, *p == 'K' ? 'k' : *p);
        if (!letter)
            return false;
        unsigned shift = 10 * (unsigned)(letter - letters + 1);
        if (value > ULLONG_MAX >> shift)
            return false;
        value <<= shift;
        p++;
        if (*p && strcmp(p, "iB") != 0)
            return false;
    }
    *size = value;
    return true;
}
