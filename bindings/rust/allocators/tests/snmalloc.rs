//! Every allocation of known scenes, with this allocator.

#[path = "../../pprofdelta/tests/support/mod.rs"]
mod support;
use snmalloc_rs::SnMalloc;

#[global_allocator]
static ALLOCATOR: pprofdelta::Heap<SnMalloc> = pprofdelta::Heap::new(SnMalloc);

#[test]
fn scenes_are_accounted() {
    support::play_all();
}
