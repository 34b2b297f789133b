"""Programs that are killed: what is recovered of them is true."""

import os
import shutil
import signal
import struct
import subprocess
import time

import recorded
from pb import load

SIZES = 5000, 100, 300  # of the blocks of each thread
THREADS = len(SIZES)
TRUTH = struct.Struct("4Q")  # begun, done, ends begun, ends done
READY = struct.Struct("Q")   # the first word of the file, when it is complete
PERL = ["perl", "-e", "while (1) { $h{int(rand(50000))} = 'x' x rand(500); }"]


def live_files(folder):
    return [os.path.join(folder, name) for name in os.listdir(folder) if ".live" in name] if os.path.isdir(folder) else []


def is_ready(folder):
    for path in live_files(folder):
        with open(path, "rb") as file:
            head = file.read(READY.size)
        if len(head) == READY.size and READY.unpack(head)[0]:
            return True
    return False


def kill(binary, command, folder, seconds, options):
    """Records the command, and kills it that long after its file is there. Returns whether it was."""
    process = subprocess.Popen([binary, "record", "-q", "-o", folder, *options, "--", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
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
    deadline = time.monotonic() + 60
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


def kill_and_judge(binary, target, folder, seconds):
    truth_path = os.path.join(folder, "truth")
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    with open(truth_path, "wb") as file:
        file.write(bytes(THREADS * TRUTH.size))
    if not kill(binary, [target, truth_path], out, seconds, ["--rate=1", "--interval=20ms", "--no-account"]):
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


def test_what_is_not_the_agents_is_left_alone(t):
    """A file that a stranger may have planted, or that is damaged, stays, and a message says why."""
    out = t.path("out")
    kill(t.binary, PERL, out, 0.1, ["--rate=4k"]) or t.skip("perl is not here")
    whole, = live_files(out)
    kept = shutil.copy(whole, t.path("kept"))
    os.chmod(kept, 0o600)
    data = load(kept)
    os.remove(whole)
    damaged = {"cut": data[:100], "short": data[:40000], "foreign": b"x" * 40000, "root": data[:8] + bytes(8) + data[16:]}
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
                      ("root", "lies outside"), ("readable", "of this user alone"), ("link", "symbolic link"),
                      ("hard", "of this user alone"), ("pipe", "is a pipe")):
        line, = [line for line in ran.stderr.splitlines() if f"heap.{name}." in line]
        t.contains(line, why)


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
        while not is_ready(out):
            time.sleep(0.001)
        ran = run()
        t.equal((ran.returncode, len(live_files(out))), (0, 1))
        t.contains(ran.stderr, "processes that live, or are being recovered: 1")
    finally:
        process.kill()
        process.wait()
