"""What record says to its user: where the profiles are, what to type next, and what is not seen."""

import os
import re
import shutil
import subprocess

import recorded
from agents import TIMEOUT, by_hand, checked, need, only, plainly, record, same, target

ODD = "a 'b\" $HOME"  # a folder's name that a shell would change


def commands(ran):
    """The commands after "next:"."""
    line = next(line for line in ran.noise if line.startswith("pprofdelta: next: "))
    return line.removeprefix("pprofdelta: next: ").split(", or: ")


def typed(t, command):
    """What a shell does with a command of ours."""
    done = t.shell(command)
    t.equal((done.returncode, done.stderr), (0, ""), command)
    return done.stdout


def test_one_profile(t):
    """The program and its build id are in the profile, and what is to be typed works."""
    for folder in ("out", ODD):
        ran = record(t, target(t, "counted"), options=["--rate=1", "-o", folder], end=None)
        paths = [os.path.join(t.path(folder), name) for name in os.listdir(t.path(folder))]
        t.equal(len(paths), 1)
        t.check(re.fullmatch(r"heap\.counted\.\d+\.000001\.pb\.gz", os.path.basename(paths[0])), paths[0])
        t.equal(len(ran.noise), 2, ran.err)
        t.contains(ran.noise[0], "1 profile: ", os.path.basename(paths[0]))
        t.equal((ran.code, ran.out, ran.rest), (0, b"", []))
        show, = commands(ran)
        t.check(show.startswith("pprofdelta show "), show)
        t.contains(typed(t, show), "inuse_space", "counted")
        main = recorded.Profile(paths[0]).mappings[1]
        notes = subprocess.run(["readelf", "-n", target(t, "counted")], capture_output=True, text=True,
                               check=True).stdout
        t.equal(main[3], os.path.realpath(target(t, "counted")))
        t.contains(notes, main[4] or "no build id")


def test_several_profiles(t):
    """leaks comes first, and the sum of all windows can be shown."""
    for ending, options in ((".pb.gz", []), (".otlp.gz", ["--format=otlp"])):
        ran = record(t, target(t, "leaks"), "4", "300",
                     options=["--rate=4k", "--interval=20ms", "-o", ODD, *options], end=None)
        written = sorted(name for name in os.listdir(t.path(ODD)) if name.endswith(ending))
        t.check(len(written) > 1, "only one window was written")
        t.contains(ran.err, f"pprofdelta: {len(written)} profiles: ")
        leaks, show = commands(ran)
        t.check(leaks.startswith("pprofdelta leaks "), leaks)
        files = typed(t, leaks.replace("pprofdelta leaks", "printf '%s\\n'")).splitlines()
        t.equal(files, [os.path.join(t.path(ODD), name) for name in written])
        t.contains(typed(t, show), "leak_by_new")


def test_quietly(t):
    """Neither with -q, nor with a command that takes the profiles, nor by hand."""
    for options in (["-q"], ["--quiet"], ["--to=cat >/dev/null"]):
        ran = record(t, target(t, "counted"), options=["--rate=1", *options], end=None)
        t.equal((ran.code, ran.err), (0, ""), f"{options}")
    ran = plainly(t, target(t, "counted"), env={**os.environ, **by_hand(t), "PPROFDELTA_RECORD_RATE": "1"})
    t.equal((ran.code, ran.err), (0, ""))


def test_one_process_says_it(t):
    """Of all that are recorded, the one that record became."""
    script = '"$0"; ("$0" & wait); exec "$0"'
    ran = record(t, "sh", "-c", script, target(t, "counted"), options=["--rate=1"], end=None)
    t.equal(len(ran.noise), 2, ran.err)
    checked(t, t.path("out"))


def test_every_end_says_it(t):
    """Whichever way the program ends, once it is over, on stderr."""
    for name in ("TERM", "INT"):
        ran = record(t, target(t, "signalled"), "plain", str({"TERM": 15, "INT": 2}[name]),
                     options=["--rate=1"], end=None)
        t.equal(len(ran.noise), 2, f"{name}: {ran.err}")
    for how in ("return", "exit", "_exit", "_Exit", "quick_exit", "syscall", "abort", "thread",
                "pthread_exit", "sigkill"):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = same(t, target(t, "exits"), how, options=["--rate=1"], end=None)
        if how == "sigkill":
            t.equal(ran.noise, [], how)
            t.equal([name for name in os.listdir(t.path("out")) if not name.endswith(".live")], [], how)
            continue
        t.equal(len(ran.noise), 2, f"{how}: {ran.err}")
        last = only(t, checked(t, t.path("out")))[-1]
        t.equal(last.by_function(recorded.ALLOC_BYTES).get("leak_at_last"), 100 * 1000, how)


def test_profiles_that_were_removed(t):
    """No message names a file that is not there, or a command that could not read it."""
    code = "import os, shutil, time\nfor i in range(3): kept = bytes(50000); time.sleep(0.2)\n"
    for how, count in (("os.rename('out', 'gone')", 2), ("shutil.rmtree('out')", 2), ("", 2)):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = record(t, "/usr/bin/python3", "-c", code + how + "\nos._exit(0)",
                     options=["--rate=1", "--interval=50ms"], end=None)
        said = [line for line in ran.noise if re.match(r"pprofdelta: \d+ profile", line)]
        t.equal(len(said), 1, ran.err)
        if how:
            t.contains(said[0], ", removed since: " + t.path("out"))
            t.lacks(ran.err, "next: ")
        else:
            t.lacks(said[0], "removed")
            t.equal(len(commands(ran)), count)


def test_a_program_that_becomes_another(t):
    """The message says from where on nothing is recorded, and why, and what there is so far."""
    static = target(t, "inherits_static")
    if not os.path.exists(static):
        t.skip("there is no static program")
    for how in ("execve", "execvp", "fexecve", "execveat"):
        ran = record(t, target(t, "starts"), how, static, options=["--rate=1"], end=None)
        t.equal((ran.code, len(ran.noise)), (0, 3), f"{how}: {ran.err}")
        t.contains(ran.noise[0], "nothing is recorded from here on: starts becomes ", "which is linked statically")
        t.contains(ran.noise[1], "1 profile: ")
        t.contains(typed(t, commands(ran)[0]), "starts")
    ran = record(t, target(t, "starts"), "execve", static, options=["--rate=1T"], end=None)
    t.equal(len(ran.noise), 1, ran.err)
    for how in ("posix_spawn", "vfork"):
        t.lacks(record(t, target(t, "starts"), how, static, end=None).err, "from here on")
    ran = record(t, "env", "-i", target(t, "inherits"), options=["--rate=1"], end=None)
    t.contains(ran.noise[0], "from here on: env becomes ", "has no LD_PRELOAD with the agent in its environment")
    t.equal(ran.out, b"not set\n")
    t.lacks(record(t, "env", "-i", "there-is-none", options=["--rate=1"], end=None).err, "from here on")


def test_a_small_address_space(t):
    """The limit and what the agent takes of it are said before the program may fail, and are true."""
    sizes = [int(re.search(rb"VmPeak:\s*(\d+) kB", ran.out).group(1)) for ran in
             (plainly(t, "cat", "/proc/self/status"), record(t, "cat", "/proc/self/status", options=["--rate=1"]))]
    limited = ["sh", "-c", 'ulimit -v 40000 && exec "$@"', "sh", t.binary, "record", "-o", t.path("out")]
    ran = plainly(t, *limited, "--", target(t, "counted"))
    t.equal(ran.code, 0, ran.err)
    taken = re.search(r"limited to 39\.1 MiB \(ulimit -v\); the agent takes (\d+) MiB of it", ran.err)
    t.check(taken, ran.err)
    if taken:
        t.check(sizes[1] - sizes[0] <= int(taken.group(1)) * 1024 <= 2 * (sizes[1] - sizes[0]), f"{sizes} kB")
    t.lacks(plainly(t, *limited, "-q", "--", target(t, "counted")).err, "ulimit")
    t.lacks(record(t, target(t, "counted"), end=None).err, "ulimit")


def test_valgrind(t):
    """The program runs in valgrind's own, which is linked statically."""
    need(t, "valgrind")
    ran = record(t, "valgrind", "-q", target(t, "counted"), end=None)
    t.contains(ran.err, "pprofdelta: nothing is recorded from here on: ", "valgrind")


def test_a_program_that_closes_stderr(t):
    """As those of coreutils do at their end. A log file that is appended to gets the message."""
    with open(t.path("log"), "ab") as log:
        done = subprocess.run([t.binary, "record", "--rate=1", "-o", t.path("out"), "--", "ls", "/"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, check=False,
                              timeout=TIMEOUT)
    t.equal(done.returncode, 0)
    t.lacks(done.stdout.decode(), "pprofdelta")
    t.contains(t.load("log").decode(), "pprofdelta: 1 profile: ", "pprofdelta: next: pprofdelta show ")


# ---- other languages ------------------------------------------------------------------------

ADVICE = {"Node.js": ("--heap-prof",),
          "Java": ("GC.class_histogram",), "Go": ("net/http/pprof",)}


def advised(t, language, ran):
    """One line says what is seen, what is not, and what shows the rest."""
    lines = [line for line in ran.noise if line.startswith(f"pprofdelta: {language}: ")]
    t.equal(len(lines), 1, f"{language}: {ran.err}")
    t.contains(ran.err, " seen", " not ", *ADVICE[language])


def test_node(t):
    need(t, "node")
    advised(t, "Node.js", record(t, shutil.which("node"), "-e", "", end=None))


def test_java(t):
    need(t, "java")
    advised(t, "Java", record(t, shutil.which("java"), "-version", end=None))


def test_go(t):
    """A static program cannot be recorded; one with cgo can."""
    need(t, "go")
    go = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True)
    binary = os.path.join(go.stdout.strip(), "bin", "go")
    ran = record(t, binary, "version", end=None)
    if ran.code == 126:
        t.contains(ran.err, "statically")
        t.contains(ran.err, "Go: ", *ADVICE["Go"])
    else:
        advised(t, "Go", ran)


def test_no_advice_for_others(t):
    for program in ("true", "bash", "perl", "sqlite3", "gdb"):
        if shutil.which(program):
            t.lacks(record(t, program, "--version", end=None).err, "seen")
