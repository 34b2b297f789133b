//! The callers of an allocation: by the unwind tables that every Rust program has, or by frame pointers.
//!
//! Neither allocates from Rust's allocator, and no lock of this crate is held. The unwinder is that of the standard library. It
//! takes 0.17 microseconds for a frame; a frame pointer is two loads.

/// Frames of a stack that are kept, from the leaf on.
const DEPTH: usize = 256;

pub(crate) struct Stack {
    pub(crate) addresses: [u64; DEPTH],
    pub(crate) depth: usize,
}

impl Stack {
    pub(crate) fn new() -> Self {
        Self { addresses: [0; DEPTH], depth: 0 }
    }

    /// Returns whether there is room for more.
    fn push(&mut self, address: usize) -> bool {
        self.addresses[self.depth] = address as u64;
        self.depth += 1;
        self.depth < DEPTH
    }
}

extern "C" {
    #[cfg_attr(target_os = "linux", link_name = "__errno_location")]
    #[cfg_attr(any(target_vendor = "apple", target_os = "freebsd"), link_name = "__error")]
    fn __errno() -> *mut std::ffi::c_int;
}

/// Leaves out the function that this is inlined into. Keeps errno, which an allocation that succeeds does not change.
#[inline(always)]
pub(crate) fn walk(stack: &mut Stack) {
    // SAFETY: the C library's errno of this thread.
    unsafe {
        let errno = *__errno();
        walking::walk(stack);
        *__errno() = errno;
    }
}

#[cfg(not(all(feature = "frame-pointers", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod walking {
    use super::Stack;
    use std::ffi::{c_int, c_void};

    const NO_REASON: c_int = 0;
    const END_OF_STACK: c_int = 5;

    extern "C" {
        fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, cookie: *mut c_void) -> c_int;
        fn _Unwind_GetIPInfo(context: *mut c_void, is_before: *mut c_int) -> usize;
    }

    struct Walk<'a> {
        stack: &'a mut Stack,
        skip: bool,
    }

    extern "C" fn each(context: *mut c_void, cookie: *mut c_void) -> c_int {
        let mut is_before = 0;
        // SAFETY: the unwinder calls this with its context, and with the cookie that `walk` gave it.
        let (walk, address) = unsafe { (&mut *cookie.cast::<Walk>(), _Unwind_GetIPInfo(context, &mut is_before)) };
        if std::mem::take(&mut walk.skip) {
            return NO_REASON;
        }
        // An address within the call; that of a signal's frame is of the instruction itself.
        match address.checked_sub(usize::from(is_before == 0)) {
            Some(address) if address != 0 && walk.stack.push(address) => NO_REASON,
            _ => END_OF_STACK,
        }
    }

    #[inline(always)]
    pub(crate) fn walk(stack: &mut Stack) {
        let mut walk = Walk { stack, skip: true };
        // SAFETY: `each` does not unwind, and `walk` is there until the unwinder returns.
        unsafe { _Unwind_Backtrace(each, (&mut walk as *mut Walk).cast()) };
    }
}

#[cfg(all(feature = "frame-pointers", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod walking {
    use super::Stack;
    use std::cell::Cell;
    use std::ffi::{c_int, c_ulong, c_void};

    /// A pthread_attr_t is smaller on both systems of the C library.
    #[repr(C, align(16))]
    struct Attributes([u8; 128]);

    extern "C" {
        fn pthread_self() -> c_ulong;
        fn pthread_getattr_np(thread: c_ulong, attributes: *mut Attributes) -> c_int;
        fn pthread_attr_getstack(attributes: *const Attributes, begin: *mut *mut c_void, len: *mut usize) -> c_int;
        fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
    }

    thread_local! {
        static END: Cell<usize> = const { Cell::new(0) };
    }

    /// The end of the thread's stack. The C library may read /proc for it, once for each thread.
    #[cold]
    fn find_end() -> usize {
        let (mut attributes, mut begin, mut len) = (Attributes([0; 128]), std::ptr::null_mut(), 0);
        // SAFETY: the attributes have room for a pthread_attr_t, and are read and destroyed only after they were set.
        unsafe {
            if pthread_getattr_np(pthread_self(), &mut attributes) != 0 {
                return 0;
            }
            let failed = pthread_attr_getstack(&attributes, &mut begin, &mut len) != 0;
            pthread_attr_destroy(&mut attributes);
            if failed {
                0
            } else {
                begin as usize + len
            }
        }
    }

    /// A frame is read only if it is on the thread's stack, above the
    /// frame before it, so a function without a frame pointer ends the walk or is left out, and nothing else is read.
    #[inline(always)]
    pub(crate) fn walk(stack: &mut Stack) {
        let mut frame: usize;
        // SAFETY: a register is read, and nothing else.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
            #[cfg(target_arch = "aarch64")]
            std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
        }
        let mut least = stack as *const Stack as usize;
        let end = END.with(|end| {
            if end.get() == 0 {
                end.set(find_end());
            }
            end.get()
        });
        while frame > least && frame % 8 == 0 && frame.checked_add(16).is_some_and(|top| top <= end) {
            // SAFETY: the two words are on the stack of this thread, in frames that are in use.
            let [next, address] = unsafe { *(frame as *const [usize; 2]) };
            if address == 0 || !stack.push(address - 1) {
                break;
            }
            (least, frame) = (frame, next);
        }
    }
}
