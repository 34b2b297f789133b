"""The records door beside godeltaprof: the very same records, made up by the same rules in both
languages, from raw records to a compressed delta.

Before anything is timed, the last delta of both is compared, unscaled (scaled, godeltaprof's windows do not
add up)."""

import statistics
from dataclasses import dataclass, field

RATE = 524288  # Go's


@dataclass
class Shape:
    """How many records, how deep, how many of them change from window to window, of how many in a
    thousand something is in use."""
    name: str
    records: int
    depth: int
    changed: int
    live: int
    windows: int

    def numbers(self):
        return [str(n) for n in (self.records, self.depth, self.changed, self.live, self.windows)]


SHAPES = [Shape("512 records, 8 change", 512, 32, 8, 0, 801),
          Shape("512 records, 56 change", 512, 32, 56, 0, 401),
          Shape("50,000 records, 1% change", 50_000, 32, 500, 0, 41)]


@dataclass
class Way:
    """A row of the table."""
    name: str
    command: list
    times: list = field(default_factory=list)  # nanoseconds of settled windows
    facts: dict = field(default_factory=dict)  # what a recorder holds

    def take_turn(self, run):
        lines = run(self.command).splitlines()
        windows = [int(line) for line in lines if not line.startswith("#")]
        self.times += windows[len(windows) // 4:]
        for line in lines:
            if line.startswith("#"):
                words = line.split()[1:]
                self.facts = dict(zip(words[::2], map(int, words[1::2])))


def command(bench, shape, way, sites, rate, *out):
    if way == "godeltaprof":
        return [bench.peer(way), "-rate", str(rate), *shape.numbers(), *out]
    return [bench.own("records"), sites, str(rate), *shape.numbers(), *out]


def check_answers(bench, run, shape, sites):
    theirs, ours = bench.file("records.theirs"), bench.file("records.ours")
    # With gauges too where that is few stacks: of many made-up ones, godeltaprof takes some neighbours
    # for inlined.
    live = 300 if shape.records < 1000 else shape.live
    few = Shape(shape.name, shape.records, shape.depth, shape.changed, live, 4)
    run(command(bench, few, "godeltaprof", sites, 1, theirs))
    run(command(bench, few, "recorder", sites, 1, ours))
    run([bench.peer("compare"), "-unmapped", theirs, ours])


def measure(bench, run, shape):
    sites = "-" if bench.no_peers else bench.file("sites")
    ways = [Way("recorder", command(bench, shape, "recorder", sites, RATE))]
    if not bench.no_peers:
        run([bench.peer("godeltaprof"), "-sites", sites])
        check_answers(bench, run, shape, sites)
        ways.append(Way("godeltaprof", command(bench, shape, "godeltaprof", sites, RATE)))
    for _ in range(3 if bench.quick else 9):
        for way in ways:
            way.take_turn(run)
    return ways


def rows_of(shape, ways):
    """Cells: records, way, median of a window, ratio, bytes an entry, allocations a window."""
    first = statistics.median(ways[0].times)
    for way in ways:
        median = statistics.median(way.times)
        holds = way.facts and way.facts["entries"]
        settled = shape.windows - shape.windows // 2
        yield (shape.name if way is ways[0] else "", way.name, f"{median / 1e6:,.3f} ms",
               f"{median / first:.2f}", f"{way.facts['ledger'] / holds:.1f}" if holds else "",
               f"{way.facts['allocations'] / settled:.0f}" if holds else "")


def table(bench, run):
    """The rows of the table, its title first."""
    rows = [("records", "way", "median", "ratio", "bytes an entry", "allocations a window")]
    for shape in SHAPES:
        rows += rows_of(shape, measure(bench, run, shape))
    return rows
