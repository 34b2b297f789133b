/* A heap profile that an allocator wrote as text becomes the pprof profile that it stands for.
 *
 *     text --records.c--> counts and addresses --heap.c--> pprof bytes --> the door for all profiles
 *
 * The values are the raw ones where a delta is made of them: it subtracts what was counted, and
 * unsamples what is left (unsample.h). Where the profile is to be looked at they are unsampled at
 * once. The types are those of Go's heap profile; a dump without cumulative counts has only the two
 * that are in use. */
#ifndef PD_TEXT_HEAP_H
#define PD_TEXT_HEAP_H

#include "base/keymap.h"
#include "text/records.h"

/* Scales *objects and *bytes in place, rounded to the nearest. A rate below 2 means that every
 * allocation was seen; of values of which one is 0 the size is not known. Both stay as they are
 * then. What does not fit in 64 bits becomes the largest number that does. */
void pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes);

typedef struct pd_text {
    uint32_t rate; /* of the last profile: one byte in so many is sampled; 1: all are; 0: the last
                           one was no text */
    bool has_no_sums;    /* it has no cumulative counts */
    pd_buffer profile;   /* its bytes */
    pd_keymap addresses; /* of its locations, which are numbered from 1 in this order */
    pd_buffer sample;    /* scratch */
    struct pd_text_map {
        uint64_t start, limit, offset;
        pd_bytes file;
    } * maps;
    size_t maps_len, maps_cap;
} pd_text; /* zero it to begin */

enum { PD_TEXT_HEAD = 512 }; /* its header is within so many bytes */

/* Does such a text begin like this? */
bool pd_text_begins(pd_bytes head);

/* If *bytes is such a text, makes it the bytes of a profile, which lie in *text until the next
 * call; else leaves it and notes that. */
pprofdelta_status pd_text_read(pd_text *text, pd_mem *mem, bool is_raw, pd_bytes *bytes,
                               pprofdelta_error *err);

/* Unsamples the values of a sample, in the order of the profile's columns. */
void pd_text_unsample(const pd_text *text, int64_t *values);

void pd_text_release(pd_text *text, pd_mem *mem);

#endif
