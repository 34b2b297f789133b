/* The sample builder around a fork: the child begins anew, the parent goes on, and nothing of a
 * window is sent twice or lost. */
#include "builder_bench.h"

#include <sys/wait.h>
#include <unistd.h>

/* Runs in the child, whose verdict is its exit status. */
static bool child_is_clean(bench *t, pprofdelta_sample *begun)
{
    pprofdelta_sample_push_value(begun, 0, 1000);
    bool ok = pprofdelta_sample_add(begun, NULL) == PPROFDELTA_OK;
    ok &= strcmp(export_rows(t), "") == 0;
    ok &= t->report.pid == getpid() && t->report.sequence == 1 && t->report.samples_in == 0;
    add(t, "child", 0, 1, NULL);
    ok &= strcmp(export_rows(t), "child 1 0 0") == 0 && t->report.sequence == 2;
    return ok;
}

static void fork_once(bench *t)
{
    collector c = {.bytes = buf_begin(&t->arena), .fail_at = 1};
    pprofdelta_sink sink = collector_sink(&c);
    add(t, "held", 0, 1, NULL);
    CHECK(builder_send(t->b, &sink, NULL, NULL) == PPROFDELTA_E_SINK);
    add(t, "parent", 0, 2, NULL);
    pprofdelta_sample *begun = pprofdelta_sample_start(t->b);
    pprofdelta_frame frame = {.name = "begun"};
    pprofdelta_sample_push_frame(begun, &frame, 0);
    pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_PREPARE);
    pid_t pid = fork();
    if (pid == 0) {
        pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_CHILD);
        _exit(child_is_clean(t, begun) ? 0 : 1);
    }
    pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_PARENT);
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pprofdelta_sample_push_value(begun, 0, 3);
    CHECK(pprofdelta_sample_add(begun, NULL) == PPROFDELTA_OK);
    CHECK_STR(export_rows(t), "held 1 0 0, parent 2 0 0, begun 3 0 0");
}

TEST(a_child_starts_clean)
{
    bench t;
    bench_begin(&t);
    fork_once(&t);
    fork_once(&t);
    bench_end(&t);
}

typedef struct forking {
    pprofdelta_builder *b;
    pid_t pid;
} forking;

static int fork_in_sink(void *cookie, const void *data, size_t len)
{
    forking *f = cookie;
    (void)data, (void)len;
    pprofdelta_builder_fork(f->b, PPROFDELTA_FORK_PREPARE);
    f->pid = fork();
    pprofdelta_builder_fork(f->b, f->pid ? PPROFDELTA_FORK_PARENT : PPROFDELTA_FORK_CHILD);
    return 0;
}

TEST(a_sink_may_fork)
{
    bench t;
    bench_begin(&t);
    add(&t, "a", 0, 1, NULL);
    forking f = {t.b, -1};
    pprofdelta_sink sink = {fork_in_sink, &f};
    pprofdelta_status status = builder_send(t.b, &sink, &t.report, NULL);
    if (f.pid == 0) {
        add(&t, "b", 0, 1, NULL);
        bool ok = status == PPROFDELTA_E_USAGE && strcmp(export_rows(&t), "b 1 0 0") == 0;
        _exit(ok ? 0 : 1);
    }
    int how = -1;
    CHECK(status == PPROFDELTA_OK);
    CHECK(waitpid(f.pid, &how, 0) == f.pid && how == 0);
    CHECK_STR(export_rows(&t), "");
    bench_end(&t);
}

TEST_MAIN()
