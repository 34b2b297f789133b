#!/usr/bin/env python3
"""The tests of the heap agent: run.py BINARY TARGETS [PART-OF-A-NAME | PART/PARTS]

TARGETS is the folder of the programs in targets/. Programs that are not here (redis, sqlite3, go)
are skipped. The last line is "N passed, N failed".
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "leaks"), os.path.join(HERE, "..", "cli")]
sys.dont_write_bytecode = True

import accounts  # noqa: E402
import allocators  # noqa: E402
import endings  # noqa: E402
import harness  # noqa: E402
import outputs_of  # noqa: E402
import own_targets  # noqa: E402
import page  # noqa: E402
import planted  # noqa: E402
import probes  # noqa: E402
import saying  # noqa: E402
import programs  # noqa: E402
import starting  # noqa: E402
import trees  # noqa: E402

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    harness.Test.targets = os.path.abspath(sys.argv[2])
    for name in list(os.environ):
        if name.startswith("PPROFDELTA_"):
            del os.environ[name]
    modules = [own_targets, accounts, endings, allocators, starting, outputs_of, saying, probes, trees, programs,
               planted, page]
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), modules, *sys.argv[3:]))
