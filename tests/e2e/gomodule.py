#!/usr/bin/env python3
"""The Go module, without cgo: gomodule.py COMMAND; or the processor for the Collector: gomodule.py collector

    tests      all tests of bindings/go, and those of its modules oracletest and deltaarrow, which get COMMAND; with CGO_ENABLED=0
    race       those of the package itself with Go's race detector (it needs a C compiler)
    fuzzers    each for FUZZ_TIME, from its seeds
    systems    tests with an int of 32 bits and by another processor, which qemu may emulate; types for other systems
    lint       staticcheck, which the module of the folder staticcheck pins, of the packages that are not generated
    format     gofmt, go vet, go mod verify and go mod tidy

Skipped (77; in CI, failed) if there is no Go that is new enough, or if the module's dependencies cannot be fetched.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from gotests import ALONE, ARROW, ENVIRONMENT, MODULE, ORACLE, check, go, main, real, step, tests

PACKAGE = "./pprofdelta"
FUZZ_TIME = "150x"  # executions: with a time, an execution that the end meets fails
PROCESSOR = os.path.join(real.root, "bindings", "otelcol")
COLLECTOR = os.path.join(PROCESSOR, "collector")  # a whole Collector, in a module of its own
HAND_WRITTEN = ["./pprofdelta", "./deltahttp/...", "./internal/proftest"]
SYSTEMS = ["windows/amd64", "js/wasm"]  # no file is of one system only
# The generated code is not optimised where compiling takes longer than the tests. (Go's own runtime crashes on 386 if it
# is not optimised, too.) The fuzzers do not count its branches: that takes longest.
UNOPTIMISED = "-gcflags=./internal/...=-N -l"
# The machines that run a processor's programs, what runs them elsewhere, and the tests: of sizes of 32 bits, and of
# traps, whose signals are the system's.
PROCESSORS = {"386": (("x86_64", "i686"), "qemu-i386-static", UNOPTIMISED, "IsTheDifference|Stored|Hostile|Sum|AtTheSameTime"),
              "arm64": (("aarch64",), "qemu-aarch64-static", "-gcflags=", "Stored|LosesOnly")}


def race(*what, cwd=MODULE):
    if not shutil.which("gcc") and not shutil.which("clang"):
        print("race: skipped: there is no C compiler")
        return
    tests("race", "-race", "-short", *what, cwd=cwd, CGO_ENABLED="1")


def fuzzers():
    _, names = go("test", "-list=^Fuzz", PACKAGE)
    names = re.findall(r"^Fuzz\w+$", names, re.MULTILINE)
    check("the fuzzers have names", names)
    for name in names:
        # What it finds new is kept in Go's cache; a failure is written to bindings/go/pprofdelta/testdata/fuzz.
        step(f"fuzz {name}", "test", "-vet=off", "-run=^$", f"-fuzz=^{name}$", f"-fuzztime={FUZZ_TIME}", "-fuzzminimizetime=1s",
             f"{UNOPTIMISED} -d=libfuzzer=0", PACKAGE)


def check_format(*modules):
    ran = subprocess.run(["gofmt", "-l", modules[0]], capture_output=True, check=False, timeout=real.TIMEOUT)
    check("gofmt", ran.returncode == 0 and not ran.stdout, ran.stdout.decode() + ran.stderr.decode())
    for module in modules:
        step(f"go vet in {module}", "vet", "./...", cwd=module)
        step(f"go mod verify in {module}", "mod", "verify", cwd=module, GOWORK="off")
        step(f"go mod tidy in {module}", "mod", "tidy", "-diff", cwd=module, GOWORK="off")


def processors():
    for processor, (machines, emulator, flags, names) in PROCESSORS.items():
        emulated = [] if platform.machine() in machines else [f"-exec={emulator}"]
        if emulated and not shutil.which(emulator):
            print(f"linux/{processor}: skipped: there is no {emulator}")
            continue
        tests(f"linux/{processor}", "-short", flags, f"-run={names}", *emulated, PACKAGE, GOARCH=processor)


def checked(name, program, *args, **environment):
    ran = subprocess.run([program, *args], cwd=MODULE, env={**os.environ, **ENVIRONMENT, **environment}, check=False,
                         capture_output=True, timeout=real.TIMEOUT)
    check(name, ran.returncode == 0, (ran.stdout + ran.stderr).decode()[-3000:])


def checkers():
    """Programs that check the sources, which the Go of this machine builds."""
    pinned = os.path.join(real.here, "staticcheck")
    real.made("go mod download", ["go", "mod", "download"], pinned, ALONE)
    with tempfile.TemporaryDirectory(prefix="pprofdelta-checkers-") as folder:
        linter, typecheck = (os.path.join(folder, name) for name in ("staticcheck", "typecheck"))
        step("staticcheck is built", "build", "-o", linter, "honnef.co/go/tools/cmd/staticcheck", cwd=pinned)
        checked("staticcheck", linter, *HAND_WRITTEN)
        step("typecheck is built", "build", "-o", typecheck, "main.go", cwd=os.path.join(real.here, "typecheck"))
        _, installed = go("env", "GOROOT")
        for system in SYSTEMS:
            target, processor = system.split("/")
            checked(f"types for {system}", typecheck, PACKAGE, GOROOT=installed.strip(), GOOS=target, GOARCH=processor)


def collector():
    for module in (PROCESSOR, COLLECTOR):
        real.made("go mod download", ["go", "mod", "download"], module, ALONE)
    check_format(PROCESSOR, COLLECTOR)
    for module in (PROCESSOR, COLLECTOR):
        tests(os.path.basename(module), "./...", cwd=module)
    race("./...", cwd=PROCESSOR)


def run():
    check_format(MODULE, ORACLE, ARROW)
    tests("tests", "./...")
    for module in (ORACLE, ARROW):
        tests(os.path.basename(module), "./...", cwd=module, PPROFDELTA_COMMAND=os.path.abspath(sys.argv[1]))
    race("-run=Many|Context|Closed|Dropped|Target|Trap|Pending|Writer", "-skip=TenThousand", PACKAGE)
    processors()
    checkers()
    fuzzers()


if __name__ == "__main__":
    main(collector if sys.argv[1] == "collector" else run, "gofmt")
