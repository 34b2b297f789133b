"""What the Debian packages are dated with, which decides whether the same tree gives the same packages:
the last change, also where there is no history to ask. dpkg-buildpackage is one that only keeps the
changelog which it was given.

usage: packages.py SOURCE_ROOT"""

import os
import shutil
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(root, "tests", "support")]
from checks import check, finish, put  # noqa: E402

folder = tempfile.mkdtemp(prefix="pprofdelta packages ")


def git(tree, *args):
    subprocess.run(("git", "-C", tree, "-c", "user.name=n", "-c", "user.email=e", *args), check=True,
                   capture_output=True, env={**os.environ, "GIT_COMMITTER_DATE": "@86400 +0000"})


def trailer(tree, **env):
    """The last line of the changelog that packages of this tree would have."""
    env = {"PATH": folder + ":" + os.environ["PATH"], "KEPT": os.path.join(folder, "kept"), **env}
    ran = subprocess.run((os.path.join(tree, "packaging", "build-deb"), os.path.join(folder, "out")),
                         capture_output=True, text=True, check=False, env=env)
    if ran.returncode:
        return ran.stderr
    with open(env["KEPT"], encoding="utf-8") as file:
        return file.read().splitlines()[-1]


def dated(date):
    return f" -- whoever distributes this package <root@localhost>  {date}"


put('#!/bin/sh\ncp debian/changelog "$KEPT" && : >../a.deb\n', folder, "dpkg-buildpackage", mode=0o755)
tree = os.path.join(folder, "around", "tree")
shutil.copytree(os.path.join(root, "packaging"), os.path.join(tree, "packaging"))
put("  version: '0.1.0',\n", tree, "meson.build")
for place, _, names in os.walk(tree):
    for name in names:
        os.utime(os.path.join(place, name), (1000, 1000))
os.utime(os.path.join(tree, "meson.build"), (172800, 172800))

got = trailer(tree)
check("an unpacked archive: its newest file", got == dated("Sat, 03 Jan 1970 00:00:00 +0000"), got)
got = trailer(tree, SOURCE_DATE_EPOCH="60")
check("SOURCE_DATE_EPOCH", got == dated("Thu, 01 Jan 1970 00:01:00 +0000"), got)
got = trailer(tree, SOURCE_DATE_EPOCH="soon")
check("what is no date ends it", "soon" in got, got)
if shutil.which("git"):
    git(os.path.dirname(tree), "init")
    git(os.path.dirname(tree), "commit", "--allow-empty", "-m", "another's")
    got = trailer(tree)
    check("not a repository around it", got == dated("Sat, 03 Jan 1970 00:00:00 +0000"), got)
    git(tree, "init")
    git(tree, "commit", "--allow-empty", "-m", "ours")
    got = trailer(tree)
    check("its own last commit", got == dated("Fri, 02 Jan 1970 00:00:00 +0000"), got)

shutil.rmtree(folder)

# What `./dev release` reads of this tree: what is linked into wheels and the Go module, and the lines that people are told.
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(root, "packaging", "release")]
import sbom  # noqa: E402
import tries  # noqa: E402


class Release:
    tree, version = root, "1.2.3"


parts = sbom.of_wheels(Release) | sbom.of_go(Release)
unknown = {name for _, name, _ in parts} - set(sbom.LICENCES)
check("the SBOM has a licence for what is compiled into wheels and the Go module", len(parts) > 8 and not unknown, (parts, unknown))
for name in ("pprofdelta-1.2.3-linux-x86_64.tar.gz", "pprofdelta_1.2.3_amd64.deb", "pprofdelta-1.2.3-1.x86_64.rpm", "pip install"):
    check(f"README.md and INSTALL.md have one line for {name}", name in tries.line_for(Release, name))
finish()
