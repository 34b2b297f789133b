/* The state: what a context remembers, as a file with checksums.
 *
 *     head      magic, format, length of the head                    16 bytes
 *               windows, counts, types, binary,                     184 bytes and the names
 *               XXH3-64 of all that                                   8 bytes
 *     mappings  [ start 8 | limit 8 | offset 8 | identity 16 | file 16 ] ...
 *     keys      [ key 16 ] ...                                       in the ledger's order
 *     counters  [ 0 to 8 ] ...                                       one counter after the other, of
 *                                                                    the committed entries
 *     unseen    [ entry 4 | age 4 ] ...                              entries not in the last window
 *     tried     [ entry 4 ] ...                                      committed entries of which the
 *                                                                    open attempt had more
 *               [ 0 to 8 ] ...                                       how much more, one counter after
 *                                                                    the other: of these entries, and
 *                                                                    of those that are new in it
 *     check     XXH3-128 of everything before                        16 bytes
 *     arrived   0; 1: the open attempt has arrived                    1 byte
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
 * A state has to be on disk before its delta is sent, and it is large. When the delta has arrived,
 * one byte is overwritten, and the reader commits the attempt. */
#ifndef PD_LEDGER_STATE_H
#define PD_LEDGER_STATE_H

#include "ledger/ledger.h"
#include "base/life.h"
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

/* What is known of the profile that was seen last, in an open attempt, too. */
typedef struct pd_remembered {
    int64_t time_nanos;     /* by its clock, which may have been set back */
    int64_t duration_nanos; /* from the profile; 0: none */
    uint32_t rate;          /* of a text dump: see pd_dump */
    uint64_t live_id;       /* from the stamp of a live heap; 0: none */
    int64_t live_to_nanos;  /* end of that stamp */
    pd_buffer build_id;     /* of the main mapping; empty: none */
    pd_buffer binary;       /* the file name of the main mapping; empty: none */
    pd_mapped_list mapped;  /* the mappings of the ledger's keys */
} pd_remembered;

/* The parts of a state. All are borrowed. */
typedef struct pd_state {
    pd_ledger *ledger;
    pd_schema *schema;
    pd_remembered *last;
    pd_series series;
    uint64_t id;   /* of the series of windows; 0: none */
    bool has_base; /* not only the first attempts at the first window */
} pd_state;

/* Writes the kept entries, in order, to the sink, in several pieces. */
pprofdelta_status pd_state_write(const pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err);

/* Reads a state, up to the end of the source, into these parts, which are cleared first. Commits the
 * open attempt if it has arrived. After a failure their content is undefined, but they can be read
 * into again. */
pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err);

#endif
