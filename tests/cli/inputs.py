"""Where profiles come from: files, pipes, stdin, and what is not one."""

import os
import random
import shutil
import subprocess
import sys
import threading

from pb import chunk, gz, inflate, profile, read
from samples import CUR, DELTA, PREV, T0, T1, cur, large, pair, prev


def same_delta(t, result):
    if t.equal(result.code, 0, result.err):
        t.equal(read(result.out).values(), DELTA)


def test_every_container(t):
    forms = {"plain": (prev(), cur()), "gzip": (gz(prev()), gz(cur()))}
    half = len(prev()) // 2
    forms["members"] = (gz(prev()[:half]) + gz(prev()[half:]), gz(cur()) + gz(b""))
    if shutil.which("zstd"):
        forms["zstd"] = tuple(
            subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout
            for data in (prev(), cur()))
    for before in forms.values():
        for after in forms.values():
            t.write("prev", before[0])
            t.write("cur", after[1])
            same_delta(t, t.run("prev", "cur"))


def test_other_ways_in(t):
    """Standard input as either, from where it stands; pipes by name; a file that is called -."""
    before, after = pair(t)
    same_delta(t, t.run("-", after, stdin=gz(prev())))
    same_delta(t, t.run(before, "-", stdin=cur()))
    t.write("both", b"skipped" + gz(cur()))
    with open(t.path("both"), "rb", buffering=0) as file:
        file.seek(len(b"skipped"))
        same_delta(t, t.run(before, "-", stdin=file))
    for name, data in (("one", prev()), ("two", cur())):
        os.mkfifo(t.path(name))
        threading.Thread(target=t.write, args=(name, data), daemon=True).start()
    same_delta(t, t.run("one", "two"))
    t.write("-", t.load(before))
    same_delta(t, t.run("./-", after))


def test_large_input_from_a_pipe(t):
    t.write("prev", profile([], time=T0))
    data = profile(large(3_000_000), time=T0)
    result = t.succeeds("prev", "-", "--compress=none", stdin=data)
    t.equal(len(read(result.out).samples[0][1]["payload"]), 3_000_000)


def test_a_large_profile_in_little_memory(t):
    """It is read a piece at a time. All that is said of it is the same, also of what is wrong."""
    name = chunk(6, random.Random(1).randbytes(3 << 20).hex().encode())  # of 6 MB, which has to be held; half as a file
    t.write("prev", gz(profile(PREV, time=T0, extra=name)))
    t.write("cur", gz(profile(CUR, time=T1, extra=name)))
    t.write("cut", t.load("cur")[:-9])
    narrow = "--max-memory=20M"  # less than four times what they inflate to
    for more in ((), ("--verify",)):
        wide, *others = (t.succeeds("prev", "cur", "--report=json", *more, *limit, manners=False)
                         for limit in ((), (narrow,)))
        t.equal([(inflate(one.out), one.err) for one in others], [(inflate(wide.out), wide.err)])
    for look in ("prev", "cur"):
        same = t.succeeds("--state", "s", look, narrow)
    same_delta(t, same)
    before = t.load("s")
    for args in (("prev", "cut"), ("cut", "cur"), ("--state", "s", "cut")):
        t.contains(t.fails(1, *args, narrow).err, "pprofdelta: cut: ")
    t.equal(t.load("s"), before)


def test_closed_stdin(t):
    before, after = pair(t)

    def close_stdin():
        os.close(0)

    same_delta(t, t.run(before, after, stdin=None, preexec_fn=close_stdin))
    t.contains(t.fails(1, before, "-", stdin=None, preexec_fn=close_stdin).err, "(stdin): cannot read")


def test_terminal_as_stdin(t):
    before, _ = pair(t)
    master, slave = t.open_terminal()
    t.contains(t.fails(2, before, "-", stdin=slave).err, "(stdin)", "terminal")
    t.fails(2, "check", "-", stdin=slave)
    os.close(slave)
    os.close(master)


def test_memory_limit_of_a_bomb(t):
    before, _ = pair(t)
    t.write("bomb", gz(profile(large(50_000_000), time=T0 + 1)))
    t.check(len(t.load("bomb")) < 100_000, "the bomb is small")
    result = t.fails(1, before, "bomb", "--max-memory=8M")
    t.contains(result.err, "pprofdelta: bomb: ", "hint: --max-memory=SIZE")
    t.equal(result.out, b"")
    t.succeeds(before, "bomb", "--max-memory=1G", "-o", "/dev/null")
    for verb in ("check", "show"):
        result = t.fails(1, verb, "--max-memory=8M", "bomb")
        t.contains(result.err, "pprofdelta: bomb: ", "hint: --max-memory=SIZE")
        t.equal(result.out, b"")


def all_fresh():
    """Short stacks, each in use, that have counted what they hold."""
    chance = random.Random(2)
    samples = []
    for n in range(30000):
        count = 1 + chance.randrange(1 << 20)
        stack = (f"leaf{n % 7000}", f"caller{chance.randrange(3000)}")
        samples.append((stack, [count, count * 16] * 2))
    return samples


def test_the_limit_says_for_which_file(t):
    """No message has a number: how much is needed is not known before it was tried."""
    before, after = pair(t)
    t.write("many", gz(profile(all_fresh(), time=T0)))
    for args in ((before, after), ("--state", "S", before), ("check", before), ("sum", before)):
        t.contains(t.fails(1, *args, "--max-memory=10k").err,
                   f"pprofdelta: {before}: this takes more memory than max_memory allows", "hint: --max-memory=SIZE")
    for args in (("many", after), (before, "many")):
        result = t.fails(1, *args, "--max-memory=700k")
        t.contains(" ".join(result.err.split()), "many: this takes more memory than max_memory allows")


def test_memory_limit_of_the_file_itself(t):
    before, after = pair(t)
    t.write("huge", b"\0" * 2_000_000)
    for args in ((before, "huge"), ("huge", after)):
        t.contains(t.fails(1, *args, "--max-memory=1M").err, "huge: is larger than the limit\n", "--max-memory")
    result = t.fails(1, before, "-", "--max-memory=1M", stdin=profile(large(2_000_000), time=T0))
    t.contains(result.err, "(stdin): is larger than the limit")


def test_a_file_beyond_all_memory(t):
    before, _ = pair(t)
    t.write("vast", b"")
    os.truncate(t.path("vast"), 1 << 42)  # holes, none of which is read
    for args in (("vast", before), (before, "vast"), ("check", "vast")):
        t.contains(t.fails(1, *args).err, "vast: is larger than ")


def test_only_the_head_of_a_foreign_file_is_read(t):
    before, _ = pair(t)
    heads = {"zeros": b"", "archive.tar": b"x" * 257 + b"ustar\0", "zipped.gz": gz(b"\x7fELF" + bytes(99)),
             "page": b"<html>", "state": b"\x89PDS\r\n\x1a\n\2"}
    for name, head in heads.items():
        t.write(name, head)
        os.truncate(t.path(name), 7 << 30)
    for name in (*heads, "/dev/zero"):
        for args in (("check", name), (before, name), ("sum", before, name), ("show", name)):
            t.contains(t.fails(1, *args).err, f"{name}: not a pprof profile: this is ")
        t.check(peak_of(t, "check", t.path(name)) < 1000, f"{name} is read whole")


def test_no_message_has_a_byte_of_a_foreign_file(t):
    before, _ = pair(t)
    secret = b"hunter2"
    dump = b"heap_v2/524288\n  t*: 1: 2 [0: 0]\n"
    files = [secret, b"<html><title>" + secret, b"<html>" + secret, b'{"' + secret, b"<?xml " + secret,
             b"heap_v2/" + secret, dump + b"@ " + secret, dump + secret, dump + b"@ 0x1\n  t*: " + secret,
             b"heap profile: " + secret, b"--- " + secret, b"#!/bin/" + secret, b"\0" + secret, b"\x0a\x07" + secret,
             b"\x32\x00\x32\x07" + secret + b"\x0a\x00", b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + secret,
             b"\x89PDS\r\n\x1a\n" + secret, chunk(1, chunk(1, chunk(1, chunk(1, secret) * 2)))]
    for n, data in enumerate(files):
        for form in (data, gz(data), data + bytes(300_000)):
            t.write("file", form)
            for args in (("check", "file"), (before, "file"), ("file", before), ("sum", before, "file"),
                         ("show", "file"), ("leaks", "file"), ("symbolize", "file"), ("--state", "file", before)):
                t.lacks(t.run(*args).err, "hunter2", "68756e74")


def test_a_pipe_is_read_as_a_file(t):
    """Of large profiles the head is read first."""
    t.write("prev", profile(large(400_000), time=T0))
    t.write("cur", profile(large(900_000), time=T1))
    want = t.succeeds("prev", "cur").out
    os.mkfifo(t.path("pipe"))
    writer = subprocess.Popen(["sh", "-c", "cat cur >pipe"], cwd=t.dir)
    t.equal(t.succeeds("prev", "pipe").out, want)
    t.equal(writer.wait(), 0)
    with open(t.path("cur"), "rb") as file:
        t.equal(t.succeeds("prev", "/dev/stdin", stdin=file).out, want)
    read_end, write_end = os.pipe()
    writer = subprocess.Popen(["cat", "cur"], cwd=t.dir, stdout=write_end)
    os.close(write_end)
    t.equal(t.succeeds("prev", f"/dev/fd/{read_end}", pass_fds=[read_end]).out, want)
    os.close(read_end)
    t.equal(writer.wait(), 0)


def peak_of(t, *args):
    """The most memory that a run took, in MiB, where malloc does not fill what it gives out."""
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    env["MSAN_OPTIONS"] = "poison_in_malloc=0:poison_in_free=0"
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    # A process begins with the peak of the one that starts it, so a small one does.
    script = """if True:
        import os, sys
        nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
        child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
        print(os.wait4(child, 0)[2].ru_maxrss)"""
    ran = subprocess.run([sys.executable, "-c", script, t.binary, *args], env=env, stdout=subprocess.PIPE, check=True)
    return int(ran.stdout) / 1024


def test_memory_is_not_given_for_a_claim(t):
    noise = random.Random(1).randbytes(8 << 20)
    honest = gz(noise)
    claim = honest[:-4] + (31 * len(honest)).to_bytes(4, "little")
    t.write("honest", honest)
    t.write("claim", claim)
    t.fails(1, "claim", "claim")
    t.check(peak_of(t, t.path("claim"), t.path("claim")) <
            peak_of(t, t.path("honest"), t.path("honest")) + 160, "a claim of 248 MiB was believed")


def test_a_bad_file_does_not_stop_the_others(t):
    t.write("good", cur())
    t.write("bad", cur() + b"\x0a")
    t.write("crc", gz(cur())[:-8] + b"\0\0\0\0" + gz(cur())[-4:])
    result = t.fails(1, "check", "good", "bad", "nowhere", "crc", "good")
    t.equal([line.split(":")[0] for line in result.text.splitlines()], ["good", "good"])
    errors = [line for line in result.err.splitlines() if "hint" not in line]
    t.equal([line.split(": ")[1] for line in errors], ["bad", "nowhere", "crc"])
    t.contains(errors[0], "(at byte ", " of the uncompressed file)")
    t.contains(errors[1], "cannot open: No such file or directory")
    t.contains(errors[2], "(at byte ", " of the compressed file)")


def test_lines_come_in_order_in_one_file(t):
    t.write("good", cur())
    t.write("bad", b"\xff")
    with open(t.path("log"), "wb") as log:
        t.run("check", "good", "bad", "good", "bad", stdout=log, stderr=log, manners=False)
    order = ["bad" if b"pprofdelta: " in line else "good" for line in t.load("log").splitlines()]
    t.equal(order, ["good", "bad", "good", "bad"])
