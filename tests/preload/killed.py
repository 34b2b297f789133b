#!/usr/bin/env python3
"""Programs that are killed: what is recovered of them is true.

    killed.py BINARY TARGETS KILLS     that many kills of the target, and of real programs, outside CI
"""

import ctypes
import errno
import itertools
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
    sys.dont_write_bytecode = True

import recorded
from accounts import PARTS, Account
from agents import TIMEOUT, checked, only, plainly, quiet, record, start, target, until
from pb import fields, inflate, load, parts, read

SIZES = 5000, 100, 300  # of the blocks of each thread
THREADS = len(SIZES)
TRUTH = struct.Struct("4Q")  # begun, done, ends begun, ends done
READY, BEGUN = b"ppdflve\x03", b"ppdfnew\x03"  # how the file begins, when it is complete, and before
PERL = ["perl", "-e", "while (1) { $h{int(rand(50000))} = 'x' x rand(500); }"]


MADVISE = {"x86_64": 28, "aarch64": 233}.get(os.uname().machine)


def install_filter(rules):
    """Makes a filter of these rules for this process and what it runs. The agent does not see it."""
    no_new_privileges, set_filter = 38, 22
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rules), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    if prctl(no_new_privileges, 1, 0, 0, 0) or prctl(set_filter, 2, program):
        raise OSError("there is no seccomp here")


def on_an_old_kernel():
    """Makes a filter for this process and what it runs: there are no calls of Linux 5.1 and later, such as close_range, no
    MADV_POPULATE_WRITE of 5.14, and no MADV_WIPEONFORK of 4.14."""
    load, at_least, equal, answer = 0x20, 0x35, 0x15, 0x06
    allow, fail = 0x7fff0000, 0x50000
    install_filter([(load, 0, 0, 0), (at_least, 0, 1, 424), (answer, 0, 0, fail | errno.ENOSYS), (equal, 0, 4, MADVISE),
                    (load, 0, 0, 32), (equal, 1, 0, 23), (equal, 0, 1, 18), (answer, 0, 0, fail | errno.EINVAL),
                    (answer, 0, 0, allow)])


def kernels(t):
    """Arguments of a process: for this kernel, and for an old one."""
    try:
        MADVISE and plainly(t, "true", preexec_fn=on_an_old_kernel)
    except subprocess.SubprocessError:
        return [{}]
    return [{}, {"preexec_fn": on_an_old_kernel}] if MADVISE else [{}]


def live_files(folder):
    return [os.path.join(folder, name) for name in os.listdir(folder) if ".live" in name] if os.path.isdir(folder) else []


def is_ready(folder):
    for path in live_files(folder):
        with open(path, "rb") as file:
            if file.read(len(READY)) == READY:
                return True
    return False


def kill(binary, command, folder, seconds, options, **how):
    """Records the command, and kills it that long after its file is there. Returns whether it was."""
    process = subprocess.Popen([binary, "record", "-q", "-o", folder, *options, "--", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, **how)
    try:
        while not is_ready(folder) and process.poll() is None:
            time.sleep(0.001)
        time.sleep(seconds)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode == -signal.SIGKILL


def recover(binary, folder):
    """A child of a fork, which was killed too, may have the file for a moment longer."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        ran = subprocess.run([binary, "recover", folder], capture_output=True, text=True, check=False)
        if "processes that live" not in ran.stderr or time.monotonic() > deadline:
            return ran
        time.sleep(0.01)


def windows_of(folder):
    """The windows of the process, each once: the highest attempt."""
    process, = recorded.profiles(folder).values()
    best = {}
    for profile in process:
        key = profile.epoch, profile.sequence
        if key not in best or best[key].attempt < profile.attempt:
            best[key] = profile
    return sorted(best.values(), key=lambda p: p.sequence)


def faults_of(folder, truth):
    """What is wrong with the windows, in words."""
    windows = windows_of(folder)
    sequences = [w.sequence for w in windows]
    faults = [] if sequences == list(range(1, len(windows) + 1)) else [f"sequences {sequences}"]
    made, used, space = ({stack: row[0] for stack, row in recorded.add_up(windows, (c, c)).items()} for c in
                         (recorded.ALLOC_OBJECTS, recorded.INUSE_OBJECTS, recorded.INUSE_BYTES))
    most, least = {}, 0
    for number in range(THREADS):
        begun, done, ends_begun, ends_done = TRUTH.unpack_from(truth, number * TRUTH.size)
        allocated, in_use = (recorded.leaks(rows.items()).get(f"leak_{number}", 0) for rows in (made, used))
        if not done <= allocated <= begun:
            faults.append(f"thread {number}: {allocated} allocations, of which {done} to {begun} were made")
        if not done - ends_begun <= in_use <= begun - ends_done:
            faults.append(f"thread {number}: {in_use} in use, not {done - ends_begun} to {begun - ends_done}")
        most[f"leak_{number}"] = (begun - ends_done) * SIZES[number]
        least = max(least, (done - ends_begun) * SIZES[number])
    by_site = recorded.leaks(space.items())
    if most.get(max(by_site, key=by_site.get, default=""), 0) < least:
        faults.append(f"the largest has at least {least} bytes, and these have {by_site}")
    return faults


def kill_and_judge(binary, target, folder, seconds, **how):
    truth_path = os.path.join(folder, "truth")
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    with open(truth_path, "wb") as file:
        file.write(bytes(THREADS * TRUTH.size))
    if not kill(binary, [target, truth_path], out, seconds, ["--rate=1", "--interval=20ms", "--no-account"], **how):
        return ["the target ended by itself"]
    ran = recover(binary, out)
    if ran.returncode or live_files(out):
        return [f"recover: {ran.returncode} {ran.stderr} {live_files(out)}"]
    return faults_of(out, load(truth_path))


def test_what_is_recovered_is_true(t):
    """Kills in the allocator, in a delivery, in fork, with threads: at times that no kill has in common."""
    target = os.path.join(t.targets, "killed")
    for seconds in (0, 0.001, 0.003, 0.01, 0.02, 0.021, 0.023, 0.027, 0.04, 0.05, 0.06, 0.07, 0.09, 0.11, 0.13, 0.15):
        t.equal(kill_and_judge(t.binary, target, t.dir, seconds), [], f"killed after {seconds} s")
    for how in kernels(t)[1:]:
        t.equal(kill_and_judge(t.binary, target, t.dir, 0.1, **how), [], "on an old kernel")


def test_recovered_mappings_claim_functions_only(t):
    """As those of a living process: the names are from symbol tables, so show looks for lines."""
    out, has_functions = t.path("out"), 7
    kill(t.binary, PERL, out, 0.1, ["--rate=4k", "--no-account"]) or t.skip("perl is not here")
    t.equal(recover(t.binary, out).returncode, 0)
    path, = (os.path.join(out, name) for name in os.listdir(out))
    claims = {number for mapping in parts(inflate(load(path)), 3) for number, _ in fields(mapping) if number >= has_functions}
    t.equal(claims, {has_functions})


def test_what_is_not_the_agents_is_left_alone(t):
    """A file that a stranger may have planted, or that is damaged, stays, and a message says why."""
    out = t.path("out")
    kill(t.binary, PERL, out, 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    whole, = live_files(out)
    kept = shutil.copy(whole, t.path("kept"))
    os.chmod(kept, 0o600)
    data = load(kept)
    os.remove(whole)
    damaged = {"cut": data[:100], "short": data[:100000], "foreign": b"x" * 100000, "root": data[:8] + bytes(8) + data[16:]}
    for name, content in damaged.items():
        path = os.path.join(out, f"heap.{name}.1.live")
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)
    shutil.copy(kept, os.path.join(out, "heap.readable.1.live"))
    os.chmod(os.path.join(out, "heap.readable.1.live"), 0o644)
    os.symlink(kept, os.path.join(out, "heap.link.1.live"))
    os.link(kept, os.path.join(out, "heap.hard.1.live"))
    os.mkfifo(os.path.join(out, "heap.pipe.1.live.2"))
    before = sorted(os.listdir(out))
    ran = subprocess.run([t.binary, "recover", out], capture_output=True, text=True, check=False)
    t.equal((ran.returncode, sorted(os.listdir(out))), (1, before), ran.stderr)
    for name, why in (("cut", "is cut"), ("short", "is cut or damaged"), ("foreign", "of this version"),
                      ("root", "is cut or damaged"), ("readable", "of this user alone"), ("link", "symbolic link"),
                      ("hard", "of this user alone"), ("pipe", "is a pipe")):
        line, = [line for line in ran.stderr.splitlines() if f"heap.{name}." in line]
        t.contains(line, why)


BEAT = 3 * 10**9  # nanoseconds: how well the end of the process is known
PAGE = 4096


def rows_of(profile):
    """The samples, each with its stack and its labels. Equal ones do not come."""
    places = {number: (*profile.binaries.get(mapping, ())[3:], address, *names)
              for number, (mapping, address, names) in profile.locations.items()}
    return {(tuple(places[i] for i in stack), repr(sample[1])): sample[2]
            for stack, sample in zip(profile.stacks, profile.samples)}


def flip_bits(chance, data, used):
    for _ in range(1 << chance.randrange(8)):
        data[chance.choice(used) + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)


def overwrite_page(chance, data, used):
    page, other = chance.choice(used), chance.choice(used)
    data[page:page + PAGE] = chance.choice((bytes(PAGE), b"\xff" * PAGE, chance.randbytes(PAGE), bytes(data[other:other + PAGE])))


def judge_damaged(t, path, truth):
    """Recovers the file. Returns what became of it, or what is wrong, in words."""
    out = os.path.dirname(path)
    ran = subprocess.run([t.binary, "recover", out], capture_output=True, text=True, check=False)
    made = [os.path.join(out, name) for name in os.listdir(out) if name.endswith(".gz")]
    if ran.returncode:
        is_refused = ran.returncode == 1 and not made and os.path.exists(path) and path in ran.stderr
        return "refused" if is_refused else f"exit {ran.returncode}, {made}, {ran.stderr}"
    if len(made) != 1:
        return f"{made}: {ran.stderr}"
    profile = read(load(made[0]))
    rows, true_rows = rows_of(profile), rows_of(truth)
    is_less = "left out of that window" in ran.stderr or any("damaged and left out" in text for text in profile.comments)
    for key in rows.keys() | true_rows.keys():
        values, true = rows.get(key, [0] * len(profile.types)), true_rows.get(key, [0] * len(truth.types))
        if any(value != wanted and not (is_less and not value) for value, wanted in zip(values, true)):
            return f"{values}, not {true}, of {key}: {ran.stderr}"
    stamps = [next(filter(None, map(recorded.STAMP.match, p.comments))).groups() for p in (profile, truth)]
    ends = [int(stamp[5]) for stamp in stamps]
    if profile.types != truth.types or [s[:5] + s[6:] for s in stamps][0] != [s[:5] + s[6:] for s in stamps][1]:
        return f"{stamps}"
    if abs(ends[0] - ends[1]) > BEAT:
        return f"the end is {ends}"
    return "less" if is_less else "equal"


def test_what_is_damaged_is_not_taken_for_whole(t):
    """What becomes of a file with flipped bits or a page of another one: nothing, the true window, or less, with a word
    about that."""
    kill(t.binary, PERL, t.path("out"), 1.5, ["--rate=4k", "--interval=1s"]) or t.skip("perl is not here")
    whole, = live_files(t.path("out"))
    size, name = os.path.getsize(whole), os.path.basename(whole)
    data = load(whole).rstrip(b"\0") + bytes(PAGE)
    used = [at for at in range(0, len(data), PAGE) if data[at:at + PAGE].strip(b"\0")]
    os.mkdir(t.path("try"))

    def recovered_of(content):
        for left in os.listdir(t.path("try")):
            os.remove(t.path(f"try/{left}"))
        os.chmod(path := t.write(f"try/{name}", content), 0o600)
        os.truncate(path, size)
        return path

    path = recovered_of(data)
    t.equal(recover(t.binary, t.path("try")).returncode, 0)
    truth = read(load(*recorded.files(t.path("try")).popitem()[1]))
    chance, became = random.Random(42), {}
    for kind, rounds in ((flip_bits, 250), (overwrite_page, 60)):
        for number in range(rounds):
            kind(chance, damaged := bytearray(data), used)
            verdict = judge_damaged(t, recovered_of(bytes(damaged)), truth)
            became.setdefault(verdict, []).append(f"{kind.__name__} {number}")
    t.equal(sorted(became), ["equal", "less", "refused"], str({verdict: at[:3] for verdict, at in became.items()}))


def test_a_process_that_is_killed_at_once(t):
    """Its file is not complete: it goes, and a note says that nothing is made of it."""
    os.mkdir(out := t.path("out"))
    for name, content in (("empty", b""), ("early", BEGUN), ("earlier", BEGUN + bytes(100000))):
        os.chmod(t.write(f"out/heap.{name}.1.live", content), 0o600)
    ran = recover(t.binary, out)
    t.equal((ran.returncode, os.listdir(out)), (0, []), ran.stderr)
    t.contains(ran.stderr, "of which nothing can be made: 3")


def test_a_file_system_without_room(t):
    """The file for the last window grows until there is no room. Then it goes, and the profiles have its room."""
    script = 'mount -t tmpfs -o size=$0 none full && "$@"; code=$?; cp full/out/* kept; exit $code'
    under = lambda size: ["unshare", "-rm", "sh", "-c", script, size]
    os.mkdir(t.path("full"))
    if not shutil.which("unshare") or plainly(t, "unshare", "-rm", "mount", "-t", "tmpfs", "none", "full").code:
        t.skip("no file system can be mounted here")
    for size, how in itertools.product(("600k", "800k", "1m"), kernels(t)):
        shutil.rmtree(t.path("kept"), ignore_errors=True)
        os.mkdir(t.path("kept"))
        ran = plainly(t, *under(size), t.binary, "record", "-q", "-o", "full/out", "--rate=1", "--interval=50ms", "--",
                      target(t, "starve"), "not", "15", **how)
        t.equal((ran.code, live_files(t.path("kept"))), (0, []), ran.err)
        t.contains(ran.err, "the file for it cannot ")  # be made in, or grow in
        windows = only(t, checked(t, t.path("kept")))
        t.equal(sum(values[recorded.ALLOC_OBJECTS] for p in windows for stack, values in p.samples
                    if "leak_by_turns" in stack), 1 << 15)


def test_overlays(t):
    """The file needs an upper file system where its pages have their room."""
    script = ('mount -t tmpfs none over && mkdir -p over/up over/work over/all $0/up $0/work over/out && '
              'mount -t overlay -o lowerdir=over/out,upperdir=$0/up,workdir=$0/work overlay over/all && "$@"')
    run = lambda where, *command: plainly(t, "unshare", "-rm", "sh", "-c", script, where, *command)
    os.mkdir(t.path("over"))
    if not shutil.which("unshare") or run("over", "true").code:
        t.skip("no overlay can be mounted here")
    record_there = [t.binary, "record", "-q", "-o", "over/all/out", "--rate=1", "--", target(t, "starve"), "not", "12"]
    t.contains(run("over", *record_there).err, "its file system may have no room for a page later")
    kind = plainly(t, "stat", "-f", "-c", "%T", ".").out
    if kind in (b"ext2/ext3\n", b"xfs\n"):
        os.mkdir(t.path("here"))
        ran = run("here", *record_there)
        t.equal((ran.code, ran.noise), (0, []))


def test_a_tracker_that_grows(t):
    """What is in a new table is in the file soon. A kill before that loses the window."""
    for attempt in range(9):
        out = t.path(f"grown{attempt}")
        kill(t.binary, [target(t, "starve"), "not", "16"], out, 0.05 * attempt, ["--rate=1", "--interval=1h"])
        ran = recover(t.binary, out)
        if not ran.returncode and recorded.profiles(out):
            break
    t.check(not ran.returncode and recorded.profiles(out), ran.stderr)


def test_a_tracker_that_grows_on_an_old_kernel(t):
    """Its file grows with it: nothing is said about a window that would be lost."""
    how, = kernels(t)[1:] or t.skip("no seccomp here")
    quiet(t, record(t, target(t, "starve"), "not", "16", options=["--rate=1", "--interval=50ms"], **how))
    t.equal(sum(values[recorded.ALLOC_OBJECTS] for p in only(t, checked(t, t.path("out"))) for stack, values in p.samples
                if "leak_by_turns" in stack), 1 << 16)


def test_a_sum_recovers(t):
    """Of a directory: what its files add up to, with the last window."""
    kill(t.binary, PERL, t.path("out"), 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    t.succeeds("sum", "out", "-o", "all.pb.gz")
    paths, = recorded.files(t.path("out")).values()
    t.succeeds("sum", *paths, "-o", "each.pb.gz")
    t.equal((live_files(t.path("out")), t.load("all.pb.gz")), ([], t.load("each.pb.gz")))


def test_the_account_is_that_of_the_window_before(t):
    """If there was none, a comment says so."""
    shutil.which("perl") or t.skip("perl is not here")
    for asked in False, True:
        for attempt in range(9):
            out = t.path(f"out{asked}{attempt}")
            process = start(t, *PERL, options=["-o", out, "--rate=4k"])
            t.check(until(lambda: is_ready(out)), "no file came")
            if asked:
                process.send_signal(signal.SIGUSR2)
                t.check(until(lambda: recorded.files(out)), "no window came")
                time.sleep(0.05 * attempt)  # of a process without a sample since then, there is no second window
            process.kill()
            process.communicate()
            t.equal(recover(t.binary, out).returncode, 0)
            # And if it had not yet noted that the first one arrived, that is sent again.
            if [p.sequence for ps in recorded.profiles(out).values() for p in ps] == list(range(1, 2 + asked)):
                break
        accounts = [Account(t, window) for window in only(t, checked(t, out))]
        t.equal(len(accounts), 1 + asked)
        t.equal(({part: accounts[-1].part(part) for part in PARTS}, accounts[-1].total > 0),
                ({part: accounts[0].part(part) for part in PARTS}, asked))
        t.contains(accounts[-1].comment, "s before the end" if asked else "ended before its first one")


def test_a_live_file_is_no_profile(t):
    """A pattern of the shell may name it among the profiles: what it is, and what to do, is said."""
    kill(t.binary, PERL, t.path("out"), 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    live, = live_files(t.path("out"))
    for args in (("show", live), ("check", live), ("sum", live), ("leaks", live), (live, live)):
        t.contains(t.fails(1, *args).err, "the live file of a recorded process", "pprofdelta recover DIR")


def test_a_command_gets_the_window(t):
    """If it fails, the file stays. A process that lives is left alone."""
    out = t.path("out")
    kill(t.binary, PERL, out, 0.1, ["--rate=4k", "--format=otlp"]) or t.skip("perl is not here")
    run = lambda *options: subprocess.run([t.binary, "recover", *options, out], capture_output=True, text=True, check=False)
    t.equal((run("--to=exit 3").returncode, len(live_files(out))), (4, 1))
    taken = t.path("taken.otlp.gz")
    t.equal((run(f"--to=cat > {taken}").returncode, os.listdir(out)), (0, []))
    t.equal(subprocess.run([t.binary, "check", taken], check=False).returncode, 0)
    process = subprocess.Popen([t.binary, "record", "-q", "--rate=1", "-o", out, "--", *PERL])
    try:
        t.check(until(lambda: is_ready(out)), "no file came")
        ran = run()
        t.equal((ran.returncode, len(live_files(out))), (0, 1))
        t.contains(ran.stderr, "processes that live, or are being recovered: 1")
    finally:
        process.kill()
        process.wait()


def test_what_a_receiver_takes_and_what_is_too_old_for_it(t):
    """--for writes what is in use, whatever was recorded, in the form of the receiver. What is older than --max-age becomes a file."""
    out = t.path("out")
    kill(t.binary, PERL, out, 0.1, ["--rate=4k", "--changes"]) or t.skip("perl is not here")
    live = t.load(live_files(out)[0])
    t.equal(t.fails(4, "recover", out, "--for=pyroscope", "--max-age=1h", "--to=exit 3", manners=False).err.count("--max-age"), 0)
    t.succeeds("recover", out, "--for=pyroscope", "--max-age=1h", "--to=cat >taken", env={"OTEL_SERVICE_NAME": "shop"})
    t.succeeds("check", "-q", "--for=pyroscope", "taken")
    t.contains(t.succeeds("show", "--raw", "taken").text, "shop")
    t.equal(os.listdir(out), [])

    name = os.path.join(out, "heap.perl.77.live")
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    t.write(name, live)
    t.check(until(lambda: time.time() - os.stat(name).st_mtime > 1.1), "the clock stands")
    ran = t.succeeds("recover", out, "--for=parca", "--max-age=1s", "--to=cat >again", manners=False)
    t.contains(ran.err, "the time of the window is", "--max-age is 1.00s: it goes to the directory")
    t.equal((os.listdir(out), os.path.exists(t.path("again"))), (["heap.perl.77.000001.otlp.gz"], False))
    t.succeeds("check", "-q", "--for=parca", os.path.join(out, "heap.perl.77.000001.otlp.gz"))


def test_what_is_too_old_for_the_receiver_blocks_nothing(t):
    """It is told, given to the command and refused. The next run gives it what another process left, too."""
    out, sent = t.path("out"), t.path("sent")
    t.write("behind", b"")
    shifted = {"cwd": t.dir, "env": {**os.environ, "LD_PRELOAD": target(t, "libjump.so")}}
    kill(t.binary, PERL, out, 0.1, ["--rate=4k"], **shifted) or t.skip("perl is not here")
    os.unlink(t.path("behind"))
    kill(t.binary, PERL, t.path("young"), 0.1, ["--rate=4k"], **shifted)
    os.rename(live_files(out)[0], os.path.join(out, "heap.a.1.live"))  # the first in order
    os.rename(live_files(t.path("young"))[0], os.path.join(out, "heap.b.2.live"))
    as_pyroscope = f"[ $(($PPROFDELTA_TO / 1000000000)) -gt $(($(date +%s) - 3600)) ] && cat >{sent}"
    ran = record(t, "true", options=["-o", out, "--for=pyroscope", "--to", as_pyroscope], end=None)
    t.contains(ran.err, "heap.a.1.live: the time of the window is 2.00h ago", "Pyroscope takes 1.00h by default; it is sent as it is",
               "--max-age=60m, with which it goes to the directory")
    t.equal((ran.code, os.listdir(out)), (0, ["heap.a.1.live"]), ran.err)
    t.succeeds("check", "-q", "--for=pprof", sent)
    ran = record(t, "true", options=["-o", out, "--for=pyroscope", "--max-age=60m", "--to", as_pyroscope], end=None)
    t.equal((ran.code, os.listdir(out)), (0, ["heap.a.1.000001.pb.gz"]), ran.err)


def with_boot(data, boot):
    """The file with the id of another boot, and its check as agent/base/remains.h has it."""
    check, begin, end = 0xcbf29ce484222325, 16, 40 + 40 + 3 * 8 + 4 * 4 + 16384
    data = data[:40] + boot + data[40 + len(boot):]
    for word in struct.unpack(f"<{(end - begin) // 8}Q", data[begin:end]):
        check = (check ^ word) * 0x100000001b3 % 2**64
        check ^= check >> 32
    return data[:8] + struct.pack("<Q", check | 1) + data[16:]


def test_a_process_that_lives_behind_another_mount(t):
    """The lock of its file is another one there, or there is none: the process is looked for."""
    os.mkdir(view := t.path("view"))
    process = start(t, *PERL, options=["-o", t.path("out"), "--rate=4k"])
    try:
        t.check(until(lambda: is_ready(t.path("out"))), "no file came")
        live, = live_files(t.path("out"))
        with open(live, "rb") as file:
            data = file.read(8 << 20)
        def shown(content):
            os.chmod(path := t.write("view/heap.perl.1.live", content), 0o600)
            os.truncate(path, os.path.getsize(live))
        recovered = lambda *how: plainly(t, *how, t.binary, "recover", view)
        for content, note in ((data, "processes that live, or are being recovered: 1"),
                              (with_boot(data, data[40:76]), "processes that live, or are being recovered: 1"),
                              (with_boot(data, b"0" * 8), "the last window of a process that was killed")):
            shown(content)
            ran = recovered()
            t.equal((ran.code, len(live_files(view))), (0, int("live" in note)), ran.err)
            t.contains(ran.err, note)
        os.remove(*(os.path.join(view, name) for name in os.listdir(view)))
        shown(data)
        t.equal((plainly(t, t.binary, "sum", view, "-o", "sum.pb.gz").code, len(live_files(view))), (1, 1))
        apart = "unshare", "-rpf", "--mount-proc"
        if shutil.which("unshare") and not plainly(t, *apart, "true").code:
            ran = recovered(*apart)
            t.equal((ran.code, len(live_files(view))), (1, 1), ran.err)
            t.contains(ran.err, "cannot be seen from here")
    finally:
        process.kill()
        process.communicate()
    ran = recovered()
    t.equal((ran.code, live_files(view)), (0, []), ran.err)


OVERLAY = """cd full && mkdir lower upper work merged &&
    mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged || exit 77
    "$0" record -q --rate=4k -o merged/out -- "$@" & process=$!
    for i in $(seq 600); do head -c 8 merged/out/*.live 2>/dev/null | grep -q ppdflve && break; sleep 0.1; done
    "$0" recover upper/out; ls upper/out; kill -9 $process; wait; "$0" recover upper/out; ls upper/out"""


def test_a_process_in_a_container(t):
    """Its folder is seen in a layer of the container's file system."""
    os.mkdir(t.path("full"))
    if plainly(t, "stat", "-f", "-c", "%T", ".").out not in (b"ext2/ext3\n", b"xfs\n"):
        t.skip("a file here has no room for a page that is written later")
    if not shutil.which("unshare") or plainly(t, "unshare", "-rm", "true").code:
        t.skip("no namespaces here")
    ran = plainly(t, "unshare", "-rm", "sh", "-c", OVERLAY, t.binary, *PERL)
    ran.code != 77 and shutil.which("perl") or t.skip("no overlayfs can be mounted here")
    t.check(re.fullmatch(r"heap\.perl\.(\d+)\.live\nheap\.perl\.\1\.000001\.pb\.gz\n", ran.out.decode()), f"{ran.out} {ran.err}")


def test_a_command_gets_the_window_before_the_next_run(t):
    """It is not recorded, its output is not that of the program, and it has the time that each profile has."""
    out = t.path("out")
    kill(t.binary, PERL, out, 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    taken, variables = t.path("taken.pb.gz"), t.path("variables")
    for command, left in (("sleep 1000", 1), (f"env > {variables}; echo noise; echo noise >&2; cat > {taken}; sh -c true", 0)):
        ran = record(t, "echo", "mine", options=["-o", out, "--rate=1T", "--interval=1s", "--to", command], end=None)
        t.equal((ran.code, ran.out, ran.rest, len(live_files(out))), (0, b"mine\n", [], left), ran.err)
        t.equal("longer than 5 s" in ran.err, left == 1, ran.err)
    names = {line.split("=")[0] for line in load(variables).decode().splitlines() if line.startswith(("LD_PRELOAD", "PPROFDELTA"))}
    t.equal(names, {"PPROFDELTA_" + name for name in ("ID", "SEQUENCE", "ATTEMPT", "FROM", "TO")})
    t.equal(recorded.Profile(taken).sequence, 1)


def test_a_directory_that_is_closed_to_the_process(t):
    """After it gave up its rights: the last window is not lost, since its file is there."""
    os.geteuid() == 0 and shutil.which("perl") or t.skip("root alone can give up rights, and perl is not here")
    os.mkdir(t.path("out"), 0o700)
    ran = record(t, "perl", "-e", "$k{$_} = 'x' x 300 for 1..9999; select undef, undef, undef, 0.5; $) = $( = 65534; "
                 "$< = $> = 65534; $m{$_} = 'x' x 300 for 1..9999;", options=["--rate=4k", "--interval=1h"])
    t.equal((ran.code, "lost" in ran.err), (0, False), ran.err)
    t.equal("pprofdelta recover can make it" in ran.err, bool(live_files(t.path("out"))), ran.err)
    ran = recover(t.binary, t.path("out"))
    paths, = recorded.files(t.path("out")).values()
    made = sum(recorded.Profile(path).total(recorded.ALLOC_BYTES) for path in paths)
    t.check(ran.returncode == 0 and made > 5 << 20, f"{made} {ran.stderr}")


def test_the_window_has_names(t):
    """Those that the agent gave to the windows before."""
    t.write("truth", bytes(THREADS * TRUTH.size))
    kill(t.binary, [target(t, "killed"), t.path("truth")], t.path("out"), 0.5, ["--rate=1", "--interval=200ms"])
    t.equal(recover(t.binary, t.path("out")).returncode, 0)
    paths, = recorded.files(t.path("out")).values()
    last, *others = (read(load(path)) for path in reversed(paths))
    names = {}
    for profile in others:
        names.update({(mapping, address): found for mapping, address, found in profile.locations.values() if address})
    found = {(mapping, address): names_of for mapping, address, names_of in last.locations.values() if address}
    t.check({f"leak_{i}" for i in range(THREADS)} <= {name for names_of in found.values() for name in names_of}, str(found))
    t.equal({place: found[place] for place in found if place in names}, {place: names[place] for place in found if place in names})


def test_the_window_is_on_the_disk_before_its_file_goes(t):
    """If the profile or its folder cannot be synced, the file stays."""
    build = os.path.dirname(os.path.dirname(t.targets))
    shim, command = (os.path.join(build, *name) for name in (("tests", "faults.so"), ("cli", "pprofdelta-dynamic")))
    os.path.exists(shim) and os.path.exists(command) or t.skip("the build has no dynamic command")
    kill(t.binary, PERL, t.path("out"), 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    live, = live_files(t.path("out"))
    data = with_boot(load(live), b"0" * 8)  # so that no process is looked for
    def recovered(**faults):
        for name in os.listdir(t.path("out")):
            os.remove(t.path(f"out/{name}"))
        os.chmod(t.write(live, data), 0o600)
        ran = plainly(t, command, "recover", "out", env=dict(os.environ, LD_PRELOAD=shim, **faults))
        return (ran.code, live_files(t.path("out"))), ran.err
    done, said = recovered(PD_FAULT_OF="fsync", PD_FAULT_LOG=t.path("calls"))
    t.equal((done, load(t.path("calls")).decode().split()), ((0, []), ["fsync", "fsync"]), said)
    for number in (1, 2):
        done, said = recovered(PD_FAULT_OF="fsync", PD_FAULT_HOW=str(errno.EIO), PD_FAULT_NTH=str(number))
        t.equal(done, (1, [live]), said)


REAL = {"python3": ["-c", "d = {}\nfor i in range(10**9): d[i % 50000] = [str(i)] * (i % 50)"],
        "sqlite3": [":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n) "
                                "select count(*) from (select i, hex(randomblob(50)) h from n group by i % 9999)"],
        "perl": PERL[1:],
        "gcc": ["-O3", "-c", "-x", "c", "-o", "/dev/null", "BIG"],
        "redis-server": ["--bind", "127.0.0.1", "--save", "", "--port", "PORT"]}
TOP = {"redis-server": "processMultibulkBuffer", "perl": "Perl_sv_grow"}  # a function of the largest stack
LOAD = "until redis-cli -p %s ping; do sleep 0.01; done; exec redis-benchmark -p %s -t set -r 100000 -n 100000000 -d 1000"
LIMIT = 64 << 20
EARLY = 1 << 20  # so much an interpreter uses itself, before it runs anything


def judge_real(binary, program, folder, seconds):
    """Redis is killed when its load has begun."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        values = {"BIG": os.path.join(folder, "big.c"), "PORT": str(free.getsockname()[1])}
    with open(values["BIG"], "w", encoding="ascii") as file:
        file.writelines(f"int f{i}(int *p, int n) {{ int s = 0; for (int i = 0; i < n; i++) s += p[i] * {i}; return s; }}\n" for i in range(3000))
    has_load = program == "redis-server"
    load = subprocess.Popen(["sh", "-c", LOAD % (values["PORT"], values["PORT"]) if has_load else "true"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)
    command = [program] + [values.get(a, a) for a in REAL[program]]
    was_killed = kill(binary, command, out, 0.5 + 10 * seconds if has_load else seconds, ["--rate=16k", "--interval=50ms"])
    os.killpg(load.pid, signal.SIGKILL)
    load.wait()
    return judge_windows(binary, folder, out, TOP.get(program, "")) if was_killed else ["it ended by itself"]


def limited_cgroup():
    """Makes a cgroup with LIMIT below the own one. Returns its folder, or None."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        own = dict(line.rstrip().split(":", 2)[1:] for line in file)
    for controllers, mount, limit in (("", "", "memory.max"), ("memory", "memory/", "memory.limit_in_bytes")):
        folder = f"/sys/fs/cgroup/{mount}{own.get(controllers, '')}/pprofdelta-{os.getpid()}"
        try:
            os.mkdir(folder)
            with open(os.path.join(folder, limit), "r+", encoding="ascii") as file:
                file.write(str(LIMIT))
            return folder
        except OSError:
            os.path.isdir(folder) and os.rmdir(folder)
    return None


def test_out_of_memory_kills(t):
    """What the program hoarded is in use then."""
    shutil.which("perl") or t.skip("perl is not here")
    cgroup = limited_cgroup() or t.skip("no cgroup with a limit can be made here")
    def enter():
        with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    try:
        for number in range(3):
            process = start(t, "perl", "-e", "while (1) { push @kept, 'x' x 50000; }", preexec_fn=enter,
                            options=["-o", t.path(f"out{number}"), "--rate=16k", "--interval=20ms"])
            process.communicate(timeout=TIMEOUT)
            t.equal(process.returncode, -signal.SIGKILL)
            t.equal(judge_windows(t.binary, t.dir, t.path(f"out{number}"), TOP["perl"], LIMIT // 2), [])
    finally:
        os.rmdir(cgroup)


def judge_windows(binary, folder, out, top, least=1):
    """Each window once, valid, and without a gap; in the end so many bytes are in use, most of them at the top."""
    ran = recover(binary, out)
    faults = [ran.stderr] if ran.returncode else []
    for paths in recorded.files(out).values():
        done = subprocess.run([binary, "sum", *paths, "-o", os.path.join(folder, "sum.pb.gz")], capture_output=True,
                              text=True, check=False)
        if done.returncode or "missing" in done.stderr:
            faults.append(done.stderr)
            continue
        used = recorded.Profile(os.path.join(folder, "sum.pb.gz"), is_stamped=False).total(recorded.INUSE_BYTES)
        shown = subprocess.run([binary, "show", "--stacks=1", "--type=inuse_space", os.path.join(folder, "sum.pb.gz")],
                               capture_output=True, text=True, check=False).stdout
        if used < least or used > EARLY and top not in shown:
            faults.append(f"{used} bytes are in use, most of them at {shown}")
    return faults


def main(binary, targets, kills):
    draw = random.Random(29)
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in ["killed", *(name for name in REAL if shutil.which(name))]:
            count = int(kills) if name == "killed" else int(kills) // 10
            bad = 0
            for i in range(count):
                seconds = draw.random() * 0.15
                faults = (kill_and_judge(binary, os.path.join(targets, "killed"), folder, seconds) if name == "killed"
                          else judge_real(binary, name, folder, seconds))
                bad += bool(faults)
                if faults:
                    print(f"{name} {i}, after {seconds:.3f} s: {faults}", flush=True)
            print(f"{name}: {count} kills, {bad} wrong", flush=True)
            failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 4 else __doc__)
