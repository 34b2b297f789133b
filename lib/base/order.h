/* Puts numbers into an order, in place: without memory of its own, and in n log n steps for any input. */
#ifndef PD_BASE_ORDER_H
#define PD_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is a behind b? */
typedef bool pd_is_behind(const void *cookie, uint32_t a, uint32_t b);

void pd_order(uint32_t *list, size_t len, pd_is_behind *is_behind, const void *cookie);

#endif
