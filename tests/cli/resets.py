"""Counters that went backwards: every way to treat them, and what is said about it."""

from pb import read
from samples import T0, cur, pair, prev, two

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
    t.equal(err, "pprofdelta: note: cur.pb.gz: a restart since prev.pb.gz: at least half of what a "
                 "counter had counted is gone; the delta counts from zero\n")


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


def test_another_build_is_a_restart(t):
    t.write("prev", prev(build_id="one"))
    t.write("cur", cur(build_id="two"))
    result = t.succeeds("prev", "cur")
    t.contains(result.err, "note: cur: a restart since prev: the main binary has another build id")
    t.equal(read(result.out).values()["work;main"], [15, 1600, 2, 250])


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
    t.write("cur", cur(build_id="two"))
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
