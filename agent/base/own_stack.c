/* Stacks of the agent's own: see agent.h. */
#include "agent/base/agent.h"

#include "agent/base/reserve.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_LEN = 128 << 10, ENOUGH = 64 << 10 };

/* Those that no thread uses. A signal handler may take one at any time, and so may the child of a fork, which
 * loses those that other threads of its parent used. */
enum { UNUSED_MOST = 64 };
static _Atomic(char *) unused[UNUSED_MOST];

/* Returns NULL without memory. */
static char *take_stack(void)
{
    char *stack = NULL;
    for (int i = 0; i < UNUSED_MOST && !stack; i++)
        stack = atomic_exchange(&unused[i], NULL);
    return stack || atomic_load(&pd_is_confined) ? stack : pd_reserve_map(STACK_LEN);
}

static void give_stack(char *stack)
{
    for (int i = 0; i < UNUSED_MOST && stack; i++)
        stack = atomic_exchange(&unused[i], stack);
    if (!atomic_load(&pd_is_confined))
        pd_reserve_unmap(stack, STACK_LEN);
}

void pd_own_stack_begin(void)
{
    give_stack(take_stack());
}

/* Calls the function with the cookie on the stack that ends there. The frame pointer leads back, also for
 * unwinders. */
void pd_call_on(void (*function)(void *), void *cookie, char *end);

#define CALL_ON(body)                                                                              \
    __asm__(".pushsection .text\n"                                                                 \
            ".hidden pd_call_on\n"                                                                 \
            ".globl pd_call_on\n"                                                                  \
            ".type pd_call_on, %function\n"                                                        \
            "pd_call_on:\n"                                                                        \
            ".cfi_startproc\n" body ".cfi_endproc\n"                                               \
            ".size pd_call_on, . - pd_call_on\n"                                                   \
            ".popsection\n")

#if defined(__x86_64__) && __SIZEOF_POINTER__ == 8
CALL_ON("endbr64\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rdx, %rsp\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "call *%rax\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n");
#elif defined(__aarch64__)
CALL_ON("hint #34\n" /* bti c */
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register 29\n"
        "mov sp, x2\n"
        "mov x2, x0\n"
        "mov x0, x1\n"
        "blr x2\n"
        "mov sp, x29\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa sp, 0\n"
        "ret\n");
#else
void pd_call_on(void (*function)(void *), void *cookie, char *end)
{
    (void)end;
    function(cookie);
}
#endif

static bool has_room(void)
{
    const pd_self *self = &pd_this_thread;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < self->stack_end && here > self->stack_begin && here - self->stack_begin >= ENOUGH;
}

void pd_own_stack_call(void (*function)(void *cookie), void *cookie)
{
    char *stack = has_room() ? NULL : take_stack();
    if (!stack) {
        function(cookie);
        return;
    }
    pd_call_on(function, cookie, stack + STACK_LEN);
    give_stack(stack);
}

/* Both C libraries keep signals of their own out of the sets of their functions. */
void pd_own_stack_call_briefly(void (*function)(void *cookie), void *cookie)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before;
    bool is_masked = !has_room() && !atomic_load(&pd_is_confined) &&
                     syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all) == 0;
    pd_own_stack_call(function, cookie);
    if (is_masked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}
