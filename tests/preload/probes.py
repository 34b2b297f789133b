"""The agent's probes (USDT): their notes, and by gdb. tests/unit/usdt_test.c has what they report, call by call."""

import ctypes
import os
import platform
import re
import signal
import struct
import subprocess

import attached
from agents import by_hand, need, plainly, target, until

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
    for name, count in (("alloc", 3), ("free", 1), ("mmap", 2), ("munmap", 2)):
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


# ---- by the kernel: uprobes ----------------------------------------------------------------------


class Uprobe:
    """Counts how often the main thread of a process passes a probe, and raises its semaphore meanwhile (perf_event_open)."""

    def __init__(self, t, path, pid, address, semaphore):
        kind = "/sys/bus/event_source/devices/uprobe/type"
        if platform.machine() != "x86_64" or not os.path.exists(kind):
            t.skip("there are no uprobes here")
        with open(kind, encoding="ascii") as file:
            number = int(file.read())
        self.name = ctypes.create_string_buffer(path.encode())
        attributes = bytearray(128)
        struct.pack_into("<IIQ", attributes, 0, number, 128, offset_of(path, semaphore) << 32)
        struct.pack_into("<QQ", attributes, 56, ctypes.addressof(self.name), offset_of(path, address))
        attributes = ctypes.create_string_buffer(bytes(attributes), 128)
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(298, attributes, pid, -1, -1, 0)
        if self.fd < 0:
            t.skip(f"the kernel allows no uprobes: {os.strerror(ctypes.get_errno())}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    @property
    def count(self):
        return struct.unpack("<Q", os.read(self.fd, 8))[0]


def offset_of(path, address):
    """Where the file has what is at this address in memory."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for off, begin, size in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", text):
        if int(begin, 16) <= address < int(begin, 16) + int(size, 16):
            return address - int(begin, 16) + int(off, 16)
    raise ValueError(f"{path} has nothing at {address:x}")


def test_uprobes_count_while_they_listen(t):
    """record --probes-only: no file, no stack, and samples while there is a listener."""
    has_probes(t)
    agent = by_hand(t)["LD_PRELOAD"]
    found = notes(agent)
    out = t.path("probes")
    os.mkdir(out)
    with subprocess.Popen([t.binary, "record", "--probes-only", "--rate=1", "--", target(t, "attachee"), "malloc"], cwd=out,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        with Uprobe(t, agent, process.pid, *found["alloc"][0::2]) as allocations:
            with Uprobe(t, agent, process.pid, *found["free"][0::2]) as frees:
                until(lambda: allocations.count > 50 and frees.count > 50)
                t.check(allocations.count > 50, f"{allocations.count} allocations")
                t.check(frees.count > 50, f"{frees.count} frees")
        _, err = process.communicate(b"")
    t.equal((process.returncode, err, os.listdir(out)), (0, b"", []))


def test_probes_of_a_process_that_runs(t):
    has_probes(t)
    agent = by_hand(t)["LD_PRELOAD"]
    found = notes(agent)
    with attached.attachee(t, "malloc") as it:
        command = subprocess.Popen([t.binary, "record", "--pid", str(it.pid), "--probes-only", "--rate=1k"], cwd=t.dir,
                                   stderr=subprocess.PIPE)
        t.contains(command.stderr.readline().decode(), "is recorded")
        with Uprobe(t, agent, it.pid, *found["alloc"][0::2]) as allocations:
            t.check(until(lambda: allocations.count > 50), f"{allocations.count} allocations")
        command.send_signal(signal.SIGINT)
        command.communicate()
        t.equal(command.returncode, 0)
        it.ended()
