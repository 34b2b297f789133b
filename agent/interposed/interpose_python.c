/* The objects of CPython. Its own allocator (pymalloc) takes blocks up to 512 bytes from arenas, which malloc does not see.
 *
 *     object_malloc -> tick -> pymalloc                                     not a sample
 *                           -> pymalloc, asked for LARGE bytes -> malloc    a sample: this malloc tracks it
 *
 * So a sample lies outside of the arenas, where pymalloc's free and realloc pass it on to those of C: free needs no
 * hook. The block notes its size behind the object, for realloc.
 *
 * pymalloc's realloc leaves a block where it is, or takes a new one. The latter counts as the end of one object and the
 * begin of another, for samples and all others alike. */
#include "agent/interposed/rebind.h"
#include "agent/interposed/wrap.h"

#include "agent/account/account.h"
#include "agent/base/real.h"
#include "agent/python/python.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 512, LARGE = SMALL + sizeof(uint64_t), DOMAIN_RAW = 0, DOMAIN_MEM, DOMAIN_OBJECT };

/* PyMemAllocatorEx. */
typedef struct allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *ptr, size_t size);
    void (*free)(void *context, void *ptr);
} allocator;

static allocator pymalloc;

/* The debug hooks of Python have so many bytes before what they ask malloc for. */
enum { DEBUG_HEADER = 16 };
static size_t before_block;

static void *block_of(void *ptr)
{
    return (char *)ptr - before_block;
}

/* ---- samples ----------------------------------------------------------------------------------- */

static size_t room_of(void *ptr)
{
    const size_t all = pd_real.malloc_usable_size(block_of(ptr));
    return all > 2 * before_block ? all - 2 * before_block : 0;
}

/* The size of a sample, behind the object. It counts for so many bytes. What malloc gives out may have an old mark, and
 * then nearly always counts for others; if not, the estimate is wrong, and nothing else. */
static uint64_t mark_of(const void *ptr, int64_t bytes, size_t size)
{
    return (uintptr_t)ptr * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)bytes * 1024 + size;
}

static void set_mark(void *ptr, int64_t bytes, size_t size)
{
    uint64_t mark = mark_of(ptr, bytes, size);
    memcpy((char *)ptr + SMALL, &mark, sizeof mark);
}

/* Returns the size of the object, or more than SMALL if the block is not of a sample. */
static size_t marked_size(void *ptr, const pd_resizing *resizing)
{
    uint64_t mark;
    if (room_of(ptr) < LARGE)
        return SIZE_MAX;
    memcpy(&mark, (char *)ptr + SMALL, sizeof mark);
    return (size_t)(mark - mark_of(ptr, resizing->move.bytes, 0));
}

/* Asks for a block that malloc tracks as a sample of this size. */
static void *ask_for_sample(void *context, size_t size, const pprofdelta_weight *weight,
                            bool is_zeroed)
{
    pd_self *self = &pd_this_thread;
    const int64_t left = self->sampler.left;
    self->object = *weight;
    self->sampler.left = -1; /* malloc takes the slow path */
    void *ptr = is_zeroed ? pymalloc.calloc(context, 1, LARGE) : pymalloc.malloc(context, LARGE);
    self->sampler.left = left;
    self->object.bytes = 0;
    if (ptr)
        set_mark(ptr, weight->bytes, size);
    return ptr;
}

PD_SLOW static void *allocate_slow(void *context, size_t size, bool is_zeroed)
{
    pprofdelta_weight weight;
    if (pd_slow_draw(size, &weight))
        return ask_for_sample(context, size, &weight, is_zeroed);
    return is_zeroed ? pymalloc.calloc(context, 1, size) : pymalloc.malloc(context, size);
}

static void *object_malloc(void *context, size_t size)
{
    return size <= SMALL && pd_tick(size) ? allocate_slow(context, size, false)
                                          : pymalloc.malloc(context, size);
}

static void *object_calloc(void *context, size_t count, size_t size)
{
    size_t all = pd_product(count, size);
    return all <= SMALL && pd_tick(all) ? allocate_slow(context, all, true)
                                        : pymalloc.calloc(context, count, size);
}

/* ---- realloc ----------------------------------------------------------------------------------- */

/* Would pymalloc leave a block of `before` bytes where it is? */
static bool stays(size_t before, size_t after)
{
    const size_t block = before ? (before + 15) & ~(size_t)15 : 16;
    return after <= block && 4 * after > 3 * block;
}

/* Gives a new block of pymalloc up for one that is a sample, if it is one. */
PD_SLOW static void *moved_slow(void *context, void *ptr, size_t size)
{
    pprofdelta_weight weight;
    void *sample =
        pd_slow_draw(size, &weight) ? ask_for_sample(context, size, &weight, false) : NULL;
    if (!sample)
        return ptr;
    memcpy(sample, ptr, size);
    pymalloc.free(context, ptr);
    return sample;
}

/* The block of a sample is resized. It is not tracked meanwhile. */
static void *resize_sample(void *context, void *ptr, size_t size, pd_resizing *resizing,
                           const pd_caller *caller)
{
    const size_t room = room_of(ptr);
    if (stays(resizing->before, size)) {
        const bool is_exact = resizing->is_exact;
        set_mark(ptr, is_exact ? (int64_t)size : resizing->move.bytes, size);
        pd_slow_resized(resizing, block_of(ptr), is_exact ? size : resizing->before, caller);
        return ptr;
    }
    void *moved = object_malloc(context, size);
    if (!moved) {
        pd_slow_resized(resizing, block_of(ptr), resizing->before, caller);
        return NULL;
    }
    memcpy(moved, ptr, room < size ? room : size);
    pd_slow_resized(resizing, NULL, 0, caller);
    pymalloc.free(context, ptr);
    return moved;
}

/* Only of a block that is tracked is it known that malloc gave it out. */
PD_SLOW static void *realloc_slow(void *context, void *ptr, size_t size)
{
    const pd_caller caller = PD_HERE();
    void *block = block_of(ptr);
    pd_resizing resizing;
    pd_slow_resize(&resizing, block, 0);
    if (!resizing.was_tracked)
        return pymalloc.realloc(context, ptr, size);
    const size_t before = marked_size(ptr, &resizing);
    if (before <= SMALL) {
        resizing.before = before;
        return resize_sample(context, ptr, size, &resizing, &caller);
    }
    pd_slow_resized(&resizing, block, resizing.before, &caller);
    return pymalloc.realloc(context, ptr, size);
}

static void *object_realloc(void *context, void *ptr, size_t size)
{
    if (ptr && pprofdelta_heap_maybe(&pd_filter, block_of(ptr)))
        return realloc_slow(context, ptr, size);
    void *now = pymalloc.realloc(context, ptr, size);
    return now != ptr && now && size <= SMALL && pd_tick(size) ? moved_slow(context, now, size)
                                                               : now;
}

/* ---- arenas ------------------------------------------------------------------------------------ */

/* PyObjectArenaAllocator. */
typedef struct arena_allocator {
    void *context;
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *ptr, size_t size);
} arena_allocator;

static arena_allocator arenas;

/* What pymalloc maps is a part of its own in the account. Objects in it are in the stacks. */
static void *map_arena(void *context, size_t size)
{
    atomic_store(&pd_arena_size, size);
    pd_this_thread.maps_arena = true;
    void *arena = arenas.alloc(context, size);
    pd_this_thread.maps_arena = false;
    return arena;
}

/* ---- the domains ------------------------------------------------------------------------------- */

static struct {
    void (*get)(int domain, allocator *out);
    void (*set)(int domain, allocator *in);
    void (*get_arenas)(arena_allocator *out);
    void (*set_arenas)(arena_allocator *in);
    const char *(*name)(void);
    void (*set_debug)(void);
    int (*is_there)(void);
    int (*call)(int (*function)(void *), void *cookie);
} python;

static bool has_functions(void)
{
    static const struct {
        void *function;
        const char *name;
    } functions[] = {{&python.get, "PyMem_GetAllocator"},
                     {&python.set, "PyMem_SetAllocator"},
                     {&python.get_arenas, "PyObject_GetArenaAllocator"},
                     {&python.set_arenas, "PyObject_SetArenaAllocator"},
                     {&python.name, "_PyMem_GetCurrentAllocatorName"},
                     {&python.set_debug, "PyMem_SetupDebugHooks"},
                     {&python.is_there, "Py_IsInitialized"},
                     {&python.call, "Py_AddPendingCall"}};
    bool has_all = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(RTLD_DEFAULT, functions[i].name);
        memcpy(functions[i].function, &found, sizeof found);
        has_all &= found != NULL;
    }
    return has_all;
}

static void stand_in_domains(void)
{
    allocator ours = {pymalloc.context, object_malloc, object_calloc, object_realloc,
                      pymalloc.free};
    python.set(DOMAIN_OBJECT, &ours);
    python.set(DOMAIN_MEM, &ours);
}

/* In the main thread of the interpreter, which has its lock. Where malloc is used, nothing is missed, and what another
 * tool puts before ours, it will take away. */
static int stand_again(void *cookie)
{
    (void)cookie;
    const char *name = python.name();
    bool is_debug = name && !strcmp(name, "pymalloc_debug");
    if (!is_debug && (!name || strcmp(name, "pymalloc") != 0))
        return 0;
    stand_in_domains();
    if (is_debug) {
        python.set_debug();
        before_block = DEBUG_HEADER;
    }
    return 0;
}

/* An interpreter may be loaded later. */
void pd_python_tend(void)
{
    static void *(*last)(void *, size_t) = object_malloc;
    allocator now;
    if (!pymalloc.malloc && pd_python_may_have_come())
        pd_python_begin();
    if (!pymalloc.malloc || !python.is_there())
        return;
    python.get(DOMAIN_OBJECT, &now);
    if (now.malloc == last)
        return;
    last = now.malloc;
    if (last != object_malloc)
        python.call(stand_again, NULL);
}

/* Before there is an interpreter, or with its lock. */
static int stand(void *cookie)
{
    allocator raw, object, memory;
    (void)cookie;
    python.get(DOMAIN_RAW, &raw);
    python.get(DOMAIN_OBJECT, &object);
    python.get(DOMAIN_MEM, &memory);
    if (object.malloc == raw.malloc || object.malloc != memory.malloc ||
        object.malloc == object_malloc)
        return 0;
    pymalloc = object;
    stand_in_domains();
    python.get_arenas(&arenas);
    arena_allocator ours = {arenas.context, map_arena, arenas.free};
    python.set_arenas(&ours);
    return 0;
}

void pd_python_begin(void)
{
    static bool is_known;
    pd_the_agent.tend = pd_python_tend;
    is_known = is_known || (pd_python_find() && has_functions());
    dlerror(); /* the program sees no error of a function that was not found */
    if (is_known && python.is_there())
        python.call(stand, NULL);
    else if (is_known)
        stand(NULL);
}

/* With the interpreter's lock. What another tool puts before ours stays, and so does ours. */
static int leave(void *cookie)
{
    allocator object;
    arena_allocator now;
    (void)cookie;
    python.get(DOMAIN_OBJECT, &object);
    python.get_arenas(&now);
    if (object.malloc == object_malloc) {
        python.set(DOMAIN_OBJECT, &pymalloc);
        python.set(DOMAIN_MEM, &pymalloc);
    }
    if (now.alloc == map_arena)
        python.set_arenas(&arenas);
    return 0;
}

void pd_python_leave(void)
{
    pd_the_agent.tend = NULL;
    if (pymalloc.malloc && python.is_there())
        python.call(leave, NULL);
}
