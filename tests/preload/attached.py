"""record --pid: processes that run already are attached to, and left as they were.

ATTACH_ROOT, if it is set, names a folder with another system (debootstrap), in which the programs that are attached to run.
TARGETS and the agent must be built for its C library, or an older one; packaging/build-wheel shows how.
"""

import ctypes
import glob
import os
import platform
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

from agents import ALLOCATORS, TIMEOUT, checked, need, only, plainly, target, until

ROOT = os.environ.get("ATTACH_ROOT", "")
PYTHON = "python3" if ROOT else sys.executable
# What is mounted there ends with the program.
INSIDE = '''at=$1; shift; for folder in "$0" "$1"; do mkdir -p "$at$folder"; mount --bind "$folder" "$at$folder"; done
cd "$at" && mount -t proc proc proc && shift && exec chroot . "$@"'''
BRIEF = ("--duration=0.4s", "--interval=0.3", "--rate=1k")


def can_attach(t):
    if platform.machine() not in ("x86_64", "aarch64") or struct.calcsize("P") != 8:
        t.skip("there is no attaching on this machine")
    if "GLIBC" not in plainly(t, "getconf", "GNU_LIBC_VERSION").out.decode().upper():
        t.skip("this C library is not glibc")
    scope = "/proc/sys/kernel/yama/ptrace_scope"
    if os.geteuid() and os.path.exists(scope):
        with open(scope, encoding="ascii") as file:
            if file.read().strip() != "0":
                t.skip("yama forbids it")


class Target:
    """A program that runs: attachee, or another command."""

    def __init__(self, t, *command, wait=b"begun", **kwargs):
        can_attach(t)
        kwargs.setdefault("stdin", subprocess.PIPE)
        self.t = t
        if ROOT:
            command = ["unshare", "-m", "sh", "-c", INSIDE, t.targets, ROOT, t.dir, *command]
        self.process = subprocess.Popen(command, cwd=t.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)
        if wait:
            t.contains(self.process.stdout.readline().decode(), wait.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid

    def record(self, *options, **kwargs):
        return plainly(self.t, self.t.binary, "record", "--pid", str(self.pid), "-o", self.t.path("out"), *options, **kwargs)

    def recorded(self, *options):
        ran = self.record(*(options or BRIEF))
        self.t.equal(ran.code, 0, ran.err)
        return ran

    def ended(self, what=b"over\n"):
        """It ends as it would, and has noticed nothing."""
        self.t.equal(self.process.poll(), None, "the target has ended")
        out, _ = self.process.communicate(b"", timeout=TIMEOUT)
        self.t.equal((out, self.process.returncode), (what, 0), "the target")

    def state(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


def attachee(t, mode, *more, **kwargs):
    return Target(t, target(t, "attachee"), mode, *more, **kwargs)


def again_and_again(t, mode, times=3, more=()):
    with attachee(t, mode, *more) as it:
        before = it.threads()
        for _ in range(times):
            it.recorded()
        time.sleep(0.1)
        if mode != "fork":
            t.check(it.threads() <= before + 3, f"{it.threads()} threads, {before} before")
        it.ended()
    return checked(t, t.path("out"))


def test_a_leak_of_a_process_that_runs_is_seen(t):
    with attachee(t, "epoll") as it:
        it.recorded("--duration=1s", "--interval=0.3", "--rate=1")
        it.ended()
    profiles = only(t, checked(t, t.path("out")))
    names = {name for p in profiles for stack, _ in p.samples for name in stack}
    t.check("late" in names and "early" not in names, f"functions: {sorted(names)}")
    shown = plainly(t, t.binary, "show", profiles[-1].path).out.decode()
    t.check(re.search(r"attached at=\d{4}-.*Z \(what was allocated before is not known\)", shown), shown)
    t.contains(plainly(t, t.binary, "leaks", t.path("out")).out.decode(), "what it allocated before is not known")


def test_a_program_that_is_not_position_independent(t):
    """Its calls are bound when they are made first, and dlsym finds its own entry for malloc."""
    with Target(t, target(t, "attachee_fixed"), "timer") as it:
        it.recorded("--duration=1s", "--rate=1k")
        it.recorded("--duration=1s", "--rate=1k")
        it.ended()
    names = {name for p in only(t, checked(t, t.path("out"))) for stack, _ in p.samples for name in stack}
    t.check("late" in names, f"functions: {sorted(names)}")


def test_it_is_as_it_was_afterwards(t):
    """Its slots, its signals, its descriptors, its code; one thread more, which sleeps."""
    def status(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return re.findall(r"^(Sig[A-PR-Z]\w+|Cap\w+|NoNewPrivs|Seccomp):\s*(\w+)", file.read(), re.M)

    def code(pid):
        with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            found = {}
            for line in maps:
                begin, end, access, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
                if name.startswith("/") and "agent" not in name and "x" in access:
                    memory.seek(int(begin, 16))
                    found[name] = memory.read(int(end, 16) - int(begin, 16))
            return found

    with attachee(t, "ppoll") as it:
        before = status(it.pid), os.listdir(f"/proc/{it.pid}/fd"), code(it.pid)
        it.recorded()
        t.equal((status(it.pid), os.listdir(f"/proc/{it.pid}/fd")), before[:2])
        after = code(it.pid)
        t.equal([name for name, bytes in before[2].items() if not after[name].startswith(bytes.rstrip(b"\0"))], [],
                "code that differs, but for zeros at the end of a page")
        t.equal(it.threads(), 4, "threads: three of its own, and the agent's")
        it.ended()


def test_waiting_calls_do_not_see_it(t):
    for mode in ("epoll", "tick", "ppoll", "futex", "read"):
        again_and_again(t, mode, 1)


def test_a_sleep_is_as_long_as_it_was(t):
    with attachee(t, "sleep") as it:
        time.sleep(1)
        it.recorded()
        time.sleep(2.5)
        it.ended()


def test_work_goes_on(t):
    for mode in ("malloc", "registers", "timer"):
        again_and_again(t, mode)


def test_forks_and_threads_meanwhile(t):
    for mode in ("fork", "threads"):
        again_and_again(t, mode, 2)


def test_a_child_of_a_fork(t):
    """It is not recorded, and can be attached to itself."""
    source = "import os, sys\nprint('begun', flush=True)\nsys.stdin.readline()\nchild = os.fork()\nif child:\n" \
             "  print(child, flush=True)\n  os.waitpid(child, 0)\nelse:\n  x = []\nwhile not child:\n" \
             "  x.append(bytearray(3000)); x[:-50] = []\nsys.stdin.read()"
    with Target(t, PYTHON, "-c", source) as it:
        command = begun(t, it, "--rate=1k", "--interval=0.3")
        it.process.stdin.write(b"\n")
        it.process.stdin.flush()
        child = int(it.process.stdout.readline())
        time.sleep(0.5)
        t.equal([name for name in os.listdir(t.path("out")) if str(child) in name], [], "files of the child")
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=TIMEOUT)
        ran = plainly(t, t.binary, "record", "--pid", str(child), "-o", t.path("out"), *BRIEF)
        t.equal(ran.code, 0, ran.err)
        t.check([name for name in os.listdir(t.path("out")) if f".{child}." in name], "the child has no profile")
        os.kill(child, signal.SIGKILL)
        it.ended(b"")
    checked(t, t.path("out"))


def test_an_object_that_is_loaded_later(t):
    with attachee(t, "loading", os.path.join(t.targets, "libplugin_one.so")) as it:
        it.recorded("--duration=4s", "--interval=1", "--rate=1")
        it.ended()
    names = {name for p in only(t, checked(t, t.path("out"))) for stack, _ in p.samples for name in stack}
    t.check("leak_in_one" in names, f"functions: {sorted(names)}")


def test_a_main_thread_that_ends(t):
    """The last thread of the program ends the process, as it would without the agent's."""
    with attachee(t, "leaving") as it:
        it.record(*BRIEF)
        out, _ = it.process.communicate(timeout=TIMEOUT)
        t.equal((out, it.process.returncode), (b"left\n", 0))


def test_a_command_that_is_killed_at_each_step(t):
    """The target goes on, and another attach works."""
    dynamic = os.path.join(os.path.dirname(t.binary), "pprofdelta-dynamic")
    dying = {"LD_PRELOAD": os.path.join(t.targets, "libdying.so"), "DIE_PARENT": str(os.getpid())}
    killed = 0
    for at in range(1, 26):
        with attachee(t, "malloc") as it:
            ran = plainly(t, dynamic if os.path.exists(dynamic) else t.binary, "record", "--pid", str(it.pid), "-o",
                          t.path("out"), "--duration=0.1s", env={**os.environ, **dying, "DIE_AT": str(at)})
            killed += ran.code == -signal.SIGKILL
            if at % 5 == 2:
                t.check(until(lambda: it.record("--duration=0.1s").code == 0, 30), f"no attach after call {at} works")
            it.ended()
    t.check(killed > 15, f"only {killed} runs were killed: {ran.err}")


def test_an_agent_whose_command_died_stops(t):
    with attachee(t, "epoll") as it:
        it.recorded()
        command = subprocess.Popen([t.binary, "record", "--pid", str(it.pid), "-o", t.path("out"), "--rate=1k"],
                                   stderr=subprocess.PIPE, cwd=t.dir)
        t.contains(command.stderr.readline().decode(), "is recorded")
        command.kill()
        command.communicate()
        t.contains(it.record(*BRIEF).err, "is recorded already")
        t.check(until(lambda: it.record(*BRIEF).code == 0), "the agent does not stop")
        it.ended()


def test_stop_of_another_run(t):
    with attachee(t, "epoll") as it:
        t.contains(it.record("--stop").err, "is not recorded")
        command = subprocess.Popen([t.binary, "record", "--pid", str(it.pid), "-o", t.path("out"), "--rate=1k"],
                                   stderr=subprocess.PIPE, cwd=t.dir)
        t.contains(command.stderr.readline().decode(), "is recorded")
        second = it.record(*BRIEF)
        t.check(second.code and "is recorded already" in second.err, second.err)
        t.equal(it.record("--stop").code, 0)
        _, err = command.communicate(timeout=TIMEOUT)
        t.check(command.returncode == 0 and b"goes on without" in err, err)
        command = subprocess.Popen([t.binary, "record", "--pid", str(it.pid), "-o", t.path("out"), "--rate=1k"],
                                   stderr=subprocess.PIPE, cwd=t.dir)
        t.contains(command.stderr.readline().decode(), "is recorded")
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=TIMEOUT)
        t.check(command.returncode == 0 and b"goes on without" in err, err)
        it.ended()


def test_other_settings(t):
    """The tracker is made once."""
    with attachee(t, "epoll") as it:
        it.recorded()
        ran = it.record("--duration=0.1s", "--rate=2k")
        t.check(ran.code == 126 and "give the same" in ran.err, ran.err)
        it.recorded()
        it.ended()


def test_allocators(t):
    found = [path[len(ROOT):] for name in ALLOCATORS.values() for path in glob.glob(f"{ROOT}/usr/lib/*/{name}")]
    if not found:
        t.skip("there is no other allocator")
    for path in found:
        with attachee(t, "malloc", env={**os.environ, "LD_PRELOAD": path}) as it:
            it.recorded()
            it.recorded()
            it.ended()
    for profiles in checked(t, t.path("out")).values():
        t.check(any(name == "late" for p in profiles for stack, _ in p.samples for name in stack), "nothing of late")


def test_low_limits(t):
    """The agent is not loaded, or loaded as a whole."""
    for limit, value in ((resource.RLIMIT_AS, 64 << 20), (resource.RLIMIT_NOFILE, 3)):
        with attachee(t, "ppoll") as it:
            resource.prlimit(it.pid, limit, (value, value))
            ran = it.record(*BRIEF)
            t.check(ran.code in (0, 126), ran.err)
            it.ended()


def begun(t, it, *options):
    command = subprocess.Popen([t.binary, "record", "--pid", str(it.pid), "-o", t.path("out"), *options], cwd=t.dir,
                               stderr=subprocess.PIPE)
    t.contains(command.stderr.readline().decode(), "is recorded")
    return command


def test_the_end_of_the_target(t):
    for number in (signal.SIGKILL, signal.SIGTERM):
        with attachee(t, "epoll") as it:
            command = begun(t, it, "--rate=1")
            until(lambda: any(name.endswith(".live") for name in os.listdir(t.path("out"))))
            it.process.send_signal(number)
            _, err = command.communicate(timeout=TIMEOUT)
            t.equal((it.process.wait(), command.returncode), (-number, 0), err.decode())
            t.contains(err.decode(), "ended")
        checked(t, t.path("out"), killed=1)
        shutil.rmtree(t.path("out"))
    with attachee(t, "epoll") as it:
        command = begun(t, it, "--rate=1")
        until(lambda: any(name.endswith(".live") for name in os.listdir(t.path("out"))))
        it.ended()
        _, err = command.communicate(timeout=TIMEOUT)
        t.check(command.returncode == 0 and b"ended" in err, err.decode())
    checked(t, t.path("out"))
    shutil.rmtree(t.path("out"))
    source = "import os, sys; print('begun', flush=True); x = [bytearray(5000) for _ in range(99)]; sys.stdin.readline(); " \
             "os.execvp('cat', ['cat'])"
    with Target(t, PYTHON, "-c", source) as it:
        command = begun(t, it, "--rate=1")
        it.process.stdin.write(b"\n")
        it.process.stdin.flush()
        _, err = command.communicate(timeout=TIMEOUT)
        t.check(command.returncode == 0 and b"another program" in err, err.decode())
        it.ended(b"")


def refused(t, it, *words, code=126, options=BRIEF, **kwargs):
    ran = it.record(*options, **kwargs)
    t.equal(ran.code, code, ran.err)
    for word in words:
        t.contains(ran.err, word)
    return ran


def test_what_forbids_it_is_named(t):
    with attachee(t, "ppoll") as it:
        it.process.send_signal(signal.SIGSTOP)
        until(lambda: it.state() == "T")
        refused(t, it, "is stopped", "kill -CONT")
        it.process.send_signal(signal.SIGCONT)
        it.ended()
        it.process = subprocess.Popen(["true"], stdout=subprocess.PIPE)
        time.sleep(0.3)
        refused(t, it, "has ended")
    ran = plainly(t, t.binary, "record", "--pid", "2147483", *BRIEF)
    t.check(ran.code == 126 and "is not there" in ran.err, ran.err)
    for pid in ("0", "x", "-1", ""):
        t.equal(plainly(t, t.binary, "record", f"--pid={pid}").code, 125)
    for arguments in (["--pid=1", "--", "true"], ["--duration=1s", "--", "true"], ["--pid=1", "--signal=none"]):
        ran = plainly(t, t.binary, "record", *arguments)
        t.check(ran.code == 125 and "--pid" in ran.err, ran.err)
    if os.path.exists("/proc/2/comm") and not os.geteuid():
        ran = plainly(t, t.binary, "record", "--pid", "2", *BRIEF)
        t.check("kernel" in ran.err or ran.code == 126, ran.err)


def test_programs_that_cannot_be_attached_to(t):
    for name, words in (("attachee_own", "its own malloc"), ("attachee_static", "linked statically")):
        if os.path.exists(target(t, name)):
            with Target(t, target(t, name), "epoll") as it:
                refused(t, it, words)
                it.ended()


def test_another_tracer(t):
    with attachee(t, "epoll") as it:
        libc = ctypes.CDLL(None, use_errno=True)
        seize, detach = 0x4206, 17
        if libc.ptrace(seize, it.pid, 0, 0):
            t.skip("this process may not trace")
        refused(t, it, "is traced by process")
        libc.ptrace(detach, it.pid, 0, 0)
        it.process.kill()


def test_other_users(t):
    nobody = t.as_nobody()
    if not nobody or ROOT:
        t.skip("this is not root, or it is of another system")
    shutil.copy(target(t, "attachee"), t.path("attachee"))
    with Target(t, t.path("attachee"), "epoll", **nobody) as it:
        it.recorded()
        it.ended()
    checked(t, t.path("out"))
    with attachee(t, "epoll") as it:
        refused(t, it, "another user's", "as root", options=("--duration=1s", "-o", "/tmp"), **nobody)
        it.ended()
    os.chmod(t.path("attachee"), 0o755)
    with Target(t, t.path("attachee"), "hiding", **nobody) as it:
        time.sleep(0.3)
        refused(t, it, "PR_SET_DUMPABLE", "as root", options=("--duration=1s", "-o", "/tmp"), **nobody)


def test_filters(t):
    """A filter with errors is no obstacle. One that would kill is: the target lives."""
    source = r"""
import ctypes, struct, sys
libc = ctypes.CDLL(None)
keep = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in (
    (0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, int(sys.argv[2], 16)), (0x06, 0, 0, 0x7fff0000))))
program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(keep))
libc.prctl(38, 1, 0, 0, 0)
print("begun" if not libc.prctl(22, 2, program, 0, 0) else "failed", flush=True)
sys.stdin.read()
print("over", flush=True)
"""
    if platform.machine() != "x86_64":
        t.skip("the numbers of calls are those of x86-64")
    calls = {"memfd_create": 319, "openat": 257, "rt_sigprocmask": 14}
    for name in calls:
        with Target(t, PYTHON, "-c", source, str(calls[name]), "80000000") as it:
            refused(t, it, "seccomp", code=126)
            it.ended()
    waiting = source.partition("sys.stdin")[0] + "import os; os.execv(sys.argv[3], sys.argv[3:])"
    with Target(t, PYTHON, "-c", waiting, "319", "80000000", target(t, "attachee"), "epoll") as it:
        t.equal(it.process.stdout.readline(), b"begun\n")
        time.sleep(0.3)
        refused(t, it, "seccomp", code=126)
        it.ended()
    with Target(t, PYTHON, "-c", source, "101", "80000000") as it:  # ptrace: it makes none
        it.recorded()
        it.ended()
    with Target(t, PYTHON, "-c", source, "257", "50001") as it:
        ran = it.record(*BRIEF)
        t.check(ran.code and "could not be loaded" in ran.err, ran.err)
        it.ended()


def test_python(t):
    source = "import sys, threading\nprint('begun', flush=True)\nkept = []\n" \
             "def work():\n  while True: kept.append(bytearray(50000)); kept[:-100] = []\n" \
             "threading.Thread(target=work, daemon=True).start()\nsys.stdin.read()\nprint('over', flush=True)"
    with Target(t, PYTHON, "-c", source) as it:
        it.recorded()
        it.recorded()
        it.ended()
    checked(t, t.path("out"))


def test_redis(t):
    need(t, "redis-server", "redis-benchmark")
    with Target(t, "redis-server", "--port", "0", "--unixsocket", t.path("s"), "--save", "", wait=None) as it:
        until(lambda: os.path.exists(t.path("s")))
        with subprocess.Popen(["redis-benchmark", "-s", t.path("s"), "-q", "-t", "set,get", "-n", "100000"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as load:
            for _ in range(3):
                it.recorded()
            out, _ = load.communicate(timeout=TIMEOUT)
        t.check(load.returncode == 0 and b"Error" not in out, out.decode())
    checked(t, t.path("out"))


def test_another_mount_namespace(t):
    """A container: the agent comes as a file without a name, and DIR is one of there."""
    if os.geteuid() or not shutil.which("unshare"):
        t.skip("this is not root, or there is no unshare")
    os.mkdir(t.path("there"))
    inner = f"mount -t tmpfs none {t.path('there')} && exec {target(t, 'attachee')} epoll"
    with Target(t, "unshare", "-m", "sh", "-c", inner, wait=None) as it:
        if b"begun" not in it.process.stdout.readline():
            t.skip("there are no mount namespaces here")
        ran = plainly(t, t.binary, "record", "--pid", str(it.pid), "-o", t.path("there/out"), *BRIEF)
        t.equal(ran.code, 0, ran.err)
        there = f"/proc/{it.pid}/root{t.path('there/out')}"
        t.check([name for name in os.listdir(there) if name.endswith(".pb.gz")], "no profile")
        it.ended()
