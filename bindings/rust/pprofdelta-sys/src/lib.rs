//! The C library libpprofdelta: its declarations, and the library itself, which the build compiles. The headers in
//! `c/include` are its documentation. The crate `pprofdelta` is what most programs use.
//!
//! Here are the doors of parsed profiles (`pprofdelta.h`) and of allocators (`pprofdelta_heap.h`). The inline functions
//! of the headers are missing.
#![no_std]
#![allow(non_camel_case_types)]

/// One byte for each KiB of 4 GiB: see `pprofdelta_heap_filter`.
pub const PPROFDELTA_HEAP_FILTER_LEN: usize = 1 << (32 - PPROFDELTA_HEAP_GRANULE_BITS);
/// The longest line of an error, with its NUL.
pub const PPROFDELTA_ERROR_LINE: usize = 768;
/// See [`PPROFDELTA_HEAP_FILTER_LEN`].
pub const PPROFDELTA_HEAP_GRANULE_BITS: u32 = 10;

#[rustfmt::skip]
mod ffi;
pub use ffi::*;

// The compression libraries and xxHash are linked because the crates are named here.
extern crate libdeflate_sys as _;
extern crate libz_sys as _;
extern crate zstd_sys as _;

// What include/xxhash.h says of it.
const _: () = {
    use core::mem::{align_of, size_of};
    use xxhash_c_sys::{XXH128_hash_t, XXH3_state_t};
    assert!(size_of::<XXH3_state_t>() == 576 && align_of::<XXH3_state_t>() == 64);
    assert!(size_of::<XXH128_hash_t>() == 16);
};
