/* pprofdelta show --raw: the whole profile, one line for each record.
 *
 * The form is stable, so that diff compares two profiles: records are in the order of the file, ids
 * are unchanged, and quoted strings lose nothing. A filter takes samples away, and nothing else. The
 * records of an OTLP request are its own, and refer to the tables of the dictionary by index.
 *
 * Of two profiles, the records are those of a third, which the library computes: what CUR has more or
 * less than PREV. */
#include "show/shown.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"

static const char before[] =
    CLI_RECORD_TIMES "period_type: <q:period_type.type> <q:period_type.unit>\n" CLI_RECORD_REST
                     "<[comment|>comment: <q:comment>\n<]>"
                     "sample types:\n"
                     "<[sample_type|>  <q:type> <q:unit>\n<]>"
                     "samples:\n";
static const char sample[] =
    " <*value>:<*location_id>\n"
    "<[label|>    label <q:key> = <?str|><q:str>\n<]><!str|><num> <q:num_unit>\n<]><]>";
static const char after[] =
    "locations:\n"
    "<[location|>  <id>: <x:address> mapping <mapping_id><?is_folded|> folded<]>\n"
    "<[line|>    function <function_id> line <line> column <column> <f:function_id>\n<]><]>"
    "mappings:\n"
    "<[mapping|>"
    "  <id>: <x:memory_start> <x:memory_limit> <x:file_offset> <q:filename> <q:build_id>"
    "<?has_functions|> functions<]><?has_filenames|> filenames<]>"
    "<?has_line_numbers|> lines<]><?has_inline_frames|> inlines<]>\n<]>"
    "functions:\n"
    "<[function|>  <id>: <q:name> <q:system_name> <q:filename> <start_line>\n<]>";

/* ---- OTLP --------------------------------------------------------------------------------- */

#define KEY_VALUES(message)                                                                        \
    "<[" message "attributes|>  attribute <q:key> = <v:value>\n<]>"                                \
    "<?" message "dropped_attributes_count|>"                                                      \
    "  dropped attributes: <" message "dropped_attributes_count>\n<]>"
#define RESOURCE_VALUES KEY_VALUES("resource.")
#define SCOPE_VALUES    KEY_VALUES("scope.")
#define ATTRIBUTES      "<?attribute_indices|> attributes<*attribute_indices><]>"

static const char request[] =
    "<[resource_profiles|>resource: <q:schema_url>\n" RESOURCE_VALUES
    "<[resource.entity_refs|>  entity <q:type>\n<]>"
    "<[scope_profiles|>scope: <q:scope.name> <q:scope.version> <q:schema_url>\n" SCOPE_VALUES
    "<[profiles|>profile:\n"
    "  sample_type: <q:sample_type.type_strindex> <q:sample_type.unit_strindex>\n"
    "  time_unix_nano: <time_unix_nano>\n"
    "  duration_nano: <duration_nano>\n"
    "  period_type: <q:period_type.type_strindex> <q:period_type.unit_strindex>\n"
    "  period: <period>\n"
    "  profile_id: <h:profile_id>\n"
    "<?attribute_indices|> " ATTRIBUTES "\n<]>"
    "<?dropped_attributes_count|>  dropped attributes: <dropped_attributes_count>\n<]>"
    "<?original_payload,original_payload_format|>"
    "  original payload: <q:original_payload_format> <n:original_payload> bytes\n<]>"
    "  samples:\n"
    "<[samples|>   <*values>: stack <stack_index>" ATTRIBUTES "<?link_index|> link <link_index><]>"
    "<?timestamps_unix_nano|> at<*timestamps_unix_nano><]>\n<]>"
    "<]><]><]>"
    "mapping_table:\n"
    "<[dictionary.mapping_table|>"
    "  <#>: <x:memory_start> <x:memory_limit> <x:file_offset> <q:filename_strindex>" ATTRIBUTES
    "\n<]>"
    "location_table:\n"
    "<[dictionary.location_table|>  <#>: <x:address> mapping <mapping_index>" ATTRIBUTES "\n"
    "<[lines|>    function <function_index> line <line> column <column>\n<]><]>"
    "function_table:\n"
    "<[dictionary.function_table|>"
    "  <#>: <q:name_strindex> <q:system_name_strindex> <q:filename_strindex> <start_line>\n<]>"
    "attribute_table:\n"
    "<[dictionary.attribute_table|>  <#>: <q:key_strindex> = <v:value> <q:unit_strindex>\n<]>"
    "stack_table:\n"
    "<[dictionary.stack_table|>  <#>:<?location_indices|> locations<*location_indices><]>\n<]>"
    "link_table:\n"
    "<[dictionary.link_table|>  <#>: trace <h:trace_id> span <h:span_id>\n<]>"
    "string_table:\n"
    "<[dictionary.string_table|>  <#>: <q:string_table>\n<]>";

/* Writes CUR - PREV. */
static cli_buffer subtract_profiles(const cli_input *prev, const cli_input *cur,
                                    const pprofdelta_options *options)
{
    static cli_buffer change;
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = &change};
    pprofdelta *context;
    pprofdelta_error err;
    if (pprofdelta_new(options, NULL, &context, &err))
        cli_must(cli_library_error(cur->name, &err));
    if (pprofdelta_base(context, prev->bytes, prev->len, &err))
        cli_must(cli_library_error(prev->name, &err));
    if (pprofdelta_window(context, cur->bytes, cur->len, &sink, NULL, &err))
        cli_must(cli_inputs_error(CLI_TWO_FILES, prev->name, cur->name, &err));
    pprofdelta_free(context);
    return change;
}

void cli_raw_of_two(cli_profile profiles[CLI_SIDES], const pprofdelta_options *options)
{
    const cli_profile *cur = &profiles[1];
    size_t types = cur->view->n_sample_type;
    const char **counters = cli_keep(types, sizeof *counters);
    for (size_t i = 0; i < types; i++)
        counters[i] = cli_keep_string(cli_profile_type(cur, i)).ptr;
    pprofdelta_options each = *options;
    each.counters = counters;
    each.counters_len = types;
    each.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    each.flags = PPROFDELTA_FORCE | PPROFDELTA_NO_STAMP | PPROFDELTA_ABSENT_TYPES;
    each.format = cur->request ? PPROFDELTA_OTLP_PLAIN : PPROFDELTA_PPROF;
    const char *name = cur->input.name;
    cli_buffer change = subtract_profiles(&profiles[0].input, &cur->input, &each);
    for (size_t i = 0; i < CLI_SIDES; i++)
        cli_profile_free(&profiles[i]);
    cli_must(cli_profile_take(profiles, (cli_input){name, change.bytes, change.len}, options));
}

static uint64_t put_sample(void *profile, const cli_stack *stack, const cli_sample *one)
{
    Pd__View__Sample *message = cli_sample_unpack(one);
    (void)stack;
    cli_record_put(profile, &message->base, CLI_TEXT_QUOTED, sample);
    cli_sample_drop(message);
    return 0;
}

void cli_show_raw(cli_shown *shown)
{
    const cli_profile *profile = shown->profiles;
    cli_progress_end_for_text();
    if (profile->request) {
        cli_record_put(profile, &profile->request->base, CLI_TEXT_QUOTED, request);
        return;
    }
    cli_record_put(profile, &profile->view->base, CLI_TEXT_QUOTED, before);
    cli_shown_each(shown, 0, put_sample, (void *)profile);
    cli_record_put(profile, &profile->view->base, CLI_TEXT_QUOTED, after);
    cli_notes_print(shown);
}
