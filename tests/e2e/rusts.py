"""Rust: run.py rusts PPROFDELTA

A program that profiles its own heap with jemalloc_pprof, whose profiles have addresses and no symbol,
and one value type, which is no counter by name. The deltas are held against google/pprof's Merge.
Skipped (77) where there is no Rust or no Go, or their packages cannot be had.
"""

import os

import pb
import real

profiles = {}


def prepare(folder):
    real.google_pprof()
    real.made("the program", [real.rust_program(), folder], folder)
    for number in ("1", "2"):
        profiles[number] = pb.load(os.path.join(folder, "heap." + number))


def lay(t):
    t.write("prev", profiles["1"])
    t.write("cur", profiles["2"])


def test_no_counter_by_name(t):
    lay(t)
    t.contains(t.succeeds("check", "cur").text, "ok: gzip", "1 type,", " 0 functions")
    t.contains(t.fails(1, "prev", "cur", "-o", "delta").err, "inuse_space/bytes", "-c TYPE")


def test_what_was_kept_between_the_profiles(t):
    """1000 and 2500 pieces of 64 bytes, 3 and 4 of 1 MiB, each from a place of its own."""
    lay(t)
    t.succeeds("prev", "cur", "-c", "inuse_space", "--verify", "-q", "-o", "delta")
    values = [values[0] for _, _, values in pb.read(t.load("delta")).samples]
    t.check(2500 * 64 in values and 4 << 20 in values, f"new places are in it: {values}")
    t.check(1000 * 64 not in values and 3 << 20 not in values, f"others are not: {values}")
    real.agrees_with_merge(t, "inuse_space")
