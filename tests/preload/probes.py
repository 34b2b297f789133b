"""The agent's probes (USDT): in the file, heard from inside of a program, and by gdb."""

import os
import platform
import re
import shutil
import struct
import subprocess

import recorded
from agents import by_hand, checked, need, only, plainly, record, target

MACHINES = ("x86_64", "aarch64")
NAMES = ("probes", "failure", "allocs", "frees", "weight", "freed", "marked", "marked_freed", "wrong")


def has_probes(t):
    if platform.machine() not in MACHINES or struct.calcsize("P") != 8:
        t.skip("there are no probes for this machine")


def notes(path):
    """{name: (address, base, semaphore, arguments)} of readelf -n."""
    text = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    return {name: (int(at, 16), int(base, 16), int(semaphore, 16), arguments.strip())
            for name, at, base, semaphore, arguments in re.findall(
                r"Provider: otel_memory\s+Name: (\w+)\s+Location: (\w+), Base: (\w+), "
                r"Semaphore: (\w+)\s+Arguments: (.*)", text)}


def sections(path):
    """{name: (address, offset, length, flags)}."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return {name: (int(at, 16), int(off, 16), int(length, 16), flags)
            for name, at, off, length, flags in re.findall(
                r"\] (\S+)\s+\S+\s+([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+\s+([A-Z]*)", text)}


def test_the_notes(t):
    """Each probe is one instruction of the agent; its semaphore is in memory that is written, and in the
    file, where it is 0. The same after strip."""
    has_probes(t)
    stripped = t.path("stripped.so")
    agent = by_hand(t)["LD_PRELOAD"]
    subprocess.run(["strip", "-o", stripped, agent], check=True)
    for path in (agent, stripped):
        found, parts = notes(path), sections(path)
        t.equal(sorted(found), ["alloc", "free"])
        text, probes = parts[".text"], parts[".probes"]
        with open(path, "rb") as file:
            data = file.read()
        for name, (at, base, semaphore, arguments) in found.items():
            t.check(text[0] <= at < text[0] + text[2], f"{name} is not in the code")
            t.equal(base, parts[".stapsdt.base"][0], name)
            t.check(probes[0] <= semaphore < probes[0] + probes[2], f"{name}: no semaphore")
            offset = semaphore - probes[0] + probes[1]
            t.equal(data[offset:offset + 2], b"\0\0", f"{name}: the semaphore")
            t.equal(len(arguments.split()), {"alloc": 3, "free": 1}[name], arguments)
        t.contains(parts[".probes"][3], "W", "A")


def heard(t, program, *options, want="1"):
    """Runs a program with a listener to the agent's probes. Returns what it heard, and the run."""
    has_probes(t)
    path = t.path("heard")
    env = {**os.environ, "LD_PRELOAD": target(t, "liblistening.so"), "LISTENING": path,
           "LISTENING_WANT": want}
    shutil.rmtree(t.path("out"), ignore_errors=True)
    ran = record(t, target(t, program), options=options, env=env)
    with open(path, "rb") as file:
        result = dict(zip(NAMES, struct.unpack(f"{len(NAMES)}Q", file.read()), strict=True))
    os.remove(path)
    t.equal(result["probes"], 2, "probes")
    if result["failure"]:
        t.skip(f"code cannot be changed here: {os.strerror(result['failure'])}")
    t.equal((ran.code, result["wrong"]), (0, 0), "frees without an alloc")
    return result, ran


def test_the_sums(t):
    """What the probes report adds up to the profiles, sample for sample, and to the program's count."""
    for rate in ("1", "1000", "20k"):
        result, ran = heard(t, "listened", f"--rate={rate}")
        windows = only(t, checked(t, t.path("out")))
        total = [sum(p.total(column) for p in windows) for column in range(4)]
        t.equal(result["weight"], total[recorded.ALLOC_BYTES], f"{rate}: allocated")
        t.equal(result["weight"] - result["freed"], total[recorded.INUSE_BYTES], f"{rate}: in use")
        if rate == "1":
            made, ended = map(int, ran.out.split())
            t.equal((result["marked"], result["marked_freed"]), (made, ended), "blocks")
            t.equal(result["allocs"], total[recorded.ALLOC_OBJECTS])
            t.equal(result["allocs"] - result["frees"], total[recorded.INUSE_OBJECTS])
        else:
            t.check(0 < result["allocs"] < total[recorded.ALLOC_OBJECTS], "only samples are reported")


def test_nobody_listens(t):
    """While the semaphores are 0, no probe fires, whatever is sampled."""
    result, _ = heard(t, "listened", "--rate=1", want="0")
    t.equal((result["allocs"], result["frees"]), (0, 0))
    t.check(only(t, checked(t, t.path("out"))), "nothing was recorded")


# ---- gdb ------------------------------------------------------------------------------------

def gdb(t, *commands, program=None):
    if os.environ.get("CI") != "true":
        need(t, "gdb")
    arguments = [part for command in commands for part in ("-ex", command)]
    ran = plainly(t, "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *arguments,
                  *([program] if program else []))
    return ran.out.decode(), ran.err


def test_gdb_lists_the_probes(t):
    has_probes(t)
    agent = by_hand(t)["LD_PRELOAD"]
    text, _ = gdb(t, "info probes stap otel_memory", program=agent)
    for name, (at, _, semaphore, _) in notes(agent).items():
        t.check(re.search(rf"stap otel_memory {name} +0x0*{at:x} 0x0*{semaphore:x} ", text), text)


def test_gdb_counts(t):
    """gdb raises the semaphores, stops at each probe and reads its arguments by the note."""
    has_probes(t)
    agent = by_hand(t)["LD_PRELOAD"]
    text, err = gdb(
        t, "set breakpoint pending on", "set startup-with-shell off", "set disable-randomization off",
        f"set environment LD_PRELOAD {agent}", f"set environment PPROFDELTA_RECORD_DIR {t.dir}",
        "set environment PPROFDELTA_RECORD_RATE 1",
        "break -probe-stap otel_memory:alloc if $_probe_argc == 3 && $_probe_arg1 == 7777",
        "ignore 1 100000000", "break -probe-stap otel_memory:free if $_probe_argc == 1",
        "ignore 2 100000000", "run", "info breakpoints", program=target(t, "counted"))
    if re.search(r"ptrace|Operation not permitted|Cannot create process", err):
        t.skip("gdb cannot trace here")
    t.contains(text, "exited normally")
    hits = [int(n) for n in re.findall(r"breakpoint already hit (\d+) time", text)]
    t.equal(len(hits), 2, text[-2000:] + err)
    t.equal(hits[0], 100, "blocks of 7,777 bytes")
    t.check(hits[1] >= 60, f"{hits[1]} frees were seen")
