/* Bytes as a state, as they are and once more with sums that are right: whoever wants to do harm
 * can compute these, too.
 *
 *   - what is taken is saved as the very same bytes, unless it is of an older format: there is one way
 *     to write a state; and an attempt that has arrived is one that was committed
 *   - what is taken can be used: a window over it keeps the law of conservation, and so does the
 *     next
 *   - what is refused is a state's fault, says so, and leaves the context as it was
 *   - so does a failed allocation or source, which is told; and everything is given back */
#include "fuzz.h"

#include "keep.h"
#include "run.h"

/* A heap profile with the types alloc_space/bytes and inuse_space/bytes, and one sample. */
static const uint8_t look[] = {
    0x0a, 4,    8,   1,   0x10, 2,    0x0a, 4,   8,   3,   0x10, 2,    0x12, 7,    0x0a, 1,
    1,    0x12, 2,   5,   6,    0x22, 4,    8,   1,   24,  1,    0x32, 0,    0x32, 11,   'a',
    'l',  'l',  'o', 'c', '_',  's',  'p',  'a', 'c', 'e', 0x32, 5,    'b',  'y',  't',  'e',
    's',  0x32, 11,  'i', 'n',  'u',  's',  'e', '_', 's', 'p',  'a',  'c',  'e',
};

enum { FORMAT_AT = 8 };

static pprofdelta_status try_window(pprofdelta *pd, buf *out)
{
    collector c = {.bytes = *out};
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status =
        pprofdelta_window(pd, look, sizeof look, collecting(&c), &report, &err);
    require(status != PPROFDELTA_E_VERIFY);
    if (status)
        fuzz_require_filled(&err, status, sizeof look, sizeof look);
    *out = c.bytes;
    return status;
}

static void use(pprofdelta *pd, arena *a)
{
    pprofdelta_memory m = {.size = sizeof m};
    buf out = buf_begin(a);
    pprofdelta_describe(pd, &m);
    require(m.unseen <= m.samples && m.types_len <= PPROFDELTA_MAX_TYPES);
    require(!m.has_base || (m.types_len && m.build_id));
    if (try_window(pd, &out) != PPROFDELTA_OK)
        return; /* its types are others, or its time is later */
    uint64_t sequence = m.sequence;
    pprofdelta_describe(pd, &m);
    require(m.attempts && m.open_sequence > sequence && m.sequence == sequence);
    buf open = keep_save(a, pd);
    pprofdelta_commit(pd);
    buf committed = keep_save(a, pd);
    sequence = m.open_sequence;
    pprofdelta_describe(pd, &m);
    require(m.sequence == sequence && !m.attempts && m.samples >= 1);
    open.ptr[open.len - 1] = 1;                       /* the same, said by one byte */
    if (keep_load(pd, open, NULL) == PPROFDELTA_OK) { /* or there is not enough memory */
        buf again = keep_save(a, pd);
        require(buf_equal(again, committed));
    }
    require(try_window(pd, &out) == PPROFDELTA_OK);
    pprofdelta_abandon(pd);
}

static pprofdelta *new_context(const pprofdelta_allocator *allocator)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_VERIFY;
    options.compression = PPROFDELTA_PLAIN;
    options.max_memory = FUZZ_MAX_MEMORY;
    pprofdelta *pd = NULL;
    pprofdelta_new(&options, allocator, &pd, NULL);
    require(pd);
    return pd;
}

/* What was loaded is saved as it was, unless it is of an older format, or its last attempt has arrived: that
 * is committed then. */
static void require_the_same(pprofdelta *pd, buf given, buf again)
{
    pprofdelta_memory m = {.size = sizeof m};
    pprofdelta_describe(pd, &m);
    if (given.ptr[given.len - 1])
        require(!m.attempts && m.has_base);
    else if (given.ptr[FORMAT_AT] == again.ptr[FORMAT_AT])
        require(buf_equal(again, given));
}

/* The context knows a window of its own; after a refusal it still does. Some allocation on the way, or the source,
 * fails, if it is to: which one, the bytes decide. */
static void load(const uint8_t *state, size_t len, bool fails)
{
    arena a = {0};
    tracker memory = {0};
    pprofdelta *pd = new_context(tracking(&memory));
    pprofdelta_error err = fuzz_unfilled();
    buf first = buf_begin(&a), given = buf_begin(&a);
    const size_t which = len ? state[len / 2] : 0, nth = fails ? 1 + which / 2 % 16 : 0;
    keep_source s = {.ptr = state, .len = len, .step = fails ? 1 + len % 100 : 0};
    pprofdelta_source source = keep_source_of(&s);
    require(try_window(pd, &first) == PPROFDELTA_OK);
    pprofdelta_commit(pd);
    buf before = keep_save(&a, pd);
    buf_add(&given, state, len);
    s.fail_at = which % 2 ? nth : 0;
    memory.fail_at = nth && !s.fail_at ? memory.calls + nth : 0;
    pprofdelta_status status = pprofdelta_load(pd, &source, &err);
    memory.fail_at = 0;
    require(!memory.refused || status == PPROFDELTA_E_MEMORY);
    require(!s.fail_at || s.calls < s.fail_at || status == PPROFDELTA_E_SOURCE);
    buf after = keep_save(&a, pd);
    if (status == PPROFDELTA_OK) {
        fuzz_require_untouched(&err);
        require_the_same(pd, given, after);
        use(pd, &a);
    } else {
        require(fails || status == PPROFDELTA_E_STATE || status == PPROFDELTA_E_LIMIT);
        fuzz_require_filled(&err, status, len, len);
        require(buf_equal(after, before));
    }
    pprofdelta_free(pd);
    require(memory.live == 0);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size, false);
    uint8_t *forged = malloc(size + 1);
    require(forged);
    if (size)
        memcpy(forged, data, size);
    keep_forge(forged, size);
    load(forged, size, false);
    load(forged, size, true);
    free(forged);
    return 0;
}
