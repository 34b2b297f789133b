/* A program that confines itself by seccomp(2), goes on allocating, and ends with status 3.
 *
 *     confined HOW
 *
 *     strict     strict mode: read, write, exit and sigreturn
 *     prctl      a filter that kills whatever it does not name
 *     syscall    the same for all threads, by syscall(2); the main thread ends by exit_group
 *     signal     as prctl; SIGTERM ends it
 *     wrong      a filter that the kernel refuses, and then exit(3) */
#include "leaking.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BEFORE = 10, AFTER = 3000, SIZE = 1000 };

static void *volatile kept[AFTER];

__attribute__((noinline)) static void after_confined(int i)
{
    kept[i] = malloc(SIZE);
    if (i % 3 == 0)
        free(kept[i]);
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
    confine(how);
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
