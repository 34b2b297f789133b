/* The source lines of a page: see leaks.h.
 *
 * A profile may come from anyone and may name any file, and the page may be shared. So lines are read only
 * with --source, and only of regular files. */
#include "leaks/leaks.h"

#include "input.h"
#include "keep.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_PLACES = 200,
    AROUND = 2, /* lines before and after */
    MOST_COLUMNS = 160,
    MOST_OF_A_FILE = 8 << 20
};

/* Reads a file of source. Returns NULL if it is not at hand. The text ends with a NUL. */
static char *read_source(cli_string name)
{
    char *path = cli_keep(name.len + 1, 1);
    memcpy(path, name.ptr, name.len);
    int fd = strlen(path) == name.len && name.len ? cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL)
                                                  : -1;
    cli_drop(path);
    if (fd < 0)
        return NULL;
    char *text = cli_keep(MOST_OF_A_FILE + 1, 1);
    ssize_t part = 1;
    for (size_t len = 0; part > 0 && len<MOST_OF_A_FILE; len += part> 0 ? (size_t)part : 0)
        part = read(fd, text + len, MOST_OF_A_FILE - len);
    close(fd);
    return text;
}

static void put_lines(FILE *to, const cli_frame_text *place, const char *text)
{
    int64_t first = place->line > AROUND ? place->line - AROUND : 1;
    for (int64_t line = 1; line < first && text; line++) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    fprintf(to, ",%lld,[", (long long)first);
    for (int64_t line = first; line <= place->line + AROUND && text && *text; line++) {
        size_t len = strcspn(text, "\n");
        fputs(line > first ? "," : "", to);
        cli_string_put(to, (cli_string){text, len < MOST_COLUMNS ? len : MOST_COLUMNS},
                       CLI_TEXT_SCRIPT);
        text = text[len] ? text + len + 1 : NULL;
    }
    fputs("]]", to);
}

typedef struct places {
    const cli_frame_text *list[MOST_PLACES];
    size_t len;
} places;

static void add_place(places *to, const cli_frame_text *place)
{
    if (place->line <= 0 || to->len == MOST_PLACES)
        return;
    for (size_t i = 0; i < to->len; i++)
        if (!cli_frame_compare_places(to->list[i], place))
            return;
    to->list[to->len++] = place;
}

void cli_leaks_put_source(FILE *to, const cli_leaks_run *run, size_t findings)
{
    places found = {.len = 0};
    const char *comma = "";
    for (size_t i = 0; i < findings; i++) {
        const cli_leaks_finding *f = run->findings.shown[i];
        const cli_leaks_row *row = &run->rows.rows[f->row];
        for (size_t k = 0; f->what != CLI_LEAKS_AREAS && k < row->path_len; k++)
            add_place(&found, &cli_leaks_frame_at(&run->rows, row, k)->text);
    }
    fputs(",\n\"source\":[", to);
    for (size_t i = 0; i < found.len; i++) {
        char *text = read_source(found.list[i]->file);
        if (!text)
            continue;
        fprintf(to, "%s[", comma);
        cli_string_put(to, found.list[i]->file, CLI_TEXT_SCRIPT);
        fprintf(to, ",%lld", (long long)found.list[i]->line);
        put_lines(to, found.list[i], text);
        cli_drop(text);
        comma = ",\n";
    }
    putc(']', to);
}
