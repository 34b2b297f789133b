"""Makes a release of this tree in a folder, tries each artefact, makes all of it again elsewhere and compares:

    python3 packaging/release OUT           what `./dev release` calls, as root, with SOURCE_DATE_EPOCH
    python3 packaging/release OUT --once    it is not made again
    python3 packaging/release OUT --make    it is only made

At the end, a table has each artefact, its size and what was tried of it, and each that could not be made, with the reason. In CI, what
could not be made or tried has failed, but for the signature.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True

import make  # noqa: E402
import tries  # noqa: E402
from sbom import sbom  # noqa: E402

# In this order: archives are made of packages and wheels, and the last ones of all that is there.
MAKES = [make.source, make.recipes, make.debian, make.rpm, make.wheels, make.archives, make.container, make.crates, make.go_modules, sbom,
         make.sums, make.signature]
# Another run has other surroundings: all that may leak into an artefact.
ELSEWHERE = {"LC_ALL": "C", "TZ": "Pacific/Chatham", "CCACHE_DISABLE": "1", "USER": "somebody", "PPROFDELTA_SIGNING_KEY": ""}


def say(text):
    print(f"== {time.strftime('%H:%M:%S')} {text}", flush=True)


def make_all(out):
    """Returns the release, and the reasons why something is not in it."""
    release, missing = make.Release(out), {}
    for step in MAKES:
        say(f"make: {step.__name__}")
        try:
            step(release)
        except Exception as why:  # pylint: disable=broad-except # of one step, whatever it is; the others are made, too
            missing[step.__name__] = f"not made: {why}" if isinstance(why, make.Missing) else f"FAILED: {type(why).__name__}: {why}"
            say(f"{step.__name__}: {missing[step.__name__]}")
    return release, missing


def try_all(release):
    """Returns what was tried of each artefact."""
    names, tried = sorted(name for name in os.listdir(release.out) if os.path.isfile(release.path(name))), {}
    for pattern, attempt in tries.TRIES:
        group = [name for name in names if re.fullmatch(pattern, name) and name not in tried]
        if not group:
            continue
        say(f"try: {', '.join(group)}")
        try:
            text = attempt(release, group)
        except tries.Missing as why:
            text = f"not tried: {why}"
        except Exception as why:  # pylint: disable=broad-except # of one artefact, whatever it is; the others are tried, too
            text = f"FAILED: {type(why).__name__}: {why}"
            say(text)
        tried.update(dict.fromkeys(group, text))
    return {name: tried.get(name, "FAILED: nothing is tried of it") for name in names}


def compare(release):
    """Makes all again, and returns the names that differ."""
    with tempfile.TemporaryDirectory(prefix="pprofdelta release again ") as folder:
        tree, again = os.path.join(folder, "a tree"), os.path.join(folder, "made")
        make.run("bash", "-euc", '. packaging/tree.sh; copy_sources "$1"', "bash", tree)
        say("make again: in another folder, with another umask, locale and time, and without a cache")
        subprocess.run([sys.executable, os.path.join(tree, "packaging", "release"), again, "--make"], check=False, umask=0o077,
                       env={**os.environ, **ELSEWHERE, "SOURCE_DATE_EPOCH": release.when})
        return {name for name in os.listdir(release.out) if os.path.isfile(release.path(name)) and not name.endswith(".asc") and
                (not os.path.exists(os.path.join(again, name)) or make.digest(release.path(name)) != make.digest(os.path.join(again, name)))}


def size(path):
    count = os.path.getsize(path)
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"


def show(release, missing, tried, differ):
    rows = []
    for name, text in tried.items():
        again = "" if differ is None else "DIFFERS when made again; " if name in differ else "same twice; "
        rows.append((name, size(release.path(name)), again + text))
    rows += [(name, "", text) for name, text in missing.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    print()
    for name, how_large, text in rows:
        print(f"{name:{widths[0]}}  {how_large:>{widths[1]}}  {text[:1000]}")
    bad = ["FAILED", "DIFFERS"] + (["not made", "not tried"] if os.environ.get("CI") == "true" else [])
    failed = sum(any(word in text for word in bad) and not (name == "signature" and text.startswith("not made")) for name, _, text in rows)
    print(f"\n{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(out, *options):
    os.umask(0o022) if "--make" not in options else None
    out = os.path.abspath(out)
    os.chdir(make.root)
    release, missing = make_all(out)
    if "--make" in options:
        return 1 if any(text.startswith("FAILED") for text in missing.values()) else 0
    tried = try_all(release)
    differ = None if "--once" in options else compare(release)
    shutil.rmtree(release.work)
    return show(release, missing, tried, differ)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not set(sys.argv[2:]) <= {"--once", "--make"}:
        sys.exit("usage: release OUT [--once|--make]")
    sys.exit(main(*sys.argv[1:]))
