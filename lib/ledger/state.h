/* The state: what a context remembers, as a file with checksums.
 *
 *     head      magic, format, length of the head                    16 bytes
 *               sequence, window, counts, types, binary,            136 bytes and the names
 *               XXH3-64 of all that                                   8 bytes
 *     mappings  [ start 8 | limit 8 | offset 8 | identity 16 | file 16 ] ...
 *     keys      [ key 16 ] ...                                       in the ledger's order
 *     counters  [ 0 to 8 ] ...                                       one counter after the other
 *     unseen    [ entry 4 | age 4 ] ...                              entries not in the last window
 *     check     XXH3-128 of everything before                        16 bytes
 *     attempts  [ 0 ] ...                                            1 byte for each attempt at the
 *                                                                    next window since then
 *
 * Numbers are little endian. The values of a counter take as many bytes as its largest value needs,
 * seldom more than five, so 40 bytes for each sample have room for four counters and more. Keys are
 * read into the ledger's array. The slots of the keys are not stored: they are rebuilt, and that
 * finds a key that is there twice.
 *
 * Nothing is used before the head's checksum is found right, and no result is valid before the last
 * one is. Memory for what the head announces is allocated only as its bytes arrive. Magic, format
 * and length of the head, and the place of its checksum, stay the same in later formats, so that an
 * older reader can tell a newer state from a damaged one. All doors use this format.
 *
 * An attempt has to be on disk before its delta is sent, and a state is large. So an attempt is
 * recorded by appending one zero byte to the file: the byte is there or not, and the state before
 * it is not changed. */
#ifndef PD_LEDGER_STATE_H
#define PD_LEDGER_STATE_H

#include "ledger/ledger.h"
#include "ledger/types.h"

/* The largest number of mappings in a list; later mappings of a profile are not listed. */
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

/* What is known of the profile that the ledger was filled from. */
typedef struct pd_remembered {
    int64_t time_nanos;
    int64_t duration_nanos;     /* from the profile; 0: none */
    int64_t from_nanos;         /* begin of the window that ended there; 0: unknown */
    pprofdelta_restart restart; /* of that window */
    uint32_t rate;              /* of a text dump: see pd_dump */
    uint64_t live_id;           /* from the stamp of a live heap; 0: none */
    int64_t live_to_nanos;      /* end of that stamp */
    pd_buffer build_id;         /* of the main mapping; empty: none */
    pd_buffer binary;           /* the file name of the main mapping; empty: none */
    pd_mapped_list mapped;      /* the mappings of the ledger's keys */
} pd_remembered;

/* The parts of a state. All are borrowed. */
typedef struct pd_state {
    pd_ledger *ledger;
    pd_schema *schema;
    pd_remembered *last;
    uint64_t sequence; /* of the last committed window */
    uint64_t attempts; /* at the next window */
    uint64_t id;       /* of the series of windows; 0: none */
    bool has_base;     /* false: only the attempts and the id are remembered */
} pd_state;

/* Writes the committed entries, in order, to the sink, in several pieces. */
pprofdelta_status pd_state_write(const pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err);

/* Reads a state, up to the end of the source, into these parts, which are cleared first. After a
 * failure their content is undefined, but they can be read into again. */
pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err);

#endif
