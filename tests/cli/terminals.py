"""What a person sees who runs the command: lines that fit, and what takes long."""

import os
import select
import subprocess

from harness import TIMEOUT
from pb import gz, profile
from samples import T0, T1, cur, pair, prev
from showing import terminal


def test_messages_fit_80_columns(t):
    before, after = pair(t)
    t.write("types", profile([(("f",), [1])], types=["samples/count"], time=T1))
    t.write("bad", cur() + b"\x0a")
    t.write("stamped", t.succeeds(before, after).out)
    t.write("less", profile([(("work", "main"), [9, 990, 1, 1]), (("idle", "main"), [5, 500, 5, 5])],
                            time=T1))
    for args, code in (((before, "types", "-o", "o"), 1), ((before, "bad", "-o", "o"), 1),
                       ((after, before, "-o", "o"), 1), (("stamped", after, "-o", "o"), 1),
                       ((before, "missing", "-o", "o"), 1), ((before, "less", "-o", "o"), 0),
                       ((before, "less", "-o", "o", "--on-reset=fail"), 3), (("check", "bad"), 1),
                       (("show", "bad"), 1), (("show", before, "types"), 1),
                       (("types", "types", "-o", "o"), 1), ((before, after), 2),
                       ((before, after, "--max-memory=1k", "-o", "o"), 1)):
        shown = terminal(t, 80, *args, code=code).replace("\r\n", "\n").splitlines()
        t.check(shown, f"{args}: said nothing")
        for line in shown:
            t.check(len(line) <= 80, f"{args}: {len(line)} columns: {line!r}")
            t.check(line.startswith(("pprofdelta: ", " " * 12)), f"{args}: {line!r}")
        # The same words as in a log, where each message is one line.
        logged = t.run(*args[:2] if code == 2 else args, stdout=subprocess.DEVNULL)
        if code != 2:
            t.equal(" ".join("\n".join(shown).split()), " ".join(logged.err.split()), str(args))
            t.check(all(line.startswith("pprofdelta: ") for line in logged.err.splitlines()),
                    logged.err)


def read_until(t, fd, wanted):
    data = b""
    while wanted not in data:
        if not select.select([fd], [], [], TIMEOUT)[0]:
            t.check(False, f"waited for {wanted!r}, got {data!r}")
            break
        data += os.read(fd, 65536)
    return data


def slow(t, *args):
    """Runs the command with a stdin that says nothing until the terminal says that it waits."""
    master, slave = t.open_terminal()
    process = subprocess.Popen([t.binary, *args], cwd=t.dir, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    return master, process


def test_progress_on_a_terminal(t):
    t.write("prev", gz(prev()))
    want = t.succeeds("prev", "-", stdin=cur()).out
    for args in (("prev", "-"), ("check", "-"), ("show", "--raw", "-")):
        master, process = slow(t, *args)
        text = read_until(t, master, b"reading (stdin), 3 s")
        t.check(text.startswith(b"\r\x1b[Kpprofdelta: reading (stdin), 2 s"), repr(text))
        out, _ = process.communicate(cur(), timeout=TIMEOUT)
        t.equal(process.returncode, 0)
        if args[0] == "prev":
            t.equal(out, want)
        rest = read_until(t, master, b"\r\x1b[K")
        t.check(rest.endswith(b"\r\x1b[K"), f"the line stays: {rest!r}")
        os.close(master)


def test_a_message_takes_the_line_away(t):
    t.write("prev", gz(prev()))
    master, process = slow(t, "prev", "-", "-o", "out")
    read_until(t, master, b"reading (stdin), 2 s")
    process.communicate(b"\x0a", timeout=TIMEOUT)
    t.equal(process.returncode, 1)
    text = read_until(t, master, b"\n").decode()
    t.contains(text, "\r\x1b[Kpprofdelta: (stdin): ")
    os.close(master)


def test_quiet_has_no_progress(t):
    """The command outlives the first tick, or has nothing to say: both are silence."""
    t.write("prev", gz(profile([(("f",), [1, 1, 1, 1])], time=T0)))
    master, process = slow(t, "-q", "prev", "-")
    ready = select.select([master], [], [], 2.5)[0]
    t.equal(ready, [], "printed")
    process.communicate(cur(), timeout=TIMEOUT)
    os.close(master)


def test_no_progress_in_a_log(t):
    t.write("prev", gz(prev()))
    process = subprocess.Popen([t.binary, "prev", "-"], cwd=t.dir, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ready = select.select([process.stderr], [], [], 2.5)[0]
    t.equal(ready, [], "printed")
    process.communicate(cur(), timeout=TIMEOUT)
