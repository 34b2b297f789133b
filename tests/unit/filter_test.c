/* What filters of seccomp do with the calls of the agent. */
#include "agent/base/filter.h"

#include "test.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define LOAD(member)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, yes, no)
#define END(action)          BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW                END(SECCOMP_RET_ALLOW)
#define KILL                 END(SECCOMP_RET_KILL_PROCESS)

#define IS(call) IF(BPF_JEQ, SYS_##call, 0, 1)

static const char nameless[] = "what it does not name";

TEST(the_calls_of_the_agent)
{
    static const struct {
        const char *forbids, *to_command; /* NULL: nothing, or the same */
        struct sock_filter rules[8];      /* the rest is zeros, which is no rule that is known */
    } rows[] = {
        {NULL, NULL, {ALLOW}},
        {nameless, NULL, {KILL}},
        {nameless, NULL, {END(SECCOMP_RET_KILL_THREAD)}},
        {nameless, NULL, {END(SECCOMP_RET_TRAP)}},
        {NULL, NULL, {END(SECCOMP_RET_ERRNO | 1)}},
        {NULL, NULL, {LOAD(nr), IS(ptrace), KILL, ALLOW}},
        {"openat", NULL, {LOAD(nr), IS(openat), KILL, ALLOW}},
        {"clone3", NULL, {LOAD(nr), IS(clone3), END(SECCOMP_RET_TRAP), ALLOW}},
        {NULL, NULL, {LOAD(nr), IS(openat), END(SECCOMP_RET_ERRNO | 1), ALLOW}},
        {NULL, "memfd_create", {LOAD(nr), IS(memfd_create), KILL, ALLOW}},
        {nameless, NULL, {LOAD(nr), IS(write), ALLOW, KILL}},
        {nameless, NULL, {LOAD(nr), IF(BPF_JGE, 1000, 1, 0), ALLOW, KILL}},
        {NULL, NULL, {LOAD(nr), IF(BPF_JGT, 0x3fffffff, 0, 1), KILL, ALLOW}}, /* x32 */
        {nameless, NULL, {LOAD(nr), IF(BPF_JSET, 1, 1, 0), ALLOW, KILL}},
        {nameless, NULL, {LOAD(arch), IF(BPF_JEQ, 1, 0, 1), ALLOW, KILL}},
        {nameless,
         NULL,
         {LOAD(nr), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0), IF(BPF_JEQ, 0, 1, 0), ALLOW, KILL}},
        {NULL, NULL, {BPF_STMT(BPF_JMP | BPF_JA, 1), KILL, ALLOW}},
        {NULL, NULL, {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), KILL}}, /* the kernel refuses it */
        {nameless, NULL, {BPF_STMT(BPF_RET | BPF_A, 0), ALLOW}},
        {nameless, NULL, {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), ALLOW}},
#if defined(__x86_64__) || defined(__aarch64__)
        /* The argument is that of the agent, or may be any. */
        {NULL,
         NULL,
         {LOAD(nr), IF(BPF_JEQ, SYS_mprotect, 0, 2), LOAD(args[2]), IF(BPF_JSET, 4, 1, 0), ALLOW,
          KILL}},
        {NULL,
         NULL,
         {LOAD(nr), IF(BPF_JEQ, SYS_clone, 0, 2), LOAD(args[0]), IF(BPF_JSET, CLONE_NEWUSER, 1, 0),
          ALLOW, KILL}},
        {NULL,
         "clone",
         {LOAD(nr), IF(BPF_JEQ, SYS_clone, 0, 3), LOAD(args[0]), IF(BPF_JEQ, CLONE_VM, 0, 1), KILL,
          ALLOW}},
        {"openat",
         NULL,
         {LOAD(nr), IF(BPF_JEQ, SYS_openat, 0, 2), LOAD(args[2]), IF(BPF_JSET, O_CREAT, 1, 0),
          ALLOW, KILL}},
        {"openat",
         NULL,
         {LOAD(nr), IF(BPF_JEQ, SYS_openat, 0, 2), LOAD(args[2]), IF(BPF_JSET, O_CREAT, 0, 1),
          ALLOW, KILL}},
#endif
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int has_command = 0; has_command < 2; has_command++) {
            const char *want =
                has_command && rows[i].to_command ? rows[i].to_command : rows[i].forbids;
            const char *got = pd_filter_forbids(rows[i].rules, 8, has_command);
            CHECK_MSG(!got == !want && (!got || !strcmp(got, want)), "row %zu: %s", i,
                      got ? got : "-");
        }
    CHECK(!pd_filter_forbids(rows[0].rules, 0, false));
}

/* A filter of the most instructions, where every way through it must be seen. */
TEST(a_large_filter)
{
    static struct sock_filter rules[BPF_MAXINSNS];
    for (int i = 0; i < BPF_MAXINSNS; i += 2) {
        rules[i] = (struct sock_filter)LOAD(args[1]);
        rules[i + 1] = (struct sock_filter)IF(BPF_JEQ, (uint32_t)i, 1, 0);
    }
    rules[BPF_MAXINSNS - 1] = (struct sock_filter)ALLOW;
    CHECK(!pd_filter_forbids(rules, BPF_MAXINSNS, true));
    rules[BPF_MAXINSNS - 3] = (struct sock_filter)KILL;
    CHECK(pd_filter_forbids(rules, BPF_MAXINSNS, true));
}

TEST_MAIN()
