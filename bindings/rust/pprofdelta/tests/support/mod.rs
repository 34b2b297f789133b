//! What the tests of the allocators share: a reader of plain profiles that knows nothing of the library, and the
//! scenes, whose numbers are known because every allocation is a sample.
#![allow(dead_code)]

use pprofdelta::{Compression, Profiler, ProfilerBuilder, Receiver, Status};
use std::alloc::{alloc, alloc_zeroed, dealloc, Layout};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::sync::Barrier;

// ---- a profile ---------------------------------------------------------------------------------

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&first, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first < 0x80 {
            break;
        }
    }
    value
}

/// The fields of a message: a number and a value, or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        let (content, rest) = bytes.split_at(if key & 7 == 2 { value as usize } else { 0 });
        assert!(key & 7 == 2 || key & 7 == 0);
        bytes = rest;
        found.push((key >> 3, value, content));
    }
    found
}

fn packed(mut bytes: &[u8]) -> Vec<u64> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes));
    }
    values
}

/// The sums of each type over all samples, the most frames of a sample, and the comment.
#[derive(Debug, Default)]
pub struct Profile {
    pub sums: BTreeMap<String, i64>,
    pub deepest: usize,
    pub comment: String,
}

impl Profile {
    pub fn read(bytes: &[u8]) -> Self {
        let all = fields(bytes);
        let strings: Vec<&[u8]> = all.iter().filter(|field| field.0 == 6).map(|field| field.2).collect();
        let string = |number: u64| String::from_utf8(strings[number as usize].to_vec()).unwrap();
        let types = all.iter().filter(|field| field.0 == 1).map(|field| string(fields(field.2)[0].1));
        let types: Vec<String> = types.collect();
        let mut profile = Self { sums: types.iter().map(|name| (name.clone(), 0)).collect(), ..Self::default() };
        for sample in all.iter().filter(|field| field.0 == 2) {
            for (number, _, content) in fields(sample.2) {
                match number {
                    1 => profile.deepest = profile.deepest.max(packed(content).len()),
                    2 => packed(content)
                        .iter()
                        .zip(&types)
                        .for_each(|(&value, name)| *profile.sums.get_mut(name).unwrap() += value as i64),
                    _ => (),
                }
            }
        }
        for (_, value, content) in all.iter().filter(|field| field.0 == 13) {
            profile.comment = string(if content.is_empty() { *value } else { packed(content)[0] });
        }
        profile
    }

    /// Allocated objects and bytes, and what is in use: objects and bytes.
    pub fn four(&self) -> [i64; 4] {
        ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"].map(|name| self.sums[name])
    }
}

/// A window into a buffer that was there before, so nothing is allocated that is seen.
pub fn window(profiler: &Profiler, buffer: &mut Vec<u8>) -> Profile {
    buffer.clear();
    profiler.write_to(&mut *buffer).unwrap();
    Profile::read(buffer)
}

// ---- the scenes --------------------------------------------------------------------------------

/// Takes what was allocated before, runs the scene, and compares the window of the scene.
fn scene(profiler: &Profiler, buffer: &mut Vec<u8>, name: &str, expected: [i64; 4], play: impl FnOnce()) {
    buffer.clear();
    profiler.write_to(&mut *buffer).unwrap();
    play();
    let found = window(profiler, buffer);
    assert_eq!(found.four(), expected, "{name}: objects and bytes, allocated and in use");
}

pub fn exact() -> ProfilerBuilder {
    Profiler::builder().rate(1).compression(Compression::Plain)
}

/// Runs the scenes with the global allocator of the program, which is a `Heap`. One test calls this, so no other thread
/// allocates.
pub fn play_all() {
    // The message of the panic on purpose would allocate.
    std::panic::set_hook(Box::new(|info| {
        if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
            eprintln!("{info}");
        }
    }));
    let mut buffer = Vec::with_capacity(8 << 20);
    let mut kept = Vec::with_capacity(1000);
    let profiler = exact().start().unwrap();
    assert_eq!(exact().start().unwrap_err().status(), Status::Usage, "there is one profiler");
    let first = window(&profiler, &mut buffer);
    assert!(first.comment.contains("kind=full") && first.comment.contains("seq=1 attempt=1"), "{}", first.comment);
    assert!(first.deepest > 3, "stacks have callers: {}", first.deepest);

    scene(&profiler, &mut buffer, "boxes", [1000, 48_000, 400, 19_200], || {
        for i in 0..1000 {
            let one = std::hint::black_box(Box::new([0_u8; 48]));
            if i % 5 < 2 {
                kept.push(one);
            }
        }
    });
    scene(&profiler, &mut buffer, "they end", [0, 0, -400, -19_200], || kept.clear());

    let mut grown: Vec<u8> = Vec::new();
    scene(&profiler, &mut buffer, "a vector grows by 100, 900 and 99,000 bytes", [3, 100_000, 3, 100_000], || {
        for size in [100, 1000, 100_000] {
            grown.reserve_exact(size);
        }
        assert!(grown.try_reserve_exact(isize::MAX as usize).is_err(), "a realloc that fails changes nothing");
    });
    scene(&profiler, &mut buffer, "it gets smaller", [0, 0, 0, -90_000], || grown.shrink_to(10_000));
    scene(&profiler, &mut buffer, "it ends", [0, 0, -3, -10_000], || drop(grown));

    let layouts = [(1, 1), (64, 4096), (5000, 64)].map(|(size, align)| Layout::from_size_align(size, align).unwrap());
    scene(&profiler, &mut buffer, "aligned and zeroed", [6, 2 * 5065, 0, 0], || unsafe {
        for layout in layouts {
            let (plain, zeroed) = (alloc(layout), alloc_zeroed(layout));
            assert!(plain as usize % layout.align() == 0 && zeroed as usize % layout.align() == 0);
            assert!((0..layout.size()).all(|at| zeroed.add(at).read() == 0));
            dealloc(plain, layout);
            dealloc(zeroed, layout);
        }
    });

    drop(window(&profiler, &mut buffer));
    let unwound = catch_unwind(|| {
        let held = std::hint::black_box(vec![1_u8; 777]);
        if held[0] == 1 {
            panic!("on purpose");
        }
    });
    drop(unwound);
    let [_, bytes, left @ ..] = window(&profiler, &mut buffer).four();
    assert!(bytes >= 777 && left == [0, 0], "a panic frees what it unwinds, and itself: {bytes} {left:?}");
    threads(&profiler, &mut buffer);
    undelivered(&profiler, &mut buffer);
    forked(&profiler, &mut buffer);
    profiler.end().unwrap();

    let again = exact().start().unwrap();
    assert!(window(&again, &mut buffer).comment.contains("seq=1 attempt=1"), "another tracker");
    again.end().unwrap();
    estimates(&mut buffer);
    for_a_receiver(&mut buffer);
    delivered_by_its_thread();
    written_to_a_folder();
}

/// Blocks that one thread makes and another one frees; threads that end while a destructor of the thread allocates.
fn threads(profiler: &Profiler, buffer: &mut Vec<u8>) {
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            drop(std::hint::black_box(vec![1_u8; 3000])); // in a thread that ends
        }
    }
    thread_local!(static LATE: Late = const { Late });
    const THREADS: usize = 4;
    let before = window(profiler, buffer); // for its buffers
    drop(before);
    let turn = Barrier::new(THREADS + 1);
    let mut made: [Vec<Vec<u8>>; THREADS] = std::array::from_fn(|_| Vec::with_capacity(100));
    std::thread::scope(|scope| {
        let threads = made.each_mut().map(|made| {
            let turn = &turn;
            scope.spawn(move || {
                LATE.with(|_| ());
                turn.wait();
                turn.wait(); // the window has begun
                for size in 1..=100 {
                    made.push(Vec::with_capacity(size));
                }
                turn.wait();
                turn.wait(); // it was written
            })
        });
        turn.wait();
        scene(profiler, buffer, "threads", [400, 20_200, 400, 20_200], || {
            turn.wait();
            turn.wait();
        });
        turn.wait();
        for thread in threads {
            thread.join().unwrap(); // its destructors have run, too
        }
    });
    scene(profiler, buffer, "freed by another thread", [0, 0, -400, -20_200], || made.iter_mut().for_each(Vec::clear));
}

struct Refuses;

impl Write for Refuses {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A window that does not arrive is in the next one.
fn undelivered(profiler: &Profiler, buffer: &mut Vec<u8>) {
    drop(window(profiler, buffer));
    let held = std::hint::black_box(vec![1_u8; 1234]);
    let error = profiler.write_to(Refuses).unwrap_err();
    assert_eq!(error.status(), Status::Sink);
    let source = std::error::Error::source(&error).unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
    drop(error);
    let found = window(profiler, buffer);
    assert!(found.comment.contains("attempt=2"), "{}", found.comment);
    assert_eq!(found.four()[3], 1234, "the error has ended");
    drop(held);
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// The child has what is in use, and counts what it allocates itself.
fn forked(profiler: &Profiler, buffer: &mut Vec<u8>) {
    let held = std::hint::black_box(vec![1_u8; 4321]);
    let in_use = profiler.stats().inuse_bytes;
    let child = unsafe { fork() };
    if child == 0 {
        let worked = catch_unwind(std::panic::AssertUnwindSafe(|| {
            let new = std::hint::black_box(vec![1_u8; 99]);
            let found = window(profiler, buffer);
            drop(new);
            found.comment.contains("kind=full") && found.four() == [1, 99, found.four()[2], in_use + 99]
        }));
        unsafe { _exit(if worked.unwrap_or(false) { 0 } else { 1 }) };
    }
    let mut status = -1;
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child counts what it allocates");
    drop(held);
    assert_eq!(profiler.stats().inuse_bytes, in_use - 4321, "the parent goes on");
}

/// 1,600 samples: a deviation of an eighth is five times the standard deviation.
fn estimates(buffer: &mut Vec<u8>) {
    let mut kept = Vec::with_capacity(100_000);
    let profiler = Profiler::builder().rate(4096).compression(Compression::Plain).start().unwrap();
    kept.extend((0..100_000).map(|_| std::hint::black_box(Box::new([0_u8; 64]))));
    let [_, _, objects, bytes] = window(&profiler, buffer).four();
    assert!((objects - 100_000).abs() < 12_500 && (bytes - 6_400_000).abs() < 800_000, "{objects} {bytes}");
    assert!(profiler.stats().tracked < 3000, "{:?}", profiler.stats());
    kept.clear();
    assert_eq!(profiler.stats().inuse_bytes, 0, "what was added is subtracted");
    profiler.end().unwrap();
}

/// A receiver gets what is in use in each window, and never a negative change.
fn for_a_receiver(buffer: &mut Vec<u8>) {
    let profiler = exact().for_receiver(Receiver::Pprof).start().unwrap();
    let mut held = Vec::with_capacity(2);
    for size in [1000, 300] {
        held.push(std::hint::black_box(vec![1_u8; size]));
    }
    drop(window(&profiler, buffer));
    held.remove(0);
    let [.., objects, bytes] = window(&profiler, buffer).four();
    assert_eq!((objects, bytes), (2, 300 + 48), "the block that is left, and the vector that holds it");
    profiler.end().unwrap();
}

/// The last window is delivered at the end. One that fails is in the next one, and the last one's error comes back.
fn delivered_by_its_thread() {
    let (send, windows) = std::sync::mpsc::channel();
    let (fail, errors) = std::sync::mpsc::channel();
    let mut attempts = 0;
    let profiler =
        exact().interval(std::time::Duration::from_millis(1)).on_error(move |error| fail.send(error.status()).unwrap());
    let profiler = profiler.on_window(move |batch| {
        attempts += 1;
        match attempts {
            1 => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            2 => panic!("on purpose"),
            _ => send.send((batch.sequence(), batch.attempt(), batch.is_full(), batch.bytes().len())).map_err(io::Error::other),
        }
    });
    let profiler = profiler.start().unwrap();
    assert_eq!(profiler.write_to(io::sink()).unwrap_err().status(), Status::Usage, "the windows go elsewhere");
    let held = std::hint::black_box(vec![1_u8; 100]);
    let (sequence, attempt, is_full, len) = windows.recv().unwrap();
    assert!((sequence, attempt, is_full) == (1, 3, true) && len > 0, "after two attempts");
    assert_eq!([errors.recv().unwrap(), errors.recv().unwrap()], [Status::Sink; 2]);
    drop(held);
    profiler.end().unwrap();

    let profiler = exact().on_window(|_| Err(io::Error::from(io::ErrorKind::ConnectionReset))).start().unwrap();
    assert_eq!(profiler.end().unwrap_err().status(), Status::Sink, "the last window is lost");
}

/// A file of each profiler. A name that is taken is left alone.
fn written_to_a_folder() {
    let folder = std::env::temp_dir().join(format!("pprofdelta-folder-{}", std::process::id()));
    for _ in 0..2 {
        exact().to_folder(&folder).start().unwrap().end().unwrap();
    }
    let mut names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    for (number, name) in names.iter().enumerate() {
        assert!(
            name.starts_with("heap.") && name.ends_with(&format!(".{}.{:06}.pb", std::process::id(), number + 1)),
            "{name}"
        );
        let profile = Profile::read(&std::fs::read(folder.join(name)).unwrap());
        assert!(profile.comment.contains("seq=1 attempt=1 kind=full"), "{}", profile.comment);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, b"").unwrap(); // a file is no folder
    assert_eq!(exact().to_folder(&folder).start().unwrap().end().unwrap_err().status(), Status::Sink);
    std::fs::remove_file(&folder).unwrap();
}
