"""The version stands in meson.build. Every other place that has it, since a package format demands it, has the same one:
the manifests of the bindings (what one module of Go requires of another is what the Go proxy will serve, whatever `replace`
says here), the header, NEWS.md and the documents. packaging/in takes it from meson.build.

usage: versions.py SOURCE_ROOT VERSION"""

import glob
import os
import re
import sys

root, version = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "tests", "support")]
from checks import check, finish  # noqa: E402
from pages import read  # noqa: E402

# Of each file, a pattern of what must be the version.
PLACES = {
    "NEWS.md": r"\A# News\n\n## (\S+)",
    "lib/include/pprofdelta_common.h": r'#define PPROFDELTA_VERSION "(.*)"',
    "man/*.[1-9]": r'^\.TH .*"pprofdelta (\S+)"',
    "bindings/rust/Cargo.toml": r'^version = "(.*)"',
    "bindings/rust/pprofdelta/Cargo.toml": r'^pprofdelta-sys = .*"=(.*?)"',
    "bindings/rust/Cargo.lock": r'^name = "(?:pprofdelta|pprofdelta-sys|allocators)"\nversion = "(.*)"',
    "bindings/go/pprofdelta/answers.go": r'^func Version\(\) string { return "(.*)" }',
    "bindings/go/README.md": r"bindings/go/v([\d.]+\d)",
    "bindings/**/go.mod": r"^\s*(?:require )?github.com/pprofdelta/pprofdelta/\S+ v(\S+)",
    "bindings/otelcol/pprofdeltaprocessor/README.md": r"pprofdelta/bindings/otelcol v(\S+)",
    "bindings/otelcol/collector/main.go": r'Version: "(.*?)"',
}
# These have no such requirement.
NONE = {"bindings/go/go.mod", "bindings/wasm/go.mod"}

for pattern, place in PLACES.items():
    names = set(glob.glob(pattern, root_dir=root, recursive=True)) - NONE
    check(f"there is {pattern}", names)
    for name in sorted(names):
        found = re.findall(place, read(*name.split("/")), re.MULTILINE)
        check(f"{name} has the version of meson.build", found and set(found) == {version}, (found, version))
for name in glob.glob("packaging/in/*", root_dir=root) + ["packaging/debian/changelog.in", "packaging/flake.nix", "pyproject.toml"]:
    check(f"{name} does not repeat the version", not re.search(rf"(?<![\d.=]){re.escape(version)}(?![\d.])", read(*name.split("/"))))
finish()
