/* A lock and a condition, for what two threads tell each other: the caller's threads, as the
 * library starts none. */
#ifndef PD_BASE_MONITOR_H
#define PD_BASE_MONITOR_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct pd_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_made;
} pd_monitor; /* zero it to begin */

static inline pprofdelta_status pd_monitor_init(pd_monitor *m, pprofdelta_error *err)
{
    bool has_lock = pthread_mutex_init(&m->lock, NULL) == 0;
    m->is_made = has_lock && pthread_cond_init(&m->changed, NULL) == 0;
    if (m->is_made)
        return PPROFDELTA_OK;
    if (has_lock)
        pthread_mutex_destroy(&m->lock);
    return pd_fail(err, PPROFDELTA_E_MEMORY, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "no memory for a lock");
}

static inline void pd_monitor_fini(pd_monitor *m)
{
    if (!m->is_made)
        return;
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    m->is_made = false;
}

static inline void pd_monitor_enter(pd_monitor *m)
{
    pthread_mutex_lock(&m->lock);
}

static inline void pd_monitor_leave(pd_monitor *m)
{
    pthread_mutex_unlock(&m->lock);
}

/* Inside: sleeps until the other thread has said something, and is inside again. */
static inline void pd_monitor_wait(pd_monitor *m)
{
    pthread_cond_wait(&m->changed, &m->lock);
}

/* Inside. */
static inline void pd_monitor_tell(pd_monitor *m)
{
    pthread_cond_broadcast(&m->changed);
}

#endif
