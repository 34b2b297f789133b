/* The source lines of a page: see leaks.h.
 *
 * A profile may come from anyone and may name any file, and the page may be shared. So lines are read only
 * with --source, and only of regular files. */
#include "leaks/leaks.h"

#include "input.h"
#include "json.h"
#include "keep.h"

#include <fcntl.h>
#include <string.h>

enum { MOST_PLACES = 200, MOST_LINES = 1000000, AROUND = 2, COLUMNS = 160 };

/* Opens a file of source. Returns NULL if it is not at hand. */
static FILE *open_source(cli_string name)
{
    char *path = (char *)cli_keep_string(name).ptr;
    bool is_name = name.len && strlen(path) == name.len;
    int fd = is_name ? cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL) : -1;
    cli_drop(path);
    return fd < 0 ? NULL : fdopen(fd, "r");
}

/* Writes the beginning of a line. A tab is four spaces, and the end of a line of Windows is none of it. */
static void put_line(FILE *to, const char *text, size_t len)
{
    char plain[4 * COLUMNS];
    size_t plain_len = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\t')
            for (int k = 0; k < 4; k++)
                plain[plain_len++] = ' ';
        else if (text[i] != '\r' || i + 1 < len)
            plain[plain_len++] = text[i];
    cli_string_put(to, (cli_string){plain, plain_len}, CLI_TEXT_SCRIPT);
}

/* Writes a place and the beginnings of the lines around it, if its file is at hand. */
static bool put_place(FILE *to, bool is_first, const cli_frame_text *place)
{
    char text[COLUMNS + 1];
    int64_t first = place->line > AROUND ? place->line - AROUND : 1;
    bool is_begin = true;
    FILE *from = open_source(place->file);
    if (!from)
        return false;
    cli_json_put(to, CLI_TEXT_SCRIPT, is_first ? "[$,$,$,[" : ",\n[$,$,$,[", CLI_JSON(place->file),
                 CLI_JSON(place->line), CLI_JSON(first));
    for (int64_t n = 1; n <= place->line + AROUND && fgets(text, sizeof text, from);
         n += is_begin) {
        size_t len = strcspn(text, "\n");
        if (is_begin && n > first)
            putc(',', to);
        if (is_begin && n >= first)
            put_line(to, text, len);
        is_begin = text[len] == '\n';
    }
    fputs("]]", to);
    fclose(from);
    return true;
}

/* Each place once. */
void cli_leaks_put_source(FILE *to, const cli_leaks_run *run, size_t findings)
{
    const cli_frame_text *seen[MOST_PLACES];
    const cli_frame *frame;
    size_t len = 0, put = 0;
    fputs(",\n\"source\":[", to);
    for (size_t i = 0; i < findings; i++) {
        const cli_leaks_finding *f = run->findings.shown[i];
        const cli_leaks_rows *rows = cli_leaks_rows_of(run, f);
        for (cli_walk w = cli_leaks_walk(rows, &rows->rows[f->row]); (frame = cli_walk_next(&w));) {
            const cli_frame_text *place = &frame->text;
            size_t at = 0;
            while (at < len && cli_frame_compare_places(seen[at], place))
                at++;
            if (at < len || len == MOST_PLACES || place->line <= 0 || place->line > MOST_LINES)
                continue;
            seen[len++] = place;
            put += put_place(to, !put, place);
        }
    }
    putc(']', to);
}
