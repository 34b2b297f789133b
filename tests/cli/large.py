"""A profile of more than 2 GiB: large.py PPROFDELTA

Longer than any 32-bit offset reaches with a sign: 260,000 samples, the same few over and over, between
two strings of 1 GiB each. As gzip members of which most are the same, it is a small
file that is made in a moment. Skipped where there is not the memory.
"""

import gzip
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import harness  # noqa: E402
import pb  # noqa: E402

MEMORY = 5 << 30
STRING = 1 << 30
BLOCKS, IN_BLOCK = 64, 4096  # of samples
DEPTH = 250
TYPES = ["alloc_objects/count", "alloc_space/bytes"]


def free_memory():
    """What the machine has to spare, and what a container may take of it."""
    with open("/proc/meminfo", encoding="ascii") as file:
        free = int(dict(line.split(":") for line in file)["MemAvailable"].split()[0]) * 1024
    for most, used in (("memory.max", "memory.current"),
                       ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:
            numbers = []
            for name in most, used:
                with open(os.path.join("/sys/fs/cgroup", name), encoding="ascii") as file:
                    numbers.append(int(file.read()))
            free = min(free, numbers[0] - numbers[1])
        except (OSError, ValueError):  # there is no such file, or it says "max"
            pass
    return free


def need_memory(t):
    if free_memory() < MEMORY:
        t.skip(f"less than {MEMORY >> 30} GiB of memory are free")


def block(values):
    """Samples that take turns in two stacks of DEPTH frames each."""
    ids = (range(1, DEPTH + 1), range(DEPTH, 0, -1))
    return b"".join(pb.chunk(2, pb.packed(1, ids[i % 2]) + pb.packed(2, values))
                    for i in range(IN_BLOCK))


def lay(t, name, values, time):
    """In the middle of the samples, and behind the last of them, 1 GiB of one string."""
    w = pb.Writer(TYPES)
    w.mapping(1, 0x1000, 1 << 20, file="/bin/app")
    w.string("name")
    head = w.bytes()
    w.out.clear()
    for i in range(1, DEPTH + 1):
        w.location(i, 1, 0x1000 + i, [(i, 0)])
        w.function(i, "name")
    tables = bytes(w.out)
    samples = gzip.compress(block(values), 1)
    string = gzip.compress(pb.varint(6 << 3 | 2) + pb.varint(STRING), 1)
    letters = gzip.compress(b"x" * (1 << 24), 1) * (STRING >> 24)
    with open(t.path(name), "wb") as file:
        file.write(gzip.compress(head, 1) + samples * (BLOCKS // 2) + string + letters +
                   samples * (BLOCKS // 2) + gzip.compress(tables + pb.number(9, time), 1) +
                   string + letters)
    return len(head) + len(block(values)) * BLOCKS + 2 * STRING


def test_more_than_two_gigabytes(t):
    need_memory(t)
    length = lay(t, "cur", [3, 1 << 40], 2 * 10**9)
    t.check(length > 1 << 31, f"only {length} bytes")
    t.write("prev", pb.gz(pb.profile([(("name",), [1, 1])], types=TYPES, time=10**9)))
    t.contains(t.succeeds("check", "cur").text, f"{BLOCKS * IN_BLOCK} samples", f"{DEPTH} locations")
    t.succeeds("prev", "cur", "--on-reset=clamp", "--verify", "-q", "-o", "delta")
    samples = pb.read(t.load("delta")).samples
    half = BLOCKS * IN_BLOCK // 2
    t.equal([values for _, _, values in samples], [[3 * half, half << 40]] * 2)
    t.equal({len(stack) for stack, _, _ in samples}, {DEPTH})
    t.check(len(t.load("delta")) < 1 << 16, "no string is in it that nothing uses")
    t.succeeds("cur", "cur", "--verify", "-q", "-o", "delta")
    t.equal(pb.read(t.load("delta")).samples, [])


def test_no_more_memory_than_allowed(t):
    need_memory(t)
    lay(t, "cur", [3, 1 << 40], 10**9)
    t.contains(t.fails(1, "check", "cur", "--max-memory=1500M").err, "pprofdelta: cur: ", "--max-memory")


if __name__ == "__main__":
    import large
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), [large], *sys.argv[2:]))
