/* The sample builder under fire: sixteen threads flush and discard, an exporter exports and fails
 * to, and the process forks all the while. Compiled with the thread sanitizer, library and all;
 * what was flushed is counted, and has to come out to the unit. */
#include "pprofdelta_record.h"
#include "send.h"
#include "test.h"
#include "wire/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, ROUNDS = 1000, MOST_ROUNDS = 50 * ROUNDS };
enum { FORKS = 24, EXPORTS = 24, DISTINCT = 97 };

static const pprofdelta_value_type types[] = {{"samples", "count", 0}, {"cpu", "nanoseconds", 0}};

typedef struct storm {
    pprofdelta_builder *b;
    atomic_int running; /* threads that flush */
    atomic_bool may_stop;
    atomic_llong flushed;
    atomic_int calls;
    long long arrived;
    long long lost;
} storm;

static void *flush_many(void *cookie)
{
    storm *s = cookie;
    char name[32];
    long long mine = 0;
    for (int i = 0; i < ROUNDS || (i < MOST_ROUNDS && !atomic_load(&s->may_stop)); i++) {
        snprintf(name, sizeof name, "function %d", i % DISTINCT);
        const pprofdelta_frame frames[] = {{.name = name, .filename = "storm.c", .line = i % 3},
                                           {.name = "main"}};
        const uint64_t addresses[] = {0, 0x1000};
        const pprofdelta_label label = {.key = "turn", .num = i % 2};
        const int64_t values[] = {1, 10};
        const pprofdelta_sample sample = {
            frames, i % 5 ? addresses : NULL, i % 5 ? 2 : 1, values, &label, 1};
        if (pprofdelta_builder_add(s->b, &sample, NULL) == PPROFDELTA_OK)
            mine++;
    }
    while (!atomic_load(&s->may_stop)) /* enough of it, but a child must not find a thread ended */
        usleep(1000);
    atomic_fetch_add(&s->flushed, mine);
    atomic_fetch_sub(&s->running, 1);
    return NULL;
}

/* The sum of the first value over all samples of a plain profile. */
static long long sum_of(const void *data, size_t len)
{
    pd_reader top = pd_reader_of(data, len);
    pd_field f, inner;
    long long sum = 0;
    while (pd_reader_next(&top, &f))
        if (f.number == 2)
            while (pd_reader_next(&f.body, &inner))
                if (inner.number == 2 && pd_reader_varint(&inner.body, &inner.value))
                    sum += (long long)inner.value;
    return sum;
}

/* Every fourth time there is no way through. */
static int arrive(void *cookie, const void *data, size_t len)
{
    storm *s = cookie;
    if (atomic_fetch_add(&s->calls, 1) % 4 == 3)
        return 1;
    s->arrived += sum_of(data, len);
    return 0;
}

static void *export_all(void *cookie)
{
    storm *s = cookie;
    pprofdelta_sink sink = {.write = arrive, .cookie = s};
    pprofdelta_builder_report report = {.size = sizeof report};
    while (atomic_load(&s->running))
        if (builder_send(s->b, &sink, &report, NULL) == PPROFDELTA_OK)
            s->lost += (long long)report.samples_lost;
    return NULL;
}

/* The thread sanitizer's malloc is not made for a child that has only one of many threads: where
 * another was inside it, its locks stay taken. So nobody is inside when we fork. Readers do not
 * wait for each other, nor does one see what another did: no race is hidden by this. */
static pthread_rwlock_t forking = PTHREAD_RWLOCK_INITIALIZER;

static void *resize_between_forks(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    pthread_rwlock_rdlock(&forking);
    void *moved = realloc(ptr, size);
    pthread_rwlock_unlock(&forking);
    return moved;
}

static void release_between_forks(void *cookie, void *ptr)
{
    (void)cookie;
    pthread_rwlock_rdlock(&forking);
    free(ptr);
    pthread_rwlock_unlock(&forking);
}

static const pprofdelta_allocator between_forks = {resize_between_forks, release_between_forks,
                                                   NULL};

static void forbid(void)
{
    pthread_rwlock_wrlock(&forking);
}

static void permit(void)
{
    pthread_rwlock_unlock(&forking);
}

/* Those who waited are not here. */
static void begin_anew(void)
{
    pthread_rwlock_init(&forking, NULL);
}

/* In the child there is one thread, and it finds everything in order. */
static int be_a_child(pprofdelta_builder *b)
{
    storm child = {.b = b};
    pprofdelta_sink sink = {.write = arrive, .cookie = &child};
    pprofdelta_builder_report report = {.size = sizeof report};
    pprofdelta_frame frame = {.name = "child"};
    const int64_t values[] = {7, 0};
    const pprofdelta_sample sample = {.frames = &frame, .frames_len = 1, .values = values};
    bool ok = pprofdelta_builder_add(b, &sample, NULL) == PPROFDELTA_OK;
    ok &= builder_send(b, &sink, &report, NULL) == PPROFDELTA_OK;
    ok &= child.arrived == 7 && report.samples_in == 1 && report.sequence == 1;
    ok &= report.pid == getpid();
    return ok ? 0 : 1;
}

static pprofdelta_builder *builder; /* the one that is told of forks, while it is not NULL */

static void tell(pprofdelta_fork step)
{
    if (builder)
        pprofdelta_builder_fork(builder, step);
}

static void before_fork(void)
{
    tell(PPROFDELTA_FORK_PREPARE);
}

static void in_parent(void)
{
    tell(PPROFDELTA_FORK_PARENT);
}

static void in_child(void)
{
    tell(PPROFDELTA_FORK_CHILD);
}

TEST(sixteen_threads_an_exporter_and_forks)
{
    pprofdelta_builder_options options = PPROFDELTA_BUILDER_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    options.types = types;
    options.types_len = 2;
    storm s = {.running = THREADS};
    REQUIRE(pprofdelta_builder_new(&options, &between_forks, &s.b, NULL) == PPROFDELTA_OK);
    REQUIRE(pthread_atfork(forbid, permit, begin_anew) ==
            0); /* the first of all, so the last to stop */
    builder = s.b;
    REQUIRE(pthread_atfork(before_fork, in_parent, in_child) == 0);
    pthread_t threads[THREADS], exporter;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, flush_many, &s) == 0);
    REQUIRE(pthread_create(&exporter, NULL, export_all, &s) == 0);
    int forks = 0;
    for (; forks < FORKS || atomic_load(&s.calls) < EXPORTS; forks++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(be_a_child(s.b));
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK_MSG(status == 0, "fork %d: the child says %#x", forks, (unsigned)status);
    }
    atomic_store(&s.may_stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(exporter, NULL);
    pprofdelta_sink sink = {.write = arrive, .cookie = &s};
    while (builder_send(s.b, &sink, NULL, NULL) != PPROFDELTA_OK)
        continue;
    CHECK_MSG(s.arrived + s.lost == atomic_load(&s.flushed) && s.lost == 0, "%lld arrived of %lld",
              s.arrived, (long long)atomic_load(&s.flushed));
    CHECK(s.arrived >= (long long)THREADS * ROUNDS / 2);
    builder = NULL;
    pprofdelta_builder_free(s.b);
}

/* Two recorders on two threads know nothing of each other. */
static void *record_alone(void *cookie)
{
    pprofdelta_recorder *r = NULL;
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
    storm s = {0};
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta_sink sink = {.write = arrive, .cookie = &s};
    long long wrong = pprofdelta_recorder_new(&options, NULL, &r, NULL) != PPROFDELTA_OK;
    for (int64_t window = 1; window <= 40 && !wrong; window++) {
        wrong += pprofdelta_recorder_begin(r, NULL, NULL) != PPROFDELTA_OK;
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t stack[] = {i, 1};
            int64_t values[] = {window * 3, window * 300, 0, 0};
            pprofdelta_record record = {.stack = stack, .depth = 2, .values = values};
            wrong += pprofdelta_recorder_add(r, &record, NULL) != PPROFDELTA_OK;
        }
        if (pprofdelta_recorder_write(r, &sink, NULL, NULL) == PPROFDELTA_OK)
            pprofdelta_recorder_commit(r);
        else
            pprofdelta_recorder_abandon(r);
    }
    /* The fourth of every four was refused: the last one, the fortieth, is still to come. */
    wrong += s.arrived != 39LL * 3 * 200;
    pprofdelta_recorder_free(r);
    *(long long *)cookie = wrong;
    return NULL;
}

TEST(recorders_do_not_steal_from_each_other)
{
    pthread_t threads[4];
    long long wrong[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, record_alone, &wrong[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_MSG(wrong[i] == 0, "recorder %d: %lld", i, wrong[i]);
    }
}

TEST_MAIN()
