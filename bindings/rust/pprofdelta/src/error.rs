//! Errors, and how the library reaches what a caller reads from and writes to.

use crate::answers::{Reason, Stage, Status};
use pprofdelta_sys as sys;
use std::any::Any;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::io::{Read, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{fmt, io};

/// Why a call failed, and where.
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: Status,
    reason: Reason,
    stage: Stage,
    field: String,
    element: Option<u64>,
    offset: Option<u64>,
    is_prev: bool,
    line: String,
    source: Option<io::Error>,
}

/// What a call returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The kind of the error.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The reason, where the status has several.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The part of the library that failed.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// The field of the profile, such as `sample.location_id`, or empty.
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// The index of the element of the first part of the field.
    pub fn element(&self) -> Option<u64> {
        self.0.element
    }

    /// The offset in the input, in bytes: in [`Stage::Inflate`] of the compressed input, later of the inflated one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Whether the error is in the profile that was given to [`Context::base`](crate::Context::base).
    pub fn is_prev(&self) -> bool {
        self.0.is_prev
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::of(Status::Usage, Stage::Options, text.into(), None)
    }

    pub(crate) fn of(status: Status, stage: Stage, line: String, source: Option<io::Error>) -> Self {
        Self(Box::new(Parts {
            status,
            reason: Reason::None,
            stage,
            field: String::new(),
            element: None,
            offset: None,
            is_prev: false,
            line,
            source,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &self.0;
        write!(f, "{}", e.line)?;
        e.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::other(error)
    }
}

/// The text of a C string; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `from` is NULL or a string that ends with a NUL.
pub(crate) unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        String::new()
    } else {
        CStr::from_ptr(from).to_string_lossy().into_owned()
    }
}

pub(crate) fn sum(from: sys::pprofdelta_sum) -> i128 {
    i128::from(from.hi) << 64 | i128::from(from.lo)
}

/// # Safety
/// `from` has `len` elements, `stride` bytes apart.
pub(crate) unsafe fn list<T, R>(from: *const T, len: usize, stride: usize, each: impl Fn(&T) -> R) -> Vec<R> {
    (0..len).map(|i| each(&*from.cast::<u8>().add(i * stride).cast())).collect()
}

/// Calls the library with a struct for its error.
///
/// # Safety
/// `call` gives the struct to a function of the library and returns what that returned.
pub(crate) unsafe fn checked(call: impl FnOnce(*mut sys::pprofdelta_error) -> sys::pprofdelta_status) -> Result<()> {
    let mut raw: sys::pprofdelta_error = std::mem::zeroed();
    let status = call(&mut raw);
    if status == sys::PPROFDELTA_OK {
        return Ok(());
    }
    let mut line = [0; sys::PPROFDELTA_ERROR_LINE];
    sys::pprofdelta_error_line(&raw, line.as_mut_ptr(), line.len());
    let somewhere = |number| (number != u64::MAX).then_some(number);
    Err(Error(Box::new(Parts {
        status: Status::from_raw(status),
        reason: Reason::from_raw(raw.reason),
        stage: Stage::from_raw(raw.stage),
        field: text(raw.field),
        element: somewhere(raw.element),
        offset: somewhere(raw.offset),
        is_prev: raw.is_prev != 0,
        line: text(line.as_ptr()),
        source: None,
    })))
}

/// A reader or writer of the caller, and what became of it: an error, or a panic, which goes on when the library has
/// returned.
struct Carried<'a, T: ?Sized> {
    io: &'a mut T,
    failed: Option<io::Error>,
    panicked: Option<Box<dyn Any + Send>>,
}

impl<'a, T: ?Sized> Carried<'a, T> {
    fn new(io: &'a mut T) -> Self {
        Self { io, failed: None, panicked: None }
    }

    fn call(&mut self, call: impl FnOnce(&mut T) -> io::Result<()>) -> c_int {
        match catch_unwind(AssertUnwindSafe(|| call(self.io))) {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => self.failed = Some(error),
            Err(panic) => self.panicked = Some(panic),
        }
        1
    }

    fn end(self, result: Result<()>) -> Result<()> {
        if let Some(panic) = self.panicked {
            resume_unwind(panic);
        }
        result.map_err(|mut error| {
            error.0.source = self.failed;
            error
        })
    }
}

unsafe extern "C" fn write_some(cookie: *mut c_void, data: *const c_void, len: usize) -> c_int {
    let data = if len == 0 { &[] } else { std::slice::from_raw_parts(data.cast::<u8>(), len) };
    (*cookie.cast::<Carried<dyn Write>>()).call(|out| out.write_all(data))
}

unsafe extern "C" fn read_some(cookie: *mut c_void, buffer: *mut c_void, len: usize, got: *mut usize) -> c_int {
    (*cookie.cast::<Carried<dyn Read>>()).call(|from| {
        buffer.write_bytes(0, len); // a reader must not see what is not initialised
        *got = loop {
            match from.read(std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => break result?,
            }
        };
        Ok(())
    })
}

/// Calls the library with a sink that writes to `out`.
///
/// # Safety
/// As [`checked`].
pub(crate) unsafe fn with_sink(
    out: &mut dyn Write,
    call: impl FnOnce(*const sys::pprofdelta_sink, *mut sys::pprofdelta_error) -> sys::pprofdelta_status,
) -> Result<()> {
    let mut carried = Carried::new(out);
    let sink = sys::pprofdelta_sink {
        write: Some(write_some),
        cookie: (&mut carried as *mut Carried<dyn Write>).cast(),
        tables: None,
    };
    let result = checked(|err| call(&sink, err));
    carried.end(result)
}

/// Calls the library with a source that reads from `from`.
///
/// # Safety
/// As [`checked`].
pub(crate) unsafe fn with_source(
    from: &mut dyn Read,
    call: impl FnOnce(*const sys::pprofdelta_source, *mut sys::pprofdelta_error) -> sys::pprofdelta_status,
) -> Result<()> {
    let mut carried = Carried::new(from);
    let source = sys::pprofdelta_source { read: Some(read_some), cookie: (&mut carried as *mut Carried<dyn Read>).cast() };
    let result = checked(|err| call(&source, err));
    carried.end(result)
}
