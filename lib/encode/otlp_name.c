/* What a receiver calls the profile: the attribute "profile.name" of the resource, or what is known by its types. */
#include "encode/otlp.h"

#include "wire/message.h"

/* The name of a resource is one that somebody gave. */
static pd_bytes given_name(pd_bytes resource)
{
    pd_bytes name = {NULL, 0};
    if (!resource.len)
        return name;
    pd_reader attributes = pd_reader_of(resource.ptr, resource.len);
    pd_field pair, part, text;
    while (pd_reader_find(&attributes, PD_OTLP_RESOURCE_ATTRIBUTES, &pair)) {
        bool is_name = false;
        while (pd_reader_next(&pair.body, &part))
            if (part.number == PD_OTLP_KEY_VALUE_KEY)
                is_name = pd_bytes_are(pd_reader_bytes(part.body), "profile.name");
            else if (is_name && pd_reader_find(&part.body, PD_OTLP_ANY_VALUE_STRING_VALUE, &text))
                name = pd_reader_bytes(text.body);
    }
    return name;
}

bool pd_otlp_is_unlock(pd_bytes name)
{
    if (pd_bytes_begin(name, "internal/"))
        name = pd_bytes_behind(name, strlen("internal/"));
    if (!pd_bytes_begin(name, "sync.") && !pd_bytes_begin(name, "runtime."))
        return false;
    return pd_bytes_are(pd_bytes_behind(name, name.len - strlen("nlock")), "nlock") ||
           pd_bytes_are(name, "runtime._LostContendedRuntimeLock");
}

/* Go's profiles of mutexes and of blocked goroutines have the same types. In the first, every stack ends where Go
 * gives a lock back; in the second, none does. */
static const char *contention_name(const pd_model *m)
{
    for (size_t i = 0; i < m->function_keys.len; i++)
        if (pd_otlp_is_unlock(pd_model_text_of(m, m->functions[i].name)))
            return "mutex";
    return "block";
}

pd_bytes pd_otlp_name(const pd_model *m, pd_bytes resource)
{
    static const struct {
        const char *type, *name;
    } known[] = {{"alloc_space", "memory"}, {"alloc_objects", "memory"},
                 {"inuse_space", "memory"}, {"inuse_objects", "memory"},
                 {"contentions", NULL},     {"delay", NULL},
                 {"cpu", "process_cpu"},    {"goroutines", "goroutine"}};
    pd_bytes name = given_name(resource);
    for (size_t i = 0; i < m->types_len && !name.len; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known && !name.len; k++)
            if (pd_bytes_are(pd_model_text_of(m, m->types[i].type), known[k].type))
                name = pd_bytes_of(known[k].name ? known[k].name : contention_name(m));
    if (!name.len && m->types_len)
        name = pd_model_text_of(m, m->types[0].type);
    return name;
}
