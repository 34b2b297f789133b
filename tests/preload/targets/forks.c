/* Forks while threads allocate: each child allocates on its own, says that all is well, and ends by
 * _exit or exit, or becomes another program. forks CHILDREN [idle]
 * idle: the children allocate nothing, and free what their parent allocated. */
#include "program.h"

static atomic_bool is_over;

static void churn(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        void *volatile block = malloc((size_t)(i % 5000) + 1);
        free(block);
    }
}

APART void keep_in_child(void)
{
    static void *volatile kept[40];
    for (int i = 0; i < 40; i++)
        memset(kept[i] = malloc(100000), 1, 100000);
}

static void *busy(void *unused)
{
    while (!atomic_load(&is_over))
        churn(1000);
    return unused;
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10, good = 0;
    bool is_idle = argc > 2;
    pthread_t threads[3];
    void *inherited = malloc(1000);
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(busy, NULL);
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (is_idle) {
                free(inherited);
            } else {
                churn(5000);
                keep_in_child();
            }
            if (i % 3 == 0)
                _exit(0);
            if (i % 3 == 1 || is_idle)
                exit(0);
            execlp("true", "true", (char *)NULL);
            _exit(1);
        }
        good += status_of(pid) == 0;
    }
    free(inherited);
    atomic_store(&is_over, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    /* Nobody may have children that this program did not make. */
    printf("%d of %d, %s\n", good, children, wait(NULL) == -1 ? "and no more" : "and another");
    return 0;
}
