#!/usr/bin/env python3
"""The tests of the command line: run.py BINARY [PART-OF-A-NAME | PART/PARTS]

Each module is a theme; see harness.py for what a test is. Needs nothing but Python 3; a test that
needs more (the zstd command, another user) is skipped where that is missing. The last line is
"N passed, N failed".
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import checking  # noqa: E402
import cumulative  # noqa: E402
import deltas  # noqa: E402
import ends  # noqa: E402
import exporting  # noqa: E402
import filters  # noqa: E402
import flames  # noqa: E402
import harness  # noqa: E402
import inputs  # noqa: E402
import leaking  # noqa: E402
import live  # noqa: E402
import merging  # noqa: E402
import narrow  # noqa: E402
import otlp  # noqa: E402
import outputs  # noqa: E402
import reports  # noqa: E402
import requests  # noqa: E402
import resets  # noqa: E402
import showing  # noqa: E402
import started  # noqa: E402
import summing  # noqa: E402
import terminals  # noqa: E402
import texts  # noqa: E402
import uploading  # noqa: E402
import usage  # noqa: E402
import windows  # noqa: E402
import worlds  # noqa: E402

MODULES = [usage, inputs, outputs, ends, deltas, cumulative, resets, started, reports, checking, showing, filters,
           windows, uploading, otlp, requests, summing, merging, exporting, live, leaking, flames, terminals, texts, worlds,
           narrow]

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"{sys.argv[1]} cannot be run")
    sys.exit(harness.run_tests(os.path.abspath(sys.argv[1]), MODULES, *sys.argv[2:]))
