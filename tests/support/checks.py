"""The lines `ok ...` and `FAILED ...` of a test that is a script, and their count, which tests/tally.py reads."""

import os
import sys

counts = [0, 0]  # what held, and what did not


def check(name, holds, detail=""):
    counts[not holds] += 1
    print("ok" if holds else "FAILED", name, "" if holds else detail, flush=True)
    return holds


def put(text, *path, mode=0o644):
    path = os.path.join(*path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def finish():
    print(f"{counts[0]} passed, {counts[1]} failed")
    sys.exit(counts[1] != 0)
