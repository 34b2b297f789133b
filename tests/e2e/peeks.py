"""`show --peek` beside `go tool pprof -peek`: run.py peeks PPROFDELTA

The same functions, values, callers and callees, on the profiles of testdata and on stacks made by chance. Skipped
(77) where there is no Go.
"""

import os
import random
import re
import subprocess

import real
from pb import gz, profile
from peeking import peeked
from samples import TESTDATA


def prepare(_):
    real.need("go")


def pprof(t, pattern, kind, *files):
    """What pprof prints, read as peeked() reads ours."""
    base = [f"-diff_base={files[0]}"] if len(files) > 1 else []
    ran = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-unit=B", f"-sample_index={kind}", f"-peek={pattern}",
                          *base, files[-1]], capture_output=True, text=True, check=False, timeout=real.TIMEOUT, cwd=t.dir,
                         env={**os.environ, "PPROF_TMPDIR": t.dir})
    t.equal(ran.returncode, 0, ran.stderr)
    got = {}
    for block in re.split(r"^-+\+-+$", ran.stdout, flags=re.M)[2:]:
        callers, own = {}, None
        for line in filter(str.strip, block.splitlines()):
            numbers, name = line.split("|", 1)
            name, values = name.strip().removesuffix(" (inline)"), [int(re.sub(r"B$", "", one)) for one in re.findall(
                r"(?<!\S)-?\d+B?(?!\S)", numbers)]
            if name and len(values) == 1:
                (callers if own is None else own[3])[name] = values[0]
            elif name:
                own = (*values, callers, {})
                got[name] = own
    return got


def check(t, pattern, kind, *files):
    want = {name: (flat, cum, *({other: value for other, value in calls.items() if value} for calls in ways))
            for name, (flat, cum, *ways) in pprof(t, pattern, kind, *files).items()}  # of two, pprof has calls of 0
    t.check(want, f"pprof has nothing for {pattern} {kind} {files}")
    t.equal(peeked(t, "--peek", pattern, "--type", kind, *files), {name: one for name, one in want.items() if any(one)},
            f"{pattern} {kind} {files}")


def test_real_profiles(t):
    for name, kinds in (("heap", ("alloc_objects", "inuse_objects")), ("block", ("contentions",)), ("mutex", ("contentions",))):
        files = [os.path.join(TESTDATA, "valid", f"{name}.{i}.pb.gz") for i in (1, 2)]
        for kind in kinds:
            for pattern in (".", "runtime", r"^main\."):
                if pattern != "runtime" or name == "heap":
                    check(t, pattern, kind, files[1])
            check(t, ".", kind, *files)


def test_stacks_made_by_chance(t):
    """With functions that call themselves, directly and not, and values below 0."""
    chance = random.Random(11)

    def stacks():
        return profile([(tuple(chance.choice("abcde") for _ in range(chance.randint(1, 8))),
                         [chance.randint(1, 99), chance.randint(-9, 9)]) for _ in range(200)],
                       types=["up/count", "both/count"])

    t.write("a", gz(stacks()))
    t.write("b", gz(stacks()))
    for kind in ("up", "both"):
        for pattern in (".", "[ac]", "e"):
            check(t, pattern, kind, "b")
            check(t, pattern, kind, "a", "b")
