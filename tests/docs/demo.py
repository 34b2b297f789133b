"""What a new user does first: `./dev demo` in a fresh tree, and then the README's commands with what the demo
has built, the heap agent and the library among it. The tree is this one without its build folders; nothing
is installed.

usage: demo.py SOURCE_ROOT"""

import os
import re
import shlex
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(root, "tests", "support")]
from checks import check, finish, put  # noqa: E402
from pages import read  # noqa: E402

TIMEOUT = 3600  # for what hangs

readme = read("README.md")
place = tempfile.TemporaryDirectory(prefix="pprofdelta-demo-")
tree, work = (os.path.join(place.name, name) for name in ("tree", "work"))
os.makedirs(os.path.join(place.name, "bin"))
os.mkdir(tree)
os.makedirs(os.path.join(work, "dir"))
for name in os.listdir(root):
    if not name.startswith((".git", "build", "dev")):
        os.symlink(os.path.join(root, name), os.path.join(tree, name))
put(read("dev"), tree, "dev", mode=0o755)  # it works where it lies
put("#!/bin/sh\necho installed\n", place.name, "bin", "dpkg-query", mode=0o755)
env = {name: value for name, value in os.environ.items()
       if name not in ("CI", "MALLOC_PERTURB_", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH")}
env["PATH"] = os.path.join(place.name, "bin") + ":" + env["PATH"]


def run(command, cwd, **more):
    return subprocess.run(["/bin/sh", "-c", command], cwd=cwd, env={**env, **more}, capture_output=True,
                          check=False, timeout=TIMEOUT, stdin=subprocess.DEVNULL)


def runs(what, command, cwd=work, **more):
    ran = run(command, cwd, **more)
    check(f"{what}: {command}", ran.returncode == 0,
          (ran.stdout[-400:] + ran.stderr[-1200:]).decode("utf-8", "replace"))
    return ran.stdout.decode("utf-8", "replace")


out = runs("the demo", "./dev demo", tree)
check("the demo shows a delta", "alloc_space" in out and "$ pprofdelta show --top" in out, out[-2000:])
named = re.findall(r"[\w./-]+\.pb\.gz", "".join(line for line in out.splitlines(True) if line.startswith("$ ")))
check("the files that the demo names are there",
      len(named) > 3 and all(os.path.exists(os.path.join(tree, name)) for name in named), named)

# The commands of the README's list, in its order, with files in the place of its words.
env["PATH"] = os.path.join(tree, "build", "cli") + ":" + env["PATH"]
prev, cur = (os.path.join(root, "testdata", "valid", f"heap.{n}.pb.gz") for n in (1, 2))
allocating = f"{shlex.quote(sys.executable)} -c '[bytes(100000) for _ in range(100)]'"
words = {"PREV": prev, "CUR": cur, "OUT": "out", "--state FILE": "--state state", "CMD": "cat",
         "BASE DELTA...": "base out", "FILE...": "out base", "FILE": "out", "P.html": "page.html",
         "COMMAND": allocating, "[VERB]": "record"}
runs("before", f"pprofdelta --state state {prev} -o base -q")
listed = re.findall(r"^    (pprofdelta .*?)(?:  +| \.\.\. )\S", readme.split("## The command")[1].split("\n- ")[0], re.M)
check("the README has a list of commands", len(listed) > 10, listed)
for command in listed:
    if "--pid" in command:  # a system may forbid it: tests/preload/attached.py
        continue
    for word, instead in words.items():
        command = re.sub(rf"(?<![\w-]){re.escape(word)}(?!\w)", lambda _, i=instead: i, command)
    runs("the README", command)
check("record has left a profile", [name for name in os.listdir(work) if name.startswith("heap.")])

# The same with a folder, and the sum of what is in it.
for command in re.findall(r"^    (pprofdelta record .*\[ARG\.\.\.\])$", readme, re.M):
    runs("the README", command.replace("DIR", "dir").replace("COMMAND [ARG...]", allocating))
total = re.search(r"`(pprofdelta sum DIR/heap\.PROGRAM\.PID\.\*\.gz)`", readme).group(1)
first = next(iter(sorted(os.listdir(os.path.join(work, "dir")))), "heap.none.0.000001.pb.gz")
name, pid = re.fullmatch(r"heap\.(.+)\.(\d+)\.\d{6}\.pb\.gz", first).groups()
total = total.replace("DIR", "dir").replace("PROGRAM", name).replace("PID", pid)
runs("the README", total + " -o total")
check("the recorded profile has what was allocated", "alloc_space" in runs(
    "the README", "pprofdelta show total"))

# The library, as the README says that it is found.
runs("the library", "cc -o consumer %s/tests/consumers/consumer.c $(pkg-config --cflags --libs pprofdelta)" %
     shlex.quote(tree), PKG_CONFIG_PATH=os.path.join(tree, "build", "meson-uninstalled"))
runs("the library", f"./consumer {prev} {cur} >delta", LD_LIBRARY_PATH=os.path.join(tree, "build", "lib"))
place.cleanup()
finish()
