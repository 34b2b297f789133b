#![doc = include_str!("../README.md")]
#![warn(clippy::undocumented_unsafe_blocks)]

/// Methods of a builder that set the member of the same name.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {$(
        $(#[$doc])*
        pub fn $name(self, $name: $type) -> Self {
            Self { $name, ..self }
        }
    )*};
}

/// A struct of the library: its size, and 0 in all other members.
macro_rules! sized {
    ($type:ty) => {{
        // SAFETY: its members are numbers, pointers and functions that may be absent.
        let mut made: $type = unsafe { std::mem::zeroed() };
        made.size = std::mem::size_of_val(&made);
        made
    }};
}

#[rustfmt::skip]
mod answers;
mod callers;
mod context;
mod error;
mod folder;
mod heap;
mod profiler;
#[cfg(feature = "symbols")]
mod symbols;

pub use answers::{Compression, First, Format, OnReset, Reason, Receiver, Report, Restart, Stage, Status, TypeReport};
pub use context::{Context, ContextBuilder, Window};
pub use error::{Error, Result};
pub use heap::Heap;
pub use profiler::{Batch, Profiler, ProfilerBuilder, Stats};

/// The version of the C library that is built in.
pub fn version() -> &'static str {
    // SAFETY: the library returns a constant string.
    unsafe { std::ffi::CStr::from_ptr(pprofdelta_sys::pprofdelta_version()) }.to_str().unwrap_or_default()
}
