"""What the tests of the agent share: running a program with and without it."""

import glob
import os
import shutil
import signal
import subprocess

import recorded
from harness import TIMEOUT, until  # noqa: F401: the tests have them from here

AGENT = "libpprofdelta-agent"


class Ran:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr.decode()

    @property
    def noise(self):
        """What the agent said."""
        return [line for line in self.err.splitlines() if line.startswith("pprofdelta: ")]

    @property
    def rest(self):
        """What the program said."""
        return [line for line in self.err.splitlines() if not line.startswith("pprofdelta: ")]


def plainly(t, *command, **kwargs):
    return Ran(subprocess.run(command, cwd=t.dir, capture_output=True, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, check=False, **kwargs))


def recording(t, command, options, end="-q"):
    where = () if any(o.startswith(("-o", "--to")) for o in options) else ("-o", t.path("out"))
    return [t.binary, "record", *where, *([end] if end else []), *options, "--", *command]


def record(t, *command, options=(), end="-q", **kwargs):
    """Runs the command under `pprofdelta record -o out`, without the messages at its end."""
    return plainly(t, *recording(t, command, options, end), **kwargs)


def by_hand(t, **kwargs):
    """The variables that load the agent and name the folder. Nothing of env itself is recorded."""
    return dict(line.split("=", 1) for line in record(t, "env", options=["--rate=1T"], **kwargs).out.decode().splitlines()
                if line.startswith(("LD_PRELOAD=", "PPROFDELTA_RECORD_DIR=")))


def same(t, *command, options=(), code=None, end="-q", **kwargs):
    """With the agent and without: the same output and exit status. Returns the run with it."""
    without, under = plainly(t, *command, **kwargs), record(t, *command, options=options, end=end,
                                                               **kwargs)
    t.equal(under.out, without.out, f"stdout of {command[0]}")
    t.equal(under.rest, without.rest, f"stderr of {command[0]}")
    t.equal(under.code, without.code, f"exit status of {command[0]}")
    if code is not None:
        t.equal(under.code, code, f"exit status of {command[0]}")
    return under


def quiet(t, ran):
    t.equal(ran.noise, [], "the agent said something")
    return ran


def target(t, name):
    path = os.path.join(t.targets, name)
    if name in ("depth", "leaks", "operators", "replaced") and not os.path.exists(path):
        t.skip("there is no C++ compiler")
    return path


ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def allocator(t, name):
    """The library of another allocator, or a skip."""
    found = glob.glob(f"/usr/lib/*/{ALLOCATORS[name]}")
    if not found:
        t.skip(f"{ALLOCATORS[name]} is not here")
    return found[0]


def need(t, *programs):
    for program in programs:
        if not shutil.which(program):
            t.skip(f"{program} is not here")


def recovered(t, folder, killed):
    """Makes the last windows of so many processes that were killed (None: of any number)."""
    live = [name for name in os.listdir(folder) if name.endswith(".live")]
    if killed is not None:
        t.equal(len(live), killed, f"what killed processes left: {live}")
    ran = plainly(t, t.binary, "recover", folder)
    t.equal(ran.code, 0, ran.err)
    return ran


def checked(t, folder, killed=0):
    """Every file of the folder is a valid profile, and nothing else lies there but what `killed` processes left, which is
    recovered."""
    recovered(t, folder, killed)
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    strange = [path for path in paths if not path.endswith((".pb.gz", ".top.txt"))]
    t.equal(strange, [], "files that should not be there")
    valid = [path for path in paths if path.endswith(".pb.gz")]
    t.check(valid, "nothing was recorded")
    done = plainly(t, t.binary, "check", "-q", *valid)
    t.equal((done.code, done.err), (0, ""), "pprofdelta check")
    found = recorded.profiles(folder)
    own = sorted({path for profiles in found.values() for p in profiles
                  for _, _, _, path, _ in p.mappings.values() if AGENT in path})
    t.equal(own, [], "frames of the agent are in stacks")
    for profiles in found.values():
        for one in {p.id: None for p in profiles}:  # programs that the process has been, in order
            summed(t, [p for p in profiles if p.id == one])
    return found


def summed(t, profiles):
    """`pprofdelta sum` of a program's profiles says what adding them up by hand does."""
    out = t.path("summed.pb.gz")
    done = plainly(t, t.binary, "sum", *[p.path for p in profiles], "-o", out)
    t.equal((done.code, done.err), (0, ""), "pprofdelta sum")
    got = recorded.Profile(out)
    t.equal((got.kind, got.epoch, got.sequence), ("full", profiles[-1].epoch, profiles[-1].sequence))
    t.equal(recorded.add_up([got]), recorded.add_up(profiles), "pprofdelta sum: what is in use")
    t.equal(recorded.add_up([got], recorded.PEAK), recorded.add_up(profiles, recorded.PEAK), "pprofdelta sum: the peak")
    for column in (recorded.ALLOC_OBJECTS, recorded.ALLOC_BYTES):
        begun = max(i for i, p in enumerate(profiles) if p.kind == "full")
        t.equal(got.total(column), sum(p.total(column) for p in profiles[begun:]),
                "pprofdelta sum: what was allocated")
    os.remove(out)


def only(t, found):
    """The profiles of the one process that was recorded."""
    t.equal(len(found), 1, "processes that were recorded")
    return next(iter(found.values()))


def start(t, *command, options=(), stdin=subprocess.DEVNULL, **kwargs):
    return subprocess.Popen(recording(t, command, options), cwd=t.dir, stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **kwargs)


def stop(t, process, number=signal.SIGTERM):
    process.send_signal(number)
    try:
        return process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def counted(t):
    """How many profiles there are by now."""
    try:
        return sum(name.endswith(".pb.gz") for name in os.listdir(t.path("out")))
    except FileNotFoundError:
        return 0


def near(t, got, want, share, what):
    t.check(abs(got - want) <= share * want, f"{what}: {got} is not within {share:.0%} of {want}")
