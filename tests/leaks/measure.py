#!/usr/bin/env python3
"""The table of the manual: what leaks finds in the servers, by language and rate.

    measure.py BINARY TARGETS [RUNS]

Each line has, over RUNS recordings: how often each planted leak was a suspect, and how many other sites
were suspects.
"""

import collections
import os
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


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
