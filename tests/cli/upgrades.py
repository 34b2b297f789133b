"""What each release wrote, in the hands of this version: testdata/releases/VERSION has states, windows, a recorded profile, the live
file of a killed process and a table. Each verb goes on with them as with its own, or refuses them by a message that says what
they are."""

import gzip
import os
import re

from samples import TESTDATA

RELEASES = os.path.join(TESTDATA, "releases")
TWO = os.path.join(TESTDATA, "valid", "heap.2.pb.gz")
LIVE, STATE, TABLE = "heap.pages.7.live", "state.committed", "samples.arrow"

# What no verb takes for a profile, and what is said of it.
NO_PROFILES = {STATE: "this is a state that pprofdelta wrote, not a profile", TABLE: "Arrow",
               LIVE: "this is the live file of a recorded process, and pprofdelta recover DIR makes a profile of it"}
READERS = [["check"], ["show"], ["sum"], ["merge"], ["symbolize"], ["export", "-o", "never"], ["leaks"], [TWO]]


def each_release(t):
    """Copies what a release wrote into the folder of the test, one release after the other."""
    found = sorted(os.listdir(RELEASES))
    t.check(found, "there is a release")
    for release in found:
        for name in os.listdir(os.path.join(RELEASES, release)):
            with open(os.path.join(RELEASES, release, name), "rb") as file:
                t.write(name, file.read())
        with gzip.open(t.path("live.gz")) as file, open(t.path(LIVE), "wb") as to:
            while piece := file.read(1 << 20):  # most of it is a hole
                if piece.strip(b"\0"):
                    to.write(piece)
                else:
                    to.seek(len(piece), os.SEEK_CUR)
            to.truncate()
        os.chmod(t.path(LIVE), 0o600)
        yield release


def folded(t, *names):
    return sorted(t.succeeds("show", "--folded", *names).text.splitlines())


def stamp(t, name):
    return re.search(r'"pprofdelta: (.*)"', t.succeeds("show", "--raw", name).text)[1]


def test_states_go_on(t):
    for _ in each_release(t):
        t.contains(t.succeeds("--status", "state.committed", "state.open").text, "state.open")
        for state, attempt in (("state.committed", 1), ("state.open", 2)):
            t.equal(t.succeeds("--state", state, TWO, "-o", "next", "-q").err, "")
            t.equal(folded(t, "next"), folded(t, "window.2.pb.gz"))
            before, after = stamp(t, "window.2.pb.gz"), stamp(t, "next")
            t.equal(after.split()[3:5], ["seq=2", f"attempt={attempt}"])
            t.equal(after.split()[-1], before.split()[-1], "the same window has the same id")


def test_windows_are_read(t):
    for _ in each_release(t):
        whole = folded(t, TWO)
        for last in ("window.2.pb.gz", "window.2.otlp.gz"):
            t.contains(t.succeeds("check", last).text, "ok")
            t.succeeds("sum", "window.1.pb.gz", last, "-q", "-o", "sum")
            t.equal(folded(t, "sum"), whole)
            t.succeeds("merge", "window.1.pb.gz", last, "-q", "-o", "merged")
            t.equal(folded(t, "merged"), whole)
            t.succeeds("symbolize", last, "-q", "-o", "symbolized")
            t.equal(folded(t, "symbolized"), folded(t, last))
            t.succeeds("export", "window.1.pb.gz", last, "-q", "-o", f"tables of {last}")
            t.contains(t.fails(1, "--state", "new", last).err, "this is already a delta that pprofdelta wrote")
        t.contains(t.succeeds("leaks", "window.1.pb.gz", "window.2.pb.gz").text, "too few")


def test_a_process_that_an_agent_of_then_recorded(t):
    for release in each_release(t):
        os.mkdir(t.path(release))
        os.rename(t.path("recorded.pb.gz"), t.path(f"{release}/heap.pages.7.000001.pb.gz"))
        os.rename(t.path(LIVE), t.path(f"{release}/{LIVE}"))
        t.contains(t.succeeds("recover", release).err, "heap.pages.7.000002.pb.gz")
        of = ["--type", "alloc_objects"]
        t.equal(folded(t, *of, f"{release}/heap.pages.7.000001.pb.gz"), ["main;keep_pages 10"])
        t.succeeds("sum", release, "-q", "-o", "sum")
        t.equal(sum(int(stack.split()[-1]) for stack in folded(t, *of, "sum")), 15)


def test_the_rest_is_refused_by_its_name(t):
    for _ in each_release(t):
        for name, says in NO_PROFILES.items():
            for verb in READERS:
                result = t.fails(1, *verb, name)
                t.contains(result.err, name, says)
            t.lacks("\n".join(os.listdir(t.dir)), "never")
        for name, says in {"window.1.pb.gz": "not a state", TABLE: "not a state", LIVE: "not a state"}.items():
            with open(t.path(name), "rb") as file:
                before = file.read()
            t.contains(t.fails(1, "--state", name, TWO, "-o", "never").err, name, says)
            t.check(t.load(name) if name.endswith("gz") else open(t.path(name), "rb").read() == before, f"{name} is as it was")
