//! What the profiler costs for a pair of alloc and free: cost [ROUNDS]
//!
//! Each allocator alone and wrapped, and jemalloc with its own profiler at the same rate. The program runs itself for each round,
//! since jemalloc's profiler is chosen when a process starts. The rounds alternate; the median and the middle half are printed.

use mimalloc::MiMalloc;
use pprofdelta::{Heap, Profiler};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Heap<System> = Heap::new(System);
static HEAP_JEMALLOC: Heap<Jemalloc> = Heap::new(Jemalloc);
static HEAP_MIMALLOC: Heap<MiMalloc> = Heap::new(MiMalloc);

const PAIRS: u32 = 2_000_000;
const NAMES: [&str; 7] = [
    "System",
    "Heap<System>",
    "Jemalloc",
    "Heap<Jemalloc>",
    "MiMalloc",
    "Heap<MiMalloc>",
    "Jemalloc, prof:true,lg_prof_sample:19",
];

extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// Nanoseconds of processor time of this thread: other programs count less than by the wall clock.
fn now() -> f64 {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = [0; 2];
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time[0] as f64 * 1e9 + time[1] as f64
}

/// Nanoseconds for a pair.
fn pair(allocator: &impl GlobalAlloc) -> f64 {
    let layout = black_box(Layout::from_size_align(64, 8).unwrap());
    let begin = now();
    for _ in 0..PAIRS {
        unsafe {
            let ptr = black_box(allocator.alloc(layout));
            allocator.dealloc(ptr, layout);
        }
    }
    (now() - begin) / f64::from(PAIRS)
}

fn measure() {
    if std::env::var("_RJEM_MALLOC_CONF").is_ok() {
        pair(&Jemalloc);
        println!("6 {}", pair(&Jemalloc));
        return;
    }
    let _profiler = Profiler::builder().start().unwrap();
    let measured: [&dyn Fn() -> f64; 6] =
        [&|| pair(&System), &|| pair(&ALLOCATOR), &|| pair(&Jemalloc), &|| pair(&HEAP_JEMALLOC), &|| pair(&MiMalloc), &|| {
            pair(&HEAP_MIMALLOC)
        }];
    measured.iter().for_each(|measure| {
        measure();
    });
    for (number, measure) in measured.iter().enumerate() {
        println!("{number} {}", measure());
    }
}

fn run(conf: Option<&str>, found: &mut [Vec<f64>]) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.arg("--measure");
    if let Some(conf) = conf {
        command.env("_RJEM_MALLOC_CONF", conf);
    }
    for line in String::from_utf8(command.output().unwrap().stdout).unwrap().lines() {
        let (number, nanos) = line.split_once(' ').unwrap();
        found[number.parse::<usize>().unwrap()].push(nanos.parse().unwrap());
    }
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("--measure") {
        return measure();
    }
    let rounds = argument.map_or(21, |rounds| rounds.parse().expect("cost [ROUNDS]"));
    let mut found = vec![Vec::new(); NAMES.len()];
    for _ in 0..rounds {
        run(None, &mut found);
        run(Some("prof:true,lg_prof_sample:19"), &mut found);
    }
    for (name, times) in NAMES.iter().zip(&mut found) {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times[(times.len() - 1) * part / 4];
        println!("{name:40} {:6.2} ns ({:.2} to {:.2})", at(2), at(1), at(3));
    }
}
