#!/usr/bin/env python3
"""What a heap profiler adds to a pair of malloc and free: the agent, and its peers.

    agent.py --build BUILD [--quick]

One program (pairs.c) runs plainly and with each allocator or profiler preloaded, in turn, so that a
slow moment of the machine meets all of them; times are the thread's own, medians of the fastest
quarter of many short rounds. Each profiler samples every 512 KiB; the peers are Debian's packages, and their rows are left
out where they are not installed. "adds" is against the same allocator without its profiler.
"""

import argparse
import glob
import os
import statistics
import subprocess
import tempfile

from bench import show

RATE = 512 * 1024
SIZES = [(64, 1, "64 B, freed at once"), (64, 1000, "64 B, 1,000 alive"),
         (0, 10000, "16 to 1024 B, 10,000 alive"), (2000, 100, "2,000 B, 100 alive")]


def library(name):
    return next(iter(sorted(glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/{name}"))), None)


def contestants(build, work):
    """(name, whose allocator without a profiler it is held against, environment)."""
    agent = os.path.join(os.path.abspath(build), "agent", "libpprofdelta-agent.so")
    rows = [("glibc", None, {}),
            ("glibc, pprofdelta's agent", "glibc", {
                "LD_PRELOAD": agent, "PPROFDELTA_RECORD_DIR": work,
                "PPROFDELTA_RECORD_RATE": str(RATE)})]
    thread = os.path.join(os.path.abspath(build), "tests", "libidle_thread.so")
    if os.path.exists(thread):
        rows.insert(1, ("glibc, an idle second thread", "glibc", {"LD_PRELOAD": thread}))
    jemalloc = library("libjemalloc.so.2")
    if jemalloc:
        rows += [("jemalloc, profiler off", None, {
                     "LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:false"}),
                 ("jemalloc, profiler on", "jemalloc, profiler off", {
                     "LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19"})]
    tcmalloc = library("libtcmalloc.so.4")
    if tcmalloc:
        rows += [("gperftools, profiler off", None, {"LD_PRELOAD": tcmalloc}),
                 ("gperftools, heap profiler on", "gperftools, profiler off", {
                     "LD_PRELOAD": tcmalloc, "HEAPPROFILE": os.path.join(work, "gperftools")})]
    return rows


def run(program, size, kept, rounds, pairs, environment):
    done = subprocess.run([program, str(rounds), str(pairs), str(size), str(kept)],
                          env={**os.environ, **environment}, capture_output=True, text=True,
                          check=True)
    return [float(line) for line in done.stdout.split()]


def measure(program, rows, size, kept, quick):
    """{name: nanoseconds of a pair}: of several runs in turn, the median of the fastest quarter."""
    times = {name: [] for name, _, _ in rows}
    for _ in range(5 if quick else 15):
        for name, _, environment in rows:
            rounds, pairs = (5, 10_000) if name == "gperftools, heap profiler on" else (20, 100_000)
            times[name] += run(program, size, kept, rounds, pairs, environment)
    return {name: statistics.median(sorted(all_of)[:(len(all_of) + 3) // 4])
            for name, all_of in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where meson built")
    parser.add_argument("--quick", action="store_true")
    arguments, _ = parser.parse_known_args()
    program = os.path.join(os.path.abspath(arguments.build), "tests", "pairs")
    with tempfile.TemporaryDirectory(prefix="pprofdelta-bench-") as work:
        rows = contestants(arguments.build, work)
        print("a pair of malloc and free, nanoseconds (adds: by the profiler, at one sample in "
              "512 KiB)\n")
        measured = [measure(program, rows, size, kept, arguments.quick)
                    for size, kept, _ in SIZES]
        table = [["", *(title for _, _, title in SIZES)]]
        for name, base, _ in rows:
            table.append([name])
            for times in measured:
                adds = f" (adds {times[name] - times[base]:.1f})" if base else ""
                table[-1].append(f"{times[name]:.1f}{adds}")
        show(table, 1)


if __name__ == "__main__":
    main()
