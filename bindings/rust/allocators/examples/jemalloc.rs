//! A program with jemalloc that keeps more and more: jemalloc FOLDER
//!
//! Then `pprofdelta leaks FOLDER` names the place.

use pprofdelta::{Heap, Profiler};
use std::time::Duration;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Heap<Jemalloc> = Heap::new(Jemalloc);

#[inline(never)]
fn remember(sessions: &mut Vec<Vec<u8>>) {
    sessions.push(vec![0; 10_000]);
}

#[inline(never)]
fn work() -> usize {
    (0..100).map(|i| std::hint::black_box(vec![0_u8; 1000 * i]).len()).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: jemalloc FOLDER")?;
    let profiler = Profiler::builder().rate(64 << 10).interval(Duration::from_millis(100)).to_folder(folder).start()?;
    let mut sessions = Vec::new();
    for _ in 0..1000 {
        remember(&mut sessions);
        work();
        std::thread::sleep(Duration::from_millis(2));
    }
    profiler.end()?;
    Ok(())
}
