#!/usr/bin/env python3
"""The tests of the heap agent: run.py BINARY TARGETS [PART-OF-A-NAME | PART/PARTS]

TARGETS is the folder of the programs in targets/. Programs that are not here (redis, sqlite3, go)
are skipped. The last line is "N passed, N failed".
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "leaks"), os.path.join(HERE, "..", "cli")]
sys.dont_write_bytecode = True

import harness  # noqa: E402

MODULES = ("own_targets", "either_libc", "accounts", "endings", "killed", "dropped", "allocators", "starting", "outputs_of", "saying", "probes", "attached", "python_heaps", "trees",
           "programs", "planted", "page")

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    harness.Test.targets = os.path.abspath(sys.argv[2])
    for name in list(os.environ):
        if name.startswith("PPROFDELTA_"):
            del os.environ[name]
    modules = map(importlib.import_module, MODULES)
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), modules, *sys.argv[3:]))
