"""Little memory: a large profile is read a piece at a time, and the delta is the same."""

import functools
import json
import random

from pb import chunk, gz, inflate, profile
from samples import T0, T1

NARROW = "--max-memory=20M"  # less than four times what they inflate to
DELTA = ("prev", "cur", "-o", "out", "--report=json")
WINDOW = ("--state", "s", "cur", "-o", "out", "--report=json")


@functools.lru_cache
def look(changed, time):
    """3000 samples, and a name of 6 MB, which has to be held; half of it as a file."""
    chance = random.Random(1)
    names = [f"f{i}" for i in range(100)]
    samples = [(tuple(chance.choices(names, k=60)), [n + changed * (n % 50 == 0), 8 * n, n % 3, 0])
               for n in range(3000)]
    name = "".join(chance.choices("0123456789abcdef", k=6 << 20))
    return gz(profile(samples, time=time, extra=chunk(6, name.encode())))


def begin(t):
    """Two looks, and a state of the first."""
    for name, changed, time in (("prev", 0, T0), ("cur", 1, T1)):
        t.write(name, look(changed, time))
    t.succeeds("--state", "s", "prev", "-o", "first")
    return t.load("s")


def told(t, args, before):
    """All there is to know of a run with a state as it was before."""
    t.write("s", before)
    t.write("out", b"")
    result = t.run(*args, manners=False)
    return result.code, result.out, result.err, t.load("out"), t.load("s")


def test_a_delta_in_little_memory(t):
    before = begin(t)
    for args in (DELTA, WINDOW, (*DELTA, "--verify"), (*WINDOW, "--verify")):
        wide, narrow = told(t, args, before), told(t, (*args, NARROW), before)
        t.check(narrow[4] == wide[4], f"{args}: another state")
        if t.equal((wide[0], narrow[0]), (0, 0)):
            t.check(inflate(narrow[3]) == inflate(wide[3]), f"{args}: another delta")
            reports = [json.loads(one[2]) for one in (wide, narrow)]
            t.equal(reports[0], reports[1])


def test_what_is_wrong_is_told_in_little_memory(t):
    before = begin(t)
    whole = t.load("cur")
    t.write("cut", whole[:-9])
    t.write("other", whole[:len(whole) // 2] + b"\0\0" + whole[len(whole) // 2 + 2:])
    for name in ("cut", "other"):
        for args in (("prev", name), (name, "cur"), ("--state", "s", name)):
            result = told(t, (*args, NARROW, "-o", "out"), before)
            t.equal((result[0], result[3]), (1, b""))
            t.contains(result[2], f"pprofdelta: {name}: ")
            t.check(result[4] == before, "the state moved")
