"""What the tests of Go share: `go` with the settings that all have, and the results of `go test -json`."""

import json
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "support")]
sys.dont_write_bytecode = True

import real  # noqa: E402
from checks import check, finish  # noqa: E402

MODULE = os.path.join(real.root, "bindings", "go")
ORACLE = os.path.join(MODULE, "oracletest")  # a module with the tests that need other modules
ARROW = os.path.join(MODULE, "deltaarrow")  # a module that needs Arrow's
# With -trimpath, Go's cache has what another copy of this tree compiled.
ENVIRONMENT = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath"}
ALONE = {**ENVIRONMENT, "GOWORK": "off"}  # without its workspace, whose modules need more
LIMIT = real.TIMEOUT


def go(*args, cwd=MODULE, **environment):
    """Returns whether it succeeded, and its output."""
    ran = subprocess.run(["go", *args], cwd=cwd, env={**os.environ, **ENVIRONMENT, **environment},
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                         timeout=LIMIT)
    return ran.returncode == 0, ran.stdout.decode("utf-8", "replace")


def step(name, *args, **environment):
    is_good, output = go(*args, **environment)
    check(name, is_good, output[-3000:])


def results(*args, cwd=MODULE, **environment):
    """{(package, test): (what became of it, its output)} of go test. A package is a test without a name. What is
    not JSON is the output of ("", ""). (go vet is a step of its own: here it would check all packages once for each set
    of flags.)"""
    _, printed = go("test", "-json", "-count=1", "-vet=off", *args, cwd=cwd, **environment)
    outputs, actions = {}, {}
    for line in printed.splitlines():
        event = json.loads(line) if line.startswith("{") else {"Action": "", "Output": line + "\n"}
        key = event.get("Package") or event.get("ImportPath", ""), event.get("Test", "")
        outputs[key] = outputs.get(key, "") + event.get("Output", "")
        if event["Action"] in ("pass", "fail", "skip", "build-fail"):
            actions[key] = event["Action"]
    if not any(test for _, test in actions):
        actions["", "no test ran"], outputs["", "no test ran"] = "fail", printed
    return {key: (action, outputs.get(key, "")) for key, action in actions.items()}


def tests(name, *args, **environment):
    """Each test and each package counts."""
    for key, (action, output) in results(*args, **environment).items():
        if action != "skip":
            check(f"{name}: {' '.join(key)}", action == "pass", output[-3000:])


def main(run, *needs):
    def with_modules():
        real.need("go", *needs)
        for module in (MODULE, ORACLE, ARROW):
            real.made("go mod download", ["go", "mod", "download"], module, ALONE)
        run()

    real.script(with_modules, finish)
