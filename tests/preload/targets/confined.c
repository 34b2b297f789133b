/* A program that confines itself by seccomp(2), goes on allocating, and ends with status 3.
 *
 *     confined HOW [PROGRAM]     instead of the end, executes the program
 *
 *     strict     strict mode: read, write, exit and sigreturn
 *     prctl      a filter that kills whatever it does not name
 *     syscall    the same for all threads, by syscall(2); the main thread ends by exit_group
 *     signal     as prctl; SIGTERM ends it
 *     only       a filter that kills for each call but those that the agent says it makes; it runs on for a while
 *     NAME       a filter that kills for this call
 *     wrong      a filter that the kernel refuses, and then exit(3) */
#include "agent/base/filter.c" // NOLINT(bugprone-suspicious-include): its list of calls is static
#include "program.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>

LEAK(leak_at_last)

enum { BEFORE = 10, AFTER = 3000, SIZE = 1000 };

static void *volatile kept[AFTER];

APART void after_confined(int i)
{
    kept[i] = malloc(SIZE);
    if (i % 3 == 0)
        free(kept[i]);
}

static void install(struct sock_filter *rules, size_t len)
{
    struct sock_fprog filter = {(unsigned short)len, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        _exit(77);
}

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IF_IS(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1)
#define KILL        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

enum { OWN = sizeof own_calls / sizeof *own_calls };

static const own_call of_program[] = {ROW(exit_group), ROW(brk), ROW(execve), ROW(ptrace)};

/* The n-th of all calls that are known here. */
static const own_call *call_at(size_t n)
{
    return n < OWN ? &own_calls[n] : &of_program[n - OWN];
}

enum { ALL = OWN + sizeof of_program / sizeof *of_program };

/* A number that no call has is allowed: or else nothing would be asked about the others. */
static void allow_only_the_agent(void)
{
    struct sock_filter rules[2 * ALL + 2] = {LOAD_NUMBER};
    for (size_t i = 0; i < ALL; i++) {
        rules[2 * i + 1] = (struct sock_filter)IF_IS(call_at(i)->number);
        rules[2 * i + 2] = (struct sock_filter)ALLOW;
    }
    rules[2 * ALL + 1] = (struct sock_filter)KILL;
    install(rules, 2 * ALL + 2);
}

/* Returns false if there is no call of this name. */
static bool forbid(const char *name)
{
    size_t n = 0;
    while (n < ALL && strcmp(call_at(n)->name, name) != 0)
        n++;
    if (n == ALL)
        return false;
    struct sock_filter rules[] = {LOAD_NUMBER, IF_IS(call_at(n)->number), KILL, ALLOW};
    install(rules, sizeof rules / sizeof *rules);
    return true;
}

static void confine(const char *how)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, !strcmp(how, "signal") ? SYS_kill : SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    long result = 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _exit(77);
    if (!strcmp(how, "wrong")) {
        filter.len--;
        rules[filter.len - 1].code = BPF_LD | BPF_W | BPF_ABS; /* a filter ends with a return */
        result = !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    } else if (!strcmp(how, "strict")) {
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    } else if (!strcmp(how, "syscall")) {
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    } else {
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    }
    if (result)
        _exit(77);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pid_t own = getpid();
    mallopt(M_TOP_PAD, 8 << 20); /* the first growth is enough for all that comes later */
    for (int i = 0; i < BEFORE; i++)
        leak_at_last();
    if (!strcmp(how, "only"))
        allow_only_the_agent();
    else if (!forbid(how))
        confine(how);
    for (int i = 0; i < 50 && !strcmp(how, "only"); i++)
        usleep(10000);
    if (argc > 2)
        execv(argv[2], argv + 2);
    for (int i = 0; i < AFTER; i++)
        after_confined(i);
    if (!strcmp(how, "signal"))
        kill(own, SIGTERM);
    if (!strcmp(how, "strict"))
        syscall(SYS_exit, 3);
    if (!strcmp(how, "syscall"))
        syscall(SYS_exit_group, 3);
    exit(3);
}
