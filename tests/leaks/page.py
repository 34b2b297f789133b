"""Does "Find a leak in ten minutes" work as it is written? The commands are those of README.md, with shorter
times. `./server` is a server with planted leaks; tests/e2e/pprofs.py has that of Go. The verdict is that of the
windows' times here, so only the run is checked, not the suspects."""

import os
import re
import sys

from planted import HERE, build

sys.path[:0] = [os.path.join(HERE, "..", "support")]
from pages import blocks, examples, one  # noqa: E402


def commands(start):
    """The commands of README.md that begin like this."""
    return one(blocks("sh"), start)


def shell(t, text, **changes):
    for old, new in changes.items():
        t.check(old in text, f"{old!r} is not in the page")
        text = text.replace(old, new)
    ran = t.shell("set -e\n" + text)
    t.equal(ran.returncode, 0, ran.stderr)
    return ran.stdout


def put_server(t, program, windows, requests):
    """./server, as the page calls it."""
    t.write("server", f"#!/bin/sh\nexec {program} profiles {windows} {requests}\n".encode())
    os.chmod(t.path("server"), 0o755)


def check_report(t, out, least=10):
    t.contains(out, "run       ", "in use    ", "verdict   ")
    found = re.findall(r"(\d+) windows?\b", out.split("\n", 1)[0])  # how many of them are its end depends on their times
    t.check(sum(map(int, found)) >= least, f"there are not enough windows: {out[:300]}")
    t.check(re.search(r"verdict   \d+ suspects?, \d+ unknown", out), f"there is no verdict: {out[:300]}")


def test_the_manual_has_the_same_commands(t):
    t.equal([commands("pprofdelta record"), commands("mkdir")], examples("pprofdelta-leaks.1")[:2])


def test_cpp(t):
    program = os.path.join(t.targets, "leaks_server_cpp")
    if not os.path.exists(program):
        t.skip("there is no C++ compiler")
    put_server(t, program, 12, 2000)
    check_report(t, shell(t, commands("pprofdelta record"), **{"60s": "1h"}))


def test_rust(t):
    put_server(t, build(t, "rust"), 12, 500)
    check_report(t, shell(t, commands("pprofdelta record"), **{"60s": "1h"}))
