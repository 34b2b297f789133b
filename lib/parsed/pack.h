/* A delta that was made without a sink (pd_window_of), on its way to one: compressed by two threads, or
 * by one while the other does something else. The window may be committed and saved meanwhile, and
 * that is all that may be done with the context before pd_pack_finish. */
#ifndef PD_PARSED_PACK_H
#define PD_PARSED_PACK_H

#include "parsed/context.h"

typedef struct pd_pack {
    pprofdelta *pd;
    pd_deflate_two two;
    bool is_done; /* the bounded way has compressed it already */
} pd_pack;

/* Before the first window: gets ready what will be needed. */
void pd_pack_warm(pprofdelta *pd);

pprofdelta_status pd_pack_begin(pd_pack *pack, pprofdelta *pd, pprofdelta_error *err);

/* Is there so much to do that a second thread pays? */
bool pd_pack_is_large(const pd_pack *pack);

/* Each once, in any order or at once. */
void pd_pack_first(pd_pack *pack);
void pd_pack_second(pd_pack *pack);

/* Hands it to the sink and notes in the report, which may be NULL, how much it was. Needed after
 * pd_pack_begin succeeded. */
pprofdelta_status pd_pack_finish(pd_pack *pack, const pprofdelta_sink *sink,
                                 pprofdelta_report *report, pprofdelta_error *err);

#endif
