/* A thread that was cancelled goes on until it comes to a place where threads end: an allocation that
 * fails is none. */
#include "program.h"

static volatile size_t huge = (size_t)1 << (sizeof(size_t) * 6);
static atomic_bool is_cancelled, has_returned;

static void *allocate(void *unused)
{
    while (!atomic_load(&is_cancelled))
        continue;
    void *volatile nothing = malloc(huge);
    atomic_store(&has_returned, nothing == NULL);
    free(nothing);
    pthread_testcancel();
    return unused;
}

int main(void)
{
    void *result = NULL;
    pthread_t thread = start_thread(allocate, NULL);
    pthread_cancel(thread);
    atomic_store(&is_cancelled, true);
    pthread_join(thread, &result);
    printf("malloc %s, the thread %s\n", atomic_load(&has_returned) ? "returned" : "did not return",
           result == PTHREAD_CANCELED ? "was cancelled" : "was not cancelled");
    return 0;
}
