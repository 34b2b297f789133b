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

static void fork_once(bench *t, bool by_hand)
{
    collector c = {.bytes = buf_begin(&t->arena), .fail_at = 1};
    pprofdelta_sink sink = collector_sink(&c);
    add(t, "held", 0, 1, NULL);
    CHECK(builder_send(t->b, &sink, NULL, NULL) == PPROFDELTA_E_SINK);
    add(t, "parent", 0, 2, NULL);
    pprofdelta_sample *begun = pprofdelta_sample_start(t->b);
    pprofdelta_frame frame = {.name = "begun"};
    pprofdelta_sample_push_frame(begun, &frame, 0);
    if (by_hand)
        pprofdelta_builder_fork_prepare(t->b);
    pid_t pid = fork();
    if (pid == 0) {
        if (by_hand)
            pprofdelta_builder_fork_child(t->b);
        _exit(child_is_clean(t, begun) ? 0 : 1);
    }
    if (by_hand)
        pprofdelta_builder_fork_parent(t->b);
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
    fork_once(&t, true);
    bench_end(&t);
}

TEST(atfork_does_it_for_all_that_asked)
{
    bench t[2];
    for (size_t i = 0; i < 2; i++) {
        bench_begin(&t[i]);
        CHECK(pprofdelta_builder_atfork(t[i].b, NULL) == PPROFDELTA_OK);
        CHECK(pprofdelta_builder_atfork(t[i].b, NULL) == PPROFDELTA_OK);
    }
    fork_once(&t[0], false);
    fork_once(&t[1], false);
    bench_end(&t[0]);
    fork_once(&t[1], false);
    bench_end(&t[1]);
    pid_t pid = fork(); /* nobody is on the list */
    if (pid == 0)
        _exit(0);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static int fork_in_sink(void *cookie, const void *data, size_t len)
{
    pid_t *pid = cookie;
    (void)data, (void)len;
    *pid = fork();
    return 0;
}

TEST(a_sink_may_fork)
{
    bench t;
    bench_begin(&t);
    CHECK(pprofdelta_builder_atfork(t.b, NULL) == PPROFDELTA_OK);
    add(&t, "a", 0, 1, NULL);
    pid_t pid = -1;
    pprofdelta_sink sink = {fork_in_sink, &pid};
    pprofdelta_status status = builder_send(t.b, &sink, &t.report, NULL);
    if (pid == 0) {
        add(&t, "b", 0, 1, NULL);
        bool ok = status == PPROFDELTA_E_USAGE && strcmp(export_rows(&t), "b 1 0 0") == 0;
        _exit(ok ? 0 : 1);
    }
    int how = -1;
    CHECK(status == PPROFDELTA_OK);
    CHECK(waitpid(pid, &how, 0) == pid && how == 0);
    CHECK_STR(export_rows(&t), "");
    bench_end(&t);
}

TEST_MAIN(CASE(a_child_starts_clean), CASE(atfork_does_it_for_all_that_asked),
          CASE(a_sink_may_fork))
