#!/usr/bin/env python3
"""fastdelta's own tests, against the Go module: fastdeltas.py SOURCE_ROOT

The tests, their profiles and their fuzz corpus are read from the pinned module that fastdelta is internal
to (see tests/peers/go.mod). They are copied beside fastdelta/profiler/internal/fastdelta/adapter.go, which
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
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
sys.dont_write_bytecode = True

import real  # noqa: E402

ORIGINAL = "github.com/DataDog/dd-trace-go/v2"
PACKAGE = os.path.join("profiler", "internal", "fastdelta")
UTILITIES = os.path.join("profiler", "internal", "pprofutils")
ENVIRONMENT = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0",
               "DELTA_PROFILE_HEAP_STRESS_TEST": "1"}


def original(root):
    """The folder of the module with fastdelta, in Go's cache."""
    peers = os.path.join(root, "tests", "peers")
    told = real.made("go mod download", ["go", "mod", "download", "-json", ORIGINAL], peers, ENVIRONMENT)
    return json.loads(told)["Dir"]


def lay(root, source, folder, left_out):
    """Makes the module in folder. Returns the names of the test files."""
    shutil.copytree(os.path.join(here, "fastdelta"), folder, dirs_exist_ok=True)
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
    module = os.path.join(root, "bindings", "go")
    real.made("go mod edit", ["go", "mod", "edit", "-replace",
                              f"github.com/pprofdelta/pprofdelta/bindings/go={module}"], folder)


def run(folder):
    """The result ("pass", "fail" or "skip") and the output of each test, by its name."""
    ran = subprocess.run(["go", "test", "-json", "-count=1", "-short", "./" + PACKAGE], cwd=folder,
                         env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                         capture_output=True, check=False, timeout=real.TIMEOUT)
    results, outputs, other = {}, {}, [ran.stderr.decode("utf-8", "replace")]
    for line in ran.stdout.decode("utf-8", "replace").splitlines():
        event = json.loads(line)
        name, output = event.get("Test"), event.get("Output", "")
        if name is None:
            other.append(output)
        elif event["Action"] in ("pass", "fail", "skip"):
            results[name] = event["Action"]
        outputs[name] = outputs.get(name, "") + output
    if not results:
        raise SystemExit("no test ran:\n" + "".join(other) + "\n0 passed, 1 failed")
    return results, outputs


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


def report(results, outputs, listed):
    """A test with subtests fails if one of them does, so only its subtests are judged."""
    parents = {name.rpartition("/")[0] for name in results}
    failed = passed = 0
    for name, result in results.items():
        if name in parents:
            continue
        wrong = judge(name, result, outputs[name], listed.get(name))
        print("FAILED" if wrong else "ok", name, "(a listed difference)" if name in listed else "")
        if wrong:
            print("  " + wrong.replace("\n", "\n  "))
        failed += bool(wrong)
        passed += not wrong
    for name in sorted(set(listed) - (set(results) - parents)):
        print(f"FAILED {name}: it is listed as a difference, but there is no such test")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(root):
    with open(os.path.join(here, "fastdelta", "differences.json"), encoding="utf-8") as file:
        differences = json.load(file)
    with tempfile.TemporaryDirectory(prefix="pprofdelta-fastdelta-") as folder:
        try:
            real.need("go")
            source = original(root)
        except real.Missing as why:
            print(f"skipped: {why}\n0 passed, 0 failed")
            return 1 if os.environ.get("CI") == "true" else 77
        missing = [name for name in differences["files"]
                   if not os.path.exists(os.path.join(source, PACKAGE, name))]
        if missing:
            print(f"FAILED: listed as left out, but missing: {missing}\n0 passed, 1 failed")
            return 1
        lay(root, source, folder, differences["files"])
        return report(*run(folder), differences["tests"])


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
