/* Allocates 100 blocks of 1,000 bytes and ends at once, in the way that the argument names; with a second
 * argument, in a signal handler on an alternate stack of 8 KiB. */
#include "program.h"

LEAK(leak_at_last)

static void *end_process(void *unused)
{
    leak_at_last();
    exit(3);
    return unused;
}

static void *end_last(void *unused)
{
    leak_at_last();
    return unused;
}

static int by_thread(void *(*run)(void *), int is_main_gone)
{
    pthread_t thread = start_thread(run, NULL);
    if (is_main_gone)
        pthread_exit(NULL);
    pthread_join(thread, NULL);
    return 1;
}

static const char *how = "";

static int end(void)
{
    if (strcmp(how, "thread") == 0)
        return by_thread(end_process, 0);
    if (strcmp(how, "pthread_exit") == 0)
        return by_thread(end_last, 1);
    leak_at_last();
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "_Exit") == 0)
        _Exit(3);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(how, "syscall") == 0)
        syscall(SYS_exit_group, 3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "sigkill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "signal") == 0)
        raise(SIGTERM);
    if (strcmp(how, "exec") == 0)
        execl("/bin/false", "false", (char *)NULL);
    if (strcmp(how, "out of memory") == 0)
        sink = malloc((size_t)1 << 46);
    return 3;
}

static void on_signal(int number)
{
    (void)number;
    exit(end());
}

static void end_on_alternate_stack(void)
{
    enum { SMALL = 8 << 10, GUARD = 64 << 10 };
    char *area = mmap(NULL, GUARD + SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t alternate = {.ss_sp = area + GUARD, .ss_size = SMALL};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (area == MAP_FAILED || mprotect(area + GUARD, SMALL, PROT_READ | PROT_WRITE) ||
        sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        _exit(9);
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "";
    if (argc > 2)
        end_on_alternate_stack();
    return end();
}
