#!/usr/bin/env python3
"""fastdelta's own tests, against the Go module: fastdeltas.py

The tests, their profiles and their fuzz corpus are read from the pinned module that fastdelta is internal
to (see tests/peers/go.mod). They are copied next to fastdelta/profiler/internal/fastdelta/adapter.go, which
gives the Go module the names that they use, and run without cgo.

fastdelta/differences.json lists the tests that fail on purpose, each with a part of what it prints ("says")
and the reason ("why"), and the test files that are left out. A test that fails and is not listed is a
failure. So is a listed test that passes, that prints something else, or that does not exist.
Skipped (77; in CI, failed) if there is no Go, or if its modules cannot be fetched.
"""

import glob
import json
import os
import shutil
import tempfile

from gotests import ENVIRONMENT, check, main, real, results

ORIGINAL = "github.com/DataDog/dd-trace-go/v2"
PACKAGE = os.path.join("profiler", "internal", "fastdelta")
UTILITIES = os.path.join("profiler", "internal", "pprofutils")


def original():
    """The folder of the module with fastdelta, in Go's cache."""
    peers = os.path.join(real.root, "tests", "peers")
    told = real.made("go mod download", ["go", "mod", "download", "-json", ORIGINAL], peers, ENVIRONMENT)
    return json.loads(told)["Dir"]


def lay(source, folder, left_out):
    """Makes the module in folder."""
    shutil.copytree(os.path.join(real.here, "fastdelta"), folder, dirs_exist_ok=True)
    package, utilities = os.path.join(folder, PACKAGE), os.path.join(folder, UTILITIES)
    os.makedirs(utilities)
    for path in glob.glob(os.path.join(source, UTILITIES, "*.go")):
        if not path.endswith("_test.go"):
            shutil.copyfile(path, os.path.join(utilities, os.path.basename(path)))
    for name in os.listdir(os.path.join(source, PACKAGE)):
        if name.endswith("_test.go") and name not in left_out:
            shutil.copyfile(os.path.join(source, PACKAGE, name), os.path.join(package, name))
    shutil.copytree(os.path.join(source, PACKAGE, "testdata"), os.path.join(package, "testdata"),
                    copy_function=shutil.copyfile)
    module = os.path.join(real.root, "bindings", "go")
    real.made("go mod edit", ["go", "mod", "edit", "-replace",
                              f"github.com/pprofdelta/pprofdelta/bindings/go={module}"], folder)
    real.made("go work init", ["go", "work", "init", ".", module], folder)


def judge(name, result, output, listed):
    """What is wrong with the result of a test; "" if nothing is."""
    if not listed:
        return "" if result == "pass" else f"{result}:\n{output}"
    if result != "fail":
        return f"it is listed as a difference, but the result is: {result}"
    # testify wraps its messages, and Go puts tabs before them.
    if " ".join(listed["says"].split()) not in " ".join(output.split()):
        return f"it is listed as a difference that prints {listed['says']!r}, but it prints:\n{output}"
    return ""


def report(found, listed):
    """A test with subtests fails if one of them does, so only its subtests are judged."""
    parents = {name.rpartition("/")[0] for name in found}
    for name in set(found) - parents:
        wrong = judge(name, *found[name], listed.get(name))
        check(f"{name}{' (a listed difference)' if name in listed else ''}", not wrong, wrong)
    for name in sorted(set(listed) - (set(found) - parents)):
        check(name, False, "it is listed as a difference, but there is no such test")


def run():
    with open(os.path.join(real.here, "fastdelta", "differences.json"), encoding="utf-8") as file:
        differences = json.load(file)
    source = original()
    missing = [name for name in differences["files"] if not os.path.exists(os.path.join(source, PACKAGE, name))]
    check("the files that are left out are there", not missing, missing)
    with tempfile.TemporaryDirectory(prefix="pprofdelta-fastdelta-") as folder:
        lay(source, folder, differences["files"])
        found = results("-short", "./" + PACKAGE, cwd=folder, DELTA_PROFILE_HEAP_STRESS_TEST="1")
    report({test: result for (_, test), result in found.items() if test}, differences["tests"])


if __name__ == "__main__":
    main(run)
