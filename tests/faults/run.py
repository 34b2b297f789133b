#!/usr/bin/env python3
"""Every system call on a state's way fails once, and the command is killed before and after each.

    run.py BINARY SHIM [PART-OF-A-NAME]

A scenario is a run of the command with a state. It is run once as it should be, which tells how many
calls there are and what comes out; then once for each call and each way to go wrong (shim.c). After
each of these it must hold that
  - FILE is the old state, the state with the open attempt, or the one in which it arrived, byte for
    byte; the last one only if the delta has arrived whole; not the old one if a byte of the delta has
    left; not the last one if the run says that it failed, and that one if it says that it did not
  - what the delta goes to has all of it or is as it was (a pipe excepted, and a copy that a run which
    was killed had not yet renamed)
  - nothing is left behind by a run that was not killed, and by none after the next run
  - the next run makes the sum of what has arrived whole again: the last look
Then another run is made before each call, with the same FILE: both have a window, or one says that the
other uses FILE.
"""

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))
sys.dont_write_bytecode = True

from harness import TIMEOUT  # noqa: E402
from pb import gz, profile, read  # noqa: E402

MINUTE = 60 * 10**9
T0 = 1_700_000_000 * 10**9

# name, whether there is a state, and how the delta goes out
SCENARIOS = [
    ("file", True, ["-o", "OUT"]),
    ("first-file", False, ["-o", "OUT"]),
    ("uploader", True, ["--", "sh", "-c", "cat >OUT.part && mv OUT.part OUT"]),
    ("first-uploader", False, ["--", "sh", "-c", "cat >OUT.part && mv OUT.part OUT"]),
    ("stdout", True, []),
    ("failing-uploader", True, ["--", "sh", "-c", "cat >/dev/null; exit 1"]),
]

# Calls that a signal may interrupt: to be made again.
RESTARTED = ("read", "write", "pwrite", "flock", "waitpid")


def look(n):
    samples = [((f"f{i}", "main"), [n * i, n * i * 100, n % 2, i % 3]) for i in range(1, 40 + n)]
    return gz(profile(samples, time=T0 + n * MINUTE))


def load(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Scenario:
    def __init__(self, binary, shim, name, has_state, arguments):
        self.binary, self.shim, self.name = binary, shim, name
        self.has_state, self.arguments = has_state, arguments
        self.failures, self.checks, self.met = [], 0, 0

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            self.failures.append(what)

    # ---- running -----------------------------------------------------------------------------------

    def command(self, folder, *args, env=None):
        return subprocess.run([self.binary, *args], cwd=folder, capture_output=True, timeout=TIMEOUT,
                              env={**os.environ, "LD_PRELOAD": self.shim, **(env or {})}, stdin=subprocess.DEVNULL, check=False)

    def prepare(self, folder):
        for n in (1, 2, 3):
            with open(os.path.join(folder, f"look.{n}"), "wb") as file:
                file.write(look(n))
        if self.has_state:
            self.command(folder, "--state", "s", "look.1", "-o", "delta.1")

    def run(self, folder, how="", nth=0, log=None, env=None):
        """The run in question. Leaves what came to stdout in OUT."""
        env = {"PD_FAULT_HOW": how, "PD_FAULT_NTH": str(nth), **(env or {})}
        if log:
            env["PD_FAULT_LOG"] = log
        done = self.command(folder, "--state", "s", "look.2", *self.arguments, env=env)
        if not self.arguments:
            with open(os.path.join(folder, "OUT"), "wb") as file:
                file.write(done.stdout)
        return done

    def rehearse(self):
        """Without a fault: the calls, and what there is to compare with."""
        with tempfile.TemporaryDirectory() as folder:
            self.prepare(folder)
            self.command(folder, "--state", "s", "look.2", "--", "false")
            self.tried = load(os.path.join(folder, "s"))
        with tempfile.TemporaryDirectory() as folder:
            self.prepare(folder)
            log = os.path.join(folder, "log")
            self.old = load(os.path.join(folder, "s"))
            done = self.run(folder, log=log)
            self.code = done.returncode
            self.new = load(os.path.join(folder, "s"))
            self.delta = load(os.path.join(folder, "OUT"))
            with open(log, encoding="utf-8") as file:
                self.calls = file.read().split()
        self.check(self.code == (4 if self.name == "failing-uploader" else 0), "the rehearsal failed")
        self.check(len(self.calls) > 15, "the calls are not counted: is the library preloaded?")
        placed = "rename" if self.has_state else "link"
        for call in ("open", "read", "write", "fsync", placed, "close", "flock", "mkostemp"):
            self.check(call in self.calls, f"{call} is not among the calls")
        self.check(self.calls.count("fdatasync") == int(self.code == 0), "where is the arrival synced?")
        self.check(self.code != 0 or self.new == self.tried[:-1] + b"\1", "the last byte says that it arrived")
        self.check(self.tried not in (None, self.old), "no attempt was recorded")

    # ---- judging -----------------------------------------------------------------------------------

    def judge(self, folder, how, nth, call, done):
        what = f"{self.name}: {call} (call {nth}) {how}"
        killed = how in ("before", "after")
        state = load(os.path.join(folder, "s"))
        out = load(os.path.join(folder, "OUT"))
        arrived = out == self.delta and self.delta is not None
        says = done.stderr.decode("utf-8", "replace")
        self.check(state in (self.old, self.tried, self.new),
                   f"{what}: the state is neither the old one, tried or not, nor the new one")
        moved = state == self.new and self.new != self.tried
        self.check(not out or state != self.old, f"{what}: something left, and no attempt is recorded")
        self.check(not moved or arrived, f"{what}: the state moved, and the delta did not arrive")
        if killed:
            self.check(done.returncode == -9, f"{what}: was not killed: {done.returncode}")
        elif done.returncode == 0:
            self.check(moved, f"{what}: says that all is well, and the state did not move: {says}")
        else:
            self.check(not moved, f"{what}: says that it failed, and the state moved: {says}")
            self.check(says.startswith("pprofdelta: "), f"{what}: failed without a word")
            self.check(done.returncode in (1, 4), f"{what}: exit code {done.returncode}: {says}")
        if call in ("memfd_create", "pipe2", "fork") and how.isdigit():
            self.check(done.returncode == 4, f"{what}: the uploader was not run, and the exit code is "
                                             f"{done.returncode}")
        if how in ("short", str(errno.EPERM)) or (how == str(errno.EINTR) and call in RESTARTED):
            self.check(done.returncode == self.code, f"{what}: was not made again: {says}")
        if self.arguments:
            self.check(out in (None, self.delta), f"{what}: a part of the delta is in its place")
        litter = [f for f in os.listdir(folder) if f.startswith(".pprofdelta")]
        self.check(killed or call == "unlink" or not litter, f"{what}: left {litter}")
        self.go_on(folder, what, arrived, moved)

    def go_on(self, folder, what, arrived, moved):
        """The next minute: nothing is lost, and nothing counts twice."""
        done = self.command(folder, "--state", "s", "look.3", "-o", "delta.3")
        self.check(done.returncode == 0, f"{what}: the next run fails: {done.stderr.decode()}")
        parts = (["delta.1"] if self.has_state else []) + (["OUT"] if arrived else []) + ["delta.3"]
        done = self.command(folder, "sum", *parts, "-o", "total")
        self.check(done.returncode == 0, f"{what}: the sum: {done.stderr.decode()}")
        total = load(os.path.join(folder, "total"))
        self.check(total and read(total).something() == read(look(3)).something(), f"{what}: the sum is not the truth")
        again = b"sent again" in done.stderr
        self.check(again == (arrived and not moved), f"{what}: {done.stderr.decode()!r}")
        litter = [f for f in os.listdir(folder) if f.startswith(".pprofdelta")]
        self.check(not litter, f"{what}: the next run left {litter}")

    def meet(self, folder, nth, call):
        """Another run, made before this call: no window is lost, and nothing counts twice."""
        what = f"{self.name}: another run before {call} (call {nth})"
        env = {"PD_FAULT_RUN": f"{shlex.quote(self.binary)} --state s look.2 --no-wait -o OTHER 2>says || true"}
        done = self.run(folder, "run", nth, env=env)
        self.check(done.returncode == 0, f"{what}: {done.returncode}: {done.stderr.decode()}")
        says = load(os.path.join(folder, "says")).decode()
        outs = [name for name in ("OUT", "OTHER") if load(os.path.join(folder, name))]
        if len(outs) == 1:
            self.check("another run is using this state, and --no-wait was given" in says, f"{what}: {says}")
        outs.sort(key=lambda name: int(re.search(r" seq=(\d+)", " ".join(read(load(os.path.join(folder, name))).comments))[1]))
        self.command(folder, "sum", *(["delta.1"] if self.has_state else []), *outs, "-o", "total")
        total = load(os.path.join(folder, "total"))
        self.check(total and read(total).something() == read(look(2)).something(), f"{what}: the sum is not the truth")
        litter = [f for f in os.listdir(folder) if f.startswith(".pprofdelta")]
        self.check(not litter, f"{what}: left {litter}")
        self.met += len(outs) == 2

    def play(self):
        self.rehearse()
        hows = [str(errno.EIO), str(errno.ENOSPC), str(errno.EINTR), "before", "after"]
        with tempfile.TemporaryDirectory() as stage:
            self.prepare(stage)
            for nth, call in enumerate(self.calls, 1):
                if self.code == 0:
                    with tempfile.TemporaryDirectory() as folder:
                        shutil.copytree(stage, folder, dirs_exist_ok=True)
                        self.meet(folder, nth, call)
                more = {"read": ["short"], "write": ["short"], "link": [str(errno.EPERM)]}
                for how in hows + more.get(call, []):
                    with tempfile.TemporaryDirectory() as folder:
                        shutil.copytree(stage, folder, dirs_exist_ok=True)
                        log = os.path.join(folder, "log")
                        done = self.run(folder, how, nth, log)
                        with open(log, encoding="utf-8") as file:
                            made = file.read().split()
                        # How often an uploader's pipe is fed depends on how quickly it reads.
                        if len(made) >= nth:
                            self.judge(folder, how, nth, made[nth - 1], done)
        self.check(self.code or self.met > 5, "no two runs met")


def main(binary, shim, only=""):
    passed = failed = 0
    for name, has_state, arguments in SCENARIOS:
        if only not in name:
            continue
        scenario = Scenario(os.path.abspath(binary), os.path.abspath(shim), name, has_state, arguments)
        scenario.play()
        print("FAILED" if scenario.failures else "ok", name, f"({len(scenario.calls)} calls,",
              f"{scenario.checks} checks)", flush=True)
        for failure in scenario.failures[:20]:
            print("  " + failure.rstrip())
        passed += not scenario.failures
        failed += bool(scenario.failures)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or not passed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
