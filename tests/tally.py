#!/usr/bin/env python3
"""Adds up what a meson test run said: prints "PASSED FAILED".

    tally.py build/meson-logs/testlog.json

Every test program closes with "N passed, N failed". One that died before that line, or that failed
though its line knows of no failure, is one failure more; so is a run without any test. What failed, with
what was said of it, is on stderr: at the end, where a log that was cut still has it.
"""

import json
import re
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
FAILED = re.compile(r"^(?:  .*\n)*FAILED .*\n(?:  .*\n)*", re.MULTILINE)


def count(test):
    if test["result"] == "SKIP":
        return 0, 0
    said = test.get("stdout", "")
    for failure in FAILED.findall(said):
        print(f"{test['name']}:\n{failure}", end="", file=sys.stderr)
    lines = CLOSING.findall(said)
    passed, failed = map(int, lines[-1]) if lines else (0, 0)
    if failed == 0 and (test["result"] != "OK" or not lines):
        print(f"FAILED {test['name']}: {test['result']}, {passed} passed", file=sys.stderr)
        failed = 1
    return passed, failed


def main(log):
    with open(log, encoding="utf-8") as file:
        counts = [count(json.loads(line)) for line in file]
    print(sum(p for p, _ in counts), sum(f for _, f in counts) + (not counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
