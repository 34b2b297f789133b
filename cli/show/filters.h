/* What the user asks `show` to keep, to drop and to hide:
 *
 *     --focus RE    keep the samples of which a frame matches
 *     --ignore RE   drop the samples of which a frame matches
 *     --tag T       keep the samples that have a label: KEY, KEY=VALUE, KEY=RE, KEY=MIN:MAX
 *     --hide RE     take the frames that match out of their stacks; the values stay
 *     --allocator RE   the frames that match are those of an allocator (wrappers.h); the values stay
 *
 * A frame matches if its name as it is shown matches, its source file or the file of its mapping.
 * Of several options, each must keep a sample. */
#ifndef CLI_SHOW_FILTERS_H
#define CLI_SHOW_FILTERS_H

#include "arguments.h"
#include "show/frame.h"
#include "view.h"

#include <regex.h>

typedef enum cli_filter_kind {
    CLI_FILTER_FOCUS,
    CLI_FILTER_IGNORE,
    CLI_FILTER_TAG,
    CLI_FILTER_HIDE, /* this and the next keep every sample */
    CLI_FILTER_ALLOCATOR
} cli_filter_kind;

typedef struct cli_filter {
    cli_filter_kind kind;
    const char *text; /* as it was given */
    regex_t pattern;  /* of all but TAG, and of a TAG's value if it is one */
    bool has_pattern;
    cli_string key;    /* of TAG */
    const char *value; /* of TAG; NULL: any */
    bool is_range;     /* of TAG: the value is MIN:MAX */
    int64_t least, most;
} cli_filter;

enum { CLI_FILTERS_MAX = 64 };

typedef struct cli_filters {
    cli_filter *list; /* kept (keep.h), as are the patterns */
    size_t len;
    bool shows_wrappers; /* --all-frames */
} cli_filters;

/* For cli_option.take: adds a filter, whose kind is option.what, to a cli_filters. text is borrowed. */
int cli_filters_take(const cli_option *option, const char *text, void *list);

/* "focus", "ignore", "tag", "hide" or "allocator". */
const char *cli_filter_name(cli_filter_kind kind);

/* The filters of one kind: bit i is that of list[i]. */
uint64_t cli_filters_of(const cli_filters *filters, cli_filter_kind kind);

/* Whether it matches the string as it is shown (CLI_TEXT_SHOWN). Of a string longer
 * than 32 KiB, only the beginning takes part. */
bool cli_pattern_matches(const regex_t *pattern, cli_string string);

/* The filters that match a text, as bits, and those that match a frame but for its short name. TAG matches
 * none. */
uint64_t cli_filters_match(const cli_filters *filters, cli_string text);
uint64_t cli_filters_match_frame(const cli_filters *filters, const cli_frame_text *frame);

/* Whether a TAG keeps the sample. */
bool cli_filter_keeps_labels(const cli_filter *filter, const cli_profile *profile,
                             const cli_sample *sample);

#endif
