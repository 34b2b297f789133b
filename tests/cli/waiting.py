"""--for in --help, and windows that had to wait: older than the receiver takes, or than --max-age."""

import json
import os
import re
import time

from pb import Request, gz, inflate, profile, read
from samples import CUR, PREV, SECOND
from uploading import sh
from windows import status, window_of

HOUR = 3600
VERBS = ("", "sum", "merge", "record", "recover", "check")
MAN = os.path.join(os.path.dirname(__file__), "../../man/pprofdelta.1")


# ---- what each name sets -----------------------------------------------------------------------------

def test_help_and_the_manual_have_what_each_name_sets(t):
    with open(MAN, encoding="utf-8") as file:
        manual = [line.replace("\\", "").split() for line in file]
    for verb in VERBS:
        text = t.succeeds(*([verb] if verb else []), "--help").text
        rows = dict(re.findall(r" {2,}(\w+): ([\w, -]+?)(?= {3,}|\n)", text[text.index("--for="):]))
        t.equal(sorted(rows), ["otel", "parca", "pprof", "pyroscope"], verb)
        for word, row in rows.items():
            sets, *age = row.split(", at most ")
            t.check([word, *sets.split(", "), "absolute", *(age or ["any"])[0].split()[:1]] in manual, f"{verb}: {word}: {row}")
            t.contains(t.succeeds("sum", "--help").text, f"{word}: {row}")


def test_what_help_says_is_what_is_written(t):
    look = t.write("look", gz(at(time.time(), PREV))) and "look"
    for word, form, in re.findall(r"(\w+): ([\w-]+), gzip", t.succeeds("sum", "--help").text):
        for state, options in (("a", [f"--for={word}"]), ("b", [f"--format={form}", "--compress=gzip"])):
            t.succeeds("sum", look, "-q", *options, "-o", state)
        t.equal(t.load("a"), t.load("b"), word)


# ---- windows that had to wait --------------------------------------------------------------------------

def at(seconds, samples):
    return profile(samples, time=int(seconds) * SECOND)


def look(t, name, hours_ago, samples):
    """A profile, and the file that it is in."""
    t.write(name, gz(at(time.time() - hours_ago * HOUR, samples)))
    return name


SEND = sh("cat >got; exit $CODE")


def send(t, name, code, *options, state="s"):
    ran = t.run("--state", state, name, *options, *SEND, env={"CODE": str(code), "OTEL_SERVICE_NAME": "", "OTEL_RESOURCE_ATTRIBUTES": ""},
                manners="--report=json" not in options)
    t.equal(ran.code, 4 if code else 0, ran.err)
    return ran


def test_a_window_that_waited_26_hours_arrives(t):
    """It ends now, whatever it is written for, so that no receiver takes it for an old one."""
    for receiver in "pyroscope", "parca", "pprof":
        state = "s." + receiver
        t.succeeds("--state", state, look(t, "one", 27, PREV), "-q", f"--for={receiver}", "-o", "out")
        for hours in 26, 13, 1.01:
            ran = send(t, look(t, "two", hours, CUR), 22, f"--for={receiver}", "-q", state=state)
        ran = send(t, look(t, "two", 0, CUR), 0, f"--for={receiver}", state=state)
        t.equal(ran.err, "", receiver)
        got = t.load("got")
        t.check(t.run("check", "-q", f"--for={receiver}", "got").code == 0, receiver)
        ends = read(got).time if receiver == "pprof" else Request(inflate(got)).time
        t.check(time.time() - ends / SECOND < 600, f"{receiver}: {ends}")
        t.equal(status(t, state)["attempts"], 0)


def test_a_window_that_is_too_old_is_told_once(t):
    """... and sent as it is. A later attempt at it says nothing more; another one does."""
    old = look(t, "old", 2, CUR)
    t.succeeds("--state", "s", look(t, "one", 3, PREV), "-q", "-o", "out")
    said = send(t, old, 22, "--for=pyroscope").err
    t.contains(said, "s: the time of the window is 2.00h ago, and Pyroscope takes 1.00h by default", "sent as it is", "--max-age=60m")
    t.contains(t.fails(1, "check", "-q", "--for=pyroscope", "got").err, "its time is 2.00h ago, and 1.00h is taken by default")
    t.equal(window_of_request(t), ("2", "1"))
    t.check("the time of the window" not in send(t, old, 22, "--for=pyroscope").err, "it is told again")
    t.check("the time of the window" not in send(t, old, 22, "--for=parca").err, "Parca has no limit")
    t.equal(send(t, old, 22, "--for=pyroscope", "-q").err.count("the time of"), 0)
    send(t, old, 0, "--for=pyroscope")
    t.contains(send(t, look(t, "older", 1.9, [CUR[0]] + [(s, [v + 9 for v in w]) for s, w in CUR[1:]]), 0, "--for=pyroscope").err,
               "the time of the window is")


def test_it_is_told_when_it_becomes_too_old(t):
    """An attempt was made in time, and failed. The next one, with the same profile, comes too late."""
    t.succeeds("--state", "s", look(t, "one", 3, PREV), "-q", "-o", "out")
    old = look(t, "old", 2, CUR)
    send(t, old, 22, "--for=pyroscope", "-q")
    in_time = time.time() - 1.5 * HOUR
    os.utime(t.path("s"), (in_time, in_time))  # when the attempt was made
    t.contains(send(t, old, 22, "--for=pyroscope").err, "the time of the window is")
    t.check("the time of the window" not in send(t, old, 22, "--for=pyroscope").err, "it is told again")


def window_of_request(t):
    found = re.search(rb"pprofdelta: delta [^\0]*? seq=(\d+) attempt=(\d+)", inflate(t.load("got")))
    return tuple(one.decode() for one in found.groups())


def test_above_max_age_it_is_lost_and_the_state_goes_on(t):
    """It is not sent, whatever the receiver would take. The next window begins where it ended, and a sum misses one."""
    grown = [(stack, [value + 5 for value in values]) for stack, values in CUR]
    t.succeeds("--state", "s", look(t, "one", 40, PREV), "-q", "-o", "w.1")
    old = look(t, "old", 26, CUR)
    send(t, old, 22, "--for=pyroscope", "-q")
    os.unlink(t.path("got"))
    ran = send(t, old, 0, "--for=pyroscope", "--max-age=1d", "--report=json", "-q")
    said, report = ran.err.strip().split("\n")
    t.contains(said, "pprofdelta: s: the time of the window is 1.08d ago, and --max-age is 1.00d: ", "counts as lost")
    t.equal((json.loads(report)["lost"], json.loads(report)["sequence"]), (True, 2))
    t.check(not os.path.exists(t.path("got")), "it was sent")
    now = status(t)
    t.equal((now["sequence"], now["attempts"], now["open"]), (2, 0, None))
    ran = send(t, look(t, "new", 0, grown), 0, "--max-age=1d", "--report=json", "--for=pprof")
    t.equal(json.loads(ran.err)["lost"], False)
    t.equal((window_of(t, t.load("got"))["seq"], len(read(t.load("got")).samples)), ("3", 3))
    t.contains(t.fails(1, "sum", "w.1", "got").err, "missing")
    t.contains(t.run("--state", "t", old, "--max-age=1h", "--report", *SEND, manners=False).err, "lost      all of it")


def test_with_otlp_plain_the_beginning_counts(t):
    """Such a window only grows older: its beginning is 26 hours ago in every later attempt, and --max-age ends that."""
    plain = ("--for=pyroscope", "--format=otlp-plain")
    t.succeeds("--state", "s", look(t, "one", 26, PREV), "-q", "-o", "out")
    new = look(t, "new", 0, CUR)
    t.contains(send(t, new, 22, *plain).err, "s: the time of the window is 1.08d ago")
    t.equal(t.run("check", "-q", "--for=pyroscope", "got").code, 1)
    send(t, new, 22, *plain)
    t.contains(send(t, new, 0, *plain, "--max-age=1h").err, "counts as lost")
    t.equal(status(t)["attempts"], 0)


def test_a_time_that_is_not_known_is_not_old(t):
    t.write("one", gz(profile(PREV)))
    t.write("two", gz(profile(CUR)))
    for name in "one", "two":
        t.equal(send(t, name, 0, "--for=pyroscope", "--max-age=1s").err.count("the time of"), 0)


def test_max_age_is_for_what_is_sent(t):
    one, two = look(t, "one", 1, PREV), look(t, "two", 0, CUR)
    t.contains(t.fails(2, one, two, "--max-age=1h").err, "--max-age needs --state FILE")
    t.contains(t.fails(2, "--state", "s", two, "-o", "out", "--max-age=1h").err, "--max-age is for UPLOADER, which is missing")
    t.contains(t.fails(2, "--state", "s", two, "--max-age=x", *SEND).err, "--max-age=x: must be")
    t.contains(t.fails(2, "recover", ".", "--max-age=1h").err, "--max-age is for the command of --to, which is missing")
    t.contains(t.fails(125, "record", "--max-age=1h", "--", "true").err, "--max-age is for the command of --to, which is missing")
