#!/usr/bin/env python3
"""Does the library as it is now work as Go? gowasm.py [--released]

Makes bindings/go/internal/module again from its sources, as `./dev wasm` does, in a folder of its own, and runs the tests of
the Go module with it there. A commit to the library does not make the committed file again, since each version of it is
up to 600 KB of history: only a release does. With --released, the committed file has to be the same, byte for byte.
Skipped (77; in CI, failed) if the pinned tools cannot be fetched, or if xxhash.h is of another version than the one of Debian 12.
"""

import filecmp
import os
import shutil
import sys
import tempfile

from gotests import MODULE, check, main, real, tests

sys.path[:0] = [os.path.join(real.root, "bindings", "wasm")]
import build  # noqa: E402

PACKAGES = ["./internal/module", "./pprofdelta", "./deltahttp/..."]


def run():
    work = real.kept("wasm", os.path.join(real.root, "bindings", "wasm", "requirements.txt"))
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gowasm-") as folder:
        bindings = os.path.join(folder, "bindings")  # as the tests find testdata
        copy = os.path.join(bindings, "go")
        shutil.copytree(MODULE, copy)
        os.symlink(os.path.join(real.root, "testdata"), os.path.join(folder, "testdata"))
        try:
            made = build.make(work, os.path.join(copy, "internal"))
        except build.Missing as why:
            raise real.Missing(why) from None
        committed = os.path.join(MODULE, "internal", os.path.relpath(made, os.path.join(copy, "internal")))
        is_same = filecmp.cmp(made, committed, shallow=False)
        if "--released" in sys.argv:
            check("the committed file is what its sources are translated to", is_same, "run ./dev wasm, and commit it")
        if not is_same:
            print("the library has changed since the committed file was made: the tests run with what it is translated to now")
            tests("as it is now", *PACKAGES, cwd=copy)
        else:
            check("the committed file, which gomodule.py tests, is what the library is translated to", True)


if __name__ == "__main__":
    main(run)
