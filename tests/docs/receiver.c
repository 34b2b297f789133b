#include <pprofdelta.h>
#include <stdio.h>
#include <stdlib.h>

/* A delta that was received: its stamp, as pprofdelta_check says it, and its bytes. */
typedef struct delta {
    pprofdelta_stamp stamp;
    char *bytes;
    size_t len;
} delta;

/* Does b take a's place? */
static int replaces(const pprofdelta_stamp *b, const pprofdelta_stamp *a)
{
    return b->id == a->id && b->sequence == a->sequence && b->attempt > a->attempt &&
           (a->restart || !b->restart);
}

static int is_again(const pprofdelta_stamp *b, const pprofdelta_stamp *a)
{
    return b->id == a->id && b->sequence == a->sequence && b->attempt == a->attempt;
}

/* Keeps a delta of one target (one state, one context, one tracker), whenever it comes. kept has room
 * for one more. They are in order of sequence and attempt. Returns how many there are now. */
static size_t take(delta *kept, size_t len, delta got)
{
    size_t left = 0, at;
    for (at = 0; at < len; at++)
        if (replaces(&kept[at].stamp, &got.stamp) || is_again(&kept[at].stamp, &got.stamp))
            return free(got.bytes), len;
    for (at = 0; at < len; at++)
        if (replaces(&got.stamp, &kept[at].stamp))
            free(kept[at].bytes);
        else
            kept[left++] = kept[at];
    for (at = left; at; at--) {
        const pprofdelta_stamp *before = &kept[at - 1].stamp;
        if (before->sequence < got.stamp.sequence ||
            (before->sequence == got.stamp.sequence && before->attempt < got.stamp.attempt))
            break;
        kept[at] = kept[at - 1];
    }
    kept[at] = got;
    return left + 1;
}

/* Does next begin where last ends? Else an attempt is missing between them, or a whole window. */
static int joins(const pprofdelta_stamp *last, const pprofdelta_stamp *next)
{
    if (next->sequence == last->sequence) /* a restart beside what the old process did */
        return next->from_nanos == last->from_nanos;
    return next->sequence == last->sequence + 1 && next->from_nanos == last->to_nanos &&
           next->epoch == last->epoch;
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
    pprofdelta *pd = NULL;
    pprofdelta_adder *adder = NULL;
    pprofdelta_census seen;
    pprofdelta_error err = {0};
    pprofdelta_sink sink = {to_stdout, NULL};
    size_t len = 0, first, sum_len;
    delta *kept = calloc((size_t)argc, sizeof *kept);
    pprofdelta_status status = kept ? pprofdelta_new(NULL, NULL, &pd, &err) : PPROFDELTA_E_MEMORY;
    for (int i = 1; i < argc && !status; i++) {
        delta got = {.bytes = read_file(argv[i], &got.len)};
        status =
            got.bytes ? pprofdelta_check(pd, got.bytes, got.len, &seen, &err) : PPROFDELTA_E_SOURCE;
        if (status) {
            free(got.bytes);
            break;
        }
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
    pprofdelta_free(pd);
    return status || fclose(stdout);
}
