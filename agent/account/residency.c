/* How many pages of an address range are resident: see residency.h. */
#include "agent/account/residency.h"

#include "agent/delivery/spool.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static int pagemap = -1;

void pd_residency_begin(void)
{
    pagemap = pd_spool_high(open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC));
}

void pd_residency_end(void)
{
    if (pagemap >= 0)
        close(pagemap);
    pagemap = -1;
}

uint64_t pd_residency_count(uintptr_t begin, uintptr_t end)
{
    enum { AT_ONCE = 4096 };
    static uint64_t entries[AT_ONCE];
    const uint64_t present = UINT64_C(1) << 63;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t count = 0;
    for (uintptr_t at = begin; at < end;) {
        size_t want = (end - at) / page < AT_ONCE ? (end - at) / page : AT_ONCE;
        ssize_t got = pagemap < 0 || !want ? -1
                                           : pread(pagemap, entries, want * sizeof *entries,
                                                   (off_t)(at / page * sizeof *entries));
        if (got < (ssize_t)sizeof *entries)
            return count + (end - at) / page;
        size_t len = (size_t)got / sizeof *entries;
        for (size_t i = 0; i < len; i++)
            count += (entries[i] & present) != 0;
        at += len * page;
    }
    return count;
}
