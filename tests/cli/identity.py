"""What is one place, in every verb: an address in no file is none. And whose profiles are of one process: the mass of
the counters decides, not the first mapping."""

import json
import os

from leaking import leaks
from pb import HEAP, mapped, packed, profile, read
from samples import COUNTERS, MINUTE, T0, T1, TESTDATA, regress
from texts import APP, gperftools, jemalloc

# Pyroscope's no_addr_no_line.pb.gz has the first: functions at one address of a mapping that says nothing.
NOWHERE = [[(0, 0, 0, "", "")], [(0x1000, 0x9000, 0, "", "")], [(0x1000, 0x9000, 0, "[anon]", "")], []]


def interpreted(values, mappings=(), time=0, types=COUNTERS):
    """values: {name of a function: values}, all at one address."""
    number = 1 if mappings else 0
    return mapped([(name, number, 0x1029, one) for name, one in values.items()], mappings, types=types, time=time)


PREV, CUR = {"first": [10, 100], "second": [20, 200]}, {"first": [11, 101], "second": [25, 205]}
GREW = {"first": [1, 1], "second": [5, 5]}


def both(t, mappings):
    t.write("prev", interpreted(PREV, mappings, T0))
    t.write("cur", interpreted(CUR, mappings, T1))
    return "prev", "cur"


def test_functions_at_one_address_stay_apart(t):
    for mappings in NOWHERE:
        names = both(t, mappings)
        result = t.succeeds(*names, "--verify", "--report=json", "-o", "delta", manners=False)
        t.equal(read(t.load("delta")).values(), GREW)
        t.equal(json.loads(result.err)["identity"], {"address": 0, "lines": 2})
        t.equal(read(t.succeeds("sum", "prev", "delta").out).values(), CUR)
        t.equal(read(t.succeeds("symbolize", "cur").out).values(), CUR)
        for i, name in enumerate(names, 1):
            t.succeeds("--state", "s", name, "-o", f"w{i}")
        t.equal(read(t.load("w2")).values(), GREW)
        t.equal(read(t.succeeds("merge", "w1", "w2").out).values(), CUR)
        t.equal(t.succeeds("show", "--folded", "--type=alloc_objects", *names).text, "first 10 11\nsecond 20 25\n")
        os.remove(t.path("s"))


def test_leaks_keeps_them_apart(t):
    for i in range(12):
        grows = {"first": [9, 90, 1, 1 << 20], "second": [9 * i + 9, 9, i + 1, (i + 1) << 20]}
        t.write(f"{i:02}", interpreted(grows, NOWHERE[0], T0 + i * MINUTE, HEAP))
    t.equal(leaks(t, *(f"{i:02}" for i in range(12)))["runs"][0]["stacks"], 2)


# ---- a state that an older version wrote ---------------------------------------------------------

def grown(first, second, native):
    """What testdata/states/format-6.no-file has after (100, 200, 50)."""
    counts = {"first": first, "second": second}
    samples = [(name, 1, 0x29, [n, 10 * n]) for name, n in counts.items()]
    return mapped([*samples, ("native", 2, 0x400100, [native, 10 * native])],
                  [(0, 0, 0, "", ""), (0x400000, 0x500000, 0, "app", "id-1")], time=T0 + native * MINUTE)


def test_an_old_state_says_once_that_it_begins_anew(t):
    for is_open in (False, True):
        t.write("s", t.load(os.path.join(TESTDATA, "states/format-6.no-file")))
        t.write("1", grown(101, 202, 53))
        t.write("2", grown(105, 202, 54))
        if is_open: # the first run does not deliver
            t.contains(t.fails(4, "--state", "s", "1", "--", "false").err, "pprofdelta: false: failed")
        first = t.succeeds("--state", "s", "1", "-o", "d1")
        t.equal("an older version" in first.err, not is_open, first.err)
        t.lacks(first.err, "a restart")
        t.equal(read(t.load("d1")).values(), {})
        second = t.succeeds("--state", "s", "2", "-o", "d2")
        t.equal(second.err, "")
        t.equal(read(t.load("d2")).values(), {"first": [4, 40], "native": [1, 10]})


def test_an_old_state_goes_on_where_nothing_was_merged(t):
    t.write("s", t.load(os.path.join(TESTDATA, "states/format-6.no-file")))
    for i, native in enumerate((53, 57)):
        t.write("cur", mapped([("native", 1, 0x400100, [native, 10 * native])], [(0x400000, 0x500000, 0, "app", "id-1")],
                              time=T1 + i))
        result = t.succeeds("--state", "s", "cur", "--on-reset=clamp", "-o", "d")
        t.equal((read(t.load("d")).values(), result.err), ({"native": [[3, 30], [4, 40]][i]}, ""))
    t.write("cur", grown(105, 202, 58)) # what had vanished would come back under another key
    result = t.succeeds("--state", "s", "cur", "--on-reset=clamp", "-o", "d")
    t.equal(read(t.load("d")).values(), {})
    t.contains(result.err, "an older version")


# ---- the first mapping -----------------------------------------------------------------------------

LIBA = (0x7f0000000000, 0x7f0000010000, 0, "/lib/liba.so", "a-1")
LIBB = (0x7f1000000000, 0x7f1000010000, 0, "/lib/libb.so", "b-1")
PLUGIN = (0x7f2000000000, 0x7f2000010000, 0, "/lib/plugin.so", "p-1")


def placed(counts, mappings, time):
    """counts: {mapping: objects in it}."""
    return mapped([(m[3], mappings.index(m) + 1, m[0] + 0x10, [n, n]) for m, n in counts.items()], mappings, time=time)


def deltas(t, prev, cur):
    """The delta of two files, and that of a state, with what is said of it."""
    t.write("prev", prev)
    t.write("cur", cur)
    pair = t.succeeds("prev", "cur")
    t.succeeds("--state", "s", "prev", "-o", "w")
    state = t.succeeds("--state", "s", "cur", "-o", "w")
    os.remove(t.path("s"))
    t.equal(read(pair.out).values(), read(t.load("w")).values())
    for name in "prev", "cur": # which has no rule that the first mapping is the main binary
        t.succeeds("--state", "s", name, "--format=otlp", "--no-stamp", "-o", name + ".otlp")
        os.remove(t.path("s"))
    t.equal(read(t.succeeds("prev.otlp", "cur.otlp").out).values(), read(pair.out).values())
    return read(pair.out).values(), pair.err + state.err


def test_another_first_mapping_is_no_restart(t):
    prev = placed({LIBA: 1, LIBB: 100000}, [LIBA, LIBB], T0)
    for mappings in ([PLUGIN, LIBB], [LIBB], [LIBB, LIBA], [PLUGIN, LIBB, LIBA]):
        got, said = deltas(t, prev, placed({LIBB: 100005}, mappings, T1))
        t.equal((got, said), ({"/lib/libb.so": [5, 5]}, ""))


def test_a_restart_in_another_order_is_not_another_build(t):
    got, said = deltas(t, placed({LIBA: 900, LIBB: 1000}, [LIBA, LIBB], T0),
                       placed({LIBA: 9, LIBB: 10}, [LIBB, LIBA], T1))
    t.equal(got, {"/lib/liba.so": [9, 9], "/lib/libb.so": [10, 10]})
    t.contains(said, "a restart", "half of the value")
    t.lacks(said, "another build")


def test_a_new_build_that_outgrew_the_old_one_is_a_restart(t):
    def binary(build_id, start, count, time):
        app = (start, start + 0x10000, 0, "/srv/app", build_id)
        return placed({app: count, LIBB: count // 10}, [app, LIBB], time)

    for start in (0x400000, 0x550000000000):
        t.write("x", b"")
        got, said = deltas(t, binary("one", 0x400000, 1000, T0), binary("two", start, 100000, T1))
        is_same_place = start == 0x400000
        # In the same place the mass is found again: nothing shows that this is not a file that was replaced.
        t.equal(got["/srv/app"], [99000, 99000] if is_same_place else [100000, 100000])
        t.contains(said, "were replaced" if is_same_place else "the main binary is another build")


# ---- two kinds of profile ----------------------------------------------------------------------------

def kind(t, name, leaf, count, minute, **more):
    return t.write(name, profile([((leaf, "main"), [count, 10 * count])], types=["contentions/count", "delay/nanoseconds"],
                                 time=T0 + minute * MINUTE, **more))


def test_two_kinds_in_one_state_are_said(t):
    notes = []
    for i in range(4):
        kind(t, "cur", "unlock" if i % 2 else "select", 100 + i, i)
        report = t.succeeds("--state", "s", "cur", "--report=json", "-o", "d", manners=False).err
        notes.append(json.loads(report)["may_be_two_kinds"])
    t.equal(notes, [False, False, True, True])
    kind(t, "cur", "select", 100, 9)
    said = t.succeeds("--state", "s", "cur", "-o", "d").err
    t.contains(said, "may be two kinds of profile", "mutex and block", "a state of its own")
    kind(t, "cur", "select", 101, 10)
    t.equal(t.succeeds("--state", "s", "cur", "-o", "d").err, "")


def test_the_period_and_the_default_type_tell_two_kinds(t):
    kinds = ({}, {"period_type": "mutex/count"}, {"period_type": "mutex/contentions"}, {"default": "delay"})
    for i, prev in enumerate(kinds):
        for j, cur in enumerate(kinds):
            kind(t, "prev", "a", 100, 0, **prev)
            kind(t, "cur", "b", 100, 1, **cur)
            said = t.succeeds("prev", "cur").err
            t.contains(said, "a restart")
            t.equal("two kinds" in said, i != j, said)
    kind(t, "cur", "a", 101, 1, default="delay") # the counters go on
    t.equal(t.succeeds("prev", "cur").err, "")


# ---- a start, and profiles without a time -----------------------------------------------------------

def dumps(t, kind_of):
    for name, count in (("prev", 10), ("cur", 20)):
        t.write(name, kind_of({(APP + 0x10,): (0, 0, count, 10 * count)}))
        os.utime(t.path(name), (1_700_000_000 + count, 1_700_000_000 + count))
    return "prev", "cur"


def test_the_time_of_the_file_stands_in(t):
    for kind_of in (gperftools, lambda records: jemalloc(records, 1)):
        names = dumps(t, kind_of)
        for started, want in (("@1700000009", 10), ("@1700000010", 10), ("@1700000010.000000001", 20), ("@1700000015", 20)):
            result = t.succeeds(*names, "--started", started)
            t.equal([v[0] for _, _, v in read(result.out).samples], [want], started)
            t.equal("the program started after" in result.err, want == 20, result.err)
            t.succeeds("--state", "s", "prev", "-o", "d")
            os.utime(t.path("s"), (1_700_000_010, 1_700_000_010))
            t.succeeds("--state", "s", "cur", "--started", started, "-o", "d")
            t.equal([v[0] for _, _, v in read(t.load("d")).samples], [want], started)
            os.remove(t.path("s"))


def test_a_start_that_cannot_be_compared_is_refused(t):
    _, cur = dumps(t, gperftools)
    result = t.fails(1, "-", cur, "--started=@1700000015", stdin=t.load("prev"))
    t.contains(result.err, "(stdin): the profile has no time", "--started", "regular file")
    t.equal(t.succeeds("-", cur, stdin=t.load("prev")).err, "")
    with_time = profile([(("a",), [1, 1])], types=COUNTERS, time=T0)
    t.write("later", profile([(("a",), [3, 3])], types=COUNTERS, time=T1))
    t.equal(read(t.succeeds("-", "later", "--started=@1", stdin=with_time).out).values(), {"a": [2, 2]})


# ---- regions of one name ---------------------------------------------------------------------------

REGIONS = ["/memfd:jit (deleted)", "/memfd:jit", "/dev/zero (deleted)", "/anon_hugepage (deleted)",
           "/SYSV00000000 (deleted)", "/dev/ashmem/dalvik-jit-code-cache (deleted)", "[anon]",
           "[anon:jit]", "[anon_shmem:jit]", "//anon", "/[aio] (deleted)", "anon_inode:[jit]",
           "/dmabuf:jit", "/secretmem (deleted)", ""]


def regions():
    """Two regions of each name, with one function each at equal offsets."""
    samples, mappings = [], [(0x400000, 0x500000, 0, "/bin/app", "")]
    for name in REGIONS:
        for half, values in (("A", [10, 100]), ("B", [5, 50])):
            start = 0x7F0000000000 + len(mappings) * 0x100000
            mappings.append((start, start + 0x10000, 0, name, ""))
            samples.append((f"{name} {half}", len(mappings), start + 0x123, values))
    return mapped(samples, mappings, time=T0)


def test_regions_of_one_made_up_name_stay_apart(t):
    data = regress("regions-of-one-name.pb")
    t.check(data == regions(), "testdata/regress/regions-of-one-name.pb is not what this file writes")
    t.write("cur", data)
    t.write("twice", regions().replace(packed(2, [10, 100]), packed(2, [20, 120])))
    want = {f"{name} {half}": values for name in REGIONS
            for half, values in (("A", [10, 100]), ("B", [5, 50]))}
    t.equal(read(t.succeeds("--state", "state", "cur").out).values(), want)
    t.equal(read(t.succeeds("cur", "twice", "--verify").out).values(),
            {f"{name} A": [10, 20] for name in REGIONS})
