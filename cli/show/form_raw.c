/* pprofdelta show --raw: the whole profile, one line for each record.
 *
 * The form is stable, so that diff compares two profiles: records are in the order of the file, ids
 * are unchanged, and quoted strings lose nothing. A filter takes samples away, and nothing else. */
#include "show/forms.h"

#include "cli.h"
#include "output_file.h"
#include "show/record_text.h"
#include "text.h"

#include <stdio.h>

static void put_string(const cli_profile *profile, int64_t index)
{
    cli_string_put(stdout, cli_profile_string(profile, index), CLI_TEXT_QUOTED);
}

static void put_header(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    cli_record_put(profile, &view->base,
                   "time_nanos: <time_nanos>\n"
                   "duration_nanos: <duration_nanos>\n"
                   "period_type: <q:period_type.type> <q:period_type.unit>\n"
                   "period: <period>\n"
                   "default_sample_type: <q:default_sample_type>\n"
                   "drop_frames: <q:drop_frames>\n"
                   "keep_frames: <q:keep_frames>\n"
                   "doc_url: <q:doc_url>\n");
    for (size_t i = 0; i < view->n_comment; i++) {
        fputs("comment: ", stdout);
        put_string(profile, view->comment[i]);
        putchar('\n');
    }
    puts("sample types:");
    cli_records_put(profile, &view->base, "sample_type", "", "  <q:type> <q:unit>\n");
}

static void put_samples(const cli_selection *selection)
{
    const cli_profile *profile = selection->profile;
    puts("samples:");
    for (size_t i = 0; i < selection->len && !cli_output_is_over(); i++) {
        const Pd__View__Sample *sample = profile->view->sample[selection->samples[i]];
        cli_record_put(profile, &sample->base, " <*value>:<*location_id>\n");
        for (size_t j = 0; j < sample->n_label; j++)
            cli_record_put(profile, &sample->label[j]->base,
                           sample->label[j]->str ? "    label <q:key> = <q:str>\n"
                                                 : "    label <q:key> = <num> <q:num_unit>\n");
    }
}

static void put_locations(const cli_profile *profile)
{
    puts("locations:");
    for (size_t i = 0; i < profile->view->n_location && !cli_output_is_over(); i++) {
        const Pd__View__Location *location = profile->view->location[i];
        cli_record_put(profile, &location->base,
                       "  <id>: <x:address> mapping <mapping_id><?is_folded:folded>\n");
        for (size_t j = 0; j < location->n_line; j++) {
            const Pd__View__Line *line = location->line[j];
            const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
            cli_record_put(profile, &line->base,
                           "    function <function_id> line <line> column <column> ");
            put_string(profile, function ? function->name : 0);
            putchar('\n');
        }
    }
}

int cli_show_raw(const cli_shown *shown)
{
    const cli_profile *profile = shown->profiles;
    put_header(profile);
    put_samples(shown->selections);
    put_locations(profile);
    puts("mappings:");
    cli_records_put(profile, &profile->view->base, "mapping", "",
                    "  <id>: <x:memory_start> <x:memory_limit> <x:file_offset> <q:filename> "
                    "<q:build_id><?has_functions:functions><?has_filenames:filenames>"
                    "<?has_line_numbers:lines><?has_inline_frames:inlines>\n");
    puts("functions:");
    cli_records_put(profile, &profile->view->base, "function", "",
                    "  <id>: <q:name> <q:system_name> <q:filename> <start_line>\n");
    cli_selection_note(shown);
    return CLI_DONE;
}
