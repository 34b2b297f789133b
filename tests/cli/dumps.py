#!/usr/bin/env python3
"""Real dumps of jemalloc and gperftools: dumps.py PPROFDELTA ALLOCATING

A program whose allocations are known runs under each allocator and dumps twice; the delta must
say what it did in between: exactly where every allocation is recorded, and closely where one in
some is. An allocator that is not installed is skipped.
"""

import glob
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

import harness  # noqa: E402
from harness import Skip  # noqa: E402
from texts import check_prefixes  # noqa: E402

allocating = None


def library(*names):
    folders = ["/usr/lib", "/usr/lib64", "/lib", *glob.glob("/usr/lib/*-linux-*"), "/usr/local/lib"]
    found = [path for folder in folders for name in names for path in glob.glob(f"{folder}/{name}")]
    if not found:
        raise Skip(f"there is no {names[0]}")
    return found[0]


def dump(t, preload, **env):
    result = subprocess.run([allocating, t.path("dump")], cwd=t.dir, timeout=harness.TIMEOUT,
                            capture_output=True, check=False,
                            env={**os.environ, "LD_PRELOAD": preload, **env})
    t.equal(result.returncode, 0, result.stderr.decode())


def allocated(t, *files):
    """What the two allocating functions count in the delta, or in one profile. (The dump itself
    allocates a little too.)"""
    shown = files[0]
    if len(files) == 2:
        t.succeeds(*files, "--verify", "-o", "delta")
        shown = "delta"
    sums = {}
    for kind in ("alloc_objects", "alloc_space", "inuse_objects"):
        for line in t.succeeds("show", "--folded", "--type", kind, shown).text.splitlines():
            stack, value = line.rsplit(" ", 1)
            mine = [frame for frame in stack.split(";") if frame.startswith("allocating+")]
            if mine:
                one = sums.setdefault(mine[-1], {})
                one[kind] = one.get(kind, 0) + int(value)
    return sorted(sums.values(), key=lambda one: one.get("alloc_objects", 0))[-2:]


def near(t, got, want, share, what):
    t.check(abs(got - want) <= share * want, f"{what}: {got} is not {want}")


def test_gperftools(t):
    dump(t, library("libtcmalloc.so", "libtcmalloc.so.4"), HEAPPROFILE=t.path("gp"),
         HEAP_PROFILE_ALLOCATION_INTERVAL="0", HEAP_PROFILE_INUSE_INTERVAL="0")
    large, small = allocated(t, "gp.0001.heap", "gp.0002.heap")
    t.equal(small, {"alloc_objects": 50000, "alloc_space": 50000 * 64, "inuse_objects": 700})
    t.equal(large, {"alloc_objects": 300, "alloc_space": 300 << 20, "inuse_objects": 4})
    t.contains(t.succeeds("check", "gp.0002.heap").text, "ok: text")
    check_prefixes(t, t.load("gp.0002.heap"))


def jemalloc():
    path = library("libjemalloc.so", "libjemalloc.so.2")
    probe = subprocess.run(["true"], capture_output=True, check=False,
                           env={**os.environ, "LD_PRELOAD": path, "MALLOC_CONF": "prof:true"})
    if b"Invalid conf" in probe.stderr:
        raise Skip(f"{path} was built without profiling")
    return path


def test_jemalloc_that_samples_everything(t):
    dump(t, jemalloc(), MALLOC_CONF="prof:true,prof_accum:true,lg_prof_sample:0")
    large, small = allocated(t, "dump.1", "dump.2")
    t.equal(small, {"alloc_objects": 50000, "alloc_space": 50000 * 64, "inuse_objects": 700})
    t.equal(large, {"alloc_objects": 300, "alloc_space": 300 << 20, "inuse_objects": 4})
    check_prefixes(t, t.load("dump.2"))


def test_jemalloc_that_samples(t):
    """One byte in 4096: of 64-byte objects about 780 in 50,000 are seen, give or take 28; the bound
    is more than five times that."""
    dump(t, jemalloc(), MALLOC_CONF="prof:true,prof_accum:true,lg_prof_sample:12")
    large, small = allocated(t, "dump.1", "dump.2")
    near(t, small["alloc_objects"], 50000, 0.2, "small objects")
    near(t, small["alloc_space"], 50000 * 64, 0.2, "small bytes")
    near(t, large["alloc_objects"], 300, 0.01, "large objects")
    near(t, large["alloc_space"], 300 << 20, 0.01, "large bytes")
    whole = allocated(t, "dump.2")
    near(t, whole[1]["alloc_objects"], 70000, 0.2, "all small objects")


def test_jemalloc_without_sums(t):
    dump(t, jemalloc(), MALLOC_CONF="prof:true,lg_prof_sample:12")
    t.contains(t.fails(1, "dump.1", "dump.2", "-o", "delta").err, "no cumulative counts", "prof_accum:true")
    t.contains(t.succeeds("show", "dump.2").text, "inuse_space/bytes")


if __name__ == "__main__":
    import dumps
    dumps.allocating = os.path.abspath(sys.argv[2])
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), [dumps], *sys.argv[3:]))
