/* ISA-L's streaming inflate: about twice as fast as zlib's. */
#include "codec/inflate_stream.h"

#include <isa-l/igzip_lib.h>

static bool begin(void *state)
{
    isal_inflate_init(state); /* raw deflate data, no checksum */
    return true;
}

/* ISA-L counts in 32 bits. */
static uint32_t at_most_1gib(size_t len)
{
    const size_t most = 1u << 30;
    return (uint32_t)(len < most ? len : most);
}

static pd_inflate_end some(void *state, pd_inflate_run *run)
{
    struct inflate_state *s = state;
    while (run->out < run->out_end) {
        s->next_in = (uint8_t *)(uintptr_t)run->in; /* ISA-L does not write there */
        s->avail_in = at_most_1gib((size_t)(run->in_end - run->in));
        s->next_out = run->out;
        s->avail_out = at_most_1gib((size_t)(run->out_end - run->out));
        int status = isal_inflate(s);
        bool is_stuck = s->next_in == run->in && s->next_out == run->out;
        run->in = s->next_in;
        run->out = s->next_out;
        if (status != ISAL_DECOMP_OK)
            return PD_INFLATE_BAD;
        if (s->block_state == ISAL_BLOCK_FINISH) {
            run->in -= s->read_in_length / 8; /* whole bytes that ISA-L read and did not use */
            return PD_INFLATE_DONE;
        }
        if (is_stuck)
            return PD_INFLATE_BAD; /* the input is cut off */
    }
    return PD_INFLATE_FULL;
}

const pd_inflate_backend pd_inflate_isal = {"ISA-L", sizeof(struct inflate_state), begin, some};
