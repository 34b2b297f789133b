#!/usr/bin/env python3
"""A Go program that computes the deltas of many targets, with the Go module and with fastdelta.

    tests/bench/goscrape.py            measure: takes about eight minutes
    tests/bench/goscrape.py --short    compare every delta with google/pprof's Merge; measures nothing

goscrape/scrape makes their profiles and computes the deltas. It is built without cgo, from pinned Go modules, and
runs in a root folder that has nothing in it but the program itself; that needs root, and is left out, with a
note, without it.

Each table has a run for each computer, and one that computes nothing. What that one costs is
subtracted from the others. In the first table, the three run at once, so that other load meets all of them. In
the second, which needs all processors, they run in turn, and each row is the better of two runs. Profiles and
deltas are not compressed. Memory is the resident set as the kernel counts it: the mean from the middle of the
run to its end, and the peak. "live" is what Go's garbage collector keeps for each target after the last round;
the resident set has garbage, too.
The short form ends with 77 (skipped) if there is no Go, or if the modules cannot be fetched.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "e2e")]
sys.dont_write_bytecode = True

import real  # noqa: E402

LOOK_EVERY = 0.2  # seconds between two looks at the memory
PT_INTERP = 3
COMPUTERS = ["none", "fastdelta", "pprofdelta"]


def is_static(path):
    """A 64-bit ELF file without the name of a dynamic linker."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02":
        return False
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, start + i * size)[0] for i in range(count)]
    return PT_INTERP not in kinds


class Scraper:
    """The programs, and the folder that the scraper has for its root."""

    def __init__(self, folder):
        real.need("go")
        self.root = os.path.join(folder, "root")
        os.mkdir(self.root)
        program = real.go_program(os.path.join(here, "goscrape"), "./scrape", "-ldflags=-checklinkname=0")
        shutil.copy(program, os.path.join(self.root, "scrape"))
        self.is_rooted = os.geteuid() == 0

    def run(self, name, *args):
        """Returns the report, with the memory in MiB."""
        program = ["chroot", self.root, "/scrape"] if self.is_rooted else [os.path.join(self.root, "scrape")]
        command = [*program, "-with", name, *map(str, args)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as scraper:
            os.set_blocking(scraper.stdout.fileno(), False)
            told, looks = b"", []
            while not told.endswith(b"\n") and scraper.poll() is None:
                time.sleep(LOOK_EVERY)
                looks.append(resident(scraper.pid))
                told += scraper.stdout.read() or b""
            peak = resident(scraper.pid, "VmHWM")
            scraper.stdin.close()
            scraper.wait()
        if scraper.returncode or not told:
            raise RuntimeError(f"{name}: the scraper failed with exit code {scraper.returncode}")
        late = [look for look in looks[len(looks) // 2:] if look]
        return {**json.loads(told), "peak": peak, "resident": sum(late) / max(1, len(late))}


def resident(pid, what="VmRSS"):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return int(re.search(what + r":\s+(\d+)", file.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


def short(scraper):
    """Every delta is compared with Merge's, ours and fastdelta's."""
    passed = failed = 0
    checks = [("the scraper is static", is_static(os.path.join(scraper.root, "scrape")))]
    for name in ("pprofdelta", "fastdelta"):
        ran = scraper.run(name, "-samples", 300, "-targets", 12, "-rounds", 5, "-every", "1ms", "-verify")
        checks.append((f"{name}: {ran['verified']} deltas are those of google/pprof's Merge",
                       ran["verified"] == 12 * 5))
    checks.append(("the root of the scraper has nothing but the scraper", os.listdir(scraper.root) == ["scrape"]))
    for what, holds in checks:
        print("ok" if holds else "FAILED", what)
        passed += holds
        failed += not holds
    if not scraper.is_rooted:
        print("skipped: an empty root needs root; the scraper ran in the ordinary one")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def compare(scraper, samples, targets, rounds, every, times=0):
    """Runs each so many times, in turn, and takes the run with the least CPU; or all at once if times is 0. Prints
    the table and the ratios."""
    def one(name):
        return scraper.run(name, "-samples", samples, "-targets", targets, "-rounds", rounds, "-every", every)

    if times:
        runs = [(name, one(name)) for name in COMPUTERS * times]
    else:
        with concurrent.futures.ThreadPoolExecutor(len(COMPUTERS)) as pool:
            runs = list(zip(COMPUTERS, pool.map(one, COMPUTERS)))
    ran = dict(sorted(runs, key=lambda run: run[1]["cpu_seconds"], reverse=True))  # of each the last, which took least
    ran = {name: ran[name] for name in COMPUTERS}
    later = targets * (rounds - 1)
    base = ran["none"]
    print(f"\n{targets} targets, {samples} samples each ({base['bytes_in'] / (targets * rounds) / 1e6:.2f} MB a "
          f"profile), {rounds} rounds, one each {every}. CPU is that of the rounds after the first.")
    print(f"{'':12} {'CPU s':>8} {'for deltas':>10} {'ms/window':>9} {'RSS MiB':>8} {'peak':>8} "
          f"{'MiB/target':>10} {'live':>6} {'first delta':>11} {'late':>5}")
    costs = {}
    for name, r in ran.items():
        total = r["cpu_seconds"] - r["first_round_cpu_seconds"]
        cpu = total - (base["cpu_seconds"] - base["first_round_cpu_seconds"])
        memory = (r["resident"] - base["resident"]) / targets
        live = (r["heap_live"] - base["heap_live"]) / targets / (1 << 20)
        costs[name] = cpu, memory, (r["peak"] - base["peak"]) / targets, live
        print(f"{name:12} {total:8.2f} {cpu:10.2f} {1000 * cpu / later:9.3f} {r['resident']:8.1f} "
              f"{r['peak']:8.1f} {memory:10.3f} {live:6.3f} {r['first_delta_ms']:8.1f} ms {r['late_rounds']:5}")
    ours, theirs = costs["pprofdelta"], costs["fastdelta"]
    print(f"fastdelta / pprofdelta: CPU for deltas {theirs[0] / ours[0]:.2f}, resident memory for each target "
          f"{theirs[1] / ours[1]:.2f}, peak {theirs[2] / ours[2]:.2f}, live {theirs[3] / ours[3]:.2f}", flush=True)


def first_deltas(scraper, times=5):
    """The time from the begin of the program to its first delta."""
    took = {name: sorted(scraper.run(name, "-targets", 1, "-rounds", 1)["first_delta_ms"] for _ in range(times))
            for name in COMPUTERS[1:]}
    print("\nfirst delta after, median of %d: %s" % (times, ", ".join(
        f"{value[times // 2]:.1f} ms {name}" for name, value in took.items())), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="check the deltas, measure nothing")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pprofdelta-goscrape-") as folder:
        try:
            scraper = Scraper(folder)
        except real.Missing as why:
            print(f"skipped: {why}\n0 passed, 0 failed")
            return 1 if os.environ.get("CI") == "true" else 77
        if args.short:
            return short(scraper)
        if not scraper.is_rooted:
            print("An empty root needs root; the scraper runs in the ordinary one.")
        first_deltas(scraper)
        compare(scraper, samples=2000, targets=200, rounds=60, every="1s")
        compare(scraper, samples=50000, targets=200, rounds=3, every="1ms", times=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
