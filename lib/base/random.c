#include "base/random.h"

#include "base/key.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t pd_random_id(const void *of)
{
    uint64_t id = 0;
    int kept = errno;
    if (getrandom(&id, sizeof id, GRND_NONBLOCK) != sizeof id || !id) {
        struct timespec now = {0, 0};
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t words[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid(),
                            (uint64_t)(uintptr_t)of};
        id = pd_key_of_words(words, 4, 0).lo | 1;
    }
    errno = kept;
    return id;
}
