/* What a profile has, for a filter that matches nothing in it: see unmatched.h.
 *
 * A function is as near as the nearest of its words is to the longest word of the expression, whatever
 * the case of the letters. */
#include "show/unmatched.h"

#include "suggest.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NEAREST = 3, LABELS = 8, WORD = CLI_SUGGEST_LONGEST, LABEL_ROOM = 256 };

/* ---- functions ---------------------------------------------------------------------------- */

typedef struct word {
    char text[WORD];
    size_t len;
} word;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes the next word of the text, in small letters, and what follows. A word is cut if it is too
 * long. Returns false if there is none. */
static bool next_word(cli_string *text, word *to)
{
    size_t from = 0, end;
    while (from < text->len && !is_letter(text->ptr[from]))
        from++;
    to->len = 0;
    for (end = from; end < text->len && is_letter(text->ptr[end]); end++) {
        char c = text->ptr[end];
        if (to->len < WORD)
            to->text[to->len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    *text = (cli_string){text->ptr + end, text->len - end};
    return to->len > 0;
}

static word longest_word(const char *text)
{
    cli_string rest = cli_string_of(text);
    word longest = {.len = 0}, next;
    while (next_word(&rest, &next))
        if (next.len >= longest.len)
            longest = next;
    return longest;
}

/* The distance of a name, but at most `most`. */
static size_t distance_of(const word *wanted, cli_string name, size_t most)
{
    word next;
    while (next_word(&name, &next)) {
        size_t more = wanted->len > next.len ? wanted->len - next.len : next.len - wanted->len;
        if (more >= most)
            continue;
        size_t distance = cli_suggest_distance(wanted->text, wanted->len, next.text, next.len);
        most = distance < most ? distance : most;
    }
    return most;
}

typedef struct near {
    cli_string name;
    size_t distance;
} near;

static bool is_nearer(const near *a, const near *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->name.len < b->name.len;
}

/* Keeps the list sorted, without equal names: the nearest first, and of those the shortest. */
static void consider(near list[NEAREST], cli_string name, const word *wanted)
{
    size_t at = NEAREST - 1;
    near next = {name, distance_of(wanted, name, list[at].distance)};
    if (list[at].name.len && !is_nearer(&next, &list[at]))
        return;
    for (size_t i = 0; i < NEAREST; i++)
        if (list[i].name.len && !cli_string_compare(list[i].name, name))
            return;
    for (; at && (!list[at - 1].name.len || is_nearer(&next, &list[at - 1])); at--)
        list[at] = list[at - 1];
    list[at] = next;
}

static const char *list_functions(const cli_filter *filter, const cli_selection *selections,
                                  size_t sides, cli_unmatched_put *put, void *cookie)
{
    near list[NEAREST];
    word wanted = longest_word(filter->text);
    for (size_t i = 0; i < NEAREST; i++)
        list[i] = (near){cli_string_of(""), SIZE_MAX};
    for (size_t side = 0; side < sides; side++)
        for (size_t i = 0; i < selections[side].symbols.len; i++)
            consider(list, selections[side].symbols.names[i], &wanted);
    for (size_t i = 0; i < NEAREST && list[i].name.len; i++)
        put(cookie, list[i].name);
    return list[0].name.len ? "the nearest functions are" : "there are no functions";
}

/* ---- labels ------------------------------------------------------------------------------- */

typedef struct labels {
    char texts[LABELS][LABEL_ROOM];
    size_t len;
    bool has_more;
} labels;

static void add_label(labels *l, const char *text)
{
    for (size_t i = 0; i < l->len; i++)
        if (!strcmp(l->texts[i], text))
            return;
    l->has_more |= l->len == LABELS;
    if (l->len < LABELS)
        memcpy(l->texts[l->len++], text, strlen(text) + 1);
}

/* Adds the labels of one profile: their values if they have the key, or their keys if key is NULL. */
static void add_labels(labels *l, const cli_profile *profile, const cli_string *key)
{
    const Pd__View__Profile *view = profile->view;
    for (size_t i = 0; i < view->n_sample; i++) {
        for (size_t k = 0; k < view->sample[i]->n_label; k++) {
            const Pd__View__Label *label = view->sample[i]->label[k];
            cli_string name = cli_profile_string(profile, label->key);
            char text[LABEL_ROOM];
            size_t len = 0;
            if (key && cli_string_compare(name, *key) != 0)
                continue;
            if (key && !label->str)
                len = (size_t)snprintf(text, sizeof text, "%" PRId64, label->num);
            cli_string_write(text + len, sizeof text - len,
                             !key         ? name
                             : label->str ? cli_profile_string(profile, label->str)
                                          : cli_profile_string(profile, label->num_unit));
            add_label(l, text);
        }
    }
}

static const char *list_labels(const cli_filter *filter, const cli_selection *selections,
                               size_t sides, cli_unmatched_put *put, void *cookie)
{
    labels l = {.len = 0};
    for (size_t side = 0; side < sides; side++)
        add_labels(&l, selections[side].profile, &filter->key);
    bool has_key = l.len;
    for (size_t side = 0; side < sides && !has_key; side++)
        add_labels(&l, selections[side].profile, NULL);
    for (size_t i = 0; i < l.len; i++)
        put(cookie, cli_string_of(l.texts[i]));
    if (l.has_more)
        put(cookie, cli_string_of("and more"));
    return has_key ? "its values are" : l.len ? "the labels are" : "no sample has a label";
}

const char *cli_unmatched_list(const cli_filter *filter, const cli_selection *selections,
                               size_t sides, cli_unmatched_put *put, void *cookie)
{
    return filter->kind == CLI_FILTER_TAG ? list_labels(filter, selections, sides, put, cookie)
                                          : list_functions(filter, selections, sides, put, cookie);
}
