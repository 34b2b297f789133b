/* What is wrong with deflate data that would not inflate: is it cut off or damaged, and where? */
#ifndef PD_CODEC_WALK_H
#define PD_CODEC_WALK_H

#include <stddef.h>
#include <stdint.h>

typedef enum pd_walk_end {
    PD_WALK_WHOLE,   /* a final block ended */
    PD_WALK_CUT_OFF, /* everything in it is good, but more had to come */
    PD_WALK_DAMAGED  /* something that no compressor writes */
} pd_walk_end;

typedef struct pd_walk {
    pd_walk_end end;
    size_t at;       /* WHOLE: the bytes it takes. CUT_OFF: len. DAMAGED: the byte in question */
    const char *why; /* DAMAGED: what, in static words. Else NULL */
} pd_walk;

/* Walks the deflate data that begins at in[0] and ends at in[len - 1] or before. */
pd_walk pd_deflate_walk(const uint8_t *in, size_t len);

#endif
