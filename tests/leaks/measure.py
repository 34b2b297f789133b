#!/usr/bin/env python3
"""The tables of README.md: what leaks finds in the servers, by language and rate, and in the small programs.

    measure.py BINARY TARGETS [RUNS]
    measure.py BINARY TARGETS RUNS WINDOWS     the small programs, with so many windows

Each line has, over RUNS recordings: how often each planted leak was a suspect, and how many other sites
were suspects. Of the small programs it has the means over the recordings: programs whose leak was found, and
programs in which something else was a suspect; with the names of those that were wrong in any.
"""

import collections
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

import harness  # noqa: E402
import planted  # noqa: E402

WINDOWS, REQUESTS = 24, 25000
LANGUAGES = ("cpp", "rust", "go")
RATES = (1, 4096, 16384, 65536)


def main(binary, targets, runs=5):
    print(f"{'language':9}{'rate':>7}  " + "".join(f"{name:>13}" for name in planted.LEAKS) + "   false")
    for language in LANGUAGES:
        for rate in RATES:
            found, wrong = collections.Counter(), 0
            for _ in range(int(runs)):
                t = harness.Test(os.path.abspath(binary), language)
                t.language = language
                server = os.path.join(os.path.abspath(targets), "leaks_server_" + language)
                if language in ("rust", "go"):
                    server = planted.build(t, language)
                planted.record(t, server, WINDOWS, REQUESTS, rate)
                suspects, _ = planted.judge(t)
                found.update(suspects)
                wrong += len(suspects - set(planted.LEAKS))
                t.close()
            print(f"{language:9}{rate:>7}  " +
                  "".join(f"{found[name]:>10}/{runs}" for name in planted.LEAKS) + f"{wrong:>8}",
                  flush=True)


def measure_kinds(binary, targets, runs, windows):
    names = subprocess.run([os.path.join(targets, "leaks_kinds")], check=True, text=True, stdout=subprocess.PIPE).stdout
    for rate in (65536, 524288):
        missed, accused = collections.Counter(), collections.Counter()
        for _ in range(int(runs)):
            for kind in names.split():
                t = harness.Test(os.path.abspath(binary), kind)
                t.targets = os.path.abspath(targets)
                suspects, _ = planted.judge_kind(t, kind, int(windows), rate)
                missed[kind] += kind.startswith("leak") and kind not in suspects
                accused[kind] += bool(suspects - ({kind} if kind.startswith("leak") else set()))
                t.close()
        leaks = names.count("leak_")
        print(f"{windows:>3} windows {rate:>7}  found {leaks - missed.total() / int(runs):.1f} of {leaks}  accused "
              f"{accused.total() / int(runs):.1f} of {len(names.split())}  missed {dict(+missed)} accused {dict(+accused)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    (measure_kinds if len(sys.argv) == 5 else main)(*sys.argv[1:])
