"""Programs that the tests compile, and what other tools say of their addresses."""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))

import pb  # noqa: E402
from harness import TIMEOUT, Skip  # noqa: E402

IN_CI = os.environ.get("CI") == "true"


def tool(*names):
    """The first of these programs that is there. In CI, all that the tests use is there."""
    for name in names:
        if shutil.which(name):
            return name
    if IN_CI:
        raise AssertionError(f"{names[0]} is missing, and CI is to have it")
    raise Skip(f"{names[0]} is missing")


def run(*command, **how):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TIMEOUT, **how).stdout.decode()


def symbolized(t, *options):
    """What symbolize makes of in.pb."""
    t.succeeds("symbolize", "in.pb", "-o", "out.pb", *options)
    return Symbolized(t.load("out.pb"))


compiled = {}  # programs by compiler and options


class Elf:
    """What readelf says of a file."""

    def __init__(self, path):
        self.path = path
        notes = run("readelf", "-n", path)
        found = re.search(r"Build ID: ([0-9a-f]+)", notes)
        self.build_id = found.group(1) if found else ""
        self.segments = []  # offset, address, size in the file, flags
        for line in run("readelf", "-lW", path).splitlines():
            words = line.split()
            if words and words[0] == "LOAD":
                offset, address, _, size = (int(word, 16) for word in words[1:5])
                self.segments.append((offset, address, size, "".join(words[6:-1])))
        self.is_fixed = "EXEC" in run("readelf", "-h", path)

    @classmethod
    def of_shapes(cls, t, *options, compiler="g++", name="shapes"):
        """... of the program of shapes.cc, which it compiles."""
        options = options or ("-g", "-O2")
        if (compiler, options) in compiled:
            os.chmod(t.write(name, compiled[compiler, options]), 0o755)
        else:
            run(tool(compiler), os.path.join(HERE, "shapes.cc"), "-o", t.path(name), "-Wl,--build-id", *options, cwd=t.dir)
            if "-gsplit-dwarf" not in options:  # of which parts are in the folder
                compiled[compiler, options] = t.load(name)
        return cls(t.path(name))

    def code(self):
        return next(s for s in self.segments if "E" in s[3])

    def addresses(self, *parts):
        """Every instruction's address in the functions whose names have one of the parts, without the
        linker's stubs, and without padding, which some tools count to the function before."""
        out, is_wanted = [], False
        for line in run("objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
            if head:
                is_wanted = any(part in head.group(1) for part in parts) and "@plt" not in head.group(1)
            found = re.match(r"^ +([0-9a-f]+):\t", line)
            if found and is_wanted and not re.search(r"\t(nop|data16|cs nop|xchg +%ax,%ax|int3|udf)", line):
                out.append(int(found.group(1), 16))
        return out


def located(elf, addresses, slide=0x550000000000, build_id=None, path=None):
    """A profile with these addresses of the file, as a process has them. The mapping is a page into the
    file, where the code is."""
    offset, address, size, _ = elf.code()
    page = 0xfff
    slide = 0 if elf.is_fixed else slide
    start = (address & ~page) + slide
    limit = (address + size + slide + page) & ~page
    samples = [("", 1, at + slide, [1, at]) for at in addresses]
    mapping = (start, limit, offset & ~page, path or elf.path,
               elf.build_id if build_id is None else build_id)
    return pb.mapped(samples, [mapping])


def side_by_side(*elves):
    """The samples and mappings of a process that has all their code, each 4 GiB behind the last."""
    samples, mappings = [], []
    for number, elf in enumerate(elves, 1):
        offset, address, size, _ = elf.code()
        start = 0x7f0000000000 + (number << 32)
        mappings.append((start, start + (size | 0xfff) + 1, offset, elf.path, elf.build_id))
        samples += [("", number, at - address + start, [1, 1]) for at in elf.addresses("Store4fill")]
    return samples, mappings


class Symbolized(pb.Read):
    """A profile, with the frames of each sample, innermost call first, each a tuple of name, system name,
    file, start line, line, column; and the flags of each mapping."""

    def __init__(self, data):
        super().__init__(data)
        self.frames = [[(*self.functions[function], line, column) for i in stack
                        for function, line, column in self.lines[i]] for stack in self.stacks]
        self.flags = [tuple(pb.one(m, n, 0) for n in (7, 8, 9, 10)) for m in pb.parts(pb.inflate(data), 3)]


def by_addr2line(path, addresses):
    """For each address a list of (function, file, line), innermost call first."""
    out = run(tool("addr2line"), "-a", "-i", "-f", "-e", path,
              *[hex(a) for a in addresses])
    groups = []
    lines = out.splitlines()
    at = 0
    while at < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[at]):
            groups.append([])
            at += 1
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", lines[at + 1])
        file, _, line = place.rpartition(":")
        groups[-1].append((lines[at], file, int(line) if line.isdigit() else 0))
        at += 2
    return groups


def by_llvm(path, addresses):
    out = run(tool("llvm-symbolizer"), "--inlines", "--functions=linkage", "--no-demangle", "-e", path,
              *[hex(a) for a in addresses])
    groups = []
    for block in out.strip().split("\n\n"):
        lines = block.splitlines()
        group = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, line, _ = place.rsplit(":", 2)
            group.append((function, file, int(line)))
        groups.append(group)
    return groups
