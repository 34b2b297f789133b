#include "profile/otlp_resource.h"

#include "base/keymap.h"
#include "base/utf8.h"
#include "profile/fields.h"
#include "profile/otlp_attributes.h"

/* What is used while a resource is encoded. */
typedef struct work {
    pd_writer writer;
    pd_buffer key, text, value, message;
    pd_keymap keys;
    size_t *last; /* of each key: the attribute that counts */
    size_t last_cap;
} work;

static pd_bytes repaired(work *k, const char *text, pd_buffer *buffer)
{
    if (!k->writer.status)
        k->writer.status = pd_utf8_repair(pd_bytes_of(text), k->writer.mem, buffer, k->writer.err);
    return k->writer.status ? (pd_bytes){0} : (pd_bytes){buffer->ptr, buffer->len};
}

/* Finds the keys, in order, and the last attribute of each. */
static void find_keys(work *k, const pprofdelta_attribute *attributes, size_t len)
{
    pd_writer *w = &k->writer;
    for (size_t i = 0; i < len; i++) {
        pd_bytes text = repaired(k, attributes[i].key, &k->key);
        pd_key key = pd_key_of_bytes(text.ptr, text.len, 0);
        if (!w->status)
            w->status = pd_keymap_room(&k->keys, w->mem, key, w->err);
        if (!w->status)
            w->status = pd_mem_grow(w->mem, &k->last, &k->last_cap, k->keys.len + 1,
                                    sizeof *k->last, w->err);
        if (w->status)
            return;
        k->last[pd_keymap_add(&k->keys, key)] = i;
    }
}

pprofdelta_status pd_otlp_resource(const pprofdelta_attribute *attributes, size_t len, pd_mem *mem,
                                   pd_buffer *out, pprofdelta_error *err)
{
    work k = {.writer = {.mem = mem, .err = err}};
    find_keys(&k, attributes, len);
    for (size_t i = 0; i < k.keys.len && !k.writer.status; i++) {
        const pprofdelta_attribute *attribute = &attributes[k.last[i]];
        pd_bytes key = repaired(&k, attribute->key, &k.key);
        pd_otlp_put_text(&k.writer, &k.value, repaired(&k, attribute->value, &k.text));
        pd_otlp_put_pair(&k.writer, out, PD_OTLP_RESOURCE_ATTRIBUTES, key, &k.value, &k.message);
    }
    pd_keymap_release(&k.keys, mem);
    pd_mem_release(mem, &k.last, &k.last_cap, sizeof *k.last);
    pd_buffer_release(mem, &k.key);
    pd_buffer_release(mem, &k.text);
    pd_buffer_release(mem, &k.value);
    pd_buffer_release(mem, &k.message);
    return k.writer.status;
}
