#!/usr/bin/env python3
"""The Go module, without cgo: gomodule.py COMMAND; or the processor for the Collector: gomodule.py collector

    tests      all tests of bindings/go, and those of its module oracletest, which gets COMMAND; with CGO_ENABLED=0
    race       those of the package itself with Go's race detector (it needs a C compiler)
    fuzzers    each for FUZZ_TIME, from its seeds
    systems    go vet for other systems and processors
    format     gofmt, go vet, go mod verify and go mod tidy

Skipped (77; in CI, failed) if there is no Go that is new enough, or if the module's dependencies cannot be fetched.
"""

import os
import re
import shutil
import subprocess
import sys

from gotests import ENVIRONMENT, MODULE, ORACLE, check, go, main, real, step, tests

PACKAGE = "./pprofdelta"
FUZZ_TIME = "2s"
PROCESSOR = os.path.join(real.root, "bindings", "otelcol")
COLLECTOR = os.path.join(PROCESSOR, "collector")  # a whole Collector, in a module of its own
SYSTEMS = ["linux/386", "windows/amd64", "js/wasm"]  # no file is of one system only; the first has an int of 32 bits


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
        step(f"fuzz {name}", "test", "-run=^$", f"-fuzz=^{name}$", f"-fuzztime={FUZZ_TIME}", "-fuzzminimizetime=1s", PACKAGE)


def check_format(*modules):
    ran = subprocess.run(["gofmt", "-l", modules[0]], capture_output=True, check=False, timeout=real.TIMEOUT)
    check("gofmt", ran.returncode == 0 and not ran.stdout, ran.stdout.decode() + ran.stderr.decode())
    for module in modules:
        step(f"go vet in {module}", "vet", "./...", cwd=module)
        step(f"go mod verify in {module}", "mod", "verify", cwd=module)
        step(f"go mod tidy in {module}", "mod", "tidy", "-diff", cwd=module)


def collector():
    for module in (PROCESSOR, COLLECTOR):
        real.made("go mod download", ["go", "mod", "download"], module, ENVIRONMENT)
    check_format(PROCESSOR, COLLECTOR)
    for module in (PROCESSOR, COLLECTOR):
        tests(os.path.basename(module), "./...", cwd=module)
    race("./...", cwd=PROCESSOR)


def run():
    check_format(MODULE, ORACLE)
    tests("tests", "./...")
    tests("oracle", "./...", cwd=ORACLE, PPROFDELTA_COMMAND=os.path.abspath(sys.argv[1]))
    race("-run=Many|Context|Closed|Dropped|Target|Trap|Pending|Writer", PACKAGE)
    for system in SYSTEMS:
        target, processor = system.split("/")
        step(f"go vet for {system}", "vet", PACKAGE, GOOS=target, GOARCH=processor)
    fuzzers()


if __name__ == "__main__":
    main(collector if sys.argv[1] == "collector" else run, "gofmt")
