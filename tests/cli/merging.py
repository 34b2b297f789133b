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
    t.contains(t.succeeds("merge", *files, "-o", "out").err, "note: files that do not count", "1 of 10")
    got = read(t.load("out"))
    want = {"f;main": [18, 180, 3, 69], "only1;main": [3, 3, 0, 0], "only2;main": [3, 3, 0, 0], "only3;main": [3, 3, 0, 0]}
    t.equal(got.values(), want)
    t.equal((got.time, got.duration), (T0 + 3 * MINUTE, 0))
    t.equal(len(got.comments), 2)
    t.contains(got.comments[1], " windows=9 targets=3")
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


def test_merges_of_other_targets(t):
    files = fleet(t)
    for host in range(1, 4):
        t.succeeds("merge", *(name for name in files if f".{host}." in name), "-o", f"of.{host}", "-q")
    t.succeeds("merge", *files, "-q", "-o", "flat")
    t.succeeds("merge", "--disjoint", "of.1", "of.3", "-o", "of.13")
    for tree in (["of.1", "of.2", "of.3"], ["of.2", "of.13"], ["of.13", "of.2", "of.2"],
                 ["of.13", *(f"delta.2.{n}" for n in range(1, 4))]):
        t.succeeds("merge", "--disjoint", *tree, "-q", "-o", "tree")
        got, want = read(t.load("tree")), read(t.load("flat"))
        t.equal(got.values(), want.values(), str(tree))
        t.equal((got.comments, got.time, got.duration), (want.comments, want.time, want.duration), str(tree))
        t.equal(t.succeeds("merge", "--disjoint", *tree[::-1], "-q").out, t.load("tree"), "another order")
    t.contains(t.fails(1, "merge", "of.13", "delta.2.1").err, "of.13: it is a merge", "hint: ", "--disjoint")
    for left, right in ("of.13", "of.1"), ("of.13", "delta.1.1"), ("of.2", "delta.2.3"):
        err = t.fails(1, "merge", "--disjoint", left, right, "-o", "none").err
        t.contains(err, left, right, " and ", "the windows of target ", "count twice", "hint: merge the windows")
    t.fails(2, "sum", "--disjoint", "of.1", "of.2")
    t.contains(t.succeeds("merge", "--disjoint", "of.2", "of.2").err, "files that do not count", "1 of 2")


def test_a_directory_of_windows(t):
    """What is no profile, or a link, is left out with a note."""
    os.mkdir(t.path("dir"))
    t.write("dir/2a.pb.gz", b"no profile\n")
    os.symlink("1.pb.gz", t.path("dir/4.pb.gz"))
    result = t.run("sum", "dir", "-o", "out")
    t.equal((result.code, result.err.splitlines()[-1]), (1, "pprofdelta: dir: no file in it is a profile"))
    for n in range(1, 4):
        t.write("look", look(1, n))
        t.succeeds("--state", "s", "look", "-o", f"dir/{n}.pb.gz", "-q")
    result = t.succeeds("sum", "dir", "-o", "out")
    t.equal(read(t.load("out")).something(), read(t.load("look")).something())
    t.equal(result.err.count("it is left out"), 2, result.err)
