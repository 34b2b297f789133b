/* Makes children that the C library's fork does not know of, which free and allocate, and are killed at any time.
 *
 *     cloned HOW ROUNDS     the parent has one block in use in the end. HOW: clone, _Fork, syscall, clone3
 *     cloned handler        fork in a signal handler that may have interrupted malloc; the child returns from it
 *     cloned nested         fork in fork, as by a signal handler that has interrupted it */
#include <linux/sched.h>
#include "program.h"

extern pid_t _Fork(void) __attribute__((weak)); // NOLINT: of newer C libraries

enum { SIZE = 20000000, SMALL = 100 };

static char *volatile block;
static void *volatile kept[SMALL];

APART void parent_block(void)
{
    memset(block = malloc(SIZE), 1, SIZE);
}

APART void child_block(void)
{
    block = malloc(SIZE);
}

/* Blocks of a size that no C library takes a lock for. */
APART void churn(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        void *volatile *at = &kept[i % SMALL];
        free(*at);
        *at = malloc(64);
    }
}

static int run_child(void *unused)
{
    (void)unused;
    free(block);
    child_block();
    for (;;) {
        churn(SMALL);
        munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    }
    return 0;
}

static pid_t start_child(const char *how)
{
    static _Alignas(16) char stack[256 << 10];
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    pid_t pid = -1;
    if (strcmp(how, "clone") == 0)
        return clone(run_child, stack + sizeof stack, SIGCHLD, NULL);
    if (strcmp(how, "clone3") == 0)
        pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (strcmp(how, "_Fork") == 0 && _Fork)
        pid = _Fork();
    else if (pid < 0)
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        run_child(NULL);
    return pid;
}

/* Returns whether the process has a file that is mapped shared, such as that of the last window. */
static bool has_shared_file(void)
{
    char line[512];
    bool is_there = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !is_there && fgets(line, sizeof line, maps))
        is_there = strstr(line, "rw-s") && strstr(line, ".live");
    if (maps)
        fclose(maps);
    return is_there;
}

static int kill_children(const char *how, int rounds)
{
    int killed = 0, status;
    parent_block();
    for (int i = 0; i < 300 && !has_shared_file(); i++)
        usleep(1000);
    for (int i = 0; i < rounds; i++) {
        int number = i % 5 ? SIGKILL : SIGUSR2;
        pid_t pid = start_child(how);
        churn(SMALL);
        usleep((useconds_t)(i % 7 * 500));
        kill(pid, number);
        if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == number)
            killed++;
        churn(SMALL);
    }
    printf("%d of %d were killed\n", killed, rounds);
    return 0;
}

/* ---- a signal handler ------------------------------------------------------------------------ */

enum { FORKS = 200 };

static volatile sig_atomic_t forks, is_child;

static void on_alarm(int number)
{
    (void)number;
    pid_t pid = is_child || forks == FORKS ? -1 : fork();
    is_child |= pid == 0;
    forks += pid > 0;
}

static int fork_in_handler(void)
{
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    int good = 0, status;
    parent_block();
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!is_child && forks < FORKS)
        churn(1);
    if (is_child) {
        churn(SMALL);
        _exit(3);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    while (waitpid(-1, &status, 0) > 0)
        good += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    printf("%s\n", good == forks ? "all ended well" : "some did not end well");
    return 0;
}

/* ---- fork in fork ------------------------------------------------------------------------------ */

static bool is_nested;
static pid_t of_nested;

static void fork_again(void)
{
    bool is_first = is_nested;
    is_nested = false;
    if (is_first)
        of_nested = fork();
}

/* What is registered last prepares first. So this comes before any constructor. */
static void register_handler(int argc, char **argv)
{
    is_nested = argc == 2 && strcmp(argv[1], "nested") == 0;
    if (is_nested)
        pthread_atfork(fork_again, NULL, NULL);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const at_first)(int, char **) = register_handler;

/* Both children, and the child of the inner one. */
static int fork_in_fork(void)
{
    int status, sum = 0;
    parent_block();
    for (int i = 0; i < 300 && !has_shared_file(); i++)
        usleep(1000);
    pid_t pid = fork();
    churn(SMALL);
    while (waitpid(-1, &status, 0) > 0)
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    if (!pid || !of_nested)
        _exit(sum + 1);
    printf("%d children\n", sum);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "nested") == 0)
        return fork_in_fork();
    if (argc > 2)
        return kill_children(argv[1], (int)strtol(argv[2], NULL, 10));
    return fork_in_handler();
}
