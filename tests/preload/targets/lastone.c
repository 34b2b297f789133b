/* A program whose main thread ends before the process does.
 *
 *     lastone HOW
 *
 * HOW says how the main thread ends, and what goes on:
 *     alone          pthread_exit, without another thread
 *     workers        pthread_exit; four threads go on, and return
 *     chain          pthread_exit; a thread makes the next one and ends, a hundred times
 *     cancelled      it is cancelled by a thread that goes on
 *     late           pthread_exit, without another thread; a destructor allocates
 *     late-thread    the same; the destructor starts a thread
 *     child          the same as alone, in a child of fork
 *     raw            the system call, with status 7, without another thread
 *     raw-workers    the same; four threads go on, and return
 *     seccomp        a filter kills the main thread; a thread goes on, and returns
 *
 * Its handler of exit prints a line, which only exit(3) writes out. */
#include "program.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

LEAK(leak_early)
LEAK(leak_at_last)

static pthread_t main_thread;
static pthread_key_t key;
static int generations = 100;

static void on_exit_of_program(void)
{
    leak_at_last();
    printf("the exit handler ran\n");
}

/* Not by pthread_join, which several threads must not call. */
static void await_end_of_main(void)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    while (!strstr(text, ") Z")) {
        FILE *file = fopen(path, "r");
        size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;
        text[len] = '\0';
        if (file)
            fclose(file);
        sched_yield();
    }
}

static void *outlive_main(void *unused)
{
    await_end_of_main();
    leak_at_last();
    return unused;
}

static void *make_the_next(void *unused)
{
    leak_early();
    if (generations-- == 100)
        await_end_of_main();
    if (generations > 0)
        start_thread(make_the_next, NULL);
    return unused;
}

static void *cancel_main(void *unused)
{
    pthread_cancel(main_thread);
    return outlive_main(unused);
}

static void allocate_late(void *unused)
{
    (void)unused;
    leak_early();
}

static void start_late(void *unused)
{
    (void)unused;
    leak_early();
    start_thread(outlive_main, NULL);
}

static void start(int count, void *(*work)(void *))
{
    for (int i = 0; i < count; i++)
        start_thread(work, NULL);
}

static void call_at_the_end(void (*destructor)(void *))
{
    pthread_key_create(&key, destructor);
    pthread_setspecific(key, &key);
}

static void be_killed(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        exit(77);
    syscall(SYS_getsid);
}

static void outlive_and_kill(void)
{
    start(1, outlive_main);
    be_killed();
}

static int in_a_child(void)
{
    pid_t pid = fork();
    if (pid < 0)
        return 9;
    if (pid == 0) {
        leak_early();
        pthread_exit(NULL);
    }
    printf("the child ended with %#x\n", (unsigned)status_of(pid));
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    main_thread = pthread_self();
    atexit(on_exit_of_program);
    leak_early();
    if (!strcmp(how, "workers") || !strcmp(how, "raw-workers"))
        start(4, outlive_main);
    else if (!strcmp(how, "chain"))
        start(1, make_the_next);
    else if (!strcmp(how, "cancelled"))
        start(1, cancel_main);
    else if (!strcmp(how, "late"))
        call_at_the_end(allocate_late);
    else if (!strcmp(how, "late-thread"))
        call_at_the_end(start_late);
    else if (!strcmp(how, "child"))
        return in_a_child();
    else if (!strcmp(how, "seccomp"))
        outlive_and_kill();
    else if (strcmp(how, "alone") != 0 && strcmp(how, "raw") != 0)
        return 2;
    while (!strcmp(how, "cancelled"))
        pause();
    if (!strncmp(how, "raw", 3))
        syscall(SYS_exit, 7);
    pthread_exit(NULL);
}
