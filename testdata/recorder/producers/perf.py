"""What perf has recorded, as pprof: perf.py PERF.DATA FOLDER writes two windows, the halves of the time.

Places have the address in their file, the name that perf has for it, and a mapping without a place in memory.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "cli"))

from pb import Writer, chunk, number  # noqa: E402

PERIOD = 5_000_000
PROGRAM = "/tmp/orders/orders"


def perf(*args):
    return subprocess.run(["perf", *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()


def samples(data):
    """(time, [(address, name, file)]) of each."""
    for part in perf("script", "-i", data, "-F", "time,ip,sym,dso").strip().split("\n\n"):
        head, *frames = part.splitlines()
        yield (float(head.strip().rstrip(":")),
               [re.fullmatch(r"\s*([0-9a-f]+) (.*) \((.*)\)", frame).groups() for frame in frames])


def profile(found, build_ids, begin, end, now):
    w, functions, mappings, places, counted = Writer(["samples/count", "cpu-clock/nanoseconds"]), {}, {PROGRAM: 1}, {}, {}
    for time, frames in found:
        if begin <= time < end:
            counted[tuple(frames)] = counted.get(tuple(frames), 0) + 1
    for frames, count in counted.items():
        for frame in frames:
            places.setdefault(frame, len(places) + 1)
        w.sample([places[frame] for frame in frames], [count, count * PERIOD], [("comm", "orders")])
    for (address, name, file), at in places.items():
        line = [(functions.setdefault(name, len(functions) + 1), 0)]
        w.location(at, mappings.setdefault(file, len(mappings) + 1), int(address, 16), line)
    for file, at in mappings.items():
        w.mapping(at, 0, (1 << 64) - 1, 0, file, build_ids.get(file, ""), number(7, 1))
    for name, at in functions.items():
        w.function(at, name)
    return w.bytes() + number(9, now + int((end - begin) * 1e9)) + number(10, int((end - begin) * 1e9)) + \
        chunk(11, w.type("cpu-clock/nanoseconds")) + number(12, PERIOD)


def main(data, folder):
    found = list(samples(data))
    build_ids = dict(line.split(" ", 1)[::-1] for line in perf("buildid-list", "-i", data).splitlines())
    begin, end = found[0][0], found[-1][0] + 1e-6
    middle = (begin + end) / 2
    for at, (since, until) in enumerate(((begin, middle), (middle, end)), 1):
        made = profile(found, build_ids, since, until, 1_700_000_000 * 10**9 + int((since - begin) * 1e9))
        with open(os.path.join(folder, f"perf.{at}.pb"), "wb") as out:
            out.write(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
