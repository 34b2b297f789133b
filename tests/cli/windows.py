"""--state: windows that follow each other, what FILE is after each of them, and that no failure moves
it."""

import fcntl
import json
import os
import re
import resource
import signal
import stat
import subprocess
import time

from harness import TIMEOUT, until
from outputs import into_a_closed_pipe
from pb import gz, profile, read
from samples import CUR, DELTA, SECOND, T0, T1, cur, prev


ONE, TWO, THREE = "one.pb.gz", "two.pb.gz", "three.pb.gz"


def looks(t):
    """Three looks, a minute apart."""
    third = profile([(("work", "main"), [18, 1900, 0, 0])] + CUR[1:], time=T1 + 60 * SECOND)
    for name, data in ((ONE, prev()), (TWO, cur()), (THREE, third)):
        t.write(name, gz(data))
    return ONE, TWO, THREE


def begun(t):
    """... of which the first is remembered."""
    names = looks(t)
    t.succeeds("--state", "s", names[0], "-o", "out.1")
    return names


def status(t, state="s"):
    return json.loads(t.succeeds("--state", state, "--status=json").text)


def window_of(t, data):
    """The words of the stamp, without the id of the state, which is random."""
    comments = [c for c in read(data).comments if c.startswith("pprofdelta: delta")]
    t.equal(len(comments), 1)
    words = dict(word.split("=") for word in comments[0].split()[2:])
    t.check(re.fullmatch("[0-9a-f]{16}", words.pop("id")), comments[0])
    return words


def test_the_state_is_for_its_user_alone(t):
    one, *_ = looks(t)
    t.succeeds("--state", "s", one, "-o", "out", preexec_fn=lambda: os.umask(0) and None)
    t.equal(stat.S_IMODE(os.stat(t.path("s")).st_mode), 0o600)
    os.chmod(t.path("s"), 0o644)
    t.succeeds("--state", "s", one, "-o", "out")
    t.equal(stat.S_IMODE(os.stat(t.path("s")).st_mode), 0o600)
    if os.geteuid() == 0:  # who may give files away, and leaves a state to its user
        os.chown(t.path("s"), 12345, 23456)
        t.succeeds("--state", "s", one, "-o", "out")
        found = os.stat(t.path("s"))
        t.equal((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)), (12345, 23456, 0o600))


# ---- status ----------------------------------------------------------------------------------------

def test_status_does_not_wait_and_makes_none(t):
    begun(t)
    with open(t.path("s"), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        t.equal(status(t)["sequence"], 1)
    os.unlink(t.path("s"))
    t.contains(t.fails(1, "--state", "s", "--status").err, "pprofdelta: s: cannot open the state: No such file")
    t.check(not os.path.exists(t.path("s")), "made one")


# ---- failures --------------------------------------------------------------------------------------

def stands(t, before, what="", attempts=0):
    """FILE is as it was; or it remembers the same, and a window is open at which there were so many attempts."""
    if not attempts:
        t.equal(t.load("s"), before, what)
    else:
        t.write("before", before)
        was, now = status(t, "before"), status(t)
        for key in ("sequence", "window", "restart", "build_id", "types"):
            t.equal(now[key], was[key], f"{what}: {key}")
        t.equal((now["attempts"], now["open"]["sequence"]), (attempts, was["sequence"] + 1), what)
    t.equal(t.litter(), [], what)


def test_output_that_fails_moves_nothing(t):
    _, two_, _ = begun(t)
    before = t.load("s")
    result = into_a_closed_pipe(t, "--state", "s", two_)
    t.equal((result.code, result.err), (1, "pprofdelta: (stdout): cannot write: Broken pipe\n"))
    stands(t, before, "a closed pipe", 1)
    t.fails(1, "--state", "s", two_, stdout=None, preexec_fn=lambda: os.close(1))
    stands(t, before, "no stdout", 2)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            t.fails(1, "--state", "s", two_, stdout=full)
        stands(t, before, "a full disk", 3)
        t.fails(1, "--state", "s", two_, "-o", "/dev/full")
        stands(t, before, "a full device", 4)
    tried = status(t)["attempts"]
    t.fails(1, "--state", "s", two_, "-o", "nowhere/out")
    stands(t, before, "a missing folder", tried) # told before there is anything to send
    window = window_of(t, t.succeeds("--state", "s", two_).out)
    t.equal((window["seq"], window["attempt"]), ("2", str(tried + 1)))


def test_a_full_disk(t):
    """The state has no room: nothing is handed over, nothing has moved."""
    looks(t)
    many = [((f"f{i}", "main"), [1, 1, 1, 1]) for i in range(3000)]
    t.write("many", gz(profile(many, time=T0)))

    result = t.fails(1, "--state", "s", "many", "--", "touch", "handed over",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)))
    t.contains(result.err, "pprofdelta: s: cannot create the state in its directory: File too large")
    t.equal(sorted(os.listdir(t.dir)), ["many", "one.pb.gz", "three.pb.gz", "two.pb.gz"])


def test_folders(t):
    one, two_, _ = begun(t)
    os.mkdir(t.path("folder"))
    os.mkfifo(t.path("fifo"))
    for name, says in (("nowhere/s", "cannot create the state in its directory: No such file"),
                       ("folder", "cannot open the state: Is a directory"), ("fifo", "is not a regular file")):
        t.contains(t.fails(1, "--state", name, one, "--", "touch", "handed over").err, f"{name}: {says}")
    t.check(not os.path.exists(t.path("handed over")), "handed over")


def test_read_only_folder(t):
    one, two_, _ = looks(t)
    os.mkdir(t.path("locked"))
    nobody = t.as_nobody()
    if os.geteuid() == 0:
        os.chown(t.path("locked"), 65534, 65534)
    t.succeeds("--state", "locked/s", one, "-o", "locked/out", **nobody)
    before = t.load("locked/s")
    os.chmod(t.path("locked"), 0o555)
    for state in ("locked/s", "locked/other"):
        result = t.fails(1, "--state", state, two_, "--", "touch", "/dev/null", **nobody)
        t.contains(result.err, f"pprofdelta: {state}: cannot", "Permission denied")
    t.equal(t.load("locked/s"), before)
    os.chmod(t.path("locked"), 0o755)
    t.succeeds("--state", "locked/s", two_, "-o", "locked/out", **nobody)
    if os.geteuid() == 0:
        os.chown(t.path("locked/s"), 12345, 12345)
        os.chmod(t.path("locked/s"), 0o666)
        t.contains(t.fails(1, "--state", "locked/s", two_, "-o", "locked/out", **nobody).err, "belongs to another user (12345)")


def test_damaged_states(t):
    one, two_, _ = begun(t)
    good = t.load("s")
    cases = [(b"", "cut off"), (good[:20], "cut off"), (good[:-1], "cut off"),
             (good[:100] + b"\0" * 8 + good[108:], "damaged"), (good + b"\n", "followed by other data"),
             (t.load(one), "this is a pprof profile, not a state that pprofdelta wrote"),
             (b"#!/bin/sh\n" * 30, "not a state that pprofdelta wrote"),
             (good[:-30] + b"\xff" + good[-29:], "damaged")]
    for data, says in cases:
        t.write("s", data)
        for args in ((two_, "-o", "out"), (two_, "--", "touch", "out"), ("--status",)):
            t.contains(t.fails(1, "--state", "s", *args).err, "pprofdelta: s: ", says, "hint: ", "move it away")
            stands(t, data, says)
    t.write("s", good)
    t.equal(read(t.succeeds("--state", "s", two_).out).values(), DELTA)


# ---- locks -----------------------------------------------------------------------------------------

def start(t, *args, **kwargs):
    return subprocess.Popen([t.binary, *args], cwd=t.dir, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def wait_for(t, name):
    t.check(until(lambda: os.path.exists(t.path(name))), f"{name} never came")


# An uploader that says that it runs and ends when it may.
SLOW = ("--", "sh", "-c", 'touch "running $1"; while ! [ -e go ]; do sleep 0.01; done; cat >"got $1"',
        "slow")


def test_two_runs_at_once(t):
    """The second waits for the first, with a state that is there and with one that is not yet."""
    one, two_, three = looks(t)
    for before, first, second in ((None, one, two_), (one, two_, three)):
        for name in ("s", "go", "running 1", "running 2", "got 1", "got 2"):
            if os.path.exists(t.path(name)):
                os.unlink(t.path(name))
        if before:
            t.succeeds("--state", "s", before, "-o", "out")
        a = start(t, "--state", "s", first, *SLOW, "1")
        wait_for(t, "running 1")
        busy = t.fails(1, "--state", "s", second, "--no-wait", "-o", "out 2")
        user = "another run is using this state"
        t.contains(busy.err, user, "--no-wait")
        b = start(t, "--state", "s", second, *SLOW, "2")
        time.sleep(0.3)
        t.check(not os.path.exists(t.path("running 2")), "both at once")
        t.write("go", b"")
        for process in (a, b):
            _, err = process.communicate(timeout=TIMEOUT)
            t.equal(process.returncode, 0, err.decode())
        t.contains(err.decode(), f"note: s: waiting: {user}")
        want = 1 if before is None else 2
        t.equal(window_of(t, t.load("got 1"))["seq"], str(want))
        t.equal(window_of(t, t.load("got 2"))["seq"], str(want + 1))
        t.equal(window_of(t, t.load("got 2"))["from"], window_of(t, t.load("got 1"))["to"])
        t.equal(t.litter(), [])


def test_a_lock_on_the_directory_does_not_matter(t):
    """Everyone who can read a folder can lock it."""
    one, *_ = looks(t)
    folder = os.open(t.dir, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    t.equal(t.succeeds("--state", "s", one, "--no-wait", "-o", "out").err, "")
    os.close(folder)
    t.equal(status(t)["sequence"], 1)


def test_many_states_are_created_in_one_directory_at_once(t):
    looks(t)
    os.mkdir(t.path("states"))
    done = t.shell(f"seq 500 | xargs -P4 -I N pprofdelta -q --state states/N {ONE} --no-wait -- true")
    t.equal((done.returncode, done.stderr), (0, ""))
    t.equal(sorted(os.listdir(t.path("states")), key=int), [str(n) for n in range(1, 501)])


def test_many_runs_create_one_state_at_once(t):
    """Each of them has a window of its own, or says that another run uses the state."""
    looks(t)
    for way, codes in (("", {0}), ("--no-wait", {0, 1})):
        script = (f"seq 24 | xargs -P8 -I N sh -c 'pprofdelta --state s {way} {ONE} -o N 2>N.err; "
                  "echo $? >N.code'")
        t.equal(t.shell(script).returncode, 0)
        found = []
        for n in range(1, 25):
            code, err = int(t.load(f"{n}.code")), t.load(f"{n}.err").decode()
            t.check(code in codes, f"{n}: {code}: {err}")
            if code == 0:
                found.append(int(window_of(t, t.load(str(n)))["seq"]))
            else:
                t.contains(err, "s: another run is using this state, and --no-wait was given")
            os.unlink(t.path(str(n))) if code == 0 else None
        t.equal(sorted(found), list(range(1, len(found) + 1)))
        t.equal(status(t)["sequence"], len(found))
        t.equal(t.litter(), [])
        os.unlink(t.path("s"))


def test_a_stranger_took_the_name(t):
    """In a folder like /tmp a stranger can create FILE first: nothing is sent, and the message says what to do."""
    one, *_ = looks(t)
    nobody = t.as_nobody()
    if not nobody:
        t.skip("only the superuser can give a file to another user")
    os.mkdir(t.path("shared"))
    os.chmod(t.path("shared"), 0o1777)
    for mode in (0o600, 0o666):
        for name in ("s", "s.lock"):
            t.write("shared/" + name, b"")
            os.chmod(t.path("shared/" + name), mode)
            os.chown(t.path("shared/" + name), 12345, 12345)
        result = t.fails(1, "--state", "shared/s", one, "--", "touch", "shared/handed over", **nobody)
        t.contains(result.err, "shared/s: belongs to another user (12345)",
                   "hint: give the name of a new file, in a directory where no other user can create one")
        t.equal(sorted(os.listdir(t.path("shared"))), ["s", "s.lock"])
    t.succeeds("--state", "shared/t", one, "-o", "shared/out", **nobody)


def test_a_state_that_is_taken_away_meanwhile(t):
    _, two_, _ = begun(t)
    a = start(t, "--state", "s", two_, *SLOW, "1")
    wait_for(t, "running 1")
    os.unlink(t.path("s"))
    t.write("go", b"")
    _, err = a.communicate(timeout=TIMEOUT)
    t.equal((a.returncode, err), (0, b""))  # what it knows went with the file
    t.check(not os.path.exists(t.path("s")), "made one")
    t.equal(t.litter(), [])


# ---- ends ------------------------------------------------------------------------------------------

def test_signals(t):
    _, two_, _ = begun(t)
    before = t.load("s")
    for tried, number in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), 1):
        a = start(t, "--state", "s", two_, "--", "sh", "-c",
                  'echo $$ >pid; touch "running 1"; exec sleep 100')
        wait_for(t, "running 1")
        with open(t.path("pid"), encoding="utf-8") as file:
            child = int(file.read())
        a.send_signal(number)
        a.communicate(timeout=TIMEOUT)
        t.equal(a.returncode, -number)
        stands(t, before, str(number), tried)
        try:
            os.kill(child, 0)
            t.check(False, "the uploader lives on")
        except ProcessLookupError:
            pass
        os.unlink(t.path("running 1"))
    t.equal(read(t.succeeds("--state", "s", two_).out).values(), DELTA)


def test_an_ignored_signal_stays_ignored(t):
    _, two_, _ = begun(t)
    a = start(t, "--state", "s", two_, *SLOW, "1",
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None)
    wait_for(t, "running 1")
    a.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    t.write("go", b"")
    _, err = a.communicate(timeout=TIMEOUT)
    t.equal(a.returncode, 0, err.decode())


def kind_of(target):
    """What the names of the temporary files for this target begin with: the FNV-1a hash is in it."""
    value = 0x811C9DC5
    for byte in target.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f".pprofdelta-{value:08x}-"


def others_files(t, target):
    """Files that a run with this target has to leave alone."""
    kind = kind_of(target)
    names = [".pprofdelta-notours!", kind + "toolong", kind_of("other") + "abcdef"]
    for name in names:
        t.write(name, b"")
    t.write("precious", b"precious")
    os.mkdir(t.path(kind + "folder"))
    os.mkfifo(t.path(kind + "apipe1"))
    os.symlink("precious", t.path(kind + "alink1"))
    names += [kind + "folder", kind + "apipe1", kind + "alink1"]
    if os.geteuid() == 0:
        t.write(kind + "theirs", b"")
        os.chown(t.path(kind + "theirs"), 12345, 23456)
        names.append(kind + "theirs")
    return names


def test_what_a_killed_run_left_beside_an_output_is_cleaned(t):
    """Each way to replace OUT: two files, a state, a sum, a flame graph."""
    one, two_, three = begun(t)
    os.mkdir(t.path("folder"))
    for n, args in enumerate(((one, two_, "-o", "folder/out"),
                              ("--state", "s", two_, "-o", "folder/out"),
                              ("--state", "s", three, "-o", "link"),
                              ("sum", "out.1", "-o", "folder/out"),
                              ("show", one, "--flame", "folder/page.html"))):
        name = "page.html" if "--flame" in args else "s" if "--state" in args else "out"
        if "link" in args:
            os.symlink("folder/out", t.path("link"))
        t.write("folder/" + kind_of(name) + "killed", b"a part of a prof")
        t.write("folder/" + kind_of("else") + "killed", b"a part of a prof")
        t.succeeds(*args)
        t.equal(t.litter(), [kind_of("else") + "killed"], f"case {n}")
    for name in others_files(t, "out"):
        t.check(os.path.lexists(t.path(name)), name)
    before = sorted(t.litter())
    with open(t.path(kind_of("out") + "living"), "wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        t.succeeds(one, two_, "-o", "out")
        t.equal(sorted(t.litter()), sorted(before + [kind_of("out") + "living"]))
    t.equal(t.load("precious"), b"precious")
