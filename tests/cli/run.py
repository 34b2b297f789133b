#!/usr/bin/env python3
"""The tests of the command line: run.py BINARY [PART-OF-A-NAME | PART/PARTS]

Each module is a theme; see harness.py for what a test is. Needs nothing but Python 3; a test that
needs more (the zstd command, another user) is skipped where that is missing. The last line is
"N passed, N failed".
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
sys.dont_write_bytecode = True

import harness  # noqa: E402

MODULES = ("usage", "inputs", "outputs", "ends", "identity", "reports",
           "showing", "tables", "filters", "windows", "statuses", "uploading", "waiting", "otlp", "requests", "exporting", "producers",
           "leaking", "lifetimes", "upgrades", "peeking", "flames", "answers", "terminals", "texts", "worlds")

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"{sys.argv[1]} cannot be run")
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), map(importlib.import_module, MODULES), *sys.argv[2:]))
