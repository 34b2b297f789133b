//! The door of parsed profiles, with the profiles of the repository. `PPROFDELTA_COMMAND` names a command whose deltas
//! and states are compared.

use pprofdelta::{Compression, Context, Error, Format, Profiler, ProfilerBuilder, Reason, Receiver, Restart, Stage, Status};
use std::io::{self, Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::Command;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/valid").join(name)
}

fn profile(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn pair() -> [Vec<u8>; 2] {
    ["heap.1.pb.gz", "heap.2.pb.gz"].map(profile)
}

fn plain() -> Context {
    Context::builder().compression(Compression::Plain).no_stamp().verify().build().unwrap()
}

fn is_send_and_sync<T: Send + Sync>() {}
fn is_send<T: Send>() {}

#[test]
fn types_may_be_moved_and_shared() {
    is_send_and_sync::<Context>();
    is_send_and_sync::<Profiler>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<pprofdelta::Heap<std::alloc::System>>();
    is_send::<ProfilerBuilder>();
}

#[test]
fn delta_is_that_of_the_command() {
    let [prev, cur] = pair();
    let mut delta = Vec::new();
    let mut context = plain();
    context.base(&prev).unwrap();
    let report = context.delta(&cur, &mut delta).unwrap();
    assert!(report.had_base && report.samples_out > 0 && report.restart == Restart::None);
    assert_eq!(report.output_len, delta.len() as u64);
    for one in report.types.iter().filter(|one| one.is_counter) {
        assert_eq!(one.prev + one.delta - one.clamped - one.vanished, one.cur, "{}", one.r#type);
    }
    if let Ok(command) = std::env::var("PPROFDELTA_COMMAND") {
        let mut command = Command::new(command);
        command.arg(path("heap.1.pb.gz")).arg(path("heap.2.pb.gz")).args(["--compress=none", "--no-stamp", "-q"]);
        assert_eq!(command.output().unwrap().stdout, delta, "the bytes of the command");
    }
}

/// The table in the header, whose rows are {"pyroscope", "Pyroscope", "version", PPROFDELTA_OTLP, PPROFDELTA_GZIP, 3600}.
#[test]
fn receiver_is_one_word() {
    let header = std::fs::read_to_string(path("../../lib/include/pprofdelta_common.h")).unwrap();
    let rows: Vec<Vec<&str>> = header
        .split("#define PPROFDELTA_RECEIVERS")
        .nth(1)
        .unwrap()
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("{\""))
        .take(4)
        .map(|row| row.split(", ").collect())
        .collect();
    let [prev, cur] = pair();
    let delta = |builder: pprofdelta::ContextBuilder| {
        let mut delta = Vec::new();
        let mut context = builder.id(1).build().unwrap();
        context.base(&prev).unwrap();
        context.delta(&cur, &mut delta).unwrap();
        delta
    };
    let receivers = [Receiver::Pyroscope, Receiver::Parca, Receiver::Otel, Receiver::Pprof];
    assert_eq!(rows.len(), receivers.len());
    for (receiver, row) in receivers.into_iter().zip(rows) {
        assert_eq!(row[0].trim_matches('"'), format!("{receiver:?}").to_lowercase());
        let format = match row[3] {
            "PPROFDELTA_OTLP" => Format::Otlp,
            "PPROFDELTA_OTLP_PARCA" => Format::OtlpParca,
            "PPROFDELTA_OTLP_PLAIN" => Format::OtlpPlain,
            _ => Format::Pprof,
        };
        assert_eq!(row[4], "PPROFDELTA_GZIP");
        let of = || Context::builder().for_receiver(receiver);
        assert!(delta(of()) == delta(Context::builder().format(format)), "{receiver:?}");
        let plain = delta(Context::builder().format(format).compression(Compression::Plain));
        assert!(delta(of().compression(Compression::Plain)) == plain, "an option beside it wins: {receiver:?}");
        assert!(
            delta(Context::builder().format(Format::Pprof).for_receiver(receiver)) == delta(Context::builder()),
            "and before it"
        );
    }
}

#[test]
fn window_that_is_not_committed_is_in_the_next_one() {
    let [prev, cur] = pair();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut context = plain();
    context.base(&prev).unwrap();
    let window = context.window(&cur, &mut first).unwrap();
    assert_eq!((window.report().sequence, window.report().attempt), (2, 1));
    drop(window);
    let report = context.delta(&cur, &mut second).unwrap();
    assert_eq!((report.sequence, report.attempt), (2, 2));
    assert!(first == second);
    let mut third = Vec::new();
    assert!(context.delta(&cur, &mut third).unwrap().is_same);

    std::mem::forget(context.window(&cur, io::sink()).unwrap());
    assert_eq!(context.window(&cur, io::sink()).unwrap_err().status(), Status::Usage);
    context.abandon();
    assert_eq!(context.delta(&cur, io::sink()).unwrap().attempt, 2);
}

#[test]
fn state_goes_on() {
    let [prev, cur] = pair();
    let (mut state, mut delta, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut context = plain();
    context.base(&prev).unwrap();
    context.save(&mut state).unwrap();
    let before = state.clone();
    let mut window = context.window(&cur, &mut delta).unwrap();
    state.clear();
    window.save(&mut state).unwrap();
    assert!(state != before, "the attempt is saved");
    let mut other = plain();
    other.load(&before[..]).unwrap();
    other.delta(&cur, &mut again).unwrap();
    assert!(again == delta);
    if let Ok(command) = std::env::var("PPROFDELTA_COMMAND") {
        let file = std::env::temp_dir().join(format!("pprofdelta-state-{}", std::process::id()));
        std::fs::write(&file, &before).unwrap();
        let mut command = Command::new(command);
        command.args(["--compress=none", "--no-stamp", "-q", "--state"]).arg(&file).arg(path("heap.2.pb.gz"));
        let found = command.output().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(found.stdout, delta, "{}", String::from_utf8_lossy(&found.stderr));
    }
    let error = other.load(&b"no state at all"[..]).unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::State, Reason::NotAState));
    for len in (0..before.len()).step_by(97) {
        assert_eq!(other.load(&before[..len]).unwrap_err().status(), Status::State, "{len} bytes");
    }
    assert!(other.delta(&cur, io::sink()).unwrap().is_same, "what failed has changed nothing");
}

#[test]
fn damage_is_named_and_changes_nothing() {
    let [prev, cur] = pair();
    let mut context = plain();
    context.base(&prev).unwrap();
    for len in (0..cur.len()).step_by(211) {
        let error = context.window(&cur[..len], io::sink()).unwrap_err();
        assert!(!error.to_string().is_empty() && !error.is_prev(), "{len} bytes: {error}");
    }
    let mut plain = Vec::new();
    Context::builder().compression(Compression::Plain).no_stamp().build().unwrap().delta(&cur, &mut plain).unwrap();
    let error = context.window(&plain[..plain.len() / 2], io::sink()).unwrap_err();
    assert_eq!((error.status(), error.stage()), (Status::Wire, Stage::Wire), "{error}");
    assert!(error.offset().is_some() && error.to_string().contains("(at byte "), "{error}");
    assert!(context.base(b"not a profile").unwrap_err().is_prev());
    assert_eq!(context.delta(&cur, io::sink()).unwrap().sequence, 2);
    let error = Context::builder().counter("a\0b").build().unwrap_err();
    assert_eq!(error.status(), Status::Usage);
    assert_eq!(Context::builder().level(99).build().unwrap_err().status(), Status::Usage);
}

/// Takes some bytes, then fails or panics.
struct Short {
    panics: bool,
}

impl Write for Short {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        assert!(!self.panics, "on purpose");
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Short {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.write(&[])
    }
}

#[test]
fn errors_and_panics_of_the_caller_come_back() {
    let [prev, cur] = pair();
    let mut context = plain();
    context.base(&prev).unwrap();
    let error = context.window(&cur, Short { panics: false }).unwrap_err();
    assert_eq!(error.status(), Status::Sink);
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Other);
    assert_eq!(context.load(Short { panics: false }).unwrap_err().status(), Status::Source);
    for result in [
        catch_unwind(AssertUnwindSafe(|| drop(context.window(&cur, Short { panics: true })))),
        catch_unwind(AssertUnwindSafe(|| drop(context.load(Short { panics: true })))),
    ] {
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
    assert_eq!(context.delta(&cur, io::sink()).unwrap().attempt, 3, "two attempts have failed");
}

/// This program has no `Heap`.
#[test]
fn profiler_needs_the_allocator() {
    let error = Profiler::builder().start().unwrap_err();
    assert_eq!(error.status(), Status::Usage);
    assert!(error.to_string().contains("#[global_allocator]"), "{error}");
    assert!(Profiler::builder().rate(0).start().unwrap_err().to_string().contains("must not be 0"));
}

#[test]
fn request_without_samples_is_empty() {
    let mutex = profile("mutex.1.pb.gz");
    let mut requests = std::collections::HashSet::new();
    for format in [Format::Otlp, Format::OtlpParca, Format::OtlpPlain] {
        let mut context = Context::builder().format(format).id(7).compression(Compression::Plain).build().unwrap();
        let mut first = Vec::new();
        context.delta(&mutex, &mut first).unwrap();
        assert!(requests.insert(first), "two formats give one request");
        for _ in 0..2 {
            let mut out = CountsCalls(0);
            let report = context.delta(&mutex, &mut out).unwrap();
            assert_eq!((out.0, report.output_len, report.attempt), (0, 0, 1));
        }
    }
}

struct CountsCalls(usize);

impl Write for CountsCalls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
