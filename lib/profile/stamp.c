/* The stamp, written and read: see stamp.h. */
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const restarts[] = {
    [PPROFDELTA_RESTART_NONE] = NULL,           [PPROFDELTA_RESTART_STARTED] = "started",
    [PPROFDELTA_RESTART_BUILD_ID] = "build_id", [PPROFDELTA_RESTART_MASS] = "mass",
    [PPROFDELTA_RESTART_ANY] = "decrease",
};

size_t pd_stamp_write(const pprofdelta_stamp *stamp, char buf[PD_STAMP_MAX])
{
    const char *restart = restarts[stamp->restart];
    char sequence[32] = "";
    if (stamp->sequence)
        snprintf(sequence, sizeof sequence, " seq=%" PRIu64, stamp->sequence);
    return (size_t)snprintf(buf, PD_STAMP_MAX,
                            PD_STAMP_PREFIX " from=%" PRId64 " to=%" PRId64 "%s%s%s",
                            stamp->from_nanos, stamp->to_nanos, sequence,
                            restart ? " restart=" : "", restart ? restart : "");
}

void pd_stamp_add(const pprofdelta_stamp *stamp, int64_t pid, pd_compact *compact)
{
    char text[PD_STAMP_MAX + 32];
    size_t len = pd_stamp_write(stamp, text);
    if (pid)
        len += (size_t)snprintf(text + len, sizeof text - len, " pid=%" PRId64, pid);
    pd_bytes bytes = {(const uint8_t *)text, len};
    pd_compact_comment(compact, pd_compact_string(compact, bytes));
}

/* A word of the comment, "name=value", cut off its rest. */
static pd_bytes next_word(pd_bytes *rest)
{
    pd_bytes word = {rest->ptr, 0};
    while (word.len < rest->len && word.ptr[word.len] != ' ')
        word.len++;
    size_t used = word.len + (word.len < rest->len);
    *rest = (pd_bytes){rest->ptr + used, rest->len - used};
    return word;
}

/* Cuts "name=" off the word, if it begins so. */
static bool is_named(pd_bytes *word, const char *name)
{
    size_t len = strlen(name);
    if (word->len <= len || memcmp(word->ptr, name, len) != 0 || word->ptr[len] != '=')
        return false;
    *word = (pd_bytes){word->ptr + len + 1, word->len - len - 1};
    return true;
}

static bool read_magnitude(pd_bytes digits, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        unsigned digit = (unsigned)digits.ptr[i] - '0';
        if (digit > 9 || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return digits.len > 0;
}

static bool read_nanos(pd_bytes text, int64_t *out)
{
    uint64_t magnitude;
    bool is_negative = text.len && text.ptr[0] == '-';
    if (is_negative)
        text = (pd_bytes){text.ptr + 1, text.len - 1};
    if (!read_magnitude(text, (uint64_t)INT64_MAX + is_negative, &magnitude))
        return false;
    *out = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    return true;
}

static bool read_restart(pd_bytes text, pprofdelta_restart *out)
{
    for (size_t i = 1; i < sizeof restarts / sizeof *restarts; i++) {
        if (text.len != strlen(restarts[i]) || memcmp(text.ptr, restarts[i], text.len) != 0)
            continue;
        *out = (pprofdelta_restart)i;
        return true;
    }
    return false;
}

bool pd_stamp_read(pd_bytes comment, pprofdelta_stamp *out)
{
    const size_t prefix = sizeof PD_STAMP_PREFIX - 1;
    pprofdelta_stamp stamp = {.is_delta = 1};
    bool has_from = false, has_to = false, is_good = pd_is_stamp(comment);
    if (!is_good || (comment.len > prefix && comment.ptr[prefix] != ' '))
        return false;
    pd_bytes rest = {comment.ptr + prefix, comment.len - prefix};
    while (rest.len && is_good) {
        pd_bytes word = next_word(&rest);
        if (is_named(&word, "from"))
            is_good = has_from = read_nanos(word, &stamp.from_nanos);
        else if (is_named(&word, "to"))
            is_good = has_to = read_nanos(word, &stamp.to_nanos);
        else if (is_named(&word, "seq"))
            is_good = read_magnitude(word, UINT64_MAX, &stamp.sequence);
        else if (is_named(&word, "restart"))
            is_good = read_restart(word, &stamp.restart);
    }
    if (!is_good || !has_from || !has_to)
        return false;
    *out = stamp;
    return true;
}

bool pd_stamp_of(const pd_tables *t, pprofdelta_stamp *out)
{
    for (size_t i = 0; i < t->comments_len; i++)
        if (pd_is_stamp(t->strings[t->comments[i].index]))
            return pd_stamp_read(t->strings[t->comments[i].index], out);
    *out = (pprofdelta_stamp){.to_nanos = t->header.time_nanos};
    return true;
}
