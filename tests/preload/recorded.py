"""Reading what the agent wrote, apart from the code under test: profiles decoded field by field, and
addresses named by nm, from the files that the mappings name."""

import bisect
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import pb  # noqa: E402

(ALLOC_OBJECTS, ALLOC_BYTES, INUSE_OBJECTS, INUSE_BYTES, PEAK_OBJECTS, PEAK_BYTES, FREED_OBJECTS, FREED_BYTES,
 RSS, MAPPED) = range(10)
NAME = re.compile(r"heap\.([\w+.-]+)\.(\d+)\.(\d{6})\.pb\.gz$")
STAMP = re.compile(r"pprofdelta: live epoch=(\d+) seq=(\d+) attempt=(\d+) kind=(\w+) from=(\d+) to=(\d+) id=(\w+)$")
PEAK = PEAK_OBJECTS, PEAK_BYTES
_tables = {}


def symbols(path):
    """Sorted (address, name) of a file's functions, and its loaded segments (offset, address)."""
    if path not in _tables:
        def run(*command):
            return subprocess.run([*command, path], capture_output=True, text=True,
                                  check=False).stdout
        rows = [line.split() for line in (run("nm", "-C") or "").splitlines()]
        named = sorted((int(row[0], 16), " ".join(row[2:])) for row in rows
                       if len(row) > 2 and row[1] in "tTwW")
        loads = [line.split() for line in run("readelf", "-lW").splitlines() if " LOAD " in line]
        _tables[path] = named, [(int(row[1], 16), int(row[2], 16), int(row[4], 16))
                                for row in loads]
    return _tables[path]


def name_of(path, offset):
    named, loads = symbols(path)
    for begin, address, length in loads:
        if begin <= offset < begin + length:
            at = bisect.bisect_right(named, (offset - begin + address, "\xff")) - 1
            return named[at][1].split("(")[0] if at >= 0 else "?"
    return "?"


class Profile:
    """samples: (stack, values), where a stack is names, leaf first."""

    def __init__(self, path, is_stamped=True):
        self.path = path
        read = pb.read(pb.load(path))
        self.comments, self.types, self.mappings = read.comments, read.types, read.binaries
        self.locations = read.locations.values()
        places = {number: self._name(mapping, address) if address or not names else names[0]
                  for number, (mapping, address, names) in read.locations.items()}
        self.samples = [(tuple(places[i] for i in stack), values)
                        for stack, (_, _, values) in zip(read.stacks, read.samples)]
        if not is_stamped:
            return
        match = next(filter(None, map(STAMP.match, self.comments)))
        self.epoch, self.sequence = int(match.group(1)), int(match.group(2))
        self.attempt = int(match.group(3))
        self.kind, self.id = match.group(4), match.group(7)
        self.begin, self.end = int(match.group(5)), int(match.group(6))

    def _name(self, mapping, address):
        if mapping not in self.mappings:
            return "?"
        start, _, offset, path, _ = self.mappings[mapping]
        return name_of(path, address - start + offset) if os.path.exists(path) else "?"

    def names(self):
        """Of each location that has names: those, and that of the file."""
        return [(names, self._name(mapping, address)) for mapping, address, names in self.locations if names and address]

    def total(self, column):
        return sum(values[column] for _, values in self.samples)

    def by_function(self, column):
        """The sum over the samples in whose stack the function is, for each function."""
        sums = {}
        for stack, values in self.samples:
            for name in set(stack):
                sums[name] = sums.get(name, 0) + values[column]
        return sums


def add_up(profiles, columns=(INUSE_OBJECTS, INUSE_BYTES)):
    """In-use values of a process (or the peak), by stack: the last full profile and the deltas behind it."""
    sums = {}
    for profile in profiles:
        if profile.kind in ("full", "window"):
            sums = {}
        for stack, values in profile.samples:
            at = sums.setdefault(stack, [0, 0])
            for i, column in enumerate(columns):
                at[i] += values[column]
    return {stack: values for stack, values in sums.items() if values != [0, 0]}


def leaks(rows, names=("leak_",)):
    """{function: the sum} of rows (stack, value), by the first function in the stack that has such a name."""
    sums = {}
    for stack, value in rows:
        name = next((name for name in stack if name.startswith(names)), None)
        if name:
            sums[name] = sums.get(name, 0) + value
    return sums


def in_use(profiles):
    """The bytes that leaks of a process have in use in the end, by function."""
    return leaks((stack, size) for stack, (_, size) in add_up(profiles).items())


def files(folder):
    """{pid: paths}, those of a program in order."""
    found = {}
    for name in sorted(os.listdir(folder)):
        match = NAME.match(name)
        if match:
            found.setdefault(int(match.group(2)), []).append(os.path.join(folder, name))
    return found


def profiles(folder):
    """{pid: profiles in order}, also of several programs that the process has been."""
    return {pid: sorted((Profile(path) for path in paths), key=lambda p: p.end)
            for pid, paths in files(folder).items()}
