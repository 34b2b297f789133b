#!/usr/bin/env python3
"""Are the committed Go files what their sources are translated to? gowasm.py

Makes them again, as `./dev wasm` does, and compares the bytes. Skipped (77; in CI, failed) if the pinned tools
cannot be fetched, or if xxhash.h is of another version than the one that they were made with.
"""

import os
import sys
import tempfile

from gotests import MODULE, check, main, real

sys.path[:0] = [os.path.join(real.root, "bindings", "wasm")]
import build  # noqa: E402


def run():
    work = real.kept("wasm", os.path.join(real.root, "bindings", "wasm", "requirements.txt"))
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gowasm-") as folder:
        try:
            outputs = build.make(work, folder)
        except build.Missing as why:
            raise real.Missing(why) from None
        for output in outputs:
            name = os.path.relpath(output, folder)
            with open(output, "rb") as made, open(os.path.join(MODULE, "internal", name), "rb") as file:
                check(f"{name} is what its sources are translated to", made.read() == file.read(),
                      "run ./dev wasm, and commit it")


if __name__ == "__main__":
    main(run)
