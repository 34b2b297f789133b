//! A thread in the tracker whose unwinder changes errno, and one that a signal handler interrupts, which forks.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use pprofdelta::{Compression, Heap, Profiler};
use std::alloc::System;
use std::ffi::{c_int, c_uint, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: Heap<System> = Heap::new(System);

extern "C" {
    fn __errno_location() -> *mut c_int;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn alarm(seconds: c_uint) -> c_uint;
    fn pthread_self() -> usize;
    fn pthread_kill(thread: usize, number: c_int) -> c_int;
}

const SIGUSR1: c_int = 10;
const FORKS: usize = 100;
static PROFILER: Mutex<()> = Mutex::new(()); // there is one at a time
static UNWOUND: AtomicUsize = AtomicUsize::new(0);
static FORKED: AtomicUsize = AtomicUsize::new(0);
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// In the place of the unwinder.
#[no_mangle]
extern "C" fn _Unwind_Backtrace(_: extern "C" fn(*mut c_void, *mut c_void) -> c_int, _: *mut c_void) -> c_int {
    UNWOUND.fetch_add(1, Relaxed);
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() = 5 };
    5
}

fn exact() -> Profiler {
    Profiler::builder().rate(1).compression(Compression::Plain).start().unwrap()
}

#[test]
fn an_allocation_keeps_errno() {
    let _alone = PROFILER.lock();
    let profiler = exact();
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() = 77 };
    drop(black_box(Box::new([0_u8; 64])));
    let errno = unsafe { *__errno_location() };
    assert_eq!(errno, 77);
    assert!(profiler.stats().tracked > 0);
    assert!(UNWOUND.load(Relaxed) > 0 || cfg!(feature = "frame-pointers"));
}

extern "C" fn fork_within(_: c_int) {
    if IS_CHILD.load(SeqCst) || FORKED.load(SeqCst) == FORKS {
        return;
    }
    // SAFETY: the child does what the thread does, and ends.
    unsafe {
        if fork() != 0 {
            FORKED.fetch_add(1, SeqCst);
            return;
        }
        alarm(300);
    }
    IS_CHILD.store(true, SeqCst);
}

/// The child goes on where the thread was, and no lock is taken that another thread of the parent has.
#[test]
fn a_child_that_a_signal_handler_forks_goes_on() {
    let _alone = PROFILER.lock();
    let profiler = exact();
    let allocate = || drop(black_box(Box::new([0_u8; 64])));
    let is_over = || FORKED.load(SeqCst) == FORKS;
    // SAFETY: the thread that is interrupted waits for the one that does so.
    let me = unsafe {
        signal(SIGUSR1, fork_within);
        pthread_self()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..).take_while(|_| !is_over()).for_each(|_| allocate()));
        scope.spawn(|| {
            while !is_over() {
                unsafe { pthread_kill(me, SIGUSR1) };
                std::thread::sleep(std::time::Duration::from_micros(700));
            }
        });
        while !is_over() && !IS_CHILD.load(SeqCst) {
            (0..20).for_each(|_| allocate());
            let written = profiler.write_to(std::io::sink()).is_ok();
            assert!(written || IS_CHILD.load(SeqCst));
        }
        if IS_CHILD.load(SeqCst) {
            unsafe { _exit(0) };
        }
    });
    let mut status = 0;
    while unsafe { waitpid(-1, &mut status, 0) } > 0 {
        assert_eq!(status, 0, "a child did not end well");
    }
}
