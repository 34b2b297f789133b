"""`go tool pprof` over what record and symbolize write, and a Go server with planted leaks: run.py pprofs PPROFDELTA

Skipped (77) where there is no Go.
"""

import glob
import os
import re
import subprocess

import agents
import page
import planted
import real
import world
from compiled import HERE as SYMBOLIZE
from compiled import Elf, located, run, tool


def prepare(_):
    real.need("go", "curl")


def compiled_leaker(t, name, *options):
    path = t.path(name)
    run(tool("g++"), os.path.join(SYMBOLIZE, "leaker.cc"), "-o", path, "-Wl,--build-id", "-ldl", *options)
    return path


def profile_of(t, *command):
    agent = os.path.join(os.path.dirname(t.binary), "..", "agent", "libpprofdelta-agent.so")
    if not os.path.exists(agent):
        t.skip("this build has no agent")
    t.succeeds("record", "-o", "run", "--rate", "1k", "--", *command, manners=False)
    profiles = sorted(glob.glob(t.path("run/heap.*.pb.gz")))
    t.equal(len(profiles), 1, "profiles")
    return profiles[0]


def top(*arguments):
    return run("go", "tool", "pprof", "-top", "-nodecount=10000", *arguments)


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
    has_all(t, profile_of(t, compiled_leaker(t, "leaker", "-g", "-O2")), True)


def test_a_library_that_is_loaded(t):
    library = compiled_leaker(t, "libleak.so", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY")
    profile = profile_of(t, compiled_leaker(t, "leaker", "-g", "-O2"), library)
    t.contains(top(profile), "leak_in_library")
    t.contains(t.succeeds("show", profile, "--folded").text,
               "main;leak_in_library;leaker::lose;leaker::inlined_leak")


def test_stripped_with_a_debug_file(t):
    path = compiled_leaker(t, "leaker", "-g", "-O2")
    os.mkdir(t.path("debug"))
    run(tool("objcopy"), "--only-keep-debug", path, t.path("debug/leaker.debug"))
    run("strip", path)
    profile = profile_of(t, path)
    t.lacks(t.succeeds("show", profile, "--folded").text, "leaker::lose")
    t.contains(t.succeeds("show", profile, "--folded", "--debug-dir=debug").text, "leaker::lose;leaker::inlined_leak")
    t.succeeds("symbolize", profile, "--debug-dir=debug", "-o", "named.pb.gz")
    t.contains(top(t.path("named.pb.gz")), "leaker::lose", "leaker::inlined_leak (inline)")


def test_pprof_uses_the_names_and_lines(t):
    elf = Elf.of_shapes(t)
    t.write("in.pb", located(elf, elf.addresses("shapes", "plain_c")))
    t.succeeds("symbolize", "in.pb", "-o", "out.pb.gz")
    opened = top(t.path("out.pb.gz"))
    t.contains(opened, "shapes::Store::fill", "shapes::Store::keep (inline)", "plain_c")
    t.lacks(opened, "[shapes]")
    listed = run("go", "tool", "pprof", "-list", "Store::keep", t.path("out.pb.gz"))
    t.contains(listed, "kept.push_back(", "shapes.cc")


def targets(t):
    """The programs of tests/preload, which the build of the command made."""
    return os.path.join(os.path.dirname(t.binary), "..", "tests", "preload")


def test_leaks(t):
    """The top of what is in use has the leaks, with their sizes, for somebody who has only pprof."""
    t.targets = targets(t)
    agents.record(t, agents.target(t, "leaks"), "4", options=["--rate=1"])
    windows = agents.only(t, agents.checked(t, t.path("out")))
    text = top(windows[-1].path, "-sample_index=inuse_space")
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*([\d.]+)(kB|MB)?\s.*\s(leak_\w+)", line)
        if match:
            found[match.group(3)] = float(match.group(1)) * {"kB": 1 / 1024, "MB": 1}[match.group(2)]
    wanted = {"leak_by_malloc": 4.06, "leak_by_new": 8.0, "leak_by_array": 4.8}
    for name, size in wanted.items():
        t.check(name in found, f"{name} is not in {text}")
        t.check(abs(found.get(name, 0) - size * 1e6 / 2**20) < 0.02, f"{name}: {found.get(name)} MB")


def test_the_largest_sites(t):
    t.targets = targets(t)
    agents.record(t, agents.target(t, "starve"), "exit")
    t.contains(top(*glob.glob(t.path("out/*.top.txt"))), "flat%")


def test_a_go_server_that_leaks(t):
    planted.check_all(t, "go", planted.build(t, "go"))


def test_the_commands_of_the_readme(t):
    """A loopback server hands out the heap profiles, one for each request."""
    program = planted.build(t, "go")
    os.mkdir(t.path("made"))
    subprocess.run([program, "made", "12", "2000"], check=True, cwd=t.dir, env={**os.environ, "RATE": "1"})
    made = sorted(os.listdir(t.path("made")))
    asked = []

    class Handler(world.Handler):
        def do_GET(self):
            """The third answer is an error, and the fifth breaks off: neither leaves a file."""
            asked.append(self.path)
            body = t.load(os.path.join("made", made.pop(0)))
            self.answer(503 if len(asked) == 3 else 200 if self.path == "/debug/pprof/heap?gc=1" else 404, body,
                        100 if len(asked) == 5 else None)

    server = world.Server(Handler)
    try:
        out = page.shell(t, page.commands("mkdir"), **{"localhost:6060": f"127.0.0.1:{server.server_port}",
                                                 "sleep 60": "sleep 0"})
    finally:
        server.end()
    page.check_report(t, out, least=7)
    t.equal(sorted(os.listdir(t.path("profiles"))),
            [f"{i:02}.pb.gz" for i in range(1, 11) if i not in (3, 5)])
