#!/usr/bin/env python3
"""pprofdelta beside its peers: the same files, in alternation, in one run.

    bench.py --build BUILD [--quick] [--only REGEX]

shapes.py has the inputs and the bars. A first table has the ratios to the peers beside their bars, a
second one the times and the memory that they are made of. Then comes the records door beside
godeltaprof (records.py).

Before anything is timed, the answer of every tool is compared to google/pprof's. Times are medians;
every tool of a group runs once before any runs again. CPU time is that of all threads of a process,
user and system: other load on the machine disturbs it less than the wall time. --quick leaves out the
large shapes and most of the runs; --only measures the shapes whose names match, the large ones too,
and leaves out the records.

The peers (tests/peers) are built from their pinned Go modules; where that cannot be done, the tables
have our own rows and a line with the reason.
"""

import argparse
import contextlib
import datetime
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
from shapes import TREE, pairs

OLDEST_GO = 21  # of 1.x: from there on, go fetches the version that a go.mod asks for
BOUNDED = 10_000_000  # bytes: from there on, --max-memory has a row
OURS, OTLP, STATE, FASTDELTA, GOOGLE, IGZIP = (
    "pprofdelta", "pprofdelta --format=otlp", "pprofdelta --state", "fastdelta", "google/pprof", "igzip -dc of both")
MEMORY, COMMAND = "in memory", "gzip to gzip"  # the two groups of tools


@dataclass
class Tool:
    """A row of the table: a command, and what its runs cost."""
    name: str
    command: list
    output: str = ""
    prepare: object = None  # called before each run, and not timed
    wall: list = field(default_factory=list)  # nanoseconds
    cpu: list = field(default_factory=list)  # nanoseconds
    peak: list = field(default_factory=list)  # KiB
    faults: list = field(default_factory=list)  # of pages

    def median(self, of="wall"):
        if of == "size":
            return os.path.getsize(self.output)
        return statistics.median(getattr(self, of))


@dataclass(frozen=True)
class Ratio:
    """A column of the first table: the cost of one tool over that of another, of the same group."""
    title: str
    group: str
    tool: str
    peer: str
    of: str = "wall"
    bar: str = ""  # a field of shapes.Bars

    def of_medians(self, tools, of):
        tool, peer = (tools.get((self.group, name)) for name in (self.tool, self.peer))
        return tool.median(of) / peer.median(of) if tool and peer and peer.median(of) else None


RATIOS = [Ratio("two files / igzip", COMMAND, OURS, IGZIP, bar="command"),
          Ratio("state / igzip", COMMAND, STATE, IGZIP, bar="state"),
          Ratio("peak / fastdelta's", COMMAND, OURS, FASTDELTA, of="peak", bar="peak"),
          Ratio("in memory / fastdelta", MEMORY, OURS, FASTDELTA, bar="memory"),
          Ratio("two files / fastdelta", COMMAND, OURS, FASTDELTA),
          Ratio("two files / google/pprof", COMMAND, OURS, GOOGLE),
          Ratio("OTLP / pprof", COMMAND, OTLP, OURS, bar="otlp"),
          Ratio("OTLP's bytes / pprof's", COMMAND, OTLP, OURS, of="size", bar="otlp_size")]


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
        try:
            with self.ordinary_priority():
                run(["go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-checklinkname=0",
                     "-o", self.peers + "/", "./..."], os.path.join(TREE, "tests", "peers"))
                # The program itself: go only builds it, and waits.
                self.go_pprof = [run(["go", "tool", "-n", "pprof"]).strip()]
        except Trouble as trouble:
            return f"they cannot be built: {str(trouble).strip().splitlines()[-1]}"
        return ""

    @contextlib.contextmanager
    def ordinary_priority(self):
        """The bench may be run at real-time priority, which is meant for what is timed. Go's linker
        never ends with it."""
        scheduling = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        try:
            yield
        finally:
            os.sched_setscheduler(0, *scheduling)


# --- the answers --------------------------------------------------------------------------------


def check_answers(bench, pair):
    """Every tool must agree with google/pprof. Ours clamps what went backwards by default, and
    fastdelta leaves out what vanished: there, only what grew is compared."""
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
    """Runs the tools in turn until each has used up its share of time, but three times at least, unless
    that takes ten shares."""
    budget, most = (0.7e9, 15) if bench.quick else (4e9, 41)
    spent = {tool.name: 0 for tool in tools}
    for turn in range(most):
        for tool in tools:
            if spent[tool.name] < (10 * budget if turn < 3 else budget):
                spent[tool.name] += once(tool)


def in_memory(bench, pair):
    tools = [Tool(OURS, [bench.own("steady")])]
    if not bench.no_peers:
        tools += [Tool(FASTDELTA, [bench.peer("fastdelta"), "-kind", pair.kind, "-rounds", "8"]),
                  Tool(GOOGLE, [bench.peer("merge"), "-rounds", "4"])]

    def once(tool):
        ours = tool.name == OURS
        lines = run([*tool.command, pair.prev, pair.cur, *(["8"] if ours else [])]).splitlines()
        if ours:
            pair.samples = int(lines.pop(0).split()[1])
        wall, cpu = zip(*(map(int, line.split()) for line in lines))
        tool.wall += wall[2:]  # the first rounds still grow what the later ones reuse
        tool.cpu += cpu[2:]
        return sum(wall)

    take_turns(bench, tools, once)
    return tools


def with_state(bench, pair):
    """A window from a state that remembers prev."""
    state, kept, out = (bench.in_memory(name) for name in ("state", "state.kept", "out.gz"))
    if os.path.exists(state):  # of the pair before
        os.unlink(state)
    run([bench.pprofdelta, "--state", state, pair.prev_gz, "-q", "-o", out])
    pair.state_len = os.path.getsize(state)
    os.replace(state, kept)
    return Tool(STATE, [bench.pprofdelta, "--state", state, pair.cur_gz, "-q", "-o", out],
                out, lambda: shutil.copyfile(kept, state))


def is_bounded(pair):
    """A small profile takes less memory than the command does without it."""
    return os.path.getsize(pair.cur) >= BOUNDED


def max_memory(pair):
    """Less than the command would use, which is up to four times the plain profile."""
    return f"--max-memory={os.path.getsize(pair.cur) * 2}"


def end_to_end(bench, pair):
    looks = [pair.prev_gz, pair.cur_gz]
    outputs = [bench.in_memory(f"out.{i}.gz") for i in range(6)]
    tools = [Tool(OURS, [bench.pprofdelta, *looks, "-o", outputs[0], "-q"], outputs[0])]
    if is_bounded(pair):
        tools.append(Tool("pprofdelta --max-memory", [*tools[0].command[:-2], outputs[4], "-q",
                                                  max_memory(pair)], outputs[4]))
    if not bench.no_peers:
        tools += [
            Tool(FASTDELTA, [bench.peer("fastdelta"), "-kind", pair.kind, *looks, outputs[1]],
                 outputs[1]),
            Tool(GOOGLE, [bench.peer("merge"), *looks, outputs[2]], outputs[2]),
            Tool("go tool pprof -base", [*bench.go_pprof, "-proto", "-output", outputs[3], "-base",
                                         *looks], outputs[3])]
    tools.append(Tool(OTLP, [*tools[0].command[:-2], outputs[5], "-q", "--format=otlp"], outputs[5]))
    tools.append(with_state(bench, pair))
    if shutil.which("igzip"):
        tools.append(Tool(IGZIP, ["igzip", "-dc", *looks]))

    def once(tool):
        if tool.prepare:
            tool.prepare()
        wall, cpu, peak, faults = map(int, run([bench.own("measure"), *tool.command]).split())
        tool.wall.append(wall)
        tool.cpu.append(cpu)
        tool.peak.append(peak)
        tool.faults.append(faults)
        return wall

    take_turns(bench, tools, once)
    return tools


# --- the tables ---------------------------------------------------------------------------------


def ratio_title():
    cells = ["input", "samples"]
    for ratio in RATIOS:
        cells += [ratio.title, "bar"] if ratio.bar else [ratio.title]
    return tuple(cells)


def ratio_cells(pair, ratio, tools):
    """The ratio, behind it in parentheses that of the CPU times, and the bar where there may be one."""
    value = ratio.of_medians(tools, ratio.of)
    cpu = ratio.of_medians(tools, "cpu") if ratio.of == "wall" else None
    text = "" if value is None else f"{value:.3g}" if value < 0.1 else f"{value:.2f}"
    cells = [text if cpu is None else f"{text} ({cpu:.3g})" if cpu < 0.1 else f"{text} ({cpu:.2f})"]
    if ratio.bar:
        bar = getattr(pair.bars, ratio.bar)
        is_missed = None not in (bar, value) and value > bar
        cells.append("" if bar is None else f"{bar} MISSED" if is_missed else f"{bar}")
    return cells


def ratio_row(pair, tools):
    cells = [pair.name, f"{pair.samples:,}"]
    for ratio in RATIOS:
        cells += ratio_cells(pair, ratio, tools)
    return tuple(cells)


COST_TITLE = ("input", "what", "tool", "wall", "CPU", "ratio", "peak memory", "page faults", "output")


def in_time(nanoseconds):
    return f"{nanoseconds / 1e6:,.2f} ms"


def in_size(size):
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def cost_rows(pair, what, tools):
    for tool in tools:
        first = tool is tools[0]
        yield (pair.name if first else "", what if first else "", tool.name,
               in_time(tool.median()), in_time(tool.median("cpu")),
               f"{tool.median() / tools[0].median():.2f}",
               in_size(tool.median("peak") * 1024) if tool.peak else "",
               f"{tool.median('faults'):,.0f}" if tool.faults else "",
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


def note_of(pair):
    return f"{pair.name}: {in_size(os.path.getsize(pair.cur))} plain, " \
           f"{in_size(os.path.getsize(pair.cur_gz))} gzip; a state of {in_size(pair.state_len)}"


def bench_pair(bench, pair):
    """The row of the first table, the rows of the second one, a note."""
    print(f"{pair.name}", file=sys.stderr)
    with bench.ordinary_priority():
        if not bench.no_peers:
            check_answers(bench, pair)
    groups = {MEMORY: in_memory(bench, pair), COMMAND: end_to_end(bench, pair)}
    tools = {(group, tool.name): tool for group, members in groups.items() for tool in members}
    costs = [row for group, members in groups.items() for row in cost_rows(pair, group, members)]
    return ratio_row(pair, tools), costs, note_of(pair)


def bench_pairs(bench, only):
    ratios, costs, notes = [ratio_title()], [COST_TITLE], []
    for pair in pairs(bench, run, only):
        ratio, more, note = bench_pair(bench, pair)
        ratios.append(ratio)
        costs += more
        notes.append(note)
    print(f"{machine()}\n\nRatios of medians, of wall times and (in parentheses) of CPU times; a bar is "
          "the most that the first may be:\n")
    show(ratios, 1)
    print("\nMedians; the ratio is to the first tool of the same group:\n")
    show(costs)
    print()
    for note in notes:
        print(note)
    print(f"Without the peers: {bench.no_peers}." if bench.no_peers else
          "All agree with google/pprof, sample by sample.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where meson built")
    parser.add_argument("--quick", action="store_true", help="within some minutes")
    parser.add_argument("--only", default="", metavar="REGEX", help="shapes to measure, by name")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="pprofdelta-bench-") as work, \
            tempfile.TemporaryDirectory(prefix="pprofdelta-bench-", dir=memory) as shared:
        bench = Bench(arguments.build, work, shared, arguments.quick)
        bench_pairs(bench, arguments.only)
        if arguments.only:
            return
        print("\nA window of raw records in the process that has them, to a compressed delta:\n")
        show(records.table(bench, run), 2)


if __name__ == "__main__":
    try:
        main()
    except Trouble as trouble:
        sys.exit(f"bench: {trouble}")
