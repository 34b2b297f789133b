"""Little memory: a large profile a piece at a time, by two threads where there are two processors."""

import functools
import json
import os
import random
import re

from pb import chunk, gz, inflate, profile
from samples import T0, T1

NARROW = "--max-memory=10M"  # less than four times what they inflate to, and room for a helper
DELTA = ("prev", "cur", "-o", "out", "--report=json")
WINDOW = ("--state", "s", "cur", "-o", "out", "--report=json")


def on_one(t, *args, **kwargs):
    """The same where there is one processor only, and so no second thread."""
    processor = {min(os.sched_getaffinity(0))}
    return t.run(*args, preexec_fn=lambda: os.sched_setaffinity(0, processor), **kwargs)


@functools.lru_cache
def look(changed, time):
    """3000 samples, and a name of 6 MB, which has to be held; half of it as a file."""
    chance = random.Random(1)
    names = [f"f{i}" for i in range(100)]
    samples = [(tuple(chance.choices(names, k=60)), [n + changed * (n % 50 == 0), 8 * n, n % 3, 0])
               for n in range(3000)]
    name = "".join(chance.choices("0123456789abcdef", k=6 << 20))
    return gz(profile(samples, time=time, extra=chunk(6, name.encode())))


def looks(t):
    for name, changed, time in (("prev", 0, T0), ("cur", 1, T1)):
        t.write(name, look(changed, time))
        t.check(os.path.getsize(t.path(name)) > 3 << 20, "too small for two threads")


def begin(t):
    """Two looks, and a state of the first."""
    looks(t)
    t.succeeds("--state", "s", "prev", "-o", "first")
    return t.load("s")


def told(t, run, args, before=None):
    """All there is to know of a run with a state as it was before, but how much memory it lacked."""
    if before is not None:
        t.write("s", before)
    t.write("out", b"")
    result = run(*args, manners=False)
    err = re.sub(r"least \d+ bytes", "least N bytes", result.err)
    return result.code, result.out, err, t.load("out"), t.load("s") if before else None


def of_report(one):
    """What it is in numbers, but for the length of what was compressed."""
    report = json.loads(one[2])
    return report.pop("output_bytes"), report


def same_as_ever(t, args, before=None):
    wide = told(t, t.run, args, before)
    narrow = told(t, t.run, (*args, NARROW), before)
    single = told(t, functools.partial(on_one, t), (*args, NARROW), before)
    t.check(narrow == single, f"{args}: another run on one processor: {narrow[:3]}, {single[:3]}")
    t.check(narrow[4] == wide[4], f"{args}: another state")
    if t.equal(narrow[0], 0):
        t.check(inflate(narrow[3]) == inflate(wide[3]), f"{args}: another delta")
        t.equal(of_report(narrow)[1], of_report(wide)[1])


def test_a_delta_on_two_processors_or_one(t):
    looks(t)
    same_as_ever(t, DELTA)
    same_as_ever(t, (*DELTA, "--verify"))


def test_a_window_on_two_processors_or_one(t):
    before = begin(t)
    same_as_ever(t, WINDOW, before)
    same_as_ever(t, (*WINDOW, "--verify"), before)


def test_what_is_wrong_on_two_processors_or_one(t):
    before = begin(t)
    whole = t.load("cur")
    for name, data in (("cut", whole[:-90000]), ("hit", whole[:3 << 20] + b"!" + whole[(3 << 20) + 1:])):
        t.write(name, data)
        for args in (("prev", name), (name, "cur"), ("--state", "s", name)):
            narrow = told(t, t.run, (*args, NARROW, "-o", "out"), before)
            single = told(t, functools.partial(on_one, t), (*args, NARROW, "-o", "out"), before)
            t.equal(narrow, single)
            t.equal((narrow[0], narrow[3]), (1, b""))
            t.contains(narrow[2], f"pprofdelta: {name}: ")
            t.check(narrow[4] == before, "the state moved")


def least(run):
    """The smallest limit that suffices, in KiB and nearly."""
    small, large = 1 << 10, 16 << 10
    while large - small > 64:
        limit = (small + large) // 2
        if run(f"--max-memory={limit}k")[0]:
            small = limit
        else:
            large = limit
    return small, large


def test_what_suffices_for_one_suffices_for_two(t):
    """Where there is no room for the second thread's share it is given back."""
    before = begin(t)
    for args, state in ((DELTA, None), (WINDOW, before)):
        def single(limit, args=args, state=state):
            return told(t, functools.partial(on_one, t), (*args, limit), state)

        short, enough = least(single)
        t.check(short > 6 << 10, f"{short}k: a second thread gets no share")
        for limit in (f"--max-memory={enough}k", f"--max-memory={short}k"):
            double = told(t, t.run, (*args, limit), state)
            t.check(double == single(limit), f"{args}, {limit}: {double[:3]}, not as on one processor")
            t.equal(double[0] == 0, limit == f"--max-memory={enough}k")
