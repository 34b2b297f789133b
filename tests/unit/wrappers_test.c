/* cli/show/wrappers.c: which frames `show` folds away; cli/names.c: what it calls the rest. */
#include "arena.h"
#include "names.h"
#include "show/wrappers.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { A = CLI_FRAME_ALLOCATES, S = CLI_FRAME_STARTS, L = CLI_FRAME_IN_LIBC };
enum { P = CLI_FRAME_IN_LIBRARY };
enum { N = CLI_FRAME_IS_NAMELESS, M = CLI_FRAME_IS_MAIN, R = CLI_FRAME_STARTS_RUST };

/* Names between bars, in one file. */
static const struct {
    unsigned kind;
    const char *file, *names;
} frames[] = {
    {A, "/usr/lib/x86_64-linux-gnu/libc.so.6", "malloc"},
    {A, "libstdc++.so.6", "operator new(unsigned long)"},
    {A, "",
     "operator new[](unsigned long, std::nothrow_t const&)|_Znwm|_ZnamRKSt9nothrow_t|"
     "Arena::operator new(unsigned long)|pprofdelta_alloc::allocated(void*, unsigned "
     "long)|je_malloc|_rjem_malloc|tc_malloc|"
     "tcmalloc::allocate_full_malloc_oom|mi_malloc|_mi_heap_realloc_zero|__rust_alloc|"
     "__rust_alloc_zeroed|__rust_realloc|__rdl_alloc|alloc::alloc::exchange_malloc|"
     "alloc::raw_vec::RawVec<T,A>::grow_one|"
     "<alloc::alloc::Global as core::alloc::Allocator>::allocate|"
     "<alloc::alloc::Global>::alloc_impl_runtime|alloc::boxed::Box<T>::new|"
     "alloc::boxed::box_new_uninit|alloc::rc::Rc<T>::new|alloc::sync::Arc<T>::new|"
     "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc|"
     "runtime.mallocgc|runtime.mallocgcSmallNoscan|runtime.growslice|"
     "std::__new_allocator<int>::allocate(unsigned long, void const*)|"
     "std::allocator_traits<std::allocator<Tree::Node> >::allocate|"
     "std::_Vector_base<a::b, std::allocator<a::b> >::_M_allocate(unsigned long)|"
     "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)|"
     "std::__allocated_ptr<std::allocator<X> > std::__allocate_guarded<std::allocator<X> "
     ">(std::allocator<X>&)|"
     "std::__1::allocator<char>::allocate(unsigned long)|"
     "void std::vector<X>::_M_realloc_insert<X>(X&&)|"
     "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
     ">::_M_construct|"
     "std::_Vector_base<char, std::allocator<char> >::_Vector_base|"
     "std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<Node, std::allocator<void>>|"
     "std::__1::vector<a::_b>::__push_back_slow_path"},
    {A, "/opt/lib/libpprofdelta-agent.so", "anything"},
    {A, "/usr/lib/libjemalloc.so.2", "prof_backtrace"},
    {0, "",
     "Pool::allocate(unsigned long)|operator+(A const&, A const&)|newspaper|new|"
     "<alloc::boxed::Box<T> as app::Draw>::draw|"
     "<app::Session as core::clone::Clone>::clone|<alloc::vec::Vec<T> as app::Grow>::grow|"
     "allocate::all|mystd::vector<int>::push_back|runtime.gcBgMarkWorker|"
     "runtime.mapassign_faststr||::|(anonymous namespace)::allocate(int)|"
     "std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)|"
     "app::_M_construct|_internal|clones|main.main|my::main|serve"},
    {P, "",
     "alloc::vec::Vec<T,A>::push|alloc::rc::Rc<T,A>::clone|"
     "std::vector<int, std::allocator<int> >::push_back(int const&)|"
     "std::collections::hash::map::HashMap<K,V,S>::insert|std::|std::a<|"
     "std::function<void (int)>::operator()(int) const|"
     "std::__cxx11::list<Session*, std::allocator<Session*> >::push_back|"
     "std::make_shared<Node>"},
    {0, "/lib/libc.so.6", "strdup|qsort"},
    {S, "/bin/app", "_start|__libc_start_main"},
    {S | L, "/lib/libc.so.6",
     "__libc_start_main@@GLIBC_2.34|__libc_start_main_impl|__libc_start_call_main"},
    {S | L, "/lib/libpthread-2.31.so", "start_thread"},
    {S, "",
     "clone|clone3|"
     "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()|"
     "void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other, main::{lambda()#1}&&)|"
     "void* std::__1::__thread_proxy<std::__1::tuple<int> >(void*)|"
     "std::sys::backtrace::__rust_begin_short_backtrace|"
     "<&dyn core::ops::function::Fn<(), Output = i32> as "
     "core::ops::function::FnOnce<()>>::call_once|"
     "core::ops::function::FnOnce::call_once|runtime.main|runtime.goexit"},
    {S, "libstdc++.so.6", "execute_native_thread_routine"},
    {S | R, "", "std::rt::lang_start::{{closure}}|std::rt::lang_start_internal"},
    {M, "", "main"},
};

static void check_kinds(const char *names, const char *file, unsigned kind)
{
    char name[TEXT_SIZE];
    while (next_text(&names, name)) {
        unsigned got =
            cli_frame_kind(cli_string_of(name), cli_string_of(file), cli_string_of(""), false);
        CHECK_MSG(got == kind, "%s in %s: %u", name, file, got);
    }
}

/* Names that are made of one stem, and names that only have its letters. */
TEST(what_wraps_malloc_in_c)
{
    check_kinds(
        "malloc|calloc|realloc|reallocarray|posix_memalign|__libc_malloc_impl|_int_malloc|"
        "__posix_memalign|xmalloc|xrealloc|xcalloc|xzalloc|xmallocz|xnmalloc|zmalloc|zcalloc|"
        "zrealloc|zcalloc_num|ztrymalloc_usable_internal|ngx_alloc|ngx_calloc|ngx_palloc|"
        "ngx_palloc_large|ngx_pcalloc|ngx_pnalloc|ngx_memalign|sqlite3Malloc|"
        "sqlite3MemMalloc|sqlite3_malloc64|sqlite3MallocZero|sqlite3DbMallocRawNN|"
        "sqlite3DbReallocOrFree|mallocWithAlarm|dbMallocRawFinish|g_malloc|g_malloc0|"
        "g_malloc0_n|g_realloc_n|g_try_malloc|g_slice_alloc|g_slice_alloc0|PyMem_Malloc|"
        "PyMem_RawCalloc|PyObject_Malloc|_PyObject_Realloc|pymalloc_alloc|_PyMem_RawMalloc|"
        "PyType_GenericAlloc|_PyObject_GC_Alloc|_PyObject_New|gc_alloc|apr_palloc|apr_pcalloc|"
        "CRYPTO_zalloc|_safe_emalloc|_emalloc_56|"
        "av_mallocz|palloc0|repalloc|MemoryContextAllocZero|ruby_xmalloc2|luaM_malloc_|"
        "talloc_realloc_array|mallocx|xmalloc.constprop.0|"
        "ztrymalloc_usable_internal.part.0.isra.0|malloc.cold",
        "", A);
    check_kinds(
        "mallocator|reallocate|realloc_buffer|calloc_nodes|malloc_stats|malloc_trim|"
        "malloc_usable_size|preallocated|dealloc|alloc|session_alloc|page_alloc|"
        "heap_allocate|strdup|xstrdup|g_strdup|g_object_new|sdsnewlen|my malloc|app::malloc|"
        "main.malloc|malloc.part|small_object|ngx_create_pool|"
        "a_name_that_is_longer_than_any_of_an_allocator_that_is_known_malloc",
        "", 0);
}

TEST(frames_are_judged_by_name)
{
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        check_kinds(frames[i].names, frames[i].file, frames[i].kind);
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
        CHECK(cli_frame_kind(cli_string_of("libc.so.6+0x1"), cli_string_of(files[i].file),
                             cli_string_of(""), true) == files[i].kind);
}

/* The names of C, C++, Rust and Go mean nothing in another language. */
TEST(frames_of_other_languages_are_of_the_program)
{
    static const struct {
        const char *name, *source, *file;
    } rows[] = {
        {"clone", "lib/tree.rb", ""},       {"malloc", "src/Arena.java", ""},
        {"main", "app/__main__.py", ""},    {"runtime.main", "runtime.py", ""},
        {"tc_login", "auth.php", ""},       {"std::panic::run", "Std/Panic.pm", ""},
        {"core::alloc", "core.js", ""},     {"_start", "<string>", ""},
        {"clone", "node:internal/url", ""}, {"clone", "", "/opt/app.jar"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_string name = cli_string_of(rows[i].name), file = cli_string_of(rows[i].file),
                   source = cli_string_of(rows[i].source);
        CHECK_MSG(!cli_frame_kind(name, file, source, false), "%s", rows[i].name);
        CHECK_MSG(cli_frame_owner_of(name, file, source) == CLI_FRAME_OF_PROGRAM, "%s",
                  rows[i].name);
    }
    CHECK(cli_frame_kind(cli_string_of("clone"), cli_string_of("libc.so.6"),
                         cli_string_of("clone.S"), false) == (S | L));
}

TEST(python_has_a_library_and_packages)
{
    static const struct {
        const char *file, *source;
        cli_frame_owner owner;
    } rows[] = {
        {"", "/app/site-packages/x.py", CLI_FRAME_OF_LIBRARY},
        {"", "/usr/lib/python3.11/site-packages/x.py", CLI_FRAME_OF_LIBRARY},
        {"", "/usr/lib/python3/dist-packages/x.py", CLI_FRAME_OF_LIBRARY},
        {"/app/lib/python3.11/site-packages/x/y.cpython-311.so", "", CLI_FRAME_OF_LIBRARY},
        {"", "/usr/lib/python3.11/asyncio/events.py", CLI_FRAME_OF_LANGUAGE},
        {"", "<frozen importlib._bootstrap>", CLI_FRAME_OF_LANGUAGE},
        {"/app/rows.cpython-311.so", "", CLI_FRAME_OF_PROGRAM},
        {"", "/app/rows.py", CLI_FRAME_OF_PROGRAM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_MSG(cli_frame_owner_of(cli_string_of("x"), cli_string_of(rows[i].file),
                                     cli_string_of(rows[i].source)) == rows[i].owner,
                  "%s%s", rows[i].file, rows[i].source);
    CHECK(cli_frame_kind(cli_string_of("task_step"),
                         cli_string_of("/lib/python3.11/lib-dynload/_asyncio.so"),
                         cli_string_of("_asynciomodule.c"), false) == CLI_FRAME_INTERPRETS);
    CHECK(cli_frame_kind(cli_string_of("events.Handle._run"), cli_string_of(""),
                         cli_string_of("/lib/python3.11/asyncio/events.py"), false) == S);
    CHECK(!cli_frame_kind(cli_string_of("events.Handle._run"), cli_string_of(""),
                          cli_string_of("handle.c"), false));
}

TEST(inlined_frames_are_judged_by_source)
{
    static const struct {
        const char *name, *source;
        unsigned kind;
    } rows[] = {
        {"_M_create<login(int)::<lambda()>>", "/usr/include/c++/12/bits/std_function.h", A},
        {"function<login(int)::<lambda()>>", "/usr/include/c++/12/bits/std_function.h", P},
        {"push_back", "/opt/llvm/include/c++/v1/vector", P},
        {"_M_invoke", "/usr/include/c++/12/bits/std_function.h", 0}, /* calls the program */
        {"__invoke_impl<void>", "/usr/include/c++/12/bits/invoke.h", S},
        {"operator new", "/usr/include/c++/12/bits/new_allocator.h", A},
        {"main", "/usr/include/c++/12/vector", M},
        {"<[u8]>::to_vec_in", "/rustc/5980/library/alloc/src/slice.rs", P},
        {"<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec", "/rustc/5980/library/alloc/src/slice.rs",
         P},
        {"core::ops::function::FnOnce::call_once", "/rustc/5980/library/core/src/ops/function.rs",
         S},
        {"hashbrown::raw::alloc::inner::do_alloc", "/rust/deps/hashbrown-0.15.4/src/raw/alloc.rs",
         P},
        {"push_back", "src/include/c/vector.h", 0},
        {"parse", "/home/library/rustc/parse.rs", 0},
        {"parse", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned got = cli_frame_kind(cli_string_of(rows[i].name), cli_string_of("app"),
                                      cli_string_of(rows[i].source), false);
        CHECK_MSG(got == rows[i].kind, "%s in %s: %u", rows[i].name, rows[i].source, got);
    }
}

/* ---- names as people say them --------------------------------------------------------------- */

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define STRING1                                                                                    \
    "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>"

TEST(names_are_short)
{
    static const struct {
        const char *name, *want;
    } rows[] = {
        {STRING "::reserve", "std::string::reserve"},
        {STRING1 "::append", "std::string::append"},
        {STRING "::basic_string", "std::string::string"},
        {STRING "::~basic_string", "std::string::~string"},
        {STRING "::basic_stringy", "std::string::basic_stringy"},
        {"std::basic_string<char, own::traits, std::allocator<char> >::find",
         "std::basic_string<char, own::traits>::find"},
        {"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> "
         ">::"
         "basic_string",
         "std::wstring::wstring"},
        {"std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> "
         ">::str",
         "std::ostringstream::str"},
        {"std::__cxx11::list<" STRING ", std::allocator<" STRING " > >::push_back",
         "std::list<std::string>::push_back"},
        {"std::map<" STRING ", std::vector<int, std::allocator<int> >, std::less<" STRING " >, "
         "std::allocator<std::pair<" STRING " const, std::vector<int, std::allocator<int> > > > >::"
         "operator[]",
         "std::map<std::string, std::vector<int>>::operator[]"},
        {"std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, std::allocator<std::pair<K "
         "const, "
         "V> > >::insert",
         "std::unordered_map<K, V>::insert"},
        {"std::map<K, V, std::greater<K>, std::allocator<std::pair<K const, V> > >::at",
         "std::map<K, V, std::greater<K>>::at"},
        {"std::set<K, std::less<void>, std::allocator<K> >::find",
         "std::set<K, std::less<void>>::find"},
        {"std::vector<K, own::pool<K> >::push_back", "std::vector<K, own::pool<K>>::push_back"},
        {"std::unique_ptr<T, std::default_delete<T> >::reset", "std::unique_ptr<T>::reset"},
        {"std::allocator_traits<std::allocator<X> >::allocate",
         "std::allocator_traits<std::allocator<X>>::allocate"},
        {"f<std::function<void (int, std::allocator<char>)> >",
         "f<std::function<void (int, std::allocator<char>)>>"},
        {"own::map<std::function<void (K, V)>, std::allocator<K> >",
         "own::map<std::function<void (K, V)>>"},
        {"own::basic_string<char, std::allocator<char> >::f", "own::basic_string<char>::f"},
        {"mystd::basic_string<char, std::allocator<char> >::f", "mystd::basic_string<char>::f"},
        {"std::operator<< <char, std::char_traits<char> >", "std::operator<< <char>"},
        {"A::operator-><std::vector<T, std::allocator<T> > >", "A::operator-><std::vector<T>>"},
        {"f[abi:cxx11]", "f"},
        {"app::name[abi:cxx11]", "app::name"},
        {"std::filesystem::__cxx11::path::path", "std::filesystem::path::path"},
        {"alloc::vec::Vec<u8, alloc::alloc::Global>::push", "alloc::vec::Vec<u8>::push"},
        {"<fn(i32) -> alloc::vec::Vec<u8, alloc::alloc::Global>>::call",
         "<fn(i32) -> alloc::vec::Vec<u8>>::call"},
        /* as it is */
        {"", ""},
        {"main", "main"},
        {"main.(*Server[go.shape.int]).serve", "main.(*Server[go.shape.int]).serve"},
        {"parse<int>", "parse<int>"},
        {"<anonymous>", "<anonymous>"},
        {"a::b<std::allocator<c>", "a::b<std::allocator<c>"},
        {"std::tuple<A, std::less<A>, B>", "std::tuple<A, std::less<A>, B>"},
        {"a::<<<<<<<", "a::<<<<<<<"},
        {"a::b<c, )std::allocator<c>>", "a::b<c, )std::allocator<c>>"},
        {"app::__1x::f", "app::__1x::f"},
        {"__1::f", "__1::f"},
        {"operator", "operator"},
        {"a::operator", "a::operator"},
        {"a::[abi:", "a::[abi:"},
        /* of other languages, without a file that says so */
        {"Kernel::sleep - > [c function]", "Kernel::sleep - > [c function]"},
        {"Api::_V2::call", "Api::_V2::call"},
        {"Foo::cmp < a > b", "Foo::cmp < a > b"},
    };
    static char to[CLI_SHORT_NAME_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_string got = cli_short_name(cli_string_of(rows[i].name), to);
        CHECK_MSG(cli_string_is(got, rows[i].want), "%s: %.*s", rows[i].name, (int)got.len,
                  got.ptr);
        char copy[1024];
        size_t len = got.len;
        memcpy(copy, got.ptr, len);
        got = cli_short_name((cli_string){copy, len}, to);
        CHECK_MSG(got.len == len && got.ptr == copy, "twice: %.*s", (int)len, copy);
    }
}

/* Every prefix of a name, copied to exactly so many bytes, and names that are too long. */
TEST(odd_names_are_left_or_get_shorter)
{
    static const char name[] =
        "std::map<" STRING ", X, std::less<" STRING " > >::operator->[abi:a]";
    static char to[CLI_SHORT_NAME_MAX], large[CLI_SHORT_NAME_MAX + 2];
    for (size_t len = 0; len < sizeof name; len++) {
        char *copy = malloc(len + 1), *out = malloc(CLI_SHORT_NAME_MAX);
        REQUIRE(copy && out); // NOLINT(clang-analyzer-unix.Malloc): the test ends
        memcpy(copy, name, len);
        CHECK(cli_short_name((cli_string){copy, len}, out).len <= len);
        free(copy);
        free(out);
    }
    memset(large, 'a', sizeof large);
    memcpy(large, "a::[abi:x]", 10); // NOLINT(bugprone-not-null-terminated-result)
    CHECK(cli_short_name((cli_string){large, CLI_SHORT_NAME_MAX + 1}, to).ptr == large);
    CHECK(cli_short_name((cli_string){large, CLI_SHORT_NAME_MAX}, to).len ==
          CLI_SHORT_NAME_MAX - 7);
}

TEST_MAIN()
