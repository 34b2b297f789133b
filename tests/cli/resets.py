"""Counters that went backwards: every way to treat them, and what is said about it."""

import os

from pb import HEAP, profile, read
from samples import COUNTERS, CUR, DELTA, PREV, T0, T1, two

# A lone decrease among much that went on; everything gone.
LONE = ([(("a",), [100, 1000]), (("b",), [10, 100])], [(("a",), [120, 1200]), (("b",), [9, 90])])
GONE = ([(("a",), [100, 1000]), (("b",), [10, 100])], [(("a",), [20, 200]), (("b",), [1, 10])])


CLAMPED = "pprofdelta: note: cur.pb.gz: 1 sample went backwards since prev.pb.gz and was clamped to zero\n"
RESTART = "pprofdelta: note: cur.pb.gz: a restart since prev.pb.gz: {}; the delta counts from zero\n"
HALF = RESTART.format("at least half of the value of a counter is gone")


def test_every_way_to_treat_a_decrease(t):
    vanished = ([(("a",), [10, 100]), (("b",), [5, 50])], [(("a",), [11, 110])])
    clamped = CLAMPED.replace("1 sample went backwards", "2 samples went backwards").replace("was", "were")
    for pair_of, how, want, said in (
            (LONE, None, {"a": [20, 200]}, CLAMPED), (LONE, "auto", {"a": [20, 200]}, CLAMPED),
            (LONE, "clamp", {"a": [20, 200]}, CLAMPED), (GONE, "clamp", {}, clamped),
            (GONE, None, {"a": [20, 200], "b": [1, 10]}, HALF),
            (LONE, "restart", {"a": [120, 1200], "b": [9, 90]}, RESTART.format("a counter went backwards")),
            ((LONE[0], LONE[0]), "restart", {}, ""), (LONE, "negative", {"a": [20, 200], "b": [-1, -10]}, ""),
            (vanished, "negative", {"a": [1, 10], "b": [-5, -50]}, ""), ((PREV, CUR), "fail", DELTA, "")):
        args = *two(t, *pair_of, types=HEAP if pair_of[0] == PREV else COUNTERS), *([f"--on-reset={how}"] if how else [])
        result = t.succeeds(*args)
        t.equal((read(result.out).values(), result.err), (want, said), str(args))
        t.equal(t.succeeds(*args, "-q").err + t.succeeds(*args, "--quiet").err, "")
    for pair_of in (LONE, GONE):
        result = t.fails(3, *two(t, *pair_of), "--on-reset=fail")
        t.equal(result.out, b"")
        t.contains(result.err, "pprofdelta: cur.pb.gz: ", "hint: --on-reset=fail refuses this")


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
