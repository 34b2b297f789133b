#include <pprofdelta_profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A delta that was received: its stamp, as its census says it, and its bytes. */
typedef struct delta {
    pprofdelta_stamp stamp;
    char *bytes;
    size_t len;
} delta;

/* Does b take a's place? */
static int replaces(const pprofdelta_stamp *b, const pprofdelta_stamp *a)
{
    return b->id == a->id && b->sequence == a->sequence && b->attempt > a->attempt;
}

/* Keeps a delta of one target (one state, one context, one tracker), whenever it comes: of each
 * sequence the one with the highest attempt. kept has room for one more. They are in order of sequence.
 * Returns how many there are now. */
static size_t take(delta *kept, size_t len, delta got)
{
    size_t at = len;
    while (at && kept[at - 1].stamp.sequence > got.stamp.sequence)
        at--;
    if (at && kept[at - 1].stamp.sequence == got.stamp.sequence) {
        delta *same = &kept[at - 1], lower = got;
        if (replaces(&got.stamp, &same->stamp)) {
            lower = *same;
            *same = got;
        }
        return free(lower.bytes), len;
    }
    memmove(&kept[at + 1], &kept[at], (len - at) * sizeof *kept);
    kept[at] = got;
    return len + 1;
}

/* Is nothing missing between last and next that can still come? A batch of a live heap begins where
 * the last one ends. Of windows, those up to `acked` must be there; others were ended by a restart. */
static int joins(const pprofdelta_stamp *last, const pprofdelta_stamp *next)
{
    int is_next = next->sequence == last->sequence + 1;
    if (next->live || (is_next && next->acked == last->sequence))
        return is_next && next->from_nanos == last->to_nanos && next->epoch == last->epoch;
    return last->sequence >= next->acked && next->from_nanos >= last->to_nanos;
}

/* What can be added up: from the last full profile of a live heap (else from the first delta) up to
 * the first gap. What is behind a gap waits for what is missing, or for the next full profile. */
static size_t usable(const delta *kept, size_t len, size_t *first)
{
    size_t end;
    *first = 0;
    for (size_t i = 0; i < len; i++)
        if (kept[i].stamp.live == PPROFDELTA_LIVE_FULL)
            *first = i;
    if (len && kept[*first].stamp.live && kept[*first].stamp.live != PPROFDELTA_LIVE_FULL)
        return 0; /* no full one has come yet */
    for (end = *first + 1; end < len; end++)
        if (!joins(&kept[end - 1].stamp, &kept[end].stamp))
            break;
    return len ? end - *first : 0;
}

static char *read_file(const char *name, size_t *len)
{
    enum { MOST = 1 << 20 };
    FILE *in = fopen(name, "rb");
    if (!in)
        return perror(name), NULL;
    char *bytes = malloc(MOST);
    *len = bytes ? fread(bytes, 1, MOST, in) : 0;
    fclose(in);
    return bytes;
}

static int to_stdout(void *cookie, const void *data, size_t len)
{
    (void)cookie;
    return fwrite(data, 1, len, stdout) == len ? 0 : -1;
}

int main(int argc, char **argv) /* receiver DELTA... >SUM: in the order in which they came */
{
    pprofdelta_profile *profile;
    pprofdelta_adder *adder = NULL;
    pprofdelta_census seen = {.size = sizeof seen};
    pprofdelta_error err = {0};
    pprofdelta_sink sink = {.write = to_stdout};
    size_t len = 0, first, sum_len;
    delta *kept = calloc((size_t)argc, sizeof *kept);
    pprofdelta_status status = kept ? PPROFDELTA_OK : PPROFDELTA_E_MEMORY;
    for (int i = 1; i < argc && !status; i++) {
        delta got = {.bytes = read_file(argv[i], &got.len)};
        status = got.bytes ? pprofdelta_profile_open(NULL, NULL, got.bytes, got.len, &profile, &err)
                           : PPROFDELTA_E_SOURCE;
        if (status) {
            free(got.bytes);
            break;
        }
        pprofdelta_profile_census(profile, &seen);
        pprofdelta_profile_free(profile);
        got.stamp = seen.stamp;
        len = take(kept, len, got);
    }
    sum_len = usable(kept, len, &first);
    if (!status)
        status = pprofdelta_adder_new(NULL, NULL, &adder, &err);
    for (size_t i = first; i < first + sum_len && !status; i++)
        status = pprofdelta_adder_add(adder, kept[i].bytes, kept[i].len, NULL, &err);
    if (!status)
        status = pprofdelta_adder_finish(adder, &sink, &err);
    fprintf(stderr, "%zu kept, %zu added up%s%s\n", len, sum_len, status ? ": " : "", err.text);
    while (len)
        free(kept[--len].bytes);
    free(kept);
    pprofdelta_adder_free(adder);
    return status || fclose(stdout);
}
