"""Places and times that are not kind: a root that cannot be written, a crowd, and
another language and another clock than the developer's."""

import os
import shutil
import subprocess
import tempfile
from datetime import datetime, timedelta, timezone

from harness import TIMEOUT
import pb
from samples import CUR, PREV, SECOND

CROWD = 200
DELTA = ("prev", "cur", "--report", "--verify")

# Says what it was not allowed to do, or runs the rest of its line where nothing can be written.
READ_ONLY = 'mount -o remount,bind,ro / 2>&1 || mount --rbind -o ro / / || exit 77; "$@"'


def heap(t):
    """Two looks; time and window are fixed, so that what is said of them can be compared."""
    before = [(("alloc", "main"), [10, 640, 2, 128]), (("leak", "main"), [1, 100, 1, 100])]
    after = [(("alloc", "main"), [1234567, 99999999, 2, 128]), (("leak", "main"), [3, 300, 3, 300])]
    t.write("prev", pb.gz(pb.profile(before, time=1_700_000_000_000_000_000)))
    t.write("cur", pb.gz(pb.profile(after, time=1_700_000_060_500_000_000)))


def everything(t, **env):
    """All that the command says and writes of the two."""
    heap(t)
    said = []
    for args in ((*DELTA, "-o", "out"), ("prev", "cur", "--report=json", "-o", "out"),
                 ("check", "prev", "out"), ("show", "--top", "5", "out"), ("show", "--raw", "out"),
                 ("show", "--json", "out"), ("show", "--folded", "out"), ("show", "prev", "cur"),
                 ("show", "--flame", "page.html", "out"), ("prev", "missing"), ("cur", "prev"),
                 ("prev", "cur", "--started", "2023-11-14T22:13:20Z"),
                 ("prev", "cur", "--started", "2023-11-14T22:13:20.000000001Z")):
        result = t.run(*args, env=env, manners=False)
        said.append((args, result.code, result.out, result.err))
    return said, t.load("out"), t.load("page.html")


def made_locale(t, name):
    """A folder with a locale that few machines have installed, for LOCPATH; None without localedef."""
    folder = t.path("locales")
    os.makedirs(folder, exist_ok=True)
    if not shutil.which("localedef"):
        return None
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", f"{folder}/{name}.UTF-8"],
                   capture_output=True, check=False, timeout=TIMEOUT)
    return folder if os.path.isdir(f"{folder}/{name}.UTF-8") else None


def test_language_and_clock_do_not_matter(t):
    usual = everything(t, LC_ALL="C", TZ="UTC")
    t.check(all(code in (0, 1) for _, code, _, _ in usual[0]), "usual")
    worlds = [{"LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"}, {"LC_ALL": "nonsense", "TZ": ":/nowhere"},
              {"LANG": "", "LC_ALL": "", "TZ": "XYZ+11:30ZYX"}]
    for name in ("de_DE", "tr_TR", "ar_EG"):
        folder = made_locale(t, name)
        if folder:
            worlds.append({"LC_ALL": name + ".UTF-8", "LOCPATH": folder, "TZ": "America/St_Johns"})
    for world in worlds:
        there = everything(t, **world)
        for here_said, there_said in zip(usual[0], there[0]):
            t.equal(there_said, here_said, str(world))
        t.equal(there[1:], usual[1:], str(world))


def test_a_root_that_cannot_be_written(t):
    heap(t)
    want = t.succeeds("prev", "cur", "-q").out

    def inside(*args):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = subprocess.run(["unshare", "-rm", "sh", "-c", READ_ONLY, "sh", t.binary, *args],
                                  cwd=t.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  timeout=TIMEOUT, check=False).returncode
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read().decode("utf-8", "replace")

    if not shutil.which("unshare"):
        t.skip("there is no unshare")
    code, _, why = inside("--version")
    if code:
        t.skip(f"no read-only root here: {why.strip()[-200:]}")
    t.equal(inside("prev", "cur", "-q"), (0, want, ""))
    code, out, err = inside("prev", "cur", "-q", "-o", "out")
    t.equal((code, out), (1, b""))
    t.contains(err, "pprofdelta: out: ", "Read-only file system")
    t.equal(inside("check", "prev")[0], 0)
    t.equal(inside("show", "--top", "3", "prev")[0], 0)
    t.equal(inside("prev", "cur", "-q", "-o", "/dev/null"), (0, b"", ""))
    t.equal(sorted(os.listdir(t.dir)), ["cur", "prev"])


def test_a_crowd(t):
    """All at once: half with a file of their own, half with the same one."""
    heap(t)
    want = t.succeeds("prev", "cur", "-q").out
    names = [f"out.{number}" if number % 2 else "out" for number in range(CROWD)]
    crowd = [subprocess.Popen([t.binary, "prev", "cur", "-q", "-o", name], cwd=t.dir,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) for name in names]
    for process, name in zip(crowd, names):
        err = process.communicate(timeout=TIMEOUT)[1]
        t.equal((process.returncode, err), (0, b""), name)
    t.check(all(t.load(name) == want for name in set(names)), "all wrote the same")
    t.equal(sorted(os.listdir(t.dir)), sorted({"prev", "cur", *names}))


def is_restart(t, ruler, text):
    t.write("prev", pb.gz(pb.profile(PREV, time=ruler)))
    t.write("cur", pb.gz(pb.profile(CUR, time=0)))
    result = t.succeeds("prev", "cur", "--started", text)
    return "a restart" in result.err


def test_many_days_agree_with_the_calendar(t):
    zone = timezone(timedelta(hours=-3, minutes=-30))
    for days in range(1, 92000, 4567):
        when = datetime(1970, 1, 1, 13, 14, 15, tzinfo=zone) + timedelta(days=days)
        nanos = int(when.timestamp()) * SECOND
        t.check(not is_restart(t, nanos, when.isoformat()), f"{when} is after {nanos}")
        t.check(is_restart(t, nanos - 1, when.isoformat()), f"{when} is not after {nanos - 1}")
