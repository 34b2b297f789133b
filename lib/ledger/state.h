/* The state: what a context remembers, as a file with a checksum.
 *
 *     intro     magic 8 | format
 *     id        of the series of windows; 0: none
 *     types     how many; 0: the state is empty, and the end follows
 *               how many counters, which come first; type and unit of each, as texts
 *     windows   is there a base?
 *               sequence, attempt, begin, end, duration, restart: of the committed window,
 *               and of the last one, whose attempt is 0 if it is not open
 *     profile   time, duration, rate of a dump, live id, live end, build id and binary as texts, kind 16
 *     mappings  how many; [ start | limit | offset | identity 16 | file 16 ] ...
 *     entries   do they have keys of format 6? how many; if a window is open, how many are committed
 *               [ key 16 | twice its age, 1 more if the open attempt had more of it, 2^32 more if it
 *                 has an excess | each counter | how much more the attempt had of each counter, if it
 *                 had more | the excess of each counter, if it has one ] ...
 *     end       XXH3-128 of everything before, 16 | 0, or 1: the open attempt has arrived
 *
 * Everything without a size is a varint; a text is its length and its bytes. The age of an entry is
 * the number of windows since the last one that had it. The excess is that of text dumps
 * (delta/estimate.c). The slots of the keys are not stored: they
 * are rebuilt, and that finds a key that is there twice.
 *
 * No result is valid before the checksum is. Memory for what the numbers announce is allocated only
 * as the bytes arrive. Magic and format stay the same in later formats. All doors use this format.
 * Format 6 can be read, too: it has no kind, and does not say that its keys are its own.
 *
 * A state has to be on disk before its delta is sent, and it is large. When the delta has arrived,
 * the last byte is overwritten, and the reader commits the attempt. */
#ifndef PD_LEDGER_STATE_H
#define PD_LEDGER_STATE_H

#include "ledger/ledger.h"
#include "base/steps.h"
#include "ledger/types.h"

#define PD_STATE_MAGIC "\x89PDS\r\n\x1a\n" /* no text tool leaves it unchanged */

enum {
    PD_STATE_MAGIC_LEN = 8,
    PD_STATE_FORMAT = 7,
    PD_STATE_FORMAT_OLDEST = 6,
    PD_STATE_TEXT_MAX = 1 << 20, /* bytes of a text */
    PD_STATE_END = 17            /* bytes of the checksum and the last byte */
};

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
    size_t len;
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
    pd_key kind;            /* of the types of its period and its default; {0, 0}: not known */
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

/* Writes the state to the sink, in several pieces. Changes nothing. */
pprofdelta_status pd_state_write(pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err);

/* Reads a state, up to the end of the source, into these parts, which are cleared first. Commits the
 * open attempt if it has arrived. After a failure their content is undefined, but they can be read
 * into again. */
pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err);

#endif
