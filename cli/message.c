/* What the command says on stderr: see message.h. */
#include "message.h"

#include "cli.h"
#include "progress.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "pprofdelta: "
#define INDENT "            "
#define WIDTH  80

/* One message while it is put together: cut, never overrun, when names are absurdly long. */
typedef struct line {
    char bytes[32768];
    size_t len;
} line;

static void add(line *to, const char *bytes, size_t len)
{
    size_t room = sizeof to->bytes - to->len;
    if (len > room)
        len = room;
    memcpy(to->bytes + to->len, bytes, len);
    to->len += len;
}

static void add_shown(line *to, const char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        cli_glyph glyph = cli_text_next(text + at, len - at, CLI_TEXT_SHOWN);
        add(to, glyph.bytes, glyph.len);
        at += glyph.taken;
    }
}

/* Closes the line, in the last byte of the room if need be. */
static void add_newline(line *to)
{
    if (to->len == sizeof to->bytes)
        to->len--;
    add(to, "\n", 1);
}

int cli_message_raw(const char *bytes, size_t len)
{
    cli_progress_clear();
    fflush(stdout); /* what was printed before comes first, also where both go to one file */
    while (len) {
        ssize_t done = write(STDERR_FILENO, bytes, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        bytes += done;
        len -= (size_t)done;
    }
    return 0;
}

/* Breaks text at spaces so that no line passes WIDTH where it has a space to break at; the lines
 * that follow stand under the text. */
static void add_wrapped(line *out, const char *text)
{
    size_t indent = strlen(PREFIX), room = WIDTH - 1 - indent;
    for (const char *rest = text; *rest;) {
        size_t len = strlen(rest), cut = len;
        if (len > room) {
            for (cut = room; cut && rest[cut] != ' ';)
                cut--;
            if (!cut)
                cut = strcspn(rest, " ");
        }
        add(out, rest == text ? PREFIX : INDENT, indent);
        add(out, rest, cut);
        add_newline(out);
        rest += cut + (rest[cut] == ' ');
    }
}

/* A person reads it in lines that fit; a log has it in one, for grep and for whoever counts
 * lines. */
static void add_message(line *out, const char *kind, const char *text)
{
    line shown = {.len = 0};
    add(&shown, kind, strlen(kind));
    add_shown(&shown, text);
    if (isatty(STDERR_FILENO)) {
        if (shown.len == sizeof shown.bytes)
            shown.len--;
        shown.bytes[shown.len] = 0;
        add_wrapped(out, shown.bytes);
    } else {
        add(out, PREFIX, strlen(PREFIX));
        add(out, shown.bytes, shown.len);
        add_newline(out);
    }
}

static void say(const char *kind, const char *format, va_list args)
{
    char text[8192];
    line out = {.len = 0};
    vsnprintf(text, sizeof text, format, args);
    add_message(&out, kind, text);
    cli_message_raw(out.bytes, out.len);
}

void cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void cli_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("note: ", format, args);
    va_end(args);
}

void cli_hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("hint: ", format, args);
    va_end(args);
}

static char asked[16]; /* the verb, with a space before it; empty: the delta */

void cli_message_verb(const char *verb)
{
    snprintf(asked, sizeof asked, " %s", verb);
}

int cli_usage(const char *format, ...)
{
    char text[1024], pointer[64];
    line out = {.len = 0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(pointer, sizeof pointer, "try pprofdelta%s --help", asked);
    add_message(&out, "", text); /* 4 bytes for each of the 1024 at most: there is room behind */
    add_message(&out, "", pointer);
    cli_message_raw(out.bytes, out.len);
    return CLI_USAGE;
}

int cli_system_error(const char *name, const char *verb, int error)
{
    cli_error("%s: cannot %s: %s", name, verb, strerror(error));
    return CLI_FAILED;
}

/* The next step, where one is known. */
static void hint(const pprofdelta_error *err)
{
    switch (err->status) {
    case PPROFDELTA_E_STAMPED:
        cli_hint("--force takes a delta as an input all the same");
        break;
    case PPROFDELTA_E_NOT_CUMULATIVE:
        if (!strcmp(err->field, "duration_nanos"))
            cli_hint("take both profiles without ?seconds=; or --force, if they do count from the "
                     "start of the process");
        else
            cli_hint("pprofdelta show PREV CUR compares such profiles; --force with -c TYPE "
                     "subtracts them all the same");
        break;
    case PPROFDELTA_E_LIMIT:
        if (strstr(err->text, "max-memory"))
            cli_hint("--max-memory=SIZE raises the limit");
        else if (strstr(err->text, "32-bit"))
            cli_hint("a 64-bit pprofdelta can have more");
        break;
    case PPROFDELTA_E_MISMATCH:
        if (strstr(err->field, "time_nanos"))
            cli_hint("the older profile comes first: pprofdelta PREV CUR");
        else if (strstr(err->text, "options name other types"))
            cli_hint("give -c and -g as they were, or move the state away to begin a new one");
        else if (strstr(err->text, "as a counter"))
            cli_hint("-c TYPE names a sample type that only grows");
        break;
    case PPROFDELTA_E_RESET:
        cli_hint("--on-reset=fail refuses this; nothing was written");
        break;
    case PPROFDELTA_E_STATE:
        if (strstr(err->text, "newer"))
            cli_hint("use that pprofdelta, or move the state away to begin a new one");
        else
            cli_hint("the file is left as it is; move it away to begin a new state, whose first "
                     "delta counts from the beginning of the process (but see --first)");
        break;
    default:
        break;
    }
}

/* What it is and where, without the next step. */
static int tell(const char *name, const pprofdelta_error *err)
{
    char where[128] = "", at[80] = "";
    int first = (int)strcspn(err->field, "."); /* sample.location_id: sample[12].location_id */
    if (err->field[0] && err->element != PPROFDELTA_NOWHERE)
        snprintf(where, sizeof where, "%.*s[%" PRIu64 "]%s: ", first, err->field, err->element,
                 err->field + first);
    else if (err->field[0])
        snprintf(where, sizeof where, "%s: ", err->field);
    if (err->offset != PPROFDELTA_NOWHERE)
        snprintf(at, sizeof at, " (at byte %" PRIu64 " of the %s)", err->offset,
                 !strcmp(err->stage, "inflate") ? "compressed file"
                 : !strcmp(err->stage, "state") ? "file"
                                                : "inflated profile");
    cli_error("%s: %s%s%s", name, where, err->text, at);
    return err->status == PPROFDELTA_E_RESET   ? CLI_RESET
           : err->status == PPROFDELTA_E_USAGE ? CLI_USAGE
                                               : CLI_FAILED;
}

int cli_library_error(const char *name, const pprofdelta_error *err)
{
    int code = tell(name, err);
    hint(err);
    return code;
}

int cli_options_error(const char *first, const pprofdelta_error *err)
{
    return cli_library_error(err->status == PPROFDELTA_E_LIMIT ? first : "options", err);
}

int cli_pair_error(const char *prev, const char *cur, const pprofdelta_error *err)
{
    char both[2 * 4096 + 8];
    if (err->status != PPROFDELTA_E_MISMATCH)
        return cli_library_error(cur, err);
    snprintf(both, sizeof both, "%s and %s", prev, cur);
    return cli_library_error(both, err);
}

int cli_window_error(const char *state, const char *cur, const pprofdelta_error *err)
{
    bool is_older = strstr(err->field, "time_nanos") != NULL;
    bool differs = strstr(err->text, "value types differ") != NULL;
    if (err->status != PPROFDELTA_E_MISMATCH || (!is_older && !differs))
        return cli_pair_error(state, cur, err);
    char both[2 * 4096 + 8];
    snprintf(both, sizeof both, "%s and %s", state, cur);
    int code = tell(both, err);
    if (is_older)
        cli_hint("the state has a later profile already: another run came first, and nothing is "
                 "lost; or the target's clock was set back");
    else
        cli_hint("a state is of one kind of profile of one target; if the target itself has other "
                 "types now, move the state away to begin a new one");
    return code;
}
