//! The allocator that is profiled: what each allocation and each free does.
//!
//! Most allocations are a subtraction in the sampler of the thread and a branch, and most frees are a load from the filter
//! and a branch. The rest is behind the functions that are marked as cold. They never allocate from the allocator
//! that is profiled: the tracker maps its pages, and stacks are on the stack.
//!
//! The tracker exists while there is a [`Profiler`](crate::Profiler). A thread that uses it counts itself in `USERS`, so
//! the profiler's end can wait until none does.

use crate::callers;
use pprofdelta_sys as sys;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering::*};

/// Bytes that a thread allocates, while nothing is recorded, between two looks at whether something is.
const IDLE: i64 = 16 << 10;

/// How a thread begins whose sampler has not: its first allocation is a look.
const NOT_BEGUN: sys::pprofdelta_sampler =
    sys::pprofdelta_sampler { left: 0, held: 0, interval: 0, random: [0; 2], pauses: 0, has_begun: 0 };

/// What the profiler sets: the interval of the samplers (0: nothing is recorded), and how often that changed.
static RATE: AtomicU64 = AtomicU64::new(0);
static CHANGES: AtomicU32 = AtomicU32::new(0);
static TRACKER: AtomicPtr<sys::pprofdelta_heap> = AtomicPtr::new(null_mut());
static USERS: AtomicUsize = AtomicUsize::new(0);
// In static storage, the filter's address is a constant of the code that reads it.
static FILTER: [AtomicU8; sys::PPROFDELTA_HEAP_FILTER_LEN] = [const { AtomicU8::new(0) }; sys::PPROFDELTA_HEAP_FILTER_LEN];

/// What a thread has. It is constant at first, and nothing is done when the thread ends, so it works in every allocation
/// of a thread, from the first to the last one.
struct Local {
    sampler: UnsafeCell<sys::pprofdelta_sampler>,
    changes: Cell<u32>,
    is_paused: Cell<bool>,                    // allocations are no samples
    is_exporting: Cell<bool>,                 // in a call that holds a lock which a fork waits for
    is_inside: Cell<bool>,                    // in the tracker: an allocation of a signal handler is left out, and so is a free
    forking: Cell<*mut sys::pprofdelta_heap>, // the tracker whose locks this thread has, from before a fork until after it
    forks: Cell<u32>,                         // that this thread is in: a signal handler may fork meanwhile
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            sampler: UnsafeCell::new(NOT_BEGUN),
            changes: Cell::new(0),
            is_paused: Cell::new(false),
            is_exporting: Cell::new(false),
            is_inside: Cell::new(false),
            forking: Cell::new(null_mut()),
            forks: Cell::new(0),
        }
    };
}

const _: () = assert!(!std::mem::needs_drop::<Local>());

impl Local {
    /// The bytes before the sampler has to be asked. The slow path is reached when they are fewer than 0.
    #[inline(always)]
    fn left(&self) -> &Cell<i64> {
        // SAFETY: only this thread uses the sampler, and a `Cell` of it allows that the library writes to it between calls.
        unsafe { &*std::ptr::addr_of_mut!((*self.sampler.get()).left).cast() }
    }
}

/// An allocator around another one, which a [`Profiler`](crate::Profiler) records. Without a profiler it does nothing.
///
/// ```
/// use std::alloc::System; // or tikv_jemallocator::Jemalloc, mimalloc::MiMalloc, ...
///
/// #[global_allocator]
/// static ALLOCATOR: pprofdelta::Heap<System> = pprofdelta::Heap::new(System);
/// # fn main() {}
/// ```
#[derive(Debug, Default)]
pub struct Heap<A>(A);

impl<A> Heap<A> {
    /// Wraps the allocator.
    pub const fn new(allocator: A) -> Self {
        Self(allocator)
    }

    /// The allocator itself.
    pub const fn inner(&self) -> &A {
        &self.0
    }
}

// SAFETY: all memory is that of the inner allocator, with the layouts that the caller gave.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Heap<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let ptr = self.0.alloc(layout);
        if tick(layout.size()) {
            may_be_sample(ptr, layout.size(), false);
        }
        ptr
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let ptr = self.0.alloc_zeroed(layout);
        if tick(layout.size()) {
            may_be_sample(ptr, layout.size(), false);
        }
        ptr
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if may_be_tracked(ptr) {
            untrack(ptr); // before another thread may be given the pointer
        }
        self.0.dealloc(ptr, layout);
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let ptr = match may_be_tracked(old) {
            true => realloc_tracked(&self.0, old, layout, size),
            false => self.0.realloc(old, layout, size),
        };
        let added = size.saturating_sub(layout.size());
        if tick(added) {
            may_be_sample(ptr, added, true);
        }
        ptr
    }
}

/// As `pprofdelta_sampler_tick`.
#[inline(always)]
fn tick(size: usize) -> bool {
    LOCAL.with(|local| {
        let left = local.left().get().wrapping_sub(size as i64);
        local.left().set(left);
        left < 0
    })
}

/// As `pprofdelta_heap_maybe`.
#[inline(always)]
fn may_be_tracked(ptr: *mut u8) -> bool {
    FILTER[(ptr as usize as u32 >> sys::PPROFDELTA_HEAP_GRANULE_BITS) as usize].load(Relaxed) != 0
}

/// A thread that uses the tracker.
struct User {
    local: *const Local,
    tracker: *mut sys::pprofdelta_heap,
}

impl User {
    /// None if there is no tracker, or if the thread is in it.
    fn enter() -> Option<Self> {
        let local = LOCAL.with(|local| local as *const Local);
        // SAFETY: the thread's data has no destructor, and is there as long as the thread.
        if unsafe { (*local).is_inside.replace(true) } {
            return None;
        }
        USERS.fetch_add(1, SeqCst);
        let user = Self { local, tracker: TRACKER.load(SeqCst) };
        (!user.tracker.is_null()).then_some(user)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        USERS.fetch_sub(1, SeqCst);
        // SAFETY: as in `enter`. The thread that entered leaves: the pointer keeps this from being sent to another one.
        unsafe { (*self.local).is_inside.set(false) };
    }
}

/// The slow path's first question: is something recorded, and may this allocation be a sample? Gives the thread a new
/// sampler if what is recorded has changed.
unsafe fn is_due(local: &Local, size: usize) -> bool {
    let changes = CHANGES.load(Acquire);
    let rate = RATE.load(Relaxed);
    if rate == 0 {
        local.left().set(IDLE);
        return false;
    }
    if local.changes.replace(changes) == changes {
        return true;
    }
    sys::pprofdelta_sampler_init(local.sampler.get(), rate, 0);
    tick(size)
}

/// The callers of an allocation that may be a sample, and its track. The one frame of this crate that is not inlined
/// in an optimised build; `callers` leaves it out.
#[cold]
#[inline(never)]
unsafe fn may_be_sample(ptr: *mut u8, size: usize, is_piece: bool) {
    let local = LOCAL.with(|local| local as *const Local);
    if !is_due(&*local, size) {
        return;
    }
    let mut event: sys::pprofdelta_heap_event = std::mem::zeroed();
    let is_sample = sys::pprofdelta_sampler_take((*local).sampler.get(), size, &mut event.weight) != 0;
    if !is_sample || ptr.is_null() || (*local).is_paused.get() || (*local).is_inside.get() {
        return;
    }
    let mut stack = callers::Stack::new();
    callers::walk(&mut stack);
    if let Some(user) = User::enter() {
        event.ptr = ptr.cast();
        event.stack = stack.addresses.as_ptr();
        event.depth = stack.depth;
        event.size = size;
        event.is_piece = c_int::from(is_piece);
        sys::pprofdelta_heap_track(user.tracker, &event);
    }
}

#[cold]
#[inline(never)]
unsafe fn untrack(ptr: *mut u8) {
    if let Some(user) = User::enter() {
        sys::pprofdelta_heap_untrack(user.tracker, ptr.cast());
    }
}

/// The block keeps its birth. What is added is a piece of it, which the caller samples.
#[cold]
#[inline(never)]
unsafe fn realloc_tracked(allocator: &impl GlobalAlloc, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let mut held = sys::pprofdelta_heap_realloc { held: 0, bytes: 0 };
    let user = User::enter().filter(|user| sys::pprofdelta_heap_realloc_begin(user.tracker, old.cast(), &mut held) != 0);
    let ptr = allocator.realloc(old, layout, size);
    if let Some(user) = user {
        let (now, after) = if ptr.is_null() { (old, layout.size()) } else { (ptr, size) };
        sys::pprofdelta_heap_realloc_end(user.tracker, &mut held, now.cast(), layout.size(), after);
    }
    ptr
}

// ---- what the profiler does -------------------------------------------------------------------

/// Where the tracker writes.
pub(crate) fn filter() -> *mut sys::pprofdelta_heap_filter {
    FILTER.as_ptr().cast_mut().cast()
}

/// Is a [`Heap`] the global allocator? An allocation shows it.
pub(crate) fn is_global() -> bool {
    LOCAL.with(|local| local.left().set(IDLE));
    drop(std::hint::black_box(Box::new([0_u8; 64])));
    LOCAL.with(|local| local.left().get() != IDLE)
}

/// From now on, allocations are sampled at this rate and tracked by this tracker. This thread begins at once, others
/// when they next look.
pub(crate) fn begin(tracker: *mut sys::pprofdelta_heap, rate: u64) {
    TRACKER.store(tracker, SeqCst);
    RATE.store(rate, Relaxed);
    CHANGES.fetch_add(1, Release);
    LOCAL.with(|local| local.left().set(0));
}

/// No allocation is a sample any more. Those that are tracked still end.
pub(crate) fn stop() {
    RATE.store(0, Relaxed);
    CHANGES.fetch_add(1, Release);
}

/// No thread uses the tracker any more when this returns.
pub(crate) fn leave() {
    TRACKER.store(null_mut(), SeqCst);
    while USERS.load(SeqCst) != 0 {
        std::thread::yield_now();
    }
}

/// Calls while a mark of this thread is set.
fn marked<R>(mark: fn(&Local) -> &Cell<bool>, call: impl FnOnce() -> R) -> R {
    struct Reset(fn(&Local) -> &Cell<bool>, bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            LOCAL.with(|local| self.0(local).set(self.1));
        }
    }
    let _reset = Reset(mark, LOCAL.with(|local| mark(local).replace(true)));
    call()
}

/// Calls while allocations of this thread are no samples.
pub(crate) fn paused<R>(call: impl FnOnce() -> R) -> R {
    marked(|local| &local.is_paused, call)
}

/// Calls a function of the tracker that ends a window or reads its numbers.
pub(crate) fn exporting<R>(call: impl FnOnce() -> R) -> R {
    marked(|local| &local.is_exporting, call)
}

/// Around fork(2), for pthread_atfork(3). In between, the thread has the locks of the tracker, so what other handlers
/// allocate is left out. A signal handler that forks within the tracker cannot take them: that child is not recorded, and
/// what it returns to in the tracker ends at once.
pub(crate) extern "C" fn before_fork() {
    LOCAL.with(|local| {
        local.forks.set(local.forks.get() + 1);
        if local.forks.get() > 1 || local.is_exporting.get() || local.is_inside.replace(true) {
            return;
        }
        USERS.fetch_add(1, SeqCst);
        local.forking.set(TRACKER.load(SeqCst));
        if local.forking.get().is_null() {
            USERS.fetch_sub(1, SeqCst);
            local.is_inside.set(false);
        }
        fork_step(local, sys::PPROFDELTA_FORK_PREPARE);
    });
}

pub(crate) extern "C" fn after_fork_in_parent() {
    LOCAL.with(|local| {
        if local.forks.get() == 1 && !local.forking.get().is_null() {
            fork_step(local, sys::PPROFDELTA_FORK_PARENT);
            USERS.fetch_sub(1, SeqCst);
            end_fork(local);
        }
        local.forks.set(local.forks.get() - 1);
    });
}

pub(crate) extern "C" fn after_fork_in_child() {
    LOCAL.with(|local| {
        local.forks.set(local.forks.get() - 1);
        CHANGES.fetch_add(1, Release); // other samples than in the parent
        local.left().set(0);
        if local.forks.get() == 0 && !local.forking.get().is_null() {
            fork_step(local, sys::PPROFDELTA_FORK_CHILD);
            end_fork(local);
        } else {
            RATE.store(0, Relaxed);
            let lost = TRACKER.swap(null_mut(), SeqCst);
            if !lost.is_null() {
                // SAFETY: it is freed after it was taken from there.
                unsafe { sys::pprofdelta_heap_fork(lost, sys::PPROFDELTA_FORK_LOST, 0) };
            }
        }
        USERS.store(usize::from(local.is_inside.get()), SeqCst); // the other threads are not here
    });
}

fn end_fork(local: &Local) {
    local.forking.set(null_mut());
    local.is_inside.set(false);
}

fn fork_step(local: &Local, step: sys::pprofdelta_fork) {
    if !local.forking.get().is_null() {
        // SAFETY: the thread counts as a user of the tracker since `before_fork`, so it was not freed.
        unsafe { sys::pprofdelta_heap_fork(local.forking.get(), step, crate::profiler::now()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    /// The slow path is reached after as many bytes as the sampler has left, and no profiler means no sample. Without a
    /// function of the library, so Miri can run it.
    #[test]
    fn allocates_as_the_allocator_that_it_wraps() {
        let heap = Heap::new(System);
        let left = || LOCAL.with(|local| local.left().get());
        LOCAL.with(|local| local.left().set(IDLE));
        for (size, align) in [(1, 1), (24, 8), (64, 64), (5000, 4096)] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: each block is freed once, with the layout that it has, and is read where it was written.
            unsafe {
                let before = left();
                let ptr = heap.alloc(layout);
                assert_eq!(left(), before - size as i64, "each byte counts");
                assert_eq!(ptr as usize % align, 0);
                ptr.write_bytes(7, size);
                let ptr = heap.realloc(ptr, layout, size + 100);
                assert_eq!(std::slice::from_raw_parts(ptr, size), vec![7; size]);
                heap.dealloc(ptr, Layout::from_size_align(size + 100, align).unwrap());
                let zeroed = heap.alloc_zeroed(layout);
                assert_eq!(std::slice::from_raw_parts(zeroed, size), vec![0; size]);
                heap.dealloc(zeroed, layout);
            }
        }
        LOCAL.with(|local| local.left().set(63));
        assert!(!tick(63) && tick(1), "the first byte that is not left");
        let layout = Layout::new::<u64>();
        // SAFETY: as above.
        unsafe { heap.dealloc(heap.alloc(layout), layout) };
        assert_eq!(left(), IDLE, "nothing is recorded");
    }

    /// A handler that interrupts the tracker cannot take its locks, which its own thread has.
    #[test]
    fn a_fork_within_the_tracker_takes_no_locks() {
        let state = || LOCAL.with(|local| (local.is_inside.get(), local.forks.get(), local.forking.get().is_null()));
        LOCAL.with(|local| local.is_inside.set(true));
        before_fork();
        assert_eq!(state(), (true, 1, true));
        after_fork_in_parent();
        assert_eq!(state(), (true, 0, true), "the interrupted call is in the tracker still");
        LOCAL.with(|local| local.is_inside.set(false));
        before_fork();
        after_fork_in_parent();
        assert_eq!(state(), (false, 0, true), "without a tracker nothing is held");
    }

    #[test]
    fn pauses_nest_and_end_with_a_panic() {
        let is_paused = || LOCAL.with(|local| local.is_paused.get());
        paused(|| {
            let unwound = std::panic::catch_unwind(|| paused(|| panic!("on purpose")));
            assert!(unwound.is_err() && is_paused());
        });
        assert!(!is_paused());
    }
}
