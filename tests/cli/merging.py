"""merge: the windows of many targets as one profile, in any order of files, each window once."""

import os

from pb import gz, profile, read
from samples import MINUTE, T0


def look(host, n):
    """What host has counted at minute n, and has in use: `host` times 10 bytes and the minute."""
    return gz(profile([(("f", "main"), [n * host, 10 * n * host, 1, 10 * host + n]),
                       ((f"only{host}", "main"), [n, n, 0, 0])], time=T0 + n * MINUTE))


def fleet(t, hosts=3, windows=3):
    """delta.HOST.N of a state for each host; delta.1.2 is sent twice."""
    for host in range(1, hosts + 1):
        for n in range(1, windows + 1):
            t.write("look", look(host, n))
            if (host, n) == (1, 2):
                t.fails(4, "--state", "s1", "look", "--", "sh", "-c", "cat >delta.1.2; exit 1", manners=False)
                t.write("look", look(host, n))
                t.succeeds("--state", "s1", "look", "-o", "again.1.2", "-q")
            else:
                t.succeeds("--state", f"s{host}", "look", "-o", f"delta.{host}.{n}", "-q")
    names = [f"delta.{host}.{n}" for host in range(1, hosts + 1) for n in range(1, windows + 1)]
    return [*names, "again.1.2"]


def test_counters_of_all_windows_and_gauges_of_the_last_ones(t):
    files = fleet(t)
    result = t.succeeds("merge", *files, "-o", "out")
    t.contains(result.err, "note: files that do not count", "1 of 10")
    got = read(t.load("out"))
    want = {"f;main": [18, 180, 3, 69], "only1;main": [3, 3, 0, 0], "only2;main": [3, 3, 0, 0], "only3;main": [3, 3, 0, 0]}
    t.equal(got.values(), want)
    t.equal((got.time, got.duration), (T0 + 3 * MINUTE, 0))
    t.equal(len(got.comments), 1)
    t.contains(got.comments[0], " windows=9 targets=3")
    for order in (files[::-1], files[5:] + files[:5] + files[3:4]):
        t.equal(t.succeeds("merge", *order, "-q").out, t.load("out"), "another order")
    later = [name for name in files if not name.endswith(".1")]
    t.equal(read(t.succeeds("merge", *later).out).duration, 2 * MINUTE)
    one = t.succeeds("merge", "delta.2.3", "--compress=none").out
    t.equal(read(one).values(), read(t.load("delta.2.3")).values(), "one window")
    t.equal(t.litter(), [])


def test_labels(t):
    files = fleet(t, hosts=2, windows=1)[:2]
    for option, key in ("--label-target", "target"), ("--label-target=host", "host"):
        raw = t.succeeds("show", "--raw", "-", stdin=t.succeeds("merge", *files, option).out).text
        t.equal(raw.count(f'label "{key}" = "'), 4)
        for name in ("s1", "s2"):
            t.contains(raw, t.succeeds("--state", name, "--status").text.split("id")[1].split()[0])
    t.contains(t.fails(2, "merge", *files, "--label-target=").err, "must be the key of a label")


def test_what_is_refused(t):
    """The files, and what to do. merge_test.c has every window that does not count."""
    files = fleet(t, hosts=2)
    t.succeeds("merge", *files, "-q", "-o", "merged")
    t.write("look.1", look(1, 1))
    t.write("look.2", look(1, 2))
    t.succeeds("look.1", "look.2", "-o", "pair")
    t.write("bad", b"\xff\xff")
    t.write("mutex", gz(profile([(("f",), [1, 2])], types=["contentions/count", "delay/nanoseconds"])))
    t.succeeds("--state", "m", "mutex", "-o", "other")
    for name, words, may_be_forced in (
            ("look.1", "it may be cumulative", True), ("pair", "the delta of two files", True),
            ("merged", "it is a merge", True), ("bad", "bad: ", False), ("nowhere", "cannot open", False),
            ("s1", "s1: ", False), ("other", "the value types differ", False)):
        result = t.fails(1, "merge", *files, name, "-o", "out", "-q")
        t.contains(result.err, words)
        t.check(not os.path.exists(t.path("out")), "wrote")
        if may_be_forced:
            t.contains(result.err, f"pprofdelta: {name}: ", "--force takes any other profile")
            result = t.succeeds("merge", "delta.2.1", name, name, "--force")
            t.contains(read(result.out).comments[0], "windows=2 targets=2")
    for code, args, *words in (
            (1, ("sum", "merged", "delta.1.3"), "it is a merge"), (1, ("look.1", "merged"), "already a delta"),
            (1, ("sum", "delta.1.1", "delta.2.1", "--force"), "two states", "pprofdelta merge adds up"),
            (2, ("merge",), "the deltas are missing"), (2, ("merge", *files, "-"), "stdin cannot be one"),
            (1, ("merge", *files, "--max-memory=20k"), "--max-memory=SIZE raises the limit")):
        t.contains(t.fails(code, *args).err, *words)
    t.contains(t.succeeds("merge", "delta.2.1", "delta.2.3").err,
               "note: windows of a target are missing before delta.2.3")
