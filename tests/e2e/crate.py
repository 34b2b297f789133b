#!/usr/bin/env python3
"""The Rust crates: crate.py COMMAND

The tests, examples and documents of bindings/rust, whose deltas and states are compared with those of COMMAND; clippy and
rustfmt, where they are here; what a package contains; and the example of a server, whose heap COMMAND reads. The crates that
they need are those of Cargo.lock. The allocators jemalloc, mimalloc and snmalloc are tested if PPROFDELTA_ALLOCATORS is set,
since they take long to build.

Skipped (77; in CI, failed) if there is no cargo that is new enough, or if the crates cannot be fetched."""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "support")]
sys.dont_write_bytecode = True

import real  # noqa: E402
from checks import check, finish  # noqa: E402

WORKSPACE = os.path.join(real.root, "bindings", "rust")
command = os.path.abspath(sys.argv[1])


def is_new_enough():
    with open(os.path.join(WORKSPACE, "Cargo.toml"), encoding="utf-8") as file:
        needed = re.search(r'rust-version = "1\.(\d+)"', file.read())[1]
    found = re.match(r"cargo 1\.(\d+)", real.made("cargo --version", ["cargo", "--version"], WORKSPACE))
    if not found or int(found[1]) < int(needed):
        raise real.Missing(f"cargo is older than 1.{needed}")


def cargo(name, *args, **environment):
    ran = subprocess.run(["cargo", *args], cwd=WORKSPACE, env={**os.environ, "CARGO_NET_OFFLINE": "true", "CARGO_INCREMENTAL": "0", **environment},
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                         timeout=real.TIMEOUT)
    output = ran.stdout.decode("utf-8", "replace")
    check(name, ran.returncode == 0, output[-3000:])
    return output


def tests(name, *args):
    output = cargo(name, "test", "--locked", *args, PPROFDELTA_COMMAND=command)
    for test, result in re.findall(r"^test (.+) \.\.\. (\w+)", output, re.MULTILINE):
        check(f"{name}: {test}", result == "ok")
    check(f"{name}: some have run", re.search(r"^test .* ok$", output, re.MULTILINE), output)


def lint():
    for program, *args in (["rustfmt", "fmt", "--check"], ["cargo-clippy", "clippy", "--locked", "--all-targets", "--", "-D", "warnings"]):
        if shutil.which(program):
            cargo(program, *args)
        else:
            print(f"skipped: there is no {program}")
    cargo("documents", "doc", "--locked", "--no-deps", RUSTDOCFLAGS="-D warnings")


def run(program, *args, **given):
    return subprocess.run([program, *args], capture_output=True, check=False, timeout=real.TIMEOUT, **given).stdout


def server(program):
    """Ten pages of 64 KiB are in the profile, with the function that keeps them. Every allocation is a sample."""
    serving = subprocess.Popen([program, "127.0.0.1:0", "1"], stdout=subprocess.PIPE)
    try:
        url = serving.stdout.readline().decode().strip()
        for _ in range(10):
            urllib.request.urlopen(url.replace("debug/pprof/delta_heap", ""), timeout=real.TIMEOUT).read()
        with urllib.request.urlopen(url, timeout=real.TIMEOUT) as answer:
            profile = answer.read()
    finally:
        serving.kill()
        serving.wait()
        serving.stdout.close()
    check("the profile is valid", b"ok: gzip" in run(command, "check", "-", input=profile))
    shown = json.loads(run(command, "show", "--json", "-", input=profile) or "{}")
    kept = [sample["values"] for sample in shown.get("samples", [])
            if any(frame.get("function") == "server::answer" for frame in sample["stack"])]
    check("ten pages are in use, where the server keeps them", [10, 10 << 16, 10, 10 << 16] in [values[:4] for values in kept], kept)


def package():
    """The sources are a link in this tree, and files in a package."""
    listed = cargo("package", "package", "--locked", "--allow-dirty", "--list", "-p", "pprofdelta-sys").split()
    with open(os.path.join(real.root, "lib", "meson.build"), encoding="utf-8") as file:
        sources = re.findall(r"^  '([\w/]+\.c)'", file.read(), re.MULTILINE)
    check("the package has the sources", len(sources) > 50 and not {f"c/{source}" for source in sources} - set(listed), listed)


def static_programs():
    """Real allocators in programs that record refuses: its hint names them."""
    built = os.path.join(os.environ["CARGO_TARGET_DIR"], "debug", "build")
    for library, function, words in (("jemalloc", "_rjem_malloc", b"jemalloc for Rust"), ("mimalloc", "mi_malloc", b"mimalloc")):
        archive = glob.glob(os.path.join(built, f"*/out/**/lib{library}.a"), recursive=True)[0]
        program = os.path.join(built, "static-" + library)
        source = f"void *{function}(unsigned long); int main(void) {{ return !{function}(100); }}".encode()
        subprocess.run(["cc", "-static", "-x", "c", "-", "-x", "none", archive, "-lpthread", "-lm", "-o", program],
                       input=source, check=True)
        refused = subprocess.run([command, "record", "--", program], capture_output=True, check=False)
        check(f"{library} in a static program", refused.returncode == 126 and b"linked statically" in refused.stderr and
              b"hint: the program has " + words in refused.stderr, refused.stderr)


def main():
    real.need("cargo")
    is_new_enough()
    real.made("cargo fetch", ["cargo", "fetch", "--locked"], WORKSPACE)
    # Of each copy of this tree: what cargo has compiled of another passes for new if the sources here are older.
    tree = hashlib.sha256(WORKSPACE.encode()).hexdigest()[:8]
    os.environ["CARGO_TARGET_DIR"] = os.path.join(real.kept("crate", os.path.join(WORKSPACE, "Cargo.lock")), tree)
    if shutil.which("ccache"):  # the C library is compiled twice, by clippy too
        os.environ.update(CC="ccache " + os.environ.get("CC", "cc"), CCACHE_BASEDIR=real.root, CCACHE_NOHASHDIR="1")
    tests("tests")
    tests("all features", "-p", "pprofdelta", "--all-features", "--test", "system")
    if os.environ.get("PPROFDELTA_ALLOCATORS"):
        tests("allocators", "-p", "allocators", "--tests")
        static_programs()
    lint()
    package()
    cargo("the example", "build", "--locked", "-p", "pprofdelta", "--example", "server")
    server(os.path.join(os.environ["CARGO_TARGET_DIR"], "debug", "examples", "server"))


real.script(main, finish)
