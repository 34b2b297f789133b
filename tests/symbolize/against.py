"""Every instruction of some functions, compared with what addr2line and llvm-symbolizer say."""

import os
import re

from compiled import Elf, by_addr2line, by_llvm, located, run, symbolized, tool

FUNCTIONS = ("shapes", "main", "plain_c", "vector")


def plain(name):
    """A symbol's name without what tools write differently: the clone, and which of the constructors
    or destructors of a class it is."""
    return re.sub(r"([CD])[0-9](E|I)", r"\1_\2", re.sub(r"\.[a-z].*$", "", name))


def place(file, line):
    return (os.path.normpath(file) if file and file != "??" else "", line)


def compare(t, elf, oracle):
    addresses = elf.addresses(*FUNCTIONS)
    t.check(len(addresses) > 100, f"{len(addresses)} addresses")
    t.write("in.pb", located(elf, addresses))
    got = symbolized(t, "--no-demangle").frames
    want = oracle(elf.path, addresses)
    t.equal((len(got), len(want)), (len(addresses), len(addresses)))
    inlined = 0
    for address, mine, theirs in zip(addresses, got, want):
        inlined += len(mine) > 1
        # An inlined lambda has no linkage name: addr2line takes that of the function around it.
        t.equal([("" if f[1] == "operator()" else plain(f[1]), *place(f[2], f[4])) for f in mine],
                [("" if f[1] == "operator()" else plain(name), *place(file, line))
                 for f, (name, file, line) in zip(mine, theirs)], hex(address))
        t.equal(len(mine), len(theirs), hex(address))
    return inlined


def test_gcc(t):
    for options in ("-g", "-g -O2", "-g -O2 -no-pie", "-gdwarf-4 -O2 -gz", "-g -O2 -shared -fPIC"):
        elf = Elf.of_shapes(t, *options.split())
        t.equal(elf.is_fixed, "-no-pie" in options, options)
        inlined = compare(t, elf, by_addr2line)
        t.check(inlined > 50 or "-O2" not in options, f"{options}: {inlined} inlined calls")


def test_clang(t):
    """Its units have no table of addresses; debug information may be in files of its own."""
    for options in ("-g -O2", "-gdwarf-4 -O1", "-g -O2 -gsplit-dwarf"):
        elf = Elf.of_shapes(t, *options.split(), compiler="clang++")
        t.check(".debug_aranges" not in run("readelf", "-SW", elf.path), "there is a table of addresses")
        inlined = compare(t, elf, by_llvm)
        t.check(inlined > 50 or "-O2" not in options, f"{options}: {inlined} inlined calls")


def test_rust(t):
    source = os.path.join(os.path.dirname(__file__), "shapes.rs")
    for scheme in ("legacy", "v0"):
        path = t.path(f"rust-{scheme}")
        run(tool("rustc"), "-g", "-O", "-C", f"symbol-mangling-version={scheme}",
            "-Z", "unstable-options", "-C", "link-arg=-Wl,--build-id", "-o", path, source, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
        elf = Elf(path)
        addresses = elf.addresses("shapes", "Shelf", "fill")
        t.check(len(addresses) > 20, f"{len(addresses)} addresses")
        t.write("in.pb", located(elf, addresses))
        raw = symbolized(t, "--no-demangle").frames
        for address, mine, theirs in zip(addresses, raw, by_llvm(path, addresses)):
            if mine:
                t.equal([(plain(f[1]), *place(f[2], f[4])) for f in mine],
                        [(plain(name), *place(file, line)) for name, file, line in theirs],
                        hex(address))
        names = {f[0] for frames in symbolized(t).frames for f in frames}
        t.check(any(re.search(r"shapes::.*Shelf.*keep$", name) for name in names), f"{names}")
        t.equal([name for name in names if re.match(r"_[ZR]|.*::h[0-9a-f]{16}$", name)], [])
