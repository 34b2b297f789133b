#!/usr/bin/env python3
"""The tests of one module in this folder: run.py MODULE PPROFDELTA [FILTER]

Ends with 77 (in CI of the modules in MUST: failed) if what the module needs cannot be had.
"""

import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, *(os.path.join(here, "..", name) for name in ("cli", "leaks", "preload", "support", "symbolize"))]
sys.dont_write_bytecode = True

import real  # noqa: E402

MUST = ("collectors",)

if __name__ == "__main__":
    status = real.run(importlib.import_module(sys.argv[1]), sys.argv[2:])
    sys.exit(1 if status == 77 and sys.argv[1] in MUST and os.environ.get("CI") == "true" else status)
