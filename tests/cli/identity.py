"""What is one place: regions that are no files, and profiles whose time is that of the file. tables/identity.txt has the rest."""

import os

from leaking import leaks
from pb import HEAP, mapped, packed, profile, read
from samples import COUNTERS, MINUTE, T0, T1, regress
from texts import APP, gperftools, jemalloc


def test_leaks_keeps_functions_at_one_address_apart(t):
    for i in range(12):
        grows = {"first": [9, 90, 1, 1 << 20], "second": [9 * i + 9, 9, i + 1, (i + 1) << 20]}
        t.write(f"{i:02}", mapped([(name, 1, 0x1029, values) for name, values in grows.items()], [(0, 0, 0, "", "")], types=HEAP,
                                  time=T0 + i * MINUTE))
    t.equal(leaks(t, *(f"{i:02}" for i in range(12)))["runs"][0]["stacks"], 2)


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
