/* The field numbers of fields.h compared with the descriptors that protoc-c made of profile.proto.
 */
#include "../support/test.h"

#include "profile.pb-c.h"
#include "profile/fields.h"

#include <ctype.h>
#include <stdbool.h>

/* A constant of fields.h: its message and its field are told by its name. The type is what the hot
 * path reads; NUMBERS is a varint of which there may be many, packed or not. */
typedef enum kind { NUMBER, NUMBERS, MESSAGE, MESSAGES, STRINGS } kind;

typedef struct row {
    const ProtobufCMessageDescriptor *message;
    const char *constant;
    unsigned number;
    kind kind;
} row;

#define ROW(message, constant, kind)                                                               \
    {                                                                                              \
        &pd__view__##message##__descriptor, #constant, constant, kind                              \
    }

static const row rows[] = {
    ROW(profile, PD_PROFILE_SAMPLE_TYPE, MESSAGES),
    ROW(profile, PD_PROFILE_SAMPLE, MESSAGES),
    ROW(profile, PD_PROFILE_MAPPING, MESSAGES),
    ROW(profile, PD_PROFILE_LOCATION, MESSAGES),
    ROW(profile, PD_PROFILE_FUNCTION, MESSAGES),
    ROW(profile, PD_PROFILE_STRING_TABLE, STRINGS),
    ROW(profile, PD_PROFILE_DROP_FRAMES, NUMBER),
    ROW(profile, PD_PROFILE_KEEP_FRAMES, NUMBER),
    ROW(profile, PD_PROFILE_TIME_NANOS, NUMBER),
    ROW(profile, PD_PROFILE_DURATION_NANOS, NUMBER),
    ROW(profile, PD_PROFILE_PERIOD_TYPE, MESSAGE),
    ROW(profile, PD_PROFILE_PERIOD, NUMBER),
    ROW(profile, PD_PROFILE_COMMENT, NUMBERS),
    ROW(profile, PD_PROFILE_DEFAULT_SAMPLE_TYPE, NUMBER),
    ROW(profile, PD_PROFILE_DOC_URL, NUMBER),

    ROW(value_type, PD_VALUE_TYPE_TYPE, NUMBER),
    ROW(value_type, PD_VALUE_TYPE_UNIT, NUMBER),

    ROW(sample, PD_SAMPLE_LOCATION_ID, NUMBERS),
    ROW(sample, PD_SAMPLE_VALUE, NUMBERS),
    ROW(sample, PD_SAMPLE_LABEL, MESSAGES),

    ROW(label, PD_LABEL_KEY, NUMBER),
    ROW(label, PD_LABEL_STR, NUMBER),
    ROW(label, PD_LABEL_NUM, NUMBER),
    ROW(label, PD_LABEL_NUM_UNIT, NUMBER),

    ROW(mapping, PD_MAPPING_ID, NUMBER),
    ROW(mapping, PD_MAPPING_MEMORY_START, NUMBER),
    ROW(mapping, PD_MAPPING_MEMORY_LIMIT, NUMBER),
    ROW(mapping, PD_MAPPING_FILE_OFFSET, NUMBER),
    ROW(mapping, PD_MAPPING_FILENAME, NUMBER),
    ROW(mapping, PD_MAPPING_BUILD_ID, NUMBER),
    ROW(mapping, PD_MAPPING_HAS_FUNCTIONS, NUMBER),
    ROW(mapping, PD_MAPPING_HAS_FILENAMES, NUMBER),
    ROW(mapping, PD_MAPPING_HAS_LINE_NUMBERS, NUMBER),
    ROW(mapping, PD_MAPPING_HAS_INLINE_FRAMES, NUMBER),

    ROW(location, PD_LOCATION_ID, NUMBER),
    ROW(location, PD_LOCATION_MAPPING_ID, NUMBER),
    ROW(location, PD_LOCATION_ADDRESS, NUMBER),
    ROW(location, PD_LOCATION_LINE, MESSAGES),
    ROW(location, PD_LOCATION_IS_FOLDED, NUMBER),

    ROW(line, PD_LINE_FUNCTION_ID, NUMBER),
    ROW(line, PD_LINE_LINE, NUMBER),
    ROW(line, PD_LINE_COLUMN, NUMBER),

    ROW(function, PD_FUNCTION_ID, NUMBER),
    ROW(function, PD_FUNCTION_NAME, NUMBER),
    ROW(function, PD_FUNCTION_SYSTEM_NAME, NUMBER),
    ROW(function, PD_FUNCTION_FILENAME, NUMBER),
    ROW(function, PD_FUNCTION_START_LINE, NUMBER),
};
enum { ROWS = sizeof rows / sizeof *rows };

/* "PD_VALUE_TYPE_" for ValueType, then the field's name in capitals. */
static void name_constant(const ProtobufCMessageDescriptor *message, const char *field, char *out)
{
    out += sprintf(out, "PD");
    for (const char *p = message->short_name; *p; p++) {
        if (isupper((unsigned char)*p))
            *out++ = '_';
        *out++ = (char)toupper((unsigned char)*p);
    }
    *out++ = '_';
    for (const char *p = field; *p; p++)
        *out++ = (char)toupper((unsigned char)*p);
    *out = 0;
}

static bool has_kind(const ProtobufCFieldDescriptor *field, kind want)
{
    bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    if (is_repeated != (want == NUMBERS || want == MESSAGES || want == STRINGS))
        return false;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
        return want == NUMBER || want == NUMBERS;
    case PROTOBUF_C_TYPE_MESSAGE:
        return want == MESSAGE || want == MESSAGES;
    case PROTOBUF_C_TYPE_BYTES: /* as which a string is read */
        return want == STRINGS;
    default:
        return false; /* zigzag, fixed-size and 32-bit numbers would be read wrong */
    }
}

TEST(every_constant_has_its_field)
{
    for (size_t i = 0; i < ROWS; i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(rows[i].message, rows[i].number);
        CHECK_MSG(field, "%s", rows[i].constant);
        if (!field)
            continue;
        char constant[100];
        name_constant(rows[i].message, field->name, constant);
        CHECK_STR(rows[i].constant, constant);
        CHECK_MSG(has_kind(field, rows[i].kind), "%s", rows[i].constant);
    }
}

typedef struct messages {
    const ProtobufCMessageDescriptor *items[20];
    size_t len;
} messages;

/* The message and all that are used in it, each once. */
static void collect(messages *all, const ProtobufCMessageDescriptor *message)
{
    for (size_t i = 0; i < all->len; i++)
        if (all->items[i] == message)
            return;
    REQUIRE(all->len < sizeof all->items / sizeof *all->items);
    all->items[all->len++] = message;
    for (unsigned i = 0; i < message->n_fields; i++)
        if (message->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
            collect(all, message->fields[i].descriptor);
}

TEST(every_field_has_its_constant)
{
    messages all = {0};
    collect(&all, &pd__view__profile__descriptor);
    size_t fields = 0;
    for (size_t i = 0; i < all.len; i++) {
        fields += all.items[i]->n_fields;
        for (unsigned n = 0; n < all.items[i]->n_fields; n++) {
            char constant[100];
            name_constant(all.items[i], all.items[i]->fields[n].name, constant);
            size_t at = 0;
            while (at < ROWS && strcmp(rows[at].constant, constant) != 0)
                at++;
            CHECK_MSG(at < ROWS, "no %s", constant);
        }
    }
    CHECK_MSG(fields == ROWS, "%zu fields, %zu constants", fields, (size_t)ROWS);
}

/* The hot path keeps them as bits, counted from the first. */
TEST(the_mapping_flags_have_successive_numbers)
{
    static const char *const flags[] = {"has_functions", "has_filenames", "has_line_numbers",
                                        "has_inline_frames"};
    for (unsigned i = 0; i < 4; i++) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
            &pd__view__mapping__descriptor, PD_MAPPING_HAS_FUNCTIONS + i);
        REQUIRE(field);
        CHECK_STR(field->name, flags[i]);
        CHECK(field->type == PROTOBUF_C_TYPE_BOOL);
    }
}

TEST_MAIN(CASE(every_constant_has_its_field), CASE(every_field_has_its_constant),
          CASE(the_mapping_flags_have_successive_numbers))
