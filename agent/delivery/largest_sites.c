/* Reports of the largest sites: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"
#include "agent/python/python.h"

enum { SITES = 20 };

static PD_OF_PROCESS atomic_bool is_reported; /* a failed allocation, in this window */

static int write_sites(int fd, void *heap)
{
    return pprofdelta_heap_dump(heap, fd, SITES, pd_python_name_frame, NULL);
}

static void report_sites(pd_notice topic, pd_fixed_text *text)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (pd_given.command) {
        pd_text_add(text, "; the largest sites:");
        int fd = pd_notice_open(topic, text);
        if (fd >= 0)
            write_sites(fd, heap);
        pd_notice_close(fd);
        return;
    }
    uint64_t number;
    pd_fixed_text where = {.len = 0};
    int error = pd_spool_write(".top.txt", write_sites, heap, &number, &where);
    pd_text_add(text, "; the largest sites %s %s", error ? "could not be written:" : "are in",
                error ? pd_words_of_error(error) : where.bytes);
    pd_notice_print(topic, "%s", text->bytes);
}

void pd_largest_sites_out_of_memory(size_t size)
{
    pd_fixed_text text = {.len = 0};
    if (atomic_exchange(&is_reported, true))
        return;
    pd_text_add(&text, "an allocation of %zu bytes failed", size);
    report_sites(PD_NOTICE_MEMORY, &text);
}

void pd_largest_sites_threshold(void)
{
    pd_fixed_text text = {.len = 0};
    const char *where = pd_given.limit.where;
    pd_text_add(&text, "more than %ju bytes are in use", (uintmax_t)pd_given.threshold);
    if (pd_given.share)
        pd_text_add(&text, ", %ju%% of the %s of %ju bytes%s%s", (uintmax_t)pd_given.share,
                    *where ? "limit" : "machine's memory", (uintmax_t)pd_given.limit.bytes,
                    *where ? " in " : "", where);
    report_sites(PD_NOTICE_LIMIT, &text);
}

void pd_largest_sites_allow(void)
{
    atomic_store(&is_reported, false);
}
