/* Merges the locations of all windows into one profile: see leaks.h.
 *
 *     profile 1  locations 1 2 3  --+
 *     profile 2  locations 7 8    --+-->  one profile with each location once: 1 2 3 4
 *
 * Two locations are one if they have the same address in the same file, whatever the ids and the
 * load addresses are; without an address or a file, if they have the same lines and address. An
 * address in a file is that of the file, so that mappings of one file with the same offset are
 * one. */
#include "leaks/leaks.h"

#include "keep.h"

/* The build id of the mapping, or else its file; empty: neither. */
static cli_string file_of(const cli_profile *profile, const Pd__View__Mapping *mapping)
{
    cli_string id = cli_profile_string(profile, mapping ? mapping->build_id : 0);
    cli_string name = cli_profile_string(profile, mapping ? mapping->filename : 0);
    return id.len ? id : (cli_string){name.ptr, cli_profile_file_len(name)};
}

static cli_edit_frame frame_of(const cli_profile *profile, const Pd__View__Line *line)
{
    const Pd__View__Function *f = cli_profile_function(profile, line->function_id);
    if (!f)
        return (cli_edit_frame){.line = line->line, .column = line->column};
    return (cli_edit_frame){.name = cli_profile_string(profile, f->name),
                            .system_name = cli_profile_string(profile, f->system_name),
                            .filename = cli_profile_string(profile, f->filename),
                            .start_line = f->start_line,
                            .line = line->line,
                            .column = line->column};
}

/* Of a location: its place in a file, or its lines, and the address if there is one. */
enum { IN_FILE = 1, OF_LINES };

static cli_key key_of_lines(uint64_t address, const cli_edit_frame *frames, size_t len)
{
    cli_key key = {OF_LINES, address};
    for (size_t i = 0; i < len; i++) {
        key = cli_key_with(key, frames[i].name.ptr, frames[i].name.len);
        key = cli_key_with(key, frames[i].filename.ptr, frames[i].filename.len);
        key = cli_key_with(key, &frames[i].line, sizeof frames[i].line);
    }
    return key;
}

static uint64_t merge_mapping(cli_leaks_all *all, const cli_profile *profile,
                              const Pd__View__Mapping *mapping)
{
    Pd__View__Mapping wanted = PD__VIEW__MAPPING__INIT;
    wanted.memory_start = wanted.file_offset = mapping->file_offset;
    wanted.memory_limit = UINT64_MAX;
    wanted.filename = cli_edit_string(&all->edit, cli_profile_string(profile, mapping->filename));
    wanted.build_id = cli_edit_string(&all->edit, cli_profile_string(profile, mapping->build_id));
    wanted.has_filenames = mapping->has_filenames;
    wanted.has_line_numbers = mapping->has_line_numbers;
    const int64_t words[] = {wanted.filename, wanted.build_id, (int64_t)wanted.file_offset,
                             wanted.has_filenames, wanted.has_line_numbers};
    size_t len = all->profile.view->n_mapping;
    size_t number = cli_numbers_of(&all->by_mapping, cli_key_of(words, sizeof words), len);
    return number < len ? number + 1 : cli_edit_mapping(&all->edit, &wanted);
}

uint64_t cli_leaks_merge(cli_leaks_all *all, const cli_profile *profile,
                         const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    cli_string file = file_of(profile, mapping);
    uint64_t address = location->address;
    bool is_in_file = address && file.len;
    cli_edit_frame *frames = cli_keep(location->n_line, sizeof *frames);
    for (size_t i = 0; i < location->n_line; i++)
        frames[i] = frame_of(profile, location->line[i]);
    if (is_in_file)
        address = cli_profile_offset(mapping, address);
    size_t len = all->profile.view->n_location;
    cli_key key = is_in_file ? cli_key_with((cli_key){IN_FILE, address}, file.ptr, file.len)
                             : key_of_lines(address, frames, location->n_line);
    size_t number = cli_numbers_of(&all->by_place, key, len);
    if (number == len) {
        Pd__View__Location *made = cli_edit_location(&all->edit);
        made->address = address;
        made->mapping_id = mapping ? merge_mapping(all, profile, mapping) : 0;
        cli_edit_lines(&all->edit, made, frames, location->n_line);
    }
    cli_drop(frames);
    return number + 1;
}

void cli_leaks_merge_end(cli_leaks_all *all)
{
    cli_drop(all->by_place.slots);
    cli_drop(all->by_mapping.slots);
    cli_edit_end(&all->edit);
}
