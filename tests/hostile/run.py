#!/usr/bin/env python3
"""Holds the command to testdata/hostile/expected.json: every file that is refused is refused with exactly these words and
leaves nothing behind.

    run.py BINARY [PART-OF-A-NAME]

A line of expected.json is
    {"file": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for a file that `pprofdelta check` and a delta judge alike, whether it is PREV or CUR of a good profile; and
    {"prev": NAME, "cur": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for two good ones that only a delta refuses. Each line is a test.
"""

import json
import os
import shutil
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.dont_write_bytecode = True

import harness  # noqa: E402

DATA = os.path.join(HERE, "../../testdata/hostile")
GOOD = "good.pb"
BEFORE = b"\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x01x"  # a profile: nothing else would be replaced


def judged(t, want, *args):
    result = t.fails(want["exit"], *args, *want["with"])
    t.equal(result.err.splitlines(), want["stderr"], " ".join(args))
    return result.out


def delta(t, want, prev, cur):
    os.utime(t.write("out", BEFORE), (1, 1))
    stood = {name: os.stat(t.path(name)).st_mtime_ns for name in os.listdir(t.dir)}
    printed = judged(t, want, prev, cur, "-o", "out") + judged(t, want, prev, cur)
    t.equal(printed, b"", "standard output")
    t.equal(({name: os.stat(t.path(name)).st_mtime_ns for name in os.listdir(t.dir)}, t.load("out")), (stood, BEFORE),
            "what it changed or left")


def hold(t, want):
    names = {want.get(key) for key in ("file", "prev", "cur")} - {None} | {GOOD}
    for name in names:
        shutil.copy(os.path.join(DATA, name), t.dir)
    if "prev" in want:
        delta(t, want, want["prev"], want["cur"])
        return
    t.equal(b": ok: " in judged(t, want, "check", want["file"]), want["exit"] == 0, "check")
    if want["exit"]:
        delta(t, want, want["file"], GOOD)
        delta(t, want, GOOD, want["file"])


def main(binary, which=""):
    with open(os.path.join(DATA, "expected.json"), encoding="utf-8") as file:
        wanted = json.load(file)
    listed = {want.get(key) for want in wanted for key in ("file", "prev", "cur")} | {"expected.json"}
    tests = types.SimpleNamespace(__name__="hostile", test_every_file_is_listed=lambda t: t.equal(set(os.listdir(DATA)) - listed, set()))
    for i, want in enumerate(wanted):
        name = want.get("file") or f"{want['prev']} {want['cur']}"
        setattr(tests, f"test_{i} {name}", lambda t, want=want: hold(t, want))
    return harness.run_tests(os.path.abspath(binary), [tests], which)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else __doc__)
