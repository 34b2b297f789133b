/* The constants of fields.h and the rows of the readers, compared with the descriptors that protoc-c
 * made of profile.proto and otlp.proto. */
#include "../support/test.h"

#include "otlp.pb-c.h"
#include "otlp/any_value.h"
#include "otlp/request.h"
#include "profile.pb-c.h"
#include "profile/samples.h"

#include <ctype.h>

typedef const ProtobufCMessageDescriptor descriptor;

/* ---- rows ---------------------------------------------------------------------------------------- */

static const struct {
    descriptor *message;
    const pd_rows *rows;
} tables[] = {
    {&pd__view__profile__descriptor, &pd_profile_rows},
    {&pd__view__value_type__descriptor, &pd_sample_type_rows},
    {&pd__view__value_type__descriptor, &pd_period_type_rows},
    {&pd__view__mapping__descriptor, &pd_mapping_rows},
    {&pd__view__function__descriptor, &pd_function_rows},
    {&pd__view__location__descriptor, &pd_location_rows},
    {&pd__view__line__descriptor, &pd_line_rows},
    {&pd__view__sample__descriptor, &pd_sample_rows},
    {&pd__view__label__descriptor, &pd_label_rows},
    {&pd__otlp__request__descriptor, &pd_request_rows},
    {&pd__otlp__dictionary__descriptor, &pd_request_dictionary_rows},
    {&pd__otlp__resource_profiles__descriptor, &pd_request_resource_profiles_rows},
    {&pd__otlp__resource__descriptor, &pd_request_resource_rows},
    {&pd__otlp__entity_ref__descriptor, &pd_request_entity_rows},
    {&pd__otlp__scope_profiles__descriptor, &pd_request_scope_profiles_rows},
    {&pd__otlp__scope__descriptor, &pd_request_scope_rows},
    {&pd__otlp__profile__descriptor, &pd_request_profile_rows},
    {&pd__otlp__value_type__descriptor, &pd_request_value_type_rows},
    {&pd__otlp__sample__descriptor, &pd_request_sample_rows},
    {&pd__otlp__mapping__descriptor, &pd_request_mapping_rows},
    {&pd__otlp__function__descriptor, &pd_request_function_rows},
    {&pd__otlp__location__descriptor, &pd_request_location_rows},
    {&pd__otlp__line__descriptor, &pd_request_line_rows},
    {&pd__otlp__link__descriptor, &pd_request_link_rows},
    {&pd__otlp__stack__descriptor, &pd_request_stack_rows},
    {&pd__otlp__attribute__descriptor, &pd_request_attribute_rows},
    {&pd__otlp__key_value__descriptor, &pd_key_value_rows},
    {&pd__otlp__any_value__descriptor, &pd_any_value_rows},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* "mapping_index" is an index of mapping_table, and "name_strindex" one of string_table. */
static bool is_index_of(const char *field, unsigned table)
{
    const char *name = pd_row_of(&pd_request_dictionary_rows, table)->name;
    const char *underscore = strrchr(field, '_');
    size_t len = underscore ? (size_t)(underscore - field) : 0;
    if (strstr(field, "strindex"))
        return !strcmp(name, "string_table");
    return !strncmp(name, field, len) && !strcmp(name + len, "_table");
}

/* Whether values of the field's type are read right as this kind. */
static bool has_kind(const ProtobufCFieldDescriptor *field, unsigned kind)
{
    bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        return !is_repeated && (kind == PD_FIELD_FLAG || kind == PD_FIELD_NUMBER);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_UINT32:
        if (is_repeated)
            return kind == PD_FIELD_LIST;
        return kind == PD_FIELD_NUMBER || kind == PD_FIELD_STRING || kind == PD_FIELD_STRING_REF;
    case PROTOBUF_C_TYPE_INT32: /* OTLP's type of indices */
        if (is_repeated)
            return kind == PD_FIELD_LIST;
        return is_index_of(field->name, kind == PD_REQUEST_STRING ? PD_OTLP_DICTIONARY_STRING_TABLE
                                                                  : kind - PD_REQUEST_INDEX);
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return kind == (is_repeated ? PD_FIELD_LIST : PD_FIELD_FIXED64);
    case PROTOBUF_C_TYPE_MESSAGE:
        return kind == PD_FIELD_PART;
    case PROTOBUF_C_TYPE_BYTES: /* strings are of this type, too */
        return kind == PD_FIELD_PART || kind == PD_REQUEST_TEXT;
    default:
        return false; /* zigzag and 32-bit numbers would be read wrong */
    }
}

TEST(each_field_has_its_row)
{
    for (size_t i = 0; i < TABLES; i++) {
        descriptor *message = tables[i].message;
        const pd_rows *rows = tables[i].rows;
        size_t known = 0;
        for (uint32_t number = 0; number < rows->len; number++)
            known += pd_row_of(rows, number)->kind != PD_FIELD_UNKNOWN;
        CHECK_MSG(known == message->n_fields, "%s has %u fields and %zu rows", message->name,
                  message->n_fields, known);
        for (unsigned n = 0; n < message->n_fields; n++) {
            const ProtobufCFieldDescriptor *field = &message->fields[n];
            const pd_field_row *row = pd_row_of(rows, field->id);
            CHECK_MSG(has_kind(field, row->kind), "%s.%s", message->name, field->name);
            const char *dot = row->name ? strrchr(row->name, '.') : NULL;
            if (row->name)
                CHECK_STR(dot ? dot + 1 : row->name, field->name);
        }
    }
}

/* ---- constants ----------------------------------------------------------------------------------- */

typedef struct messages {
    descriptor *items[40];
    size_t len;
} messages;

/* The message and all that are used in it, each once. */
static void collect(messages *all, descriptor *message)
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

/* "PD_VALUE_TYPE_" for pprof's ValueType, then the field's name in capitals. */
static void name_constant(descriptor *message, const char *field, char *out)
{
    out += sprintf(out, strncmp(message->name, "pd.otlp", 7) ? "PD" : "PD_OTLP");
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

/* The number of the field with this constant, or 0. */
static unsigned number_of(const messages *all, const char *constant)
{
    char name[100];
    for (size_t i = 0; i < all->len; i++)
        for (unsigned n = 0; n < all->items[i]->n_fields; n++) {
            name_constant(all->items[i], all->items[i]->fields[n].name, name);
            if (!strcmp(name, constant))
                return all->items[i]->fields[n].id;
        }
    return 0;
}

TEST(each_constant_is_the_number_of_its_field)
{
    FILE *header = fopen(PD_TESTDATA "/../lib/profile/fields.h", "r");
    REQUIRE(header);
    messages all = {0};
    collect(&all, &pd__view__profile__descriptor);
    collect(&all, &pd__otlp__request__descriptor);
    char line[200], constant[100];
    unsigned number, found = 0;
    while (fgets(line, sizeof line, header)) {
        if (sscanf(line, "    %99[A-Z_] = %u", constant, &number) != 2)
            continue;
        CHECK_MSG(number_of(&all, constant) == number, "%s", constant);
        found++;
    }
    fclose(header);
    CHECK(found > 80); /* each on a line of its own */
}

TEST_MAIN()
