#!/usr/bin/env python3
"""Is the committed WebAssembly module what its sources are compiled to? gowasm.py SOURCE_ROOT

Builds it again, as `./dev wasm` does, and compares the bytes. Skipped (77; in CI, failed) if the pinned compiler
cannot be fetched, or if xxhash.h is of another version than the one that the module was built with.
"""

import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True


def main(source):
    sys.path[:0] = [here, os.path.join(source, "bindings", "wasm")]
    import build
    import real
    committed = os.path.join(source, "bindings", "go", "pprofdelta.wasm")
    work = real.kept("wasm", os.path.join(source, "bindings", "wasm", "requirements.txt"))
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gowasm-") as folder:
        output = os.path.join(folder, "pprofdelta.wasm")
        try:
            build.compile_module(work, output)
        except build.Missing as why:
            print(f"skipped: {why}\n0 passed, 0 failed")
            return 1 if os.environ.get("CI") == "true" else 77
        with open(output, "rb") as made, open(committed, "rb") as file:
            is_same = made.read() == file.read()
    if not is_same:
        print(f"FAILED: {committed} is not what its sources are compiled to: run ./dev wasm, and commit it")
    print("1 passed, 0 failed" if is_same else "0 passed, 1 failed")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
