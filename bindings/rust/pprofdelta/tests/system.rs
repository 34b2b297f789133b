//! Every allocation of known scenes, with this allocator.

mod support;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: pprofdelta::Heap<System> = pprofdelta::Heap::new(System);

#[test]
fn scenes_are_accounted() {
    support::play_all();
}
