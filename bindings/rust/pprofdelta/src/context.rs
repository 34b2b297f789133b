//! The door of parsed profiles.

use crate::answers::{Compression, First, Format, OnReset, Receiver, Report};
use crate::error::{checked, with_sink, with_source, Error, Result};
use pprofdelta_sys as sys;
use std::ffi::{c_char, CString};
use std::io::{Read, Write};
use std::ptr::{null, null_mut, NonNull};

/// Remembers the counters of the last profile of one target, and subtracts them from the next one.
///
/// A profile is cumulative: pprof (gzip, zstd or plain), the text of jemalloc's or gperftools' heap profiles, or OTLP.
///
/// ```
/// # fn upload(_: &[u8]) -> Result<(), std::io::Error> { Ok(()) }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Of one place, which had allocated 10 objects of 64 bytes, and then 25.
/// let scrapes = [
///     "heap profile: 2: 128 [10: 640] @ heapprofile\n 2: 128 [10: 640] @ 0x1000 0x2000\nMAPPED_LIBRARIES:\n1000-3000 r-xp 0 00:00 0 /app\n",
///     "heap profile: 3: 192 [25: 1600] @ heapprofile\n 3: 192 [25: 1600] @ 0x1000 0x2000\nMAPPED_LIBRARIES:\n1000-3000 r-xp 0 00:00 0 /app\n",
/// ];
/// let mut context = pprofdelta::Context::new()?;
/// context.base(scrapes[0].as_bytes())?;
///
/// let mut delta = Vec::new();
/// let window = context.window(scrapes[1].as_bytes(), &mut delta)?;
/// upload(&delta)?; // if it fails, the window is abandoned, and the next window covers this one, too
/// let report = window.commit()?;
/// let allocated = report.types.iter().find(|one| one.r#type == "alloc_space").unwrap();
/// assert_eq!(allocated.delta, 15 * 64);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Context(NonNull<sys::pprofdelta>);

// SAFETY: the library has no global state and no state of a thread.
unsafe impl Send for Context {}
// SAFETY: no method with a shared reference calls the library.
unsafe impl Sync for Context {}

impl Context {
    /// An empty context with the default options.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// An empty context with other options.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Remembers this profile, whatever was remembered before: the next window begins with it.
    pub fn base(&mut self, profile: &[u8]) -> Result<()> {
        // SAFETY: the pointer and the length are those of a slice, which the library only reads, and not after it has returned.
        unsafe { checked(|err| sys::pprofdelta_base(self.0.as_ptr(), profile.as_ptr().cast(), profile.len(), err)) }
    }

    /// Computes the delta of this profile against what the context remembers, and writes it. What is remembered changes
    /// with [`Window::commit`]. If anything fails, no window is under way and nothing has changed.
    pub fn window(&mut self, profile: &[u8], mut out: impl Write) -> Result<Window<'_>> {
        let mut raw = sized!(sys::pprofdelta_report);
        // SAFETY: as in `base`. The report was filled in if no error returned, and points into the context until its next call.
        unsafe {
            with_sink(&mut out, |sink, err| {
                sys::pprofdelta_window(self.0.as_ptr(), profile.as_ptr().cast(), profile.len(), sink, &mut raw, err)
            })?;
            Ok(Window { report: Report::from_raw(&raw), context: self })
        }
    }

    /// A window that is committed at once: for deltas that have arrived when `out` has them.
    pub fn delta(&mut self, profile: &[u8], out: impl Write) -> Result<Report> {
        self.window(profile, out)?.commit()
    }

    /// Ends a window that was forgotten ([`std::mem::forget`]). Otherwise does nothing.
    pub fn abandon(&mut self) {
        // SAFETY: the context is valid, and no other thread uses it.
        unsafe { sys::pprofdelta_abandon(self.0.as_ptr()) }
    }

    /// Sets when the target began, in nanoseconds since 1970 (0: unknown). A profile from after that, with one from
    /// before it remembered, is of a process that has restarted.
    pub fn set_started(&mut self, nanos: i64) {
        // SAFETY: the context is valid, and no other thread uses it.
        unsafe { sys::pprofdelta_set_started(self.0.as_ptr(), nanos) }
    }

    /// Writes what is remembered: a state, as `pprofdelta --state` has it.
    pub fn save(&mut self, mut out: impl Write) -> Result<()> {
        // SAFETY: the context is valid, and no other thread uses it.
        unsafe { with_sink(&mut out, |sink, err| sys::pprofdelta_save(self.0.as_ptr(), sink, err)) }
    }

    /// Remembers what was saved. After a failure the context is as before.
    pub fn load(&mut self, mut from: impl Read) -> Result<()> {
        // SAFETY: the context is valid, and no other thread uses it.
        unsafe { with_source(&mut from, |source, err| sys::pprofdelta_load(self.0.as_ptr(), source, err)) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing uses the context after this.
        unsafe { sys::pprofdelta_free(self.0.as_ptr()) }
    }
}

/// A window whose delta was written. It is abandoned when it is dropped: then the next window covers it, too.
#[derive(Debug)]
#[must_use = "a window that is dropped is abandoned"]
pub struct Window<'a> {
    context: &'a mut Context,
    report: Report,
}

impl Window<'_> {
    /// What the window found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Saves the state with this attempt: before the delta is sent, so that no delta counts twice if the process ends.
    pub fn save(&mut self, out: impl Write) -> Result<()> {
        self.context.save(out)
    }

    /// The delta has arrived: the next window begins where this one ends.
    pub fn commit(self) -> Result<Report> {
        // SAFETY: the context is valid, and no other thread uses it.
        let status = unsafe { sys::pprofdelta_commit(self.context.0.as_ptr()) };
        if status != sys::PPROFDELTA_OK {
            return Err(Error::usage("the window cannot be committed")); // it was written, so this does not happen
        }
        Ok(self.report.clone())
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.context.abandon(); // does nothing after a commit
    }
}

/// The form of what is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    pub(crate) receiver: Option<Receiver>,
    pub(crate) format: Option<Format>,
    pub(crate) compression: Option<Compression>,
}

impl Form {
    /// What was set, or else what the receiver takes, or else the default.
    pub(crate) fn get(&self) -> (Format, Compression) {
        let (format, compression) = self.receiver.map(Receiver::takes).unwrap_or_default();
        (self.format.unwrap_or(format), self.compression.unwrap_or(compression))
    }
}

/// Strings as C has them: each ends with a NUL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strings(Vec<String>);

impl Strings {
    pub(crate) fn push(&mut self, string: impl Into<String>) {
        self.0.push(string.into());
    }

    /// Calls with pointers to them. Fails if one contains a NUL.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&[*const c_char]) -> Result<R>) -> Result<R> {
        let owned: std::result::Result<Vec<CString>, _> = self.0.iter().map(|one| CString::new(one.as_str())).collect();
        let owned = owned.map_err(|_| Error::usage("a string of the options contains a NUL"))?;
        call(&owned.iter().map(|one| one.as_ptr()).collect::<Vec<_>>())
    }
}

/// Options of a [`Context`]. pprofdelta-delta(1) has what they mean for a delta.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ContextBuilder {
    flags: u32,
    on_reset: OnReset,
    first: First,
    form: Form,
    level: i32,
    max_memory: u64,
    id: u64,
    counters: Strings,
    gauges: Strings,
    resource: Strings,
}

impl ContextBuilder {
    fn flag(mut self, flag: u32) -> Self {
        self.flags |= flag;
        self
    }

    /// Leaves out the comment that marks a profile as a delta.
    pub fn no_stamp(self) -> Self {
        self.flag(sys::PPROFDELTA_NO_STAMP)
    }

    /// Accepts inputs that are deltas, or of another service, or not known to be cumulative.
    pub fn force(self) -> Self {
        self.flag(sys::PPROFDELTA_FORCE)
    }

    /// Checks the conservation law before any output.
    pub fn verify(self) -> Self {
        self.flag(sys::PPROFDELTA_VERIFY)
    }

    /// A default type that is a gauge becomes its counter.
    pub fn default_counter(self) -> Self {
        self.flag(sys::PPROFDELTA_DEFAULT_COUNTER)
    }

    /// Windows have no sequence: for windows that belong to no series.
    pub fn no_sequence(self) -> Self {
        self.flag(sys::PPROFDELTA_NO_SEQUENCE)
    }

    /// Counters and gauges may name types that a profile does not have.
    pub fn absent_types(self) -> Self {
        self.flag(sys::PPROFDELTA_ABSENT_TYPES)
    }

    setters! {
        /// What to do when a counter went backwards or the target restarted.
        on_reset: OnReset,
        /// What the first window of an empty context is.
        first: First,
        /// 1 to 9; 0 is the default, which is chosen for speed.
        level: i32,
        /// The most bytes that the context may hold, with the inflated input. 0: 8 GiB.
        max_memory: u64,
        /// The id of the series of windows, from which a receiver knows it. 0: a random one.
        id: u64,
    }

    /// The compression of the deltas.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.form.compression = Some(compression);
        self
    }

    /// The format of the deltas. In those of OTLP, nothing is written for a window without samples: there is nothing to
    /// send, and the window is committed.
    pub fn format(mut self, format: Format) -> Self {
        self.form.format = Some(format);
        self
    }

    /// What a receiver takes, in one word, as `--for` of the command: the format and the compression that it needs, unless
    /// these are set, too.
    pub fn for_receiver(mut self, receiver: Receiver) -> Self {
        self.form.receiver = Some(receiver);
        self
    }

    /// One more type that is a counter: "type" or "type/unit".
    pub fn counter(mut self, name: impl Into<String>) -> Self {
        self.counters.push(name);
        self
    }

    /// A type that is a gauge, whatever its name says.
    pub fn gauge(mut self, name: impl Into<String>) -> Self {
        self.gauges.push(name);
        self
    }

    /// An attribute of the resource, with a format of OTLP. A later one replaces an earlier one with the same key.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(key);
        self.resource.push(value);
        self
    }

    /// Makes the context.
    pub fn build(&self) -> Result<Context> {
        self.counters
            .with(|counters| self.gauges.with(|gauges| self.resource.with(|resource| self.make(counters, gauges, resource))))
    }

    fn make(&self, counters: &[*const c_char], gauges: &[*const c_char], resource: &[*const c_char]) -> Result<Context> {
        let resource = attributes(resource);
        let (format, compression) = self.form.get();
        let options = sys::pprofdelta_options {
            size: std::mem::size_of::<sys::pprofdelta_options>(),
            flags: self.flags,
            on_reset: self.on_reset as _,
            first: self.first as _,
            compression: compression as _,
            level: self.level,
            max_memory: self.max_memory,
            counters: counters.as_ptr(),
            counters_len: counters.len(),
            gauges: gauges.as_ptr(),
            gauges_len: gauges.len(),
            format: format as _,
            resource: resource.as_ptr(),
            resource_len: resource.len(),
            resource_weak: 0,
            id: self.id,
            target_label: null(),
            last_sequence: 0,
        };
        let mut out = null_mut();
        // SAFETY: the strings and lists of the options are there until the library, which copies them, returns.
        unsafe { checked(|err| sys::pprofdelta_new(&options, null(), &mut out, err))? };
        Ok(Context(NonNull::new(out).expect("a context was made")))
    }
}

pub(crate) fn attributes(pairs: &[*const c_char]) -> Vec<sys::pprofdelta_attribute> {
    pairs.chunks_exact(2).map(|pair| sys::pprofdelta_attribute { key: pair[0], value: pair[1] }).collect()
}
