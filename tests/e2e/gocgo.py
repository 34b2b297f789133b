#!/usr/bin/env python3
"""The Go module's tests with the C library in place of WebAssembly: gocgo.py SOURCE_ROOT BUILD_ROOT

Installs the build into an empty folder, and runs the tests of bindings/go with the build tag pprofdelta_cgo,
which finds the library by pkg-config, and with Go's race detector. (With WebAssembly, the detector watches
wazero's compiler, too, which then takes a minute.) Skipped (77; in CI, failed) if there is no Go, no C compiler or no
pkg-config, or if the module's dependencies cannot be fetched.
"""

import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
sys.dont_write_bytecode = True

import real  # noqa: E402

TAGS = "-tags=pprofdelta_cgo"


def install(build, folder):
    """Returns the environment that finds what was installed."""
    with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        options = {option["name"]: option["value"] for option in json.load(file)}
    real.made("meson install", ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder],
              folder)
    libraries = os.path.join(folder + options["prefix"], options["libdir"])
    # Go's linker gives a CC of two words ("ccache gcc") no -no-pie, which the race detector needs. Go's cache does
    # not know what pkg-config has said, so without CGO_LDFLAGS it may have a package with an earlier run's folder.
    return {**os.environ, "CC": os.environ.get("CC", "cc").split()[-1], "CGO_LDFLAGS": f"-O2 -g -L{libraries}",
            "PKG_CONFIG_PATH": os.path.join(libraries, "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": folder,
            "LD_LIBRARY_PATH": libraries, "CGO_ENABLED": "1", "GOTOOLCHAIN": "local",
            "GOFLAGS": "-mod=readonly -buildvcs=false"}


def go(module, environment, *args):
    ran = subprocess.run(["go", *args], cwd=module, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                         check=False, timeout=2 * real.TIMEOUT)
    return ran.returncode, ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace")


def test(module, environment):
    """The output and the result of each test, by package and name. A package is a test, too."""
    _, told, errors = go(module, environment, "test", "-json", "-short", "-race", TAGS, "./...")
    outputs, results = {}, {}
    for line in told.splitlines():
        event = json.loads(line)
        key = event.get("Package") or event.get("ImportPath", ""), event.get("Test", "")
        outputs[key] = outputs.get(key, "") + event.get("Output", "")
        if event["Action"] in ("pass", "fail", "build-fail"):
            results[key] = event["Action"]
    if not any(name for _, name in results):
        results["", "no test ran"], outputs["", "no test ran"] = "fail", errors
    return outputs, results


def main(source, build):
    module = os.path.join(source, "bindings", "go")
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gocgo-") as folder:
        try:
            real.need("go", "cc", "pkg-config", "meson")
            environment = install(build, folder)
            real.made("go mod download", ["go", "mod", "download"], module, {"GOTOOLCHAIN": "local"})
        except real.Missing as why:
            print(f"skipped: {why}\n0 passed, 0 failed")
            return 1 if os.environ.get("CI") == "true" else 77
        status, _, errors = go(module, environment, "vet", TAGS, "./...")
        outputs, results = test(module, environment)
    outputs["", "go vet"], results["", "go vet"] = errors, "fail" if status else "pass"
    passed = failed = 0
    for key, result in results.items():
        if result == "pass":
            passed += 1
        else:
            failed += 1
            print("FAILED", *key)
            print("  " + outputs[key][-3000:].replace("\n", "\n  "))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
