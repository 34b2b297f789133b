#!/usr/bin/env python3
"""The Go module, without cgo: gomodule.py SOURCE_ROOT COMMAND

    tests      all tests of bindings/go, with CGO_ENABLED=0; COMMAND is for the one that compares bytes
    race       those of the package itself with Go's race detector (it needs a C compiler)
    fuzzers    each for FUZZ_TIME, from its seeds
    systems    go vet for other systems and processors
    format     gofmt, go vet, go mod verify and go mod tidy

Skipped (77; in CI, failed) if there is no Go that is new enough, or if the module's dependencies cannot be fetched.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
sys.dont_write_bytecode = True

import real  # noqa: E402

FUZZ_TIME = "6s"
SYSTEMS = ["linux/arm64", "linux/386", "linux/s390x", "darwin/arm64", "windows/amd64"]
ENVIRONMENT = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}
GO_LIMIT = 4 * real.TIMEOUT


class Tests:
    """The module, and what was counted."""

    def __init__(self, module):
        self.module = module
        self.passed = self.failed = 0

    def go(self, *args, **environment):
        ran = subprocess.run(["go", *args], cwd=self.module, env={**os.environ, **ENVIRONMENT, **environment},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                             timeout=GO_LIMIT)
        return ran.returncode == 0, ran.stdout.decode("utf-8", "replace")

    def count(self, name, is_good, output=""):
        if is_good:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}\n  " + output[-3000:].replace("\n", "\n  "))

    def step(self, name, *args, **environment):
        self.count(name, *self.go(*args, **environment))

    def tests(self, name, *args, **environment):
        """go test: each test and each package counts."""
        _, told = self.go("test", "-json", "-count=1", *args, **environment)
        outputs, ran = {}, 0
        for line in told.splitlines():
            if not line.startswith("{"):
                outputs[""] = outputs.get("", "") + line + "\n"
                continue
            event = json.loads(line)
            key = f"{name}: {event.get('Package') or event.get('ImportPath', '')} {event.get('Test', '')}"
            outputs[key] = outputs.get(key, "") + event.get("Output", "")
            if event["Action"] in ("pass", "fail", "build-fail"):
                self.count(key, event["Action"] == "pass", outputs[key])
                ran += "Test" in event
        if not ran:
            self.count(f"{name}: no test ran", False, told)

    def race(self):
        if not shutil.which("gcc") and not shutil.which("clang"):
            print("race: skipped: there is no C compiler")
            return
        with tempfile.TemporaryDirectory(prefix="pprofdelta-gomodule-") as cache:
            self.go("test", "-run=^TestSumIsTheInverse$", ".", PPROFDELTA_TEST_CACHE=cache)
            self.tests("race", "-race", "-short", "-run=Many|Context|Closed|Dropped|Target|Trap|Abandoned|Pending|Writer",
                       ".", CGO_ENABLED="1", PPROFDELTA_TEST_CACHE=cache)

    def fuzzers(self):
        _, names = self.go("test", "-list=^Fuzz", ".")
        names = re.findall(r"^Fuzz\w+$", names, re.MULTILINE)
        self.count("the fuzzers have names", bool(names), str(names))
        for name in names:
            # What it finds new is kept in Go's cache; a failure is written to bindings/go/testdata/fuzz.
            self.step(f"fuzz {name}", "test", "-run=^$", f"-fuzz=^{name}$", f"-fuzztime={FUZZ_TIME}",
                      "-fuzzminimizetime=1s", ".")

    def systems(self):
        for system in SYSTEMS:
            target, processor = system.split("/")
            self.step(f"go vet for {system}", "vet", ".", GOOS=target, GOARCH=processor)

    def format(self):
        ran = subprocess.run(["gofmt", "-l", self.module], capture_output=True, check=False, timeout=real.TIMEOUT)
        self.count("gofmt", ran.returncode == 0 and not ran.stdout, ran.stdout.decode() + ran.stderr.decode())
        self.step("go vet", "vet", "./...")
        self.step("go mod verify", "mod", "verify")
        self.step("go mod tidy", "mod", "tidy", "-diff")


def main(source, command):
    module = os.path.join(source, "bindings", "go")
    try:
        real.need("go", "gofmt")
        real.made("go mod download", ["go", "mod", "download"], module, ENVIRONMENT)
    except real.Missing as why:
        print(f"skipped: {why}\n0 passed, 0 failed")
        return 1 if os.environ.get("CI") == "true" else 77
    tests = Tests(module)
    tests.format()
    tests.tests("tests", "./...", PPROFDELTA_COMMAND=command)
    tests.race()
    tests.systems()
    tests.fuzzers()
    print(f"{tests.passed} passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
