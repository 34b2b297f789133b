#include "profile/parts.h"

bool pd_parts_next(pd_parts *p, pd_reader *top, pprofdelta_status *status, pprofdelta_error *err)
{
    uint64_t need = PD_PARTS_HEAD;
    if (p->is_begun) {
        need = 1;
        if (p->is_end)
            return false;
        if (top->trouble && (need = pd_reader_lacks(top)) <= (uint64_t)(top->end - top->at))
            return false;
        p->at += (uint64_t)(top->at - p->part.ptr);
    }
    *status = pd_stream_reach(p->stream, p->at, need, &p->part, err);
    if (*status)
        return false;
    p->is_begun = true;
    p->is_end = p->stream->is_done;
    *top = pd_reader_of(p->part.ptr, p->part.len);
    return true;
}

pprofdelta_status pd_parts_keep_strings(const pd_tables *t, size_t from, pd_buffer *text,
                                        pd_mem *mem, pprofdelta_error *err)
{
    size_t len = 1; /* so that there is something to point to */
    for (size_t i = from; i < t->strings_len; i++)
        len += t->strings[i].len; /* no more than the part */
    pprofdelta_status status = pd_buffer_room(mem, text, len, err);
    for (size_t i = from; i < t->strings_len && !status; i++) {
        if (t->strings[i].len)
            memcpy(text->ptr + text->len, t->strings[i].ptr, t->strings[i].len);
        text->len += t->strings[i].len;
    }
    return status;
}

void pd_parts_point_strings(pd_tables *t, const pd_buffer *text)
{
    const uint8_t *at = text->ptr;
    for (size_t i = 0; i < t->strings_len; i++) {
        t->strings[i].ptr = at;
        at += t->strings[i].len;
    }
}
