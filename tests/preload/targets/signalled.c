/* A program and the signals that end programs.
 *
 *     signalled plain NUMBER      has no handler, allocates, and sends itself the signal
 *     signalled busy NUMBER       the same; the signal comes from another thread, which waits until
 *                                 this one allocates without a pause
 *     signalled small NUMBER      the same as plain, in a thread with the smallest stack
 *     signalled child NUMBER      the same as plain, in a child of fork, whose status it prints
 *     signalled vfork NUMBER      a child of vfork sends itself the signal
 *     signalled handled NUMBER    has a handler of its own, which ends the program with status 5
 *     signalled reset NUMBER      has a handler, then the default action again, then as plain
 *     signalled wait NUMBER       takes the blocked signal by sigwait, prints it and ends
 *     signalled asks              prints what the functions say of signals and their actions
 *     signalled daemon            becomes a daemon, which writes a file "daemon" and ends
 *     signalled exits             calls exit in the handler of SIGALRM, while it allocates */
#include "program.h"

LEAK(leak_at_last)

static atomic_int rounds;
static int number;
static pthread_t main_thread;

static _Noreturn void send(void)
{
    leak_at_last();
    kill(getpid(), number);
    for (;;)
        pause();
}

static void *send_when_busy(void *unused)
{
    while (atomic_load(&rounds) < 100)
        continue;
    pthread_kill(main_thread, number);
    return unused;
}

static _Noreturn void be_busy(void)
{
    leak_at_last();
    start_thread(send_when_busy, NULL);
    for (;; atomic_fetch_add(&rounds, 1)) {
        void *volatile one = malloc(1000);
        void *volatile two = realloc(one, 2000);
        free(two);
    }
}

static void *send_in_thread(void *unused)
{
    (void)unused;
    leak_at_last();
    raise(number);
    return NULL;
}

static void run_on_small_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    if (pthread_create(&thread, &attributes, send_in_thread, NULL))
        exit(9);
    pthread_join(thread, NULL);
}

static int tell(pid_t pid)
{
    printf("the child ended with %#x\n", (unsigned)status_of(pid));
    return 0;
}

static int in_a_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        send();
    return tell(pid);
}

static int in_a_vfork(void)
{
    leak_at_last();
    pid_t pid = vfork();
    if (pid == 0) {
        kill(getpid(), number); // NOLINT(clang-analyzer-unix.Vfork): a system call, as _exit is
        _exit(9);
    }
    return tell(pid);
}

static void end(int unused)
{
    (void)unused;
    _exit(5);
}

static void nothing(int unused)
{
    (void)unused;
}

static int take(void)
{
    sigset_t one;
    int got = 0;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, NULL);
    kill(getpid(), number);
    sigwait(&one, &got);
    printf("took %d\n", got);
    return 0;
}

static const char *name_of(void (*handler)(int))
{
    return handler == SIG_DFL   ? "default"
           : handler == SIG_IGN ? "ignored"
           : handler == nothing ? "ours"
                                : "strange";
}

static void ask(int which)
{
    struct sigaction was, set = {.sa_handler = nothing};
    sigaction(which, NULL, &was);
    printf("%d: %s %d;", which, name_of(was.sa_handler), was.sa_flags);
    sigaction(which, &set, &was);
    printf(" %s,", name_of(was.sa_handler));
    printf(" %s,", name_of(signal(which, SIG_DFL)));
    printf(" %s,", name_of(signal(which, SIG_IGN)));
    set.sa_handler = SIG_DFL;
    sigaction(which, &set, &was);
    printf(" %s,", name_of(was.sa_handler));
    sigaction(which, NULL, &was);
    printf(" %s,", name_of(was.sa_handler));
    printf(" %s\n", name_of(signal(which, nothing)));
    signal(which, SIG_DFL);
}

static _Noreturn void exit_in_handler(void)
{
    const struct itimerval soon = {.it_value.tv_usec = 50000};
    leak_at_last();
    signal(SIGALRM, exit); // NOLINT: what it is about
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;)
        free(malloc(64));
}

static int become_daemon(void)
{
    leak_at_last();
    if (daemon(1, 0))
        return 9;
    FILE *file = fopen("daemon", "w");
    return file && fclose(file) == 0 ? 0 : 9;
}

static void use_handler(const char *how)
{
    if (!strcmp(how, "handled") || !strcmp(how, "reset"))
        signal(number, end);
    if (!strcmp(how, "reset"))
        signal(number, SIG_DFL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    main_thread = pthread_self();
    if (!strcmp(how, "asks"))
        for (int which = 1; which < 32; which++)
            if (which != SIGKILL && which != SIGSTOP)
                ask(which);
    use_handler(how);
    if (!strcmp(how, "plain") || !strcmp(how, "handled") || !strcmp(how, "reset"))
        send();
    if (!strcmp(how, "busy"))
        be_busy();
    if (!strcmp(how, "small"))
        run_on_small_stack();
    if (!strcmp(how, "child"))
        return in_a_child();
    if (!strcmp(how, "vfork"))
        return in_a_vfork();
    if (!strcmp(how, "wait"))
        return take();
    if (!strcmp(how, "daemon"))
        return become_daemon();
    if (!strcmp(how, "exits"))
        exit_in_handler();
    return 0;
}
