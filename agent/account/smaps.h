/* Reads /proc/self/smaps: the memory mappings of this process, each with its resident bytes. The
 * file is read in pieces into a fixed buffer, so nothing is allocated. Only the thread that delivers
 * a profile may call this. */
#ifndef PD_AGENT_SMAPS_H
#define PD_AGENT_SMAPS_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pd_smaps_area {
    uint64_t begin, end;
    uint64_t resident; /* bytes */
    uint64_t copied;   /* of a file: bytes that this process has changed in a private mapping */
    uint64_t inode;
    pd_bytes name; /* without the mark of a deleted file; empty: anonymous */
} pd_smaps_area;

typedef void pd_smaps_taker(void *cookie, const pd_smaps_area *area);

/* Calls the function for each area, in the order of addresses. Returns 0 or an errno value; then
 * some areas may have been given already. */
int pd_smaps_read(pd_smaps_taker *take, void *cookie);

/* A reader of the text, in pieces of any size. */
typedef struct pd_smaps_text {
    pd_smaps_area area;
    bool has_area;
    char name[4096];
    pd_smaps_taker *take;
    void *cookie;
} pd_smaps_text;

/* Takes one line without its end. */
void pd_smaps_line(pd_smaps_text *text, pd_bytes line);

/* Gives the last area. */
void pd_smaps_end(pd_smaps_text *text);

#endif
