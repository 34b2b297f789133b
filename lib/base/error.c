#include "base/error.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pprofdelta_status pd_fail(pprofdelta_error *err, pprofdelta_status status, pprofdelta_stage stage,
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
    err->field = field ? field : "";
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
    return PD_FAIL(err, PPROFDELTA_E_MEMORY, PPROFDELTA_STAGE_MEMORY, NULL, "no memory for %s",
                   what);
}

pprofdelta_status pd_no_fit(pprofdelta_error *err, uint64_t offset, const char *what)
{
    return pd_fail(err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_DELTA, "sample.value",
                   PPROFDELTA_NOWHERE, offset, "%s in 64 bits", what);
}

pprofdelta_status pd_refuse(pprofdelta_error *err, const char *what)
{
    return PD_FAIL(err, PPROFDELTA_E_USAGE, PPROFDELTA_STAGE_OPTIONS, NULL, "%s", what);
}

size_t pprofdelta_error_line(const pprofdelta_error *err, char *out, size_t cap)
{
    const int first = (int)strcspn(err->field, ".");
    char index[32] = "", at[80] = "";
    if (*err->field && err->element != PPROFDELTA_NOWHERE)
        snprintf(index, sizeof index, "[%" PRIu64 "]", err->element);
    if (err->offset != PPROFDELTA_NOWHERE)
        snprintf(at, sizeof at, " (at byte %" PRIu64 " of the %s)", err->offset,
                 err->stage == PPROFDELTA_STAGE_INFLATE ? "compressed file"
                 : err->stage == PPROFDELTA_STAGE_STATE ? "file"
                                                        : "uncompressed file");
    return (size_t)snprintf(out, cap, "%.*s%s%s%s%s%s", first, err->field, index,
                            err->field + first, *err->field ? ": " : "", err->text, at);
}

const char *pprofdelta_version(void)
{
    return PPROFDELTA_VERSION;
}
