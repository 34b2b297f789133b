#!/usr/bin/env python3
"""pprofdelta beside its peers: the same files, in turn, in one run, in one table.

    bench.py --build BUILD [--quick]

Behind that, the records door beside godeltaprof (records.py).

Inputs are pairs of looks at one process: the profiles in the directory $PD_PROFILES where it is set
(plain ones, X.before.pprof and X.after.pprof; a lone X.pprof gets a next look made up), else the
pair in testdata; and generated ones. Before anything is timed, every tool's answer is held against
google/pprof's. Times are medians; every tool of a group takes its turn before any has its next.
--quick leaves out the largest input and most of the turns.

The peers (tests/peers) are built from their pinned Go modules; where that cannot be done, the table
has our own rows and a line that says why.
"""

import argparse
import datetime
import glob
import gzip
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import records

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
OLDEST_GO = 21  # of 1.x: from there on, go fetches the version that a go.mod asks for
SMALLEST = 100_000  # bytes: below, the start of a process is all that there is to time
BOUNDED = 10_000_000  # bytes: from there on, the bounded way has a row


@dataclass
class Pair:
    """Two looks, as files: plain (prev, cur) and gzip (prev_gz, cur_gz)."""
    name: str
    prev: str
    cur: str
    kind: str = "heap"
    prev_gz: str = ""
    cur_gz: str = ""
    samples: int = 0
    state_len: int = 0  # bytes of the state that knows prev


@dataclass
class Tool:
    """A row of the table: a command, and what its runs showed."""
    name: str
    command: list
    output: str = ""
    prepare: object = None  # called before each run, and not timed
    times: list = field(default_factory=list)  # nanoseconds
    peaks: list = field(default_factory=list)  # KiB

    def median(self):
        return statistics.median(self.times)


class Trouble(Exception):
    """Something to tell the user and stop."""


def run(command, folder=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, cwd=folder)
    if done.returncode:
        raise Trouble(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# --- what is needed -----------------------------------------------------------------------------


class Bench:
    """Where the programs are, and where files may go."""

    def __init__(self, build, work, shared, quick):
        self.build, self.work, self.quick = os.path.abspath(build), work, quick
        self.shared = shared  # a folder in memory, if there is one: what the disk costs is nobody's
        self.pprofdelta = os.path.join(self.build, "cli", "pprofdelta")
        self.peers = os.path.join(self.build, "peers")
        self.go_pprof = []  # the command
        self.no_peers = self.build_peers()

    def own(self, name):
        return os.path.join(self.build, "tests", name)

    def peer(self, name):
        return os.path.join(self.peers, name)

    def file(self, name):
        return os.path.join(self.work, name)

    def in_memory(self, name):
        return os.path.join(self.shared, name)

    def build_peers(self):
        """Builds the Go programs; returns why not."""
        if not shutil.which("go"):
            return "there is no go command here"
        version = re.search(r"go1\.(\d+)", run(["go", "version"]))
        if version and int(version.group(1)) < OLDEST_GO:
            return f"{version.group(0)} is older than go1.{OLDEST_GO}, which gets the Go they need"
        os.makedirs(self.peers, exist_ok=True)
        print("building the peers from their Go modules", file=sys.stderr)
        # Whoever runs this at real-time priority means the turns: Go's linker then spins for ever.
        scheduling = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        try:
            run(["go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-checklinkname=0",
                 "-o", self.peers + "/", "./..."], os.path.join(TREE, "tests", "peers"))
            # The program itself: go only builds it, and waits.
            self.go_pprof = [run(["go", "tool", "-n", "pprof"]).strip()]
        except Trouble as trouble:
            return f"they cannot be built: {str(trouble).strip().splitlines()[-1]}"
        finally:
            os.sched_setscheduler(0, *scheduling)
        return ""


# --- inputs -------------------------------------------------------------------------------------


def recorded(bench, directory):
    for path in sorted(glob.glob(os.path.join(directory, "*.pprof"))):
        name = os.path.basename(path)[:-len(".pprof")]
        kind = "contention" if re.search("block|mutex", name) else "heap"
        if os.path.getsize(path) < SMALLEST or name.endswith(".before"):
            continue
        if name.endswith(".after"):
            name = name[:-len(".after")]
            yield Pair(name, os.path.join(directory, f"{name}.before.pprof"), path, kind)
        elif not bench.no_peers:
            run([bench.peer("mutate"), path, bench.file(f"{name}.next")])
            yield Pair(name, path, bench.file(f"{name}.next"), kind)


def bundled(bench):
    looks = []
    for look in (1, 2):
        looks.append(bench.file(f"bundled.{look}"))
        with gzip.open(os.path.join(TREE, "testdata", "valid", f"heap.{look}.pb.gz")) as packed:
            with open(looks[-1], "wb") as plain:
                plain.write(packed.read())
    yield Pair("the bundled pair", *looks)


def generated(bench):
    for samples in (50_000,) if bench.quick else (50_000, 500_000):
        looks = [bench.file(f"generated.{samples}.{look}") for look in (1, 2)]
        run([bench.own("generate"), str(samples), "1", *looks])
        yield Pair(f"{samples:,} samples", *looks)


def pack(path):
    """Go writes its profiles at gzip's fastest level."""
    packed = path + ".gz"
    with open(path, "rb") as plain, open(packed, "wb") as out:
        out.write(gzip.compress(plain.read(), compresslevel=1, mtime=0))
    return packed


def inputs(bench):
    directory = os.environ.get("PD_PROFILES")
    pairs = list(recorded(bench, directory)) if directory else []
    for pair in [*(pairs or bundled(bench)), *generated(bench)]:
        for look in ("prev", "cur"):
            here = bench.file(os.path.basename(getattr(pair, look)))
            if here != getattr(pair, look):
                shutil.copyfile(getattr(pair, look), here)
            setattr(pair, look, here)
            setattr(pair, look + "_gz", pack(here))
        yield pair


# --- the answers --------------------------------------------------------------------------------


def check_answers(bench, pair):
    """Everybody must agree with google/pprof. Ours clamps what went backwards unless told not to,
    and fastdelta does not show what vanished: there, only what grew is compared."""
    merged, ours, theirs = (bench.file(f"{tool}.gz") for tool in ("merged", "ours", "theirs"))
    looks = [pair.prev_gz, pair.cur_gz]
    run([bench.peer("merge"), *looks, merged])
    run([bench.pprofdelta, *looks, "--on-reset=negative", "-q", "-o", ours])
    run([bench.peer("compare"), merged, ours])
    run([bench.pprofdelta, *looks, "-q", "-o", ours])
    run([bench.peer("compare"), "-clamp", merged, ours])
    if is_bounded(pair):
        run([bench.pprofdelta, *looks, "-q", "-o", ours, max_memory(pair)])
        run([bench.peer("compare"), "-clamp", merged, ours])
    run([bench.peer("fastdelta"), "-kind", pair.kind, *looks, theirs])
    run([bench.peer("compare"), "-clamp", merged, theirs])


# --- the clock ----------------------------------------------------------------------------------


def take_turns(bench, tools, once):
    """Runs every tool in turn until each has had its share of time, but three turns at least."""
    budget, most = (0.7e9, 15) if bench.quick else (4e9, 41)
    spent = {tool.name: 0 for tool in tools}
    for turn in range(most):
        for tool in tools:
            if turn < 3 or spent[tool.name] < budget:
                spent[tool.name] += once(tool)


def in_memory(bench, pair):
    tools = [Tool("pprofdelta", [bench.own("steady")])]
    if not bench.no_peers:
        tools += [Tool("fastdelta", [bench.peer("fastdelta"), "-kind", pair.kind, "-rounds", "8"]),
                  Tool("google/pprof", [bench.peer("merge"), "-rounds", "4"])]

    def once(tool):
        ours = tool.name == "pprofdelta"
        lines = run([*tool.command, pair.prev, pair.cur, *(["8"] if ours else [])]).splitlines()
        if ours:
            pair.samples = int(lines.pop(0).split()[1])
        times = [int(line) for line in lines]
        tool.times += times[2:]  # the first rounds still grow what the later ones reuse
        return sum(times)

    take_turns(bench, tools, once)
    return tools


def with_state(bench, pair):
    """A window from a state that knows prev."""
    state, kept, out = (bench.in_memory(name) for name in ("state", "state.kept", "out.gz"))
    if os.path.exists(state):  # of the pair before
        os.unlink(state)
    run([bench.pprofdelta, "--state", state, pair.prev_gz, "-q", "-o", out])
    pair.state_len = os.path.getsize(state)
    os.replace(state, kept)
    return Tool("pprofdelta --state", [bench.pprofdelta, "--state", state, pair.cur_gz, "-q", "-o", out],
                out, lambda: shutil.copyfile(kept, state))


def is_bounded(pair):
    """Small profiles have no need of the bounded way: what it takes besides is more than they are."""
    return os.path.getsize(pair.cur) >= BOUNDED


def max_memory(pair):
    """Too little for the ordinary way, which at its worst needs four times the plain profile."""
    return f"--max-memory={os.path.getsize(pair.cur) * 5 // 4}"


def end_to_end(bench, pair):
    looks = [pair.prev_gz, pair.cur_gz]
    outputs = [bench.in_memory(f"out.{i}.gz") for i in range(5)]
    tools = [Tool("pprofdelta", [bench.pprofdelta, *looks, "-o", outputs[0], "-q"], outputs[0])]
    if is_bounded(pair):
        tools.append(Tool("pprofdelta, bounded", [*tools[0].command[:-2], outputs[4], "-q",
                                                  max_memory(pair)], outputs[4]))
    if not bench.no_peers:
        tools += [
            Tool("fastdelta", [bench.peer("fastdelta"), "-kind", pair.kind, *looks, outputs[1]],
                 outputs[1]),
            Tool("google/pprof", [bench.peer("merge"), *looks, outputs[2]], outputs[2]),
            Tool("go tool pprof -base", [*bench.go_pprof, "-proto", "-output", outputs[3], "-base",
                                         *looks], outputs[3])]
    tools.append(with_state(bench, pair))
    if shutil.which("igzip"):
        tools.append(Tool("igzip -dc of both", ["igzip", "-dc", *looks]))

    def once(tool):
        if tool.prepare:
            tool.prepare()
        nanoseconds, peak = map(int, run([bench.own("measure"), *tool.command]).split())
        tool.times.append(nanoseconds)
        tool.peaks.append(peak)
        return nanoseconds

    take_turns(bench, tools, once)
    return tools


def instructions(bench, pair):
    """Per sample of a settled window: the difference of a longer run and a shorter one."""
    if not shutil.which("valgrind"):
        return None

    def count(rounds):
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--toggle-collect=window", bench.own("steady"), pair.prev, pair.cur, str(rounds)],
            capture_output=True, text=True, check=False)
        found = re.search(r"Collected : (\d+)", done.stderr)
        return int(found.group(1)) if found else 0

    return (count(3) - count(1)) / 2 / pair.samples


# --- the table ----------------------------------------------------------------------------------

TITLE = ("input", "what", "tool", "median", "ratio", "peak memory", "output")


def in_time(nanoseconds):
    return f"{nanoseconds / 1e6:,.2f} ms"


def in_size(size):
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def rows_of(pair, what, tools):
    for tool in tools:
        first = tool is tools[0]
        yield (pair.name if first else "", what if first else "", tool.name,
               in_time(tool.median()), f"{tool.median() / tools[0].median():.2f}",
               in_size(statistics.median(tool.peaks) * 1024) if tool.peaks else "",
               in_size(os.path.getsize(tool.output)) if tool.output else "")


def show(rows, words=3):
    """The first row is the title; the first so many columns are words."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    line = "|".join("-" * (width + 2) for width in widths)
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) if i < words or number == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print(f"|{line}|")


def machine():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"model name\s*: (.*)", file.read()).group(1)
    except (OSError, AttributeError):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores, {datetime.date.today()}"


def bench_pair(bench, pair):
    print(f"{pair.name}", file=sys.stderr)
    if not bench.no_peers:
        check_answers(bench, pair)
    memory, command = in_memory(bench, pair), end_to_end(bench, pair)
    counted = instructions(bench, pair)
    note = f"{pair.name}: {pair.samples:,} samples, {in_size(os.path.getsize(pair.cur))} plain, " \
           f"{in_size(os.path.getsize(pair.cur_gz))} gzip; " \
           f"a state of {in_size(pair.state_len)}"
    if counted:
        note += f"; {counted:,.0f} instructions a sample in memory"
    return [*rows_of(pair, "in memory", memory), *rows_of(pair, "gzip to gzip", command)], note


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where meson built")
    parser.add_argument("--quick", action="store_true", help="within a minute")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="pprofdelta-bench-") as work, \
            tempfile.TemporaryDirectory(prefix="pprofdelta-bench-", dir=memory) as shared:
        bench = Bench(arguments.build, work, shared, arguments.quick)
        rows, notes = [], []
        for pair in inputs(bench):
            more, note = bench_pair(bench, pair)
            rows += more
            notes.append(note)
        print(f"{machine()}; ratio: to pprofdelta's time in the same group\n")
        show([TITLE, *rows])
        print()
        for note in notes:
            print(note)
        print(f"Without the peers: {bench.no_peers}." if bench.no_peers else
              "All agree with google/pprof, sample by sample.")
        print("\nA window of raw records in the process that has them, to a compressed delta:\n")
        show(records.table(bench, run), 2)


if __name__ == "__main__":
    try:
        main()
    except Trouble as trouble:
        sys.exit(f"bench: {trouble}")
