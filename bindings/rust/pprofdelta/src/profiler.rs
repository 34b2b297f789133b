//! The profiler: when windows end, and where they go.

use crate::answers::{Compression, Format, Receiver, Stage, Status};
use crate::context::{attributes, Form, Strings};
use crate::error::{checked, with_sink, Error, Result};
use crate::folder::Folder;
use crate::heap;
use pprofdelta_sys as sys;
use std::ffi::{c_char, c_int};
use std::io::{self, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, mem, process};

/// There is one tracker, so there is one profiler.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

extern "C" {
    fn pthread_atfork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> c_int;
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

type Deliver = Box<dyn FnMut(&Batch<'_>) -> io::Result<()> + Send>;
type OnError = Box<dyn FnMut(&Error) + Send>;

/// Options of a [`Profiler`].
#[must_use]
pub struct ProfilerBuilder {
    rate: u64,
    interval: Duration,
    snapshots: bool,
    form: Form,
    level: i32,
    max_memory: u64,
    resource: Strings,
    deliver: Option<Deliver>,
    on_error: Option<OnError>,
}

impl ProfilerBuilder {
    setters! {
        /// The mean number of allocated bytes between two samples: 524,288 unless it is set. 1: every allocation is a sample.
        rate: u64,
        /// How long a window is: 60 seconds unless it is set.
        interval: Duration,
        /// Each window has all that is in use, in place of what changed.
        snapshots: bool,
        /// 1 to 9; 0 is the fastest, and the default.
        level: i32,
        /// The most bytes that the tracker may map: 256 MiB unless it is set. What does not fit is dropped, and counted in the
        /// [`Stats`].
        max_memory: u64,
    }

    /// The compression of the profiles.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.form.compression = Some(compression);
        self
    }

    /// The format of the profiles. In those of OTLP, each window has all that is in use, and one without samples is not
    /// delivered: there is nothing to send.
    pub fn format(mut self, format: Format) -> Self {
        self.form.format = Some(format);
        self
    }

    /// What a receiver takes, in one word, as `--for` of the command: the format and the compression that it needs,
    /// and all that is in use, unless these are set, too.
    pub fn for_receiver(mut self, receiver: Receiver) -> Self {
        self.form.receiver = Some(receiver);
        self
    }

    /// An attribute of the resource, with a format of OTLP.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(key);
        self.resource.push(value);
        self
    }

    /// Calls for each window that has changes, on a thread of the profiler. After an error or a panic, the next window
    /// covers the time of this one, too.
    pub fn on_window(self, call: impl FnMut(&Batch<'_>) -> io::Result<()> + Send + 'static) -> Self {
        Self { deliver: Some(Box::new(call)), ..self }
    }

    /// Writes each window that has changes to a file in this folder: `heap.PROGRAM.PID.SEQUENCE.pb.gz`, as `pprofdelta
    /// record` does. The folder is made if it is missing.
    pub fn to_folder(self, path: impl Into<PathBuf>) -> Self {
        let mut folder = Folder::new(path.into());
        self.on_window(move |batch| folder.write(batch))
    }

    /// Calls for each window that could not be delivered, on a thread of the profiler. [`Profiler::end`] returns the error of the
    /// last window.
    pub fn on_error(self, call: impl FnMut(&Error) + Send + 'static) -> Self {
        Self { on_error: Some(Box::new(call)), ..self }
    }

    /// Begins to record. Fails with [`Status::Usage`] if a [`Heap`](crate::Heap) is not the global allocator, if
    /// there is a profiler already, or if an option is invalid.
    pub fn start(self) -> Result<Profiler> {
        if self.rate == 0 || self.interval.is_zero() {
            return Err(Error::usage("the rate and the interval of a profiler must not be 0"));
        }
        if IS_RUNNING.swap(true, SeqCst) {
            return Err(Error::usage("a profiler is running: end it first"));
        }
        let started = self.start_the_only_one();
        if started.is_err() {
            IS_RUNNING.store(false, SeqCst);
        }
        started
    }

    fn start_the_only_one(self) -> Result<Profiler> {
        static AROUND_FORK: Once = Once::new();
        if !heap::is_global() {
            return Err(Error::usage("pprofdelta::Heap is not the #[global_allocator] of the program"));
        }
        AROUND_FORK.call_once(|| {
            // SAFETY: the functions are there as long as the program.
            unsafe { pthread_atfork(heap::before_fork, heap::after_fork_in_parent, heap::after_fork_in_child) };
        });
        let tracker = self.resource.with(|resource| self.make_tracker(resource))?;
        let (deliver, on_error) = (self.deliver, self.on_error);
        let (format, compression) = self.form.get();
        let inuse = if self.snapshots || self.form.receiver.is_some() {
            sys::PPROFDELTA_HEAP_SNAPSHOT
        } else {
            sys::PPROFDELTA_HEAP_BY_FORMAT
        };
        let ending = match (format, compression) {
            (Format::Pprof, Compression::Gzip) => ".pb.gz",
            (Format::Pprof, Compression::Zstd) => ".pb.zst",
            (Format::Pprof, Compression::Plain) => ".pb",
            (_, Compression::Gzip) => ".otlp.gz",
            (_, Compression::Zstd) => ".otlp.zst",
            (_, Compression::Plain) => ".otlp",
        };
        let shared = Arc::new(Shared {
            tracker,
            inuse,
            ending,
            is_ending: Mutex::new(false),
            wake: Condvar::new(),
            has_failed: AtomicBool::new(false),
        });
        let mut profiler = Profiler { shared: Arc::clone(&shared), worker: None, pid: process::id() };
        heap::begin(tracker, self.rate);
        if let Some(deliver) = deliver {
            let mut worker = Worker { shared, deliver, on_error, interval: self.interval };
            let thread = thread::Builder::new().name("pprofdelta".into()).spawn(move || worker.run());
            // Without the thread, the profiler is dropped here, which ends it.
            profiler.worker = Some(thread.map_err(|source| {
                Error::of(Status::Memory, Stage::Options, "the thread of the profiler was not started".into(), Some(source))
            })?);
        }
        Ok(profiler)
    }

    fn make_tracker(&self, resource: &[*const c_char]) -> Result<*mut sys::pprofdelta_heap> {
        let resource = attributes(resource);
        let (format, compression) = self.form.get();
        let mut options = sized!(sys::pprofdelta_heap_options);
        options.flags = sys::PPROFDELTA_HEAP_AGES;
        options.period = self.rate;
        options.started_nanos = now();
        options.filter = heap::filter();
        options.max_memory = self.max_memory;
        options.compression = compression as _;
        options.level = self.level;
        options.format = format as _;
        options.resource = if resource.is_empty() { null() } else { resource.as_ptr() };
        options.resource_len = resource.len();
        #[cfg(feature = "symbols")]
        crate::symbols::set(&mut options);
        let mut tracker = null_mut();
        // SAFETY: the resource is there until the library, which copies it, returns, and the filter as long as the program.
        unsafe { checked(|err| sys::pprofdelta_heap_new(&options, &mut tracker, err))? };
        Ok(tracker)
    }
}

impl fmt::Debug for ProfilerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfilerBuilder").field("rate", &self.rate).field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// One window as a profile.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    window: &'a sys::pprofdelta_heap_window,
    ending: &'static str,
}

impl Batch<'_> {
    /// The profile.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Whether it has everything since the profiler began, not only what happened in the window. The first one has.
    pub fn is_full(&self) -> bool {
        self.window.kind == sys::PPROFDELTA_HEAP_FULL
    }

    /// Counts the windows from 1.
    pub fn sequence(&self) -> u64 {
        self.window.sequence
    }

    /// Counts the attempts to deliver the window, from 1. A receiver keeps the highest.
    pub fn attempt(&self) -> u64 {
        self.window.attempt
    }

    /// The id of the profiler, as in the stamp of the profile.
    pub fn id(&self) -> u64 {
        self.window.id
    }

    /// When the window began, in nanoseconds since 1970.
    pub fn from_nanos(&self) -> i64 {
        self.window.from_nanos
    }

    /// When the window ended, in nanoseconds since 1970.
    pub fn to_nanos(&self) -> i64 {
        self.window.to_nanos
    }

    /// What the name of a file with it ends with, such as `.pb.gz`.
    pub fn ending(&self) -> &'static str {
        self.ending
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch {{ sequence: {}, attempt: {}, bytes: {} }}", self.sequence(), self.attempt(), self.bytes.len())
    }
}

/// What the profiler knows of itself. `pprofdelta_heap.h` describes the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Allocations that are tracked now.
    pub live: u64,
    /// Distinct stacks.
    pub sites: u64,
    /// The estimate of the objects that are in use.
    pub inuse_objects: i64,
    /// The estimate of the bytes that are in use.
    pub inuse_bytes: i64,
    /// The estimate of the bytes that were in use when most were.
    pub peak_bytes: i64,
    /// Bytes that the tracker has mapped.
    pub memory: u64,
    /// Allocations that were tracked.
    pub tracked: u64,
    /// Allocations that were not tracked, since a limit was reached.
    pub dropped: u64,
    /// Windows that were delivered.
    pub committed: u64,
    /// Attempts to deliver a window that failed.
    pub abandoned: u64,
}

struct Shared {
    tracker: *mut sys::pprofdelta_heap,
    inuse: sys::pprofdelta_heap_inuse,
    ending: &'static str,
    is_ending: Mutex<bool>,
    wake: Condvar,
    has_failed: AtomicBool,
}

// SAFETY: the functions of a tracker may be called by several threads at once. It is freed when the profiler, which has the
// worker's thread joined, is dropped.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Abandons the window unless it was committed.
struct Begun(*mut sys::pprofdelta_heap);

impl Drop for Begun {
    fn drop(&mut self) {
        // SAFETY: `deliver` has the tracker as long as this.
        heap::exporting(|| unsafe { sys::pprofdelta_heap_abandon(self.0) });
    }
}

impl Shared {
    fn describe(&self) -> sys::pprofdelta_heap_stats {
        let mut stats = sized!(sys::pprofdelta_heap_stats);
        // SAFETY: the tracker is valid as long as this struct.
        heap::exporting(|| unsafe { sys::pprofdelta_heap_describe(self.tracker, &mut stats) });
        stats
    }

    /// Has the window nothing to tell? Then it is not written, and the next one begins where the last one ended.
    fn is_empty(&self) -> bool {
        self.describe().changed == 0 && !self.has_failed.load(Relaxed)
    }

    /// Ends a window, and commits it if it was delivered. A request of OTLP without samples is no bytes, and not delivered.
    fn deliver(&self, deliver: &mut dyn FnMut(&Batch<'_>) -> io::Result<()>) -> Result<()> {
        let mut window = sized!(sys::pprofdelta_heap_window);
        // SAFETY: the tracker is valid as long as this struct; so below.
        heap::exporting(|| unsafe { checked(|err| sys::pprofdelta_heap_begin(self.tracker, now(), &mut window, err)) })?;
        let begun = Begun(self.tracker);
        self.has_failed.store(true, Relaxed);
        let mut bytes = Vec::new();
        // SAFETY: see above. The compressor may allocate.
        let write = |sink, err| unsafe { sys::pprofdelta_heap_write(self.tracker, self.inuse, sink, err) };
        // SAFETY: `write` calls the sink that it is given, as long as the buffer is there.
        heap::paused(|| heap::exporting(|| unsafe { with_sink(&mut bytes, write) }))?;
        if !bytes.is_empty() {
            deliver(&Batch { bytes: &bytes, window: &window, ending: self.ending })
                .map_err(|source| Error::of(Status::Sink, Stage::Write, "a window was not delivered".into(), Some(source)))?;
        }
        // SAFETY: see above.
        let status = heap::exporting(|| unsafe { sys::pprofdelta_heap_commit(begun.0) });
        if status != sys::PPROFDELTA_OK {
            return Err(Error::usage("the window was ended by another call")); // it was written, and only this call ends it
        }
        self.has_failed.store(false, Relaxed);
        Ok(())
    }
}

struct Worker {
    shared: Arc<Shared>,
    deliver: Deliver,
    on_error: Option<OnError>,
    interval: Duration,
}

impl Worker {
    /// Delivers windows until the profiler ends, and then the last one.
    fn run(&mut self) -> Result<()> {
        let mut due = Instant::now() + self.interval;
        while !self.is_ending_before(due) {
            due = Instant::now() + self.interval;
            let _ = self.deliver();
        }
        self.deliver()
    }

    fn is_ending_before(&self, due: Instant) -> bool {
        let mut is_ending = self.shared.is_ending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if *is_ending || left.is_zero() {
                return *is_ending;
            }
            is_ending = self.shared.wake.wait_timeout(is_ending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn deliver(&mut self) -> Result<()> {
        if self.shared.is_empty() {
            return Ok(());
        }
        let (shared, deliver) = (&self.shared, &mut self.deliver);
        let delivered = catch_unwind(AssertUnwindSafe(|| shared.deliver(deliver))).unwrap_or_else(|_| {
            Err(Error::of(Status::Sink, Stage::Write, "the function that takes windows has panicked".into(), None))
        });
        if let (Err(error), Some(on_error)) = (&delivered, &mut self.on_error) {
            let _ = catch_unwind(AssertUnwindSafe(|| on_error(error)));
        }
        delivered
    }
}

/// Records the heap of the program, from [`start`](ProfilerBuilder::start) until it ends or is dropped.
///
/// ```
/// use std::sync::mpsc;
///
/// #[global_allocator]
/// static ALLOCATOR: pprofdelta::Heap<std::alloc::System> = pprofdelta::Heap::new(std::alloc::System);
///
/// # fn main() -> Result<(), pprofdelta::Error> {
/// let (send, windows) = mpsc::channel();
/// let profiler = pprofdelta::Profiler::builder()
///     .rate(1) // every allocation, as no program in production would
///     .on_window(move |batch| send.send(batch.bytes().to_vec()).map_err(std::io::Error::other))
///     .start()?;
/// let kept = vec![0_u8; 1000];
/// assert!(profiler.stats().inuse_bytes >= 1000);
/// profiler.end()?;
/// assert!(!windows.recv().unwrap().is_empty()); // a pprof profile
/// # drop(kept);
/// # Ok(()) }
/// ```
///
/// A thread that allocated before the profiler started takes part after at most 16 KiB of further allocations. After a fork, the
/// child has a profiler, too, whose tracker goes on, without the thread that delivers windows: use
/// [`write_to`](Self::write_to) there, or drop it and start another one.
pub struct Profiler {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<Result<()>>>,
    pid: u32,
}

impl Profiler {
    /// The options, with their defaults.
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder {
            rate: 512 << 10,
            interval: Duration::from_secs(60),
            snapshots: false,
            form: Form::default(),
            level: 0,
            max_memory: 0,
            resource: Strings::default(),
            deliver: None,
            on_error: None,
        }
    }

    /// Ends a window now and writes its profile. If `out` fails, the next window covers the time of this one, too.
    ///
    /// Fails with [`Status::Usage`] if the windows go to a folder or a function, and while another thread is in this call.
    pub fn write_to(&self, mut out: impl Write) -> Result<()> {
        if self.worker.is_some() && self.pid == process::id() {
            return Err(Error::usage("the windows of this profiler go elsewhere: start it without a folder and on_window"));
        }
        self.shared.deliver(&mut |batch| out.write_all(batch.bytes()).and_then(|()| out.flush()))
    }

    /// The next profile is a full one: for a receiver that has lost windows.
    pub fn resync(&self) {
        // SAFETY: the tracker is valid until this is dropped.
        unsafe { sys::pprofdelta_heap_resync(self.shared.tracker) };
    }

    /// What the profiler knows of itself.
    pub fn stats(&self) -> Stats {
        let from = self.shared.describe();
        Stats {
            live: from.live,
            sites: from.sites,
            inuse_objects: from.inuse_objects,
            inuse_bytes: from.inuse_bytes,
            peak_bytes: from.peak_bytes,
            memory: from.memory,
            tracked: from.tracked,
            dropped: from.dropped_live + from.dropped_sites + from.dropped_memory,
            committed: from.committed,
            abandoned: from.abandoned,
        }
    }

    /// Ends the last window and delivers it. Fails if it was not delivered.
    pub fn end(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        heap::stop();
        let Some(worker) = self.worker.take() else { return Ok(()) };
        if self.pid != process::id() {
            mem::forget(worker); // a thread of the parent, which may have the lock
            return Ok(());
        }
        *self.shared.is_ending.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        worker.join().unwrap_or_else(|_| unreachable!("its panics are caught"))
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        let _ = self.finish();
        heap::leave();
        // SAFETY: no thread uses the tracker any more.
        unsafe { sys::pprofdelta_heap_free(self.shared.tracker) };
        IS_RUNNING.store(false, SeqCst);
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
