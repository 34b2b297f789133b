"""The inputs of the benchmark and the bars: each shape is a pair of profiles of one process, and what
each ratio to a peer may be at most."""

import glob
import gzip
import os
import random
import re
import sys
from dataclasses import dataclass

SMALLEST = 100_000  # bytes: below, only the start of the process takes time
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(TREE, "tests", "cli"))

import pb  # noqa: E402

MINUTE = 60 * 10**9


@dataclass(frozen=True)
class Bars:
    """The most that a ratio may be. None: there is no bar. bench.py says what the ratios are of."""
    command: float = None
    state: float = None
    peak: float = None
    memory: float = None
    otlp: float = 1.3
    otlp_size: float = 1.2


@dataclass
class Pair:
    """Two profiles, as files: plain (prev, cur) and gzip (prev_gz, cur_gz)."""
    name: str
    prev: str
    cur: str
    kind: str = "heap"
    prev_gz: str = ""
    cur_gz: str = ""
    samples: int = 0
    state_len: int = 0  # bytes of the state that remembers prev

    @property
    def bars(self):
        return BARS.get(self.name, BARS["recorded"])

    def remove(self):
        for path in (self.prev, self.cur, self.prev_gz, self.cur_gz):
            os.unlink(path)


@dataclass(frozen=True)
class Generated:
    """A pair that generate.c writes; it says what the words mean."""
    samples: int
    order: str
    stacks: str
    is_large: bool = False

    @property
    def name(self):
        order = {"go": "Go's order", "fields": "field order"}[self.order]
        return f"{self.samples:,}, {order}, {self.stacks}"

    def pair(self, bench, run):
        looks = [bench.file(f"generated.{look}") for look in (1, 2)]
        run([bench.own("generate"), str(self.samples), "1", self.order, self.stacks, *looks])
        return Pair(self.name, *looks)


@dataclass(frozen=True)
class Recorded:
    """Two profiles of a real process; without a second one it is made up."""
    name: str
    prev: str
    cur: str  # or ""
    is_large: bool = False

    def pair(self, bench, run):
        kind = "contention" if re.search("block|mutex", self.name) else "heap"
        looks = [bench.file(f"recorded.{look}") for look in (1, 2)]
        unpack(self.prev, looks[0])
        if self.cur:
            unpack(self.cur, looks[1])
        else:
            with open(looks[1], "wb") as file:
                file.write(a_minute_later(pb.load(looks[0])))
        return Pair(self.name, *looks, kind)


# ---- the bars ----------------------------------------------------------------------------------
#
# command, state: two files, and a window with a state, over `igzip -dc` of both files
# peak, memory:   two files, the peak memory, and a window in memory, over fastdelta
#
# otlp, otlp_size: two files to OTLP over two files to pprof, the time and the compressed bytes
#
# For state and memory, and for recorded profiles, they are what was measured when they were set.

BARS = {
    "recorded": Bars(command=2.6, state=2.4, memory=0.18),
    "the bundled pair": Bars(),  # the start of the process is most of it
    "stress-failure.2": Bars(command=3.1, state=2.9, memory=0.18),
    "50,000, Go's order, distinct": Bars(command=3.9, state=3.2, memory=0.11, otlp_size=1.5),
    "50,000, Go's order, repeated": Bars(command=3.9, state=3.2, memory=0.16, otlp_size=1.5),
    "50,000, field order, distinct": Bars(command=3.9, state=3.2, memory=0.11, otlp_size=1.5),
    "50,000, field order, repeated": Bars(command=3.9, state=3.2, memory=0.14, otlp_size=1.5),
    "500,000, Go's order, distinct": Bars(command=2.0, state=1.6, peak=0.5, memory=0.045, otlp_size=1.6),
    "500,000, Go's order, repeated": Bars(command=2.4, state=2.25, peak=0.5, memory=0.16, otlp_size=1.6),
    "500,000, field order, distinct": Bars(command=2.0, state=1.6, peak=0.5, memory=0.045, otlp_size=1.6),
    "500,000, field order, repeated": Bars(command=2.4, state=2.25, peak=0.5, memory=0.16, otlp_size=1.6),
}


def recorded():
    """The profiles in the directory $PD_PROFILES, or else the pair in testdata."""
    directory = os.environ.get("PD_PROFILES")
    found = sorted(glob.glob(os.path.join(directory, "*.pprof"))) if directory else []
    shapes = []
    for path in found:
        name = os.path.basename(path)[:-len(".pprof")]
        if os.path.getsize(path) < SMALLEST or name.endswith(".before"):
            continue
        if name.endswith(".after"):
            name = name[:-len(".after")]
            shapes.append(Recorded(name, os.path.join(directory, f"{name}.before.pprof"), path))
        else:
            shapes.append(Recorded(name, path, ""))
    bundled = [os.path.join(TREE, "testdata", "valid", f"heap.{look}.pb.gz") for look in (1, 2)]
    return shapes or [Recorded("the bundled pair", *bundled)]


def shapes():
    generated = [Generated(samples, order, stacks, is_large=samples > 100_000)
                 for samples in (50_000, 500_000)
                 for order in ("go", "fields")
                 for stacks in ("distinct", "repeated")]
    return [*recorded(), *generated]


def a_minute_later(data):
    """The next profile of a process of which there is only one: one sample in a hundred has counted more. It has no duration, since
    some tools take a profile of a minute for a delta."""
    profile, draw, out = pb.read(data), random.Random(1), bytearray()
    grows = [name.split("/")[0] in ("alloc_objects", "alloc_space", "contentions", "delay") for name in profile.types]
    for field, begin, body, end in pb.spans(data):
        if field == 2 and not draw.randrange(100):
            values = [pb.signed(value) for value in pb.index_list(data[body:end], 2)]
            more = [value + (value // 16 + 1) * is_counter for value, is_counter in zip(values, grows)]
            out += pb.chunk(2, pb.without(2)(data[body:end]) + pb.packed(2, more))
        elif field not in (9, 10):
            out += data[begin:end]
    return bytes(out) + pb.number(9, profile.time + MINUTE)


# ---- files -------------------------------------------------------------------------------------


def unpack(source, target):
    with open(source, "rb") as file:
        content = file.read()
    with open(target, "wb") as file:
        file.write(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def pack(path):
    """Compresses at gzip's fastest level, as Go does, and returns the path of the result."""
    packed = path + ".gz"
    with open(path, "rb") as plain, open(packed, "wb") as out:
        out.write(gzip.compress(plain.read(), compresslevel=1, mtime=0))
    return packed


def pairs(bench, run, only):
    """The pairs of all shapes that are wanted, one after the other. Each is removed before the next."""
    for shape in shapes():
        if not re.search(only, shape.name) if only else bench.quick and shape.is_large:
            continue
        with bench.ordinary_priority():
            pair = shape.pair(bench, run)
            if not pair.prev_gz:
                pair.prev_gz, pair.cur_gz = pack(pair.prev), pack(pair.cur)
        yield pair
        pair.remove()
