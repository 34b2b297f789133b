/* A whole window of a builder: begun, written, and committed, or abandoned if that failed. */
#ifndef PD_TESTS_SEND_H
#define PD_TESTS_SEND_H

#include "pprofdelta_record.h"

static inline pprofdelta_status builder_send(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                             pprofdelta_builder_report *report,
                                             pprofdelta_error *err)
{
    pprofdelta_status status = pprofdelta_builder_begin(b, err);
    if (status)
        return status;
    status = pprofdelta_builder_write(b, sink, report, err);
    if (status)
        pprofdelta_builder_abandon(b);
    else
        pprofdelta_builder_commit(b);
    return status;
}

#endif
