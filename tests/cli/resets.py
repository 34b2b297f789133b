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


def test_several_are_counted(t):
    before = [(("a",), [100, 1000]), (("b",), [10, 100]), (("c",), [10, 100])]
    after = [(("a",), [120, 1200]), (("b",), [9, 90]), (("c",), [9, 100])]
    got, err = values(t, (before, after))
    t.equal(got, {"a": [20, 200]})
    t.contains(err, "2 samples went backwards since prev.pb.gz and were clamped to zero")


def test_half_gone_is_a_restart(t):
    got, err = values(t, GONE)
    t.equal(got, {"a": [20, 200], "b": [1, 10]})
    t.equal(err, "pprofdelta: note: cur.pb.gz: a restart since prev.pb.gz: at least half of the "
                 "value of a counter is gone; the delta counts from zero\n")


def test_exactly_half_is_a_restart_and_less_is_not(t):
    got, err = values(t, ([(("a",), [100, 1000])], [(("a",), [50, 1000])]))
    t.contains(err, "a restart")
    t.equal(got, {"a": [50, 1000]})
    got, err = values(t, ([(("a",), [100, 1000])], [(("a",), [51, 1000])]))
    t.contains(err, "clamped")
    t.equal(got, {})


def test_vanished_samples_count_as_gone(t):
    got, err = values(t, ([(("a",), [50, 500]), (("b",), [50, 500])], [(("a",), [60, 600])]))
    t.contains(err, "a restart")
    t.equal(got, {"a": [60, 600]})
    got, err = values(t, ([(("a",), [51, 510]), (("b",), [49, 490])], [(("a",), [60, 600])]))
    t.equal(err, "")
    t.equal(got, {"a": [9, 90]})


def write(t, name, samples, time, **kwargs):
    t.write(name, profile(samples, types=COUNTERS, time=time, **kwargs))
    return name


def test_another_build_in_another_place_is_a_restart(t):
    t.write("prev", prev(build_id="one"))
    t.write("cur", cur(build_id="two", start=0x55d000000000))
    result = t.succeeds("prev", "cur")
    t.contains(result.err, "note: cur: a restart since prev: the main binary has another build id")
    t.equal(read(result.out).values()["work;main"], [15, 1600, 2, 250])


def test_another_build_in_the_same_place_is_a_restart_if_the_counters_say_so(t):
    write(t, "prev", GONE[0], T0, build_id="one")
    write(t, "cur", GONE[1], T1, build_id="two")
    result = t.succeeds("prev", "cur")
    t.contains(result.err, "note: cur: a restart since prev: the main binary has another build id")
    t.equal(read(result.out).values(), {"a": [20, 200], "b": [1, 10]})


# ---- the file of a living process ---------------------------------------------------------------

BEFORE = [(("a",), [100, 1000]), (("b",), [10, 100])]
AFTER = [(("a",), [120, 1200]), (("b",), [10, 100]), (("c",), [1, 10])]
GREW = {"a": [20, 200], "c": [1, 10]}
# What Go says of the binary after the file was replaced, removed, renamed, or lost its build id.
OTHERS = [{"build_id": "two", "filename": "app"}, {"build_id": "", "filename": "app"},
          {"build_id": "", "filename": "app (deleted)"}, {"build_id": "one", "filename": "app.old"},
          {"build_id": "two", "filename": "app.old"}, {"build_id": "", "filename": ""}]
SAME = "counts as the same"


def test_a_replaced_file_is_no_restart(t):
    write(t, "prev", BEFORE, T0, build_id="one")
    for names in OTHERS:
        result = t.succeeds("prev", write(t, "cur", AFTER, T1, **names))
        t.equal(read(result.out).values(), GREW)
        t.lacks(result.err, "restart")
        replaced = names["build_id"] != "one" # which is all that counts, where there is one
        t.equal(result.err, "pprofdelta: note: cur: the files of 1 mapping were replaced, renamed or "
                "removed since prev; the process counts as the same\n" if replaced else "")


def test_a_state_goes_on_under_every_name_of_the_file(t):
    order = [{"build_id": "one"}, *OTHERS, {"build_id": "one"}, {"build_id": "two"}]
    for n, names in enumerate(order):
        name = write(t, f"look.{n}", [(("a",), [100 + 7 * n, 1000]), (("b",), [50, 500 + n])],
                     T0 + n, **names)
        result = t.succeeds("--state", "s", name)
        if n:
            t.equal(read(result.out).values(), {"a": [7, 0], "b": [0, 1]})
            t.lacks(result.err, "restart")
    # The counters of the last name are those of the first: a restart is still one.
    gone = write(t, "gone", [(("a",), [3, 30])], T0 + 100, build_id="three")
    result = t.succeeds("--state", "s", gone)
    t.contains(result.err, "a restart since s: the main binary has another build id")
    t.equal(read(result.out).values(), {"a": [3, 30]})
    moved = write(t, "moved", [(("a",), [4, 40])], T0 + 101, build_id="three", start=0x55d000000000)
    t.equal(read(t.succeeds("--state", "s", moved).out).values(), {"a": [1, 10]})


def test_a_restart_of_the_same_build_is_found_by_the_counters(t):
    write(t, "prev", BEFORE, T0, build_id="one")
    for start in (0x400000, 0x55d000000000):
        write(t, "on", AFTER, T1, build_id="one", start=start)
        result = t.succeeds("prev", "on")
        t.equal((read(result.out).values(), result.err), (GREW, ""))
        result = t.succeeds("prev", write(t, "anew", [(("a",), [2, 20])], T1, build_id="one",
                                          start=start))
        t.contains(result.err, "a restart since prev: at least half")


def test_clamp_says_that_a_file_was_replaced(t):
    write(t, "prev", BEFORE, T0, build_id="one")
    write(t, "cur", AFTER, T1, build_id="two")
    result = t.succeeds("prev", "cur", "--on-reset=clamp")
    t.equal(read(result.out).values(), GREW)
    t.contains(result.err, SAME)
    write(t, "cur", AFTER, T1, build_id="two", start=0x55d000000000)
    result = t.succeeds("prev", "cur", "--on-reset=clamp")
    t.equal(read(result.out).values(), {"a": [120, 1200], "b": [10, 100], "c": [1, 10]})
    t.contains(result.err, "the main binary has another build id than in prev; the process " + SAME)


def test_a_replaced_file_with_every_other_way(t):
    write(t, "prev", BEFORE, T0, build_id="one")
    write(t, "cur", AFTER, T1, build_id="two")
    for on_reset in ("restart", "fail"):
        result = t.succeeds("prev", "cur", f"--on-reset={on_reset}", "--verify")
        t.equal(read(result.out).values(), GREW)
    # Negative is google/pprof's way, which knows a mapping by its build id alone.
    result = t.succeeds("prev", "cur", "--on-reset=negative")
    t.contains(result.err, SAME)
    start = f"--started=@{T0 // 10**9 + 1}"
    t.contains(t.succeeds("prev", "cur", start).err, "the program started after")


def test_sums_go_on_under_another_name(t):
    write(t, "a", BEFORE, T0, build_id="one")
    write(t, "b", AFTER, T1, build_id="two")
    t.succeeds("a", "b", "-o", "delta")
    result = t.succeeds("sum", "a", "delta")
    t.equal(read(result.out).values(), {"a": [120, 1200], "b": [10, 100], "c": [1, 10]})
    deltas = []
    for n, names in enumerate([{"build_id": "one"}, *OTHERS, {"build_id": "one"}]):
        look = write(t, "look", [(("a",), [100 + 7 * n, 1000]), (("b",), [50, 500 + n])], T0 + n, **names)
        t.succeeds("--state", "s", look, "-o", f"delta.{n}")
        deltas.append(f"delta.{n}")
        result = t.succeeds("sum", *deltas)
        t.equal(read(result.out).values(), {"a": [100 + 7 * n, 1000], "b": [50, 500 + n]})
        t.equal(len(read(result.out).samples), 2)


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


def test_fail_refuses_every_restart(t):
    t.write("prev", prev(build_id="one"))
    t.write("cur", cur(build_id="two", start=0x55d000000000))
    t.fails(3, "prev", "cur", "--on-reset=fail")
    t.write("cur", cur(build_id="one"))
    t.fails(3, "prev", "cur", "--on-reset=fail", f"--started=@{T0 // 10**9 + 1}")


def test_quiet_says_nothing(t):
    for pair_of in (LONE, GONE):
        for quiet in ("-q", "--quiet"):
            t.equal(values(t, pair_of, quiet)[1], "")


def test_quiet_errors_are_said(t):
    before, after = two(t, *LONE)
    t.check(t.fails(3, before, after, "--on-reset=fail", "-q").err, "said nothing")
    t.check(t.fails(1, before, "nowhere", "-q").err, "said nothing")


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


def test_a_deploy_is_no_other_service(t):
    """Another folder, another version, and a name that changed below a living process."""
    for at, (filename, start) in enumerate((("/releases/42/orders", 0x700000), ("/releases/41/orders-1.3", 0x700000))):
        one = service(t, "one", 100, T0, "/releases/41/orders", "o-41")
        two_ = service(t, "two", 5, T1, filename, "o-42", start=start)
        t.contains(t.succeeds("--state", f"s{at}", one, "-o", "1").err + t.succeeds(
            "--state", f"s{at}", two_, "-o", "2").err, "a restart")
    one = service(t, "one", 100, T0, "/srv/orders", "o-41")
    two_ = service(t, "two", 105, T1, "/srv/renamed", "r-1")
    t.equal(read(t.succeeds(one, two_).out).values(), {"main": [5, 50]})
