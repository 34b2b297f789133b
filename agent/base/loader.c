/* Whether the loader can be called: see loader.h. */
#include "agent/base/loader.h"

#include "agent/base/await.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

enum { ANSWERS, NOT_KNOWN, ASKED };

static _Atomic int state = ANSWERS;

void pd_loader_forget(void)
{
    atomic_store(&state, NOT_KNOWN);
}

void pd_loader_expect(bool is_expected)
{
    int from = is_expected ? NOT_KNOWN : ASKED;
    atomic_compare_exchange_strong(&state, &from, is_expected ? ASKED : NOT_KNOWN);
}

static int look_at_nothing(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)info, (void)size, (void)cookie;
    return 1;
}

void pd_loader_ask(void)
{
    if (atomic_load(&state) == ANSWERS)
        return;
    dl_iterate_phdr(look_at_nothing, NULL);
    atomic_store(&state, ANSWERS);
}

bool pd_loader_answers(unsigned milliseconds)
{
    pd_await_change(&state, ASKED, milliseconds);
    return atomic_load(&state) == ANSWERS;
}
