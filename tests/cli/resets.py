"""Counters that went backwards: every way to treat them, and what is said about it."""

import os

from pb import profile, read
from samples import COUNTERS, T0, T1, cur, pair, prev, two

# A lone decrease among much that went on; everything gone.
LONE = ([(("a",), [100, 1000]), (("b",), [10, 100])], [(("a",), [120, 1200]), (("b",), [9, 90])])
GONE = ([(("a",), [100, 1000]), (("b",), [10, 100])], [(("a",), [20, 200]), (("b",), [1, 10])])


def values(t, pair_of, *args, **kwargs):
    before, after = two(t, *pair_of)
    result = t.succeeds(before, after, *args, **kwargs)
    return read(result.out).values(), result.err


def test_a_lone_decrease_is_clamped(t):
    for args in ((), ("--on-reset=auto",), ("--on-reset=clamp",)):
        got, err = values(t, LONE, *args)
        t.equal(got, {"a": [20, 200]})
        t.equal(err, "pprofdelta: note: cur.pb.gz: 1 sample went backwards since prev.pb.gz and "
                     "was clamped to zero\n")


def test_half_gone_is_a_restart(t):
    got, err = values(t, GONE)
    t.equal(got, {"a": [20, 200], "b": [1, 10]})
    t.equal(err, "pprofdelta: note: cur.pb.gz: a restart since prev.pb.gz: at least half of the "
                 "value of a counter is gone; the delta counts from zero\n")


def write(t, name, samples, time, **kwargs):
    t.write(name, profile(samples, types=COUNTERS, time=time, **kwargs))
    return name


# ---- the file of a living process ---------------------------------------------------------------

BEFORE = [(("a",), [100, 1000]), (("b",), [10, 100])]
AFTER = [(("a",), [120, 1200]), (("b",), [10, 100]), (("c",), [1, 10])]
GREW = {"a": [20, 200], "c": [1, 10]}
# What Go says of the binary after the file was replaced, removed, renamed, or lost its build id.
OTHERS = [{"build_id": "two", "filename": "app"}, {"build_id": "", "filename": "app"},
          {"build_id": "", "filename": "app (deleted)"}, {"build_id": "one", "filename": "app.old"},
          {"build_id": "two", "filename": "app.old"}, {"build_id": "", "filename": ""}]


def test_a_replaced_file_is_no_restart(t):
    write(t, "prev", BEFORE, T0, build_id="one")
    for names in OTHERS:
        result = t.succeeds("prev", write(t, "cur", AFTER, T1, **names))
        t.equal(read(result.out).values(), GREW)
        t.lacks(result.err, "restart")
        replaced = names["build_id"] != "one" # which is all that counts, where there is one
        t.equal(result.err, "pprofdelta: note: cur: the files of 1 mapping were replaced, renamed or "
                "removed since prev; the process counts as the same\n" if replaced else "")


def test_never_a_restart_with_clamp(t):
    got, err = values(t, GONE, "--on-reset=clamp")
    t.equal(got, {})
    t.contains(err, "2 samples went backwards")
    t.lacks(err, "restart")


def test_always_a_restart_with_restart(t):
    got, err = values(t, LONE, "--on-reset=restart")
    t.equal(got, {"a": [120, 1200], "b": [9, 90]})
    t.contains(err, "a restart since prev.pb.gz: a counter went backwards; the delta counts from")
    got, err = values(t, (LONE[0], LONE[0]), "--on-reset=restart")
    t.equal((got, err), ({}, ""))


def test_negative_emits_it(t):
    got, err = values(t, LONE, "--on-reset=negative")
    t.equal(got, {"a": [20, 200], "b": [-1, -10]})
    t.equal(err, "")
    got, err = values(t, ([(("a",), [10, 100]), (("b",), [5, 50])], [(("a",), [11, 110])]),
                      "--on-reset=negative")
    t.equal(got, {"a": [1, 10], "b": [-5, -50]})


def test_fail_is_exit_three(t):
    for pair_of in (LONE, GONE):
        before, after = two(t, *pair_of)
        result = t.fails(3, before, after, "--on-reset=fail")
        t.equal(result.out, b"")
        t.contains(result.err, "pprofdelta: cur.pb.gz: ", "hint: --on-reset=fail refuses this")
    before, after = pair(t)
    t.succeeds(before, after, "--on-reset=fail")


def test_quiet_says_nothing(t):
    for pair_of in (LONE, GONE):
        for quiet in ("-q", "--quiet"):
            t.equal(values(t, pair_of, quiet)[1], "")


def test_a_good_run_says_nothing(t):
    before, after = pair(t)
    t.equal(t.succeeds(before, after).err, "")


def service(t, name, count, time, filename, build_id, start=0x400000):
    return write(t, name, [(("main",), [count, 10 * count])], time, filename=filename, build_id=build_id, start=start)


def test_two_services_are_refused(t):
    one = service(t, "one", 100, T0, "/srv/41/orders", "o-41")
    other = service(t, "other", 90, T1, "/srv/7/payments", "p-7", start=0x700000)
    result = t.fails(1, one, other, "-o", "out")
    t.contains(result.err, "prev and cur are of two services: /srv/41/orders and /srv/7/payments", "--force")
    t.check(not os.path.exists(t.path("out")), "there is an output")
    t.contains(t.succeeds(one, other, "--force").err, "a restart")
    t.succeeds("--state", "s", one, "-o", "1")
    before = t.load("s")
    result = t.fails(1, "--state", "s", other, "--", "touch", "sent")
    t.contains(result.err, "/srv/41/orders and /srv/7/payments", "move it away")
    t.equal((t.load("s"), os.path.exists(t.path("sent"))), (before, False))
    t.contains(t.succeeds("--state", "s", other, "--force", "-o", "2").err, "a restart")
