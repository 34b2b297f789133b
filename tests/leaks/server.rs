//! The server of server.cc in Rust: forgotten boxes, a cycle of Rc, a map that only grows, and what
//! each thread leaves. See README.md.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

extern "C" {
    fn raise(signal: i32) -> i32;
}

const USR2: i32 = 12;

/// Hides a value from the optimizer, also from a compiler that has no stable std::hint::black_box.
fn opaque<T>(value: T) -> T {
    let copy = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    copy
}

fn count_profiles(path: &str) -> usize {
    std::fs::read_dir(path)
        .map(|entries| {
            entries
                .flatten()
                .filter(|e| {
                    let name = e.file_name();
                    let name = name.to_string_lossy();
                    !name.starts_with('.') && name.ends_with(".pb.gz")
                })
                .count()
        })
        .unwrap_or(0)
}

/// See window.h.
fn end_window(path: &str) {
    let before = count_profiles(path);
    for tries in 0.. {
        if tries % 500 == 0 {
            unsafe { raise(USR2) };
        }
        if count_profiles(path) != before {
            break;
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

struct Node {
    _payload: [u8; 200],
    _other: RefCell<Option<Rc<Node>>>,
}

struct Server {
    state: u64,
    reports: Vec<Vec<u8>>,
    cache: HashMap<u64, Vec<u8>>,
    ring: VecDeque<Vec<u8>>,
    pool: Vec<Box<[u8; 2048]>>,
    sessions: HashMap<u64, Box<[u8; 400]>>,
    batch: VecDeque<Vec<u8>>,
}

impl Server {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.state >> 33) % below
    }

    #[inline(never)]
    fn leak_fast(&mut self) {
        std::mem::forget(opaque(Box::new([1u8; 512])));
    }

    #[inline(never)]
    fn leak_slow(&mut self) {
        let node = Rc::new(Node {
            _payload: [1; 200],
            _other: RefCell::new(None),
        });
        *node._other.borrow_mut() = Some(node.clone());
    }

    #[inline(never)]
    fn leak_rare(&mut self) {
        self.reports.push(vec![1; 64 << 10]);
    }

    #[inline(never)]
    fn fill_cache(&mut self) {
        let at = self.draw(3000);
        self.cache.entry(at).or_insert_with(|| vec![1; 700]);
    }

    #[inline(never)]
    fn write_ring(&mut self) {
        self.ring.push_back(vec![1; 300]);
        if self.ring.len() > 2000 {
            self.ring.pop_front();
        }
    }

    #[inline(never)]
    fn grow_pool(&mut self) {
        if self.pool.len() < 500 {
            self.pool.push(Box::new([1; 2048]));
        }
    }

    #[inline(never)]
    fn open_session(&mut self) {
        let at = self.draw(4000);
        if self.draw(2) == 1 {
            self.sessions.insert(at, Box::new([1; 400]));
        } else {
            self.sessions.remove(&at);
        }
    }

    #[inline(never)]
    fn collect_batch(&mut self) {
        if self.batch.len() == 4096 {
            self.batch.clear();
        }
        self.batch.push_back(vec![1; 200]);
    }

    #[inline(never)]
    fn answer(&mut self) {
        opaque(vec![1u8; 1000]);
    }

    #[inline(never)]
    fn handle(&mut self, i: u64) {
        match i % 8 {
            0 => self.leak_fast(),
            1 => self.fill_cache(),
            2 => self.write_ring(),
            3 => self.grow_pool(),
            4 => self.answer(),
            5 => self.collect_batch(),
            _ => self.open_session(),
        }
        if i % 64 == 0 {
            self.leak_slow();
        }
        if i % 10000 == 0 {
            self.leak_rare();
        }
    }
}

#[inline(never)]
fn leak_thread() {
    for _ in 0..4 {
        std::mem::forget(opaque(Box::new([1u8; 4096])));
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (windows, requests): (u64, u64) = (args[2].parse().unwrap(), args[3].parse().unwrap());
    let mut server = Server {
        state: 1,
        reports: Vec::new(),
        cache: HashMap::new(),
        ring: VecDeque::new(),
        pool: Vec::new(),
        sessions: HashMap::new(),
        batch: VecDeque::new(),
    };
    for window in 0..windows {
        for n in 0..requests {
            server.handle(window * requests + n);
        }
        std::thread::spawn(leak_thread).join().unwrap();
        end_window(&args[1]);
    }
    assert!(server.reports.len() + server.pool.len() > 0);
}
