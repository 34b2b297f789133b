"""Profiles that record makes, as pprof and show see them."""

import glob
import os

from compiled import HERE, run, tool


def build(t, name, *options):
    path = t.path(name)
    run(tool("g++"), os.path.join(HERE, "leaker.cc"), "-o", path, "-Wl,--build-id", "-ldl", *options)
    return path


def recorded(t, *command):
    agent = os.path.join(os.path.dirname(t.binary), "..", "agent", "libpprofdelta-agent.so")
    if not os.path.exists(agent):
        t.skip("this build has no agent")
    t.succeeds("record", "-o", "run", "--rate", "1k", "--", *command, manners=False)
    profiles = sorted(glob.glob(t.path("run/heap.*.pb.gz")))
    t.equal(len(profiles), 1, "profiles")
    return profiles[0]


def top(profile, *options):
    return run(tool("go"), "tool", "pprof", "-top", "-nodecount=100", *options, profile)


def has_all(t, profile, inlined):
    """What pprof prints for a profile of record's, and then with lines."""
    before = top(profile)
    t.contains(before, "leaker::lose", "main")
    t.lacks(before, "[leaker]")
    t.succeeds("symbolize", profile, "-o", "named.pb.gz")
    after = top(t.path("named.pb.gz"))
    t.contains(after, "leaker::lose", "main", "leaker::inlined_leak (inline)" if inlined else "leaker::inlined_leak")
    listed = run("go", "tool", "pprof", "-list", "leaker::inlined_leak", t.path("named.pb.gz"))
    t.contains(listed, "return malloc(size);", "leaker.cc")
    t.contains(t.succeeds("show", profile, "--folded").text, "leaker::lose;leaker::inlined_leak")


def test_optimised(t):
    has_all(t, recorded(t, build(t, "leaker", "-g", "-O2")), True)


def test_a_library_that_is_loaded(t):
    library = build(t, "libleak.so", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY")
    profile = recorded(t, build(t, "leaker", "-g", "-O2"), library)
    t.contains(top(profile), "leak_in_library")
    t.contains(t.succeeds("show", profile, "--folded").text,
               "main;leak_in_library;leaker::lose;leaker::inlined_leak")


def test_stripped_with_a_debug_file(t):
    path = build(t, "leaker", "-g", "-O2")
    os.mkdir(t.path("debug"))
    run(tool("objcopy"), "--only-keep-debug", path, t.path("debug/leaker.debug"))
    run("strip", path)
    profile = recorded(t, path)
    t.lacks(t.succeeds("show", profile, "--folded").text, "leaker::lose")
    t.contains(t.succeeds("show", profile, "--folded", "--debug-dir=debug").text, "leaker::lose;leaker::inlined_leak")
    t.succeeds("symbolize", profile, "--debug-dir=debug", "-o", "named.pb.gz")
    t.contains(top(t.path("named.pb.gz")), "leaker::lose", "leaker::inlined_leak (inline)")
