/* pprofdelta show --raw: the whole profile, one line for each record.
 *
 * The form is stable, so that diff compares two profiles: records are in the order of the file, ids
 * are unchanged, and quoted strings lose nothing. A filter takes samples away, and nothing else. */
#include "show/forms.h"

#include "cli.h"
#include "output_file.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

static void put_string(const cli_profile *profile, int64_t index)
{
    cli_string_put(stdout, cli_profile_string(profile, index), CLI_TEXT_QUOTED);
}

static void put_named(const cli_profile *profile, const char *name, int64_t index)
{
    printf("%s: ", name);
    put_string(profile, index);
    putchar('\n');
}

static void put_value_type(const cli_profile *profile, const Pd__View__ValueType *type)
{
    put_string(profile, type ? type->type : 0);
    putchar(' ');
    put_string(profile, type ? type->unit : 0);
    putchar('\n');
}

static void put_header(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    printf("time_nanos: %" PRId64 "\n", view->time_nanos);
    printf("duration_nanos: %" PRId64 "\n", view->duration_nanos);
    fputs("period_type: ", stdout);
    put_value_type(profile, view->period_type);
    printf("period: %" PRId64 "\n", view->period);
    put_named(profile, "default_sample_type", view->default_sample_type);
    put_named(profile, "drop_frames", view->drop_frames);
    put_named(profile, "keep_frames", view->keep_frames);
    put_named(profile, "doc_url", view->doc_url);
    for (size_t i = 0; i < view->n_comment; i++)
        put_named(profile, "comment", view->comment[i]);
    puts("sample types:");
    for (size_t i = 0; i < view->n_sample_type; i++) {
        fputs("  ", stdout);
        put_value_type(profile, view->sample_type[i]);
    }
}

static void put_label(const cli_profile *profile, const Pd__View__Label *label)
{
    fputs("    label ", stdout);
    put_string(profile, label->key);
    fputs(" = ", stdout);
    if (label->str) {
        put_string(profile, label->str);
    } else {
        printf("%" PRId64 " ", label->num);
        put_string(profile, label->num_unit);
    }
    putchar('\n');
}

static void put_samples(const cli_selection *selection)
{
    const cli_profile *profile = selection->profile;
    puts("samples:");
    for (size_t i = 0; i < selection->len && !cli_output_is_over(); i++) {
        const Pd__View__Sample *sample = profile->view->sample[selection->samples[i]];
        fputs(" ", stdout);
        for (size_t j = 0; j < sample->n_value; j++)
            printf(" %" PRId64, sample->value[j]);
        putchar(':');
        for (size_t j = 0; j < sample->n_location_id; j++)
            printf(" %" PRIu64, sample->location_id[j]);
        putchar('\n');
        for (size_t j = 0; j < sample->n_label; j++)
            put_label(profile, sample->label[j]);
    }
}

static void put_locations(const cli_profile *profile)
{
    puts("locations:");
    for (size_t i = 0; i < profile->view->n_location && !cli_output_is_over(); i++) {
        const Pd__View__Location *location = profile->view->location[i];
        printf("  %" PRIu64 ": 0x%" PRIx64 " mapping %" PRIu64 "%s\n", location->id,
               location->address, location->mapping_id, location->is_folded ? " folded" : "");
        for (size_t j = 0; j < location->n_line; j++) {
            const Pd__View__Line *line = location->line[j];
            const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
            printf("    function %" PRIu64 " line %" PRId64 " column %" PRId64 " ",
                   line->function_id, line->line, line->column);
            put_string(profile, function ? function->name : 0);
            putchar('\n');
        }
    }
}

static void put_mappings(const cli_profile *profile)
{
    puts("mappings:");
    for (size_t i = 0; i < profile->view->n_mapping && !cli_output_is_over(); i++) {
        const Pd__View__Mapping *mapping = profile->view->mapping[i];
        printf("  %" PRIu64 ": 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " ", mapping->id,
               mapping->memory_start, mapping->memory_limit, mapping->file_offset);
        put_string(profile, mapping->filename);
        putchar(' ');
        put_string(profile, mapping->build_id);
        printf("%s%s%s%s\n", mapping->has_functions ? " functions" : "",
               mapping->has_filenames ? " filenames" : "",
               mapping->has_line_numbers ? " lines" : "",
               mapping->has_inline_frames ? " inlines" : "");
    }
}

static void put_functions(const cli_profile *profile)
{
    puts("functions:");
    for (size_t i = 0; i < profile->view->n_function && !cli_output_is_over(); i++) {
        const Pd__View__Function *function = profile->view->function[i];
        printf("  %" PRIu64 ": ", function->id);
        put_string(profile, function->name);
        putchar(' ');
        put_string(profile, function->system_name);
        putchar(' ');
        put_string(profile, function->filename);
        printf(" %" PRId64 "\n", function->start_line);
    }
}

int cli_show_raw(const cli_shown *shown)
{
    const cli_profile *profile = shown->profiles;
    put_header(profile);
    put_samples(shown->selections);
    put_locations(profile);
    put_mappings(profile);
    put_functions(profile);
    cli_selection_note(shown);
    return CLI_DONE;
}
