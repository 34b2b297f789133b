"""sum: the inverse of all windows, and what is said where they do not join."""

import os

from pb import gz, profile, read
from samples import MINUTE, T0


def film(t, windows=6, reborn=None):
    """Looks at a process that allocates, and the deltas that a state made of them: look.N and
    delta.N, from 1 on. Before look `reborn`, the process starts anew."""
    born = 0
    for n in range(1, windows + 1):
        if n == reborn:
            born = n - 1
        age = n - born
        samples = [((f"f{i}", "main"), [age * i, age * i * 10, age % 3, i % 2])
                   for i in range(1, 2 + age)]
        t.write(f"look.{n}", gz(profile(samples, time=T0 + n * MINUTE)))
        t.succeeds("--state", "s", f"look.{n}", "-o", f"delta.{n}", "-q")


def deltas(first, last):
    return [f"delta.{n}" for n in range(first, last + 1)]


def test_the_sum_of_all_is_the_last_look(t):
    film(t)
    for n in range(1, 7):
        result = t.succeeds("sum", *deltas(1, n))
        t.equal(read(result.out).something(), read(t.load(f"look.{n}")).something(), f"{n} windows")
        t.equal(result.err, "")
        got = read(result.out)
        t.equal((got.time, got.duration, got.comments), (T0 + n * MINUTE, 0, []))


def test_what_does_not_join_is_named(t):
    """The files, the times and what to do. adder_test.c has every way not to join."""
    film(t)
    for files, *words in (
            ("delta.1 delta.2 delta.4", "pprofdelta: delta.2 and delta.4: window 3 is missing between them",
             "hint: give the files of all windows in their order; --force adds them as they are"),
            ("look.3 delta.2", "they overlap: the first ends at 2023-11-14T22:16:20Z and the second begins at "
                               "2023-11-14T22:14:20Z"),
            ("look.1 look.2", "is not a delta that pprofdelta wrote: it has no stamp", "hint: --force")):
        result = t.fails(1, "sum", *files.split(), "-o", "out")
        t.contains(result.err, *words)
        t.lacks(result.err, "00000000")
        t.check(not os.path.exists(t.path("out")), "wrote")
    result = t.fails(1, "look.2", "look.1")
    t.contains(result.err, "cur is older than prev (2023-11-14T22:14:20Z is before 2023-11-14T22:15:20Z)")
    result = t.succeeds("sum", "look.1", "look.2", "--force")
    t.contains(result.err, "note: look.2: does not join look.1; it was added because of --force")
    t.equal(read(result.out).values()["f1;main"], [3, 30, 2, 1])


def test_of_equal_sequence_the_highest_attempt_counts(t):
    film(t, 2)
    for n, f1 in ((3, 7), (4, 8)):
        samples = [((name, "main"), [made, 10 * made, 0, 0]) for name, made in (("f1", f1), ("f2", 9), ("f3", 9))]
        t.write(f"look.{n}", gz(profile(samples, time=T0 + n * MINUTE)))
    t.fails(4, "--state", "s", "look.3", "--", "sh", "-c", "cat >delta.3; exit 1", manners=False)
    t.succeeds("--state", "s", "look.4", "-o", "again.3")
    for files, said in (
            ("delta.1 delta.2 delta.3 again.3", "again.3: is the same window as delta.3, sent again; this one counts"),
            ("delta.1 delta.2 again.3 delta.3", "delta.3: is an earlier attempt at the same window as again.3"),
            ("delta.1 delta.1 delta.2 again.3",
             "delta.1: is the same attempt at the same window as delta.1; it does not count")):
        result = t.succeeds("sum", *files.split())
        t.contains(result.err, "note: " + said)
        t.equal(read(result.out).something(), read(t.load("look.4")).something())
        t.equal(t.succeeds("sum", *files.split(), "-q").err, "")


def test_what_many_files_have_in_common_is_one_note(t):
    film(t, 5)
    files = [name for name in deltas(1, 5) for _ in range(8)]
    result = t.succeeds("sum", *files, "-o", "out")
    t.equal(result.err, "pprofdelta: note: delta.1: is the same attempt at the same window as delta.1; it does not count; "
            "the same is true of 34 other files\n")


def test_a_restart_begins_a_life(t):
    film(t, 7, reborn=5)
    t.equal(read(t.succeeds("sum", *deltas(1, 4)).out).something(), read(t.load("look.4")).something())
    t.equal(read(t.succeeds("sum", *deltas(5, 7)).out).something(), read(t.load("look.7")).something())
    result = t.succeeds("sum", *deltas(1, 7))
    t.contains(result.err, "note: delta.5: the program restarted before this window")
    both = read(t.load("look.4")).something()
    for stack, values in read(t.load("look.7")).something().items():
        old = both.get(stack, [0, 0, 0, 0])
        both[stack] = [old[0] + values[0], old[1] + values[1], values[2], values[3]]
    last = read(t.load("look.7")).something()
    t.equal({s: v[:2] for s, v in read(result.out).something().items()}, {s: v[:2] for s, v in both.items()})
    t.equal({s: v[2:] for s, v in read(result.out).something().items() if any(v[2:])},
            {s: v[2:] for s, v in last.items() if any(v[2:])}, "gauges are the last one's")


def test_outputs(t):
    film(t, 3)
    t.succeeds("sum", *deltas(1, 3), "-o", "out", "--compress=none", "-9")
    t.equal(t.load("out")[:1], b"\x0a")
    t.equal(read(t.load("out")).something(), read(t.load("look.3")).something())
    t.equal(read(t.succeeds("sum", "-", "delta.2", "delta.3", stdin=t.load("delta.1")).out).something(),
            read(t.load("look.3")).something())
    t.equal(t.succeeds("sum", *deltas(1, 3)).out, t.succeeds("sum", *deltas(1, 3)).out, "equal bytes")
    t.write("bad", b"\xff\xff")
    for args in (("delta.1", "bad"), ("bad",), ("delta.1", "nowhere"), ("delta.1", "s")):
        t.fails(1, "sum", *args, "-o", "out 2")
        t.check(not os.path.exists(t.path("out 2")), "wrote")
    t.equal(t.litter(), [])


def test_a_directory(t):
    """What is no profile, or a link, is left out with a note."""
    film(t, 3)
    os.mkdir(t.path("dir"))
    t.write("dir/2a.pb.gz", b"no profile\n")
    os.symlink("1.pb.gz", t.path("dir/4.pb.gz"))
    result = t.run("sum", "dir", "-o", "out")
    t.equal((result.code, result.err.splitlines()[-1]), (1, "pprofdelta: dir: no file in it is a profile"))
    for n in range(1, 4):
        os.rename(t.path(f"delta.{n}"), t.path(f"dir/{n}.pb.gz"))
    result = t.succeeds("sum", "dir", "-o", "out")
    t.equal(read(t.load("out")).something(), read(t.load("look.3")).something())
    t.equal(result.err.count("it is left out"), 2, result.err)


def test_looks_that_have_no_time(t):
    names = []
    for n in range(1, 4):
        names.append(t.write(f"look.{n}", gz(profile([(("f", "main"), [n, 10 * n, 1, n])], time=0))))
        t.succeeds("--state", "s", names[-1], "-o", f"delta.{n}")
    t.succeeds("look.1", "look.2", "-o", "by hand")
    result = t.succeeds("sum", "look.1", "by hand")
    t.contains(result.err, "note: by hand: neither this file nor look.1 has a time")
    t.equal(read(result.out).something(), read(t.load("look.2")).something())
    result = t.succeeds("sum", *deltas(1, 3))
    t.equal((read(result.out).something(), result.err), (read(t.load("look.3")).something(), ""))
    t.contains(t.fails(1, "sum", "delta.1", "delta.3").err, "window 2 is missing")
