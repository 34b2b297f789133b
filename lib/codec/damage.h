/* What is wrong with deflate data that did not inflate: is it cut off or damaged, and where? */
#ifndef PD_CODEC_DAMAGE_H
#define PD_CODEC_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

typedef enum pd_damage_kind {
    PD_DAMAGE_NONE,     /* zlib finds nothing wrong */
    PD_DAMAGE_CUT_OFF,  /* all of it is good, but more has to follow */
    PD_DAMAGE_BAD,      /* it is not deflate data */
    PD_DAMAGE_NO_MEMORY /* there is no memory for zlib */
} pd_damage_kind;

typedef struct pd_damage {
    pd_damage_kind kind;
    size_t at;       /* NONE: the length of the data. CUT_OFF: len. BAD: the byte in question */
    uint64_t made;   /* bytes that the data before `at` inflates to */
    const char *why; /* BAD: zlib's message, in static words. Else NULL */
} pd_damage;

/* Inflates in[0..len) once more, from its first byte, and keeps nothing of the output. zlib's
 * memory comes from malloc. */
pd_damage pd_damage_find(const uint8_t *in, size_t len);

#endif
