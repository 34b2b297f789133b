//! A Rust program that looks at its own heap twice with jemalloc_pprof: `rust FOLDER`
//!
//! Writes heap.1 and heap.2.

use std::{env, fs, path::Path};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

// Every allocation is recorded, so that what is kept is what is counted.
#[allow(non_upper_case_globals)]
#[export_name = "_rjem_malloc_conf"]
pub static malloc_conf: &[u8] = b"prof:true,prof_active:true,lg_prof_sample:0\0";

#[inline(never)]
fn keep_small(kept: &mut Vec<Vec<u8>>, count: usize) {
    for _ in 0..count {
        kept.push(vec![1; 64]);
    }
}

#[inline(never)]
fn keep_large(kept: &mut Vec<Vec<u8>>, count: usize) {
    for _ in 0..count {
        kept.push(vec![2; 1 << 20]);
    }
}

fn look(folder: &Path, number: u32) {
    let control = jemalloc_pprof::PROF_CTL.as_ref().expect("profiling is on");
    let pprof = control.blocking_lock().dump_pprof().expect("a profile");
    fs::write(folder.join(format!("heap.{number}")), pprof).expect("written");
}

fn main() {
    let folder = env::args().nth(1).expect("rust FOLDER");
    let mut kept = Vec::with_capacity(1 << 16);
    keep_small(&mut kept, 1000);
    keep_large(&mut kept, 3);
    look(Path::new(&folder), 1);
    keep_small(&mut kept, 2500);
    keep_large(&mut kept, 4);
    look(Path::new(&folder), 2);
    assert_eq!(kept.len(), 3507);
}
