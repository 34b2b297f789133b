"""Python programs: what their lines hold, on every CPython of this machine."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess

import pb
import recorded
from agents import plainly, record, recovered, start, stop, target, until

HELD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets", "held.py")
LEAKY = os.path.join(os.path.dirname(HELD), "leaky.py")
WITHIN = os.path.join(os.path.dirname(HELD), "within.py")
ARENAS = os.path.join(os.path.dirname(HELD), "arenas.py")
MINORS = range(9, 16)
DEEPER = "(deeper frames)"


def interpreters():
    """{minor version: paths} of CPython, without the scripts that start one."""
    places = glob.glob("/usr/bin/python3.*[0-9]") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for minor in MINORS:
        places += filter(None, [shutil.which(f"python3.{minor}"), f"/usr/local/bin/python3.{minor}"])
    found = {}
    ask = "import sys; print(sys.implementation.name, sys.version_info[1], sys.executable)"
    for place in places:
        if os.path.exists(place):
            said = subprocess.run([place, "-c", ask], capture_output=True, text=True, check=False).stdout.split()
            if len(said) == 3 and said[0] == "cpython" and int(said[1]) in MINORS:
                found.setdefault(int(said[1]), set()).add(os.path.realpath(said[2]))
    return {minor: sorted(paths) for minor, paths in found.items()}


def each(t):
    found = interpreters()
    if not found:
        t.skip("there is no CPython from 3.9 to 3.15")
    return [path for minor in sorted(found) for path in found[minor]]


def ends(t):
    """The oldest and the newest."""
    found = each(t)
    return sorted({found[0], found[-1]})


class Lines:
    """Stacks of a profile, leaf first, as frames (name, file, line); native frames have line 0."""

    def __init__(self, path):
        read = pb.read(pb.load(path))
        def frame(location):
            names = [(*read.functions[function][0:3:2], line) for function, line, _ in read.lines[location]]
            return names[0] if names and not read.locations[location][1] else (names[0][0] if names else "?", "", 0)
        frames = {location: frame(location) for location in read.locations}
        self.samples = [([frames[i] for i in stack], sample[2]) for stack, sample in zip(read.stacks, read.samples)]

    def by_line(self, file, column):
        """{line: sum} by the first frame in the stack that is of a Python file, where it is this one."""
        sums = {}
        for stack, values in self.samples:
            frame = next((frame for frame in stack if frame[2]), None)
            if frame and frame[1] == file:
                sums[frame[2]] = sums.get(frame[2], 0) + values[column]
        return sums


def marks(path):
    with open(path, encoding="utf-8") as file:
        found = ((line, re.search(r"# at (\w+(?: \w+)*)$", text)) for line, text in enumerate(file, 1))
        return {match[1]: line for line, match in found if match}


def hold(t, interpreter, *how, **kwargs):
    """Runs the program. Returns what it said that it holds, and its profiles."""
    shutil.rmtree(t.path("out"), ignore_errors=True)
    ran = record(t, interpreter, "-S", HELD, *how, options=["--rate=1"], **kwargs)
    t.equal(ran.code, 0, ran.err)
    return list(map(json.loads, ran.out.splitlines())), windows(t)


def windows(t):
    """The last profile of each process, in the order of their numbers."""
    return [Lines(paths[-1]) for _, paths in sorted(recorded.files(t.path("out")).items())]


def judge(t, interpreter, profile, truth, is_child=False):
    sums = profile.by_line(HELD, recorded.INUSE_BYTES)
    allocated = profile.by_line(HELD, recorded.ALLOC_BYTES)
    lines = marks(HELD)
    got = {mark: sums.get(lines[mark], 0) for mark in truth}
    t.equal(got, truth, interpreter)
    for mark in () if is_child else truth:
        t.check(allocated.get(lines[mark], 0) > 0, f"{interpreter}: {mark} has allocated nothing")


def frames_of(t, profile, mark):
    """The Python frames above the leaf of a stack that ends at the mark."""
    line = marks(HELD)[mark]
    for stack, _ in profile.samples:
        frames = [frame for frame in stack if frame[2]]
        if frames and frames[0][1:] == (HELD, line):
            return [frame[0] for frame in frames], stack
    t.check(False, f"no stack is of the line of {mark}")


def test_lines_hold_what_they_say(t):
    for interpreter in each(t):
        truth, found = hold(t, interpreter, "exit")
        t.equal((len(truth), len(found)), (1, 1), interpreter)
        judge(t, interpreter, found[0], truth[0])
        names, stack = frames_of(t, found[0], "callback")
        t.equal(names, ["held.callback", "held.hold_called", "held.<module>"], interpreter)
        at = [frame[0] for frame in stack].index("held.callback")
        t.check(not stack[at + 1][2], f"{interpreter}: no native frame is between a callback and its caller")
        names, _ = frames_of(t, found[0], "coroutine")
        t.equal(names[:3], ["held.awaited", "held.awaits", "held.hold_awaited"], interpreter)
        names, stack = frames_of(t, found[0], "deep")
        t.equal((set(names), stack[-1][0]), ({"held.deep"}, DEEPER), interpreter)


def test_children(t):
    """fork: the child has what its parent held, and what it holds itself."""
    for interpreter in ends(t):
        truth, found = hold(t, interpreter, "fork")
        t.equal((len(truth), len(found)), (2, 2), interpreter)
        for i, said in enumerate(truth):
            judge(t, interpreter, found[i], said, is_child=i > 0)


def test_an_interpreter_within(t):
    """Up to 3.11 a state says only which thread made it."""
    found = [paths[0] for minor, paths in interpreters().items() if minor > 11]
    if not found:
        t.skip("there is no CPython from 3.12 to 3.15")
    for interpreter in found:
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = record(t, interpreter, "-S", WITHIN, options=["--rate=1"])
        t.equal(ran.code, 0, ran.err)
        held = sum(values[recorded.ALLOC_BYTES] for stack, values in windows(t)[0].samples
                   if any(frame[0].split(".")[-1] == "hold_within" for frame in stack))
        t.check(held > 2_000_000, f"{interpreter}: {held} bytes are of the function within")


def test_other_allocators(t):
    """The interpreter writes its allocators anew when it starts. The agent finds out while it waits. With debug hooks an
    object has 32 or 64 bytes more."""
    for interpreter in ends(t):
        for name, more in (("malloc", 0), ("debug", 64)):
            (truth,), (found,) = hold(t, interpreter, "exit", "0.4", env={**os.environ, "PYTHONMALLOC": name})
            sums, lines = found.by_line(HELD, recorded.INUSE_BYTES), marks(HELD)
            for mark, want in truth.items():
                got = sums.get(lines[mark], 0)
                t.check(want <= got <= want + 401 * more and (want or not got), f"{interpreter}: {name}: {mark}: {got} of {want}")


def test_an_interpreter_that_is_loaded_later(t):
    """Its objects have lines from then on when the agent has found out, within a second."""
    libraries = [path for interpreter in each(t) for path in glob.glob(os.path.join(os.path.dirname(interpreter), "../lib/libpython3.*.so.1.0"))]
    if not libraries:
        t.skip("there is no shared library of CPython from 3.9 to 3.15")
    for library in sorted({libraries[0], libraries[-1]}):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        home = os.path.dirname(os.path.dirname(os.path.normpath(library)))
        program = "import time\ntime.sleep(2.5)\nrows = [None] * 400\nfor i in range(400):\n    rows[i] = bytes(200)\n"
        ran = record(t, target(t, "embeds"), library, program, options=["--rate=1"], env={**os.environ, "PYTHONHOME": home})
        t.equal(ran.code, 0, ran.err)
        (found,) = windows(t)
        lines = {}
        for stack, values in found.samples:
            for _, file, line in (frame for frame in stack[:12] if frame[1] == "<string>"):
                lines[line] = lines.get(line, 0) + values[recorded.INUSE_BYTES]
        t.equal((lines.get(3), lines.get(5)), (3200, 400 * 233), library)


def test_the_account_has_arenas(t):
    """What is in use in the arenas of Python, as Python itself says; the rest of them is slack."""
    for interpreter in ends(t):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        said = plainly(t, interpreter, "-S", ARENAS, "0").err
        truth = int(re.search(r"bytes in allocated blocks += +([\d,]+)", said)[1].replace(",", ""))
        ran = record(t, interpreter, "-S", ARENAS, "0.3")
        t.equal(ran.code, 0, ran.err)
        (path,) = list(recorded.files(t.path("out")).values())[0]
        whole, in_use = map(int, re.search(r"python_arenas=(\d+) python_arenas_in_use=(\d+)", "".join(pb.read(pb.load(path)).comments)).groups())
        t.check(abs(in_use - truth) < truth / 50, f"{interpreter}: {in_use} of {truth}")
        slack = sum(values[recorded.RSS] for stack, values in Lines(path).samples if stack[0][0] == "[Python arena slack]")
        t.check(0 < slack <= whole - in_use, f"{interpreter}: a slack of {slack} in {whole}")


def test_the_largest_sites_have_lines(t):
    for interpreter in ends(t):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = record(t, interpreter, "-S", ARENAS, "0.5", options=["--rate=16K", "--threshold=8M"])
        t.equal(ran.code, 0, ran.err)
        (top,) = glob.glob(t.path("out/*.top.txt"))
        first = t.load(top).decode().split("\n#  0x")
        t.check(first[0].count("\n") == 1 and f"  arenas.<module>  {ARENAS}:9\n" in t.load(top).decode(), f"{interpreter}: {first[:2]}")


def test_leaks_name_lines(t):
    """A package keeps what a task of an event loop makes (as aiohttp 3.10.10 did), and a cache of a method keeps its objects.
    The headline is the line of the package, not the one that runs the loop; and that of the program."""
    os.mkdir(t.path("site-packages"))
    t.write("site-packages/pack.py", b"kept = []\n\n\nasync def answer():\n    kept.append(bytes(4000))\n")
    for interpreter in ends(t):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = record(t, interpreter, LEAKY, "900", options=["--rate=4K", "--interval=100ms"],
                     env={**os.environ, "PYTHONPATH": t.path("site-packages")})
        t.equal(ran.code, 0, ran.err)
        findings = json.loads(t.succeeds("leaks", "--json", "-q", t.path("out")).text)["runs"][0]["findings"]
        suspects = [finding for finding in findings if finding["kind"] == "suspect"]
        t.equal({os.path.basename(one["place"]["file"]) for one in suspects}, {"pack.py", "leaky.py"}, interpreter)
        t.equal(suspects[0]["place"]["line"], 5, interpreter)
        # What grows together below one line may be one suspect, whose place is that line.
        t.check(any(frame["line"] == marks(LEAKY)["rows"] for one in suspects for frame in one["stack"]), f"{interpreter}: {suspects}")
        named = {frame["function"] for finding in findings for frame in finding["stack"]}
        t.check("__init__" not in named, f"{interpreter}: a stack has the interpreter's own frame of a call")


def test_an_interpreter_that_is_not_known(t):
    """Its stacks are native, and one line says so."""
    newer = t.write("newer.c", b"""#include <stdlib.h>
const char *Py_GetVersion(void) { return "3.99.1 (main)"; }
int main(void) { return malloc(5000) == NULL; }
""")
    done = subprocess.run(["cc", "-O0", "-rdynamic", newer, "-o", t.path("newer")], check=False)
    t.equal(done.returncode, 0)
    ran = record(t, t.path("newer"), options=["--rate=1"], end=None)
    t.equal((ran.code, ran.err.count("Python 3.99.1: this version is not known")), (0, 1), ran.err)


def test_what_an_interpreter_publishes(t):
    """One of 3.14 whose structures no table has: what it publishes tells where they are."""
    ran = record(t, target(t, "published"), options=["--rate=1"])
    t.equal((ran.code, ran.noise), (0, []), ran.err)
    (found,) = windows(t)
    stacks = [[frame[0] for frame in stack[:2]] + [stack[1][1:]] for stack, values in found.samples if values[recorded.ALLOC_BYTES] == 7777]
    t.equal(stacks, [["main", "rows.Made.up", ("/srv/rows.py", 42)]])


def test_what_was_killed(t):
    """recover names the lines."""
    for interpreter in ends(t):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        process = start(t, interpreter, "-S", HELD, "wait", options=["--rate=1"])
        truth = json.loads(process.stdout.readline())
        until(lambda: any(name.endswith(".live") for name in os.listdir(t.path("out"))))
        stop(t, process, signal.SIGKILL)
        recovered(t, t.path("out"), 1)
        (found,) = windows(t)
        judge(t, interpreter, found, truth)
