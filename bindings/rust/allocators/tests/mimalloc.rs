//! Every allocation of known scenes, with this allocator.

#[path = "../../pprofdelta/tests/support/mod.rs"]
mod support;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: pprofdelta::Heap<MiMalloc> = pprofdelta::Heap::new(MiMalloc);

#[test]
fn scenes_are_accounted() {
    support::play_all();
}
