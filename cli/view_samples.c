/* The samples of a profile, read where they are: see view_samples.h. */
#include "view_samples.h"

#include "keep.h"
#include "units.h"

#include <string.h>

enum { VARINT, FIXED64, BYTES, FIXED32 = 5, WIRE = 7 };
enum {
    SAMPLE = 2 << 3 | BYTES,
    ID = 1 << 3 | VARINT,
    IDS = 1 << 3 | BYTES,
    VALUE = 2 << 3 | VARINT,
    VALUES = 2 << 3 | BYTES,
    LABEL = 3 << 3 | BYTES
};

/* ---- the wire ----------------------------------------------------------------------------- */

typedef struct wire_field {
    const uint8_t *from, *at, *end; /* its tag; its value, or the content of its bytes */
    uint64_t tag;
} wire_field;

static wire_field read_field(const uint8_t *from)
{
    wire_field f = {.from = from, .at = from};
    f.tag = cli_varint_read(&f.at);
    uint64_t wire = f.tag & WIRE, len = wire == BYTES ? cli_varint_read(&f.at) : 0;
    f.end = f.at + (wire == FIXED64 ? 8 : wire == FIXED32 ? 4 : len);
    if (wire == VARINT)
        cli_varint_read(&f.end);
    return f;
}

/* The last byte of a varint, and a tag of one byte, are below 0x80. */
uint64_t cli_path_last(const uint8_t **at, const uint8_t *path, bool is_tagged)
{
    const uint8_t *from = *at - 1;
    while (from > path && from[-1] & 0x80)
        from--;
    *at = from - is_tagged;
    return cli_varint_read(&from);
}

/* ---- one sample --------------------------------------------------------------------------- */

static void add_value(cli_sample *s, const uint8_t **at)
{
    int64_t value = (int64_t)cli_varint_read(at);
    if (s->values_len < PPROFDELTA_MAX_TYPES)
        s->values[s->values_len++] = value;
}

/* Adds an id, or several, to the path, unless it is behind another field. */
static void add_ids(cli_sample *s, const wire_field *f)
{
    bool is_tagged = f->tag == ID, is_first = !s->path;
    s->is_odd |= is_tagged && f->at - f->from != 1;
    s->is_odd |= !is_first && !(is_tagged && s->is_tagged && s->path_end == f->from);
    if (is_first)
        s->path = is_tagged ? f->from : f->at;
    s->is_tagged = is_tagged;
    s->path_end = f->end;
}

void cli_sample_read(const uint8_t *from, cli_sample *s)
{
    s->from = s->at = from;
    uint64_t len = cli_varint_read(&s->at);
    s->end = s->at + len;
    s->path = NULL;
    s->values_len = 0;
    s->is_tagged = s->has_labels = s->is_odd = false;
    for (wire_field f = {.end = s->at}; f.end < s->end;) {
        f = read_field(f.end);
        if (f.tag == ID || f.tag == IDS)
            add_ids(s, &f);
        else if (f.tag == VALUE)
            add_value(s, &f.at);
        else if (f.tag == VALUES)
            while (f.at < f.end)
                add_value(s, &f.at);
        else
            s->has_labels |= f.tag == LABEL;
    }
    if (!s->path)
        s->path = s->path_end = s->at;
}

static void *take_kept(void *cookie, size_t size)
{
    (void)cookie;
    return cli_take(size);
}

static void free_kept(void *cookie, void *ptr)
{
    (void)cookie;
    cli_give(ptr);
}

ProtobufCAllocator cli_kept_messages = {take_kept, free_kept, NULL};

Pd__View__Sample *cli_sample_unpack(const cli_sample *sample)
{
    return pd__view__sample__unpack(&cli_kept_messages, (size_t)(sample->end - sample->at),
                                    sample->at);
}

void cli_sample_drop(Pd__View__Sample *sample)
{
    pd__view__sample__free_unpacked(sample, &cli_kept_messages);
}

/* ---- all samples -------------------------------------------------------------------------- */

bool cli_samples_next(cli_samples *list, cli_sample *sample)
{
    while (list->at < list->end) {
        wire_field f = read_field(list->at);
        list->at = f.end;
        if (f.tag != SAMPLE)
            continue;
        const uint8_t *from = f.from;
        cli_varint_read(&from);
        cli_sample_read(from, sample);
        return true;
    }
    return false;
}

/* protobuf-c takes no tag and no length of more than five bytes. */
static bool is_long(const uint8_t *at, const uint8_t *end)
{
    enum { MOST = 5 };
    bool is = false;
    while (at < end && !is) {
        wire_field f = read_field(at);
        const uint8_t *behind_tag = at;
        cli_varint_read(&behind_tag);
        is = behind_tag - at > MOST || f.at - behind_tag > MOST ||
             (f.tag == LABEL && is_long(f.at, f.end));
        at = f.end;
    }
    return is;
}

uint8_t *cli_samples_append(uint8_t *bytes, size_t *len, size_t *cap, Pd__View__Sample *sample)
{
    Pd__View__Profile one = PD__VIEW__PROFILE__INIT;
    one.n_sample = 1;
    one.sample = &sample;
    bytes = cli_keep_more(bytes, *len, pd__view__profile__get_packed_size(&one), cap, 1);
    *len += pd__view__profile__pack(&one, bytes + *len);
    return bytes;
}

/* Writes all samples again, as protobuf-c does. */
static bool rewrite_samples(cli_samples *all)
{
    uint8_t *made = NULL;
    size_t made_len = 0, made_cap = 0;
    cli_sample sample;
    for (cli_samples rest = *all; cli_samples_next(&rest, &sample);) {
        Pd__View__Sample *message = cli_sample_unpack(&sample);
        if (!message)
            return false;
        made = cli_samples_append(made, &made_len, &made_cap, message);
        cli_sample_drop(message);
    }
    all->made = made;
    all->at = made;
    all->end = made + made_len;
    return true;
}

bool cli_samples_find(const uint8_t *bytes, size_t len, cli_samples *all)
{
    cli_sample sample;
    bool is_odd = false;
    *all = (cli_samples){.at = bytes, .end = bytes + len};
    for (cli_samples rest = *all; cli_samples_next(&rest, &sample); all->len++) {
        is_odd |=
            sample.is_odd || sample.end - sample.at > INT32_MAX || is_long(sample.at, sample.end);
        for (size_t i = 0; i < sample.values_len; i++) {
            cli_sum_add(&all->totals[i], sample.values[i]);
            all->has_values[i] |= sample.values[i] != 0;
        }
    }
    return !is_odd || rewrite_samples(all);
}

size_t cli_fields_copy(const uint8_t *at, const uint8_t *end, bool is_samples, uint8_t *to)
{
    size_t len = 0;
    while (at < end) {
        wire_field f = read_field(at);
        size_t size = (f.tag == SAMPLE) == is_samples ? (size_t)(f.end - at) : 0;
        if (to)
            memcpy(to + len, at, size);
        len += size;
        at = f.end;
    }
    return len;
}
