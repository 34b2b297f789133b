/* Converts a heap profile in text form into a pprof profile.
 *
 *     text --records.c--> counts and addresses --dump.c--> model --encode--> the reader of profiles
 *
 * For a delta the values are the recorded ones: they are subtracted first and unsampled afterwards.
 * Otherwise they are unsampled here. The value types are those of Go's heap profile; a dump without
 * cumulative counts has only the two types in use.
 *
 * Unsampling: an allocator that samples one byte in `rate` on average records an allocation of s
 * bytes with the probability p = 1 - exp(-s / rate). n recorded objects of b bytes in total stand
 * for n / p objects and b / p bytes, with s = b / n. The mean size s of the values decides, so the
 * values of a window have to be subtracted before they are scaled. */
#ifndef PD_TEXT_DUMP_H
#define PD_TEXT_DUMP_H

#include "model/model.h"
#include "process/maps.h"
#include "text/records.h"

/* Scales *objects and *bytes in place, rounded to the nearest number. Both stay unchanged if rate
 * is below 2 (all allocations are recorded) or if one of them is 0 (the size is unknown). A result
 * that does not fit in 64 bits becomes the largest number that does, and false is returned. */
bool pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes);

typedef struct pd_dump {
    uint32_t rate; /* one byte in `rate` is sampled; 1: all are; 0: the last input was not text */
    bool has_no_sums; /* no cumulative counts */
    pd_model model;   /* whose `encoded` is the profile */
    pd_maps maps;     /* of code */
} pd_dump;            /* zero it to begin */

/* If *bytes is a text of these formats, converts it and sets *bytes to the profile, which is valid
 * until the next call. Otherwise sets rate to 0 and leaves *bytes. is_raw: the values are not
 * unsampled. */
pprofdelta_status pd_dump_read(pd_dump *dump, pd_mem *mem, bool is_raw, pd_bytes *bytes,
                               pprofdelta_error *err);

/* Unsamples the values of one sample, in the order of the profile's columns. Returns false if one does not fit in 64
 * bits. */
bool pd_dump_unsample(const pd_dump *dump, int64_t *values);

#endif
