/* The field numbers of otlp_fields.h compared with the descriptors that protoc-c made of otlp.proto. */
#include "../support/test.h"

#include "otlp.pb-c.h"
#include "profile/fields.h"

typedef struct row {
    const ProtobufCMessageDescriptor *message;
    const char *field;
    unsigned number;
} row;

#define ROW(message, field, number)                                                                \
    {                                                                                              \
        &pd__otlp__##message##__descriptor, #field, number                                         \
    }

static const row rows[] = {
    ROW(request, resource_profiles, PD_OTLP_REQUEST_RESOURCE_PROFILES),
    ROW(request, dictionary, PD_OTLP_REQUEST_DICTIONARY),
    ROW(dictionary, mapping_table, PD_OTLP_DICTIONARY_MAPPING_TABLE),
    ROW(dictionary, location_table, PD_OTLP_DICTIONARY_LOCATION_TABLE),
    ROW(dictionary, function_table, PD_OTLP_DICTIONARY_FUNCTION_TABLE),
    ROW(dictionary, link_table, PD_OTLP_DICTIONARY_LINK_TABLE),
    ROW(dictionary, string_table, PD_OTLP_DICTIONARY_STRING_TABLE),
    ROW(dictionary, attribute_table, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE),
    ROW(dictionary, stack_table, PD_OTLP_DICTIONARY_STACK_TABLE),
    ROW(resource_profiles, resource, PD_OTLP_RESOURCE_PROFILES_RESOURCE),
    ROW(resource_profiles, scope_profiles, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES),
    ROW(resource_profiles, schema_url, PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL),
    ROW(scope_profiles, scope, PD_OTLP_SCOPE_PROFILES_SCOPE),
    ROW(scope_profiles, profiles, PD_OTLP_SCOPE_PROFILES_PROFILES),
    ROW(scope_profiles, schema_url, PD_OTLP_SCOPE_PROFILES_SCHEMA_URL),
    ROW(profile, sample_type, PD_OTLP_PROFILE_SAMPLE_TYPE),
    ROW(profile, samples, PD_OTLP_PROFILE_SAMPLES),
    ROW(profile, time_unix_nano, PD_OTLP_PROFILE_TIME_UNIX_NANO),
    ROW(profile, duration_nano, PD_OTLP_PROFILE_DURATION_NANO),
    ROW(profile, period_type, PD_OTLP_PROFILE_PERIOD_TYPE),
    ROW(profile, period, PD_OTLP_PROFILE_PERIOD),
    ROW(profile, profile_id, PD_OTLP_PROFILE_PROFILE_ID),
    ROW(profile, dropped_attributes_count, PD_OTLP_PROFILE_DROPPED_ATTRIBUTES_COUNT),
    ROW(profile, original_payload_format, PD_OTLP_PROFILE_ORIGINAL_PAYLOAD_FORMAT),
    ROW(profile, original_payload, PD_OTLP_PROFILE_ORIGINAL_PAYLOAD),
    ROW(profile, attribute_indices, PD_OTLP_PROFILE_ATTRIBUTE_INDICES),
    ROW(value_type, type_strindex, PD_OTLP_VALUE_TYPE_TYPE_STRINDEX),
    ROW(value_type, unit_strindex, PD_OTLP_VALUE_TYPE_UNIT_STRINDEX),
    ROW(sample, stack_index, PD_OTLP_SAMPLE_STACK_INDEX),
    ROW(sample, attribute_indices, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES),
    ROW(sample, link_index, PD_OTLP_SAMPLE_LINK_INDEX),
    ROW(sample, values, PD_OTLP_SAMPLE_VALUES),
    ROW(sample, timestamps_unix_nano, PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO),
    ROW(stack, location_indices, PD_OTLP_STACK_LOCATION_INDICES),
    ROW(location, mapping_index, PD_OTLP_LOCATION_MAPPING_INDEX),
    ROW(location, address, PD_OTLP_LOCATION_ADDRESS),
    ROW(location, lines, PD_OTLP_LOCATION_LINES),
    ROW(location, attribute_indices, PD_OTLP_LOCATION_ATTRIBUTE_INDICES),
    ROW(line, function_index, PD_OTLP_LINE_FUNCTION_INDEX),
    ROW(line, line, PD_OTLP_LINE_LINE),
    ROW(line, column, PD_OTLP_LINE_COLUMN),
    ROW(function, name_strindex, PD_OTLP_FUNCTION_NAME_STRINDEX),
    ROW(function, system_name_strindex, PD_OTLP_FUNCTION_SYSTEM_NAME_STRINDEX),
    ROW(function, filename_strindex, PD_OTLP_FUNCTION_FILENAME_STRINDEX),
    ROW(function, start_line, PD_OTLP_FUNCTION_START_LINE),
    ROW(mapping, memory_start, PD_OTLP_MAPPING_MEMORY_START),
    ROW(mapping, memory_limit, PD_OTLP_MAPPING_MEMORY_LIMIT),
    ROW(mapping, file_offset, PD_OTLP_MAPPING_FILE_OFFSET),
    ROW(mapping, filename_strindex, PD_OTLP_MAPPING_FILENAME_STRINDEX),
    ROW(mapping, attribute_indices, PD_OTLP_MAPPING_ATTRIBUTE_INDICES),
    ROW(link, trace_id, PD_OTLP_LINK_TRACE_ID),
    ROW(link, span_id, PD_OTLP_LINK_SPAN_ID),
    ROW(attribute, key_strindex, PD_OTLP_ATTRIBUTE_KEY_STRINDEX),
    ROW(attribute, value, PD_OTLP_ATTRIBUTE_VALUE),
    ROW(attribute, unit_strindex, PD_OTLP_ATTRIBUTE_UNIT_STRINDEX),
    ROW(resource, attributes, PD_OTLP_RESOURCE_ATTRIBUTES),
    ROW(resource, dropped_attributes_count, PD_OTLP_RESOURCE_DROPPED_ATTRIBUTES_COUNT),
    ROW(resource, entity_refs, PD_OTLP_RESOURCE_ENTITY_REFS),
    ROW(entity_ref, schema_url, PD_OTLP_ENTITY_REF_SCHEMA_URL),
    ROW(entity_ref, type, PD_OTLP_ENTITY_REF_TYPE),
    ROW(entity_ref, id_keys, PD_OTLP_ENTITY_REF_ID_KEYS),
    ROW(entity_ref, description_keys, PD_OTLP_ENTITY_REF_DESCRIPTION_KEYS),
    ROW(scope, name, PD_OTLP_SCOPE_NAME),
    ROW(scope, version, PD_OTLP_SCOPE_VERSION),
    ROW(scope, attributes, PD_OTLP_SCOPE_ATTRIBUTES),
    ROW(scope, dropped_attributes_count, PD_OTLP_SCOPE_DROPPED_ATTRIBUTES_COUNT),
    ROW(key_value, key, PD_OTLP_KEY_VALUE_KEY),
    ROW(key_value, value, PD_OTLP_KEY_VALUE_VALUE),
    ROW(key_value, key_strindex, PD_OTLP_KEY_VALUE_KEY_STRINDEX),
    ROW(any_value, string_value, PD_OTLP_ANY_VALUE_STRING_VALUE),
    ROW(any_value, bool_value, PD_OTLP_ANY_VALUE_BOOL_VALUE),
    ROW(any_value, int_value, PD_OTLP_ANY_VALUE_INT_VALUE),
    ROW(any_value, double_value, PD_OTLP_ANY_VALUE_DOUBLE_VALUE),
    ROW(any_value, array_value, PD_OTLP_ANY_VALUE_ARRAY_VALUE),
    ROW(any_value, kvlist_value, PD_OTLP_ANY_VALUE_KVLIST_VALUE),
    ROW(any_value, bytes_value, PD_OTLP_ANY_VALUE_BYTES_VALUE),
    ROW(any_value, string_value_strindex, PD_OTLP_ANY_VALUE_STRING_VALUE_STRINDEX),
    ROW(array_value, values, PD_OTLP_ARRAY_VALUE_VALUES),
    ROW(key_value_list, values, PD_OTLP_KEY_VALUE_LIST_VALUES),
};
enum { ROWS = sizeof rows / sizeof *rows };

TEST(constants_are_those_of_the_descriptors)
{
    for (size_t i = 0; i < ROWS; i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(rows[i].message, rows[i].field);
        CHECK_MSG(field && field->id == rows[i].number, "%s.%s", rows[i].message->name,
                  rows[i].field);
    }
}

/* Without a constant, a field is not read. */
TEST(each_field_has_a_constant)
{
    for (size_t i = 0; i < ROWS; i++) {
        const ProtobufCMessageDescriptor *message = rows[i].message;
        size_t constants = 0;
        for (size_t j = 0; j < ROWS; j++)
            constants += rows[j].message == message;
        CHECK_MSG(constants == message->n_fields, "%s has %u fields", message->name,
                  message->n_fields);
    }
}

TEST_MAIN(CASE(constants_are_those_of_the_descriptors), CASE(each_field_has_a_constant))
