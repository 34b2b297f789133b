/* pprofdelta show --json: the whole profile as one JSON object, with names in place of ids; or PREV
 * and CUR as one, in which samples that read the same are added up.
 *
 * Each sample is one line, so that line tools work on it. Numbers are exact decimal integers of up
 * to 64 bits (sums: up to 128). Addresses are hexadecimal strings. */
#include "show/forms.h"

#include "base/sum.h"
#include "base/time.h"
#include "show/otlp_forms.h"

#include "cli.h"
#include "output_file.h"
#include "show/record_text.h"
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
    char time[48];
    fputs("{\n\"file\": ", stdout);
    put_text(profile->input.name);
    printf(",\n\"format\": \"%s\",\n\"inflated_bytes\": %" PRIu64 ",\n\"is_delta\": %s,\n",
           profile->census.format, profile->census.inflated_len,
           profile->census.is_stamped ? "true" : "false");
    printf("\"time\": ");
    if (view->time_nanos)
        put_text(pd_time_format(view->time_nanos, time));
    else
        fputs("null", stdout);
    cli_record_put(profile, &view->base,
                   ",\n\"time_nanos\": <time_nanos>,\n"
                   "\"duration_nanos\": <duration_nanos>,\n"
                   "\"period_type\": {\"type\": <j:period_type.type>, "
                   "\"unit\": <j:period_type.unit>},\n"
                   "\"period\": <period>,\n"
                   "\"default_sample_type\": <j:default_sample_type>,\n"
                   "\"drop_frames\": <j:drop_frames>,\n"
                   "\"keep_frames\": <j:keep_frames>,\n"
                   "\"doc_url\": <j:doc_url>,\n"
                   "\"comments\": [");
    for (size_t i = 0; i < view->n_comment; i++) {
        fputs(i ? ", " : "", stdout);
        put_text_at(profile, view->comment[i]);
    }
    fputs("],\n", stdout);
}

/* The first mapping is the main binary. */
static void put_mappings(const cli_profile *profile)
{
    printf("\"mappings\": [%s", profile->view->n_mapping ? "\n" : "");
    cli_records_put(profile, &profile->view->base, "mapping", ",\n",
                    "{\"file\": <j:filename>, \"build_id\": <j:build_id>, "
                    "\"start\": \"<x:memory_start>\", \"limit\": \"<x:memory_limit>\", "
                    "\"offset\": \"<x:file_offset>\"}");
    fputs("]", stdout);
}

static void put_sum(pprofdelta_sum sum)
{
    char text[48];
    fputs(pd_sum_format(sum, text), stdout);
}

static void put_types(const cli_selection *selection)
{
    const cli_profile *profile = selection->profile;
    fputs("\"types\": [", stdout);
    for (size_t i = 0; i < profile->view->n_sample_type; i++) {
        fputs(i ? ", " : "", stdout);
        cli_record_put(profile, &profile->view->sample_type[i]->base,
                       "{\"type\": <j:type>, \"unit\": <j:unit>, \"total\": ");
        put_sum(cli_profile_total(profile, i));
        fputs(", \"kept\": ", stdout);
        put_sum(selection->kept_by_all[i]);
        putchar('}');
    }
    fputs("],\n", stdout);
}

/* The sums that a filter keeps on one side, one for each type. */
static void put_filter_sums(const cli_shown *shown, size_t side, size_t filter)
{
    const cli_selection *selection = &shown->selections[side];
    size_t types = selection->profile->view->n_sample_type;
    const pprofdelta_sum *kept = selection->kept + filter * types;
    size_t len = shown->sides > 1 ? shown->types->len : types;
    putchar('[');
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ", " : "", stdout);
        put_sum(kept[shown->sides > 1 ? shown->types->column[side][i] : i]);
    }
    putchar(']');
}

/* The index in "types" of the type that the other forms are sorted by. */
static void put_chosen(const cli_shown *shown)
{
    if (shown->types->len)
        printf("\"chosen_type\": %zu,\n", shown->chosen);
    else
        fputs("\"chosen_type\": null,\n", stdout);
}

/* --hide keeps everything. */
static void put_filters(const cli_shown *shown)
{
    fputs("\"filters\": [", stdout);
    for (size_t i = 0; i < shown->filters->len; i++) {
        const cli_filter *filter = &shown->filters->list[i];
        size_t matched = 0;
        for (size_t side = 0; side < shown->sides; side++)
            matched += shown->selections[side].matched[i];
        printf("%s{\"option\": \"%s\", \"value\": ", i ? ", " : "", cli_filter_name(filter->kind));
        put_text(filter->text);
        printf(", \"matched\": %zu", matched);
        if (filter->kind != CLI_FILTER_HIDE && shown->sides > 1) {
            fputs(", \"before\": ", stdout);
            put_filter_sums(shown, 0, i);
            fputs(", \"now\": ", stdout);
            put_filter_sums(shown, 1, i);
        } else if (filter->kind != CLI_FILTER_HIDE) {
            fputs(", \"kept\": ", stdout);
            put_filter_sums(shown, 0, i);
        }
        putchar('}');
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
static void put_stack(const cli_selection *selection, size_t at)
{
    const cli_profile *profile = selection->profile;
    for (size_t i = selection->first[at]; i < selection->first[at + 1]; i++) {
        size_t line = 0;
        const Pd__View__Location *location =
            cli_frame_location(profile, &selection->symbols, selection->frames[i], &line);
        fputs(i > selection->first[at] ? ", " : "", stdout);
        if (location && location->n_line) {
            put_line(profile, location, location->line[line]);
            continue;
        }
        fputs("{\"function\": ", stdout);
        cli_string_put(stdout,
                       location ? cli_string_of("")
                                : cli_selection_name(selection, selection->frames[i]),
                       CLI_TEXT_JSON);
        if (location)
            put_mapping(profile, location);
        putchar('}');
    }
}

static void put_labels(const cli_profile *profile, const Pd__View__Sample *sample)
{
    for (size_t i = 0; i < sample->n_label; i++) {
        const Pd__View__Label *label = sample->label[i];
        fputs(i ? ", " : "", stdout);
        cli_record_put(profile, &label->base,
                       label->str ? "{\"key\": <j:key>, \"str\": <j:str>}"
                                  : "{\"key\": <j:key>, \"num\": <num>, \"unit\": <j:num_unit>}");
    }
}

static void put_samples(const cli_selection *selection)
{
    const cli_profile *profile = selection->profile;
    fputs("\"samples\": [", stdout);
    for (size_t i = 0; i < selection->len && !cli_output_is_over(); i++) {
        const Pd__View__Sample *sample = profile->view->sample[selection->samples[i]];
        fputs(i ? ",\n{\"values\": [" : "\n{\"values\": [", stdout);
        for (size_t j = 0; j < sample->n_value; j++)
            printf("%s%" PRId64, j ? ", " : "", sample->value[j]);
        fputs("], \"stack\": [", stdout);
        put_stack(selection, i);
        fputs("], \"labels\": [", stdout);
        put_labels(profile, sample);
        fputs("]}", stdout);
    }
    fputs("\n]", stdout);
}

/* ---- PREV and CUR ------------------------------------------------------------------------- */

static void put_two_types(const cli_shown *shown)
{
    const cli_profile *cur = &shown->profiles[1];
    fputs("\"types\": [", stdout);
    for (size_t i = 0; i < shown->types->len; i++) {
        size_t before = shown->types->column[0][i], now = shown->types->column[1][i];
        fputs(i ? ", " : "", stdout);
        cli_record_put(cur, &cur->view->sample_type[now]->base,
                       "{\"type\": <j:type>, \"unit\": <j:unit>, \"before\": ");
        put_sum(cli_profile_total(shown->profiles, before));
        fputs(", \"now\": ", stdout);
        put_sum(cli_profile_total(cur, now));
        fputs(", \"kept_before\": ", stdout);
        put_sum(shown->selections[0].kept_by_all[before]);
        fputs(", \"kept_now\": ", stdout);
        put_sum(shown->selections[1].kept_by_all[now]);
        putchar('}');
    }
    fputs("],\n", stdout);
}

/* A group of stacks with the same names. */
static void put_group(const cli_shown *shown, const cli_stacks *stacks, size_t at, size_t end)
{
    static const char *const titles[CLI_SIDES] = {"{\"before\": [", "], \"now\": ["};
    const cli_stack *stack = &stacks->stacks[at];
    for (size_t side = 0; side < CLI_SIDES; side++) {
        fputs(titles[side], stdout);
        for (size_t i = 0; i < shown->types->len; i++) {
            fputs(i ? ", " : "", stdout);
            put_sum(cli_stacks_group_sum(stacks, at, end, side, shown->types->column[side][i]));
        }
    }
    fputs("], \"stack\": [", stdout);
    for (size_t i = 0; i < stack->len; i++) {
        cli_place place = cli_stacks_group_place(stacks, at, end, i);
        fputs(i ? ", {\"function\": " : "{\"function\": ", stdout);
        cli_string_put(stdout, stacks->names[stack->frames[stack->len - 1 - i]], CLI_TEXT_JSON);
        fputs(", \"file\": ", stdout);
        cli_string_put(stdout, place.file, CLI_TEXT_JSON);
        printf(", \"line\": %" PRId64 ", \"mapping\": ", place.line);
        cli_string_put(stdout, place.module, CLI_TEXT_JSON);
        putchar('}');
    }
    fputs("]}", stdout);
}

static int put_stacks(const cli_shown *shown)
{
    cli_stacks stacks;
    int code = cli_stacks_make(&stacks, shown->selections, shown->sides);
    const char *comma = "\n";
    if (!code)
        fputs("\"stacks\": [", stdout);
    for (size_t at = 0, end; !code && at < stacks.len && !cli_output_is_over(); at = end) {
        end = cli_stacks_group_end(&stacks, at);
        fputs(comma, stdout);
        put_group(shown, &stacks, at, end);
        comma = ",\n";
    }
    cli_stacks_free(&stacks);
    return code;
}

static int put_two(const cli_shown *shown)
{
    fputs("{\n\"profiles\": [\n", stdout);
    for (size_t side = 0; side < shown->sides; side++) {
        fputs(side ? ",\n" : "", stdout);
        put_header(&shown->profiles[side]);
        cli_otlp_put_json(&shown->profiles[side]);
        put_mappings(&shown->profiles[side]);
        putchar('}');
    }
    fputs("],\n", stdout);
    put_two_types(shown);
    put_chosen(shown);
    put_filters(shown);
    int code = put_stacks(shown);
    fputs("\n]\n}\n", stdout);
    cli_selection_note(shown);
    return code;
}

int cli_show_json(const cli_shown *shown)
{
    if (shown->sides > 1)
        return put_two(shown);
    put_header(shown->profiles);
    cli_otlp_put_json(shown->profiles);
    put_mappings(shown->profiles);
    fputs(",\n", stdout);
    put_types(shown->selections);
    put_chosen(shown);
    put_filters(shown);
    put_samples(shown->selections);
    fputs("\n}\n", stdout);
    cli_selection_note(shown);
    return CLI_DONE;
}
