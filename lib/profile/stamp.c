/* Writes and reads stamps: see stamp.h. */
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const restarts[] = {
    [PPROFDELTA_RESTART_NONE] = NULL,           [PPROFDELTA_RESTART_STARTED] = "started",
    [PPROFDELTA_RESTART_BUILD_ID] = "build_id", [PPROFDELTA_RESTART_MASS] = "mass",
    [PPROFDELTA_RESTART_ANY] = "decrease",      [PPROFDELTA_RESTART_LIVE] = "live",
};

static const char *const kinds[] = {[PPROFDELTA_LIVE_NONE] = "",
                                    [PPROFDELTA_LIVE_FULL] = "full",
                                    [PPROFDELTA_LIVE_DELTA] = "delta",
                                    [PPROFDELTA_LIVE_WINDOW] = "window"};

static size_t write_live(const pprofdelta_stamp *stamp, char buf[PD_STAMP_MAX])
{
    char first[32] = "", attempt[32] = "";
    if (stamp->attempt)
        snprintf(attempt, sizeof attempt, " attempt=%" PRIu64, stamp->attempt);
    if (stamp->first != stamp->sequence)
        snprintf(first, sizeof first, " first=%" PRIu64, stamp->first);
    return (size_t)snprintf(buf, PD_STAMP_MAX,
                            PD_STAMP_LIVE " epoch=%" PRIu64 " seq=%" PRIu64 "%s kind=%s%s"
                                          " from=%" PRId64 " to=%" PRId64 " id=%016" PRIx64,
                            stamp->epoch, stamp->sequence, attempt, kinds[stamp->live], first,
                            stamp->from_nanos, stamp->to_nanos, stamp->id);
}

size_t pd_stamp_write(const pprofdelta_stamp *stamp, char buf[PD_STAMP_MAX])
{
    const char *restart = restarts[stamp->restart];
    char sequence[96] = "", attempt[32] = "", acked[32] = "", id[32] = "";
    if (stamp->live)
        return write_live(stamp, buf);
    if (stamp->attempt)
        snprintf(attempt, sizeof attempt, " attempt=%" PRIu64, stamp->attempt);
    if (stamp->acked + 1 != stamp->sequence)
        snprintf(acked, sizeof acked, " acked=%" PRIu64, stamp->acked);
    if (stamp->sequence)
        snprintf(sequence, sizeof sequence, " seq=%" PRIu64 "%s%s", stamp->sequence, attempt,
                 acked);
    if (stamp->id)
        snprintf(id, sizeof id, " id=%016" PRIx64, stamp->id);
    return (size_t)snprintf(buf, PD_STAMP_MAX,
                            PD_STAMP_PREFIX " from=%" PRId64 " to=%" PRId64 "%s%s%s%s",
                            stamp->from_nanos, stamp->to_nanos, sequence, id,
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

/* Takes a word, "name=value", off the front of the comment. */
static pd_bytes next_word(pd_bytes *rest)
{
    pd_bytes word = {rest->ptr, 0};
    while (word.len < rest->len && word.ptr[word.len] != ' ')
        word.len++;
    size_t used = word.len + (word.len < rest->len);
    *rest = (pd_bytes){rest->ptr + used, rest->len - used};
    return word;
}

/* Removes "name=" from the front of the word, if it is there. */
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

/* The index of the word among names[1..len), or 0. */
static size_t find_name(const char *const *names, size_t len, pd_bytes word)
{
    size_t i = len - 1;
    while (i && (word.len != strlen(names[i]) || memcmp(word.ptr, names[i], word.len) != 0))
        i--;
    return i;
}

static bool read_restart(pd_bytes text, pprofdelta_restart *out)
{
    *out = (pprofdelta_restart)find_name(restarts, sizeof restarts / sizeof *restarts, text);
    return *out != PPROFDELTA_RESTART_NONE;
}

static bool read_hex(pd_bytes digits, uint64_t *out)
{
    static const char all[] = "0123456789abcdef";
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const char *digit = digits.ptr[i] ? strchr(all, digits.ptr[i]) : NULL;
        if (!digit || value >> 60)
            return false;
        value = value << 4 | (uint64_t)(digit - all);
    }
    *out = value;
    return digits.len > 0;
}

static bool read_kind(pd_bytes text, pprofdelta_live *out)
{
    *out = (pprofdelta_live)find_name(kinds, sizeof kinds / sizeof *kinds, text);
    return *out != PPROFDELTA_LIVE_NONE;
}

/* The words that were read. */
enum { FROM = 1, TO = 2, SEQ = 4, KIND = 8, EPOCH = 16, ID = 32, ACKED = 64 };

static bool read_word(pd_bytes word, pprofdelta_stamp *stamp, unsigned *seen)
{
    if (is_named(&word, "from"))
        return *seen |= FROM, read_nanos(word, &stamp->from_nanos);
    if (is_named(&word, "to"))
        return *seen |= TO, read_nanos(word, &stamp->to_nanos);
    if (is_named(&word, "seq"))
        return *seen |= SEQ, read_magnitude(word, UINT64_MAX, &stamp->sequence);
    if (is_named(&word, "attempt"))
        return read_magnitude(word, UINT64_MAX, &stamp->attempt);
    if (is_named(&word, "id"))
        return *seen |= ID, read_hex(word, &stamp->id);
    return true;
}

static bool read_delta_word(pd_bytes word, pprofdelta_stamp *stamp, unsigned *seen)
{
    if (is_named(&word, "restart"))
        return read_restart(word, &stamp->restart);
    if (is_named(&word, "acked"))
        return *seen |= ACKED, read_magnitude(word, UINT64_MAX, &stamp->acked);
    return read_word(word, stamp, seen);
}

static bool read_live_word(pd_bytes word, pprofdelta_stamp *stamp, unsigned *seen)
{
    if (is_named(&word, "kind"))
        return *seen |= KIND, read_kind(word, &stamp->live);
    if (is_named(&word, "epoch"))
        return *seen |= EPOCH, read_magnitude(word, UINT64_MAX, &stamp->epoch);
    if (is_named(&word, "first"))
        return read_magnitude(word, UINT64_MAX, &stamp->first) && stamp->first;
    return read_word(word, stamp, seen);
}

static bool read_live(pd_bytes rest, pprofdelta_stamp *out)
{
    const unsigned needed = FROM | TO | SEQ | KIND | EPOCH | ID;
    pprofdelta_stamp stamp = {0};
    unsigned seen = 0;
    while (rest.len)
        if (!read_live_word(next_word(&rest), &stamp, &seen))
            return false;
    stamp.is_delta = stamp.live != PPROFDELTA_LIVE_FULL;
    stamp.first = stamp.first ? stamp.first : stamp.sequence;
    /* Numbers are from 1 to UINT64_MAX - 1. */
    if (seen != needed || !stamp.sequence || !~stamp.sequence || stamp.first > stamp.sequence)
        return false;
    *out = stamp;
    return true;
}

static bool read_delta(pd_bytes rest, pprofdelta_stamp *out)
{
    pprofdelta_stamp stamp = {.is_delta = 1};
    unsigned seen = 0;
    while (rest.len)
        if (!read_delta_word(next_word(&rest), &stamp, &seen))
            return false;
    if ((seen & (FROM | TO)) != (FROM | TO))
        return false;
    if (!(seen & ACKED) && stamp.sequence)
        stamp.acked = stamp.sequence - 1;
    if (stamp.sequence ? stamp.acked >= stamp.sequence : (seen & ACKED) != 0)
        return false;
    *out = stamp;
    return true;
}

bool pd_stamp_read(pd_bytes comment, pprofdelta_stamp *out)
{
    bool is_live = pd_is_live_stamp(comment);
    size_t prefix = is_live ? sizeof PD_STAMP_LIVE - 1 : sizeof PD_STAMP_PREFIX - 1;
    if (!(is_live || pd_is_stamp(comment)) || (comment.len > prefix && comment.ptr[prefix] != ' '))
        return false;
    pd_bytes rest = {comment.ptr + prefix, comment.len - prefix};
    return is_live ? read_live(rest, out) : read_delta(rest, out);
}

bool pd_stamp_of(const pd_tables *t, pprofdelta_stamp *out)
{
    for (size_t i = 0; i < t->comments_len; i++)
        if (pd_is_stamp(t->strings[t->comments[i].index]))
            return pd_stamp_read(t->strings[t->comments[i].index], out);
    for (size_t i = 0; i < t->comments_len;
         i++) /* a full profile of a live heap, which is no delta */
        if (pd_is_live_stamp(t->strings[t->comments[i].index]))
            return pd_stamp_read(t->strings[t->comments[i].index], out);
    *out = (pprofdelta_stamp){.to_nanos = t->header.time_nanos};
    return true;
}
