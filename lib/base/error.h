/* How a failure is told: one call that fills the caller's error struct and returns the status. */
#ifndef PD_BASE_ERROR_H
#define PD_BASE_ERROR_H

#include "pprofdelta.h"

/* Fills *err (which may be NULL) and returns status, so that a failing function reads
 * `return pd_fail(...)`. stage must be static; field may be NULL; element and offset may be
 * PPROFDELTA_NOWHERE. Cold by intent: nothing on a good path calls it. */
__attribute__((cold, format(printf, 7, 8))) pprofdelta_status
pd_fail(pprofdelta_error *err, pprofdelta_status status, const char *stage, const char *field,
        uint64_t element, uint64_t offset, const char *format, ...);

/* The same for wrong use: an argument, or a call out of order. */
__attribute__((cold)) pprofdelta_status pd_refuse(pprofdelta_error *err, const char *what);

#endif
