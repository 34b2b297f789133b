/* The stack walk held against the compiler's unwinder, in functions of every shape: with and
 * without a frame pointer, with a stack that is realigned or grows at run time, called back by the
 * C library, in a thread, on a stack of their own, and in a signal handler. */
#include "../support/test.h"

#include "agent/stacks/stacks.h"
#include "agent/base/agent.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unwind.h>

atomic_bool pd_is_confined;
__thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

#define APART __attribute__((noinline))
#ifdef __clang__
#define SHAPED(how) APART
#else
#define SHAPED(how) APART __attribute__((optimize(how)))
#endif

/* ---- the oracle ------------------------------------------------------------------------------ */

typedef struct trace {
    uint64_t at[PD_STACK_MAX];
    size_t len;
} trace;

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *cookie)
{
    trace *t = cookie;
    int is_before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);
    if (!pc || t->len == PD_STACK_MAX)
        return _URC_END_OF_STACK;
    t->at[t->len++] = is_before ? pc : pc - 1;
    return _URC_NO_REASON;
}

static volatile int compared, different;
static volatile size_t deepest;

/* Both look from here: the first frame is where each was called, so the rest must agree. */
APART static void compare(void)
{
    trace theirs = {.len = 0};
    static uint64_t ours[PD_STACK_MAX];
    static uintptr_t tops[PD_STACK_MAX];
    const pd_caller caller = PD_HERE(); // NOLINT: a signal handler calls it, which is the test
    size_t len = pd_unwind(&caller, ours, tops); // NOLINT
    _Unwind_Backtrace(note, &theirs);            // NOLINT
    /* theirs begins in this function, ours with its caller */
    bool is_same = theirs.len > 1 && len == theirs.len - 1 &&
                   memcmp(ours, theirs.at + 1, len * sizeof *ours) == 0;
    compared++;
    different += !is_same;
    if (len > deepest)
        deepest = len;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void (*volatile next)(int);
static volatile int sink;

APART static void plain(int depth)
{
    if (depth > 0)
        next(depth - 1);
    else
        compare();
    sink++;
}

SHAPED("no-omit-frame-pointer") static void with_pointer(int depth)
{
    plain(depth);
    sink++;
}

SHAPED("omit-frame-pointer") static void without_pointer(int depth)
{
    volatile char room[200] = {0};
    room[depth & 63] = 1;
    plain(depth);
    sink += room[3];
}

APART static void growing(int depth)
{
    volatile char *room = __builtin_alloca((size_t)depth * 24 + 40);
    room[0] = 1;
    plain(depth);
    sink += room[0];
}

APART static void realigned(int depth)
{
    _Alignas(128) volatile char room[256];
    room[depth & 63] = 1;
    plain(depth);
    sink += room[3] + (int)((uintptr_t)room & 127);
}

static int by_callback(const void *a, const void *b)
{
    without_pointer(3);
    return *(const int *)a - *(const int *)b;
}

static void (*const shapes[])(int) = {plain, with_pointer, without_pointer, growing, realigned};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void all_shapes(void)
{
    for (int a = 0; a < SHAPES; a++)
        for (int b = 0; b < SHAPES; b++) {
            next = shapes[a];
            shapes[b](20);
        }
}

static void expect_same(const char *what)
{
    if (compared == 0 || different != 0)
        printf("  %s: %d of %d stacks differ\n", what, different, compared);
    CHECK(compared > 0 && different == 0);
    compared = different = 0;
}

TEST(walks_of_the_first_thread)
{
    for (int round = 0; round < 2; round++) { /* the second time, from memory */
        all_shapes();
        expect_same("the first thread");
    }
    CHECK(deepest > 20);
    pd_unwind_forget();
    all_shapes();
    expect_same("after everything was forgotten");
}

TEST(called_back_by_the_c_library)
{
    int numbers[] = {5, 3, 9, 1};
    next = plain;
    qsort(numbers, 4, sizeof *numbers, by_callback);
    expect_same("in qsort");
}

static void *in_thread(void *unused)
{
    all_shapes();
    return unused;
}

TEST(walks_of_another_thread)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    expect_same("another thread");
}

static void on_signal(int number)
{
    (void)number;
    next = with_pointer;
    without_pointer(5);
}

/* The frame of a signal is one of the vDSO, which has its tables. qemu's user mode may have none. */
TEST(walks_in_signal_handlers)
{
    CHECK(compared == 0);
    if (!getauxval(AT_SYSINFO_EHDR)) {
        printf("  skipped: there is no vDSO\n");
        return;
    }
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    expect_same("a signal handler");
    static char room[1 << 16];
    const stack_t own = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&own, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    expect_same("a signal handler on a stack of its own");
}

static ucontext_t outside, inside;

static void coroutine(void)
{
    all_shapes();
}

TEST(walks_of_a_coroutine)
{
    static char stack[1 << 16];
    CHECK(getcontext(&inside) == 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    CHECK(swapcontext(&outside, &inside) == 0);
    expect_same("a coroutine");
}

/* Frame pointers that lead anywhere must not be followed out of the stack. */
TEST(a_stack_without_tables)
{
    uint64_t stack[PD_STACK_MAX];
    uintptr_t tops[PD_STACK_MAX];
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const uintptr_t wrong[] = {0, 8, here + 3, here - 64, UINTPTR_MAX - 7, (uintptr_t)stack};
    memset(stack, 0x41, sizeof stack);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const pd_caller caller = {.pc = 0x1000, .sp = here, .fp = wrong[i]};
        size_t len = pd_unwind(&caller, stack, tops);
        CHECK(len >= 1 && len <= 3 && stack[0] == 0xfff);
    }
}

TEST_MAIN()
