#!/usr/bin/env python3
"""Is the committed Go file what its sources are translated to? gowasm.py

Makes it again, as `./dev wasm` does, and compares the bytes. Skipped (77; in CI, failed) if the pinned tools
cannot be fetched, or if xxhash.h is of another version than the one that the file was made with.
"""

import os
import sys
import tempfile

from gotests import MODULE, check, main, real

sys.path[:0] = [os.path.join(real.root, "bindings", "wasm")]
import build  # noqa: E402


def run():
    committed = os.path.join(MODULE, "internal", "module", "module.go")
    work = real.kept("wasm", os.path.join(real.root, "bindings", "wasm", "requirements.txt"))
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gowasm-") as folder:
        output = os.path.join(folder, "module.go")
        try:
            build.make(work, output)
        except build.Missing as why:
            raise real.Missing(why) from None
        with open(output, "rb") as made, open(committed, "rb") as file:
            check("module.go is what its sources are translated to", made.read() == file.read(),
                  "run ./dev wasm, and commit it")


if __name__ == "__main__":
    main(run)
