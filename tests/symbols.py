#!/usr/bin/env python3
"""What the libraries show to a linker, held against the public headers.

    symbols.py libpprofdelta.so libpd_private.a libpprofdelta.map HEADER...

The shared library exports every function that the headers declare, and nothing else. A node of the map names
each one, and is its symbol version: a release, or PPROFDELTA_EXPERIMENTAL for what the headers have behind that
macro. The soname ends with the first header's API. The archive that the command links may show more, but only
under our prefixes. The address that the notes of all static probes of a program share is weak, and named by their format.
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
    """The symbol version of each exported function."""
    listing = subprocess.run(["nm", "--defined-only", "--dynamic", "--with-symbol-versions",
                              "--format=posix", library], check=True, capture_output=True,
                             text=True).stdout
    names = [row.split()[0] for row in listing.splitlines() if row.startswith("pprofdelta_")]
    return {name.partition("@")[0]: name.partition("@")[2].lstrip("@") for name in names}


def nodes(path):
    """The node of each symbol that the map names, and names that are patterns or in two nodes."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"#.*", "", file.read())
    named, wrong = {}, set()
    for node, body in re.findall(r"(\w[\w.]*) \{(.*?)\}", text, re.S):
        for name in re.findall(r"([^\s;:]+);", body.partition("global:")[2].partition("local:")[0]):
            wrong |= {name} if name in named or not re.fullmatch(r"\w+", name) else set()
            named[name] = node
    return named, wrong


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


def experimental(header):
    with open(header, encoding="utf-8") as file:
        parts = re.findall(r"^#if defined\(PPROFDELTA_EXPERIMENTAL\)\n(.*?)^#endif", file.read(), re.S | re.M)
    return set(re.findall(r"PPROFDELTA_API\b[^;(]*?(\w+)\s*\(", re.sub(r"/\*.*?\*/", "", "".join(parts), flags=re.S)))


def main(shared, archive, symbol_map, *headers):
    api = set().union(*map(declared, headers))
    hidden = set().union(*map(experimental, headers))
    named, wrong = nodes(symbol_map)
    exported = symbols(shared, "--dynamic")
    loose = {name for name in symbols(archive, "--extern-only") - {"_.stapsdt.base"}
             if not name.startswith(("pprofdelta_", "pd_"))}
    version = api_version(headers[0])
    found, name = versions(shared), soname(shared)
    checks = [
        ("a node names every function of the headers", api - named.keys(), api - named.keys()),
        ("a node names nothing else, and no pattern", named.keys() - api | wrong, named.keys() - api | wrong),
        ("every symbol has the version of its node", found != named, found.items() ^ named.items()),
        ("the experimental ones have a node of their own", hidden !=
         {name for name, node in named.items() if node == "PPROFDELTA_EXPERIMENTAL"}, hidden),
        ("the other nodes are releases of the API", any(not re.fullmatch(rf"PPROFDELTA_{version}\.\d+", node)
                                                        for node in set(named.values()) - {"PPROFDELTA_EXPERIMENTAL"}), named),
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
