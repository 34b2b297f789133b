/* One profile in memory, unpacked: see view.h.
 *
 * The library checks the bytes first, because it says what is wrong and where; an unpacked message
 * no longer has positions. The unpacked message takes many times the memory of the bytes. All of it
 * is kept memory, and counts against its limit (keep.h). */
#include "view.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "suggest.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    const struct cli_id *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Reads the ids of a table, the first field of each of its messages. Most profiles have 1, 2, 3 ... */
static void ids_make(cli_ids *ids, ProtobufCMessage *const *table, size_t len)
{
    bool is_dense = true;
    cli_drop(ids->ids);
    *ids = (cli_ids){cli_keep(len, sizeof *ids->ids), len};
    for (size_t i = 0; i < len; i++) {
        const char *id = (const char *)table[i] + table[i]->descriptor->fields[0].offset;
        ids->ids[i].index = i;
        memcpy(&ids->ids[i].id, id, sizeof ids->ids[i].id);
        is_dense &= ids->ids[i].id == i + 1;
    }
    if (!is_dense) {
        qsort(ids->ids, len, sizeof *ids->ids, by_id);
        return;
    }
    cli_drop(ids->ids);
    ids->ids = NULL;
}

size_t cli_ids_find(const cli_ids *ids, uint64_t id)
{
    struct cli_id key = {id, 0}, *found;
    if (!ids->ids)
        return id && id <= ids->len ? id - 1 : SIZE_MAX;
    found = bsearch(&key, ids->ids, ids->len, sizeof *ids->ids, by_id);
    return found ? found->index : SIZE_MAX;
}

void cli_profile_index(cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    ids_make(&profile->locations, (ProtobufCMessage **)view->location, view->n_location);
    ids_make(&profile->functions, (ProtobufCMessage **)view->function, view->n_function);
    ids_make(&profile->mappings, (ProtobufCMessage **)view->mapping, view->n_mapping);
}

/* Unpacks all but the samples. */
static Pd__View__Profile *unpack_tables(const uint8_t *bytes, size_t len)
{
    size_t rest_len = cli_fields_copy(bytes, bytes + len, false, NULL);
    uint8_t *rest = cli_keep(rest_len, 1);
    cli_fields_copy(bytes, bytes + len, false, rest);
    Pd__View__Profile *view = pd__view__profile__unpack(&cli_kept_messages, rest_len, rest);
    cli_drop(rest);
    return view;
}

int cli_profile_open(cli_profile *profile, cli_input input, const pprofdelta_options *options)
{
    *profile = (cli_profile){
        .input = input, .options = *options, .census = {.size = sizeof profile->census}};
    pprofdelta_error err;
    if (pprofdelta_profile_open(options, NULL, input.bytes, input.len, &profile->opened, &err))
        return cli_library_error(input.name, &err);
    pprofdelta_profile_census(profile->opened, &profile->census);
    return CLI_DONE;
}

int cli_profile_unpack(cli_profile *profile)
{
    const pprofdelta_census *census = &profile->census;
    pprofdelta_error err;
    const uint8_t *bytes;
    size_t len;
    if (pprofdelta_profile_bytes(profile->opened, &bytes, &len, &err))
        return cli_library_error(profile->input.name, &err);
    profile->held = (int64_t)len;
    cli_keep_beside(profile->held);
    profile->view = unpack_tables(bytes, len);
    if (census->request)
        profile->request =
            pd__otlp__request__unpack(&cli_kept_messages, census->request_len, census->request);
    /* protobuf-c takes no tag or length of more than five bytes, padding included, and no field above
     * 2 GiB. The library takes both. */
    if (!profile->view || !cli_samples_find(bytes, len, &profile->samples) ||
        (census->request && !profile->request))
        return cli_error("%s: cannot show: a tag or a length takes more than 5 bytes, or a field "
                         "more than 2 GiB",
                         profile->input.name);
    cli_profile_index(profile);
    return CLI_DONE;
}

int cli_profile_take(cli_profile *profile, cli_input input, const pprofdelta_options *options)
{
    int code = cli_profile_open(profile, input, options);
    return code ? code : cli_profile_unpack(profile);
}

int cli_profile_load(cli_profile *profile, cli_file file, const pprofdelta_options *options)
{
    cli_input input;
    int code = cli_input_read(&input, file, options->max_memory);
    if (!code)
        return cli_profile_take(profile, input, options);
    *profile = (cli_profile){.input = input};
    return code;
}

void cli_profile_free(cli_profile *profile)
{
    pd__view__profile__free_unpacked(profile->view, &cli_kept_messages);
    pd__otlp__request__free_unpacked(profile->request, &cli_kept_messages);
    cli_keep_beside(-profile->held);
    cli_drop(profile->samples.made);
    cli_drop(profile->locations.ids);
    cli_drop(profile->functions.ids);
    cli_drop(profile->mappings.ids);
    pprofdelta_profile_free(profile->opened);
    cli_input_free(&profile->input);
    *profile = (cli_profile){0};
}

cli_string cli_profile_string(const cli_profile *profile, int64_t index)
{
    const Pd__View__Profile *view = profile->view;
    if (index < 0 || (uint64_t)index >= view->n_string_table || !view->string_table[index].len)
        return cli_string_of("");
    const ProtobufCBinaryData *text = &view->string_table[index];
    return (cli_string){(const char *)text->data, text->len};
}

const Pd__View__Function *cli_profile_function(const cli_profile *profile, uint64_t id)
{
    size_t found = cli_ids_find(&profile->functions, id);
    return found < profile->functions.len ? profile->view->function[found] : NULL;
}

Pd__View__Mapping *cli_profile_mapping(const cli_profile *profile, uint64_t id)
{
    size_t found = cli_ids_find(&profile->mappings, id);
    return found < profile->mappings.len ? profile->view->mapping[found] : NULL;
}

cli_string cli_profile_type(const cli_profile *profile, size_t column)
{
    return cli_profile_string(profile, profile->view->sample_type[column]->type);
}

cli_string cli_profile_unit(const cli_profile *profile, size_t column)
{
    return cli_profile_string(profile, profile->view->sample_type[column]->unit);
}

char *cli_profile_list_types(const cli_profile *profile, char text[CLI_TYPES_ROOM])
{
    size_t len = cli_string_write(text, CLI_TYPES_ROOM, cli_string_of("none"));
    for (size_t i = 0; i < profile->view->n_sample_type; i++) {
        const cli_string words[] = {cli_string_of(i ? ", " : ""), cli_profile_type(profile, i),
                                    cli_string_of("/"), cli_profile_unit(profile, i)};
        len = i ? len : 0;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            len += cli_string_write(text + len, CLI_TYPES_ROOM - len, words[k]);
    }
    return text;
}

int cli_profile_no_type(const cli_profile *profile, const char *name)
{
    char there[CLI_TYPES_ROOM], type[CLI_LONGEST_WORD + 2];
    cli_suggestion nearest = cli_suggest_for(name, strcspn(name, "/"));
    for (size_t i = 0; i < profile->view->n_sample_type; i++) {
        cli_string_write(type, sizeof type, cli_profile_type(profile, i));
        cli_suggest_consider(&nearest, type);
    }
    bool is_near = *nearest.meant && nearest.distance; /* else only the unit is another one */
    return cli_error("%s: no sample type is named \"%s\"; %s%s%sthere are: %s", profile->input.name,
                     name, is_near ? "did you mean " : "", is_near ? nearest.meant : "",
                     is_near ? "? " : "", cli_profile_list_types(profile, there));
}

/* Is `name` "TYPE" or "TYPE/UNIT" of this type? */
static bool is_named(cli_string type, cli_string unit, cli_string name)
{
    if (name.len < type.len || memcmp(name.ptr, type.ptr, type.len) != 0)
        return false;
    cli_string rest = {name.ptr + type.len, name.len - type.len};
    if (!rest.len)
        return true;
    return *rest.ptr == '/' && !cli_string_compare((cli_string){rest.ptr + 1, rest.len - 1}, unit);
}

int cli_profile_find_type(const cli_profile *profile, cli_string name)
{
    for (size_t i = 0; i < profile->view->n_sample_type; i++)
        if (is_named(cli_profile_type(profile, i), cli_profile_unit(profile, i), name))
            return (int)i;
    return -1;
}

int64_t cli_profile_age(const cli_profile *profile, const cli_sample *sample)
{
    Pd__View__Sample *message = sample->has_labels ? cli_sample_unpack(sample) : NULL;
    int64_t age = 0;
    for (size_t i = message ? message->n_label : 0; i-- > 0;) { /* the first counts */
        const Pd__View__Label *label = message->label[i];
        if (!label->str && cli_string_is(cli_profile_string(profile, label->key), "age") &&
            cli_string_is(cli_profile_string(profile, label->num_unit), "windows"))
            age = label->num;
    }
    cli_sample_drop(message);
    return age;
}

int cli_profile_default_type(const cli_profile *profile)
{
    cli_string name = cli_profile_string(profile, profile->view->default_sample_type);
    int found = name.len ? cli_profile_find_type(profile, name) : -1;
    return found >= 0 ? found : (int)profile->view->n_sample_type - 1;
}

bool cli_profile_has_bytes(const cli_profile *profile)
{
    for (size_t i = 0; i < profile->view->n_sample_type; i++)
        if (cli_string_is(cli_profile_unit(profile, i), "bytes"))
            return true;
    return false;
}

uint64_t cli_profile_offset(const Pd__View__Mapping *mapping, uint64_t address)
{
    bool has_range = mapping->memory_start < mapping->memory_limit;
    bool is_of_file = has_range && (int64_t)(address - mapping->memory_start) < 0;
    return is_of_file ? address : address - mapping->memory_start + mapping->file_offset;
}

size_t cli_profile_file_len(cli_string name)
{
    static const char mark[] = " (deleted)", shared[] = "/dev/shm/";
    static const char *const not_files[] = {
        "[anon",    "[heap",      "[stack", "[vvar", "//anon",      "/anon_hugepage", "/memfd:",
        "/dmabuf:", "/secretmem", "/SYSV",  "/dev/", "anon_inode:", "socket:["};
    for (size_t i = 0; i < sizeof not_files / sizeof *not_files; i++)
        if (cli_string_begins(name, not_files[i]) && !cli_string_begins(name, shared))
            return 0;
    while (cli_string_ends(name, mark))
        name.len -= sizeof mark - 1;
    return name.len;
}
