/* What a filter of seccomp(2) does with the agent: see filter.h.
 *
 * A filter is a program that only jumps forward. So one pass over it finds, for one call, which of its rules may be
 * reached, and with which word where that is known. It is not, if it depends on an argument of which nothing is
 * known; then both ways are gone. */
#include "agent/base/filter.h"

#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
enum { HERE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__i386__)
enum { HERE = AUDIT_ARCH_I386 };
#elif defined(__aarch64__)
enum { HERE = (int)AUDIT_ARCH_AARCH64 };
#elif defined(__s390x__)
enum { HERE = (int)AUDIT_ARCH_S390X };
#else
enum { HERE = 0 }; /* a filter that asks for the architecture kills */
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { LOW_HALF = 0 };
#else
enum { LOW_HALF = 4 };
#endif

/* ---- the calls --------------------------------------------------------------------------------- */

enum { ANY = 6, NAMELESS = 0x3fffffff /* a number that no call has */ };

#ifdef __s390x__
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

typedef struct own_call {
    const char *name;
    uint32_t number;
    unsigned index; /* of the argument of which the value is known; ANY: none is */
    uint32_t value;
    bool is_for_command; /* only with --to */
} own_call;

/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#define ROW_OF(call, ...)                                                                          \
    {                                                                                              \
#call, SYS_##call, __VA_ARGS__, false                                                      \
    }
#define ROW_FOR_COMMAND(call, ...)                                                                 \
    {                                                                                              \
#call, SYS_##call, __VA_ARGS__, true                                                       \
    }
#define ROW(call)        ROW_OF(call, ANY, 0)
#define FOUR(a, b, c, d) ROW(a), ROW(b), ROW(c), ROW(d)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Those of the agent and of the functions that it calls, in either C library. Not here: what the program itself does
 * (exec, exit_group, brk), calls that are not made where there is a filter (mlock2), and calls of the processes
 * that --to starts, which alone a filter ends. */
static const own_call own_calls[] = {
    {"what it does not name", NAMELESS, ANY, 0, false},
    FOUR(clock_gettime, clock_nanosleep, clone3, close),
    FOUR(close_range, exit, faccessat, faccessat2),
    FOUR(fallocate, fcntl, fgetxattr, flock),
    FOUR(fstat, fstatfs, ftruncate, futex),
    FOUR(geteuid, getpid, getppid, getrandom),
    FOUR(gettid, linkat, madvise, mremap),
    FOUR(munmap, nanosleep, openat, pidfd_getfd),
    FOUR(pidfd_open, pread64, prlimit64, pwrite64),
    FOUR(read, readlinkat, renameat2, restart_syscall),
    FOUR(rseq, rt_sigaction, rt_sigpending, rt_sigprocmask),
    FOUR(rt_sigreturn, rt_sigtimedwait, sched_getaffinity, set_robust_list),
    FOUR(statx, tgkill, unlinkat, write),
    ROW_OF(mprotect, 2, 3), /* PROT_READ | PROT_WRITE */
    ROW_OF(prctl, 0, 15),   /* PR_SET_NAME */
    ROW_OF(ioctl, 1, (uint32_t)FS_IOC_GETFLAGS),
    ROW_OF(ioctl, 1, (uint32_t)FS_IOC_FSGETXATTR),
    ROW_OF(clone, CLONE_FLAGS, 0x3d0f00), /* a thread */
#ifdef SYS_mmap2                          /* 32 bits */
    FOUR(clock_gettime64, clock_nanosleep_time64, fcntl64, fstat64),
    FOUR(fstatat64, fstatfs64, ftruncate64, futex_time64),
    ROW(lstat64),
    ROW(rt_sigtimedwait_time64),
    ROW(stat64),
    ROW_OF(mmap2, 2, 3),
#else
    ROW(newfstatat),
    ROW_OF(mmap, 2, 3),
#endif
#ifdef SYS_open /* not on arm64 */
    FOUR(access, lstat, open, readlink),
    FOUR(rename, renameat, stat, unlink),
#endif
    ROW_FOR_COMMAND(clone, CLONE_FLAGS, 0x100), /* CLONE_VM */
    ROW_FOR_COMMAND(lseek, ANY, 0),
    ROW_FOR_COMMAND(memfd_create, ANY, 0),
    ROW_FOR_COMMAND(wait4, ANY, 0),
};

/* ---- the filter -------------------------------------------------------------------------------- */

/* The word that the filter has loaded before a rule. */
typedef struct word {
    uint32_t value;
    uint16_t is_reached, is_known;
} word;

static word load_word(const own_call *call, uint32_t off)
{
    const uint32_t argument = off - (uint32_t)offsetof(struct seccomp_data, args);
    word w = {.is_reached = true, .is_known = true};
    if (off == offsetof(struct seccomp_data, nr))
        w.value = call->number;
    else if (off == offsetof(struct seccomp_data, arch))
        w.value = (uint32_t)HERE;
    else if (argument / 8 == call->index) /* the other half is 0 */
        w.value = argument % 8 == LOW_HALF ? call->value : 0;
    else
        w.is_known = false;
    return w;
}

/* Returns how many rules the jump skips. */
static uint32_t skipped_rules(const struct sock_filter *rule, uint32_t value)
{
    const uint32_t k = rule->k, op = BPF_OP(rule->code);
    const bool is_met = op == BPF_JEQ   ? value == k
                        : op == BPF_JGT ? value > k
                        : op == BPF_JGE ? value >= k
                                        : (value & k) != 0; /* the kernel knows only one other */
    return op == BPF_JA ? k : is_met ? rule->jt : rule->jf;
}

static bool is_killing(uint32_t action)
{
    const uint32_t kind = action & SECCOMP_RET_ACTION_FULL;
    return kind == SECCOMP_RET_KILL_PROCESS || kind == SECCOMP_RET_KILL_THREAD ||
           kind == SECCOMP_RET_TRAP;
}

/* The rule may be reached with this word. */
static void reach_rule(word *at, word with)
{
    bool is_other = at->is_reached && (!at->is_known || at->value != with.value);
    *at = with;
    at->is_known &= !is_other;
}

/* Follows a jump to the rules behind it, of which there are so many. */
static void follow_jump(word *next, uint64_t left, const struct sock_filter *rule)
{
    const word with = next[-1];
    const uint64_t both[] = {rule->jt, rule->jf};
    const uint64_t one =
        BPF_OP(rule->code) == BPF_JA || with.is_known ? skipped_rules(rule, with.value) : left;
    for (int i = 0; one == left && i < 2; i++)
        if (both[i] < left)
            reach_rule(&next[both[i]], with);
    if (one < left)
        reach_rule(&next[one], with);
}

static bool may_kill(const struct sock_filter *rules, unsigned len, const own_call *call)
{
    word before[BPF_MAXINSNS + 1];
    memset(before, 0, (len + 1) * sizeof *before);
    before[0] = (word){.is_reached = true, .is_known = true};
    for (unsigned at = 0; at < len; at++) {
        const struct sock_filter *rule = &rules[at];
        word w = before[at];
        if (!w.is_reached)
            continue;
        if (BPF_CLASS(rule->code) == BPF_JMP && BPF_SRC(rule->code) == BPF_K) {
            follow_jump(&before[at + 1], len - at - 1, rule);
            continue;
        }
        if (rule->code == (BPF_LD | BPF_W | BPF_ABS))
            w = load_word(call, rule->k);
        else if (rule->code == (BPF_ALU | BPF_AND | BPF_K))
            w.value &= rule->k;
        else if (rule->code == (BPF_RET | BPF_K) && !is_killing(rule->k))
            continue;
        else
            return true;
        reach_rule(&before[at + 1], w);
    }
    return false;
}

const char *pd_filter_forbids(const struct sock_filter *rules, unsigned len, bool has_command)
{
    enum { CALLS = sizeof own_calls / sizeof *own_calls };
    for (size_t i = 0; i < CALLS && len <= BPF_MAXINSNS /* else the kernel refuses it */; i++)
        if ((has_command || !own_calls[i].is_for_command) && may_kill(rules, len, &own_calls[i]))
            return own_calls[i].name;
    return NULL;
}
