/* A program whose heap has a peak in the middle of its life. peak [WHAT]
 *
 *     early   1 MB, freed before the peak
 *     top     4 MB, worker 300 kB in a thread, grown 500 kB from 1 kB by realloc: the peak
 *     late    1.5 MB after all of that was freed; it stays
 *
 * WHAT: fork (at the peak; the child frees what it inherited, and makes early), slowly (for windows). */
#include "program.h"

typedef struct blocks {
    void *volatile at[200];
    int len;
} blocks;

static blocks early, top, worker, late;
static void *volatile grown;
static int is_slow;

static void fill(blocks *b, int len, size_t size)
{
    for (b->len = 0; b->len < len; b->len++) {
        b->at[b->len] = malloc(size);
        if (is_slow)
            usleep(200);
    }
}

static void drop(blocks *b)
{
    while (b->len)
        free(b->at[--b->len]);
}

APART void make_early(void)
{
    fill(&early, 100, 10000);
}

APART void make_top(void)
{
    fill(&top, 200, 20000);
}

APART void *make_worker(void *unused)
{
    fill(&worker, 10, 30000);
    return unused;
}

APART void make_grown(void)
{
    grown = malloc(1000);
    grown = realloc(grown, 500000);
}

APART void make_late(void)
{
    fill(&late, 150, 10000);
}

static void drop_all(void)
{
    drop(&top);
    drop(&worker);
    free(grown);
}

static int fork_here(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        drop_all();
        make_early();
        exit(0);
    }
    return status_of(pid);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    is_slow = !strcmp(what, "slowly");
    make_early();
    drop(&early);
    make_top();
    pthread_join(start_thread(make_worker, NULL), NULL);
    make_grown();
    if (!strcmp(what, "fork") && fork_here())
        return 1;
    drop_all();
    make_late();
    return 0;
}
