#!/usr/bin/env python3
"""Line and branch coverage of lib/, for each folder and in total.

    coverage.py --build BUILD [--files]

BUILD was configured by `./dev coverage`: clang's instrumentation writes what each test program ran to
BUILD/profiles. The shared library has every source of lib/ in it, so its coverage map suffices for
the profiles of all programs, which have the same functions in them. Neither the agent nor the inline
functions of lib/include, which run in the callers' code, are parts of it. --files prints a row for
each file, too.
"""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = ("lines", "branches")


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"coverage: {command[0]}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def summaries(build):
    """(path below the tree, {kind: (covered, count)}) of every file of lib/."""
    profiles = glob.glob(os.path.join(build, "profiles", "*.profraw"))
    if not profiles:
        sys.exit(f"coverage: {build}/profiles is empty: run ./dev coverage")
    merged = os.path.join(build, "profiles", "all.profdata")
    run(["llvm-profdata", "merge", "-sparse", "-o", merged, *profiles])
    library = os.path.join(build, "lib", "libpprofdelta.so")
    exported = json.loads(run(["llvm-cov", "export", "-summary-only", "-instr-profile", merged, library]))
    for file in exported["data"][0]["files"]:
        path = os.path.relpath(os.path.join(build, file["filename"]), TREE)
        if path.startswith(os.path.join("lib", "")) and not path.startswith(os.path.join("lib", "include", "")):
            yield path, {kind: (file["summary"][kind]["covered"], file["summary"][kind]["count"])
                         for kind in KINDS}


def add_up(rows):
    return {kind: tuple(sum(row[kind][i] for row in rows) for i in (0, 1)) for kind in KINDS}


def show(name, row):
    cells = []
    for kind in KINDS:
        covered, count = row[kind]
        share = f"{100 * covered / count:6.2f}%" if count else "      -"
        cells.append(f"{covered:6,} of {count:6,} {kind:8} {share}")
    print(f"{name:36} {'   '.join(cells)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="where meson built")
    parser.add_argument("--files", action="store_true", help="print every file, too")
    arguments = parser.parse_args()
    folders = collections.defaultdict(list)
    for path, row in sorted(summaries(os.path.abspath(arguments.build))):
        if arguments.files:
            show(path, row)
        folders[os.path.dirname(path)].append(row)
    for folder, rows in sorted(folders.items()):
        show(folder + os.sep, add_up(rows))
    show("total", add_up([row for rows in folders.values() for row in rows]))


if __name__ == "__main__":
    main()
