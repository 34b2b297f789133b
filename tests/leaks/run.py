#!/usr/bin/env python3
"""The tests of `pprofdelta leaks` with programs that leak: run.py BINARY TARGETS [PART-OF-A-NAME]

TARGETS is the folder of the programs in C and C++. The programs in Rust and Go are built if their
compilers are here. The last line is "N passed, N failed".
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
import page  # noqa: E402
import planted  # noqa: E402

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    harness.Test.targets = os.path.abspath(sys.argv[2])
    for name in list(os.environ):
        if name.startswith("PPROFDELTA_"):
            del os.environ[name]
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), [planted, page], *sys.argv[3:]))
