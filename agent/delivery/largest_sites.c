/* Reports of the largest sites: see largest_sites.h. */
#include "agent/delivery/largest_sites.h"

#include "agent/base/agent.h"
#include "agent/base/notice.h"
#include "agent/delivery/spool.h"

#include <errno.h>
#include <unistd.h>

enum { SITES = 20 };

static atomic_bool is_reported; /* a failed allocation, in this window */

/* Writes the report to a file and adds its path. Returns 0 or an errno value. */
static int to_file(pprofdelta_heap *heap, pd_fixed_text *where)
{
    const char *dir = pd_the_agent.settings.dir;
    pid_t pid = getpid();
    pd_spool_file file;
    if (pd_spool_create(&file, dir, pid) < 0)
        return errno;
    int error = pprofdelta_heap_dump(heap, file.fd, SITES);
    if (error) {
        pd_spool_discard(&file);
        return error;
    }
    uint64_t number = atomic_load(&pd_the_agent.next_number);
    return pd_spool_publish(&file, dir, pid, ".top.txt", &number, where);
}

static void report(pprofdelta_heap *heap, pd_notice topic, pd_fixed_text *text)
{
    if (pd_the_agent.settings.command) {
        pd_fixed_text_add(text, "; the largest sites:");
        int fd = pd_notice_open(topic, text);
        if (fd >= 0)
            pprofdelta_heap_dump(heap, fd, SITES);
        pd_notice_close(fd);
        return;
    }
    pd_fixed_text where = {.len = 0};
    int error = to_file(heap, &where);
    if (error) {
        pd_fixed_text_add(text, "; the largest sites could not be written: ");
        pd_fixed_text_add_error(text, error);
    } else {
        pd_fixed_text_add(text, "; the largest sites are in ");
        pd_fixed_text_add(text, where.bytes);
    }
    pd_notice_send(topic, text);
}

void pd_largest_sites_out_of_memory(pprofdelta_heap *heap, size_t size)
{
    if (atomic_exchange(&is_reported, true))
        return;
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "an allocation of ");
    pd_fixed_text_add_number(&text, size);
    pd_fixed_text_add(&text, " bytes failed");
    report(heap, PD_NOTICE_MEMORY, &text);
}

void pd_largest_sites_threshold(void)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "more than ");
    pd_fixed_text_add_number(&text, pd_the_agent.settings.threshold);
    pd_fixed_text_add(&text, " bytes are in use");
    report(heap, PD_NOTICE_LIMIT, &text);
}

void pd_largest_sites_allow(void)
{
    atomic_store(&is_reported, false);
}
