/* How much stack an allocation takes: each call runs on a stack that was painted before.
 *
 *     depth PLACE     prints, for each kind of call, the deepest byte that was written
 *     depth small     allocates on small stacks of each kind, and frees
 *
 * PLACE is where the calls run: a thread's own stack, an alternate stack for signals, or a context
 * of the program. */
#include "program.h"

#include <ucontext.h>

enum { STACK = 256 << 10, PAINT = 0x5a, SMALL = 8 << 10 };

void *_Znwm(size_t size); /* operator new and delete */
void _ZdlPv(void *ptr);

static void *volatile block;

static void by_malloc(void)
{
    block = malloc(100);
}

static void by_free(void)
{
    free(block);
}

static void by_calloc(void)
{
    block = calloc(10, 10);
}

static void by_realloc(void)
{
    block = realloc(block, 5000);
}

static void by_memalign(void)
{
    void *aligned = NULL;
    block = posix_memalign(&aligned, 64, 100) ? NULL : aligned;
}

static void by_new(void)
{
    block = _Znwm(100);
}

static void by_delete(void)
{
    _ZdlPv(block);
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    {"first malloc", by_malloc}, {"malloc", by_malloc},       {"realloc", by_realloc},
    {"free", by_free},           {"calloc", by_calloc},       {"free", by_free},
    {"memalign", by_memalign},   {"free", by_free},           {"new", by_new},
    {"delete", by_delete},       {"malloc again", by_malloc}, {"free again", by_free},
};

enum { CALLS = sizeof calls / sizeof *calls };

static size_t depths[CALLS];
static char *bottom; /* of the stack in use */

/* Writes below its own frame. */
APART char *paint(void)
{
    char *here = __builtin_frame_address(0);
    for (volatile char *at = bottom; at < here - 64; at++)
        *at = PAINT;
    return here;
}

APART size_t painted_over(const char *from)
{
    const volatile char *at = bottom;
    while (at < from && *at == PAINT)
        at++;
    return (size_t)(from - at);
}

static void measure(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        const char *from = paint();
        calls[i].call();
        depths[i] = painted_over(from);
    }
}

static void *in_thread(void *stack)
{
    bottom = (char *)stack + 4096;
    measure();
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    measure();
}

/* Behind 64 KiB that nothing can be written to. */
static void *make_stack(size_t size)
{
    enum { GUARD = 64 << 10 };
    char *area = mmap(NULL, GUARD + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || mprotect(area + GUARD, size, PROT_READ | PROT_WRITE))
        abort();
    return area + GUARD;
}

static void run_in_thread(void *stack, size_t size, void *(*function)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstack(&attributes, stack, size);
    else
        pthread_attr_setstacksize(&attributes, size);
    if (pthread_create(&thread, &attributes, function, stack) == 0)
        pthread_join(thread, NULL);
    else
        abort();
    pthread_attr_destroy(&attributes);
}

static void run_on_alternate(void *stack, size_t size, void (*function)(int))
{
    const stack_t alternate = {.ss_sp = stack, .ss_size = size};
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        abort();
}

static void run_in_context(void *stack, size_t size)
{
    static ucontext_t own, other;
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = size;
    other.uc_link = &own;
    makecontext(&other, measure, 0);
    swapcontext(&own, &other);
}

/* ---- small stacks ---------------------------------------------------------------------------- */

static void churn(void)
{
    for (int i = 0; i < 2000; i++) {
        void *volatile one = malloc(1000);
        void *volatile two = realloc(one, 3000);
        free(two);
        one = calloc(1, 500);
        free(one);
    }
}

static void churn_on_alternate(int number)
{
    (void)number;
    churn();
}

static void *churn_in_thread(void *unused)
{
    churn();
    return unused;
}

static void run_small(void)
{
    run_on_alternate(make_stack(SMALL), SMALL, churn_on_alternate);
    for (int i = 0; i < 4; i++)
        run_in_thread(NULL, (size_t)sysconf(_SC_THREAD_STACK_MIN), churn_in_thread);
    printf("done\n");
}

int main(int argc, char **argv)
{
    const char *place = argc > 1 ? argv[1] : "thread";
    if (!strcmp(place, "small")) {
        run_small();
        return 0;
    }
    char *stack = make_stack(STACK);
    bottom = stack;
    if (!strcmp(place, "thread"))
        run_in_thread(stack, STACK, in_thread);
    else if (!strcmp(place, "alternate"))
        run_on_alternate(stack, STACK, on_signal);
    else
        run_in_context(stack, STACK);
    for (size_t i = 0; i < CALLS; i++)
        printf("%s: %zu\n", calls[i].name, depths[i]);
    return 0;
}
