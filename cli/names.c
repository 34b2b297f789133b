/* The names of functions: see names.h.
 *
 * One pass copies the name, and leaves out what stands at a place. Only what C++ and Rust write is left out,
 * because the language of a name may not be known. */
#include "names.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct shortening {
    cli_string rest; /* of the name */
    char *to;
    size_t len;
} shortening;

static cli_string rest_behind(cli_string text, size_t len)
{
    return (cli_string){text.ptr + len, text.len - len};
}

static void copy_some(shortening *s, size_t len)
{
    memcpy(s->to + s->len, s->rest.ptr, len);
    s->len += len;
    s->rest = rest_behind(s->rest, len);
}

/* ---- what is left out --------------------------------------------------------------------- */

/* The length of a namespace of an ABI that the text begins with. */
static size_t abi_space(cli_string text)
{
    static const char *const spaces[] = {"__cxx11::", "__1::", "__ndk1::", "_V2::"};
    for (size_t i = 0; i < COUNT(spaces); i++)
        if (cli_string_begins(text, spaces[i]))
            return strlen(spaces[i]);
    return 0;
}

/* "[abi:cxx11]" */
static size_t abi_tag(cli_string text)
{
    const char *end = cli_string_begins(text, "[abi:") ? memchr(text.ptr, ']', text.len) : NULL;
    return end ? (size_t)(end - text.ptr) + 1 : 0;
}

/* The length of an argument that the text begins with, if templates have it by default. Of the functions of
 * std, those of void are none. */
static size_t default_argument(cli_string text)
{
    static const char global[] = "alloc::alloc::Global", space[] = "std::";
    static const char *const templates[] = {"allocator<", "char_traits<", "less<",
                                            "equal_to<",  "hash<",        "default_delete<"};
    size_t depth = 0, at = sizeof space - 1;
    if (cli_string_begins(text, global))
        return sizeof global - 1;
    if (!cli_string_begins(text, space))
        return 0;
    at += abi_space(rest_behind(text, at));
    for (size_t i = 0; i < COUNT(templates) && !depth; i++)
        if (cli_string_begins(rest_behind(text, at), templates[i])) {
            at += strlen(templates[i]);
            depth = 1;
        }
    if (cli_string_begins(rest_behind(text, at), "void>"))
        return 0;
    for (; depth && at < text.len; at++) {
        depth += text.ptr[at] == '<';
        depth -= text.ptr[at] == '>' && text.ptr[at - 1] != '-';
    }
    return depth || text.ptr[at - 1] != '>' ? 0 : at;
}

static size_t count_spaces(cli_string text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] == ' ')
        len++;
    return len;
}

/* The length of the arguments, with their commas, that a list has by default at its end. */
static size_t default_arguments(cli_string text)
{
    size_t at = 0;
    while (at < text.len && text.ptr[at] == ',') {
        at += 1 + count_spaces(rest_behind(text, at + 1));
        size_t len = default_argument(rest_behind(text, at));
        if (!len)
            return 0;
        at += len + count_spaces(rest_behind(text, at + len));
    }
    return at < text.len && text.ptr[at] == '>' ? at : 0;
}

static size_t left_out(const shortening *s)
{
    cli_string done = {s->to, s->len};
    size_t len = abi_tag(s->rest) + default_arguments(s->rest);
    if (cli_string_ends(done, "::") && memmem(done.ptr, done.len, "std::", 5))
        len += abi_space(s->rest);
    bool is_between = done.len && s->rest.ptr[-1] == '>' && cli_string_begins(s->rest, " >");
    return len || !is_between ? len : 1;
}

/* ---- std::basic_string<char> -------------------------------------------------------------- */

/* A letter, a digit or an underscore, in ASCII. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Makes "std::string" of "std::basic_string<char>" at the end of the output, and "::string" of the
 * constructor that follows. */
static void say_basic(shortening *s)
{
    static const char basic[] = "basic_", space[] = "std::", wide[] = "<wchar_t>",
                      narrow[] = "<char>";
    bool is_wide = cli_string_ends((cli_string){s->to, s->len}, wide);
    size_t end = s->len - (is_wide ? strlen(wide) : strlen(narrow)), from = end;
    if (!is_wide && !cli_string_ends((cli_string){s->to, s->len}, narrow))
        return;
    while (from && is_word(s->to[from - 1]))
        from--;
    if (!cli_string_begins((cli_string){s->to + from, end - from}, basic) ||
        !cli_string_ends((cli_string){s->to, from}, space) ||
        (from >= sizeof space && is_word(s->to[from - sizeof space])))
        return;
    cli_string word = {s->to + from + is_wide, end - from - strlen(basic)};
    memmove(s->to + from + is_wide, s->to + from + strlen(basic), word.len);
    if (is_wide)
        s->to[from] = 'w';
    s->len = from + is_wide + word.len;
    if (!cli_string_begins(s->rest, "::"))
        return;
    size_t before = cli_string_begins(s->rest, "::~") ? 3 : 2;
    cli_string member = rest_behind(s->rest, before);
    if (!cli_string_begins(member, basic))
        return;
    member = rest_behind(member, strlen(basic));
    if (member.len < word.len || memcmp(member.ptr, word.ptr, word.len) != 0 ||
        (member.len > word.len && is_word(member.ptr[word.len])))
        return;
    copy_some(s, before);
    memcpy(s->to + s->len, s->to + from, is_wide + word.len);
    s->len += is_wide + word.len;
    s->rest = rest_behind(member, word.len);
}

cli_string cli_short_name(cli_string name, char to[CLI_SHORT_NAME_MAX]) // NOLINT: it is filled
{
    shortening s = {.rest = name, .to = to};
    if (name.len > CLI_SHORT_NAME_MAX || !memchr(name.ptr, ':', name.len))
        return name;
    while (s.rest.len) {
        size_t len = left_out(&s);
        s.rest = rest_behind(s.rest, len);
        if (len)
            continue;
        copy_some(&s, 1);
        if (to[s.len - 1] == '>')
            say_basic(&s);
    }
    return s.len == name.len ? name : (cli_string){to, s.len};
}

/* ---- the language ------------------------------------------------------------------------- */

bool cli_is_foreign(cli_string source, cli_string module)
{
    static const char *const extensions[] = {
        ".rb",  ".erb",   ".rake", ".py",     ".pyc",  ".java",  ".jar", ".class", ".kt",
        ".kts", ".scala", ".clj",  ".groovy", ".js",   ".cjs",   ".mjs", ".jsx",   ".ts",
        ".tsx", ".vue",   ".php",  ".phtml",  ".pl",   ".pm",    ".cs",  ".fs",    ".vb",
        ".lua", ".ex",    ".exs",  ".erl",    ".dart", ".swift", ".R"};
    cli_string file = source.len ? source : module;
    for (size_t i = 0; i < COUNT(extensions); i++)
        if (cli_string_ends(file, extensions[i]))
            return true;
    return cli_string_begins(file, "<") || cli_string_begins(file, "node:");
}
