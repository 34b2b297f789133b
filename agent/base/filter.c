/* What a filter of system calls does by default: see filter.h. */
#include "agent/base/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

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

/* What the filter reads of a call that has no name yet. */
static uint32_t field_at(uint32_t off)
{
    return off == offsetof(struct seccomp_data, nr)     ? UINT32_C(0x3fffffff)
           : off == offsetof(struct seccomp_data, arch) ? (uint32_t)HERE
                                                        : 0;
}

/* Returns how many rules the jump skips. */
static uint32_t skipped(const struct sock_filter *rule, uint32_t value)
{
    const uint32_t k = rule->k;
    switch (BPF_OP(rule->code)) {
    case BPF_JA:
        return k;
    case BPF_JEQ:
        return value == k ? rule->jt : rule->jf;
    case BPF_JGT:
        return value > k ? rule->jt : rule->jf;
    case BPF_JGE:
        return value >= k ? rule->jt : rule->jf;
    default: /* the kernel knows only one other */
        return value & k ? rule->jt : rule->jf;
    }
}

static bool is_killing(uint32_t action)
{
    const uint32_t kind = action & SECCOMP_RET_ACTION_FULL;
    return kind == SECCOMP_RET_KILL_PROCESS || kind == SECCOMP_RET_KILL_THREAD ||
           kind == SECCOMP_RET_TRAP;
}

bool pd_filter_kills(const struct sock_filter *rules, unsigned len)
{
    uint32_t value = 0;
    for (uint64_t at = 0; at < len; at++) {
        const struct sock_filter *rule = &rules[at];
        if (rule->code == (BPF_LD | BPF_W | BPF_ABS))
            value = field_at(rule->k);
        else if (rule->code == (BPF_ALU | BPF_AND | BPF_K))
            value &= rule->k;
        else if (BPF_CLASS(rule->code) == BPF_JMP && BPF_SRC(rule->code) == BPF_K)
            at += skipped(rule, value);
        else
            return rule->code != (BPF_RET | BPF_K) || is_killing(rule->k);
    }
    return true;
}
