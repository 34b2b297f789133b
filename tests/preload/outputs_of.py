"""Where profiles go, when, and what happens where they cannot go."""

import glob
import os
import resource
import shutil
import signal
import stat
import subprocess
import time

import recorded
from agents import (TIMEOUT, by_hand, checked, counted, only, plainly, quiet, record, same, start, stop, target, until)
from pb import Request, inflate

ALLOCATE = """
import sys, time
kept = []
for round in range(int(sys.argv[1])):
    kept.append([bytes(50000) for _ in range(20)])
    del kept[:-200]
    time.sleep(0.01)
print(len(kept))
"""


def python(rounds, *more):
    return ["/usr/bin/python3", "-c", ALLOCATE, str(rounds), *more]


def test_every_interval(t):
    process = start(t, *python(3000), options=["--interval=100ms"])
    t.check(until(lambda: counted(t) >= 4), "no four windows came")
    t.equal(stop(t, process), (b"", b""))
    t.check(len(only(t, checked(t, t.path("out")))) >= 4, "windows")


def test_threshold(t):
    ran = record(t, *python(20), options=["--threshold=5M", "--rate=4k"])
    t.check(any("5242880 bytes are in use" in line for line in ran.noise), f"said {ran.noise}")
    t.check(any(name.endswith(".top.txt") for name in os.listdir(t.path("out"))), "no file with the largest sites")


def test_threshold_of_a_program_that_ends_at_once(t):
    """The agent's thread does nothing in its first 100 ms. So who ends the program, or runs another one, reports what is left."""
    code = "import os; kept = [bytes(50000) for _ in range(110)]; os.execv('/bin/true', ['true'])"
    few = [target(t, "symbols_few")]
    for command, threshold, rate in ((few, "90k", 1), (["/usr/bin/python3", "-c", code], "5M", "4k")) * 15:
        ran = record(t, *command, options=[f"--threshold={threshold}", f"--rate={rate}"])
        t.check(any("bytes are in use" in line for line in ran.noise), f"{command[0]}: said {ran.noise}")


def test_threshold_as_a_share(t):
    """Of memory that is allocated and not touched."""
    piece = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1000
    code = "kept = [bytes(%d) for _ in range(40)]" % piece
    ran = record(t, "/usr/bin/python3", "-c", code, options=["--threshold=1%"])
    t.check(any("bytes are in use, 1% of the" in line for line in ran.noise), f"said {ran.noise}")


def test_memory_pressure(t):
    """A window when threads waited for memory, while the program runs on. A file stands for the kernel's. Where there is
    none, it is said."""
    script = 'mount -t tmpfs none /sys/fs/cgroup && mount $0 "$1" /proc/pressure"$2" && shift 2 && exec "$@"'
    under = lambda how, what, file, *command: ["unshare", "-rm", "sh", "-c", script, how, what, file, *command]
    run = lambda rounds: [t.binary, "record", "-o", t.path("out"), "--pressure", "--interval=1h", "--rate=4k", "--", *python(rounds)]
    def wait(total):
        with open(t.path("waited"), "w", encoding="ascii") as file:
            file.write(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 total=0\n")
    wait(1000)
    command = under("--bind", t.path("waited"), "/memory")
    if not shutil.which("unshare") or plainly(t, *command, "true").code:
        t.skip("no file can take the place of the kernel's here")
    process = subprocess.Popen([*command, *run(10**6)], cwd=t.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        t.check(until(lambda: glob.glob(t.path("out/*.live"))), "the agent has no thread")
        until(lambda: wait(time.monotonic_ns() // 1000) or counted(t))
        t.equal((counted(t), process.poll()), (1, None))
    finally:
        stop(t, process)
    t.contains([[1], [1, 2]], [p.sequence for p in only(t, checked(t, t.path("out")))])
    ran = plainly(t, *under("-t tmpfs", "none", "", *run(20)))
    t.equal((ran.code, ran.out), (0, b"20\n"))
    t.contains("\n".join(ran.noise), "--pressure has no effect")


def test_a_process_without_a_sample_leaves_nothing(t):
    """Neither a file nor anything for a command. COMMAND itself, whichever program it has become, says
    that it was recorded."""
    several = "true; (true); cat /dev/null; sh -c 'true; true' | cat; "
    for script, program in (("true", "bash"), (several + "exec true", "true"),
                            (several + "(true) & wait", "bash")):
        ran = record(t, "bash", "-c", script, options=["--rate=1T"], end=None)
        t.equal(os.listdir(t.path("out")), [], script)
        t.equal(len(ran.noise), 1, script)
        t.contains(ran.err, f"pprofdelta: no profile of {program}: none of its allocations was sampled",
                   "--rate", t.path("out"))
    quiet(t, record(t, "bash", "-c", several + "exec true", options=["--rate=1T", "--to=cat >>got"]))
    t.check(not os.path.exists(t.path("got")), "the command got an empty profile")


def test_a_window_without_a_change_is_not_written(t):
    """The next one begins where the last one ends. With --snapshot, it has what is in use."""
    def windows(files, *options):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = quiet(t, record(t, "/usr/bin/python3", "-c", STAGES, t.path("out"), str(files),
                              options=["--interval=20ms", "--rate=50k", *options]))
        t.equal(ran.code, 0, f"{options}")
        return only(t, checked(t, t.path("out")))
    some = windows(0)
    t.check(all(p.samples for p in some), "an empty profile was written")
    t.check(all(a.end == b.begin for a, b in zip(some, some[1:]) if b.kind == "delta"), "a gap")
    t.check(len(windows(10, "--snapshot")) >= 10, "snapshots are missing")


STAGES = """
import os, sys, time
kept = [bytes(100000) for _ in range(50)]
time.sleep(0.3)
while len(os.listdir(sys.argv[1])) < int(sys.argv[2]):
    time.sleep(0.01)
kept += [bytes(100000) for _ in range(50)]
"""


def test_a_process_with_a_sample_leaves_it(t):
    """Also where it is neither COMMAND nor lives for long."""
    quiet(t, record(t, "sh", "-c", "\"$0\" execve /bin/true; :", target(t, "starts"),
                    options=["--rate=1"]))
    t.equal(len(checked(t, t.path("out"))), 2, "processes")


def test_by_hand_no_process_is_the_command(t):
    variables = by_hand(t)
    shutil.rmtree(t.path("out"))
    os.mkdir(t.path("out"))
    for rate, files in (("1099511627776", 0), ("1", 1)):
        ran = plainly(t, target(t, "starts"), "execve", "/bin/true",
                      env={**os.environ, **variables, "PPROFDELTA_RECORD_RATE": rate})
        t.equal((ran.code, ran.err), (0, ""))
        t.equal(counted(t), files, f"files at a rate of {rate}")


def test_on_a_signal(t):
    for options, number in (([], signal.SIGUSR2), (["--signal=USR1"], signal.SIGUSR1),
                            (["--signal=RTMIN+3"], signal.SIGRTMIN + 3)):
        process = start(t, *python(3000), options=options)
        try:
            before = counted(t)
            until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2)
            process.send_signal(number)
            t.check(until(lambda: counted(t) > before), f"no window after signal {number}")
            t.check(process.poll() is None, "the signal ended the program")
        finally:
            stop(t, process)
    checked(t, t.path("out"))


def test_no_signal(t):
    process = start(t, *python(3000), options=["--signal=none"])
    until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2)
    stop(t, process, signal.SIGUSR2)
    t.equal(process.returncode, -signal.SIGUSR2)


def test_signals_are_inherited_as_they_were(t):
    """One that is ignored stays so, also if a window could be asked for by it."""
    show = "exec /usr/bin/python3 -c 'print(*(s for s in open(\"/proc/self/status\") if s[:4] in (\"SigB\",\"SigI\")))'"
    for script in (show, "trap '' USR2; " + show):
        t.equal(record(t, "bash", "-c", script).out, plainly(t, "bash", "-c", script).out)


def test_the_environment_is_otherwise_the_same(t):
    own = ("PPROFDELTA_RECORD_", "LD_PRELOAD=", "_=")
    lines = [{line for line in run(t, "env").out.decode().splitlines() if not line.startswith(own)}
             for run in (plainly, record)]
    t.equal(lines[0], lines[1])
    env = {**os.environ, "LD_PRELOAD": "libm.so.6"}
    preload = by_hand(t, env=env)["LD_PRELOAD"]
    t.check(preload.endswith(":libm.so.6"), f"what was preloaded is lost: {preload}")


def test_the_command(t):
    """It gets all, also where there is a folder."""
    for number, folder in enumerate(([], ["-o", t.path("out")])):
        t.check(not os.path.exists(t.path("out")), "there are files too")
        process = start(t, *python(3000), options=["--interval=100ms", f"--to=gzip -dc >got{number}.$$.pb", *folder])
        got = lambda: glob.glob(t.path(f"got{number}.*"))
        t.check(until(lambda: len(got()) >= 2), "no two profiles came")
        t.equal(stop(t, process), (b"", b""))
        t.succeeds("check", *got())
    t.equal(os.listdir(t.path("out")), [], "files")


def test_the_environment_of_the_command(t):
    """It is the one that the program began with, which may change its own at any time, without the agent."""
    change = "import os; os.environ['EARLY'] = 'changed'; os.environ['LATE'] = 'added'; x = [0] * 10**6"
    ran = record(t, "/usr/bin/python3", "-c", change, options=["--to=env >seen"],
                 env={**os.environ, "EARLY": "as it was"})
    quiet(t, ran)
    seen = t.load("seen").decode()
    t.contains(seen, "EARLY=as it was\n", "PATH=")
    t.lacks(seen, "LATE=", "PPROFDELTA_RECORD", "LD_PRELOAD")


def test_a_command_that_fails_gets_it_again(t):
    """The first windows are refused; the one that is taken has their events, under their number."""
    flaky = t.write("flaky", b"#!/bin/sh\nn=$(cat n 2>/dev/null || echo 0)\necho $((n + 1)) >n\n"
                             b"[ $n -ge 3 ] || exit 9\ncat >heap.x.$$.$(printf %06d $n).pb.gz\n")
    os.chmod(flaky, 0o755)
    ran = record(t, target(t, "leaks"), "4", "1500",
                 options=["--rate=1", "--interval=20ms", "--to=./flaky"])
    t.equal(ran.code, 0)
    t.equal(len([line for line in ran.noise if "was not delivered" in line]), 1, "messages")
    t.contains(ran.err, "status 9")
    taken = sorted((p for ps in recorded.profiles(t.dir).values() for p in ps), key=lambda p: p.sequence)
    t.check(taken, "nothing was taken")
    t.equal(taken[0].kind, "full")
    sums = sum(size for stack, (_, size) in recorded.add_up(taken).items()
               if "leak_by_new" in stack)
    t.equal(sums, 4 * 500 * 4000)


HOLD = """
import os, sys, time
kept = [bytes(50000) for _ in range(20)]
while not os.path.exists("begun"):
    kept.append(bytes(50000))
    time.sleep(0.01)
def leak_at_last():
    return [bytes(50000) for _ in range(100)]
kept.append(leak_at_last())
print("done", flush=True)
"""


def test_the_end_waits_for_the_command(t):
    """A command that is slower than a file would be, but within its limit, gets the last window, too. The
    message comes when the program has ended, and names the limit."""
    os.mkdir(t.path("got"))
    slow = ("[ -e begun ] || { touch begun; while ! [ -e go ]; do sleep 0.1; done; }; "
            "cat >got/heap.x.$$.$(printf %06d $(ls got | wc -l)).pb.gz")
    process = start(t, "/usr/bin/python3", "-c", HOLD, options=["--interval=50ms", "--rate=1", "--timeout=1h", f"--to={slow}"])
    t.equal(process.stdout.readline(), b"done\n")
    t.equal(process.stderr.readline(), b"pprofdelta: the program has ended; waiting up to 3600 s for the "
                                       b"command that takes its profiles\n")
    t.check(process.poll() is None, "the program did not wait")
    t.write("go", b"")
    t.equal(process.communicate(timeout=TIMEOUT), (b"", b""))
    t.equal(process.returncode, 0)
    got = sorted((p for ps in recorded.profiles(t.path("got")).values() for p in ps), key=lambda p: p.sequence)
    t.equal([p.sequence for p in got], [1, 2])
    t.check(got[1].total(recorded.ALLOC_BYTES) >= 5e6, "what came last is missing")


def test_what_the_command_does_not_take_at_the_end(t):
    """It is said, also where an earlier refusal was, and with -o it can be recovered."""
    program = python(20)
    for timeout, command, why in (("1h", "cat >/dev/null; exit 9", "the command exited with status 9"),
                                  ("1s", "exec sleep 600", "the command took longer than 1 s")):
        options = [f"--to={command}", f"--timeout={timeout}", "--interval=100ms", "--rate=4k"]
        ran = record(t, *program, options=options)
        t.equal((ran.code, ran.out), (0, b"20\n"))
        t.equal([line for line in ran.noise if "last profile" in line],
                [f"pprofdelta: the last profile was not delivered: {why}; the profile is lost"])
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = record(t, *program, options=[*options, "-o", t.path("out")])
        t.equal([line for line in ran.noise if "last profile" in line],
                [f"pprofdelta: the last profile was not delivered: {why}; pprofdelta recover can make it"])
        profiles = only(t, checked(t, t.path("out"), killed=1))
        t.equal(len(profiles), 1, "files")
        t.equal(profiles[0].sequence, 1, "all that happened, since nothing was taken before")
        t.check(profiles[0].total(recorded.ALLOC_BYTES) > 15e6, "allocations are missing")
    os.chmod(t.path("out"), 0o500)
    if os.geteuid() != 0:
        t.equal(record(t, *program, options=["--to=exit 9", "-o", t.path("out")]).code, 125)


def test_the_folder_vanishes(t):
    process = start(t, *python(150), options=["--interval=50ms"])
    t.check(until(lambda: counted(t) >= 2), "nothing was written")
    os.rename(t.path("out"), t.path("gone"))
    out, err = process.communicate(timeout=TIMEOUT)
    t.equal((process.returncode, out), (0, b"150\n"))
    said = err.decode().splitlines()
    t.equal(len(said), 2, f"messages {said}")
    t.contains(said[0], "the next one will have its events", "no such file or directory")
    t.contains(said[1], "the last profile cannot be written and is lost", "no such file or directory")


def rooted(t, *arguments, killed=0):
    """Runs the program that makes an empty directory its root. Returns the run, and the blocks by function."""
    os.makedirs(t.path("root"), exist_ok=True)
    shutil.rmtree(t.path("out"), ignore_errors=True)
    ran = same(t, target(t, "rooted"), arguments[0], t.path("root"), *arguments[1:],
               options=["--rate=1", "--interval=40ms"], code=0)
    if ran.out == b"no rights\n":
        t.skip("the root directory cannot be changed here")
    t.equal(os.listdir(t.path("root")), [])
    blocks = {}
    for windows in checked(t, t.path("out"), killed).values():
        for window in windows:
            for name, size in window.by_function(recorded.ALLOC_BYTES).items():
                blocks[name] = blocks.get(name, 0) + size // 1000
    return ran, blocks


def test_another_root(t):
    """The folder is the one that was given, also for a child."""
    for way in ("chroot", "syscall"):
        ran, blocks = rooted(t, way)
        quiet(t, ran)
        for name in ("leak_early", "leak_after", "leak_in_child", "leak_at_last"):
            t.equal(blocks.get(name), 100, f"{way}: {name}")


def test_another_root_and_no_descriptors(t):
    """The agent's thread has the folder still. What the program's threads cannot write can be recovered."""
    ran, blocks = rooted(t, "chroot", "closed", killed=1)
    t.equal((blocks.get("leak_early"), blocks.get("leak_after")), (100, 100))
    t.equal((len(ran.noise), ran.rest), (2, []), "of the child and of the program")
    for line in ran.noise:
        t.contains(line, t.path("out"), "the last profile cannot be written", "no such file or directory")


def test_the_folder_comes_back(t):
    process = start(t, *python(200), options=["--interval=50ms", "--rate=4k"])
    t.check(until(lambda: counted(t) >= 2), "nothing was written")
    os.rename(t.path("out"), t.path("gone"))
    t.contains(process.stderr.readline().decode(), "the next one will have its events")
    os.rename(t.path("gone"), t.path("out"))
    process.communicate(timeout=TIMEOUT)
    windows = only(t, checked(t, t.path("out")))
    t.equal([p.sequence for p in windows], list(range(1, len(windows) + 1)), "sequence numbers")


def test_files_may_not_grow(t):
    """A limit on the size of files stands for a full disk: told once, and no signal kills."""
    ran = record(t, *python(40), options=["--interval=50ms"],
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    t.equal((ran.code, ran.out), (0, b"40\n"))
    t.equal(len(ran.noise), 2, f"messages {ran.noise}")
    t.contains(ran.noise[0], "the next one will have its events", "file too large")
    t.contains(ran.noise[1], "the last profile cannot be written and is lost", "file too large")
    t.equal(os.listdir(t.path("out")), [], "what is left")


def test_profiles_have_the_name_that_was_run(t):
    """Of a symbolic link that is its own name, as of redis-server, which is a link on Debian."""
    os.symlink(target(t, "family"), t.path("family-server"))
    for command, name in (([target(t, "family")], "family"), (["./family-server"], "family-server"),
                          (["bash", "-c", "exec -a 'a b: c' ./family-server"], "a_b__c"),
                          (["bash", "-c", "exec -a -login ./family-server"], "login"),
                          (["bash", "-c", "exec -a '' ./family-server"], "unknown"),
                          (["bash", "-c", "exec -a there/ ./family-server"], "unknown")):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        t.equal(record(t, *command, options=["--rate=1"]).code, 0, str(command))
        first = next((path for path in sorted(os.listdir(t.path("out"))) if path.startswith(f"heap.{name}.")
                      and path.endswith(".pb.gz")), None)
        t.check(first, f"{command}: {os.listdir(t.path('out'))}")
        t.check(any(path == target(t, "family") for _, _, _, path, _ in
                    recorded.Profile(t.path("out/" + first)).mappings.values()), "the mapping of the program")


def test_nothing_is_overwritten(t):
    """Another process of that pid was here before."""
    os.mkdir(t.path("out"))
    record(t, "bash", "-c", "echo old >out/heap.family.$$.000001.pb.gz; exec \"$0\"",
           target(t, "family"), options=["--rate=1"])
    olds = [name for name in os.listdir(t.path("out")) if t.load("out/" + name) == b"old\n"]
    t.equal(len(olds), 1, "the older file")
    pid = olds[0].split(".")[2]
    t.check(os.path.exists(t.path(f"out/heap.family.{pid}.000002.pb.gz")), "the next number is not used")


def test_the_numbers_of_descriptors(t):
    """Every program opens its files under the numbers that it gets without the agent."""
    code = ("import os, sys\n"
            "def note(): kept.append([os.open('/dev/null', os.O_RDONLY) for _ in range(3)])\n"
            "kept = [sorted(os.listdir('/proc/self/fd'))]\nnote()\n"
            "if os.fork() == 0:\n    os.closerange(1, 512)\n    note()\n"
            "    if os.fork() == 0: note()\n    else: os.wait()\n"
            "    open(f'numbers.{len(sys.argv)}.{len(kept)}', 'w').write(str(kept))\n    os._exit(0)\n"
            "os.wait()\nopen(f'numbers.{len(sys.argv)}', 'w').write(str(kept))\n"
            "if len(sys.argv) > 1: os.closerange(0, 512); os.execv(sys.executable, [sys.executable, *sys.argv[:-1]])\n")
    script = t.write("script", code.encode())
    for streams in ("", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        found = []
        for under in ([], [t.binary, "record", "-q", "--rate=1", "-o", t.path("out"), "--"]):
            command = ["bash", "-c", f'exec "$@" {streams}', "x", *under, "/usr/bin/python3", script, "again"]
            subprocess.run(command, cwd=t.dir, capture_output=True, check=False, timeout=TIMEOUT)
            names = sorted(name for name in os.listdir(t.dir) if name.startswith("numbers"))
            t.equal(len(names), 6, f"{names}")
            found.append([t.load(name) for name in names])
            for name in names:
                os.remove(t.path(name))
        t.equal(found[1], found[0], streams)


def test_stderr_that_is_something_else_by_now(t):
    """A program that makes its descriptor 2 a data file finds no message in it."""
    code = ("import os, time\nfd = os.open('data', os.O_CREAT | os.O_WRONLY)\nos.dup2(fd, 2)\n"
            "kept = [bytes(50000) for _ in range(100)]\ntime.sleep(0.5)\n")
    os.mkdir(t.path("out"))
    t.equal(record(t, "bash", "-c", "rmdir out; exec /usr/bin/python3 -c \"$0\"", code, options=["--interval=50ms"]).code, 0)
    t.equal(t.load("data"), b"")


def test_modes(t):
    old = os.umask(0o027)
    try:
        quiet(t, record(t, *python(3)))
    finally:
        os.umask(old)
    only(t, checked(t, t.path("out")))
    for name in os.listdir(t.path("out")):
        mode = stat.S_IMODE(os.stat(t.path("out/" + name)).st_mode)
        t.equal(mode, 0o640, name)


def test_what_cannot_be_run(t):
    """The status is env's: 126 for what is there and cannot be run, 127 for what is not there."""
    t.write("plain", b"")
    os.mkdir(t.path("bin"))
    os.mkfifo(t.path("pipe"), 0o755)  # which nobody opens
    t.write("bin/plain", b"#!/bin/sh\n")
    script = t.write("script", b"#!/no/such/interpreter\n")
    os.chmod(script, 0o755)
    env = {**os.environ, "PATH": t.path("bin")}
    for command, code, word in (("./missing", 127, "No such file"), ("missing", 127, "No such file"),
                                ("", 127, "No such file"), ("./script", 127, "No such file"),
                                ("/", 126, "Permission denied"), ("./plain", 126, "Permission denied"),
                                ("plain", 126, "Permission denied"), ("./bin", 126, "Permission denied"),
                                ("./pipe", 126, "Permission denied"), ("/dev/null", 126, "Permission denied")):
        t.equal(plainly(t, "/usr/bin/env", command, env=env).code, code, f"env {command}")
        ran = record(t, command, env=env)
        t.equal(ran.code, code, command)
        t.contains(ran.err, "cannot run: ", word)
    for code in (0, 1, 7, 125, 126, 127, 200):
        t.equal(record(t, "sh", "-c", f"exit {code}").code, code, "the command's status")


def test_what_record_cannot_do(t):
    t.write("file", b"")
    os.mkdir(t.path("folder"))
    for args, env in ((["-o", "file"], {}), (["-o", "no/such/folder"], {}),
                      ([], {"PPROFDELTA_AGENT": "file"}), ([], {"PPROFDELTA_AGENT": "missing"}),
                      ([], {"PPROFDELTA_AGENT": "folder"})):
        t.fails(125, "record", *args, "true", env=env)
    t.contains(t.fails(125, "record", "true", env={"PPROFDELTA_AGENT": "file"}).err, "file: is no shared object")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([t.binary, "record", "--help"], stdout=full, check=False, stderr=subprocess.PIPE)
        t.equal(done.returncode, 125)


def test_wrong_variables(t):
    keeps = ("5", "files=5", "files=,a", "files=0,a", "files=5,", "files=5,A/..", "days=5,a", "files=5," + 50 * "a")
    for name, value in (("RATE", "-1"), ("INTERVAL", "5s"), ("SIGNAL", "KILL"), ("SIGNAL", "15"), ("SNAPSHOT", "yes"),
                        ("PID", "x"), *(("KEEP", value) for value in keeps)):
        variable = f"PPROFDELTA_RECORD_{name}"
        ran = record(t, "env", f"{variable}={value}", "true")
        t.equal(ran.code, 0)
        t.equal(ran.noise, [f"pprofdelta: nothing is recorded in this process: the value of "
                            f"this variable is invalid: {variable}"])


def test_signals_by_name_and_number(t):
    """What the agent is told."""
    for name, number in (("SIGUSR2", signal.SIGUSR2), ("hup", signal.SIGHUP), ("12", 12), ("RTMIN+3", signal.SIGRTMIN + 3),
                         ("RTMAX-2", signal.SIGRTMAX - 2), ("none", 0), ("RTMIN", signal.SIGRTMIN), ("64", 64),
                         *((name, signal.Signals["SIG" + name].value) for name in
                           ("USR1", "ALRM", "VTALRM", "PROF", "IO", "PWR"))):
        ran = record(t, "sh", "-c", "echo $PPROFDELTA_RECORD_SIGNAL", options=[f"--signal={name}"])
        t.equal((ran.out, ran.noise), (b"%d\n" % number, []), name)


def test_arguments_are_the_commands_own(t):
    t.equal(record(t, "echo", "-o", "--rate", "--", "x").out, b"-o --rate -- x\n")
    t.equal(plainly(t, t.binary, "record", "-o", t.path("out"), "echo", "--help").out, plainly(t, "echo", "--help").out)


CHURN = """
import glob, os, sys, time
kept, mine = [bytes(50000) for _ in range(5)], 'out/heap.python3.%d.*.pb.gz' % os.getpid()
if len(sys.argv) > 2:  # another file takes the place of the newest, which is not deleted soon
    while not os.path.exists('first'):
        for newest in sorted(glob.glob(mine))[-1:]:
            os.rename(newest, 'first')
        time.sleep(0.002)
    open('new', 'w').close()
    os.rename('new', newest)
while int(max(glob.glob(mine), default='...0..').split('.')[-3]) < int(sys.argv[1]):
    kept.append([bytes(50000) for _ in range(20)])
    del kept[:-5]
    time.sleep(0.002)
"""


def churn(t, limit, windows, *more):
    """The run of so many windows, and the names of the files that it left."""
    ran = record(t, "/usr/bin/python3", "-c", CHURN, str(windows), *more, end=None,
                 options=[f"--keep={limit}", "--interval=10ms", "--rate=1k"])
    t.equal(ran.code, 0, ran.err)
    return ran, sorted(name for name in os.listdir(t.path("out")) if name.startswith("heap.python3"))


def test_the_oldest_profiles_are_deleted(t):
    """By number, by size and by age. The newest always stays, and each says all that is in use."""
    for limit, least, most in (("3", 3, 3), ("1", 1, 1), ("1ms", 1, 2), ("1h", 4, 1000), ("1k", 1, 1), ("64k", 1, 15),
                               ("1G", 4, 1000)):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran, names = churn(t, limit, 20)
        t.equal(sorted(os.listdir(t.path("out"))), names, "the list is left")
        t.succeeds("check", "-q", *[os.path.join("out", name) for name in names])
        found = only(t, recorded.profiles(t.path("out")))
        t.check(least <= len(names) <= most, f"--keep={limit} left {names}")
        numbers = [int(name.split(".")[-3]) for name in names]
        t.equal(numbers, list(range(numbers[-1] - len(names) + 1, numbers[-1] + 1)), "the newest ones")
        t.contains(ran.noise[0], f"{numbers[-1]} profiles, the oldest deleted (--keep): " if numbers[0] > 1 else
                   f"{numbers[-1]} profiles: ")
        t.equal({p.kind for p in found[1:]} - {"window"}, set(), "each stands for itself")
        size = sum(os.path.getsize(os.path.join(t.path("out"), name)) for name in names)
        t.check(limit != "64k" or size <= 64 << 10, f"{size} bytes")


def test_nothing_else_is_deleted(t):
    """Profiles of another run, files of others, and what took the place of a profile of this run."""
    os.mkdir(t.path("out"))
    others = {"heap.python3.11.1.000001.pb.gz": b"another run's", "heap.x": b"", "notes.txt": b"text"}
    for name, data in others.items():
        t.write("out/" + name, data)
    _, names = churn(t, "10", 30, "replace")
    kept = [name for name in names if os.path.getsize(t.path("out/" + name)) > 100]
    t.equal(len(kept), 10, f"{names}")
    empty = [name for name in names if not os.path.getsize(t.path("out/" + name))]
    t.equal(len(empty), 1, f"what took the place of a profile: {names}")
    t.equal({name: t.load("out/" + name) for name in others}, others)
    _, again = churn(t, "2", 5)
    t.check(set(names) <= set(again), "the second run deleted files of the first")
    t.equal(len(again), len(names) + 2)


def test_a_clock_that_jumps(t):
    """The age of a profile is the time that has gone by, whatever the clock says."""
    code = ALLOCATE + "    if round == 20: open('jumped', 'w')\n"
    code = code.replace("print(len(kept))\n", "", 1)
    record(t, "/usr/bin/python3", "-c", code, "60", options=["--keep=7d", "--interval=10ms", "--rate=1k"],
           env={**os.environ, "LD_PRELOAD": target(t, "libjump.so")})
    found = only(t, recorded.profiles(t.path("out")))
    t.equal([p.sequence for p in found], list(range(1, len(found) + 1)))
    t.check(found[-1].end - found[0].end > 29 * 86400 * 10**9, "the clock did not jump")


def test_all_processes_of_a_run_have_one_limit(t):
    script = '"$0"; ("$0"; "$0") & wait; exec "$0"'
    record(t, "sh", "-c", script, target(t, "counted"), options=["--keep=3", "--rate=1"])
    found = recorded.profiles(t.path("out"))
    t.equal(sum(len(profiles) for profiles in found.values()), 3)
    t.check(any("counted" in p.path for profiles in found.values() for p in profiles), "the last program is there")


def test_requests_of_otlp(t):
    env = {"OTEL_RESOURCE_ATTRIBUTES": "a=x%2Cy", "OTEL_SERVICE_NAME": "my shop"}
    t.succeeds("record", "-q", "-o", "out", "--format=otlp", "--resource=k=50%,=", "--rate=1", "--",
               "sort", "/dev/null", env=env)
    names = os.listdir(t.path("out"))
    t.equal([name[-len(".000001.otlp.gz"):] for name in names], [".000001.otlp.gz"])
    t.succeeds("check", *[os.path.join("out", name) for name in names])
    request = Request(inflate(t.load(os.path.join("out", names[0]))))
    t.equal(request.resource, [("service.name", "my shop"), ("a", "x,y"), ("k", "50%,=")])
    t.equal(len(set(request.ids)), len(request.profiles))
    t.check(len(request.profiles) >= 8, "rss_space and mapped_space are two")  # those without samples are left out
