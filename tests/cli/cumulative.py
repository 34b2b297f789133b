"""What is not cumulative is refused: windows, cpu and goroutine profiles; what cannot be told is noted;
the stamp of a live heap tells a restart."""

import json
import os

from pb import HEAP, gz, profile, read
from samples import SECOND, T0, T1, cur, pair, prev

MUTEX = ["contentions/count", "delay/nanoseconds"]
REGRESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata", "regress")


def contentions(t, name, count, time, duration, types=None):
    t.write(name, gz(profile([(("f", "main"), [count, 10 * count])], types=types or MUTEX, time=time,
                             duration=duration)))


def recorded(t, name):
    with open(os.path.join(REGRESS, name), "rb") as file:
        t.write(name, file.read())


def two_windows(t):
    """Two scrapes of Go's mutex?seconds=1."""
    recorded(t, "window-of-mutex.1.pb.gz")
    recorded(t, "window-of-mutex.2.pb.gz")
    return "window-of-mutex.1.pb.gz", "window-of-mutex.2.pb.gz"


REFUSED = "duration_nanos: cur is a window already, not a cumulative profile: it covers "


def test_two_windows_are_refused(t):
    first, second = two_windows(t)
    t.write("out", t.load(first))
    result = t.fails(1, first, second, "-o", "out")
    t.contains(result.err, f"pprofdelta: {second}: {REFUSED}1.00", " s older", "hint: ", "?seconds=",
               "--force")
    t.equal(t.load("out"), t.load(first))
    t.succeeds(first, second, "-q", "--force")


def test_two_windows_with_a_state(t):
    first, second = two_windows(t)
    result = t.succeeds("--state", "s", first, "-o", "out")
    t.contains(result.err, f"note: {first} has a duration; if it is a window (as of ?seconds=)")
    before = t.load("s")
    result = t.fails(1, "--state", "s", second, "-o", "out")
    t.contains(result.err, f"pprofdelta: {second}: {REFUSED}1.00", "--force")
    t.equal(t.load("s"), before)
    t.equal(t.succeeds("--state", "s", second, "-o", "out", "--force").err, "")


def test_c_takes_no_window(t):
    for name, time in (("a", T0), ("b", T1)):
        contentions(t, name, 3, time, 30 * SECOND, ["faults/count", "delay/faults"])
    for args in (("a", "b"), ("--state", "s", "b")):
        if args[0] == "--state":
            t.succeeds("--state", "s", "a", "-c", "faults", "-q", "-o", "out")
        t.contains(t.fails(1, *args, "-c", "faults").err, "b: " + REFUSED + "30.000 s, and prev is 60")


def test_windows_that_follow_each_other(t):
    """The durations of two in a row need not be equal."""
    for extra in (-SECOND // 50, 0, SECOND // 50):
        contentions(t, "a", 2835, T0, 60 * SECOND)
        contentions(t, "b", 2907, T1, 60 * SECOND + extra)
        t.contains(t.fails(1, "a", "b").err, REFUSED)


def test_durations_since_the_start_are_taken(t):
    contentions(t, "a", 2835, T0, 3600 * SECOND)
    contentions(t, "b", 2907, T1, 3660 * SECOND)
    result = t.succeeds("a", "b")
    t.equal((result.err, read(result.out).values()), ("", {"f;main": [72, 720]}))
    t.succeeds("--state", "s", "a", "-q", "-o", "out")
    t.equal(t.succeeds("--state", "s", "b", "-o", "out").err, "")


def test_a_restart_with_such_a_duration(t):
    """By its times alone it is a window: the start tells that it is all that the process counted."""
    contentions(t, "a", 2835, T0, 3600 * SECOND)
    contentions(t, "b", 2907, T1, 20 * SECOND)
    t.contains(t.fails(1, "a", "b").err, REFUSED)
    result = t.succeeds("a", "b", f"--started=@{T0 // SECOND + 40}")
    t.contains(result.err, "a restart since a")
    t.equal(read(result.out).values(), {"f;main": [2907, 29070]})


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
        t.contains(t.succeeds("a", "b", "-q", "--report", manners=False).err, "may be a window")


def test_the_same_profile_twice(t):
    before, _ = pair(t)
    t.write("copy", t.load(before))
    os.symlink(before, t.path("link"))
    for other in (before, "copy", "link"):
        result = t.succeeds(before, other)
        t.equal(result.err, f"pprofdelta: note: {before} and {other} are the same profile: no counter "
                            "has changed\n")
        got = json.loads(t.succeeds(before, other, "--report=json", manners=False).err)
        t.equal(got["same"], True)
    t.equal(t.succeeds(before, "copy", "-q").err, "")


def test_the_same_file_without_a_time(t):
    t.write("a", gz(profile([(("f",), [1, 1, 1, 1])])))
    t.write("copy", t.load("a"))
    t.contains(t.succeeds("a", "a").err, "note: a and a are the same profile")
    t.equal(t.succeeds("a", "copy").err, "", "the process may have stood still")


def test_the_same_profile_with_a_state(t):
    t.write("one", gz(prev()))
    t.write("two", gz(cur()))
    t.succeeds("--state", "s", "one", "-o", "out")
    t.equal(t.succeeds("--state", "s", "two", "-o", "out").err, "")
    t.write("again", gz(cur()))
    result = t.succeeds("--state", "s", "again", "-o", "out")
    t.equal(result.err, "pprofdelta: note: again is the profile that s already has: no counter has "
                        "changed\n")
    t.equal([values[:2] for values in read(t.load("out")).values().values()], [[0, 0]] * 3)


def test_cpu_and_goroutine_profiles_are_named(t):
    for kind, types in (("cpu", ["samples/count", "cpu/nanoseconds"]),
                        ("wall-clock", ["sample/count", "wall/nanoseconds"]),
                        ("goroutine", ["goroutine/count"]), ("thread", ["threadcreate/count"])):
        last = types[-1]
        for name, time in (("a", T0), ("b", T1)):
            t.write(name, gz(profile([(("f",), [7] * len(types))], types=types, time=time,
                                     period_type=last)))
        for args in ((), ("-c", last), ("-c", types[0])):
            result = t.fails(1, "a", "b", *args)
            t.contains(result.err, f"pprofdelta: a: sample_type: this is a {kind} profile ({last}), which "
                                   "is not cumulative", "hint: pprofdelta show PREV CUR")
            t.contains(t.fails(1, "--state", "s", "a", *args).err, f"this is a {kind} profile")
        t.check(not os.path.exists(t.path("s")), "there is a state")
        t.succeeds("a", "b", "-c", last, "--force")
        t.succeeds("show", "a", "b")


def test_a_cumulative_type_beside_one_that_is_not(t):
    for name, time in (("a", T0), ("b", T1)):
        t.write(name, gz(profile([(("f",), [7, 7])], types=["delay/nanoseconds", "cpu/nanoseconds"],
                                 time=time, period_type="cpu/nanoseconds")))
    t.succeeds("a", "b")
    t.contains(t.fails(1, "a", "b", "-c", "cpu").err, "this is a cpu profile")


# ---- live heaps ----------------------------------------------------------------------------------

def live(t, name, values, start, end, tracker, kind="full"):
    stamp = (f"pprofdelta: live epoch=1 seq=1 kind={kind} from={T0 + start * SECOND} "
             f"to={T0 + end * SECOND} id={tracker:016x}")
    t.write(name, gz(profile([(("f", "main"), values)], comments=[stamp], types=HEAP,
                             time=T0 + end * SECOND, duration=(end - start) * SECOND)))


def two_runs(t):
    recorded(t, "live-heap.run-1.pb.gz")
    recorded(t, "live-heap.run-2.pb.gz")
    return "live-heap.run-1.pb.gz", "live-heap.run-2.pb.gz"


REASON = "the stamp of its live heap is of another process or of a later start"


def test_two_runs_of_a_program_are_a_restart(t):
    first, second = two_runs(t)
    all_of_it = read(t.load(second)).values()
    result = t.succeeds(first, second, "--verify")
    t.contains(result.err, f"note: {second}: a restart since {first}: {REASON}")
    t.equal(read(result.out).values(), all_of_it)
    t.contains(" ".join(read(result.out).comments), " restart=live")
    got = json.loads(t.succeeds(first, second, "--report=json", manners=False).err)
    t.equal(got["restart"], {"detected": True, "reason": "live"})
    t.contains(t.fails(3, first, second, "--on-reset=fail").err, "live heap")


def test_two_runs_with_a_state(t):
    first, second = two_runs(t)
    t.equal(t.succeeds("--state", "s", first, "-o", "1").err, "")
    t.contains(t.succeeds("--state", "s", second, "-o", "2").err, REASON)
    t.equal(read(t.load("2")).values(), read(t.load(second)).values())
    t.contains(t.succeeds("--state", "s", "--status").text, "a restart: " + REASON)
    t.equal(json.loads(t.succeeds("--state", "s", "--status=json").text)["restart"], "live")
    t.contains(t.succeeds("sum", "1", "2", "-o", "both").err, "restart")
    t.equal(read(t.load("both")).values()["f;main"][:2],
            [a + b for a, b in zip(read(t.load(first)).values()["f;main"],
                                   read(t.load(second)).values()["f;main"])][:2])


def test_a_later_epoch_of_one_run_is_none(t):
    live(t, "1", [10, 100, 1, 10], 0, 10, 0xab)
    live(t, "2", [15, 150, 2, 20], 0, 30, 0xab)
    result = t.succeeds("1", "2")
    t.equal((result.err, read(result.out).values()), ("", {"f;main": [5, 50, 2, 20]}))
    t.succeeds("--state", "s", "1", "-o", "out")
    t.equal(t.succeeds("--state", "s", "2", "-o", "out").err, "")


def test_a_later_beginning_under_one_id(t):
    live(t, "1", [10, 100, 1, 10], 0, 10, 0xab)
    live(t, "2", [15, 150, 2, 20], 11, 30, 0xab)
    t.contains(t.succeeds("1", "2").err, REASON)
    t.write("unstamped", gz(profile([(("f", "main"), [10, 100, 1, 10])], time=T0 + 10 * SECOND)))
    t.contains(t.succeeds("unstamped", "2").err, REASON)
