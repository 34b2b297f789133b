"""show --lifetimes: what is freed in the window of its allocation, the median age, and what lives on."""

import random

from pb import HEAP, Stack, gz, profile
from samples import SECOND, T0, stamp

TYPES = [*HEAP, "freed_objects/count", "freed_space/bytes"]


def aged(name, alloc, inuse, ended, labels=None):
    """The samples of a stack; ended: {age: bytes}."""
    yield Stack(name, "main", labels=labels), [1, alloc, 1, inuse, 0 in ended, ended.get(0, 0)]
    for age, size in ended.items():
        if age:
            yield Stack(name, "main", labels={**(labels or {}), "age": (age, "windows")}), [0, 0, 0, 0, 1, size]


def median(inuse, ended):
    """From every single byte."""
    ages = sorted(age for age, size in ended.items() for _ in range(size)) + [None] * max(inuse, 0)
    return ages[(len(ages) - 1) // 2] if ages else None


def lifetimes(t, path):
    """The columns of the table by function; each value has to be below 1 KiB, so that it is exact."""
    table = t.succeeds("show", "--lifetimes", "--top=1000", path).text.split("  stack\n")[1]
    rows = [line.split()[:7] for line in table.splitlines()]
    return {row[6]: [*(int(row[i].removesuffix("B")) for i in (0, 1, 3, 4)), row[5]] for row in rows}


def test_medians(t):
    r, stacks = random.Random(3), {}
    for i in range(60):
        ended = {age: r.randrange(1, 40) for age in r.sample((0, 1, 2, 3, 15, 16, 24, 96), r.randrange(6))}
        stacks[f"f{i}"] = r.randrange(0, 200), r.choice((-5, 0, 1, 20, 100)), ended
    t.write("p", profile([row for name, of in stacks.items() for row in aged(name, *of)], types=TYPES))
    got = lifetimes(t, "p")
    for name, (alloc, inuse, ended) in stacks.items():
        if not (alloc or inuse or ended):
            continue
        want = median(inuse, ended)
        shown = "-" if not ended else f">{max(ended)}" if want is None else str(want)
        t.equal(got[name], [alloc, ended.get(0, 0), sum(ended.values()) - ended.get(0, 0), inuse, shown], name)


def test_windows_are_added_up(t):
    windows = [aged("a", 100, 60, {0: 40}), aged("a", 10, -25, {0: 5, 1: 30}), aged("a", 0, -30, {2: 30})]
    for i, rows in enumerate(windows, 1):
        t.write(str(i), gz(profile(list(rows), types=TYPES, comments=[stamp(i, "delta" if i > 1 else "full")],
                                   time=T0 + i * SECOND)))
    t.succeeds("sum", "1", "2", "3", "-o", "sum")
    got = lifetimes(t, "sum")
    t.equal(got["a"], [110, 45, 60, 5, "1"])
    t.contains(t.fails(2, "show", "--lifetimes", "1", "2").err, "pprofdelta sum FILE... | pprofdelta show --lifetimes -")
