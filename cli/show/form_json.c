/* pprofdelta show --json: the whole profile as one JSON object, with names in place of ids.
 *
 * Each sample is one line, so that line tools work on it. Numbers are exact decimal integers of up
 * to 64 bits (sums: up to 128). Addresses are hexadecimal strings. */
#include "show/forms.h"

#include "show/otlp_forms.h"

#include "cli.h"
#include "output_file.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

static void put_text(const char *text)
{
    cli_text_put(stdout, text, CLI_TEXT_JSON);
}

static void put_text_at(const cli_profile *profile, int64_t index)
{
    cli_string_put(stdout, cli_profile_string(profile, index), CLI_TEXT_JSON);
}

static void put_string(const cli_profile *profile, const char *name, int64_t index)
{
    printf("\"%s\": ", name);
    put_text_at(profile, index);
}

static void put_header(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    const Pd__View__ValueType *period_type = view->period_type;
    char time[48];
    fputs("{\n\"file\": ", stdout);
    put_text(profile->input.name);
    printf(",\n\"format\": \"%s\",\n\"inflated_bytes\": %" PRIu64 ",\n\"is_delta\": %s,\n",
           profile->census.format, profile->census.inflated_len,
           profile->census.is_stamped ? "true" : "false");
    printf("\"time\": ");
    if (view->time_nanos)
        put_text(pprofdelta_time_format(view->time_nanos, time));
    else
        fputs("null", stdout);
    printf(",\n\"time_nanos\": %" PRId64 ",\n\"duration_nanos\": %" PRId64 ",\n", view->time_nanos,
           view->duration_nanos);
    fputs("\"period_type\": {", stdout);
    put_string(profile, "type", period_type ? period_type->type : 0);
    fputs(", ", stdout);
    put_string(profile, "unit", period_type ? period_type->unit : 0);
    printf("},\n\"period\": %" PRId64 ",\n", view->period);
    put_string(profile, "default_sample_type", view->default_sample_type);
    fputs(",\n", stdout);
    put_string(profile, "drop_frames", view->drop_frames);
    fputs(",\n", stdout);
    put_string(profile, "keep_frames", view->keep_frames);
    fputs(",\n", stdout);
    put_string(profile, "doc_url", view->doc_url);
    fputs(",\n\"comments\": [", stdout);
    for (size_t i = 0; i < view->n_comment; i++) {
        fputs(i ? ", " : "", stdout);
        put_text_at(profile, view->comment[i]);
    }
    fputs("],\n", stdout);
}

/* The first mapping is the main binary. */
static void put_mappings(const cli_profile *profile)
{
    fputs("\"mappings\": [", stdout);
    for (size_t i = 0; i < profile->view->n_mapping; i++) {
        const Pd__View__Mapping *mapping = profile->view->mapping[i];
        fputs(i ? ",\n{" : "\n{", stdout);
        put_string(profile, "file", mapping->filename);
        fputs(", ", stdout);
        put_string(profile, "build_id", mapping->build_id);
        printf(", \"start\": \"0x%" PRIx64 "\", \"limit\": \"0x%" PRIx64
               "\", \"offset\": \"0x%" PRIx64 "\"}",
               mapping->memory_start, mapping->memory_limit, mapping->file_offset);
    }
    fputs("],\n", stdout);
}

static void put_types(const cli_profile *profile)
{
    char total[48];
    fputs("\"types\": [", stdout);
    for (size_t i = 0; i < profile->view->n_sample_type; i++) {
        fputs(i ? ", {" : "{", stdout);
        put_string(profile, "type", profile->view->sample_type[i]->type);
        fputs(", ", stdout);
        put_string(profile, "unit", profile->view->sample_type[i]->unit);
        printf(", \"total\": %s}", pprofdelta_sum_format(cli_profile_total(profile, i), total));
    }
    fputs("],\n", stdout);
}

static void put_mapping(const cli_profile *profile, const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    if (location->address)
        printf(", \"address\": \"0x%" PRIx64 "\"", location->address);
    if (mapping) {
        fputs(", ", stdout);
        put_string(profile, "mapping", mapping->filename);
    }
}

static void put_line(const cli_profile *profile, const Pd__View__Location *location,
                     const Pd__View__Line *line)
{
    const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
    putchar('{');
    put_string(profile, "function", function ? function->name : 0);
    fputs(", ", stdout);
    put_string(profile, "file", function ? function->filename : 0);
    printf(", \"line\": %" PRId64, line->line);
    put_mapping(profile, location);
    putchar('}');
}

/* Leaf first, as in the profile. */
static void put_stack(const cli_profile *profile, const Pd__View__Sample *sample)
{
    const char *comma = "";
    for (size_t i = 0; i < sample->n_location_id; i++) {
        const Pd__View__Location *location = cli_profile_location(profile, sample->location_id[i]);
        for (size_t j = 0; location && j < location->n_line; j++, comma = ", ") {
            fputs(comma, stdout);
            put_line(profile, location, location->line[j]);
        }
        if (location && !location->n_line) {
            printf("%s{\"function\": \"\"", comma);
            put_mapping(profile, location);
            putchar('}');
            comma = ", ";
        }
    }
}

static void put_labels(const cli_profile *profile, const Pd__View__Sample *sample)
{
    for (size_t i = 0; i < sample->n_label; i++) {
        const Pd__View__Label *label = sample->label[i];
        fputs(i ? ", {" : "{", stdout);
        put_string(profile, "key", label->key);
        fputs(", ", stdout);
        if (label->str) {
            put_string(profile, "str", label->str);
        } else {
            printf("\"num\": %" PRId64 ", ", label->num);
            put_string(profile, "unit", label->num_unit);
        }
        putchar('}');
    }
}

static void put_samples(const cli_profile *profile)
{
    fputs("\"samples\": [", stdout);
    for (size_t i = 0; i < profile->view->n_sample && !cli_output_is_over(); i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        fputs(i ? ",\n{\"values\": [" : "\n{\"values\": [", stdout);
        for (size_t j = 0; j < sample->n_value; j++)
            printf("%s%" PRId64, j ? ", " : "", sample->value[j]);
        fputs("], \"stack\": [", stdout);
        put_stack(profile, sample);
        fputs("], \"labels\": [", stdout);
        put_labels(profile, sample);
        fputs("]}", stdout);
    }
    fputs("\n]\n}\n", stdout);
}

int cli_show_json(const cli_profile *profile)
{
    put_header(profile);
    put_mappings(profile);
    put_types(profile);
    cli_otlp_put_json(profile);
    put_samples(profile);
    return CLI_DONE;
}
