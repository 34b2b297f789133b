/* The bytes of a delta on their way into one gzip member (member.h), compressed by two threads
 * while they are still being written.
 *
 *     the writer    give, give ... close     help             finish
 *     a helper      help: takes the parts as they come, to the last one
 *
 *     parts         [ made ] [ made ] [ in work ] [ given ] [ given ]
 *
 * Where the parts are cut depends on nothing but lengths (cut.h), so that the member is the same
 * whoever made what. What is too small for parts, or is not to be gzip, is compressed whole by whoever asks
 * first. Nobody waits for a helper who may never come: finish does what is left. */
#ifndef PD_CODEC_RELAY_H
#define PD_CODEC_RELAY_H

#include "base/monitor.h"
#include "codec/deflate.h"

typedef struct pd_relay_part pd_relay_part;

/* What a thread compresses with. */
typedef struct pd_relay_tools {
    void *gzip; /* struct libdeflate_compressor */
    struct pd_member_check *check;
} pd_relay_tools;

typedef struct pd_relay {
    pd_deflater *deflater;
    pd_mem *mem; /* the writer's */
    size_t part_len;
    bool gathers;      /* all that was given is wanted again; else room is used again */
    bool has_deflater; /* nobody else has it: the writer may compress before the end */
    uint32_t crc;      /* of what was given */
    uint64_t len;
    pd_buffer gathered;
    pd_relay_tools own, helpers; /* the deflater's compressor, and one for one helper */
    pd_monitor monitor;
    /* These belong to who is inside the monitor. */
    pd_relay_part *parts;
    size_t cap, given, taken, in_work;
    size_t tidied;   /* parts that were made, and have what they need only */
    bool is_closed;  /* all is given */
    bool is_whole;   /* the only part is the whole */
    bool is_stopped; /* nobody waits for more */
    bool has_helper;
    pd_bytes whole; /* what came out, where that was to be whole; or why not: */
    pprofdelta_status status;
    pprofdelta_error err;
} pd_relay; /* zero it before the first beginning; pd_relay_end leaves it so */

/* All memory is taken from mem by give and close, and given back by the end. */
pprofdelta_status pd_relay_begin(pd_relay *relay, pd_deflater *deflater, pd_mem *mem,
                                 pprofdelta_error *err);

static inline bool pd_relay_is_begun(const pd_relay *relay)
{
    return relay->monitor.is_made;
}

/* How long a part is to be, for a delta that comes of so many bytes: give is due when part_len are
 * there, which for some will never be. */
void pd_relay_measure(pd_relay *relay, size_t len);

/* The writer's next part: the first `len` bytes of *in, which are not the last ones. The relay takes
 * the buffer, and leaves another with the bytes behind the part. Where no helper keeps up, the writer
 * compresses in between, if the deflater is its own by then. */
pprofdelta_status pd_relay_give(pd_relay *relay, pd_buffer *in, size_t len, pprofdelta_error *err);

/* The last bytes, which stay where they are until the end. From here on the deflater is the
 * relay's. */
pprofdelta_status pd_relay_close(pd_relay *relay, pd_bytes in, pprofdelta_error *err);

/* All that was given and `rest`, in one piece; for a relay that gathers. */
pprofdelta_status pd_relay_gather(pd_relay *relay, pd_bytes rest, pd_bytes *all,
                                  pprofdelta_error *err);

/* For another thread. One that has time may get ready before. */
void pd_relay_warm(pd_relay *relay);
void pd_relay_help(pd_relay *relay);

/* Who waits for more parts gets none, and returns. */
void pd_relay_stop(pd_relay *relay);

/* Nobody begins another part, if there is a relay: for who wants no member. */
void pd_relay_drop(pd_relay *relay);

/* Compresses what is left and hands the member to the sink, a part at a time. It may come again,
 * with another sink, which gets all of it. */
pprofdelta_status pd_relay_finish(pd_relay *relay, const pprofdelta_sink *sink, uint64_t *written,
                                  pprofdelta_error *err);

/* Gives everything back; nobody is at it any more. Twice is fine. */
void pd_relay_end(pd_relay *relay);

#endif
