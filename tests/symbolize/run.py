#!/usr/bin/env python3
"""The tests of symbolize, and of the names that show finds: run.py BINARY [PART-OF-A-NAME]

They compile programs and compare with binutils, LLVM and pprof. Where a program for that is missing,
the test is skipped, with the reason; in CI it fails. The last line is "N passed, N failed".
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import against  # noqa: E402
import broken  # noqa: E402
import found  # noqa: E402
import harness  # noqa: E402
import mangled  # noqa: E402

MODULES = [against, found, mangled, broken]


def is_built_in(binary):
    """A build without libdw has no debug information to read."""
    said = subprocess.run([binary, "symbolize", "/dev/null"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=harness.TIMEOUT, check=False).stderr
    return b"was built without libdw" not in said


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"{sys.argv[1]} cannot be run")
    if not is_built_in(sys.argv[1]):
        print("skipped: this build has no libdw")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    os.environ.pop("DEBUGINFOD_URLS", None)
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), MODULES, *sys.argv[2:]))
