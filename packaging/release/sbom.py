"""The SBOM of a release, as SPDX 2.3: each artefact, and of each that has compiled code, what was linked into it statically, with its
version and licence. The parts of the Debian packages are those that the linker named (build-deb); those of the wheels and of the Go
module are the lists that they are compiled from."""

import datetime
import importlib.machinery
import importlib.util
import json
import os
import re
import sys
import urllib.parse

from make import digest, read, write

# Of Debian's source packages, of crates that carry C sources, and of the C compiler that PyPI has, whose runtimes are linked: libgcc's
# part is LLVM's (compiler-rt, libunwind), and for WebAssembly there is wasi-libc.
LICENCES = {
    "bzip2": "bzip2-1.0.6",
    "elfutils": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libdeflate": "MIT",
    "libdeflate-sys": "MIT",
    "libiberty": "LGPL-2.1-or-later AND GPL-2.0-or-later WITH GCC-exception-2.0",
    "libz-sys": "Zlib",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "protobuf-c": "BSD-2-Clause",
    "xxhash": "BSD-2-Clause",
    "xz-utils": "LicenseRef-public-domain",
    "ziglang": "Apache-2.0 WITH LLVM-exception AND MIT",
    "zlib": "Zlib",
    "zstd-sys": "BSD-3-Clause OR GPL-2.0-only",
}
PUBLIC_DOMAIN = {"licenseId": "LicenseRef-public-domain", "name": "Public domain",
                 "extractedText": "liblzma of XZ Utils 5.4: this file has been put into the public domain. You can do whatever you want with it."}


def script(release, *path):
    """A program of the tree as a module, for the lists that it has."""
    path = os.path.join(release.tree, *path)
    loader = importlib.machinery.SourceFileLoader(re.sub(r"\W", "_", os.path.basename(path)), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.path.append(os.path.dirname(path))
    loader.exec_module(module)
    return module


# Each part is a kind of package, its name and its version, as in a package URL.
def of_debian(release, architecture):
    """What comes with a cross compiler has sources that are numbered otherwise."""
    sources = {"cross-toolchain-base": "glibc"}
    parts = [line.split() for line in read(release.work, "deb", f"parts-{architecture}").splitlines()]
    return {("deb/debian", sources.get(name) or name.removesuffix("-cross"), version if package.endswith("-cross") else source_version)
            for name, source_version, version, package in parts}


def of_wheels(release):
    zig = re.search(r"^ziglang==(.*)", read(release.tree, "bindings", "python", "requirements", "build.txt"), re.M)[1]
    sources = script(release, "packaging", "build-wheel").SOURCES
    return {("deb/debian", name, version) for name, (version, *_) in sources.items()} | {("pypi", "ziglang", zig)}


def of_go(release):
    build = script(release, "bindings", "wasm", "build.py")
    zig = re.search(r"^ziglang==([\w.]+)", read(release.tree, "bindings", "wasm", "requirements.txt"), re.M)[1]
    return {("cargo", name, version) for name, version, *_ in build.CRATES} | {
        ("deb/debian", "xxhash", build.XXHASH_VERSION), ("pypi", "ziglang", zig)}


def parts_of(release, name):
    """What is linked into an artefact."""
    architecture = "arm64" if "arm64" in name or "aarch64" in name else "amd64"
    if name.endswith(".whl"):
        return of_wheels(release)
    if name == f"pprofdelta-go-module-{release.version}.zip":
        return of_go(release)
    if "-linux-" in name or "-container-" in name:
        return of_debian(release, architecture) | of_wheels(release)
    if name.endswith((".deb", ".rpm")) and "dbgsym" not in name and not name.startswith("libpprofdelta"):
        return of_debian(release, architecture)
    return set()


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def spdx_package(kind, name, version, licence, **more):
    return {"SPDXID": identifier("Part", kind, name, version), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "supplier": "NOASSERTION", "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                                         "referenceLocator": f"pkg:{kind}/{name}@{urllib.parse.quote(version)}"}], **more}


def sbom(release):
    names = sorted(name for name in os.listdir(release.out) if os.path.isfile(release.path(name)))
    parts = {name: parts_of(release, name) for name in names}
    unknown = {name for _, name, _ in set().union(*parts.values())} - set(LICENCES)
    if unknown:
        raise RuntimeError(f"packaging/release/sbom.py has no licence of {', '.join(sorted(unknown))}, which is linked statically")
    whole = identifier("Package", "pprofdelta", release.version)
    described = spdx_package("github/pprofdelta", "pprofdelta", f"v{release.version}", "MIT", SPDXID=whole, versionInfo=release.version,
                        copyrightText="2026 the pprofdelta authors")
    files = [{"SPDXID": identifier("File", name), "fileName": f"./{name}", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
              "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(release.path(name), kind)} for kind in ("sha1", "sha256")]}
             for name in names]
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", whole)] + [(whole, "GENERATES", identifier("File", name)) for name in names]
    links += [(identifier("File", name), "STATIC_LINK", identifier("Part", *part)) for name in names for part in sorted(parts[name])]
    write(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"pprofdelta-{release.version}",
        "documentNamespace": f"https://github.com/pprofdelta/pprofdelta/releases/download/v{release.version}/"
                             f"pprofdelta-{release.version}.spdx.json/{release.when}",
        "creationInfo": {"creators": ["Organization: the pprofdelta authors", f"Tool: pprofdelta-release-{release.version}"],
                         "created": datetime.datetime.fromtimestamp(int(release.when), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
        "hasExtractedLicensingInfos": [PUBLIC_DOMAIN],
        "packages": [described] + [spdx_package(*part, LICENCES[part[1]]) for part in sorted(set().union(*parts.values()))],
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in links],
    }, indent=1) + "\n", release.path(f"pprofdelta-{release.version}.spdx.json"))
