"""The agent's probes (USDT): their notes, and by gdb. tests/unit/usdt_test.c has what they report, call by call."""

import os
import platform
import re
import struct
import subprocess

from agents import by_hand, need, plainly, target

MACHINES = ("x86_64", "aarch64")


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


def gdb(t, *commands, program=None):
    if os.environ.get("CI") != "true":
        need(t, "gdb")
    arguments = [part for command in commands for part in ("-ex", command)]
    ran = plainly(t, "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *arguments,
                  *([program] if program else []))
    return ran.out.decode(), ran.err


def test_the_notes(t):
    """The arguments are the parameters of a function."""
    has_probes(t)
    where = ("%rdi", "%rsi", "%rdx") if platform.machine() == "x86_64" else ("x0", "x1", "x2")
    found = notes(by_hand(t)["LD_PRELOAD"])
    for name, count in (("alloc", 3), ("free", 1)):
        t.equal(found[name][3], " ".join(f"8@{place}" for place in where[:count]))


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
