/* The callers of an allocation: see stacks.h. */
#include "agent/stacks/stacks.h"

#include "agent/base/object.h"
#include "agent/base/agent.h"
#include "agent/stacks/cfi.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* ---- the cache of rules ------------------------------------------------------------------------
 * A table without a lock. An entry has two words, and the first is the address xor the second. So
 * an entry that two threads wrote at once does not match any address. */

enum { CACHE_BITS = 12, CACHE_LEN = 1 << CACHE_BITS };

static struct {
    _Atomic uint64_t check, rule;
} cache[CACHE_LEN];

static pd_frame_rule rule_at(uintptr_t pc)
{
    _Static_assert(sizeof(pd_frame_rule) == sizeof(uint64_t), "a rule is one word");
    size_t slot = (size_t)((uint64_t)pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS));
    uint64_t word = atomic_load_explicit(&cache[slot].rule, memory_order_relaxed);
    uint64_t check = atomic_load_explicit(&cache[slot].check, memory_order_relaxed);
    pd_frame_rule rule;
    memcpy(&rule, &word, sizeof rule);
    if ((check ^ word) == pc)
        return rule;
    rule = pd_cfi_find(pc);
    /* An address without a table is not cached, since code with a table may be loaded there. */
    if (rule.kind != PD_FRAME_UNKNOWN) {
        memcpy(&word, &rule, sizeof word);
        atomic_store_explicit(&cache[slot].rule, word, memory_order_relaxed);
        atomic_store_explicit(&cache[slot].check, word ^ pc, memory_order_relaxed);
    }
    return rule;
}

void pd_unwind_forget(void)
{
    for (size_t i = 0; i < CACHE_LEN; i++) {
        atomic_store_explicit(&cache[i].rule, 0, memory_order_relaxed);
        atomic_store_explicit(&cache[i].check, 0, memory_order_relaxed);
    }
}

/* ---- the thread's stack ---------------------------------------------------------------------- */

/* The first thread's stack ends where the kernel put the program's name, and is as long as the
 * limit allows. The C library's function is not used here, since it reads /proc. */
static bool find_first_stack(pd_self *self, uintptr_t sp)
{
    const uintptr_t most = (uintptr_t)512 << 20;
    struct rlimit limit;
    uintptr_t end = (uintptr_t)getauxval(AT_EXECFN) & ~(uintptr_t)7;
    if (!end || getrlimit(RLIMIT_STACK, &limit))
        return false;
    uintptr_t len = limit.rlim_cur > most ? most : (uintptr_t)limit.rlim_cur;
    if (end - sp >= len)
        return false;
    self->stack_begin = end - len;
    self->stack_end = end;
    return true;
}

/* The C library may hold the lock of the thread that pthread_getattr_np takes: that function itself
 * allocates with it held, and Rust's library calls it at the start of each thread. So the stack is
 * found by the first allocation that the C library does not make. */
static void find_stack(pd_self *self, const pd_caller *caller)
{
    if (self->stack_is_known || atomic_load(&pd_is_confined))
        return;
    bool is_first = find_first_stack(self, caller->sp) || syscall(SYS_gettid) == getpid();
    self->stack_is_known = is_first || !pd_code_is_of_libc(caller->pc - 1);
    if (is_first || !self->stack_is_known)
        return;
    pthread_attr_t attributes;
    void *begin;
    size_t len;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &begin, &len)) {
        self->stack_begin = (uintptr_t)begin;
        self->stack_end = (uintptr_t)begin + len;
    }
    pthread_attr_destroy(&attributes);
}

/* ---- the walk -------------------------------------------------------------------------------- */

#if defined(__aarch64__)
/* Removes the signature that pointer authentication puts into a return address. */
static uintptr_t plain_address(uintptr_t address)
{
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}

/* The registers that the kernel saved at sp for a signal handler: siginfo, and behind it this. */
static pd_caller interrupted_at(uintptr_t sp)
{
    const mcontext_t *saved =
        &((const ucontext_t *)(sp + sizeof(siginfo_t)))->uc_mcontext; // NOLINT
    return (pd_caller){saved->pc, saved->sp, saved->regs[29]};
}
#elif defined(__x86_64__)
static uintptr_t plain_address(uintptr_t address)
{
    return address;
}

static pd_caller interrupted_at(uintptr_t sp)
{
    const greg_t *saved = ((const ucontext_t *)sp)->uc_mcontext.gregs; // NOLINT
    return (pd_caller){(uintptr_t)saved[REG_RIP], (uintptr_t)saved[REG_RSP],
                       (uintptr_t)saved[REG_RBP]};
}
#else /* every rule is COMPLEX */
static uintptr_t plain_address(uintptr_t address)
{
    return address;
}

static pd_caller interrupted_at(uintptr_t sp)
{
    return (pd_caller){.sp = sp};
}
#endif

/* Reads a saved word of the frame. Returns false if it is not between sp and the end of the
 * stack. */
static bool load_word(uintptr_t at, uintptr_t sp, uintptr_t end, uintptr_t *out)
{
    if (at < sp || at > end - sizeof *out || at % sizeof *out)
        return false;
    *out = *(const uintptr_t *)at; // NOLINT(performance-no-int-to-ptr)
    return true;
}

/* Goes to the caller of the frame by the rule. Returns false if that leads out of the stack. */
static bool climb_frame(pd_caller *at, const pd_frame_rule *rule, uintptr_t end)
{
    uintptr_t cfa = (rule->from_fp ? at->fp : at->sp) + 8 * (uintptr_t)rule->cfa_off;
    pd_caller up = {.sp = cfa, .fp = at->fp};
    if (cfa <= at->sp || cfa > end ||
        !load_word(cfa - 8 * (uintptr_t)rule->ra_below, at->sp, end, &up.pc))
        return false;
    if (rule->fp_below && !load_word(cfa - 8 * (uintptr_t)rule->fp_below, at->sp, end, &up.fp))
        return false;
    up.pc = plain_address(up.pc);
    *at = up;
    return true;
}

/* For code without tables, which is assumed to keep frame pointers: a pair of words at fp. */
static const pd_frame_rule by_frame_pointer = {
    .kind = PD_FRAME_RULE, .from_fp = true, .cfa_off = 2, .ra_below = 1, .fp_below = 2};

/* Where the stack at sp ends: the thread's own one, or a stack of which nothing is known. */
static uintptr_t end_of_stack(uintptr_t sp)
{
    const pd_self *self = &pd_this_thread;
    return sp >= self->stack_begin && sp < self->stack_end ? self->stack_end : UINTPTR_MAX;
}

/* Returns false if the compiler's unwinder must be used. */
static bool walk_frames(const pd_caller *caller, uint64_t *stack, uintptr_t *tops, size_t *depth)
{
    pd_caller at = *caller;
    uintptr_t end = end_of_stack(at.sp), in_call = 1; /* 0: the frame was interrupted */
    at.pc = plain_address(at.pc);
    *depth = 0;
    while (*depth < PD_STACK_MAX && at.pc > 1) {
        if (!pd_code_is_own(at.pc)) {
            if (!*depth) {
                find_stack(&pd_this_thread, &at);
                end = end_of_stack(at.sp);
            }
            if (tops)
                tops[*depth] = at.sp;
            stack[(*depth)++] = at.pc - in_call;
        }
        pd_frame_rule rule = rule_at(at.pc - in_call);
        bool is_guess = rule.kind == PD_FRAME_UNKNOWN;
        in_call = 1;
        if (rule.kind == PD_FRAME_END)
            break;
        if (rule.kind == PD_FRAME_SIGNAL) {
            at = interrupted_at(at.sp);
            end = end_of_stack(at.sp);
            in_call = 0;
        } else if (rule.kind == PD_FRAME_COMPLEX) {
            return false;
        } else if (is_guess && end == UINTPTR_MAX) {
            /* glibc has a table for what a signal handler returns to. So this is where the stack begins.
             * Elsewhere it may be that signal frame, which the unwinder knows by its instructions. */
            return pd_is_glibc();
        } else if (!climb_frame(&at, is_guess ? &by_frame_pointer : &rule, end)) {
            return is_guess;
        }
    }
    return true;
}

/* ---- the compiler's unwinder ----------------------------------------------------------------- */

typedef struct trace {
    uint64_t *stack;
    uintptr_t *tops;
    size_t depth;
    uintptr_t pc; /* of the caller; the frames before it are the agent's */
    bool has_begun;
} trace;

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *cookie)
{
    trace *t = cookie;
    int is_before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);
    t->has_begun |= pc == t->pc;
    if (!t->has_begun)
        return _URC_NO_REASON;
    if (t->depth == PD_STACK_MAX || !pc)
        return _URC_END_OF_STACK;
    if (!pd_code_is_own(pc)) {
        if (t->tops)
            t->tops[t->depth] = _Unwind_GetCFA(context);
        t->stack[t->depth++] = is_before ? pc : pc - 1;
    }
    return _URC_NO_REASON;
}

size_t pd_unwind(const pd_caller *caller, uint64_t stack[PD_STACK_MAX],
                 uintptr_t tops[PD_STACK_MAX])
{
    PD_KEEP_ERRNO;
    trace t = {.stack = stack, .tops = tops, .pc = plain_address(caller->pc)};
    if (!walk_frames(caller, stack, tops, &t.depth)) {
        t.depth = 0;
        _Unwind_Backtrace(note_frame, &t);
    }
    return t.depth;
}
