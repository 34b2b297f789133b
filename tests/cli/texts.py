"""Heap profiles that jemalloc and gperftools write as text, held against arithmetic of our own."""

import json
import math
import random

from pb import gz, read
from samples import cur, regress

MAPS = """\
55d2e000-55d2f000 r--p 00000000 fe:00 1022                       /opt/my app
55d2f000-55d31000 r-xp 00001000 fe:00 1022                       /opt/my app
7f0000000000-7f0000010000 r-xp 00022000 00:00 99                 /lib/libx.so.6 (deleted)
7ffe90694000-7ffe906b5000 rw-p 00000000 00:00 0                  [stack]
"""
APP, LIB = 0x55d2f000, 0x7f0000000000


def gperftools(records, kind="heapprofile", maps=MAPS):
    """records: {(return addresses, leaf first): (in use objects, bytes, allocated objects, bytes)}"""
    def counts(values):
        return "%6d: %8d [%6d: %8d] @" % tuple(values)

    totals = [sum(v[i] for v in records.values()) for i in range(4)]
    text = "heap profile: " + counts(totals) + " " + kind + "\n"
    for stack, values in records.items():
        text += counts(values) + "".join(" 0x%016x" % address for address in stack) + "\n"
    return (text + ("\nMAPPED_LIBRARIES:\n" + maps if maps else "")).encode()


def jemalloc(records, rate, maps=MAPS, threads=2):
    def counts(name, values):
        return "  %s: %d: %d [%d: %d]\n" % (name, *values)

    text = "heap_v2/%d\n" % rate
    text += counts("t*", [sum(v[i] for v in records.values()) for i in range(4)])
    text += counts("t0", [0, 0, 0, 0])
    for stack, values in records.items():
        text += "@" + "".join(" 0x%x" % address for address in stack) + "\n"
        text += counts("t*", values) + "".join(counts("t%d" % i, values) for i in range(threads))
    return (text + ("\nMAPPED_LIBRARIES:\n" + maps if maps else "")).encode()


def unsampled(objects, size, rate):
    if rate < 2 or not objects or not size:
        return objects, size
    factor = 1 / -math.expm1(-abs(size / objects) / rate)
    return tuple(int(math.copysign(math.floor(abs(v * factor) + 0.5), v)) for v in (objects, size))


def frame(address):
    """As `show` names it: the byte before the return address, as the file numbers its bytes."""
    address -= 1
    if APP <= address < APP + 0x2000:
        return "my app+0x%x" % (address - APP + 0x1000)
    if LIB <= address < LIB + 0x10000:
        return "libx.so.6+0x%x" % (address - LIB + 0x22000)
    return "0x%x" % address


def folded(t, name):
    """{"root;...;leaf": [four values]} of a file."""
    got = {}
    for i, kind in enumerate(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")):
        for line in t.succeeds("show", "--folded", "--type", kind, name).text.splitlines():
            path, value = line.rsplit(" ", 1)
            got.setdefault(path, [0] * 4)[i] = int(value)
    return got


def expected(prev, cur_, rate):
    want = {}
    for stack, (in_objects, in_bytes, objects, size) in cur_.items():
        before = prev.get(stack, (0, 0, 0, 0))
        values = [*unsampled(objects - before[2], size - before[3], rate),
                  *unsampled(in_objects, in_bytes, rate)]
        if any(values):
            want[";".join(frame(a) for a in reversed(stack))] = values
    return want


PREV_RECORDS = {(APP + 0x10, APP + 0x20): (2, 200, 10, 1000),
                (LIB + 0x100, APP + 0x30): (5, 500, 5, 500), (0x1234, APP + 0x20): (1, 9, 3, 27)}
CUR_RECORDS = {(APP + 0x10, APP + 0x20): (3, 300, 16, 1900), (APP + 0x40,): (1, 8, 1, 8),
               (LIB + 0x100, APP + 0x30): (5, 500, 5, 500), (0x1234, APP + 0x20): (0, 0, 7, 63)}


def test_gperftools(t):
    t.write("a.heap", gperftools(PREV_RECORDS))
    t.write("b.heap", gperftools(CUR_RECORDS))
    t.succeeds("a.heap", "b.heap", "--verify", "-o", "d")
    t.equal(folded(t, "d"), expected(PREV_RECORDS, CUR_RECORDS, 1))
    got = read(t.load("d"))
    t.equal(got.types, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                        "inuse_space/bytes"])
    t.equal((got.period, got.period_type), (1, "space/bytes"))


def test_jemalloc(t):
    rate = 512
    t.write("a.heap", jemalloc(PREV_RECORDS, rate))
    t.write("b.heap", gz(jemalloc(CUR_RECORDS, rate)))
    t.succeeds("a.heap", "b.heap", "--verify", "-o", "d")
    t.equal(folded(t, "d"), expected(PREV_RECORDS, CUR_RECORDS, rate))
    # Raw counts are subtracted and then unsampled: 6 objects of 150 bytes, not of 118.75 and 100.
    first = folded(t, "d")[";".join((frame(APP + 0x20), frame(APP + 0x10)))]
    t.equal(first[0], round(6 / (1 - math.exp(-150 / rate))))
    t.equal(read(t.load("d")).period, rate)


def test_a_series_of_dumps_is_judged(t):
    for i in range(12):
        t.write(f"{i:02}.heap", jemalloc({(APP + 0x20,): (9 * i, 9 * i * 5000, 9 * i, 9 * i * 5000),
                                          (APP + 0x40,): (30, 30 * 4096, 30 * i, 30 * i * 4096)}, 512))
    files = [f"{i:02}.heap" for i in range(12)]
    run, = json.loads(t.succeeds("leaks", "--json", "--every=1m", *files).text)["runs"]
    t.equal([(f["kind"], f["place"]["function"]) for f in run["findings"]], [("suspect", "my app+0x101f")])
    t.contains(t.fails(1, "leaks", *files).err, "has no time (--every=TIME gives one)")


def test_processes_made_by_chance(t):
    chance = random.Random(11)
    for turn in range(30):
        rate = chance.choice((1, 2, 4096, 524288))
        prev, now = {}, {}
        for _ in range(chance.randint(0, 40)):
            stack = tuple(chance.choice((APP, LIB, 0x1000)) + chance.randint(1, 0xfff)
                          for _ in range(chance.randint(0, 12)))
            if stack in now:
                continue
            size, n, more = chance.randint(1, 10**6), chance.randint(0, 99), chance.randint(0, 99)
            live = chance.randint(0, n + more)
            if chance.random() < 0.8:
                prev[stack] = (0, 0, n, n * size)
                now[stack] = (live, live * size, n + more, (n + more) * size)
            else:
                now[stack] = (live, live * size, more, more * size)
        write = gperftools if rate == 1 else lambda r: jemalloc(r, rate)
        t.write("a", write(prev))
        t.write("b", write(now))
        mass = sum(v[2] for v in prev.values())
        result = t.run("a", "b", "--verify", "-o", "d")
        if not any(v[2] for v in now.values()) or (prev and not mass):
            continue  # nothing was counted: told as a dump without sums
        t.equal(result.code, 0, result.err)
        want = {path or "(no stack)": values for path, values in expected(prev, now, rate).items()}
        t.equal(folded(t, "d"), want, f"turn {turn}")


def test_show_and_check(t):
    t.write("a.heap", jemalloc(CUR_RECORDS, 512))
    size = f"{len(jemalloc(CUR_RECORDS, 512))} bytes, "
    t.contains(t.succeeds("check", "a.heap").text, f"a.heap: ok: text, {size}", "4 samples", "2 mappings")
    t.contains(t.succeeds("show", "a.heap").text, "from a text heap profile, heap_v2/512")
    t.equal(folded(t, "a.heap"), expected({}, CUR_RECORDS, 512))
    t.write("b.heap", gz(jemalloc(PREV_RECORDS, 512)))
    size = f"{len(jemalloc(PREV_RECORDS, 512))} bytes inflated, "
    t.contains(t.succeeds("check", "b.heap").text, f"b.heap: ok: gzip, {size}")
    t.contains(t.succeeds("show", "b.heap", "a.heap").text, "functions changed")


def test_no_cumulative_counts(t):
    without = {stack: (v[0], v[1], 0, 0) for stack, v in CUR_RECORDS.items()}
    twice = {stack: (v[0], v[1], v[0], v[1]) for stack, v in CUR_RECORDS.items()}
    for text in (jemalloc(without, 512), gperftools(twice, "heap_v2/524288"),
                 gperftools(without, "heap_v2/524288"), gperftools(without)):
        t.write("a", text)
        t.contains(t.fails(1, "a", "a", "-o", "d").err, "pprofdelta: a: ", "no cumulative counts", "prof_accum:true")
        t.contains(t.succeeds("check", "a").text, "a: ok: text, ", "2 types")
        t.contains(t.succeeds("show", "a").text, "inuse_space/bytes")
        t.lacks(t.succeeds("show", "a").text, "alloc_space")
    t.write("b", gperftools(CUR_RECORDS, "heap_v2/524288"))
    t.contains(t.succeeds("check", "b").text, "4 types")


def test_counts_that_cannot_be_subtracted(t):
    t.write("a", jemalloc(PREV_RECORDS, 512))
    t.write("b", jemalloc(CUR_RECORDS, 1024))
    t.write("c", cur())
    t.contains(t.fails(1, "a", "b", "-o", "d").err, "a and b: ",
               "the sampling changed: one byte in 512, and now one in 1024")
    for pair in (("a", "c"), ("c", "a")):
        t.contains(t.fails(1, *pair, "-o", "d").err, "text form", "and the other is not")


def check_prefixes(t, whole):
    """A dump cut behind every line is refused, or nothing is missing but mappings in which no stack
    has an address. The number of those that were not refused."""
    t.write("whole", whole)
    want, good = folded(t, "whole"), 0
    lines = whole.splitlines(keepends=True)
    for n in range(1, len(lines)):
        data = b"".join(lines[:n])
        t.write("cut", data)
        result = t.run("check", "cut")
        if result.code == 0:
            good += 1
            t.equal(folded(t, "cut"), want, f"{n} lines")
            t.check(b"MAPPED_LIBRARIES" in data, f"{n} lines: no mappings")
        else:
            t.equal(result.code, 1, f"{n} lines")
            t.contains(result.err, f"cut: line {n}: ", "cut off")
    return good


def test_a_dump_that_is_cut_off(t):
    """Real dumps. Behind the loader's code, which has an address in every stack, are its data, the
    stack and what the kernel has at the end."""
    for name in ("dump-jemalloc.heap", "dump-gperftools.heap"):
        good = check_prefixes(t, regress(name))
        t.check(good < 8, f"{name}: {good} prefixes are taken for whole")
