"""ELF files and debug information that are damaged: symbolize ends well and says what it could not do."""

import os
import random
import re
import struct
import subprocess

import harness
import pb
from compiled import Elf, located, run, side_by_side, symbolized

WANTED = ("Store4fill", "plain_c")


def made(t, *options, **how):
    elf = Elf.of_shapes(t, *options, **how)
    t.write("in.pb", located(elf, elf.addresses(*WANTED)[::7]))
    return elf.path, bytearray(t.load(elf.path))


def sections(path):
    """{name: (offset, size)}"""
    out = {}
    for line in run("readelf", "-SW", path).splitlines():
        found = re.match(r" +\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", line)
        if found:
            out[found.group(1)] = (int(found.group(2), 16), int(found.group(3), 16))
    return out


def attempt(t, path, data):
    with open(path, "wb") as file:
        file.write(data)
    result = t.succeeds("symbolize", "in.pb", "-o", "out.pb")
    t.succeeds("check", "out.pb")
    t.equal(t.litter(), [])
    return result


def test_files_that_are_cut_off(t):
    path, data = made(t)
    for part in (0, 3, 16, 63, 64, 200, len(data) // 8, len(data) // 2, len(data) - 64, len(data) - 1):
        attempt(t, path, data[:part])


def test_files_that_are_no_elf_files(t):
    path, data = made(t)
    t.contains(attempt(t, path, b"#!/bin/sh\n").err, "is not an ELF file that can be read")
    for make, unmake in ((os.mkdir, os.rmdir), (os.mkfifo, os.remove), (lambda p: os.symlink(p, p), os.remove)):
        os.remove(path)
        make(path)
        t.contains(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "is not here")
        unmake(path)
        t.write(path, data)


def test_only_regular_files_are_opened(t):
    """A profile may name any path. To open a pipe lets its writer go on, and to open a device may have effects."""
    path, data = made(t)
    want = t.succeeds("symbolize", "in.pb").out
    os.rename(path, path + ".1")
    os.symlink(path + ".1", path)
    t.equal(t.succeeds("symbolize", "in.pb").out, want, "a link to the binary is followed")
    for name in ("/dev/zero", "/proc/self/maps", "/proc/self/mem"):
        os.remove(path)
        os.symlink(name, path)
        t.contains(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "is not here")
    os.remove(path)
    os.mkfifo(path)
    writer = subprocess.Popen(["sh", "-c", 'echo alone >"$0"', path])
    t.contains(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "is not here")
    got = subprocess.run(["cat", path], stdout=subprocess.PIPE, timeout=harness.TIMEOUT, check=False).stdout
    t.equal(got, b"alone\n")
    t.equal(writer.wait(), 0)


def test_damaged_headers_and_tables(t):
    path, data = made(t)
    rng = random.Random(1)
    places = sections(path)
    t.check({".debug_info", ".debug_line", ".debug_abbrev", ".symtab"} <= set(places), f"{places}")
    (headers,) = struct.unpack_from("<Q", data, 40)
    for round_number in range(12):
        copy = bytearray(data)
        for _ in range(4):
            copy[headers + rng.randrange(len(data) - headers)] = rng.randrange(256)
            copy[16 + rng.randrange(48)] = rng.randrange(256)
        attempt(t, path, copy)
    for name in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_rnglists", ".symtab",
                 ".strtab", ".debug_line_str"):
        if name not in places:
            continue
        offset, size = places[name]
        for fill in (0x00, 0xff, None):
            copy = bytearray(data)
            for at in range(offset, offset + size):
                if fill is None and rng.randrange(40):
                    continue
                copy[at] = rng.randrange(256) if fill is None else fill
            attempt(t, path, copy)


def test_entries_that_refer_to_each_other(t):
    """Each reference of an entry is changed to one place, so that chains of origins loop."""
    path, data = made(t)
    offset, size = sections(path)[".debug_info"]
    dump = run("readelf", "--debug-dump=info", path)
    places = [int(found, 16) for found in
              re.findall(r"<([0-9a-f]+)> +DW_AT_(?:abstract_origin|specification|sibling)", dump)]
    t.check(len(places) > 50, f"{len(places)} references")
    for target in ("self", "one"):
        copy = bytearray(data)
        for at in places:
            if at + 4 <= size:
                # A reference to the attribute's own entry is near; to one entry is at its place.
                struct.pack_into("<I", copy, offset + at, at - 1 if target == "self" else places[0] - 1)
        attempt(t, path, copy)


def flags_of_children(data, begin, size):
    """Where .debug_abbrev says that entries have children."""
    at, end = begin, begin + size

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < end:
        if not number():
            continue
        number()
        yield at
        at += 1
        while True:
            name, form = number(), number()
            if form == 0x21:  # DW_FORM_implicit_const
                number()
            if not name and not form:
                break


def test_entries_that_are_siblings_and_children(t):
    """With a wrong flag, what is read as an entry's sibling may be one of its children, at every depth."""
    path, data = made(t)
    flags = list(flags_of_children(data, *sections(path)[".debug_abbrev"]))
    t.check(len(flags) > 20, f"{len(flags)} flags")
    for at in flags:
        copy = bytearray(data)
        copy[at] ^= 1
        t.lacks(attempt(t, path, copy).err, "processor time")


RANGES = """
.section .debug_abbrev
.uleb128 1, 0x11; .byte 1; .uleb128 0x11, 1, 0x12, 7, 0, 0
.uleb128 2, 0x2e; .byte 0; .uleb128 0x55, 0x17, 0, 0
.byte 0
.section .debug_info
.long end - begin
begin: .short 4; .long .debug_abbrev; .byte 8
.uleb128 1; .quad main; .quad 64
.rept 20000
.uleb128 2; .long .debug_ranges
.endr
.byte 0
end:
.section .debug_ranges
.rept 20000
.quad 1 << 40, (1 << 40) + 1
.endr
.quad 0, 0
.section .note.GNU-stack,"",@progbits
"""


def test_ranges_that_multiply(t):
    """20,000 functions, each with the same 20,000 ranges."""
    t.write("main.c", b"int main(void) { return 0; }\n")
    t.write("ranges.s", RANGES.encode())
    path = t.path("multiplied")
    run("cc", "-O1", "-Wl,--build-id", "-o", path, t.path("main.c"), t.path("ranges.s"))
    elf = Elf(path)
    t.write("in.pb", located(elf, elf.addresses("main")))
    t.contains(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "takes too much processor time")
    t.succeeds("check", "out.pb")


def test_no_file_is_opened_that_debug_information_names(t):
    """It may name a pipe, which would wait for a writer for ever."""
    made(t, "-g", "-O2", "-gsplit-dwarf", compiler="clang++")
    parts = [name for name in os.listdir(t.dir) if name.endswith(".dwo")]
    t.check(parts, "there are parts")
    t.lacks(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "cannot be read")
    whole = t.load("out.pb")
    for name in parts:
        os.remove(t.path(name))
        os.mkfifo(t.path(name))
    t.succeeds("symbolize", "in.pb", "-o", "out.pb")
    t.check(t.load("out.pb") != whole, "the parts have the functions")
    t.succeeds("check", "out.pb")


def test_the_rest_is_found_beside_a_damaged_file(t):
    good, bad = Elf.of_shapes(t, name="good"), Elf.of_shapes(t, "-g", "-O1", name="bad")
    t.write("in.pb", pb.mapped(*side_by_side(bad, good)))
    os.truncate(bad.path, 100)
    named = [frames[-1][0] for frames in symbolized(t).frames if frames]
    t.equal(named, ["shapes::Store::fill"] * len(good.addresses("Store4fill")))
