#!/usr/bin/env python3
"""The soak: does anything get lost, or count twice, when everything goes wrong for a long time?

    soak.py BINARY [--windows N] [--seed N]

A Go program (e2e/server) allocates and takes locks. Again and again its heap and its mutex profile are
fetched and given to the command, each with a state of its own and curl as the uploader, to a receiver
(receiver.py) that fails every third time. Some runs are killed at a random moment, some overlap. Twice
the program ends and starts anew; right before each end its profiles are fetched for the last time and
delivered. Of what the receiver has taken it keeps, of each sequence number, the highest attempt. In the
end the sum of that must equal the last profile of each life, sample by sample; and so must the sum of all
that was taken, in order. That is read here, by code that knows nothing of the library.

Needs go and curl; without one of them it is skipped.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(os.path.dirname(HERE), name) for name in ("cli", "e2e"))]
sys.dont_write_bytecode = True

import pb  # noqa: E402
import real  # noqa: E402
from receiver import Receiver  # noqa: E402

KINDS = ("heap", "mutex")
FAILING = ("refused", "500", "500-taken", "cut", "cut-taken", "hang", "hang-taken")
LIVES = 3
SKIPPED = 77  # what meson takes for "skipped"


# ---- profiles, read naively ------------------------------------------------------------------------

def samples_of(data):
    """{(addresses, labels): values}, equal ones added up, without what is all zero; and the types and
    comments."""
    read, samples = pb.read(data), {}
    for stack, (_, labels, values) in zip(read.stacks, read.samples):
        key = tuple(read.locations[i][1] for i in stack), tuple(sorted(labels.items()))
        samples[key] = [a + b for a, b in zip(samples.get(key, [0] * len(values)), values)]
    return {k: v for k, v in samples.items() if any(v)}, read.types, read.comments


def stamp_of(data):
    comments = samples_of(data)[2]
    words = next(c for c in comments if c.startswith("pprofdelta: delta")).split()[2:]
    stamp = dict(word.split("=") for word in words)
    return int(stamp["seq"]), int(stamp["attempt"]), stamp.get("restart")


# ---- the target ------------------------------------------------------------------------------------

class Target(real.Program):
    """started: before the process, and after the last look at the one before it. The command is told,
    because a process whose first looks are all lost may have counted more by then than the one before."""

    def __init__(self, program):
        now = time.time_ns()
        self.started = f"@{now // 10**9}.{now % 10**9:09}"
        super().__init__(program, "busy")

    def look(self, kind):
        return self.get(f"/debug/pprof/{kind}")

    def end(self):
        self.process.kill()
        self.process.communicate()


# ---- the loop --------------------------------------------------------------------------------------

class Soak:
    def __init__(self, binary, folder, seed):
        self.binary, self.folder = binary, folder
        self.chance = random.Random(seed)
        self.receiver = Receiver()
        self.truth = {kind: [] for kind in KINDS}  # the last look of each life
        self.counts = {}
        self.usual = 0.03  # seconds that a run takes
        self.complaints = []

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def start(self, target, kind, fate, look):
        process = subprocess.Popen(
            [self.binary, "--state", os.path.join(self.folder, f"{kind}.state"), "-q", "--timeout=400ms",
             f"--started={target.started}",
             "--", "curl", "-sf", "--data-binary", "@-", self.receiver.url(fate, kind)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(look)
        process.stdin.close()
        process.stdin = None
        return process

    def draw_fate(self):
        return self.chance.choice(FAILING) if self.chance.random() < 1 / 3 else "ok"

    def finish(self, process, fate, kills):
        began = time.monotonic()
        if kills:
            time.sleep(self.chance.uniform(0, 2 * self.usual))
            process.kill()
        _, err = process.communicate(timeout=real.TIMEOUT)
        code, err = process.returncode, err.decode("utf-8", "replace")
        if code == -9:
            self.count("killed")
        elif code == 0:
            self.count("done")
            if not kills:
                self.usual = 0.9 * self.usual + 0.1 * (time.monotonic() - began)
        elif code == 4:
            self.count(f"failed: {fate}")
        elif code == 1 and "cur is an older profile that comes late" in err:
            self.count("overtaken")  # by a run that began later and got the lock first
        else:
            self.complaints.append(f"exit code {code}: {err}")
        if code == 0 and fate != "ok":
            self.complaints.append(f"exit code 0, though the upload met {fate}")
        return code

    def window(self, target, kind):
        """One look, or now and then two that overlap."""
        runs = []
        for _ in range(2 if self.chance.random() < 0.1 else 1):
            fate = self.draw_fate()
            runs.append((self.start(target, kind, fate, target.look(kind)), fate))
        if len(runs) > 1:
            self.count("overlaps")
        for process, fate in runs:
            self.finish(process, fate, self.chance.random() < 0.2)

    def last_window(self, target, kind):
        """What is looked at last is delivered, however often it takes."""
        look = target.look(kind)
        for attempt in range(100):
            fate = "ok" if attempt > 5 else self.draw_fate()
            if self.finish(self.start(target, kind, fate, look), fate, attempt < 5 and self.chance.random() < 0.3) == 0:
                self.truth[kind].append(look)
                return
        self.complaints.append(f"{kind}: the last look is not delivered")

    def live(self, program, windows):
        target = Target(program)
        try:
            for _ in range(windows):
                for kind in KINDS:
                    self.window(target, kind)
            for kind in KINDS:
                self.last_window(target, kind)
        finally:
            target.end()


# ---- the reckoning ---------------------------------------------------------------------------------

def kept_of(taken):
    """What counts of all that was taken, in order: of each sequence the highest attempt."""
    stamps = {stamp_of(body): body for body in taken}
    return [(stamp, body) for stamp, body in sorted(stamps.items(), key=lambda item: item[0][:2])
            if not any(other[0] == stamp[0] and other[1] > stamp[1] for other in stamps)]


def lives_of(taken):
    """The deltas of each life that count, and all that were taken of it. A restart begins a life."""
    lives = []
    in_order = sorted(((stamp_of(body), body) for body in taken), key=lambda item: item[0][:2])
    for (sequence, attempt, restart), body in kept_of(taken):
        if not lives or restart:
            lives.append(([], []))
        kept, all_taken = lives[-1]
        kept.append(body)
        all_taken += [other for stamp, other in in_order if stamp[0] == sequence and stamp[1] <= attempt
                      and bool(stamp[2]) == bool(restart)]
    return lives


def add_up(binary, folder, deltas):
    names = []
    for n, body in enumerate(deltas):
        names.append(os.path.join(folder, f"delta.{n}"))
        with open(names[-1], "wb") as file:
            file.write(body)
    done = subprocess.run([binary, "sum", "-q", *names], capture_output=True, check=False)
    return done.stdout, done.stderr.decode("utf-8", "replace")


def compare(total, truth):
    """None where they are equal, sample by sample; else what differs."""
    got, got_types, _ = samples_of(total)
    want, want_types, _ = samples_of(truth)
    if got_types != want_types:
        return f"types {got_types}, not {want_types}"
    missing, more = want.keys() - got.keys(), got.keys() - want.keys()
    if missing or more:
        return f"{len(missing)} samples are missing, {len(more)} too many, of {len(want)}"
    wrong = [key for key in want if want[key] != got[key]]
    if wrong:
        return f"{len(wrong)} of {len(want)} samples differ, like {got[wrong[0]]}, not {want[wrong[0]]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--windows", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    try:
        real.need("go", "curl")
    except real.Missing as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    print(f"seed {arguments.seed}, {arguments.windows} windows of each kind", flush=True)
    passed, failed = 0, []
    with tempfile.TemporaryDirectory(prefix="pprofdelta-soak-") as folder:
        program = real.go_program(os.path.join(real.here, "server"), ".")
        soak = Soak(os.path.abspath(arguments.binary), folder, arguments.seed)
        for _ in range(LIVES):
            soak.live(program, -(-arguments.windows // LIVES))
        soak.receiver.close()
        print(", ".join(f"{what} {n}" for what, n in sorted(soak.counts.items())))
        failed += soak.complaints[:10]
        for kind in KINDS:
            lives = lives_of(soak.receiver.taken[kind])
            if len(lives) != LIVES:
                failed.append(f"{kind}: {len(lives)} lives, not {LIVES}")
            for number, (life, truth) in enumerate(zip(lives, soak.truth[kind]), 1):
                for what, deltas in zip(("kept", "taken"), life):
                    total, err = add_up(soak.binary, folder, deltas)
                    wrong = compare(total, truth) if total else err
                    samples = len(samples_of(truth)[0])
                    print(f"{'FAILED' if wrong else 'ok'} {kind}, life {number}: {len(deltas)} deltas {what}, "
                          f"{samples} samples{': ' + wrong if wrong else ''}")
                    passed += not wrong
                    failed += [wrong] if wrong else []
        left = [name for name in os.listdir(folder) if name.startswith(".pprofdelta")]
        if len(left) > len(KINDS):  # of a last run that was killed, there may be one
            failed.append(f"temporary files are left: {left}")
    for complaint in failed:
        print(f"FAILED {complaint}")
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
