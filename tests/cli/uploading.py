"""-- UPLOADER: what it is given, and what each of its ends means."""

import json
import os

from harness import TIMEOUT, until
from pb import gz, read
from samples import DELTA, T0, T1, cur
from windows import ONE, THREE, TWO, looks, stands, start, status, wait_for, window_of


def begun(t):
    looks(t)
    t.succeeds("--state", "s", ONE, "--", "sh", "-c", "cat >first")
    return t.load("s")


def sh(script, *args):
    return ("--", "sh", "-c", script, "sh", *args)


def test_the_delta_is_its_stdin(t):
    """... which it can read again and measure."""
    begun(t)
    result = t.succeeds("--state", "s", TWO, *sh("cat /dev/stdin >a && wc -c </dev/stdin >size && cat >got"))
    t.equal((result.out, result.err), (b"", ""))
    got = t.load("got")
    t.equal((t.load("a"), int(t.load("size"))), (got, len(got)))
    t.equal(read(got).values(), DELTA)
    t.equal(window_of(t, got), {"from": str(T0), "to": str(T1), "seq": "2", "attempt": "1"})


def test_what_else_it_is_given(t):
    """Its words as they are, for there is no shell; where our output goes; its environment; no descriptor
    but these, and signals as they should be: a pipe that closes ends a program, whatever we do about it."""
    begun(t)
    words = ["$HOME", "a b", "*", ";", "-o", "--state", "--", ""]
    variables = '"$PPROFDELTA_ID $PPROFDELTA_SEQUENCE $PPROFDELTA_ATTEMPT $PPROFDELTA_FROM $PPROFDELTA_TO $MINE"'
    for command, out, err in ((("--", "python3", "-c", "import sys; print(sys.argv[1:])", *words), str(words), ""),
                              (sh("cat >got; echo out; echo err >&2"), "out", "err\n"),
                              (sh(f"cat >got; echo {variables}"), f"{status(t)['id']} 4 1 {T1} {T1} kept", "")):
        result = t.succeeds("--state", "s", TWO, "-q", *command,
                            env={"MINE": "kept", "PPROFDELTA_ATTEMPT": "9"}, manners=False)
        t.equal((result.text, result.err), (out + "\n", err))
    result = t.succeeds("--state", "s", TWO, "--", "ls", "/proc/self/fd")
    t.check(set(result.text.split()) <= {"0", "1", "2", "3"}, result.text)  # 3 is ls's own
    result = t.succeeds("--state", "s", TWO, *sh("grep -E 'Sig(Blk|Ign)' /proc/self/status"))
    for line in result.text.splitlines():
        mask = int(line.split()[1], 16)
        for number in (1, 2, 13, 15, 17, 25):
            t.check(not mask >> (number - 1) & 1, f"signal {number} in {line}")


def test_failures_move_nothing(t):
    before = begun(t)
    t.write("no program", b"hello")
    os.mkdir(t.path("folder"))
    cases = [(sh("exit 1"), "sh: failed with exit status 1"),
             (sh("cat >/dev/null; exit 77"), "sh: failed with exit status 77"),
             (sh("kill -9 $$"), "sh: was ended by signal 9"),
             (("--", "no-such-command"), "no-such-command: cannot be run: No such file"),
             (("--", "./no program"), "./no program: cannot be run: Permission denied"),
             (("--", "./folder"), "./folder: cannot be run: Permission denied"),
             (("--", "false"), "false: failed with exit status 1")]
    for tried, (command, says) in enumerate(cases, 1):
        result = t.fails(4, "--state", "s", TWO, *command)
        t.contains(result.err, f"pprofdelta: {says}", "hint: the next run covers this window too")
        stands(t, before, says, tried)
    t.succeeds("--state", "s", TWO, *sh("cat >got"))
    window = window_of(t, t.load("got"))
    t.equal((window["seq"], window["attempt"]), ("2", str(len(cases) + 1)))
    t.equal(read(t.load("got")).values(), DELTA)


def test_an_attempt_is_on_the_disk_before_its_delta_leaves(t):
    """Seen by the uploader; and each way to send counts, whatever becomes of it."""
    looks(t)
    for look, sequence in ((ONE, 0), (TWO, 1)):
        for tried in (1, 2, 3):
            t.fails(4, "--state", "s", look,
                    *sh('cat s >seen; echo "$PPROFDELTA_ATTEMPT" >number; false'))
            t.equal(t.load("number"), b"%d\n" % tried)
            got = status(t, "seen")
            t.equal((got["sequence"], got["attempts"]), (sequence, tried))
        t.succeeds("--state", "s", look, "-o", "out")
        t.equal(window_of(t, t.load("out"))["attempt"], "4")
        t.equal(status(t)["attempts"], 0)


# Each command, and how many of the delta's bytes it reads; None: all, or this is not known. The last
# five do not leave the position of the input at its end. A shell's background job reads /dev/null.
READERS = [("true", 0), ("exec 0<&-", 0), ("exec sh -c 'cat' </dev/null", 0),
           ("head -c 10 >/dev/null", 10), ("dd bs=7 count=2 status=none >/dev/null", 14),
           ("cat >/dev/null", None), ("head -c 10 >/dev/null; cat >/dev/null", None),
           ("cat >/dev/null & wait $!", 0), ("gzip -dc >/dev/null", None),
           ("cat /dev/stdin >/dev/null", None), ("head -c 10 /dev/stdin >/dev/null", None),
           ("python3 -c 'import os; os.pread(0, 5, 0)'", None),
           ("python3 -c 'import mmap; mmap.mmap(0, 0, prot=mmap.PROT_READ)[:]'", None),
           ("python3 -c 'import os; os.lseek(0, 0, 2); os.lseek(0, 0, 0); os.read(0, 9); "
            "os.lseek(0, 0, 0)'", None)]


def test_a_failed_command_before_the_pipe(t):
    """It leaves nothing, or the beginning of a profile."""
    before = begun(t)
    whole = gz(cur())
    for cut in [b"", gz(b"")] + [whole[:n] for n in (1, 2, 10, len(whole) // 2, len(whole) - 1)]:
        t.contains(t.fails(1, "--state", "s", *sh("cat >got"), stdin=cut).err, "pprofdelta: (stdin): ")
        t.equal((t.load("s"), os.path.exists(t.path("got"))), (before, False), f"{len(cut)} bytes")
    t.succeeds("--state", "s", *sh("cat >got"), stdin=whole)
    t.equal(read(t.load("got")).values(), DELTA)


def test_a_note_tells_what_it_left_unread(t):
    begun(t)
    seq = 1
    for script, taken in READERS:
        seq += 1
        result = t.succeeds("--state", "s", TWO, "--report", *sh(script), manners=False)
        size = int(result.err.split("output    ")[1].split(" ")[0])
        want = {None: [], 0: [f"without reading the delta ({size} bytes), which counts as sent"]}.get(
            taken, [f"after reading {taken} of the delta's {size} bytes, which count as sent"])
        notes = [line for line in result.err.splitlines() if "note: sh:" in line]
        t.equal(notes, [f"pprofdelta: note: sh: ended with exit status 0 {says}" for says in want],
                script)
        left = [line for line in result.err.splitlines() if line.startswith("unread")]
        t.equal(left, [] if taken is None else
                [f"unread    {size - taken} of these bytes, by the uploader"], script)
        t.contains(t.succeeds("--state", "s", "--status").text, f"sequence  {seq}\n")


def test_what_it_left_unread_in_the_report(t):
    begun(t)
    for options, script, left in (((), "true", 0), ((), "head -c 10 >/dev/null", 10),
                                  ((), "cat >/dev/null", None), (("-q",), "true", 0)):
        result = t.succeeds("--state", "s", TWO, "--report=json", *options, *sh(script),
                            manners=False)
        got = json.loads(result.err)
        t.equal(got["unread_bytes"], 0 if left is None else got["output_bytes"] - left, script)
        t.check(got["output_bytes"] > 10, "a delta of no size")
    t.equal(t.succeeds("--state", "s", TWO, "-q", "--", "true").err, "")


def test_sigchld_ignored_by_our_parent(t):
    import signal
    before = begun(t)
    t.fails(4, "--state", "s", TWO, "--", "false",
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None)
    stands(t, before, attempts=1)


# ---- time ------------------------------------------------------------------------------------------

def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_timeout(t):
    """All that it started is ended with it, even what asks not to be."""
    before = begun(t)
    for tried, script in enumerate(
            ("echo $$ >pid; sleep 100", "echo $$ >pid; exec sleep 100",
             "sleep 100 & echo $! >pid; wait", "trap '' TERM; echo $$ >pid; sleep 100; sleep 100",
             "echo $$ >pid; kill -STOP $$"), 1):
        t.contains(t.fails(4, "--state", "s", TWO, "--timeout=300ms", *sh(script)).err,
                   "pprofdelta: sh: was ended because it took longer than 0.3 s", "the next run covers")
        stands(t, before, script, tried)
        t.check(until(lambda: is_gone(int(t.load("pid")))), f"{script} lives on")
    t.succeeds("--state", "s", TWO, "--timeout=1m", *sh("cat >got"))
    t.equal(window_of(t, t.load("got"))["seq"], "2")


def test_it_ends_when_we_are_killed(t):
    """With all that it started, also what asks not to be ended. The attempt stays, and nothing else is left."""
    before = begun(t)
    for tried, script in enumerate(("exec sleep 100", "sleep 100 & wait", "trap '' TERM HUP INT; sleep 100 & sleep 100"), 1):
        a = start(t, "--state", "s", TWO, *sh(f"echo $$ >pid; (echo $(exec sh -c 'echo $PPID') >child; sleep 100) & touch running; {script}"))
        wait_for(t, "running")
        wait_for(t, "child")
        a.kill()
        a.communicate(timeout=TIMEOUT)
        for who in ("pid", "child"):
            t.check(until(lambda who=who: is_gone(int(t.load(who)))), f"{script}: {who} lives on")
            os.unlink(t.path(who))
        os.unlink(t.path("running"))
        stands(t, before, attempts=tried)  # and what it wrote is FILE
    t.equal(read(t.succeeds("--state", "s", THREE).out).values()["work;main"][:2], [8, 900])


def test_what_it_leaves_behind_lives_on(t):
    """A process that outlives an uploader that succeeded is not ended with it."""
    begun(t)
    t.succeeds("--state", "s", TWO, "-q", *sh("cat >/dev/null; sleep 100 >/dev/null 2>&1 & echo $! >pid"))
    pid = int(t.load("pid"))
    t.check(not is_gone(pid), "was ended")
    os.kill(pid, 9)
