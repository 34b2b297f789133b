#!/usr/bin/env python3
"""Builds the library as a WebAssembly module: build.py WORK_DIRECTORY OUTPUT

The bytes depend on the sources of this tree, on the C compiler (requirements.txt pins it, with hashes) and on
xxhash.h (XXHASH, below) only. So CI can build the module again and compare it with the committed one. The list of
sources is that of the library without codecs and with the parsed door only, which meson knows.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))

XXHASH_VERSION = "0.8.1"  # of Debian 12
XXHASH = "d4f2b91b547c79061649186721a6b331609f2bf8595485a21ea631c82ec3ef93"
FLAGS = ["--target=wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-O3", "-msimd128", "-flto", "-DNDEBUG",
         "-D_GNU_SOURCE", "-DPPROFDELTA_STATIC", "-g0", "-s", "-fno-ident",
         # Each function of the library calls one in glue.c first, which lets the host end a call that takes long. This
         # costs 3 to 6% of the time; wazero's WithCloseOnContextDone, in each loop, makes windows 3.6 times as slow.
         "-fsanitize-coverage=func,trace-pc",
         # The stack grows down to address 0, so a stack that is too large is a trap.
         "-Wl,-z,stack-size=524288"]
EXPORTS = {"memory", "_initialize", "pd_buffers", "pd_room", "pd_new", "pd_load", "pd_save", "pd_base", "pd_window",
           "pd_commit", "pd_abandon", "pd_describe", "pd_check", "pd_sum_new", "pd_sum_add",
           "pd_sum_finish"}
IMPORTS = {"host.write", "host.poll"}
IMPORT_SECTION, EXPORT_SECTION = 2, 7


class Missing(Exception):
    """Something that the build needs is not on this machine; the text says what."""


def run(what, command, cwd=None, env=None):
    ran = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if ran.returncode:
        raise Missing(f"{what}: {(ran.stderr or ran.stdout).decode('utf-8', 'replace').strip()[-1000:]}")
    return ran.stdout.decode("utf-8", "replace")


def compiler(work):
    """A Python in whose environment the pinned compiler is."""
    venv = os.path.join(work, "venv")
    python, done = os.path.join(venv, "bin", "python"), os.path.join(venv, "finished")
    if not os.path.exists(done):
        run("python3 -m venv", [sys.executable, "-m", "venv", "--clear", venv])
        run("pip install", [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
                            "--require-hashes", "-r", os.path.join(here, "requirements.txt")])
        with open(done, "wb"):
            pass
    return python


def header(work):
    """A folder with xxhash.h alone, so that no other header of the system is found."""
    found = run("pkg-config", ["pkg-config", "--variable=includedir", "libxxhash"]).strip() or "/usr/include"
    path = os.path.join(found, "xxhash.h")
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != XXHASH:
        raise Missing(f"{path} is not that of xxHash {XXHASH_VERSION} in Debian 12, with which the module is built")
    folder = os.path.join(work, "include")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(path, folder)
    return folder


def sources(work):
    """Those of the library without codecs and with the parsed door only, relative to the tree."""
    native = os.path.join(work, "native")
    command = ["meson", "setup", native, root, "-Dcodecs=disabled", "-Ddoors=parsed"]
    run("meson setup", command + (["--reconfigure"] if os.path.exists(os.path.join(native, "build.ninja")) else []))
    targets = json.loads(run("meson introspect", ["meson", "introspect", native, "--targets"]))
    found = [source for target in targets if target["name"] == "pd_private"
             for group in target["target_sources"] for source in group.get("sources", [])]
    if not found:
        raise SystemExit("build.py: the target pd_private has no sources")
    return sorted(os.path.relpath(source, root) for source in found)


def compile_module(work, output):
    python, include = compiler(work), header(work)
    cache = os.path.join(work, "cache")
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    partial = os.path.join(work, "module.wasm")
    run("zig cc", [python, "-m", "ziglang", "cc", *FLAGS, "-Ilib", "-Ilib/include", f"-I{include}", *sources(work),
                   "bindings/wasm/glue.c", "-o", partial], cwd=root, env=environment)
    with open(partial, "rb") as file:
        module = file.read()
    inspect(module)
    with open(output, "wb") as file:
        file.write(module)


def number(module, at):
    value = shift = 0
    while True:
        value |= (module[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if module[at - 1] < 0x80:
            return value, at


def name_at(module, at):
    length, at = number(module, at)
    return module[at:at + length].decode(), at + length


def inspect(module):
    """The module imports and exports what the bindings know, and names no folder of this machine."""
    at, imports, exports = 8, set(), set()
    while at < len(module):
        section = module[at]
        size, body = number(module, at + 1)
        at = body + size
        if section not in (IMPORT_SECTION, EXPORT_SECTION):
            continue
        count, body = number(module, body)
        for _ in range(count):
            name, body = name_at(module, body)
            if section == IMPORT_SECTION:
                field, body = name_at(module, body)
                imports.add(f"{name}.{field}")
            else:
                exports.add(name)
            _, body = number(module, body + 1)
    for what, found, known in ("imports", imports, IMPORTS), ("exports", exports, EXPORTS):
        if found != known:
            raise SystemExit(f"build.py: missing {what}: {sorted(known - found)}; other ones: {sorted(found - known)}")
    if root.encode() in module:
        raise SystemExit(f"build.py: the module contains the path {root}")


def main(work, output):
    os.makedirs(work, exist_ok=True)
    try:
        compile_module(os.path.abspath(work), os.path.abspath(output))
    except (Missing, OSError) as why:
        raise SystemExit(f"build.py: {why}") from None
    with open(output, "rb") as file:
        content = file.read()
    print(f"{output}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: build.py WORK_DIRECTORY OUTPUT")
    main(*sys.argv[1:])
