#!/usr/bin/env python3
"""Holds the command to testdata/hostile/expected.json: every file that is refused is refused with
exactly these words and leaves nothing behind.

    run.py BINARY [DIRECTORY]

A file on its own is given to `pprofdelta check`, and then to a delta, once as PREV and once as CUR
with a good profile: the message must be the same, an existing OUT must be what it was, and no
temporary file may be left. A case is one file, or one pair, of expected.json; the last line counts
them. A line of expected.json is
    {"file": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for a file that `pprofdelta check` and a delta judge alike, whether it is PREV or CUR; and
    {"prev": NAME, "cur": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for two good ones that only a delta refuses.
"""

import json
import os
import subprocess
import sys
import tempfile

TIMEOUT = 3600  # for a command that hangs; nothing here measures time
GOOD = "good.pb"
BEFORE = b"\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x01x"  # a profile: nothing else would be replaced


def files_of(folder):
    return {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}


class Case:
    def __init__(self, binary, data, want):
        self.binary, self.data, self.want = binary, data, want
        self.problems = []

    def run(self, *args):
        """Runs the command among the files, so that messages name them without a folder."""
        code, lines = self.want["exit"], self.want["stderr"]
        args = [*args, *self.want["with"]]
        done = subprocess.run([self.binary, *args], cwd=self.data, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                              check=False)
        said = done.stderr.decode("utf-8", "replace").splitlines()
        if done.returncode != code:
            self.problem(args, f"exit code {done.returncode}, not {code}")
        if said != lines:
            self.problem(args, "said\n    " + "\n    ".join(said or ["(nothing)"]) +
                         "\n  not\n    " + "\n    ".join(lines))
        return done

    def problem(self, args, what):
        self.problems.append(f"{' '.join(args)}: {what}")

    def check(self):
        done = self.run("check", self.want["file"])
        accepted = self.want["exit"] == 0
        if accepted != (b": ok: " in done.stdout):
            self.problem(["check", self.want["file"]], f"printed {done.stdout!r}")

    def delta(self, prev, cur):
        before = files_of(self.data)
        with tempfile.TemporaryDirectory(prefix="pprofdelta-hostile-") as folder:
            out = os.path.join(folder, "out.pb.gz")
            with open(out, "wb") as file:
                file.write(BEFORE)
            os.utime(out, (1, 1))
            stood = files_of(folder)
            done = self.run(prev, cur, "-o", out)
            with open(out, "rb") as file:
                untouched = file.read() == BEFORE and files_of(folder) == stood
            if not untouched:
                self.problem([prev, cur], f"changed OUT or left something: {os.listdir(folder)}")
        to_stdout = self.run(prev, cur)
        if done.stdout or to_stdout.stdout:
            self.problem([prev, cur], "wrote to stdout")
        if files_of(self.data) != before:
            self.problem([prev, cur], "changed its inputs' folder")

    def hold(self):
        if "prev" in self.want:
            self.delta(self.want["prev"], self.want["cur"])
        else:
            self.check()
            if self.want["exit"]:
                self.delta(self.want["file"], GOOD)
                self.delta(GOOD, self.want["file"])
        return not self.problems


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    binary = os.path.abspath(sys.argv[1])
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/hostile")
    data = sys.argv[2] if len(sys.argv) == 3 else folder
    with open(os.path.join(data, "expected.json"), encoding="utf-8") as file:
        wanted = json.load(file)
    passed = failed = 0
    for want in wanted:
        case = Case(binary, data, want)
        if case.hold():
            passed += 1
            continue
        failed += 1
        print("FAILED", want.get("file") or f"{want['prev']} {want['cur']}")
        for problem in case.problems:
            print("  " + problem)
    listed = {want.get(key) for want in wanted for key in ("file", "prev", "cur")}
    for name in sorted(set(os.listdir(data)) - listed - {"expected.json"}):
        failed += 1
        print(f"FAILED {name}: stands in the folder and is not in expected.json")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
