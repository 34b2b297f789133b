#!/usr/bin/env python3
"""What the live-heap door costs, held against its bars.

    heap.py --build BUILD [--quick]

Instructions are counted by callgrind: a malloc/free pair through a wrapper with the inline sampler and
filter, less the same wrapper without. The rest is bench_heap's own measuring. A bar that is missed is
said; nothing fails for it, since a busy machine misses bars too.
"""

import argparse
import os
import re
import subprocess
import sys

PAIRS = 20000

# The name of a figure, how it is compared, the bar.
BARS = [
    ("instructions for a pair, fixed address", "<=", 6),
    ("track, 100000 live", "<", 100),
    ("export without a change, 1000000 live", "<", 10),
    ("export after 500 churn pairs, 10 stacks", "<", 13),
    ("... 99% of them, below", "<", 50),
    ("the lock is held by a step of abandon", "<", 50),
]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"heap.py: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def instructions(program, way):
    text = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, way,
               str(PAIRS))
    return int(re.search(r"Collected : (\d+)", text).group(1))


def verdict(name, value):
    for bar, how, limit in BARS:
        if bar == name:
            held = {"<": value < limit, "<=": value <= limit}[how]
            return f"{how} {limit}: {'held' if held else 'MISSED'}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    tests = os.path.join(options.build, "tests")
    rows = []
    for name, program in (("fixed address", "bench_pair_fixed"), ("any address", "bench_pair")):
        on, off = (instructions(os.path.join(tests, program), way) for way in ("on", "off"))
        rows.append((f"instructions for a pair, {name}", round((on - off) / PAIRS, 2), ""))
    for line in run(os.path.join(tests, "bench_heap"), *(["quick"] if options.quick else [])
                    ).splitlines():
        name, value, unit = re.fullmatch(r"(.*?)\s+([\d.]+) (\w+)", line).groups()
        rows.append((name, float(value), unit))
    for name, value, unit in rows:
        print(f"{name:48} {value:14,.2f} {unit:6} {verdict(name, value)}".rstrip())


if __name__ == "__main__":
    main()
