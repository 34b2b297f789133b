#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

pprofdelta_status pd_fail(pprofdelta_error *err, pprofdelta_status status, const char *stage,
                          const char *field, uint64_t element, uint64_t offset, const char *format,
                          ...)
{
    char text[sizeof err->text];
    if (!err)
        return status;
    err->status = status;
    err->reason = PPROFDELTA_REASON_NONE;
    err->stage = stage;
    err->element = element;
    err->offset = offset;
    err->is_prev = 0;
    snprintf(err->field, sizeof err->field, "%s", field ? field : "");
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pd_utf8_show(err->text, sizeof err->text, pd_bytes_of(text));
    return status;
}

pprofdelta_status pd_because(pprofdelta_error *err, pprofdelta_reason reason,
                             pprofdelta_status status)
{
    if (err)
        err->reason = reason;
    return status;
}

pprofdelta_status pd_no_memory(pprofdelta_error *err, const char *what)
{
    return PD_FAIL(err, PPROFDELTA_E_MEMORY, "memory", NULL, "no memory for %s", what);
}

pprofdelta_status pd_no_fit(pprofdelta_error *err, uint64_t offset, const char *what)
{
    return pd_fail(err, PPROFDELTA_E_LIMIT, "delta", "sample.value", PPROFDELTA_NOWHERE, offset,
                   "%s in 64 bits", what);
}

pprofdelta_status pd_refuse(pprofdelta_error *err, const char *what)
{
    return PD_FAIL(err, PPROFDELTA_E_USAGE, "options", NULL, "%s", what);
}

const char *pprofdelta_status_text(pprofdelta_status status)
{
    static const char *const text[] = {
        [PPROFDELTA_OK] = "done",
        [PPROFDELTA_E_MEMORY] = "out of memory",
        [PPROFDELTA_E_LIMIT] = "too large",
        [PPROFDELTA_E_INFLATE] = "damaged compressed data",
        [PPROFDELTA_E_WIRE] = "not well-formed protobuf",
        [PPROFDELTA_E_PROFILE] = "not a valid profile",
        [PPROFDELTA_E_MISMATCH] = "the profiles do not belong together",
        [PPROFDELTA_E_STAMPED] = "the input is a delta already",
        [PPROFDELTA_E_RESET] = "a counter went backwards",
        [PPROFDELTA_E_VERIFY] = "the sums do not add up",
        [PPROFDELTA_E_SINK] = "the output could not be written",
        [PPROFDELTA_E_USAGE] = "wrong use of the library",
        [PPROFDELTA_E_STATE] = "not a usable state",
        [PPROFDELTA_E_SOURCE] = "the input could not be read",
        [PPROFDELTA_E_NOT_CUMULATIVE] = "the input is not a cumulative profile",
        [PPROFDELTA_E_OLDER] = "the profile is older than the last one",
        [PPROFDELTA_E_OTHER_TARGET] = "the profiles are of two services",
    };
    if ((size_t)status >= sizeof text / sizeof *text)
        return "unknown status";
    return text[status];
}

const char *pprofdelta_version(void)
{
    return PPROFDELTA_VERSION;
}
