/* Which frames of a stack say nothing about the program: see wrappers.h.
 *
 * A frame is judged by its name; an inlined one, which may be named without its class, by its source
 * file, too. The names here are those of C, C++, Rust and Go, so a frame of another language (names.h) is
 * none. Without a name, a frame is judged by the file that it lies in: an allocator's library, or the C
 * library below main. */
#include "show/wrappers.h"

#include "names.h"

#include <ctype.h>
#include <string.h>

/* ---- the tables --------------------------------------------------------------------------- */

/* Each list ends with NULL. A text with "*" at its end stands for all that begin with it. */

static const char *const allocators[] = {
    /* the C library */
    "aligned_alloc", "valloc", "pvalloc", "__libc_valloc", "__libc_pvalloc",
    /* of C programs, in addition to those that is_malloc knows */
    "ngx_alloc", "ngx_palloc*", "ngx_pnalloc*", "apr_palloc*", "g_slice_alloc*", "palloc*",
    "repalloc", "MemoryContextAlloc*", "AllocSetAlloc*", "PyType_GenericAlloc",
    "_PyType_AllocNoTrack", "_PyObject_GC_*", "_PyObject_New*", "gc_alloc",
    /* C++ */
    "operator new*", "_Znw*", "_Zna*", "pprofdelta_alloc::*",
    /* jemalloc, gperftools and tcmalloc, mimalloc */
    "je_*", "_rjem_*", "tc_*", "tcmalloc::*", "TCMalloc*", "mi_*", "_mi_*",
    /* Rust */
    "__rust_alloc*", "__rust_realloc", "__rustc::__rust_alloc*", "__rustc::__rust_realloc*",
    "__rg_*", "__rdl_*", "__rustc::__rdl_*", "alloc::alloc::*", "alloc::raw_vec::*",
    "<alloc::alloc::Global as *", "<alloc::alloc::Global>::*", "alloc::boxed::*",
    "alloc::rc::Rc<T>::new*", "alloc::sync::Arc<T>::new*", "<alloc::raw_vec::*", "std::alloc::*",
    "<std::alloc::System as *", "_ZN5alloc5alloc*", "_ZN5alloc7raw_vec*",
    "<pprofdelta::heap::Heap*",
    /* Go */
    "runtime.mallocgc*", "runtime.newobject", "runtime.newarray", "runtime.makeslice",
    "runtime.makeslice64", "runtime.makeslicecopy", "runtime.growslice", "runtime.rawstring*",
    "runtime.rawbyteslice*", "runtime.rawruneslice*", NULL};

static const char *const starts[] = {
    "_start", "_start_c", "__libc_start_main*", "__libc_start_call_main", "libc_start_main_stage2",
    "generic_start_main", "generic_start_main.*", "start_thread", "clone", "__clone", "clone3",
    "__clone3", "__clone_internal",
    /* C++ and Rust */
    "execute_native_thread_routine", "std::thread::*", "std::rt::*", "std::sys::*",
    "std::sys_common::*", "std::panic::*", "std::panicking::*", "core::ops::function::*",
    "<core::panic::unwind_safe::*", "<&dyn core::ops::function::*",
    "<alloc::boxed::Box<F,A> as core::ops::function::*",
    "<alloc::boxed::Box<F, A> as core::ops::function::*", "__rust_try",
    /* Go */
    "runtime.main", "runtime.goexit", "runtime.goexit.abi0", "runtime.rt0_go*", "_rt0_*",
    "runtime.mstart*", "runtime.systemstack", "runtime.systemstack.abi0", "runtime.mcall", NULL};

/* Of Python: what runs a task or a callback for an event loop. */
static const char *const turns[] = {"events.Handle._run", "events._run", NULL};

/* The stems of the names of C functions that do what malloc does, in any case of letters, with any
 * letters in front: xmalloc, zrealloc, g_malloc0_n, sqlite3DbMallocRawNN, PyMem_RawCalloc. */
static const char *const stems[] = {"malloc", "calloc", "realloc", "zalloc", "memalign", NULL};

/* The words that may follow, so that mallocator and realloc_buffer are none of them. */
static const char *const variants[] = {
    "aligned", "alarm",  "alloc", "array", "atomic", "debug",    "die",    "fail",
    "finish",  "flags",  "free",  "hook",  "impl",   "internal", "loc",    "nn",
    "no",      "num",    "or",    "raw",   "safe",   "tcache",   "usable", "with",
    "wrapper", "zeroed", "zero",  "n",     "x",      "z",        NULL};

/* Functions of the C++ library, std::...::NAME. Names with an underscore in front are the library's
 * internals (_M_allocate, __push_back_slow_path), but these call functions of the program, which may
 * be inlined into them. */
static const char *const cxx_allocators[] = {"allocate", "allocate_at_least", NULL};
static const char *const cxx_callers[] = {"_M_invoke", "_M_run", "__call", NULL};
static const char *const cxx_starts[] = {"__invoke", "__invoke_impl", "__thread_proxy",
                                         "__thread_execute", NULL};

/* Of libraries, for the question which frame is the program's own: the beginnings of the names of
 * functions and of files, and parts of the names of source files. */
static const char *const library_names[] = {"std::*",      "<std::*",  "__gnu_cxx::*", "core::*",
                                            "<core::*",    "alloc::*", "<alloc::*",    "runtime.*",
                                            "void std::*", NULL};
static const char *const library_folders[] = {"/lib/*", "/lib64/*", "/usr/lib/*", "/usr/lib64/*",
                                              "/usr/include/*", "/usr/share/*",
                                              "/usr/local/include/*", "/usr/local/lib/*",
                                              /* Go, Rust and Python */
                                              "/usr/local/go/*", "/rustc/*", "<frozen *", NULL};
static const char *const library_parts[] = {
    "/.cargo/registry/", "/.cargo/git/",    "/.rustup/",     "/pkg/mod/",
    "/go/src/runtime/",  "/site-packages/", "/lib/python3.", NULL};

/* The beginnings of the names of files, without their folders. */
static const char *const allocator_files[] = {"libpprofdelta-agent.*", "libjemalloc.*",
                                              "libtcmalloc*", "libmimalloc*", NULL};
static const char *const libc_files[] = {"libc.so.*",      "libc-2.*",  "libpthread.so.*",
                                         "libpthread-2.*", "ld-musl-*", "libc.musl-*",
                                         "ld-linux*",      NULL};

static const char *const interpreter_files[] = {"python", "python3*", "libpython3*", NULL};

/* ---- matching ----------------------------------------------------------------------------- */

static bool is_like(cli_string text, const char *pattern)
{
    size_t len = strlen(pattern) - 1;
    if (pattern[len] != '*')
        return cli_string_is(text, pattern);
    return text.len >= len && !memcmp(text.ptr, pattern, len);
}

static bool is_among(const char *const *patterns, cli_string text)
{
    while (*patterns && !is_like(text, *patterns))
        patterns++;
    return *patterns;
}

static bool contains_text(cli_string text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* "allocate" of "std::allocator<A::b>::allocate(unsigned long)". *owner becomes the place of the
 * qualified name, which stands behind the type that a template function returns. */
static cli_string last_component(cli_string name, size_t *owner)
{
    size_t depth = 0, from = 0, at = 0;
    *owner = 0;
    for (; at < name.len; at++) {
        char c = name.ptr[at];
        if (!depth && (c == '(' || (c == '<' && at > from && name.ptr[at - 1] != ':' &&
                                    !memchr(name.ptr + at, ':', name.len - at))))
            break;
        depth += c == '<' || c == '(';
        depth -= depth && (c == '>' || c == ')');
        if (depth)
            continue;
        if (c == ' ')
            *owner = from = at + 1;
        if (c == ':' && at + 1 < name.len && name.ptr[at + 1] == ':')
            from = at + 2;
    }
    cli_string last = {name.ptr + from, at - from};
    const char *angle = memchr(last.ptr, '<', last.len);
    if (angle)
        last.len = (size_t)(angle - last.ptr);
    return last;
}

/* Whether the text is made of variants, digits and underscores. Letters are small. */
static bool is_variant(cli_string text)
{
    while (text.len) {
        size_t len = strchr("_0123456789", text.ptr[0]) ? 1 : 0;
        for (size_t i = 0; !len && variants[i]; i++)
            len = cli_string_begins(text, variants[i]) ? strlen(variants[i]) : 0;
        if (!len)
            return false;
        text = (cli_string){text.ptr + len, text.len - len};
    }
    return true;
}

/* Cuts what a compiler adds to the name of a part or a copy of a function: "xmalloc.constprop.0". */
static cli_string without_clone(cli_string name)
{
    static const char *const clones[] = {".cold*",  ".constprop.*", ".isra.*",
                                         ".part.*", ".lto_priv.*",  NULL};
    const char *dot = memchr(name.ptr, '.', name.len);
    size_t len = dot ? (size_t)(dot - name.ptr) : name.len;
    cli_string rest = {name.ptr + len, name.len - len};
    return is_among(clones, rest) ? (cli_string){name.ptr, len} : name;
}

/* A name of C: letters, digits and underscores. */
static bool is_malloc(cli_string name)
{
    enum { LONGEST = 64 };
    char small[LONGEST];
    name = without_clone(name);
    if (name.len > LONGEST)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_')
            return false;
        small[i] = (char)tolower((unsigned char)name.ptr[i]);
    }
    for (size_t at = 0; at < name.len; at++)
        for (size_t i = 0; stems[i]; i++) {
            cli_string rest = {small + at, name.len - at};
            size_t len = strlen(stems[i]);
            if (cli_string_begins(rest, stems[i]) &&
                is_variant((cli_string){rest.ptr + len, rest.len - len}))
                return true;
        }
    return false;
}

/* Whether a source file is of the library of C++ or Rust. */
static bool is_in_library(cli_string source)
{
    enum { LONGEST = 512 };
    if (source.len > LONGEST)
        return false;
    return contains_text(source, "/include/c++/") || cli_string_begins(source, "/rust/deps/") ||
           (cli_string_begins(source, "/rustc/") && contains_text(source, "/library/"));
}

static unsigned library_kind(cli_string name, cli_string source)
{
    size_t owner;
    cli_string last = last_component(name, &owner);
    cli_string qualified = {name.ptr + owner, name.len - owner};
    if (contains_text(name, "::operator new"))
        return CLI_FRAME_ALLOCATES;
    if (cli_string_begins(name, "alloc::") || cli_string_begins(name, "core::"))
        return CLI_FRAME_IN_LIBRARY;
    if (!is_in_library(source) && !cli_string_begins(qualified, "std::") &&
        !cli_string_begins(qualified, "__gnu_cxx::"))
        return 0;
    if (is_among(cxx_starts, last))
        return CLI_FRAME_STARTS;
    if (is_among(cxx_callers, last))
        return 0;
    return cli_string_begins(last, "_") || is_among(cxx_allocators, last) ? CLI_FRAME_ALLOCATES
                                                                          : CLI_FRAME_IN_LIBRARY;
}

static unsigned named_kind(cli_string name, cli_string source)
{
    if (cli_string_is(name, "main"))
        return CLI_FRAME_IS_MAIN;
    unsigned kind = is_among(starts, name) ? CLI_FRAME_STARTS : library_kind(name, source);
    if (is_among(allocators, name) || is_malloc(name) || contains_text(name, "GlobalAlloc") ||
        contains_text(source, "/pprofdelta_alloc.hpp"))
        kind = cli_frame_as_allocator(kind);
    if (cli_string_begins(name, "std::rt::lang_start"))
        kind |= CLI_FRAME_STARTS_RUST;
    return kind;
}

unsigned cli_frame_kind(cli_string name, cli_string file, cli_string source, bool is_nameless)
{
    cli_string base = cli_string_base(file);
    unsigned turn = is_among(turns, name) ? CLI_FRAME_STARTS : 0;
    unsigned kind = is_nameless                    ? CLI_FRAME_IS_NAMELESS
                    : cli_is_foreign(source, file) ? turn
                                                   : named_kind(name, source);
    if (is_among(allocator_files, base))
        kind |= CLI_FRAME_ALLOCATES;
    if (is_among(interpreter_files, base) || contains_text(file, "/lib-dynload/"))
        kind |= CLI_FRAME_INTERPRETS;
    if ((is_nameless || kind & CLI_FRAME_STARTS) && is_among(libc_files, base))
        kind |= CLI_FRAME_STARTS | CLI_FRAME_IN_LIBC;
    return kind;
}

static bool has_library_part(cli_string path)
{
    for (size_t i = 0; library_parts[i]; i++)
        if (contains_text(path, library_parts[i]))
            return true;
    return false;
}

/* Of Python's own library, and not of a package. */
static bool is_in_python(cli_string source)
{
    return cli_string_begins(source, "<frozen ") ||
           (contains_text(source, "/lib/python3.") && !contains_text(source, "-packages/"));
}

cli_frame_owner cli_frame_owner_of(cli_string name, cli_string file, cli_string source)
{
    if (is_in_python(source))
        return CLI_FRAME_OF_LANGUAGE;
    bool is = has_library_part(source) || has_library_part(file) || is_in_library(source) ||
              is_among(library_folders, file) || is_among(library_folders, source) ||
              (is_among(library_names, name) && !cli_is_foreign(source, file));
    return is ? CLI_FRAME_OF_LIBRARY : CLI_FRAME_OF_PROGRAM;
}

bool cli_frame_starts(unsigned kind, unsigned callee, bool is_root)
{
    if (kind & CLI_FRAME_STARTS)
        return true;
    if (kind & CLI_FRAME_IS_MAIN)
        return callee & CLI_FRAME_STARTS_RUST;
    /* _start of a program without symbols: only the C library is called by it. */
    return is_root && kind & CLI_FRAME_IS_NAMELESS && callee & CLI_FRAME_IN_LIBC;
}
