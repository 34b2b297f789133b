/* A process of two stacks: see two_stacks.h. */
#include "two_stacks.h"

void two_stacks_begin(two_stacks *p)
{
    *p = (two_stacks){0};
    build_types(&p->b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&p->b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    build_place(&p->b, "leaf", app, 0x401000);
    p->leaf = build_sample(&p->b, "leaf main", "10 1000");
    p->other = build_sample(&p->b, "other", "100 100");
    p->b.m.time_nanos = 1000;
}

void two_stacks_end(two_stacks *p)
{
    build_free(&p->b);
}

buf two_stacks_look(two_stacks *p, int64_t count)
{
    p->leaf->values[0] = count;
    p->b.m.time_nanos += 1000;
    return build_bytes(&p->b);
}
