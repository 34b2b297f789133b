//! Every allocation of known scenes, with this allocator.

#[path = "../../pprofdelta/tests/support/mod.rs"]
mod support;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: pprofdelta::Heap<Jemalloc> = pprofdelta::Heap::new(Jemalloc);

#[test]
fn scenes_are_accounted() {
    support::play_all();
}
