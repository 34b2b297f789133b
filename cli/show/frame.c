/* One frame of a stack as text: see shown.h. */
#include "show/shown.h"

#include "keep.h"

#include <inttypes.h>

enum {
    FILE_ROOM = 64,  /* bytes of a name made from an address, for its file */
    WIDEST_NAME = 48 /* columns; a longer name moves its own place only */
};

static cli_string function_name(const cli_profile *profile, const Pd__View__Function *function)
{
    cli_string name = cli_profile_string(profile, function->name);
    if (!name.len)
        name = cli_profile_string(profile, function->system_name);
    return name.len ? name : cli_string_of("(no name)");
}

/* "libc.so.6+0x27a10": the last part of the file's path and the offset in the file. If the mapping
 * has no file and no build id, the name has the address instead: "[anon]@0x7f0000001000". */
static cli_string make_name(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Mapping *mapping)
{
    uint64_t address = location->address;
    if (!address)
        return cli_string_of("(unknown)");
    cli_string name = mapping ? cli_profile_string(profile, mapping->filename) : cli_string_of("");
    size_t file_len = cli_profile_file_len(name);
    bool is_known = file_len || (mapping && cli_profile_string(profile, mapping->build_id).len);
    if (file_len)
        name.len = file_len;
    cli_string part = cli_string_base(name);
    if (mapping && part.len && is_known)
        address = cli_profile_offset(mapping, address);
    const char *sign = !part.len ? "" : is_known ? "+" : "@";
    int len = part.len < FILE_ROOM ? (int)part.len : FILE_ROOM;
    return cli_string_of(cli_keep_print("%.*s%s0x%" PRIx64, len, part.ptr, sign, address));
}

cli_frame_text cli_frame_of(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Line *line)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    const Pd__View__Function *function =
        line ? cli_profile_function(profile, line->function_id) : NULL;
    cli_string file = cli_profile_string(profile, function ? function->filename : 0);
    cli_string module = cli_profile_string(profile, mapping ? mapping->filename : 0);
    return (cli_frame_text){
        .name = function ? function_name(profile, function) : make_name(profile, location, mapping),
        .file = file,
        .line = line ? line->line : 0,
        .module = module,
        .is_nameless = !function,
        .is_foreign = function && cli_is_foreign(file, module),
    };
}

cli_string cli_frame_short_name(const cli_frame_text *frame, char to[CLI_SHORT_NAME_MAX])
{
    return frame->is_foreign ? frame->name : cli_short_name(frame->name, to);
}

int cli_frame_compare_places(const cli_frame_text *a, const cli_frame_text *b)
{
    int order = cli_string_compare(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

void cli_frame_join_places(cli_frame_text *place, const cli_frame_text *other)
{
    bool is_same = !cli_string_compare(other->file, place->file) &&
                   !cli_string_compare(other->module, place->module);
    if (!is_same)
        place->file = place->module = cli_string_of("");
    if (!is_same || other->line != place->line)
        place->line = 0;
}

static void put_place(const cli_frame_text *frame)
{
    if (frame->file.len) {
        cli_string_put(stdout, frame->file, CLI_TEXT_SHOWN);
        if (frame->line)
            printf(":%" PRId64, frame->line);
    } else if (frame->module.len) {
        putchar('[');
        cli_string_put(stdout, frame->module, CLI_TEXT_SHOWN);
        putchar(']');
    }
}

void cli_frames_put(const cli_frame_text *frames, size_t len, const char *indent)
{
    size_t width = 0;
    char shortened[CLI_SHORT_NAME_MAX];
    for (size_t i = 0; i < len; i++) {
        size_t columns = cli_string_columns(cli_frame_short_name(&frames[i], shortened));
        if (columns > width && columns <= WIDEST_NAME)
            width = columns;
    }
    for (size_t i = 0; i < len; i++) {
        cli_string name = cli_frame_short_name(&frames[i], shortened);
        size_t columns = cli_string_columns(name);
        fputs(indent, stdout);
        cli_string_put(stdout, name, CLI_TEXT_SHOWN);
        if (frames[i].file.len || frames[i].module.len)
            printf("%*s", 2 + (columns < width ? (int)(width - columns) : 0), "");
        put_place(&frames[i]);
        putchar('\n');
    }
}
