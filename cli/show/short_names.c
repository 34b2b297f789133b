/* The names of C++ functions as people say them: see short_names.h.
 *
 * One pass copies the name. At the end of a list of template arguments, the list is already in the
 * output with all lists inside it shortened: its last arguments are dropped there. */
#include "show/short_names.h"

#include <string.h>

enum { DEEPEST = 24 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct shortening {
    cli_string name;
    size_t at; /* of the name */
    char *to;
    size_t len;
    size_t lists[DEEPEST]; /* where each open list of arguments begins in the output */
    size_t depth;
} shortening;

static cli_string rest_of(const shortening *s)
{
    return (cli_string){s->name.ptr + s->at, s->name.len - s->at};
}

static void put(shortening *s, const char *text, size_t len)
{
    memmove(s->to + s->len, text, len);
    s->len += len;
}

static void copy(shortening *s, size_t len)
{
    put(s, s->name.ptr + s->at, len);
    s->at += len;
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* The place of the last comma of a list that is not inside brackets; len if there is none, or if the
 * brackets behind it have no partners. */
static size_t last_comma(cli_string list)
{
    size_t depth = 0;
    for (size_t at = list.len; at-- > 0;) {
        char c = list.ptr[at];
        if (!depth && c == ',')
            return at;
        if (c == '>' && at && list.ptr[at - 1] == '-')
            continue;
        depth += c == '>' || c == ')' || c == ']' || c == '}';
        if ((c == '<' || c == '(' || c == '[' || c == '{') && !depth--)
            break;
    }
    return list.len;
}

/* Whether an argument is the one that the template of the list has by default. */
static bool is_default(cli_string argument, cli_string list)
{
    static const char *const templates[] = {"std::char_traits<", "std::less<", "std::equal_to<",
                                            "std::hash<", "std::default_delete<"};
    if (cli_string_is(argument, "alloc::alloc::Global"))
        return true;
    if (cli_string_begins(argument, "std::allocator<") && cli_string_ends(argument, ">"))
        return true;
    for (size_t i = 0; i < COUNT(templates); i++) {
        size_t len = strlen(templates[i]);
        if (!cli_string_begins(argument, templates[i]) || !cli_string_ends(argument, ">"))
            continue;
        size_t of = argument.len - len - 1; /* it is of the first argument: std::less<K> */
        return list.ptr[of] == ',' && !memcmp(list.ptr, argument.ptr + len, of);
    }
    return false;
}

/* Drops arguments from the end of the list in the output, but never the first one. */
static void drop_defaults(shortening *s, size_t from)
{
    for (;;) {
        cli_string list = {s->to + from, s->len - from};
        size_t comma = last_comma(list), begin = comma + 1;
        while (begin < list.len && list.ptr[begin] == ' ')
            begin++;
        if (comma == list.len ||
            !is_default((cli_string){list.ptr + begin, list.len - begin}, list))
            return;
        s->len = from + comma;
    }
}

/* ---- std::basic_string<char> -------------------------------------------------------------- */

/* Makes "std::string" of "std::basic_string<char>" at the end of the output, and of a constructor that
 * follows "::string". The list of arguments begins at `from`. */
static void say_basic(shortening *s, size_t from)
{
    static const char basic[] = "basic_", space[] = "std::";
    size_t len = sizeof basic - 1, word = from - 1;
    cli_string list = {s->to + from, s->len - from};
    bool is_wide = cli_string_is(list, "wchar_t>");
    while (word && cli_is_word(s->to[word - 1]))
        word--;
    cli_string before = {s->to, word}, name = {s->to + word, from - 1 - word};
    if (!cli_string_ends(before, space) || !cli_string_begins(name, basic) ||
        (word >= sizeof space && cli_is_word(s->to[word - sizeof space])) ||
        (!is_wide && !cli_string_is(list, "char>")))
        return;
    size_t short_len = name.len - len + is_wide;
    cli_string next = rest_of(s);
    size_t tilde = cli_string_begins(next, "::~");
    cli_string member = {next.ptr + 2 + tilde, next.len > 2 + tilde ? next.len - 2 - tilde : 0};
    bool is_constructor = cli_string_begins(next, "::") && member.len >= name.len &&
                          !memcmp(member.ptr, name.ptr, name.len) &&
                          (member.len == name.len || !cli_is_word(member.ptr[name.len]));
    memmove(s->to + word + is_wide, name.ptr + len, name.len - len);
    if (is_wide)
        s->to[word] = 'w';
    s->len = word + short_len;
    if (!is_constructor)
        return;
    size_t skipped = 2 + tilde + name.len;
    copy(s, 2 + tilde);
    put(s, s->to + word, short_len);
    s->at += skipped - 2 - tilde;
}

/* ---- the pass ----------------------------------------------------------------------------- */

/* The length of a part of an ABI at this place, which nobody says. */
static size_t skipped(const shortening *s)
{
    static const char *const spaces[] = {"__cxx11::", "__1::", "__ndk1::", "_V2::"};
    cli_string rest = rest_of(s);
    if (cli_string_begins(rest, "[abi:")) {
        const char *end = memchr(rest.ptr, ']', rest.len);
        return end ? (size_t)(end - rest.ptr) + 1 : 0;
    }
    for (size_t i = 0; i < COUNT(spaces); i++)
        if (cli_string_begins(rest, spaces[i]) &&
            cli_string_ends((cli_string){s->to, s->len}, "::"))
            return strlen(spaces[i]);
    return 0;
}

/* The length of a token in which < and > are no brackets: "->", "operator<<". */
static size_t token(const shortening *s)
{
    static const char word[] = "operator";
    static const char *const operators[] = {"->", "<<", ">>", "<=>", "<=", ">=", "<", ">"};
    cli_string rest = rest_of(s);
    size_t len = sizeof word - 1;
    if (cli_string_begins(rest, "->"))
        return 2;
    if (!cli_string_begins(rest, word) || (s->at && cli_is_word(rest.ptr[-1])))
        return 0;
    cli_string sign = {rest.ptr + len, rest.len - len};
    for (size_t i = 0; i < COUNT(operators); i++)
        if (cli_string_begins(sign, operators[i]))
            return len + strlen(operators[i]);
    return len;
}

static bool close_list(shortening *s)
{
    if (!s->depth)
        return false;
    size_t from = s->lists[--s->depth];
    while (s->len > from && s->to[s->len - 1] == ' ')
        s->len--;
    drop_defaults(s, from);
    copy(s, 1);
    say_basic(s, from);
    return true;
}

static bool step(shortening *s)
{
    size_t skip = skipped(s), whole = token(s);
    char c = s->name.ptr[s->at];
    if (skip) {
        s->at += skip;
    } else if (whole) {
        copy(s, whole);
    } else if (c == '>') {
        return close_list(s);
    } else {
        copy(s, 1);
        if (c == '<' && s->depth == DEEPEST)
            return false;
        if (c == '<')
            s->lists[s->depth++] = s->len;
    }
    return true;
}

cli_string cli_short_name(cli_string name, char to[CLI_SHORT_NAME_MAX]) // NOLINT: it is filled
{
    shortening s = {.name = name, .to = to};
    if (name.len > CLI_SHORT_NAME_MAX || !memchr(name.ptr, ':', name.len))
        return name;
    while (s.at < name.len)
        if (!step(&s))
            return name;
    return s.depth || s.len == name.len ? name : (cli_string){to, s.len};
}
