"""Old systems of Debian, in which what was built is tried, and a program for them. Imported by try-wheels and release/."""

import glob
import os
import re
import shutil
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(root, "tests", "e2e"))

from real import python_with  # noqa: E402

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
LEAK = """#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    void *volatile kept;
    for (int i = 0; i < 1000; i++) {
        kept = malloc(1000);
        usleep(1000);
    }
    return !kept;
}
"""


def run(command, **kwargs):
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **kwargs)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command[:6])}: status {ran.returncode}: {(ran.stderr + ran.stdout).strip()[-800:]}")
    return ran.stdout


def system(out, suite, architecture, packages):
    """A folder with packages of a Debian and what they depend on, unpacked and not installed."""
    folder = os.path.join(out, "systems", f"{suite}-{architecture}")
    if os.path.exists(os.path.join(folder, "finished")):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for place in ("apt/lists/partial", "apt/archives/partial"):
        os.makedirs(os.path.join(folder, place))
    mirror = re.search(r"^(\S+) bookworm$", run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)"]), re.M)[1]
    with open(os.path.join(folder, "apt", "sources.list"), "w", encoding="utf-8") as file:
        file.write(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} main\n")
    options = {"Dir::Etc::sourcelist": f"{folder}/apt/sources.list", "Dir::Etc::sourceparts": "-",
               "Dir::State": f"{folder}/apt", "Dir::State::lists": f"{folder}/apt/lists", "Dir::State::status": "/dev/null",
               "Dir::Cache": f"{folder}/apt", "APT::Architecture": architecture, "APT::Architectures": architecture,
               "APT::Sandbox::User": "root", "APT::Install-Recommends": "false", "Debug::NoLocking": "true"}
    apt = ["apt-get", "-q", "-y", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    run([*apt, "update"])
    run([*apt, "install", "--download-only", *packages])
    for package in glob.glob(f"{folder}/apt/archives/*.deb"):
        run(["dpkg-deb", "--extract", package, folder])
    for place, folders, files in os.walk(folder): # a link must not lead out of the folder
        for link in (os.path.join(place, name) for name in folders + files):
            if os.path.islink(link) and os.path.isabs(os.readlink(link)):
                goal = os.path.relpath(folder + os.readlink(link), place)
                os.unlink(link)
                os.symlink(goal, link)
    open(os.path.join(folder, "finished"), "wb").close()
    return folder


def leaking(folder, processor, libc):
    """A program that leaks for a second, compiled by zig for an old glibc (gnu), or for musl."""
    leak = os.path.join(folder, f"leak-{libc}")
    with open(leak + ".c", "w", encoding="utf-8") as file:
        file.write(LEAK)
    zig = f"{processor}-linux-{libc}" + (".2.28" if libc == "gnu" else "")
    link = ["-dynamic"] if libc == "musl" else []
    tools = python_with(os.path.join(root, "bindings", "python", "requirements", "build.txt"))
    run([tools, "-m", "ziglang", "cc", "-target", zig, "-O1", *link, leak + ".c", "-o", leak])
    return leak
