//! Names of functions, found in the process: the feature `symbols`.

use pprofdelta_sys as sys;
use std::ffi::{c_char, c_void, CString};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

/// What the library is given for one address. It is valid until the next one.
struct Names {
    strings: Vec<CString>,
    frames: Vec<sys::pprofdelta_frame>,
}

// SAFETY: the pointers are into `strings`, which goes with them.
unsafe impl Send for Names {}

static NAMES: Mutex<Names> = Mutex::new(Names { strings: Vec::new(), frames: Vec::new() });

impl Names {
    fn keep(&mut self, string: Option<String>) -> *const c_char {
        match string.and_then(|string| CString::new(string).ok()) {
            Some(string) => {
                self.strings.push(string); // its bytes stay where they are
                self.strings[self.strings.len() - 1].as_ptr()
            }
            None => null(),
        }
    }

    fn find(&mut self, address: u64) {
        self.strings.clear();
        self.frames.clear();
        // This function expects the address after a call.
        backtrace::resolve((address + 1) as *mut c_void, |symbol| {
            let frame = sys::pprofdelta_frame {
                name: self.keep(symbol.name().map(|name| format!("{name:#}"))),
                system_name: self.keep(symbol.name().and_then(|name| name.as_str().map(str::to_owned))),
                filename: self.keep(symbol.filename().map(|path| path.to_string_lossy().into_owned())),
                start_line: 0,
                line: symbol.lineno().unwrap_or(0).into(),
                column: symbol.colno().unwrap_or(0).into(),
            };
            if !frame.name.is_null() {
                self.frames.push(frame);
            }
        });
    }
}

/// It allocates, so the caller of the library pauses the samples of this thread.
unsafe extern "C" fn symbolize(_: *mut c_void, address: u64, out: *mut sys::pprofdelta_symbol) {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| names.find(address)));
    if found.is_ok() {
        (*out).frames = names.frames.as_ptr();
        (*out).frames_len = names.frames.len();
    }
}

pub(crate) fn set(options: &mut sys::pprofdelta_heap_options) {
    options.symbolize = Some(symbolize);
}
