"""Where binaries and debug files are found, what is kept, and what is said about the rest."""

import os
import shutil

import pb
from compiled import Elf, Symbolized, located, run, side_by_side, symbolized, tool

WANTED = ("Store4fill",)


def stripped(t, options=("-g", "-O2"), link=True, name="shapes"):
    """A program without symbols, and its debug file. Returns both paths."""
    elf = Elf.of_shapes(t, *options, name=name)
    path, debug = elf.path, t.path(name + ".debug")
    run(tool("objcopy"), "--only-keep-debug", path, debug)
    addresses = elf.addresses(*WANTED)
    run("strip", path)
    if link:
        run("objcopy", "--add-gnu-debuglink=" + debug, path, cwd=t.dir)
    return path, debug, elf, addresses


def has_lines(t, *options, file="in.pb"):
    result = t.succeeds("symbolize", file, "-o", "out.pb", *options)
    frames = Symbolized(t.load("out.pb")).frames
    lined = sum(any(f[4] for f in one) for one in frames)
    t.check(lined in (0, len(frames)), f"{lined} of {len(frames)} have lines: {result.err}")
    return lined > 0, result.err


def test_by_the_link_in_the_binary(t):
    _, debug, elf, addresses = stripped(t)
    t.write("in.pb", located(elf, addresses))
    t.equal(has_lines(t)[0], True, "beside the binary")
    os.mkdir(t.path(".debug"))
    os.rename(debug, t.path(".debug/shapes.debug"))
    t.equal(has_lines(t)[0], True, "in .debug")
    os.rename(t.path(".debug/shapes.debug"), t.path("elsewhere.debug"))
    got, err = has_lines(t)
    t.equal(got, False, "nowhere")
    t.contains(err, "install its debug symbols", f"{len(addresses)} of {len(addresses)} locations have no lines")


def test_a_link_without_build_ids_is_checked_by_checksum(t):
    path, debug, elf, addresses = stripped(t, ("-g", "-O2", "-Wl,--build-id=none"))
    t.equal(elf.build_id, "")
    t.write("in.pb", located(elf, addresses))
    t.equal(has_lines(t)[0], True, "as it was made")
    with open(debug, "ab") as file:
        file.write(b"x")
    t.equal(has_lines(t)[0], False, "with another checksum")


def test_by_build_id_in_a_debug_directory(t):
    path, debug, elf, addresses = stripped(t, link=False)
    t.write("in.pb", located(elf, addresses))
    t.equal(has_lines(t)[0], False, "without the directory")
    os.makedirs(t.path(f"dir/.build-id/{elf.build_id[:2]}"))
    os.rename(debug, t.path(f"dir/.build-id/{elf.build_id[:2]}/{elf.build_id[2:]}.debug"))
    os.mkdir(t.path("empty"))
    t.equal(has_lines(t, "--debug-dir", "empty", "--debug-dir", "dir")[0], True)
    os.remove(path)
    t.equal(has_lines(t, "--debug-dir=dir")[0], True, "the debug file alone is enough")


def test_the_debug_file_alone_at_a_fixed_address(t):
    path, debug, elf, addresses = stripped(t, ("-g", "-O2", "-no-pie"), link=False)
    t.write("in.pb", located(elf, addresses))
    os.mkdir(t.path("dir"))
    os.rename(debug, t.path("dir/shapes.debug"))
    os.remove(path)
    t.equal(has_lines(t, "--debug-dir=dir")[0], True)


def test_a_binary_from_another_machine(t):
    """The profile names a path that is not here; the file is in a directory of the user."""
    elf = Elf.of_shapes(t)
    t.write("in.pb", located(elf, elf.addresses(*WANTED), path="/srv/app/bin/shapes"))
    got, err = has_lines(t)
    t.equal(got, False)
    t.contains(err, "/srv/app/bin/shapes", elf.build_id, "is not here; --debug-dir")
    for where in ("flat", "root/srv/app/bin"):
        os.makedirs(t.path(where))
        shutil.copy(elf.path, t.path(where + "/shapes"))
    t.equal(has_lines(t, "--debug-dir=flat")[0], True, "by its name")
    t.equal(has_lines(t, "--debug-dir=root")[0], True, "by its path")


def test_another_build_is_not_used(t):
    elf = Elf.of_shapes(t)
    addresses = elf.addresses(*WANTED)
    other = "0123456789abcdef" * 2
    t.write("in.pb", located(elf, addresses, build_id=other))
    got, err = has_lines(t)
    t.equal(got, False)
    t.contains(err, elf.path, other, "the file has another build id and is not used")
    shown = t.run("show", "in.pb", "--folded")
    t.contains(shown.err, "is not used")
    t.contains(shown.text, "shapes+0x")
    t.write("upper.pb", located(elf, addresses, build_id=elf.build_id.upper()))
    t.equal(has_lines(t, file="upper.pb")[0], True, "the case of the digits does not matter")


def test_addresses_of_the_file(t):
    """A mapping that begins at 0, or behind the address, has addresses as the file has them."""
    elf = Elf.of_shapes(t)
    samples = [("", 1, at, [1, 1]) for at in elf.addresses(*WANTED)]
    for start, limit, offset in (0, 0xffffffff, 0), (0x7f2000000000, 0x7f2000100000, 0x1000):
        t.write("in.pb", pb.mapped(samples, [(start, limit, offset, elf.path, elf.build_id)]))
        t.equal(has_lines(t)[0], True, hex(start))


def test_several_mappings_and_places_without_a_file(t):
    samples, mappings = side_by_side(Elf.of_shapes(t, name="one"),
                                     Elf.of_shapes(t, "-g", "-O1", "-shared", "-fPIC", name="two.so"))
    mappings.append((0x10000, 0x20000, 0, "[anon:jit]", ""))
    samples.append(("", 3, 0x10010, [1, 1]))
    t.write("in.pb", pb.mapped(samples, mappings))
    result = t.succeeds("symbolize", "in.pb", "-o", "out.pb")
    frames = Symbolized(t.load("out.pb")).frames
    t.check(all(f and f[-1][0] == "shapes::Store::fill" for f in frames[:-1]), f"{frames}")
    t.equal(frames[-1], [])
    t.contains(result.err, "1 locations are in no file")


def test_names_are_kept(t):
    elf = Elf.of_shapes(t)
    at = elf.addresses(*WANTED)[3]
    offset, address, size, _ = elf.code()

    def named(line, flags, *options):
        w = pb.Writer(["n/count"])
        w.sample([1], [5])
        w.location(1, 1, at, [(1, line)])
        w.function(1, "given")
        w.mapping(1, address, address + size, offset, elf.path, elf.build_id, flags)
        t.write("in.pb", w.bytes())
        out = symbolized(t, *options)
        return out.frames[0][-1][0], out.flags[0]

    new = "shapes::Store::fill"
    t.equal(named(7, b"")[0], "given", "a line")
    t.equal(named(0, pb.number(9, 1))[0], "given", "a mapping that has line numbers")
    t.equal(named(0, pb.number(7, 1)), (new, (1, 1, 1, 1)), "a mapping that has functions only")
    t.equal(named(0, b""), (new, (1, 1, 1, 1)), "a name from a symbol table")
    t.equal(named(7, pb.number(9, 1), "--force")[0], new, "--force")


def test_the_output_is_compact_and_has_the_same_values(t):
    elf = Elf.of_shapes(t)
    t.write("in.pb", located(elf, elf.addresses(*WANTED)))
    for how in ("gzip", "zstd", "none") if shutil.which("zstd") else ("gzip", "none"):
        out = symbolized(t, "--compress", how)
        t.equal(set(out.functions), {function for lines in out.lines.values() for function, *_ in lines}, "functions")
        t.equal(sorted(out.functions), list(range(1, len(out.functions) + 1)), "ids")
        t.equal(len(set(out.strings)), len(out.strings), "strings")
        t.equal([values for _, _, values in out.samples],
                [values for _, _, values in pb.read(t.load("in.pb")).samples])
    t.succeeds("symbolize", "out.pb", "-o", "again.pb", "--compress=none")
    t.succeeds("symbolize", "in.pb", "-o", "out.pb", "--compress=none")
    t.equal(t.load("again.pb"), t.load("out.pb"), "twice")
    t.equal(t.succeeds("symbolize", "-", stdin=t.load("in.pb")).out[:2], b"\x1f\x8b")
    t.equal(t.litter(), [])


def test_return_addresses(t):
    """A call that is the last instruction of its line returns to the next line."""
    source = t.write("calls.c", b"void taken(int *);\nint main(void)\n{\n    int n = 0;\n    taken(&n);\n"
                                b"    n++;\n    return n;\n}\n__attribute__((noinline)) void taken(int *p)\n"
                                b"{\n    *p = 3;\n}\n")
    path = t.path("calls")
    run(tool("gcc"), "-g", "-O0", "-Wl,--build-id", "-o", path, source)
    elf = Elf(path)
    code = run("objdump", "-d", "--no-show-raw-insn", path).split("<main>:")[1].splitlines()
    call = next(i for i, line in enumerate(code) if "call" in line or "\tbl\t" in line)
    behind = int(code[call + 1].split(":")[0], 16)
    leaf = elf.addresses("taken")[0]
    data = located(elf, [leaf, behind])
    # One sample: the leaf, and the return address of its caller.
    body = b"".join(pb.chunk(n, v) if isinstance(v, bytes) else pb.number(n, v)
                    for n, v in pb.fields(data) if n != 2)
    t.write("in.pb", body + pb.chunk(2, pb.packed(1, [1, 2]) + pb.packed(2, [1, 1])))
    for options, line in (((), 6), (("--return-addresses",), 5)):
        t.equal([(f[0], f[4]) for f in symbolized(t, *options).frames[0]], [("taken", 10), ("main", line)])


def test_show_finds_names_by_itself(t):
    elf = Elf.of_shapes(t)
    t.write("in.pb", located(elf, elf.addresses(*WANTED)))
    for form in ((), ("--folded",), ("--json",), ("--flame", "-")):
        t.contains(t.succeeds("show", "in.pb", *form).text, "shapes::Store::fill")
        t.lacks(t.succeeds("show", "in.pb", "--no-symbolize", *form).text, "Store")
        t.contains(t.succeeds("show", "in.pb", "--no-demangle", *form).text, "_ZN6shapes5Store4fillEi")
    t.lacks(t.succeeds("show", "in.pb", "--raw").text, "Store")
    t.contains(t.succeeds("show", "in.pb", "in.pb", "--folded").text, "shapes::Store::fill")
    t.write("unknown.pb", located(elf, elf.addresses(*WANTED), build_id=""))
    t.lacks(t.succeeds("show", "unknown.pb", "--folded").text, "Store")
    t.equal(has_lines(t, file="unknown.pb")[0], True, "symbolize takes the file at the path")


def test_servers_are_asked_only_if_the_user_says_so(t):
    """A stand-in for debuginfod-find notes its arguments and gives the debug file."""
    path, debug, elf, addresses = stripped(t, link=False)
    t.write("in.pb", located(elf, addresses))
    os.mkdir(t.path("bin"))
    t.write("bin/debuginfod-find", f'#!/bin/sh\necho "$DEBUGINFOD_URLS $@" >>"{t.dir}/asked"\n'
                                   f'echo "{t.dir}/kept"\n'.encode())
    os.chmod(t.path("bin/debuginfod-find"), 0o755)
    os.rename(debug, t.path("kept"))
    env = {"PATH": t.path("bin") + ":" + os.environ["PATH"]}
    asked = f"http://127.0.0.1:1/ debuginfo {elf.build_id}\n".encode()
    for options, more, want in (((), {}, None), (("--debuginfod=http://127.0.0.1:1/",), {}, asked),
                                ((), {"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}, asked),
                                (("--no-debuginfod",), {"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}, None)):
        t.succeeds("symbolize", "in.pb", "-o", "out.pb", *options, env={**env, **more})
        got = t.load("asked") if os.path.exists(t.path("asked")) else None
        t.equal(got, want, f"{options} {more}")
        lined = all(f[0][4] for f in Symbolized(t.load("out.pb")).frames if f)
        t.equal(lined and bool(Symbolized(t.load("out.pb")).frames[0]), want is not None)
        if got:
            os.remove(t.path("asked"))
    t.succeeds("show", "in.pb", env={**env, "DEBUGINFOD_URLS": "http://127.0.0.1:1/"})
    t.check(not os.path.exists(t.path("asked")), "show asked a server")
    t.fails(2, "symbolize", "in.pb", "--debuginfod")


def test_wrong_command_lines(t):
    t.write("in.pb", pb.profile([(("a",), [1, 2, 3, 4])]))
    for code, line in ((2, "symbolize"), (2, "symbolize in.pb in.pb"), (2, "symbolize in.pb --debug-dir none"),
                       (2, "symbolize in.pb --compress xz"), (2, "show in.pb --debug-dir no"), (1, "symbolize no.pb")):
        t.fails(code, *line.split())
    t.contains(t.succeeds("symbolize", "--help").text, "--debug-dir")
    t.equal(t.succeeds("symbolize", "in.pb", "-q", "-o", "out.pb").err, "")
    t.contains(t.succeeds("symbolize", "in.pb", "-o", "out.pb").err, "have lines; --force looks for them again")
