/* cli/show/wrappers.c: which frames `show` folds away. */
#include "show/wrappers.h"
#include "test.h"

#include <string.h>

enum { A = CLI_FRAME_ALLOCATES, S = CLI_FRAME_STARTS, L = CLI_FRAME_IN_LIBC };
enum { N = CLI_FRAME_IS_NAMELESS, M = CLI_FRAME_IS_MAIN, R = CLI_FRAME_STARTS_RUST };

static const struct {
    const char *name, *file;
    unsigned kind;
} frames[] = {
    /* allocators */
    {"malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", A},
    {"calloc", "app", A},
    {"realloc", "", A},
    {"posix_memalign", "", A},
    {"__libc_malloc", "", A},
    {"operator new(unsigned long)", "libstdc++.so.6", A},
    {"operator new[](unsigned long, std::nothrow_t const&)", "", A},
    {"_Znwm", "", A},
    {"_ZnamRKSt9nothrow_t", "", A},
    {"Arena::operator new(unsigned long)", "", A},
    {"je_malloc", "", A},
    {"_rjem_malloc", "", A},
    {"tc_malloc", "", A},
    {"tcmalloc::allocate_full_malloc_oom", "", A},
    {"mi_malloc", "", A},
    {"_mi_heap_realloc_zero", "", A},
    {"__rust_alloc", "", A},
    {"__rust_alloc_zeroed", "", A},
    {"__rust_realloc", "", A},
    {"__rdl_alloc", "", A},
    {"alloc::alloc::exchange_malloc", "", A},
    {"alloc::raw_vec::RawVec<T,A>::grow_one", "", A},
    {"<alloc::alloc::Global as core::alloc::Allocator>::allocate", "", A},
    {"<alloc::alloc::Global>::alloc_impl_runtime", "", A},
    {"alloc::boxed::Box<T>::new", "", A},
    {"alloc::boxed::box_new_uninit", "", A},
    {"alloc::rc::Rc<T>::new", "", A},
    {"alloc::sync::Arc<T>::new", "", A},
    {"<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc", "", A},
    {"runtime.mallocgc", "", A},
    {"runtime.mallocgcSmallNoscan", "", A},
    {"runtime.growslice", "", A},
    {"std::__new_allocator<int>::allocate(unsigned long, void const*)", "", A},
    {"std::allocator_traits<std::allocator<Tree::Node> >::allocate", "", A},
    {"std::_Vector_base<a::b, std::allocator<a::b> >::_M_allocate(unsigned long)", "", A},
    {"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)", "", A},
    {"std::__allocated_ptr<std::allocator<X> > std::__allocate_guarded<std::allocator<X> >("
     "std::allocator<X>&)",
     "", A},
    {"std::__1::allocator<char>::allocate(unsigned long)", "", A},
    {"void std::vector<X>::_M_realloc_insert<X>(X&&)", "", A},
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
     ">::_M_construct",
     "", A},
    {"std::_Vector_base<char, std::allocator<char> >::_Vector_base", "", A},
    {"std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<Node, std::allocator<void>>",
     "", A},
    {"std::__1::vector<a::_b>::__push_back_slow_path", "", A},
    {"anything", "/opt/lib/libpprofdelta-agent.so", A},
    {"prof_backtrace", "/usr/lib/libjemalloc.so.2", A},
    /* not allocators */
    {"mallocator", "", 0},
    {"my_malloc", "", 0},
    {"xmalloc", "", 0},
    {"Pool::allocate(unsigned long)", "", 0},
    {"operator+(A const&, A const&)", "", 0},
    {"newspaper", "", 0},
    {"new", "", 0},
    {"alloc::vec::Vec<T,A>::push", "", 0},
    {"alloc::rc::Rc<T,A>::clone", "", 0},
    {"<alloc::boxed::Box<T> as app::Draw>::draw", "", 0},
    {"std::vector<int, std::allocator<int> >::push_back(int const&)", "", 0},
    {"runtime.gcBgMarkWorker", "", 0},
    {"runtime.mapassign_faststr", "", 0},
    {"strdup", "/lib/libc.so.6", 0},
    {"qsort", "/lib/libc.so.6", 0},
    {"", "", 0},
    {"::", "", 0},
    {"std::", "", 0},
    {"std::a<", "", 0},
    {"(anonymous namespace)::allocate(int)", "", 0},
    {"std::function<void (int)>::operator()(int) const", "", 0},
    {"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)", "",
     0},
    {"std::__cxx11::list<Session*, std::allocator<Session*> >::push_back", "", 0},
    {"std::make_shared<Node>", "", 0},
    {"app::_M_construct", "", 0},
    {"_internal", "", 0},
    /* start-up */
    {"_start", "/bin/app", S},
    {"__libc_start_main", "/bin/app", S},
    {"__libc_start_main@@GLIBC_2.34", "/lib/libc.so.6", S | L},
    {"__libc_start_main_impl", "/lib/libc.so.6", S | L},
    {"__libc_start_call_main", "/lib/libc.so.6", S | L},
    {"start_thread", "/lib/libpthread-2.31.so", S | L},
    {"clone", "", S},
    {"clone3", "", S},
    {"clones", "", 0},
    {"execute_native_thread_routine", "libstdc++.so.6", S},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()",
     "", S},
    {"void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other, main::{lambda()#1}&&)",
     "", S},
    {"void* std::__1::__thread_proxy<std::__1::tuple<int> >(void*)", "", S},
    {"std::rt::lang_start::{{closure}}", "", S | R},
    {"std::rt::lang_start_internal", "", S | R},
    {"std::sys::backtrace::__rust_begin_short_backtrace", "", S},
    {"<&dyn core::ops::function::Fn<(), Output = i32> as "
     "core::ops::function::FnOnce<()>>::call_once",
     "", S},
    {"core::ops::function::FnOnce::call_once", "", S},
    {"runtime.main", "", S},
    {"runtime.goexit", "", S},
    {"main", "", M},
    {"main.main", "", 0},
    {"my::main", "", 0},
    {"serve", "", 0},
};

TEST(frames_are_judged_by_name)
{
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        unsigned got =
            cli_frame_kind(cli_string_of(frames[i].name), cli_string_of(frames[i].file), false);
        CHECK_MSG(got == frames[i].kind, "%s in %s: %u", frames[i].name, frames[i].file, got);
    }
}

TEST(frames_without_a_name_are_judged_by_file)
{
    static const struct {
        const char *file;
        unsigned kind;
    } files[] = {
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", N | S | L},
        {"/lib/libc-2.31.so", N | S | L},
        {"/lib/ld-musl-x86_64.so.1", N | S | L},
        {"/usr/lib/libtcmalloc.so.4", N | A},
        {"/bin/app", N},
        {"/lib/libcurl.so.4", N},
        {"", N},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        CHECK(cli_frame_kind(cli_string_of("libc.so.6+0x1"), cli_string_of(files[i].file), true) ==
              files[i].kind);
}

/* Stacks leaf first: one letter a frame. */
static unsigned char kind_of(char letter)
{
    switch (letter) {
    case 'a':
        return A;
    case 's':
        return S;
    case 'c': /* in the C library, without a name */
        return S | L | N;
    case 'n': /* in the program, without a name */
        return N;
    case 'm':
        return M;
    case 'r':
        return S | R;
    case 'b': /* a function of both kinds */
        return A | S;
    default:
        return 0;
    }
}

TEST(only_the_ends_of_a_stack_are_cut)
{
    static const struct {
        const char *stack;
        bool is_heap;
        const char *shown;
    } stacks[] = {
        {"", true, ""},           {"f", true, "f"},
        {"aafgmss", true, "fgm"}, {"aafgmss", false, "aafgm"},
        {"faag", true, "faag"},                       /* not in the middle */
        {"afsg", true, "fsg"},    {"aaa", true, "a"}, /* something stays */
        {"sss", true, "s"},       {"aass", true, "a"},
        {"aass", false, "aa"},    {"bb", true, "b"},
        {"afrrrm", true, "f"}, /* main only starts Rust's */
        {"afrrrmss", true, "f"},  {"afmss", true, "fm"},
        {"m", true, "m"},         {"rm", true, "r"},
        {"afmccn", true, "fm"},                          /* _start without a name */
        {"afmcn", true, "fm"},    {"afmn", true, "fmn"}, /* nothing shows that it is _start */
        {"afncn", true, "fn"},                           /* only the root */
        {"nn", true, "nn"},       {"ccn", true, "c"},
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        unsigned char kinds[16];
        size_t len = strlen(stacks[i].stack), from = 99, to = 99;
        for (size_t j = 0; j < len; j++)
            kinds[j] = kind_of(stacks[i].stack[j]);
        cli_wrappers_cut(kinds, len, stacks[i].is_heap, &from, &to);
        size_t want = strlen(stacks[i].shown);
        bool is_right = from <= to && to <= len && to - from == want &&
                        !strncmp(stacks[i].stack + from, stacks[i].shown, want);
        CHECK_MSG(is_right, "%s: %zu to %zu", stacks[i].stack, from, to);
    }
}

TEST_MAIN(CASE(frames_are_judged_by_name), CASE(frames_without_a_name_are_judged_by_file),
          CASE(only_the_ends_of_a_stack_are_cut))
