#!/usr/bin/env python3
"""The Go module's tests with the C library in place of WebAssembly: gocgo.py BUILD_ROOT

Installs the build into an empty folder, and runs the tests of bindings/go with the build tag pprofdelta_cgo,
which finds the library by pkg-config, and with Go's race detector. (With WebAssembly, the detector watches
wazero's compiler, too, which then takes a minute.) Skipped (77; in CI, failed) if there is no Go, no C compiler or no
pkg-config, or if the module's dependencies cannot be fetched.
"""

import json
import os
import sys
import tempfile

from gotests import main, real, step, tests

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
    return {"CC": os.environ.get("CC", "cc").split()[-1], "CGO_LDFLAGS": f"-O2 -g -L{libraries}", "CGO_ENABLED": "1",
            "PKG_CONFIG_PATH": os.path.join(libraries, "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": folder,
            "LD_LIBRARY_PATH": libraries}


def run():
    with tempfile.TemporaryDirectory(prefix="pprofdelta-gocgo-") as folder:
        environment = install(os.path.abspath(sys.argv[1]), folder)
        step("go vet", "vet", TAGS, "./...", **environment)
        tests("cgo", "-short", "-race", TAGS, "./...", **environment)


if __name__ == "__main__":
    main(run, "cc", "pkg-config", "meson")
