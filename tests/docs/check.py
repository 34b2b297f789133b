"""Are the documents true? The README's program is the one in agent.c, which is compiled and run; the
README's recipe is run as written; every option of --help is in the man page; the version is one.

usage: check.py SOURCE_ROOT PPROFDELTA AGENT VERSION"""

import os
import re
import subprocess
import sys
import tempfile

root, tool, agent = (os.path.abspath(path) for path in sys.argv[1:4])
version = sys.argv[4]
passed = failed = 0


def read(*path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def check(name, holds, detail=""):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print("ok" if holds else "FAILED", name, "" if holds else detail)


def blocks(language):
    return re.findall(r"```%s\n(.*?)```" % language, read("README.md"), re.S)


def run(*args, **kwargs):
    return subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)


check("the README's program is agent.c", read("tests", "docs", "agent.c") in blocks("c"))

valid = os.path.join(root, "testdata", "valid")
one, two = (os.path.join(valid, "heap.%d.pb.gz" % n) for n in (1, 2))
with tempfile.TemporaryDirectory() as folder:
    first, second, by_tool = (os.path.join(folder, name) for name in ("1", "2", "tool"))
    ran = run(agent, one, first, two, second)
    check("agent.c runs", ran.returncode == 0, ran.stderr)
    run(tool, one, two, "-o", by_tool)
    raw = [re.sub(r"pprofdelta: delta.*", "", run(tool, "show", "--raw", f).stdout).replace(f, "")
           for f in (second, by_tool)]
    check("agent.c and the command agree", raw[0] == raw[1] and "Samples" in raw[0].title())

    # The recipe, with a curl that hands out the two looks and then keeps what is sent.
    recipe = next(b for b in blocks("sh") if "curl" in b)
    script = os.path.join(folder, "recipe.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(recipe)
    bin_folder = os.path.join(folder, "bin")
    os.mkdir(bin_folder)
    with open(os.path.join(bin_folder, "curl"), "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
case "$*" in
*--data-binary*) [ ! -e {folder}/down ] || exit 22
    n=$(ls {folder} | grep -c '^sent'); cat > {folder}/sent$n ;;
*) cp "$LOOK" "$(echo "$*" | sed 's/.*-o \\([^ ]*\\).*/\\1/')" ;;
esac
""")
    os.chmod(os.path.join(bin_folder, "curl"), 0o755)
    os.symlink(os.path.abspath(tool), os.path.join(bin_folder, "pprofdelta"))
    state = os.path.join(folder, "state")
    os.mkdir(state)

    def minute(look):
        env = dict(os.environ, PATH=bin_folder + ":" + os.environ["PATH"], LOOK=look, DIR=state,
                   TARGET="http://target", RECEIVER="http://receiver")
        return run("sh", script, env=env)

    minute(one)
    sent = [name for name in os.listdir(folder) if name.startswith("sent")]
    check("the recipe's first minute sends nothing", sent == [], sent)
    open(os.path.join(folder, "down"), "w", encoding="utf-8").close()
    minute(two)
    os.unlink(os.path.join(folder, "down"))
    ran = minute(two)
    shown = run(tool, "show", "--raw", os.path.join(folder, "sent0")).stdout
    cleaned = re.sub(r"pprofdelta: delta.*", "", shown).replace(os.path.join(folder, "sent0"), "")
    check("the recipe sends the delta, also after a minute that failed", cleaned == raw[1],
          ran.stderr)

help_text = run(tool, "--help").stdout
man = read("man", "pprofdelta.1").replace("\\-", "-").replace("\\fR", "").replace("\\fI", "")
missing = [o for o in set(re.findall(r"--[a-z][a-z-]+", help_text)) if o not in man]
check("every option of --help is in the man page", help_text and not missing, missing)
wide = [line for line in help_text.splitlines() if len(line) > 80]
check("--help fits 80 columns", not wide, wide)

check("--version tells meson's version", version in run(tool, "--version").stdout)
check("the header tells it too", f'"{version}"' in read("lib", "include", "pprofdelta.h"))
check("NEWS.md begins with it", re.search(r"^## (\S+)", read("NEWS.md"), re.M).group(1) == version)
for page in ("pprofdelta.1", "libpprofdelta.3"):
    check(f"{page} tells it", f"pprofdelta {version}" in read("man", page))

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
