"""What is tried of each artefact. Each function is given the release and the names of some artefacts, does with them what their users
do, and returns a short text of that. A failure is an exception."""

import contextlib
import functools
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import zipfile

from make import GO_MODULES, MODULE, Missing, read, root, run, write

sys.path.append(os.path.join(root, "packaging"))

from old_systems import DEBIAN, leaking, python_with, system  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
LARGEST_MODULE = 20 << 20  # the Go proxy takes 500 MiB; people who vendor do not
HERE = os.uname().machine
WORKS = "--version, a delta, record and leaks"
PROFILES = [os.path.join(root, "testdata", "valid", f"heap.{number}.pb.gz") for number in (1, 2)]


def source(release, names):
    """Out of any repository, and without git. The command is linked as the README of the archives says."""
    with tempfile.TemporaryDirectory(prefix="pprofdelta-source-") as folder:
        tree = os.path.join(folder, names[0].removesuffix(".tar.xz"))
        environment = {**os.environ, "GIT_DIR": "/nonexistent"}
        shutil.copy(release.path(names[0]), folder)
        run("sh", "-euxc", block_of(release.filled("README.archive", PROCESSOR=HERE), "meson setup"), cwd=folder, env=environment)
        assert release.version in run(os.path.join(tree, "build", "cli", "pprofdelta"), "--version")
        build = os.path.join(tree, "build-tests")
        run("meson", "setup", build, tree, env=environment)
        run("ninja", "-C", build, env=environment)
        run("meson", "test", "-C", build, "--no-rebuild", "--suite", "unit", env=environment)
        tests = [json.loads(line) for line in read(build, "meson-logs", "testlog.json").splitlines()]
        passed = sum(test["result"] == "OK" for test in tests)
        assert passed > 20, tests
        return f"builds without git, and {passed} unit tests pass; the command links again by the archive's README"


def line_for(release, name):
    """What README.md and INSTALL.md tell people to do with an artefact: both the same."""
    told = []
    for document in ("README.md", "INSTALL.md"):
        lines = re.findall(r"^\|.*?\| `([^`]*)`", read(release.tree, document).replace("VERSION", release.version), re.M)
        told += [line for line in lines if name in line]
    if len(told) != 2 or told[0] != told[1]:
        raise RuntimeError(f"README.md and INSTALL.md do not have one and the same line for {name}: {told}")
    return told[0]


def block_of(text, word):
    """The commands that a document has with a word, as one block."""
    block, = [block for block in re.findall(r"(?:^    .*\n)+", text, re.M) if word in block]
    return block


def follow_install(release, folder, name, environment):
    shutil.copy(release.path(name), folder)
    run("sh", "-euxc", block_of(read(release.tree, "INSTALL.md").replace("VERSION", release.version), name), cwd=folder, env=environment)


def in_root(folder, processor, *command, **variables):
    """Runs a program in a folder that is its whole system, with /proc; one of another processor by qemu."""
    os.makedirs(os.path.join(folder, "proc"), exist_ok=True)
    start = ["unshare", "--pid", "--fork", "--mount-proc", "--root", folder]
    if processor != HERE:
        qemu = f"qemu-{processor}-static"
        if not shutil.which(qemu):
            raise Missing(f"there is no {qemu}")
        shutil.copy(shutil.which(qemu), folder)
        start += ["/" + qemu, *(word for name, value in variables.items() for word in ("-E", f"{name}={value}"))]
        variables = {}
    return run(*start, *command, env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **variables})


@contextlib.contextmanager
def fresh_debian(release, line):
    """A clean root in which a person has the artefacts, in /release, and does what a line says, as root. Says yes to apt."""
    folder = tempfile.mkdtemp(prefix="pprofdelta-fresh-")
    script = '. packaging/root.sh; clean_root "$1"; trap - EXIT; mkdir "$1/release"; cp "$2"/pprofdelta* "$1/release"'
    try:
        run("bash", "-euc", script, "bash", folder, release.out)
        in_root(folder, HERE, "sh", "-euc", f"cd /release; yes | {line}", DEBIAN_FRONTEND="noninteractive")
        yield folder
    finally:
        run("bash", "-euc", '. packaging/root.sh; remove_root "$1"', "bash", folder)


def try_commands(release, folder, command, start, processor=HERE, libc="gnu", agent=None):
    """--version, a delta, record and leaks, by a function that runs commands in the folder. Where there is an agent, it is preloaded, since
    qemu would have to start the program that record starts."""
    for profile in PROFILES:
        shutil.copy(profile, folder)
    os.makedirs(os.path.join(folder, "recorded"))
    leak = "./" + os.path.basename(leaking(folder, processor, libc))
    said = start(command, "--version")
    assert release.version in said, said
    start(command, "heap.1.pb.gz", "heap.2.pb.gz", "--verify", "-q", "-o", "delta.pb.gz")
    assert "alloc_space" in start(command, "show", "delta.pb.gz", "--top", "3")
    if agent:
        start(leak, LD_PRELOAD=agent, PPROFDELTA_RECORD_DIR="/recorded", PPROFDELTA_RECORD_RATE="1", PPROFDELTA_RECORD_INTERVAL="0.1")
    else:
        start(command, "record", "-q", "--rate=1", "--interval=100ms", "-o", "recorded", "--", leak)
    said = start(command, "leaks", "recorded")
    # With an agent alone, names are those that the files have where leaks runs; under qemu, musl's are not found.
    assert re.search(r"^suspect 1: (main|leak-musl\+)" if agent else "^suspect 1: main", said, re.M) and "in 1000 objects" in said, said


def try_root(release, folder, prefix, processor=HERE, libc="gnu"):
    """The same in a root, of what was installed there."""
    agent, = glob.glob(f"{folder}{prefix}/lib/*/pprofdelta/libpprofdelta-agent.so")
    try_commands(release, folder, f"{prefix}/bin/pprofdelta", functools.partial(in_root, folder, processor), processor, libc,
                 None if processor == HERE else "/" + os.path.relpath(agent, folder))


def archive(release, names):
    """In systems of nothing but a C library, the oldest that Debian still serves, and in a fresh Debian."""
    processor = re.search(r"linux-(\w+)\.", names[0])[1]
    line = line_for(release, "-linux-x86_64.tar.gz").replace("x86_64", processor)
    for libc, package in (("gnu", "libc6"), ("musl", "musl")):
        folder = system(release.folder(f"archive-{processor}-{libc}"), "bullseye", DEBIAN[processor], [package])
        os.makedirs(os.path.join(folder, "usr", "local"), exist_ok=True)
        run("sh", "-euc", line.replace("/usr/local", shlex.quote(f"{folder}/usr/local")), cwd=release.out)
        try_root(release, folder, "/usr/local", processor, libc)
    alone = "roots with glibc 2.31 and with musl 1.2.2 alone"
    if processor != HERE:
        return f"by README's line: {WORKS.replace('record', 'the agent (preloaded)')} in {alone} by qemu"
    with fresh_debian(release, line) as folder:
        try_root(release, folder, "/usr/local")
        in_root(folder, HERE, "sh", "-euc", "cd /release\n" + block_of(read(folder, "usr", "local", "README"), "xargs rm"))
        left = [os.path.join(place, name) for place, _, files in os.walk(f"{folder}/usr/local") for name in files]
        assert not left, left
    return f"by README's line: {WORKS} in {alone}, and in a fresh Debian, where nothing is left of it by its own README's"


def debian(release, names):
    """Those of this machine's processor are installed by apt; others, unpacked, run by qemu."""
    architecture = run("dpkg", "--print-architecture").strip()
    if f"_{architecture}.deb" in names[0]:
        run("packaging/try-deb", release.out)
        with fresh_debian(release, line_for(release, f"pprofdelta_{release.version}_amd64.deb").replace("amd64", architecture)) as folder:
            try_root(release, folder, "/usr")
        return f"by README's line: {WORKS} in a fresh Debian; all three install, upgrade, run and purge in a clean root"
    folder = system(release.folder("deb-arm64"), "bookworm", "arm64", ["libc6", "libdeflate0", "libzstd1", "zlib1g"])
    for name in names:
        run("dpkg-deb", "--extract", release.path(name), folder)
    try_root(release, folder, "/usr", "aarch64")
    return f"unpacked: {WORKS.replace('record', 'the agent (preloaded)')} by qemu"


def rpm(_release, _names):
    return "built, installed, run and erased by rpm (build-others)"


def recipe(release, names):
    """By the tool of its distribution, as far as what that has made is there."""
    others = glob.glob(os.path.join(release.work, "others", "*.rpm"))
    built = {"PKGBUILD": (others, "makepkg has built it, and the command ran (build-others)"),
             "pprofdelta.spec": (others, "rpmbuild has built it (build-others)"),
             "Containerfile": (glob.glob(release.path("*-container-*.tar")), "buildah has built it")}
    made, text = built[names[0]]
    if not made:
        raise Missing("what its tool would have made is not there")
    return text


def apkbuild(release, names):
    run("sh", "-n", release.path(names[0]))
    words = run("sh", "-euc", '. "$1"; echo $pkgname $pkgver $source', "sh", release.path(names[0])).split()
    assert words[:2] == ["pprofdelta", release.version] and words[2].endswith(f"v{release.version}/pprofdelta-{release.version}.tar.xz"), words
    return "only linted: Debian has no abuild"


STAND_IN = """let
  flake = import %s;
  pkgs = builtins.listToAttrs (map (name: { inherit name; value = name; })
    [ "meson" "ninja" "pkg-config" "protobufc" "python3" "xxHash" "libdeflate" "zstd" "zlib" "elfutils" "libiberty" ])
    // { stdenv.mkDerivation = given: given; lib.licenses.mit = "mit"; };
  nixpkgs = { lib.genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
              legacyPackages = { x86_64-linux = pkgs; aarch64-linux = pkgs; }; };
in (flake.outputs { self = null; inherit nixpkgs; }).packages.aarch64-linux.default"""


def flake(release, _names):
    """With a stand-in for nixpkgs, which no package registry has."""
    expression = STAND_IN % os.path.join(release.tree, "packaging", "flake.nix")
    found = run("nix-instantiate", "--eval", "--strict", "--json", "-E", f"({expression}).version")
    assert f'"{release.version}"' in found, found
    return "evaluated by nix, not built: there is no nixpkgs"


def venv(release, name, *words):
    """A virtual environment in which words were done, in the release. Returns a function that runs a command there."""
    folder = release.folder(name)
    run(sys.executable, "-m", "venv", folder)
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    run(*words, cwd=release.out, env=environment)
    return folder, lambda *command: run(*command, cwd=folder, env=environment)


def wheel(release, names):
    """By pip from a folder; each C library and processor by try-wheels."""
    folder, start = venv(release, "venv", "sh", "-euc", line_for(release, "pip install"))
    try_commands(release, folder, "pprofdelta", start)
    said = start("python", "-c", "import pprofdelta, sys; context = pprofdelta.Context(); one, two = (open(name, 'rb').read() "
                 "for name in sys.argv[1:]); context.base(one); print(pprofdelta.__version__, len(context.window(two).delta))", *PROFILES)
    assert said.split()[0] == release.version and int(said.split()[1]) > 1000, said
    tried = run("packaging/try-wheels", release.out).strip().splitlines()[-1]
    shutil.rmtree(os.path.join(release.out, "systems"))
    return f"by README's line: {WORKS} in a venv; in old systems of both processors: {tried}"


def sdist(release, names):
    _, start = venv(release, "venv-of-source", "pip", "install", "--quiet", names[0])
    assert release.version in start("pprofdelta", "--version")
    return "pip builds and installs it, and the command runs"


def container(release, names):
    folder, storage = release.folder("image"), os.path.join(release.work, "containers")
    buildah = ["buildah", "--storage-driver", "vfs", "--root", f"{storage}/root", "--runroot", f"{storage}/run"]
    made = run(*buildah, "from", f"docker-archive:{release.path(names[0])}").strip().splitlines()[-1]
    place = run(*buildah, "mount", made).strip()
    shutil.copytree(place, folder, dirs_exist_ok=True, symlinks=True)
    run(*buildah, "rm", made)
    command, = json.loads(run(*buildah, "inspect", "--type", "image", f"pprofdelta:{release.version}"))["Docker"]["config"]["Entrypoint"]
    command, = glob.glob(f"{folder}/*/bin/{command}")
    assert release.version in in_root(folder, HERE, "/" + os.path.relpath(command, folder), "--version")
    return "loaded, and its command runs with the image as its root"


def local_registry(release, folder, names):
    """cargo's form of a registry in a folder: the crates of this release, and those that Cargo.lock has."""
    workspace = os.path.join(release.tree, "bindings", "rust")
    told = json.loads(run("cargo", "metadata", "--format-version=1", "--locked", cwd=workspace))
    cache = os.path.join(os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")), "registry", "cache", "*")
    for crate in told["packages"]:
        name = f"{crate['name']}-{crate['version']}.crate"
        found = [release.path(name)] if name in names else glob.glob(os.path.join(cache, name))
        if found:
            shutil.copy(found[0], folder)
            write_index(folder, crate, os.path.join(folder, name))


def write_index(folder, crate, path):
    name = crate["name"]
    place = os.path.join(folder, "index", *{1: ["1"], 2: ["2"], 3: ["3", name[0]]}.get(len(name), [name[:2], name[2:4]]))
    os.makedirs(place, exist_ok=True)
    with open(path, "rb") as file:
        checksum = hashlib.sha256(file.read()).hexdigest()
    depends = [{"name": on["rename"] or on["name"], "package": on["name"] if on["rename"] else None, "req": on["req"], "features": on["features"],
                "optional": on["optional"], "default_features": on["uses_default_features"], "target": on["target"],
                "kind": on["kind"] or "normal"} for on in crate["dependencies"] if on["kind"] != "dev"]
    with open(os.path.join(place, name), "a", encoding="utf-8") as file:
        file.write(json.dumps({"name": name, "vers": crate["version"], "deps": depends, "features": crate["features"], "cksum": checksum,
                               "yanked": False, "links": crate["links"]}) + "\n")


RUST = """use std::fs;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut context = pprofdelta::Context::new()?;
    context.base(&fs::read(&names[0])?)?;
    let mut delta = Vec::new();
    context.delta(&fs::read(&names[1])?, &mut delta)?;
    println!("{} {}", pprofdelta::version(), delta.len());
    Ok(())
}
"""


def crate(release, names):
    """From a registry in a folder, and as INSTALL.md says; both with the dependencies that Cargo.lock has."""
    folder = release.folder("crate")
    os.makedirs(os.path.join(folder, "registry", "index"))
    local_registry(release, os.path.join(folder, "registry"), names)
    write('[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "registry"\n', release.folder("crate/.cargo"), "config.toml")
    for user in ("of-registry", "of-install"):
        place = os.path.join(folder, user)
        run("cargo", "new", "--quiet", "--vcs=none", place)
        write(RUST, place, "src", "main.rs")
        if user == "of-registry":
            run("cargo", "add", "--quiet", f"pprofdelta@={release.version}", cwd=place)
        else:
            shutil.copy(release.path(f"pprofdelta-sys-{release.version}.crate"), place)
            follow_install(release, place, f"pprofdelta-{release.version}.crate", os.environ)
        said = run("cargo", "run", "--quiet", "--", *PROFILES, cwd=place).split()
        assert said[-2] == release.version and int(said[-1]) > 1000, said
    for name in names:
        assert "/LICENSE" in run("tar", "-tzf", release.path(name)), f"{name} has no licence"
    return "cargo takes it from a local registry, and by INSTALL's lines; a program with it makes a delta"


GO = """package main

import (
	"bytes"
	"fmt"
	"os"

	_ "%(module)sgo/deltaarrow"
	"%(module)sgo/pprofdelta"
	_ "%(module)sotelcol/pprofdeltaprocessor"
)

func main() {
	computer, err := pprofdelta.New()
	var delta bytes.Buffer
	for _, name := range os.Args[1:] {
		profile, failed := os.ReadFile(name)
		delta.Reset()
		if err == nil && failed == nil {
			err = computer.Delta(profile, &delta)
		}
	}
	fmt.Println(pprofdelta.Version(), delta.Len(), err)
}
"""


def go_module(release, names):
    for name in names:
        with zipfile.ZipFile(release.path(name)) as file:
            entries = file.namelist()
        assert any(entry.rpartition("@")[2].partition("/")[2] == "LICENSE" for entry in entries), f"{name} has no licence"
        assert os.path.getsize(release.path(name)) < LARGEST_MODULE, name
    folder = release.folder("go-user")
    index = f"file://{os.path.join(release.work, 'go', 'cache', 'download')}"
    environment = {**os.environ, "GOPROXY": f"{index},{run('go', 'env', 'GOPROXY').strip()}", "GONOSUMDB": MODULE + "*", "GOFLAGS": "-mod=mod",
                   "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOMODCACHE": run("go", "env", "GOMODCACHE").strip()}
    write(GO % {"module": MODULE}, folder, "main.go")
    run("go", "mod", "init", "user", cwd=folder, env=environment)
    run("go", "get", *(f"{MODULE}{module}@v{release.version}" for module in GO_MODULES), cwd=folder, env=environment)
    said = run("go", "run", ".", *PROFILES, cwd=folder, env=environment).split()
    assert said[-3] == release.version and int(said[-2]) > 1000 and said[-1] == "<nil>", said
    from_zip = release.folder("go-from-zip")
    run("go", "mod", "init", "user", cwd=from_zip, env=environment)
    follow_install(release, from_zip, f"pprofdelta-go-module-{release.version}.zip", environment)
    place = run("go", "list", "-f", "{{.Dir}}", MODULE + "go/pprofdelta", cwd=from_zip, env=environment)
    assert place.startswith(from_zip), place
    return "go get takes it from a local proxy, and by INSTALL's lines; a program with all three makes a delta"


def sbom(release, names):
    python = python_with(os.path.join(here, "requirements.txt"))
    run(os.path.join(os.path.dirname(python), "pyspdxtools"), "--infile", release.path(names[0]))
    told = json.loads(read(release.path(names[0])))
    return f"pyspdxtools finds it valid: {len(told['files'])} files, {len(told['packages']) - 1} static parts"


def sums(release, names):
    said = run("sha256sum", "--check", "--strict", names[0], cwd=release.out)
    others = [name for name in os.listdir(release.out) if re.search(r"\d\.\d", name) and release.version not in name]
    assert not others, f"of another version than meson.build has: {others}"
    return f"sha256sum finds {len(said.splitlines())} files right; the version in their names is that of meson.build"


def signature(release, names):
    run("gpg", "--verify", release.path(names[0]), release.path("SHA256SUMS"))
    return "gpg finds it right"


# The artefacts by their names, each with what is tried of it.
TRIES = [
    (r"pprofdelta-[\d.]+\.tar\.xz", source),
    (r"pprofdelta-.*-linux-x86_64\.tar\.gz", archive),
    (r"pprofdelta-.*-linux-aarch64\.tar\.gz", archive),
    (r".*_amd64\.deb", debian),
    (r".*_arm64\.deb", debian),
    (r".*\.rpm", rpm),
    (r"pprofdelta\.spec", recipe),
    (r"PKGBUILD", recipe),
    (r"APKBUILD", apkbuild),
    (r"flake\.nix", flake),
    (r"Containerfile", recipe),
    (r".*-container-.*\.tar", container),
    (r"pprofdelta-.*\.whl", wheel),
    (r"pprofdelta-[\d.]+\.tar\.gz", sdist),
    (r".*\.crate", crate),
    (r".*-module-.*\.zip", go_module),
    (r".*\.spdx\.json", sbom),
    (r"SHA256SUMS", sums),
    (r"SHA256SUMS\.asc", signature),
]
