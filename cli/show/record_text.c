#include "show/record_text.h"

#include "output_file.h"
#include "show/otlp_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef ProtobufCFieldDescriptor field_row;

typedef struct printing {
    const cli_profile *profile;
    size_t at; /* index of the record */
} printing;

/* A part of the format: "<KIND:NAME:WORD>". */
typedef struct slot {
    char kind; /* a letter or sign of the header's list; 0: a number */
    char name[64], word[32];
} slot;

/* Reads the slot behind "<". Returns what follows ">". */
static const char *read_slot(const char *text, slot *s)
{
    const char *end = strchr(text, '>');
    *s = (slot){.kind = '\0'};
    if (strchr("*?+", *text))
        s->kind = *text++;
    else if (text[1] == ':')
        s->kind = *text, text += 2;
    size_t len = strcspn(text, ":>");
    memcpy(s->name, text, len);
    if (text[len] == ':')
        memcpy(s->word, text + len + 1, (size_t)(end - text) - len - 1);
    return end + 1;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Finds a field, also of a message within: "period_type.unit". *at becomes its place; NULL: the
 * message is not there. */
static const field_row *find_field(const ProtobufCMessage *message, char *name, const void **at)
{
    char *dot = strchr(name, '.');
    if (dot)
        *dot = '\0';
    const field_row *f = protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    *at = (const char *)message + f->offset;
    if (!dot)
        return f;
    const ProtobufCMessage *inner = *(ProtobufCMessage *const *)*at;
    const field_row *found = inner ? find_field(inner, dot + 1, at) : NULL;
    if (!inner)
        *at = NULL;
    return found;
}

static size_t size_of(const field_row *f)
{
    bool is_short = f->type == PROTOBUF_C_TYPE_INT32 || f->type == PROTOBUF_C_TYPE_UINT32 ||
                    f->type == PROTOBUF_C_TYPE_BOOL;
    return is_short ? sizeof(int32_t) : sizeof(int64_t);
}

/* The bits of a number. */
static int64_t number_at(const field_row *f, const void *at)
{
    int64_t number = 0;
    if (at && size_of(f) == sizeof(int32_t))
        number = *(const int32_t *)at;
    else if (at)
        memcpy(&number, at, sizeof number);
    return f && f->type == PROTOBUF_C_TYPE_UINT32 ? (int64_t)(uint32_t)number : number;
}

static void put_number(const field_row *f, int64_t number)
{
    bool is_unsigned =
        f && (f->type == PROTOBUF_C_TYPE_UINT64 || f->type == PROTOBUF_C_TYPE_FIXED64);
    if (is_unsigned)
        printf("%" PRIu64, (uint64_t)number);
    else
        printf("%" PRId64, number);
}

static cli_string string_at(const cli_profile *profile, const ProtobufCMessage *message,
                            const field_row *f, const void *at)
{
    if (f && f->type == PROTOBUF_C_TYPE_BYTES)
        return cli_otlp_bytes(*(const ProtobufCBinaryData *)at);
    int64_t index = number_at(f, at);
    bool is_pprof = !strcmp(message->descriptor->package_name, "pd.view");
    return is_pprof ? cli_profile_string(profile, index) : cli_otlp_string(profile, (int32_t)index);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_list(const ProtobufCMessage *message, const field_row *f, const void *at,
                     const char *word)
{
    size_t len = *(const size_t *)((const char *)message + f->quantifier_offset);
    const char *numbers = *(const char *const *)at;
    if (len && *word)
        printf(" %s", word);
    for (size_t i = 0; i < len; i++) {
        putchar(' ');
        put_number(f, number_at(f, numbers + i * size_of(f)));
    }
}

static void put_slot(const printing *p, const ProtobufCMessage *message, slot *s)
{
    const void *at = NULL;
    if (!strcmp(s->name, "#")) {
        printf("%zu", p->at);
        return;
    }
    const field_row *f = find_field(message, s->name, &at);
    switch (s->kind) {
    case 'x':
        printf("0x%" PRIx64, (uint64_t)number_at(f, at));
        break;
    case 'q':
    case 'j':
        cli_string_put(stdout, string_at(p->profile, message, f, at),
                       s->kind == 'q' ? CLI_TEXT_QUOTED : CLI_TEXT_JSON);
        break;
    case 'h':
        cli_otlp_put_hex(*(const ProtobufCBinaryData *)at);
        break;
    case 'n':
        printf("%zu", f->label == PROTOBUF_C_LABEL_REPEATED
                          ? *(const size_t *)((const char *)message + f->quantifier_offset)
                          : ((const ProtobufCBinaryData *)at)->len);
        break;
    case '*':
        put_list(message, f, at, s->word);
        break;
    case '?':
    case '+':
        if (!number_at(f, at))
            break;
        printf(" %s", s->word);
        if (s->kind == '?')
            break;
        putchar(' '); /* and the number */
        put_number(f, number_at(f, at));
        break;
    default:
        put_number(f, number_at(f, at));
    }
}

static void put_record(const printing *p, const ProtobufCMessage *message, const char *format)
{
    for (const char *at = format; *at;) {
        size_t len = strcspn(at, "<");
        fwrite(at, 1, len, stdout);
        at += len;
        if (*at) {
            slot s;
            at = read_slot(at + 1, &s);
            put_slot(p, message, &s);
        }
    }
}

void cli_record_put(const cli_profile *profile, const ProtobufCMessage *message, const char *format)
{
    put_record(&(printing){profile, 0}, message, format);
}

void cli_records_put(const cli_profile *profile, const ProtobufCMessage *parent, const char *field,
                     const char *between, const char *format)
{
    const field_row *f = protobuf_c_message_descriptor_get_field_by_name(parent->descriptor, field);
    size_t len = *(const size_t *)((const char *)parent + f->quantifier_offset);
    ProtobufCMessage *const *list =
        *(ProtobufCMessage *const *const *)((const char *)parent + f->offset);
    for (size_t i = 0; i < len && !cli_output_is_over(); i++) {
        fputs(i ? between : "", stdout);
        put_record(&(printing){profile, i}, list[i], format);
    }
}
