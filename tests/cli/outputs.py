"""Where the delta goes: stdout, files, links, pipes, devices; and that a failure leaves no trace."""

import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import threading

from harness import TIMEOUT
from pb import gz, profile, read
from samples import DELTA, T0, cur, large, pair

OLD = gz(profile([], types=["old/count"]))  # a profile: nothing else is replaced


def is_delta(t, data, what=""):
    t.equal(read(data).values(), DELTA, what)


def untouched(t, name="out"):
    t.equal(t.load(name), OLD, "the old output")
    t.equal(t.litter(), [], "left behind")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_stdout(t):
    """It is the default; and where it is a file, that is written where it stands."""
    before, after = pair(t)
    for args in ((), ("-o", "-"), ("--output=-",), ("-o", "/dev/stdout")):
        is_delta(t, t.succeeds(before, after, *args).out)
    t.equal(t.litter(), [])
    for args in ((), ("-o", "/dev/stdout"), ("-o", "/dev/fd/1")):
        with open(t.path("log"), "wb") as log:
            log.write(b"header")
            log.flush()
            t.succeeds(before, after, *args, stdout=log)
        t.equal(t.load("log")[:6], b"header")
        is_delta(t, t.load("log")[6:])


def test_a_file_gets_the_mode_of_the_old_one(t):
    """A new one has what the umask leaves."""
    before, after = pair(t)
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0, 0o666)):
        t.equal(t.succeeds(before, after, "-o", "new", preexec_fn=lambda m=mask: os.umask(m) and None).out, b"")
        is_delta(t, t.load("new"))
        t.equal(mode_of(t.path("new")), mode, f"umask {mask:o}")
        os.unlink(t.path("new"))
    for mode in (0o600, 0o640, 0o666, 0o755):
        t.write("out", OLD)
        os.chmod(t.path("out"), mode)
        os.link(t.path("out"), t.path("second name"))
        t.succeeds(before, after, "-o", "out", preexec_fn=lambda: os.umask(0o077) and None)
        is_delta(t, t.load("out"))
        t.equal(mode_of(t.path("out")), mode)
        t.equal(t.load("second name"), OLD, "replaced, not written into")
        os.unlink(t.path("second name"))
    t.equal(t.litter(), [])


def test_a_replaced_file_keeps_its_owner(t):
    if os.geteuid() != 0:
        t.skip("only root gives files away")
    before, after = pair(t)
    t.write("out", OLD)
    os.chown(t.path("out"), 12345, 23456)
    os.chmod(t.path("out"), 0o640)
    t.succeeds(before, after, "-o", "out")
    is_delta(t, t.load("out"))
    found = os.stat(t.path("out"))
    t.equal((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)), (12345, 23456, 0o640))


def test_links_lead_to_their_targets(t):
    before, after = pair(t)
    os.makedirs(t.path("real/deep"))
    for link, target in (("relative", "real/out"), ("chain", t.path("relative")), ("real/deep/up", "../out"),
                         ("early", "real/new"), ("hole", "/dev/null"), ("loop", "loop"), ("far", "missing/folder/out")):
        os.symlink(target, t.path(link))
    for link, target in (("relative", "out"), ("chain", "out"), ("real/deep/up", "out"), ("hole", None)):
        t.write("real/out", OLD)
        t.succeeds(before, after, "-o", link)
        if target:
            is_delta(t, t.load("real/" + target), link)
        t.check(os.path.islink(t.path(link)), f"{link} is still a link")
    for link in ("loop", "far", "early"):
        t.fails(1, before, after, "-o", link)
    t.equal(t.litter(), [])


def test_folders_and_sockets_are_refused(t):
    before, after = pair(t)
    os.mkdir(t.path("folder"))
    os.symlink("folder", t.path("link"))
    for name in ("folder", "link", "folder/", "."):
        t.contains(t.fails(1, before, after, "-o", name).err, f"pprofdelta: {name}: cannot write: Is a directory")
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(t.dir)
        s.bind("socket")
        os.chdir(here)
        t.contains(t.fails(1, before, after, "-o", "socket").err, "pprofdelta: socket: cannot write: No such device or address")


def test_read_only_folder(t):
    before, after = pair(t)
    os.mkdir(t.path("locked"))
    t.write("locked/out", OLD)
    os.chmod(t.path("locked"), 0o555)
    nobody = t.as_nobody()
    for name in ("locked/new", "locked/out"):
        t.contains(t.fails(1, before, after, "-o", name, **nobody).err, f"pprofdelta: {name}: cannot", "Permission denied")
    untouched(t, "locked/out")


def test_devices(t):
    before, after = pair(t)
    t.succeeds(before, after, "-o", "/dev/null")
    t.check(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is still a device")
    if not os.path.exists("/dev/full"):
        return
    t.contains(t.fails(1, before, after, "-o", "/dev/full").err, "pprofdelta: /dev/full: cannot write: No space left on device")
    for args in ((before, after), ("--help",), ("--version",), ("show", after),
                 ("show", "--raw", after), ("show", "--json", after), ("show", "--folded", after),
                 ("check", after), ("show", "--help"), ("check", "--help")):
        with open("/dev/full", "wb") as full:
            result = t.fails(1, *args, stdout=full)
        t.contains(result.err, "pprofdelta: (stdout): cannot write: No space left on device")


def test_closed_stdout(t):
    before, after = pair(t)
    for args in ((before, after), ("--help",), ("check", after), ("show", after)):
        t.contains(t.fails(1, *args, stdout=None, preexec_fn=lambda: os.close(1)).err, "(stdout): cannot write")


def test_what_is_closed_does_not_matter_with_a_file(t):
    """No message is written into the output, whose descriptor may be that of standard error."""
    before, after = pair(t, build_id="one")
    t.write("cur.pb.gz", gz(cur(build_id="two", start=0x55d000000000)))  # says a note
    for closed in ((1,), (2,), (0, 1, 2)):
        streams = {name: None for fd, name in enumerate(("stdin", "stdout", "stderr")) if fd in closed}
        streams["preexec_fn"] = lambda: [os.close(fd) for fd in closed] and None
        t.succeeds(before, after, "-o", "out", "--report", manners=False, **streams)
        t.equal(read(t.load("out")).values()["work;main"], [15, 1600, 2, 250])
        t.fails(1, before, "nowhere", "-o", "out", manners=False, **streams)


def into_a_closed_pipe(t, *args, **kwargs):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return t.run(*args, stdout=writer, **kwargs)
    finally:
        os.close(writer)


def test_broken_pipe(t):
    """A profile must arrive."""
    before, after = pair(t)
    t.succeeds(before, after, "-o", "delta")
    for args in ((before, after), ("sum", before, "delta"), ("--state", "s", after)):
        result = into_a_closed_pipe(t, *args)
        t.equal((result.code, result.err), (1, "pprofdelta: (stdout): cannot write: Broken pipe\n"))
    status = json.loads(t.succeeds("--state", "s", "--status=json").out)
    t.equal((status["sequence"], status["attempts"]), (0, 1))


def test_a_reader_that_has_had_enough(t):
    """As `| head`: what is printed to be read ends with 0 and without a word, whatever SIGPIPE does."""
    before, after = pair(t)
    t.succeeds("--state", "s", after, "-o", "first")
    ways = [("show", after, *form) for form in ((), ("--raw",), ("--json",), ("--folded",), ("--top=2",),
                                                ("--type=alloc_space",), ("--flame", "-"))]
    ways += [("show", before, after), ("show", before, after, "--folded"),
             ("show", before, after, "--flame=-"), ("--help",), ("--version",), ("help", "show"),
             ("sum", "--help"), ("record", "--help"), ("check", after), ("--state", "s", "--status"),
             ("--state", "s", "--status=json")]
    for args in ways:
        for how in (signal.SIG_DFL, signal.SIG_IGN):
            result = into_a_closed_pipe(t, *args, restore_signals=False,
                                        preexec_fn=lambda: signal.signal(signal.SIGPIPE, how) and None)
            t.equal((result.code, result.err), (0, ""), f"{args} {how}")


def test_a_reader_that_has_had_enough_changes_no_verdict(t):
    _, after = pair(t)
    t.write("bad", b"\xff")
    result = into_a_closed_pipe(t, "check", after, "bad", after)
    t.equal(result.code, 1)
    t.equal(len(result.err.splitlines()), 1, "the bad one is told")


def test_much_text_into_a_closed_pipe(t):
    """More than any buffer holds, and the reader leaves in the midst of it."""
    t.write("many", profile([((f"function{i}" * 20, "main"), [i, i, i, i]) for i in range(1, 5000)]))
    for form in ("--raw", "--json", "--folded", "--top=9999", "--flame=-"):
        reader, writer = os.pipe()
        process = subprocess.Popen([t.binary, "show", "many", form], cwd=t.dir, stdout=writer,
                                   stderr=subprocess.PIPE)
        os.close(writer)
        t.equal(len(os.read(reader, 10)), 10)
        os.close(reader)
        _, err = process.communicate(timeout=TIMEOUT)
        t.equal((process.returncode, err), (0, b""), form)


# What an operator may name by mistake, and what it is called. The page that is the last one is made in
# the test.
VICTIMS = [("notes.txt", b"not a profile\n", "text"),
           ("backup.tar.gz", gz(b"x".ljust(257, b"\0") + b"ustar\x0000" + bytes(248)), "a tar archive"),
           ("jemalloc.heap", b"heap_v2/512\n", "a heap profile as text"),
           ("noise", bytes(range(255, 0, -1)), "data of an unknown kind"),
           ("noise.gz", gz(bytes(range(255, 0, -1))), "data of an unknown kind"),
           ("cut.pb.gz", gz(cur())[:14], "compressed data that are damaged or cut off")]
HINT = "pprofdelta: hint: give another name, or delete the file first\n"


def test_only_what_is_alike_is_replaced(t):
    """A profile replaces only a profile, a page only a page, and a state is made of nothing else."""
    before, after = pair(t)
    t.succeeds(before, after, "-o", "delta")
    t.succeeds("--state", "other", before, "-o", "first")
    t.succeeds("show", after, "--flame", "page.html")
    victims = [(t.write(name, data), what) for name, data, what in VICTIMS]
    victims += [(t.path("other"), "a state that pprofdelta wrote"), (t.path("page.html"), "an HTML page"),
                (t.path("delta"), "a pprof profile")]
    for path, what in victims:
        name = os.path.basename(path)
        stood, times = t.load(name), os.stat(path).st_mtime_ns
        os.symlink(name, path + ".link")

        def stays(said, *args):
            t.equal(t.fails(1, *args).err, f"pprofdelta: {name}: {said}")
            t.equal((t.load(name), os.stat(path).st_mtime_ns), (stood, times), name)

        for kind, commands in (("profile", ((before, after), (before, after, "--force"), ("sum", before, "first"),
                                            ("--state", "s", after))),
                               ("page", (("show", after), ("show", before, after)))):
            option = "--flame" if kind == "page" else "-o"
            if what in ("an HTML page", "a pprof profile") and (what == "an HTML page") == (kind == "page"):
                continue
            for args in commands:
                stays(f"is not replaced: it is {what}, and a {kind} replaces only a {kind}\n" + HINT, *args, option, name)
            t.fails(1, *commands[0], option, name + ".link")
            t.equal(t.load(name), stood, "through a link")
        for args in ((after, "-o", "out"), ("--status",), (after, "--", "true"), (after, "--first=zero", "-o", "o")):
            if "state" not in what:
                stays(f"this is {what}, not a state that pprofdelta wrote; it is unchanged\npprofdelta: hint: --state "
                      "takes a state, or the name of a new file; if this was the state, move it away\n",
                      "--state", name, *args)
    t.check(not os.path.exists(t.path("out")), "wrote")
    t.check(not os.path.exists(t.path("s")), "the state moved")
    t.equal(t.litter(), [])


def test_what_a_profile_replaces(t):
    before, after = pair(t)
    old = {"plain": cur(), "gzip": gz(cur()), "members": gz(cur()[:40]) + gz(cur()[40:]), "empty": b"",
           "gzip of nothing": gz(b""), "delta": t.succeeds(before, after).out,
           "half": gz(profile(large(1_000_000)))[:1500], "large": gz(profile(large(1_000_000))),
           "zstd": t.succeeds(before, after, "--compress=zstd").out}
    for name, data in old.items():
        t.write(name, data)
        t.succeeds(before, after, "-o", name)
        is_delta(t, t.load(name), name)
    for name in (before, after):  # an input, too
        t.succeeds(*pair(t), "-o", name)
        is_delta(t, t.load(name), name)


def test_an_output_that_cannot_be_read_stays(t):
    if os.geteuid() == 0:
        t.skip("root reads everything")
    before, after = pair(t)
    t.write("out", OLD)
    os.chmod(t.path("out"), 0o200)
    result = t.fails(1, before, after, "-o", "out")
    t.contains(result.err, "out: cannot open: Permission denied; it is read to check that it may be replaced")
    os.chmod(t.path("out"), 0o600)
    untouched(t)


def test_a_pipe_by_name(t):
    before, after = pair(t)
    os.mkfifo(t.path("fifo"))
    got = []
    reader = threading.Thread(target=lambda: got.append(t.load("fifo")), daemon=True)
    reader.start()
    t.succeeds(before, after, "-o", "fifo")
    reader.join(60)
    is_delta(t, got[0])
    t.check(stat.S_ISFIFO(os.stat(t.path("fifo")).st_mode), "still a pipe")


def test_a_failure_does_not_open_the_pipe(t):
    """Nobody reads it: opening would block for ever."""
    pair(t)
    os.mkfifo(t.path("fifo"))
    t.write("bad", b"\xff\xff")
    t.fails(1, "prev.pb.gz", "bad", "-o", "fifo")


def test_no_binary_to_a_terminal(t):
    before, after = pair(t)
    master, slave = t.open_terminal()
    for args in ((), ("-o", "-"), ("--compress=none",), ("-o", os.ttyname(slave))):
        result = t.fails(2, before, after, *args, stdout=slave)
        t.contains(" ".join(result.err.split()), "is a terminal", "-o OUT")
    t.contains(t.fails(2, before, "nowhere", stdout=slave).err, "terminal")
    t.succeeds(before, after, "-o", "out", stdout=slave)
    is_delta(t, t.load("out"))
    os.close(slave)
    os.set_blocking(master, False)
    try:
        t.equal(os.read(master, 100), b"")
    except OSError:
        pass
    os.close(master)


def test_every_failure_leaves_the_old_output(t):
    before, after = pair(t)
    good = gz(cur())
    t.write("out", OLD)
    t.write("bad", b"\xff\xff")
    t.write("cut", good[:-3])
    t.write("more", good + b"more")
    t.write("crc", good[:-8] + b"\0\0\0\0" + good[-4:])
    t.write("types", gz(profile([], types=["cpu/nanoseconds"], time=T0)))
    t.write("less", gz(profile([(("work", "main"), [1, 100, 1, 100])], time=T0 + 1)))
    t.write("stamped", t.succeeds(before, after).out)
    for code, args in ((1, (before, "nowhere")), (1, ("nowhere", after)), (1, (before, "bad")),
                       (1, ("bad", after)), (1, (before, "cut")), (1, (before, "more")),
                       (1, (before, "crc")), (1, (before, "types")), (1, (after, before)),
                       (1, (before, "stamped")), (1, ("stamped", after)),
                       (3, (before, "less", "--on-reset=fail")),
                       (1, (before, after, "--max-memory=100")),
                       (2, (before, after, "--compress=no")), (2, (before,))):
        t.fails(code, *args, "-o", "out")
        untouched(t)
        t.fails(code, *args, "-o", "fresh")
        t.check(not os.path.exists(t.path("fresh")), f"{args} left a file")


def test_a_write_that_fails_half_way(t):
    before = t.write("prev", profile([], time=T0))
    after = t.write("cur", profile(large(1_000_000), time=T0 + 1))
    t.write("out", OLD)
    result = t.fails(1, before, after, "-o", "out", "--compress=none",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    t.contains(result.err, "pprofdelta: out: cannot write: File too large")
    untouched(t)


def test_compression(t):
    before, after = pair(t)
    for args, magic in (((), b"\x1f\x8b"), (("--compress=gzip",), b"\x1f\x8b"),
                        (("--compress=zstd",), b"\x28\xb5\x2f\xfd"),
                        (("--compress=zstd", "-9"), b"\x28\xb5\x2f\xfd"), (("--compress=none",), b"\x0a")):
        data = t.succeeds(before, after, *args).out
        t.equal(data[:len(magic)], magic, str(args))
        if magic[0] != 0x28 or shutil.which("zstd"):
            is_delta(t, data)
