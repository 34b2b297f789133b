#!/usr/bin/env python3
"""What the libraries show to a linker, held against the public headers.

    symbols.py libpprofdelta.so libpd_private.a HEADER...

The shared library exports every function that the headers declare, and nothing else, all under the
symbol version of the first header's API, which its soname ends in too. The archive
that is linked into programs may show more, but only under our prefixes: nothing that could collide. The
address that the notes of all static probes of a program share is weak, and named by their format.
"""

import re
import subprocess
import sys


def symbols(library, *options):
    listing = subprocess.run(["nm", "--defined-only", "--format=posix", *options, library],
                             check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines() if " " in line]
    return {row[0].split("@")[0] for row in rows if row[1] != "A"}  # A: the version's own name


def versions(library):
    """The symbol versions that exported functions carry."""
    listing = subprocess.run(["nm", "--defined-only", "--dynamic", "--with-symbol-versions",
                              "--format=posix", library], check=True, capture_output=True,
                             text=True).stdout
    return {row.split()[0].partition("@")[2].lstrip("@") for row in listing.splitlines()
            if row.startswith("pprofdelta_")}


def soname(library):
    dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True,
                             text=True).stdout
    return re.search(r"\(SONAME\).*\[(.*)\]", dynamic).group(1)


def api_version(header):
    with open(header, encoding="utf-8") as file:
        return re.search(r"#define PPROFDELTA_API_VERSION (\d+)", file.read()).group(1)


def declared(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"PPROFDELTA_API\b[^;(]*?(\w+)\s*\(", text))


def main(shared, archive, *headers):
    api = set().union(*map(declared, headers))
    exported = symbols(shared, "--dynamic")
    loose = {name for name in symbols(archive, "--extern-only") - {"_.stapsdt.base"}
             if not name.startswith(("pprofdelta_", "pd_"))}
    version = api_version(headers[0])
    found, name = versions(shared), soname(shared)
    checks = [
        ("the symbol version is the API's", found != {"PPROFDELTA_" + version}, found),
        ("the soname is the API's", name != "libpprofdelta.so." + version, name),
        ("every header declares functions", not all(map(declared, headers)), "none found"),
        ("nothing leaks from the shared library", exported - api, exported - api),
        ("the shared library has all of the headers", api - exported, api - exported),
        ("the archive keeps to its prefixes", loose, loose),
    ]
    for name, failed, why in checks:
        print(f"FAILED {name}: {why}" if failed else f"ok {name}")
    failures = sum(1 for _, failed, _ in checks if failed)
    print(f"{len(checks) - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
