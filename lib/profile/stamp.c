/* Writes and reads stamps: see stamp.h. */
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const restarts[] = {
    [PPROFDELTA_RESTART_NONE] = "",
    [PPROFDELTA_RESTART_STARTED] = "started",
    [PPROFDELTA_RESTART_BUILD_ID] = "build_id",
    [PPROFDELTA_RESTART_MASS] = "mass",
    [PPROFDELTA_RESTART_ANY] = "decrease",
    [PPROFDELTA_RESTART_LIVE] = "live",
};

static const char *const kinds[] = {[PPROFDELTA_LIVE_NONE] = "",
                                    [PPROFDELTA_LIVE_FULL] = "full",
                                    [PPROFDELTA_LIVE_DELTA] = "delta",
                                    [PPROFDELTA_LIVE_WINDOW] = "window"};

/* ---- writing --------------------------------------------------------------------------------- */

#define LEN(array) (sizeof(array) / sizeof *(array))

/* Appends to the text in buf. */
static __attribute__((format(printf, 2, 3))) void append_text(char buf[PD_STAMP_MAX],
                                                              const char *format, ...)
{
    size_t len = strlen(buf);
    va_list args;
    va_start(args, format);
    vsnprintf(buf + len, PD_STAMP_MAX - len, format, args);
    va_end(args);
}

size_t pd_stamp_write(const pprofdelta_stamp *stamp, int64_t pid, char buf[PD_STAMP_MAX])
{
    buf[0] = 0;
    if (stamp->live) {
        append_text(buf, PD_STAMP_LIVE " epoch=%" PRIu64 " seq=%" PRIu64, stamp->epoch,
                    stamp->sequence);
        if (stamp->attempt)
            append_text(buf, " attempt=%" PRIu64, stamp->attempt);
        append_text(buf, " kind=%s", kinds[stamp->live]);
        if (stamp->first != stamp->sequence)
            append_text(buf, " first=%" PRIu64, stamp->first);
        append_text(buf, " from=%" PRId64 " to=%" PRId64 " id=%016" PRIx64, stamp->from_nanos,
                    stamp->to_nanos, stamp->id);
        return strlen(buf);
    }
    append_text(buf, PD_STAMP_PREFIX " from=%" PRId64 " to=%" PRId64, stamp->from_nanos,
                stamp->to_nanos);
    if (stamp->sequence)
        append_text(buf, " seq=%" PRIu64, stamp->sequence);
    if (stamp->sequence && stamp->attempt)
        append_text(buf, " attempt=%" PRIu64, stamp->attempt);
    if (stamp->sequence && stamp->acked + 1 != stamp->sequence)
        append_text(buf, " acked=%" PRIu64, stamp->acked);
    if (stamp->id)
        append_text(buf, " id=%016" PRIx64, stamp->id);
    if (stamp->restart)
        append_text(buf, " restart=%s", restarts[stamp->restart]);
    if (stamp->targets)
        append_text(buf, " windows=%" PRIu64 " targets=%" PRIu64, stamp->windows, stamp->targets);
    if (pid)
        append_text(buf, " pid=%" PRId64, pid);
    return strlen(buf);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The words that were read. */
enum { FROM = 1, TO = 2, SEQ = 4, KIND = 8, EPOCH = 16, ID = 32, FIRST = 64, ACKED = 128 };

/* Removes "name=" from the front of a word of the comment, "name=value", if it is there. */
static bool is_named(pd_bytes *word, const char *name)
{
    size_t len = strlen(name);
    bool is_named = pd_bytes_begin(*word, name) && word->len > len && word->ptr[len] == '=';
    *word = pd_bytes_behind(*word, is_named ? len + 1 : 0);
    return is_named;
}

static bool read_number(pd_bytes text, unsigned base, uint64_t most, uint64_t *out)
{
    return pd_bytes_take_number(&text, base, most, out) && !text.len;
}

static bool read_nanos(pd_bytes text, int64_t *out)
{
    uint64_t magnitude;
    bool is_negative = text.len && text.ptr[0] == '-';
    text = pd_bytes_behind(text, is_negative);
    if (!read_number(text, 10, (uint64_t)INT64_MAX + is_negative, &magnitude))
        return false;
    *out = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    return true;
}

/* The index of the word among names[1..len), or 0. */
static unsigned find_name(const char *const *names, size_t len, pd_bytes word)
{
    size_t i = len - 1;
    while (i && !pd_bytes_are(word, names[i]))
        i--;
    return (unsigned)i;
}

static bool read_decimal(pd_bytes text, uint64_t *out)
{
    return read_number(text, 10, UINT64_MAX, out);
}

/* Reads a word that only one kind of stamp has. Skips unknown words. */
static bool read_own_word(pd_bytes word, bool is_live, pprofdelta_stamp *stamp, unsigned *seen)
{
    if (!is_live && is_named(&word, "acked"))
        return *seen |= ACKED, read_decimal(word, &stamp->acked);
    if (!is_live && is_named(&word, "windows"))
        return read_decimal(word, &stamp->windows);
    if (!is_live && is_named(&word, "targets"))
        return read_decimal(word, &stamp->targets);
    if (!is_live && is_named(&word, "restart"))
        return (stamp->restart = find_name(restarts, LEN(restarts), word)) != 0;
    if (is_live && is_named(&word, "kind"))
        return *seen |= KIND, (stamp->live = find_name(kinds, LEN(kinds), word)) != 0;
    if (is_live && is_named(&word, "epoch"))
        return *seen |= EPOCH, read_decimal(word, &stamp->epoch);
    if (is_live && is_named(&word, "first"))
        return *seen |= FIRST, read_decimal(word, &stamp->first);
    return true;
}

static bool read_word(pd_bytes word, bool is_live, pprofdelta_stamp *stamp, unsigned *seen)
{
    if (is_named(&word, "from"))
        return *seen |= FROM, read_nanos(word, &stamp->from_nanos);
    if (is_named(&word, "to"))
        return *seen |= TO, read_nanos(word, &stamp->to_nanos);
    if (is_named(&word, "seq"))
        return *seen |= SEQ, read_decimal(word, &stamp->sequence);
    if (is_named(&word, "attempt"))
        return read_decimal(word, &stamp->attempt);
    if (is_named(&word, "id"))
        return *seen |= ID, read_number(word, 16, UINT64_MAX, &stamp->id);
    return read_own_word(word, is_live, stamp, seen);
}

/* Sets what follows from the words. Sequence numbers of a live heap are from 1 to UINT64_MAX - 1. */
static bool end_live(pprofdelta_stamp *stamp, unsigned seen)
{
    const unsigned needed = FROM | TO | SEQ | KIND | EPOCH | ID;
    stamp->is_delta = stamp->live != PPROFDELTA_LIVE_FULL;
    if (!(seen & FIRST))
        stamp->first = stamp->sequence;
    return (seen & needed) == needed && stamp->first && stamp->first <= stamp->sequence &&
           ~stamp->sequence;
}

static bool end_delta(pprofdelta_stamp *stamp, unsigned seen)
{
    const unsigned needed = FROM | TO;
    bool has_acked = seen & ACKED;
    stamp->is_delta = 1;
    if (!has_acked && stamp->sequence)
        stamp->acked = stamp->sequence - 1;
    return (seen & needed) == needed &&
           (stamp->sequence ? stamp->acked < stamp->sequence : !has_acked);
}

bool pd_stamp_read(pd_bytes comment, pprofdelta_stamp *out)
{
    bool is_live = pd_is_live_stamp(comment);
    size_t prefix = is_live ? sizeof PD_STAMP_LIVE - 1 : sizeof PD_STAMP_PREFIX - 1;
    if (!(is_live || pd_is_stamp(comment)) || (comment.len > prefix && comment.ptr[prefix] != ' '))
        return false;
    pd_bytes rest = pd_bytes_behind(comment, prefix);
    pprofdelta_stamp stamp = {0};
    unsigned seen = 0;
    while (rest.len)
        if (!read_word(pd_bytes_take_word(&rest, " "), is_live, &stamp, &seen))
            return false;
    if (!(is_live ? end_live(&stamp, seen) : end_delta(&stamp, seen)))
        return false;
    *out = stamp;
    return true;
}

/* The stamp of a full profile of a live heap counts only if there is none of a delta. */
bool pd_stamp_of(const pd_tables *t, pprofdelta_stamp *out)
{
    for (int live = 0; live < 2; live++)
        for (size_t i = 0; i < t->comments_len; i++) {
            pd_bytes comment = t->strings[t->comments[i].index];
            if (live ? pd_is_live_stamp(comment) : pd_is_stamp(comment))
                return pd_stamp_read(comment, out);
        }
    *out = (pprofdelta_stamp){.to_nanos = t->header.time_nanos};
    return true;
}

bool pd_stamp_of_live(const pd_tables *t, pprofdelta_stamp *out)
{
    pprofdelta_stamp stamp;
    if (!pd_stamp_of(t, &stamp) || !stamp.live || stamp.from_nanos > stamp.to_nanos)
        return false;
    *out = stamp;
    return true;
}
