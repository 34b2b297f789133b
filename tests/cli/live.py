"""sum of a live heap's profiles: in-use values are changes, and what is missing is noticed. And what
record refuses before it needs the agent."""

import os

from pb import gz, profile, read
from samples import SECOND, T0

TRACKER = "00000000000000ab"


def stamp(seq, kind="delta", epoch=1, since=None, until=None, tracker=TRACKER):
    start = T0 if kind == "full" else T0 + (seq - 1 if since is None else since) * SECOND
    end = T0 + (seq if until is None else until) * SECOND
    return f"pprofdelta: live epoch={epoch} seq={seq} kind={kind} from={start} to={end} id={tracker}"


def batch(t, name, samples, seq, kind="delta", **more):
    """A profile of {function: values}."""
    t.write(name, gz(profile([((f, "main"), values) for f, values in samples.items()],
                             comments=[stamp(seq, kind, **more)], time=T0 + seq * SECOND)))


def summed(result):
    return {stack.split(";")[0]: values for stack, values in read(result.out).values().items()}


def film(t):
    """Four batches of a tracker; c comes and goes within them."""
    batch(t, "1", {"a": [4, 40, 4, 40], "b": [2, 20, 1, 10]}, 1, "full")
    batch(t, "2", {"a": [1, 10, -3, -30], "c": [5, 50, 5, 50]}, 2)
    batch(t, "3", {"c": [0, 0, -5, -50]}, 3)
    batch(t, "4", {"b": [1, 10, 1, 10]}, 4)


SUM = {"a": [5, 50, 1, 10], "b": [3, 30, 2, 20], "c": [5, 50, 0, 0]}


def test_all_values_add_up(t):
    film(t)
    result = t.succeeds("sum", "1", "2", "3", "4")
    t.equal(summed(result), SUM)
    t.equal((result.err, read(result.out).comments), ("", [stamp(4, "full")]))
    t.equal(read(t.succeeds("sum", "1", "2", "--no-stamp").out).comments, [])


def test_two_windows_compare_changes(t):
    """... which show says, of what is in use; of sums it does not."""
    film(t)
    said = ("a window of record has the change in that window; pprofdelta sum of all windows up to "
            "one has what was in use then")
    for files in (("2", "3"), ("1", "2")):
        t.contains(t.succeeds("show", *files).text, f"\nin use    {said}\n")
        for form in ("--folded", "--json"):
            t.equal(t.succeeds("show", *files, form).err, f"pprofdelta: note: in use: {said}\n", form)
    t.succeeds("sum", "1", "2", "-o", "until 2")
    t.lacks(t.succeeds("show", "1", "until 2").text, said)
    t.lacks(t.succeeds("show", "2").text, said)


def test_a_gap_is_noticed(t):
    film(t)
    result = t.fails(1, "sum", "1", "2", "4", "-o", "out")
    t.contains(result.err, "pprofdelta: 2 and 4: batch 3 is missing between them", "hint: a full profile")
    result = t.fails(1, "sum", "1", "4", "-o", "out")
    t.contains(result.err, "batch 2 to batch 3 are missing")
    t.check(not os.path.exists(t.path("out")), "wrote")
    result = t.fails(1, "sum", "1", "2", "4", "3")
    t.equal(result.err, "pprofdelta: 3: is out of order: its batch comes before that of 4\n")
    result = t.succeeds("sum", "1", "2", "4", "--force")
    t.contains(result.err, "note: 4: does not join 2; it was added because of --force")
    t.equal(summed(result)["c"], [5, 50, 5, 50])
    t.equal(read(result.out).comments, [], "what was forced is not continued")


def test_a_full_profile_puts_a_gap_right(t):
    film(t)
    batch(t, "6", {"a": [9, 90, 3, 30]}, 6, "full", epoch=2)
    batch(t, "7", {"a": [1, 10, 1, 10], "d": [1, 10, 1, 10]}, 7, epoch=2)
    result = t.succeeds("sum", "1", "2", "4", "6", "7")
    t.contains(result.err, "note: 6: batches are missing between 2 and 4; this full profile closes")
    t.equal(summed(result), {"a": [10, 100, 4, 40], "d": [1, 10, 1, 10]})
    t.equal(read(result.out).comments, [stamp(7, "full", epoch=2)])
    t.equal(t.succeeds("sum", "1", "2", "4", "6", "7", "-q").err, "")
    t.equal(t.succeeds("sum", "1", "2", "3", "6").err, "", "no delta was left out")
    result = t.fails(1, "sum", "1", "2", "3", "4", "7")
    t.contains(result.err, "the full profile that opened epoch 2 is missing")
    t.contains(t.fails(1, "sum", "6", "1").err, "comes after batch 6 (epoch 2)")
    t.contains(t.fails(1, "sum", "6", "4").err, "comes after batch 6 (epoch 2)")


def test_windows_have_what_is_in_use(t):
    film(t)
    batch(t, "w2", {"a": [1, 10, 1, 10], "b": [0, 0, 1, 10], "c": [5, 50, 5, 50]}, 2, "window")
    batch(t, "w3", {"a": [0, 0, 1, 10], "b": [0, 0, 1, 10]}, 3, "window")
    t.equal(summed(t.succeeds("sum", "1", "w2", "w3", "4")), SUM)
    t.equal(summed(t.succeeds("sum", "1", "2", "w3", "4")), SUM)
    result = t.succeeds("sum", "w2", "w3")
    t.equal(summed(result), {"a": [1, 10, 1, 10], "b": [0, 0, 1, 10], "c": [5, 50, 0, 0]})
    t.equal(read(result.out).comments,
            [stamp(3, "window", since=1).replace(" from", " first=2 from")])


def test_record_takes_only_signals_that_can_ask(t):
    """A name may have SIG before it, in either case."""
    for value, why in (
            *((value, "cannot ask") for value in ("0", "65", "999", "6", "9", "11", "13", "15", "17", "18", "19", "20", "23", "31", "32", "33")),
            *((value, "must be") for value in ("KILL", "sigstop", "SIGABRT", "INT", "PIPE", "CHLD")),
            ("-1", "must be"), ("", "must be"), ("FOO", "must be"), ("SIG", "must be"),
            ("SIGSIGUSR1", "must be"), ("10x", "must be"), ("1e1", "must be"), ("0010", "must be"),
            ("12345678901", "must be"), ("NONE", "must be"), ("SIGnone", "must be"),
            ("RTMIN-1", "must be"), ("RTMIN+", "must be"), ("RTMIN+31", "must be"),
            ("RTMIN+999", "must be"), ("RTMAX+1", "must be"), ("RTMAX-31", "must be"),
            ("USR1 ", "must be")):
        result = t.fails(125, "record", f"--signal={value}", "true")
        t.contains(result.err, f"pprofdelta: --signal={value}: ", why, "try pprofdelta record --help")


def test_record_fails_as_env_does(t):
    """125 where record itself fails: whatever its line has, and COMMAND is not run."""
    for args in ([], ["--what", "true"], ["-o", "", "true"], ["--interval=0", "true"], ["--interval=x", "true"],
                 ["--rate=0", "true"], ["--rate=1000000T", "true"], ["--threshold=many", "true"],
                 *([f"--threshold={share}", "true"] for share in ("0%", "101%", "80 %", "%", "0080%", "-1%")),
                 ["--timeout=never", "true"], ["--timeout=1s", "true"], ["--timeout=25h", "--to=x", "true"]):
        t.contains(t.fails(125, "record", *args).err, "try pprofdelta record --help")


def test_recover_that_failed_does_not_say_that_nothing_was_killed(t):
    t.equal(t.fails(1, "recover", "nowhere").err, "pprofdelta: nowhere: cannot open: No such file or directory\n")
    t.contains(t.succeeds("recover", ".").err, "nothing to recover")
