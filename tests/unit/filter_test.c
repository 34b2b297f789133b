/* What filters of seccomp do with a call that they do not name. */
#include "agent/base/filter.h"

#include "test.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define LOAD(member)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, yes, no)
#define END(action)          BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW                END(SECCOMP_RET_ALLOW)
#define KILL                 END(SECCOMP_RET_KILL_PROCESS)

TEST(the_default_counts)
{
    static const struct {
        bool kills;
        struct sock_filter rules[8]; /* the rest is zeros, which is no rule that is known */
    } rows[] = {
        {false, {ALLOW}},
        {true, {KILL}},
        {true, {END(SECCOMP_RET_KILL_THREAD)}},
        {true, {END(SECCOMP_RET_TRAP)}},
        {false, {END(SECCOMP_RET_ERRNO | 1)}},
        {false, {LOAD(nr), IF(BPF_JEQ, SYS_ptrace, 0, 1), KILL, ALLOW}},
        {true, {LOAD(nr), IF(BPF_JEQ, SYS_write, 0, 1), ALLOW, KILL}},
        {true, {LOAD(nr), IF(BPF_JGE, 400, 1, 0), ALLOW, KILL}},
        {false, {LOAD(nr), IF(BPF_JGT, 0x3fffffff, 0, 1), KILL, ALLOW}}, /* x32 */
        {true, {LOAD(nr), IF(BPF_JSET, 1, 1, 0), ALLOW, KILL}},
        {true, {LOAD(arch), IF(BPF_JEQ, 1, 0, 1), ALLOW, KILL}},
        {true,
         {LOAD(nr), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0), IF(BPF_JEQ, 0, 1, 0), ALLOW, KILL}},
        {false, {BPF_STMT(BPF_JMP | BPF_JA, 1), KILL, ALLOW}},
        {true, {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), ALLOW}},
        {true, {BPF_STMT(BPF_RET | BPF_A, 0), ALLOW}},
        {true, {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), ALLOW}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_MSG(pd_filter_kills(rows[i].rules, 8) == rows[i].kills, "row %zu", i);
    CHECK(pd_filter_kills(rows[0].rules, 0));
}

TEST_MAIN()
