"""What a release consists of. Each function makes artefacts in the folder `out`; `tree` is a copy of the sources with a history of
one commit, and `when` its time, which all artefacts have. The packages come from build-deb, build-wheel and build-others."""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(root, "tests", "e2e"))

from real import Missing  # noqa: E402

MODULE = "github.com/pprofdelta/pprofdelta/bindings/"
GO_MODULES = ["go", "go/deltaarrow", "otelcol"]
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}


def run(*command, **kwargs):
    """Returns what a command prints. Status 77 says that something cannot be had."""
    if not shutil.which(command[0], path=kwargs.get("env", os.environ)["PATH"]):
        raise Missing(f"there is no {command[0]}")
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **kwargs)
    if ran.returncode == 77:
        raise Missing(ran.stdout.strip().splitlines()[-1])
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]}: status {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-3000:]}")
    return ran.stdout


def need_version(program, oldest, *command):
    """A program that prints a version such as 1.26 among its words."""
    found = re.search(r"1\.(\d+)", run(program, *command))
    if not found or int(found[1]) < oldest:
        raise Missing(f"{program} is older than 1.{oldest}")


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def digest(path, kind="sha256"):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


class Release:
    def __init__(self, out):
        self.out, self.work = os.path.abspath(out), os.path.abspath(out) + "/work"
        self.tree = os.path.join(self.work, "tree")
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.work)
        self.when = run("bash", "-euc", '. packaging/tree.sh; commit_copy "$1"', "bash", self.tree).strip()
        self.version = re.search(r"^ *version: '(.*)',$", read(self.tree, "meson.build"), re.M)[1]
        os.environ["SOURCE_DATE_EPOCH"] = self.when

    def path(self, name):
        return os.path.join(self.out, name)

    def folder(self, name):
        folder = os.path.join(self.work, name)
        os.makedirs(folder)
        return folder

    def take(self, folder, pattern):
        for file in sorted(glob.glob(os.path.join(folder, pattern))):
            shutil.copy(file, self.out)

    def filled(self, name, **words):
        """A file of packaging/in with what it must know."""
        text = read(self.tree, "packaging", "in", name)
        for word, value in {"VERSION": self.version, **words}.items():
            text = text.replace(f"@{word}@", value)
        return text

    def tar(self, folder, name, to):
        """The folder as an archive, of which the sources of every bit are the files' names and bytes."""
        run("tar", "-c", "--sort=name", "--format=gnu", f"--mtime=@{self.when}", "--owner=0", "--group=0", "--numeric-owner",
            "--mode=u+rw,go=u,go-w", "-C", folder, "-f", to, name)


def source(release):
    """git's archive has the times and modes of the commit, so it is the same everywhere; `meson dist` adds nothing to it."""
    name = f"pprofdelta-{release.version}"
    packed = release.path(name + ".tar")
    run("git", "-C", release.tree, "archive", f"--prefix={name}/", "--format=tar", "-o", packed, "HEAD")
    run("xz", "-9", "--threads=1", packed)


def recipes(release):
    """For distributors: what their tools build a package from, with the sum of the sources."""
    sum_of_sources = digest(release.path(f"pprofdelta-{release.version}.tar.xz"), "sha512")
    for name in ("pprofdelta.spec", "APKBUILD", "PKGBUILD", "Containerfile"):
        write(release.filled(name, SHA512=sum_of_sources), release.path(name))
    shutil.copy(os.path.join(release.tree, "packaging", "flake.nix"), release.out)


def debian(release):
    built = release.folder("deb")
    run("packaging/build-deb", built, "--all")
    release.take(built, "*.deb")


def rpm(release):
    built = release.folder("others")
    run("packaging/build-others", built, release.out)
    release.take(built, "*.rpm")


def wheels(release):
    built = release.folder("wheel")
    run("packaging/build-wheel", built, "all")
    release.take(built, "pprofdelta-*.whl")
    release.take(built, "pprofdelta-*.tar.gz")


def archives(release):
    """The files of the Debian package, where the agent is that of the wheel, which is linked for older systems."""
    for processor, architecture in PROCESSORS.items():
        name = f"pprofdelta-{release.version}-linux-{processor}"
        work = release.folder(name)
        run("dpkg-deb", "--extract", release.path(f"pprofdelta_{release.version}_{architecture}.deb"), work)
        os.rename(os.path.join(work, "usr"), os.path.join(work, name))
        agent, = glob.glob(os.path.join(work, name, "lib", "*", "pprofdelta", "libpprofdelta-agent.so"))
        wheel, = glob.glob(release.path(f"*manylinux*{processor}.whl"))
        with zipfile.ZipFile(wheel) as file, open(agent, "wb") as to:
            to.write(file.read(next(name for name in file.namelist() if name.endswith("/libpprofdelta-agent.so"))))
        document(release, os.path.join(work, name), processor)
        packed = os.path.join(release.work, name + ".tar")
        release.tar(work, name, packed)
        run("gzip", "-9", "-n", packed)
        shutil.move(packed + ".gz", release.out)


def document(release, folder, processor):
    """What an archive has beside its programs: README, licences, and the list of the parts."""
    place = os.path.join(folder, "share", "doc", "pprofdelta")
    built = os.path.join(release.work, "deb")
    write(release.filled("README.archive", PROCESSOR=processor), folder, "README")
    shutil.copy(os.path.join(release.tree, "LICENSE"), place)
    shutil.copytree(os.path.join(built, "licences"), os.path.join(place, "licences"))
    shutil.copy(os.path.join(built, f"parts-{PROCESSORS[processor]}"), os.path.join(place, "parts"))


def container(release):
    """An image of the Containerfile, as podman and docker load it."""
    name = f"pprofdelta-{release.version}-container-x86_64.tar"
    storage = release.folder("containers")
    buildah = ["buildah", "--storage-driver", "vfs", "--root", f"{storage}/root", "--runroot", f"{storage}/run"]
    run(*buildah, "build", "--isolation", "chroot", "--timestamp", release.when, "-t", f"pprofdelta:{release.version}", "-f",
        release.path("Containerfile"), release.out)
    run(*buildah, "push", f"pprofdelta:{release.version}", f"docker-archive:{release.path(name)}:pprofdelta:{release.version}")


def crates(release):
    """cargo compiles what it has packed. Of two crates where one needs the other, only a new one does."""
    need_version("cargo", 90, "--version")
    target = release.folder("cargo")
    run("cargo", "package", "--locked", "--workspace", "--exclude", "allocators", "--target-dir", target,
        cwd=os.path.join(release.tree, "bindings", "rust"))
    release.take(os.path.join(target, "package"), "*.crate")


def go_modules(release):
    """The Go command makes the modules' archives from the tags of a repository, as the Go proxy does. Its cache is the index of a
    proxy, too."""
    need_version("go", 26, "env", "GOVERSION")
    run("python3", os.path.join(release.tree, "tests", "e2e", "gowasm.py"), "--released")
    for module in GO_MODULES:
        run("git", "-C", release.tree, "tag", f"bindings/{module}/v{release.version}")
    cache = release.folder("go")
    environment = {**os.environ, "GOPROXY": "direct", "GONOSUMDB": MODULE + "*", "GOPATH": cache, "GOMODCACHE": cache, "GOFLAGS": "-modcacherw",
                   "GOTOOLCHAIN": "local", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{release.tree}.insteadOf",
                   "GIT_CONFIG_VALUE_0": "https://" + MODULE.removesuffix("/bindings/")}
    for module in GO_MODULES:
        told = json.loads(run("go", "mod", "download", "-json", f"{MODULE}{module}@v{release.version}", cwd=release.work, env=environment))
        shutil.copy(told["Zip"], release.path(f"pprofdelta-{module.replace('/', '-')}-module-{release.version}.zip"))


def sums(release):
    names = sorted(name for name in os.listdir(release.out) if os.path.isfile(release.path(name)))
    write("".join(f"{digest(release.path(name))}  {name}\n" for name in names), release.path("SHA256SUMS"))


def signature(release):
    key = os.environ.get("PPROFDELTA_SIGNING_KEY")
    if not key:
        raise Missing("PPROFDELTA_SIGNING_KEY names no key of gpg")
    run("gpg", "--batch", "--yes", "--armor", "--local-user", key, "--detach-sign", release.path("SHA256SUMS"))
