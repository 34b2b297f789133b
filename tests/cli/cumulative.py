"""What is not cumulative is refused: windows (profiles of cpu time, goroutines and threads are in
testdata/hostile); what cannot be told is noted; the stamp of a live heap tells a restart."""

import json
import os

from pb import gz, profile, read
from samples import SECOND, T0, pair, regress

MUTEX = ["contentions/count", "delay/nanoseconds"]


def contentions(t, name, count, time, duration, types=None):
    t.write(name, gz(profile([(("f", "main"), [count, 10 * count])], types=types or MUTEX, time=time,
                             duration=duration)))


def recorded(t, *names):
    for name in names:
        t.write(name, regress(name))
    return names


REFUSED = "duration_nanos: cur is a window already, not a cumulative profile: it covers "


def test_two_windows_are_refused(t):
    first, second = recorded(t, "window-of-mutex.1.pb.gz", "window-of-mutex.2.pb.gz")  # Go's mutex?seconds=1
    t.write("out", t.load(first))
    result = t.fails(1, first, second, "-o", "out")
    t.contains(result.err, f"pprofdelta: {second}: {REFUSED}1.00", " s older", "hint: ", "?seconds=",
               "--force")
    t.equal(t.load("out"), t.load(first))
    t.succeeds(first, second, "-q", "--force")


def test_what_cannot_be_told_is_noted(t):
    for had, has in ((0, 3), (3, 0), (1, 4)):
        contentions(t, "a", 2835, T0, had * SECOND)
        contentions(t, "b", 2907, T0 + 2 * SECOND, has * SECOND)
        note = "note: the durations of a and b do not show that both count from the start"
        t.contains(t.succeeds("a", "b").err, note)
        t.equal(t.succeeds("a", "b", "-q").err, "")
        t.equal(t.succeeds("a", "b", "--force").err, "")
        got = json.loads(t.succeeds("a", "b", "--report=json", manners=False).err)
        t.equal((got["may_be_window"], got["same"]), (True, False))


def test_the_same_profile_twice(t):
    before, after = pair(t)
    t.write("copy", t.load(before))
    os.symlink(before, t.path("link"))
    for other in (before, "copy", "link"):
        result = t.succeeds(before, other)
        t.equal(result.err, f"pprofdelta: note: {before} and {other} are the same profile: no counter "
                            "has changed\n")
        got = json.loads(t.succeeds(before, other, "--report=json", manners=False).err)
        t.equal(got["same"], True)
    t.equal(t.succeeds(before, "copy", "-q").err, "")
    t.write("timeless", gz(profile([(("f",), [1, 1, 1, 1])])))
    t.write("copy", t.load("timeless"))
    t.contains(t.succeeds("timeless", "timeless").err, "note: timeless and timeless are the same profile")
    t.equal(t.succeeds("timeless", "copy").err, "", "the process may have stood still")
    for look, says in ((before, ""), (after, ""), (after, f"pprofdelta: note: {after} is the profile that s already has: "
                                                   "no counter has changed\n")):
        t.equal(t.succeeds("--state", "s", look, "-o", "out").err, says)
    t.equal([values[:2] for values in read(t.load("out")).values().values()], [[0, 0]] * 3)


def test_two_runs_of_a_program_are_a_restart(t):
    first, second = recorded(t, "live-heap.run-1.pb.gz", "live-heap.run-2.pb.gz")
    all_of_it = read(t.load(second)).values()
    result = t.succeeds(first, second, "--verify")
    t.contains(result.err, f"note: {second}: a restart since {first}: the stamp of its live heap is of "
               "another process or of a later start")
    t.equal(read(result.out).values(), all_of_it)
    t.contains(" ".join(read(result.out).comments), " restart=live")
    got = json.loads(t.succeeds(first, second, "--report=json", manners=False).err)
    t.equal(got["restart"], {"detected": True, "reason": "live"})
    t.contains(t.fails(3, first, second, "--on-reset=fail").err, "live heap")
