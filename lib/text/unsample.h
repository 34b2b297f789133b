/* From what a sampling allocator recorded to what the program did.
 *
 * An allocator that samples one byte in `rate` on average sees an allocation of s bytes with the
 * probability 1 - exp(-s / rate), so n objects of b bytes in all stand for n / p objects and b / p
 * bytes, with s = b / n. The mean size of what is scaled decides, which is why increments are
 * subtracted first and scaled then: a window's own sizes scale it, not those of all time. */
#ifndef PD_TEXT_UNSAMPLE_H
#define PD_TEXT_UNSAMPLE_H

#include <stdint.h>

/* Scales *objects and *bytes in place, rounded to the nearest. A rate below 2 means that every
 * allocation was seen; of values of which one is 0 the size is not known. Both stay as they are
 * then. What does not fit in 64 bits becomes the largest number that does. */
void pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes);

#endif
