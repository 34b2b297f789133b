/* The start of the agent in a process. The constructor runs before main; the functions of the program that
 * come earlier (malloc, mmap, exec) work before it and are not recorded. */
#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/inherit.h"
#include "agent/base/object.h"
#include "agent/base/real.h"
#include "agent/base/region.h"
#include "agent/base/reserve.h"
#include "agent/delivery/delivery.h"
#include "agent/interposed/rebind.h"
#include "agent/life/life.h"
#include "agent/python/python.h"
#include "agent/stacks/stacks.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The compressor allocates once, when the first profile is written. malloc cannot be called there
 * if that is in a signal handler. So the agent's own copy of the compressor gets pages. */
#ifdef PD_HAVE_DEFLATE_ALLOCATOR
static void *map_block(size_t size)
{
    const size_t header = 64; /* keeps the block aligned */
    size_t whole = size + header;
    char *pages = pd_reserve_map(whole);
    if (!pages)
        return NULL;
    memcpy(pages, &whole, sizeof whole);
    return pages + header;
}

static void unmap_block(void *ptr)
{
    const size_t header = 64;
    size_t whole;
    if (!ptr)
        return;
    memcpy(&whole, (char *)ptr - header, sizeof whole);
    pd_reserve_unmap((char *)ptr - header, whole);
}

static void set_compressor_memory(void)
{
    libdeflate_set_memory_allocator(map_block, unmap_block);
}
#else
static void set_compressor_memory(void)
{
}
#endif

static void *map_work(void *cookie, size_t size)
{
    (void)cookie;
    return pd_reserve_map(size);
}

static void unmap_work(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    pd_reserve_unmap(ptr, size);
}

static void name_address(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    if (!pd_python_name(address, out))
        pd_function_names_find(cookie, address, out);
}

static pprofdelta_status make_tracker(pprofdelta_heap **heap, pprofdelta_error *err)
{
    static const pprofdelta_heap_pages pages = {pd_region_map, pd_region_unmap, NULL};
    static const pprofdelta_heap_pages work = {map_work, unmap_work, NULL};
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.period = pd_given.rate;
    options.format = pd_given.format;
    options.resource = pd_given.resource;
    options.resource_len = pd_given.resource_len;
    options.started_nanos = pd_now();
    options.filter = &pd_filter;
    options.pages = &pages;
    options.work = &work;
    options.flags = PPROFDELTA_HEAP_NAMES_ONLY | PPROFDELTA_HEAP_AGES |
                    (pd_the_agent.is_late ? PPROFDELTA_HEAP_ATTACHED : 0);
    options.symbolize = name_address;
    if (pd_given.account) {
        options.gauge = PD_ACCOUNT_TYPE;
        options.gauge_unit = PD_ACCOUNT_UNIT;
        options.second_gauge = PD_ACCOUNT_MAPPED;
    }
    return pprofdelta_heap_new(&options, heap, err);
}

static bool begin_tracking(void)
{
    pprofdelta_error err;
    pprofdelta_heap *heap = NULL;
    pd_code_begin(); /* first: what the agent maps is known as its own */
    pd_reserve_begin();
    if (pd_given.live)
        pd_region_begin();
    pd_function_names_begin();
    set_compressor_memory();
    if (make_tracker(&heap, &err) != PPROFDELTA_OK) {
        pd_notice_refuse(err.text, "");
        return false;
    }
    pd_spool_begin();
    pd_the_agent.begun_nanos = pd_now();
    pd_loader_try();
    pd_counters_begin();
    pd_own_stack_begin();
    if (pd_given.command)
        pd_handover_begin();
    pd_the_agent.end = pd_agent_end;
    atomic_store(&pd_the_agent.next_number, 1);
    if (!pd_the_agent.is_late)
        pd_worker_begin();
    pd_fork_begin();
    at_quick_exit(pd_agent_end);
    if (!pd_the_agent.is_late)
        pd_extra_begin();
    pd_python_begin();
    if (!pd_agent_set_heap(heap)) {
        pd_notice_refuse("there is no memory for it", "");
        return false;
    }
    if (!pd_the_agent.is_late) {
        pd_signals_begin();
        pd_summary_begin();
    }
    return true;
}

static void begin_base(void)
{
    pd_real_find();
    pd_inherit_begin();
    pd_notice_begin();
    pd_program_begin();
}

/* Of a late start. What cannot be undone is left out: handlers of signals, and changes of the tables in which the
 * loader searches. */
static bool begin_late(void)
{
    begin_base();
    bool has_begun = begin_tracking();
    atomic_store_explicit(&pd_the_agent.has_begun, has_begun, memory_order_release);
    return has_begun;
}

__attribute__((constructor)) static void begin(void)
{
    PD_KEEP_ERRNO;
    if (pd_is_late()) {
        pd_the_agent.is_late = true;
        pd_the_agent.begin = begin_late;
        return;
    }
    begin_base();
    const char *wrong = pd_settings_read(&pd_given, NULL);
    if (getauxval(AT_SECURE))
        pd_notice_refuse("it runs with other rights than its user (setuid, setgid or capabilities)",
                         "");
    else if (wrong)
        pd_notice_refuse("the value of this variable is invalid: ", wrong);
    else if (!pd_malloc_is_ours())
        pd_notice_refuse("the program has its own malloc, which the agent cannot replace", "");
    else
        begin_tracking();
    atomic_store_explicit(&pd_the_agent.has_begun, true, memory_order_release);
}

__attribute__((destructor)) static void end(void)
{
    pd_agent_end();
}
