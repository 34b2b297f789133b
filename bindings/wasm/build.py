#!/usr/bin/env python3
"""Makes the library as Go: build.py WORK_DIRECTORY OUTPUT_DIRECTORY

The C sources are compiled to a WebAssembly module, wasm2go translates it to a Go file, and faster.py changes that. The
bytes depend on the sources of this tree, on the C compiler (requirements.txt pins it, with hashes), on wasm2go (go.mod
and go.sum), on gofmt, on xxhash.h (XXHASH, below) and on the sources of the compression libraries (CRATES, below) only.
A release makes the file again and commits it; CI makes it for each commit, and tests that (CONTRIBUTING.md). The list of the library's own sources is that of the library without what
needs a POSIX system, which meson knows. The compression libraries are those of the other builds, from the Rust
packages that carry their C sources: cargo fetches and checks them. What was fetched once stays in WORK_DIRECTORY.
"""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import faster

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))

XXHASH_VERSION = "0.8.1"  # of Debian 12
XXHASH = "d4f2b91b547c79061649186721a6b331609f2bf8595485a21ea631c82ec3ef93"
# name, version, digest, and where the sources are that the library uses
CRATES = [
    ("libdeflate-sys", "1.26.1", "d7870e5fbd2766179a937c725fb11f4ca0ef025d982beb61bd3ce755425bd19c", "libdeflate",
     ["lib/utils.c", "lib/crc32.c", "lib/deflate_decompress.c", "lib/gzip_decompress.c"]),
    ("libz-sys", "1.1.31", "ff20308ecabd635a2dc1dd5834a86c462cca20efba1d5d3ddab1f8aea3455cb2", "src/zlib",
     ["adler32.c", "crc32.c", "inffast.c", "inflate.c", "inftrees.c", "zutil.c"]),
    ("zstd-sys", "2.0.7", "94509c3ba2fe55294d752b79842c530ccfab760192521df74a081a78d2b3c7f5", "zstd/lib", ["common/*.c", "decompress/*.c"]),
]
FLAGS = ["--target=wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-flto", "-DNDEBUG",
         "-D_GNU_SOURCE", "-DPPROFDELTA_STATIC", "-g0", "-s", "-fno-ident", "-mwide-arithmetic", "-O2",
         # The library polls the host between two pieces of what it inflates, where functions are few (faster.py).
         "-DPD_POLL",
         # One decoder of each kind is enough for zstd.
         "-DHUF_FORCE_DECOMPRESS_X1", "-DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT", "-DZSTD_NO_INLINE",
         # The stack grows down to address 0, so one that is too large is a trap. The tests use 26 KB.
         f"-Wl,--export=__stack_pointer,-z,stack-size={1 << 17}"]
NAME = "module"


class Missing(Exception):
    """Something that the build needs is not on this machine; the text says what."""


def run(what, command, cwd=None, env=None):
    if not shutil.which(command[0]):
        raise Missing(f"{what}: there is no {command[0]}")
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


def codecs(work):
    """The sources of the compression libraries, and the folders of their headers."""
    folder = os.path.join(work, "codecs")
    crates = os.path.join(folder, "crates")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "Cargo.toml"), "w", encoding="utf-8") as file:
        file.write('[package]\nname = "codecs"\nversion = "0.0.0"\n[lib]\npath = "none.rs"\n[dependencies]\n')
        file.writelines(f'{name} = {{ version = "={version}", default-features = false }}\n'
                        for name, version, _, _, _ in CRATES)
    run("cargo vendor", ["cargo", "vendor", "--quiet", crates], cwd=folder)
    found, headers = [], []
    for name, version, digest, place, patterns in CRATES:
        with open(os.path.join(crates, name, ".cargo-checksum.json"), "rb") as file:
            if json.load(file)["package"] != digest:
                raise SystemExit(f"build.py: {name} {version} is not the one that CRATES has")
        headers.append(os.path.join(crates, name, place))
        for pattern in patterns:
            found += sorted(glob.glob(os.path.join(headers[-1], pattern)))
    return found, headers


def sources(work):
    """Those of the library that need no POSIX system, relative to the tree."""
    native = os.path.join(work, "native")
    command = ["meson", "setup", native, root, "-Ddoors=portable"]
    run("meson setup", command + (["--reconfigure"] if os.path.exists(os.path.join(native, "build.ninja")) else []))
    targets = json.loads(run("meson introspect", ["meson", "introspect", native, "--targets"]))
    found = [source for target in targets if target["name"] == "pd_private"
             for group in target["target_sources"] for source in group.get("sources", [])]
    if not found:
        raise SystemExit("build.py: the target pd_private has no sources")
    return sorted(os.path.relpath(source, root) for source in found)


def translator(work):
    """The pinned wasm2go."""
    program = os.path.join(work, "wasm2go")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    run("go build", ["go", "build", "-o", program, "github.com/ncruces/wasm2go"], cwd=here, env=environment)
    return program


def compiler_version():
    with open(os.path.join(here, "requirements.txt"), encoding="utf-8") as file:
        return re.search(r"^ziglang==(\S+)", file.read(), re.MULTILINE).group(1)


def origin(module, version):
    """The comment at the begin of the Go file."""
    libraries = ", ".join(f"{name.partition('-')[0]} ({name} {number})" for name, number, *_ in CRATES)
    digest = hashlib.sha256(module).hexdigest()
    return f"""// Code generated by wasm2go {version} from libpprofdelta. DO NOT EDIT.

// Package {NAME} is a part of the C library libpprofdelta, translated to Go. `./dev wasm` makes it again, with the same bytes:
// bindings/wasm/build.py compiles these C sources with ziglang {compiler_version()} to a WebAssembly module of {len(module)} bytes
// (SHA-256 {digest}),
// wasm2go translates the module, and faster.py changes the result: lib and bindings/wasm of this repository, xxHash {XXHASH_VERSION},
// {libraries} and what they use of wasi-libc.
// Their licences are in bindings/go/internal/LICENSES.
"""


def make(work, output):
    """Returns the Go file, which is in a folder of its own in the output."""
    work, folder = os.path.abspath(work), os.path.join(os.path.abspath(output), NAME)
    os.makedirs(work, exist_ok=True)
    os.makedirs(folder, exist_ok=True)
    wasm, partial = os.path.join(work, NAME + ".wasm"), os.path.join(work, NAME + ".go")
    compile_module(work, wasm, compiler(work))
    run("wasm2go", [translator(work), "-unsafe", "-pkg", NAME, "-o", partial, wasm])
    with open(wasm, "rb") as file:
        module = file.read()
    with open(partial, encoding="utf-8") as file:
        first, _, text = file.read().partition("\n\n")
    version = re.fullmatch(r"// Code generated by wasm2go (v\S+)\. DO NOT EDIT\.", first)
    if not version:
        raise SystemExit(f"build.py: wasm2go begins its output with {first!r}")
    output = os.path.join(folder, NAME + ".go")
    with open(output, "w", encoding="utf-8") as file:
        file.write(origin(module, version.group(1)) + faster.faster(text))
    run("gofmt", ["gofmt", "-w", output])
    return output


def compile_module(work, output, python):
    include, (compression, headers), cache = header(work), codecs(work), os.path.join(work, "cache")
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    run("zig cc", [python, "-m", "ziglang", "cc", *FLAGS, "-Ilib", "-Ilib/include", f"-I{include}",
                   *(f"-I{folder}" for folder in headers), "bindings/wasm/memory.c", *compression, *sources(work),
                   "bindings/wasm/glue.c", "-o", output], cwd=root, env=environment)
    with open(output, "rb") as file:
        if root.encode() in file.read():
            raise SystemExit(f"build.py: the module contains the path {root}")


def main(work, output):
    try:
        made = make(work, output)
    except (Missing, OSError) as why:
        raise SystemExit(f"build.py: {why}") from None
    print(f"{made}: {os.path.getsize(made)} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: build.py WORK_DIRECTORY OUTPUT_DIRECTORY")
    main(*sys.argv[1:])
