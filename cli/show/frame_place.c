/* Where a frame lies: see frame_place.h. */
#include "show/frame_place.h"

#include "show/short_names.h"

#include <inttypes.h>
#include <stdio.h>

enum { WIDEST_NAME = 48 }; /* columns; a longer name moves its own place only */

const Pd__View__Location *cli_frame_location(const cli_profile *profile, const cli_symbols *symbols,
                                             size_t frame, size_t *line)
{
    size_t low = 0, high = profile->view->n_location;
    if (frame >= symbols->frames_len)
        return NULL;
    while (high - low > 1) { /* first[low] <= frame < first[high] */
        size_t middle = low + (high - low) / 2;
        if (symbols->first[middle] <= frame)
            low = middle;
        else
            high = middle;
    }
    *line = frame - symbols->first[low];
    return profile->view->location[low];
}

cli_place cli_place_of(const cli_profile *profile, const cli_symbols *symbols, size_t frame)
{
    cli_string none = cli_string_of("");
    cli_place place = {none, 0, none, false};
    size_t at = 0;
    const Pd__View__Location *location = cli_frame_location(profile, symbols, frame, &at);
    if (!location)
        return place;
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    const Pd__View__Function *function = NULL;
    if (mapping)
        place.module = cli_profile_string(profile, mapping->filename);
    if (location->n_line) {
        function = cli_profile_function(profile, location->line[at]->function_id);
        place.line = location->line[at]->line;
    }
    if (function)
        place.file = cli_profile_string(profile, function->filename);
    place.is_nameless = !function;
    return place;
}

int cli_place_compare(const cli_place *a, const cli_place *b)
{
    int order = cli_string_compare(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void put_place(const cli_place *place)
{
    if (place->file.len) {
        cli_string_put(stdout, place->file, CLI_TEXT_SHOWN);
        if (place->line)
            printf(":%" PRId64, place->line);
    } else if (place->module.len) {
        putchar('[');
        cli_string_put(stdout, place->module, CLI_TEXT_SHOWN);
        putchar(']');
    }
}

void cli_frames_put(const cli_frame_text *frames, size_t len, const char *indent)
{
    size_t width = 0;
    char shortened[CLI_SHORT_NAME_MAX];
    for (size_t i = 0; i < len; i++) {
        size_t columns = cli_string_columns(cli_short_name(frames[i].name, shortened));
        if (columns > width && columns <= WIDEST_NAME)
            width = columns;
    }
    for (size_t i = 0; i < len; i++) {
        cli_string name = cli_short_name(frames[i].name, shortened);
        size_t columns = cli_string_columns(name);
        fputs(indent, stdout);
        cli_string_put(stdout, name, CLI_TEXT_SHOWN);
        if (frames[i].place.file.len || frames[i].place.module.len)
            printf("%*s", 2 + (columns < width ? (int)(width - columns) : 0), "");
        put_place(&frames[i].place);
        putchar('\n');
    }
}
