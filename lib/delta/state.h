/* A ledger outside of the process: what a context remembers, as bytes that can be checked.
 *
 *     head      magic, format, its own length                        16 bytes
 *               sequence, window, counts, types, build id,          120 bytes and the names
 *               XXH3-64 of all that                                   8 bytes
 *     mappings  [ start 8 | limit 8 | offset 8 | identity 16 | file 16 ] ...
 *     keys      [ key 16 ] ...                                       as the ledger has them
 *     counters  [ 0 to 8 ] ...                                       of each counter, one by one
 *     unseen    [ entry 4 | age 4 ] ...                              of those the last one lacked
 *     check     XXH3-128 of everything before                        16 bytes
 *     attempts  [ 0 ] ...                                            1 byte for each attempt at the
 *                                                                    next window since it was written
 *
 * All numbers are little endian. A counter's values take as many bytes as its largest one needs,
 * which are seldom more than five: so there is room for four counters and more in 40 bytes a
 * sample. Keys are read to where they stay. The index of the keys is not kept: it is made again
 * when the keys are there, which is what finds one that is there twice. Nothing is read before the
 * head's sum is known to be right, and nothing counts before the whole is; what the head promises
 * is allocated only as fast as the bytes for it really come. The three things that stand in front
 * of every head, and its sum, stay in every later format, so that an older reader can tell a newer
 * state from a damaged one. Every door keeps its ledger this way.
 *
 * An attempt has to be on the disk before its delta is sent, and a state is large. So an attempt is
 * recorded by appending one zero byte to the file: that is there or not, never half, and the state
 * before it is not touched. */
#ifndef PD_DELTA_STATE_H
#define PD_DELTA_STATE_H

#include "delta/ledger.h"
#include "delta/types.h"

/* The largest number of mappings in a list. Later mappings of a profile are not listed. */
enum { PD_MAPPED_MAX = 4096 };

/* A mapping of the profiles that the ledger's keys come from. */
typedef struct pd_mapped {
    uint64_t start, limit, file_offset;
    pd_key identity; /* build id or file name in the last profile that had it; {0, 0}: none */
    pd_key file;     /* the identity that the ledger's keys were made with; {0, 0}: none */
} pd_mapped;

typedef struct pd_mapped_list {
    pd_mapped *list; /* the main mapping first, if the last profile has a mapping */
    size_t len, cap;
} pd_mapped_list; /* zero it to begin */

/* What is known of the profile that a ledger was filled from. */
typedef struct pd_remembered {
    int64_t time_nanos;
    int64_t duration_nanos;     /* as the profile has it; 0: none */
    int64_t from_nanos;         /* where the window that ended there began; 0: not known */
    pprofdelta_restart restart; /* ... and what it was */
    uint32_t rate;              /* as pd_text has it */
    uint64_t live_id;           /* of the stamp of a live heap; 0: it has none */
    int64_t live_to_nanos;      /* ... and its end */
    pd_buffer build_id;         /* of the main mapping; empty where it has none */
    pd_mapped_list mapped;      /* the mappings that the ledger's keys were made with */
} pd_remembered;

/* The parts of a state, wherever they lie. */
typedef struct pd_state {
    pd_ledger *ledger;
    pd_schema *schema;
    pd_remembered *last;
    uint64_t sequence; /* of the last committed window */
    uint64_t attempts; /* at the next one */
    bool has_base;     /* false: nothing is remembered yet, but for the attempts */
} pd_state;

/* Writes it to the sink, in pieces: the committed entries, in order. */
pprofdelta_status pd_state_write(const pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err);

/* Reads a whole state, to the end of the source, into these parts, which are cleared first. After a
 * failure they hold nothing of use. */
pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err);

#endif
