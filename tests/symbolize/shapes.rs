// A Rust program with known inlined calls, for symbolize. It is only compiled.
struct Shelf<T> {
    kept: Vec<Box<T>>,
}

impl<T> Shelf<T> {
    #[inline(never)]
    fn keep(&mut self, what: T) {
        self.kept.push(Box::new(what));
    }
}

#[inline(always)]
fn doubled(n: u64) -> u64 {
    n * n + 2
}

#[inline(never)]
fn fill(shelf: &mut Shelf<u64>, rounds: u64) {
    for i in 0..rounds {
        shelf.keep(doubled(i));
    }
}

fn main() {
    let mut shelf = Shelf { kept: Vec::new() };
    fill(&mut shelf, std::env::args().count() as u64);
    println!("{}", shelf.kept.len());
}
