/* Errors: one call fills the caller's error struct and returns the status. */
#ifndef PD_BASE_ERROR_H
#define PD_BASE_ERROR_H

#include "pprofdelta.h"

/* Fills *err, unless err is NULL, and returns status, so that a function fails with `return
 * pd_fail(...)`. The reason is NONE. field is static, or NULL. element and offset may be
 * PPROFDELTA_NOWHERE. Marked cold: only failures call it. */
__attribute__((cold, format(printf, 7, 8))) pprofdelta_status
pd_fail(pprofdelta_error *err, pprofdelta_status status, pprofdelta_stage stage, const char *field,
        uint64_t element, uint64_t offset, const char *format, ...);

/* The same for a failure that has no element and no offset. */
#define PD_FAIL(err, status, stage, field, ...)                                                    \
    pd_fail(err, status, stage, field, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE, __VA_ARGS__)

/* Sets the reason of a failure, unless err is NULL, and returns status: `return pd_because(err, reason,
 * pd_fail(err, ...))`. */
__attribute__((cold)) pprofdelta_status pd_because(pprofdelta_error *err, pprofdelta_reason reason,
                                                   pprofdelta_status status);

/* Fails with an error that was set before. */
static inline pprofdelta_status pd_fail_as(pprofdelta_error *err, const pprofdelta_error *before)
{
    if (err)
        *err = *before;
    return before->status;
}

/* Fails with E_MEMORY: "no memory for <what>". */
__attribute__((cold)) pprofdelta_status pd_no_memory(pprofdelta_error *err, const char *what);

/* Fails with E_USAGE: a wrong argument, or a call out of order. */
__attribute__((cold)) pprofdelta_status pd_refuse(pprofdelta_error *err, const char *what);

/* Fails with E_LIMIT, in the values of samples: "<what> in 64 bits". offset: that of the sample. */
__attribute__((cold)) pprofdelta_status pd_no_fit(pprofdelta_error *err, uint64_t offset,
                                                  const char *what);
#define PD_SUM_FITS_NOT "equal samples are added up, and their sum does not fit"

/* Refuses a NULL where there must be something. */
static inline pprofdelta_status pd_need(const void *given, pprofdelta_error *err)
{
    return given ? PPROFDELTA_OK : pd_refuse(err, "an argument is NULL that must not be");
}

/* Refuses an array that is NULL and has a length. */
static inline pprofdelta_status pd_need_array(const void *array, size_t len, pprofdelta_error *err)
{
    return array || !len ? PPROFDELTA_OK
                         : pd_refuse(err, "an array is NULL and its length is not 0");
}

/* Calls a function, and returns its status from the caller if it failed. For a caller that has nothing to
 * undo: otherwise keep the status in a variable. */
#define PD_TRY(call)                                                                               \
    do {                                                                                           \
        const pprofdelta_status tried = (call);                                                    \
        if (tried)                                                                                 \
            return tried;                                                                          \
    } while (0)

#endif
