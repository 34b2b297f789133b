/* A builder around a fork.
 *
 * pthread_atfork takes functions without a cookie. So the builders of pprofdelta_builder_atfork are
 * in a global list, the only global state of the library. */
#include "base/random.h"
#include "base/time.h"
#include "builder/builder.h"

#include <pthread.h>
#include <unistd.h>

void pprofdelta_builder_fork_prepare(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_gate_enter(&b->shards[i].gate);
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_enter(&b->pool[i].gate);
}

void pprofdelta_builder_fork_parent(pprofdelta_builder *b)
{
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_leave(&b->pool[i].gate);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_gate_leave(&b->shards[i].gate);
    pd_gate_leave(&b->work);
}

/* fork_prepare left everything complete, and the child has one thread. Samples in the queue, and
 * samples that are being put together, have an older generation and are not added. */
void pprofdelta_builder_fork_child(pprofdelta_builder *b)
{
    atomic_fetch_add(&b->generation, 1);
    pd_collected_clear(&b->spare);
    pd_collected_clear(&b->outgoing);
    b->pid = getpid();
    b->id = pd_random_id(b);
    b->series = (pd_series){.last = {.to_nanos = pd_time_now()}};
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_reset(&b->pool[i].gate);
    for (size_t i = 0; i < PD_SHARDS; i++) {
        pd_collected_clear(&b->shards[i].collected);
        pd_gate_reset(&b->shards[i].gate);
    }
    b->window = (pd_builder_window){.number = b->window.number + 1};
    pd_gate_reset(&b->work);
}

/* ---- at every fork --------------------------------------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pprofdelta_builder *list;
static bool is_registered;

static void before(void)
{
    pthread_mutex_lock(&list_lock);
    for (pprofdelta_builder *b = list; b; b = b->next_at_fork)
        pprofdelta_builder_fork_prepare(b);
}

static void in_parent(void)
{
    for (pprofdelta_builder *b = list; b; b = b->next_at_fork)
        pprofdelta_builder_fork_parent(b);
    pthread_mutex_unlock(&list_lock);
}

static void in_child(void)
{
    for (pprofdelta_builder *b = list; b; b = b->next_at_fork)
        pprofdelta_builder_fork_child(b);
    pthread_mutex_unlock(&list_lock);
}

/* The pointer to the builder in the list, or the end of the list. */
static pprofdelta_builder **find(const pprofdelta_builder *b)
{
    pprofdelta_builder **at = &list;
    while (*at && *at != b)
        at = &(*at)->next_at_fork;
    return at;
}

pprofdelta_status pprofdelta_builder_atfork(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    pthread_mutex_lock(&list_lock);
    if (!is_registered && pthread_atfork(before, in_parent, in_child) != 0)
        status = pd_no_memory(err, "the handlers of fork");
    is_registered = !status;
    if (!status && !*find(b)) {
        b->next_at_fork = list;
        list = b;
    }
    pthread_mutex_unlock(&list_lock);
    return status;
}

void pd_builder_forget_fork(pprofdelta_builder *b)
{
    pthread_mutex_lock(&list_lock);
    pprofdelta_builder **at = find(b);
    if (*at)
        *at = b->next_at_fork;
    pthread_mutex_unlock(&list_lock);
}
