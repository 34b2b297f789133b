/* pprofdelta show --json: the whole profile as one JSON object, with names in place of ids; or PREV
 * and CUR as one, in which samples that read the same are added up.
 *
 * Each sample is one line, so that line tools work on it. Numbers are exact decimal integers of up
 * to 64 bits (sums: up to 128). Addresses are hexadecimal strings. */
#include "show/shown.h"

#include "cli.h"
#include "instant.h"
#include "json.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"

#include <inttypes.h>

static const char header[] =
    ",\n" CLI_RECORD_TIMES "\"period_type\": "
    "{\"type\": <q:period_type.type>, \"unit\": <q:period_type.unit>},\n" CLI_RECORD_REST
    "\"comments\": [<[comment|, ><q:comment><]>],\n";

/* What an OTLP request has and a pprof profile has not. */
#define KEY_VALUES(message)                                                                        \
    "\"attributes\": [<[" message "attributes|, >"                                                 \
    "{\"key\": <q:key>, \"value\": <v:value>, \"unit\": \"\"}<]>], "                               \
    "\"dropped_attributes\": <" message "dropped_attributes_count>"
#define RESOURCE_VALUES KEY_VALUES("resource.")
#define SCOPE_VALUES    KEY_VALUES("scope.")

static const char request[] =
    "\"otlp\": {\"resources\": [<[resource_profiles|,>\n"
    "{\"schema_url\": <q:schema_url>, " RESOURCE_VALUES ", \"scopes\": [<[scope_profiles|,>\n"
    "{\"name\": <q:scope.name>, \"version\": <q:scope.version>, \"schema_url\": "
    "<q:schema_url>, " SCOPE_VALUES ", \"profiles\": [<[profiles|,>\n"
    "{\"sample_type\": {\"type\": <q:sample_type.type_strindex>, "
    "\"unit\": <q:sample_type.unit_strindex>}, "
    "\"samples\": <n:samples>, \"time_nanos\": <time_unix_nano>, "
    "\"duration_nanos\": <duration_nano>, "
    "\"period_type\": {\"type\": <q:period_type.type_strindex>, "
    "\"unit\": <q:period_type.unit_strindex>}, "
    "\"period\": <period>, \"profile_id\": \"<h:profile_id>\", "
    "\"original_payload_format\": <q:original_payload_format>, "
    "\"original_payload_bytes\": <n:original_payload>, "
    "\"attributes\": [<@attribute_indices|, >"
    "{\"key\": <q:key_strindex>, \"value\": <v:value>, \"unit\": <q:unit_strindex>}<]>], "
    "\"dropped_attributes\": <dropped_attributes_count>}"
    "<]>]}<]>]}<]>],\n";

/* The first mapping is the main binary. */
static const char mappings[] =
    "\"mappings\": [<?mapping|>\n<]><[mapping|,\n>"
    "{\"file\": <q:filename>, \"build_id\": <q:build_id>, \"start\": \"<x:memory_start>\", "
    "\"limit\": \"<x:memory_limit>\", \"offset\": \"<x:file_offset>\"}<]>]";

#define J        CLI_JSON
#define PUT(...) cli_json_put(stdout, CLI_TEXT_JSON, __VA_ARGS__)

static void put_request(const cli_profile *profile)
{
    const pprofdelta_census *facts = &profile->census;
    if (!profile->request) {
        fputs("\"otlp\": null,\n", stdout);
        return;
    }
    cli_record_put(profile, &profile->request->base, CLI_TEXT_JSON, request);
    PUT("\"timestamps\": $, \"links\": $, \"other_attributes\": $},\n", J(facts->timestamps),
        J(facts->links), J(facts->other_attributes));
}

static void put_profile(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    char time[48];
    PUT("{\n\"file\": $,\n\"format\": $,\n\"inflated_bytes\": $,\n\"is_delta\": $,\n\"time\": $",
        J(profile->input.name), J(profile->census.format), J(profile->census.inflated_len),
        J((bool)profile->census.is_stamped),
        J(view->time_nanos ? cli_instant_format(view->time_nanos, time) : NULL));
    cli_record_put(profile, &view->base, CLI_TEXT_JSON, header);
    put_request(profile);
    cli_record_put(profile, &view->base, CLI_TEXT_JSON, mappings);
}

/* ---- what both have ----------------------------------------------------------------------- */

static void put_types(const cli_shown *shown)
{
    static const char *const totals[] = {", \"total\": $", ", \"before\": $", ", \"now\": $"};
    static const char *const kept[] = {", \"kept\": $", ", \"kept_before\": $",
                                       ", \"kept_now\": $"};
    size_t is_pair = shown->sides > 1;
    const cli_profile *cur = &shown->profiles[is_pair];
    fputs("\"types\": [", stdout);
    for (size_t i = 0; i < shown->types.len; i++) {
        fputs(i ? ", " : "", stdout);
        cli_record_put(cur, &cur->view->sample_type[shown->types.column[is_pair][i]]->base,
                       CLI_TEXT_JSON, "{\"type\": <q:type>, \"unit\": <q:unit>");
        for (size_t side = 0; side < shown->sides; side++)
            PUT(totals[side + is_pair], J(cli_types_total(shown, side, i)));
        for (size_t side = 0; side < shown->sides; side++) {
            size_t all = shown->filters->len * shown->profiles[side].view->n_sample_type;
            PUT(kept[side + is_pair],
                J(shown->kept[side].sums[all + shown->types.column[side][i]]));
        }
        putchar('}');
    }
    fputs("],\n", stdout);
    /* The index in "types" of the type that the other forms are sorted by. */
    PUT("\"chosen_type\": $,\n", shown->types.len ? J(shown->chosen) : CLI_JSON_NULL);
}

/* --hide keeps everything. */
static void put_filters(const cli_shown *shown)
{
    static const char *const titles[] = {", \"kept\": [", ", \"before\": [", ", \"now\": ["};
    fputs("\"filters\": [", stdout);
    for (size_t i = 0; i < shown->filters->len; i++) {
        const cli_filter *filter = &shown->filters->list[i];
        fputs(i ? ", " : "", stdout);
        PUT("{\"option\": $, \"value\": $, \"matched\": $", J(cli_filter_name(filter->kind)),
            J(filter->text),
            J(shown->kept[0].matched[i] + (shown->sides > 1 ? shown->kept[1].matched[i] : 0)));
        for (size_t side = 0; side < shown->sides && filter->kind < CLI_FILTER_HIDE; side++) {
            size_t first = i * shown->profiles[side].view->n_sample_type;
            fputs(titles[side + (shown->sides > 1)], stdout);
            for (size_t k = 0; k < shown->types.len; k++)
                PUT(k ? ", $" : "$",
                    J(shown->kept[side].sums[first + shown->types.column[side][k]]));
            putchar(']');
        }
        putchar('}');
    }
    fputs("],\n", stdout);
}

/* ---- samples ------------------------------------------------------------------------------ */

/* A frame without a location stands for hidden ones. */
static void put_frame(const cli_profile *profile, const cli_frame *frame)
{
    const Pd__View__Location *location = frame->location;
    if (!location) {
        PUT("{\"function\": $}", J(frame->text.name));
        return;
    }
    const Pd__View__Function *function =
        frame->line ? cli_profile_function(profile, frame->line->function_id) : NULL;
    PUT("{\"function\": $", J(cli_profile_string(profile, function ? function->name : 0)));
    if (frame->line)
        PUT(", \"file\": $, \"line\": $", J(frame->text.file), J(frame->line->line));
    if (location->address)
        printf(", \"address\": \"0x%" PRIx64 "\"", location->address);
    if (cli_profile_mapping(profile, location->mapping_id))
        PUT(", \"mapping\": $", J(frame->text.module));
    putchar('}');
}

typedef struct listing {
    cli_shown *shown;
    bool has_some;
} listing;

/* Stacks are leaf first, as in the profile. */
static uint64_t put_sample(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    listing *l = cookie;
    const cli_profile *profile = l->shown->profiles;
    Pd__View__Sample *message = cli_sample_unpack(sample);
    const cli_frame *frame;
    const char *comma = "";
    fputs(l->has_some ? ",\n" : "\n", stdout);
    cli_record_put(profile, &message->base, CLI_TEXT_JSON, "{\"values\": [<,value>], \"stack\": [");
    for (cli_walk w = cli_walk_from_leaf(l->shown, stack); (frame = cli_walk_next(&w));) {
        fputs(comma, stdout);
        put_frame(profile, frame);
        comma = ", ";
    }
    cli_record_put(profile, &message->base, CLI_TEXT_JSON,
                   "], \"labels\": [<[label|, >{\"key\": <q:key>, <?str|>\"str\": <q:str><]>"
                   "<!str|>\"num\": <num>, \"unit\": <q:num_unit><]>}<]>]}");
    cli_sample_drop(message);
    l->has_some = true;
    return 0;
}

static void put_samples(cli_shown *shown)
{
    listing l = {.shown = shown};
    fputs("\"samples\": [", stdout);
    cli_shown_each(shown, 0, put_sample, &l);
}

/* A group of stacks with the same names. */
static void put_group(const cli_shown *shown, cli_group group)
{
    static const char *const titles[CLI_SIDES] = {"{\"before\": [", "], \"now\": ["};
    for (size_t side = 0; side < CLI_SIDES; side++) {
        fputs(titles[side], stdout);
        for (size_t i = 0; i < shown->types.len; i++)
            PUT(i ? ", $" : "$", J(cli_group_sum(shown, group, side, i)));
    }
    fputs("], \"stack\": [", stdout);
    size_t len;
    cli_frame_text *frames = cli_group_frames(shown, group, &len);
    for (size_t i = 0; i < len; i++)
        PUT(i ? ", {\"function\": $, \"file\": $, \"line\": $, \"mapping\": $}"
              : "{\"function\": $, \"file\": $, \"line\": $, \"mapping\": $}",
            J(frames[i].name), J(frames[i].file), J(frames[i].line), J(frames[i].module));
    fputs("]}", stdout);
}

static void put_groups(const cli_shown *shown)
{
    fputs("\"stacks\": [", stdout);
    for (cli_group g = {0}; cli_group_next(shown, &g) && !cli_output_is_over();) {
        fputs(g.at ? ",\n" : "\n", stdout);
        put_group(shown, g);
    }
}

void cli_show_json(cli_shown *shown)
{
    bool is_pair = shown->sides > 1;
    if (is_pair)
        cli_stacks_collect(shown, false);
    else
        cli_shown_each(shown, 0, cli_shown_count, shown);
    cli_progress_end_for_text();
    fputs(is_pair ? "{\n\"profiles\": [\n" : "", stdout);
    for (size_t side = 0; side < shown->sides; side++) {
        fputs(side ? ",\n" : "", stdout);
        put_profile(&shown->profiles[side]);
        fputs(is_pair ? "}" : ",\n", stdout);
    }
    fputs(is_pair ? "],\n" : "", stdout);
    put_types(shown);
    put_filters(shown);
    if (is_pair)
        put_groups(shown);
    else
        put_samples(shown);
    fputs("\n]\n}\n", stdout);
    cli_notes_print(shown);
}
