"""pprofdelta check: good files on stdout, bad ones on stderr with their place."""

from pb import gz, profile, read
from samples import cur, pair

GOOD = "ok: {}, {} bytes{}, 4 types, 3 samples, 1 mapping, 4 locations, 4 functions, "


def test_a_valid_file(t):
    t.write("a.pb", cur())
    t.write("b.pb.gz", gz(cur()))
    result = t.succeeds("check", "a.pb", "b.pb.gz")
    lines = result.text.splitlines()
    t.check(lines[0].startswith("a.pb: " + GOOD.format("plain", len(cur()), "")), lines[0])
    t.check(lines[1].startswith("b.pb.gz: " + GOOD.format("gzip", len(cur()), " inflated")), lines[1])
    t.check(lines[0].endswith(" strings, binary app"), lines[0])
    t.write("c.pb", cur(build_id="5d4c\x1b\x000f"))
    t.check(t.succeeds("check", "c.pb").text.endswith(" strings, binary app, build id 5d4c\\x1b\\x000f\n"),
            "the build id")
    t.write("d.pb", cur(filename="", build_id="5d4c"))
    t.check(t.succeeds("check", "d.pb").text.endswith(" strings, build id 5d4c\n"), "no file")
    t.equal((len(lines), result.err), (2, ""))


def test_one_of_each_from_stdin(t):
    result = t.succeeds("check", "-", stdin=gz(profile([(("f",), [1])], types=["x/count"], extra=b"\xa8\x06\x01")))
    t.check(result.text.startswith("(stdin): ok: gzip"), result.text)
    t.contains(result.text, "1 type, 1 sample, 1 mapping, 1 location, 1 function, ", "1 unknown field")
    t.contains(t.fails(1, "check", "-", stdin=b"\xff").err, "pprofdelta: (stdin): ")


def test_a_bad_file_does_not_stop_the_others(t):
    t.write("good", cur())
    t.write("bad", cur() + b"\x0a")
    t.write("crc", gz(cur())[:-8] + b"\0\0\0\0" + gz(cur())[-4:])
    result = t.fails(1, "check", "good", "bad", "nowhere", "crc", "good")
    t.equal([line.split(":")[0] for line in result.text.splitlines()], ["good", "good"])
    errors = [line for line in result.err.splitlines() if "hint" not in line]
    t.equal([line.split(": ")[1] for line in errors], ["bad", "nowhere", "crc"])
    t.contains(errors[0], "(at byte ", " of the uncompressed file)")
    t.contains(errors[1], "cannot open: No such file or directory")
    t.contains(errors[2], "(at byte ", " of the compressed file)")


def test_lines_come_in_order_in_one_file(t):
    t.write("good", cur())
    t.write("bad", b"\xff")
    with open(t.path("log"), "wb") as log:
        t.run("check", "good", "bad", "good", "bad", stdout=log, stderr=log, manners=False)
    order = ["bad" if b"pprofdelta: " in line else "good" for line in t.load("log").splitlines()]
    t.equal(order, ["good", "bad", "good", "bad"])


def test_quiet(t):
    t.write("good", cur())
    t.write("bad", b"\xff")
    result = t.succeeds("check", "-q", "good", "good")
    t.equal((result.out, result.err), (b"", ""))
    result = t.fails(1, "check", "good", "bad", "--quiet")
    t.equal((result.out, result.err[:17]), (b"", "pprofdelta: bad: "))


def test_a_delta_is_valid_and_said_to_be_one(t):
    before, after = pair(t)
    t.write("d", t.succeeds(before, after).out)
    result = t.succeeds("check", "d")
    t.check(result.text.endswith(", a delta\n"), result.text)
    t.write("d", t.succeeds(before, after, "--no-stamp").out)
    t.lacks(t.succeeds("check", "d").text, "delta\n")


def test_a_negative_duration_is_none_of_ours(t):
    """Every stamp that is written is one of a time that passed. What others write is not judged."""
    stamps = ["pprofdelta: delta from=20 to=10", "pprofdelta: delta from=20 to=10 seq=2 attempt=1",
              *[f"pprofdelta: live epoch=1 seq=1 attempt=1 kind={kind} from=20 to=10 id=1" for kind in
                ("full", "delta", "window")]]
    for stamp in stamps:
        for duration, says in ((-10, "p: duration_nanos: -10 is negative, in a profile with a stamp"), (0, ""), (10, "")):
            t.write("p", profile([], time=10, duration=duration, comments=[stamp]))
            t.contains(t.fails(1 if says else 0, "check", "p").err, says)
    t.write("p", profile([], time=10, duration=-10))
    t.succeeds("check", "p")
    t.succeeds("--state", "s", "p", "-q", "-o", "first")
    t.contains(t.succeeds("check", "first").text, "a delta")
    t.equal(read(t.load("first")).duration, 0)
