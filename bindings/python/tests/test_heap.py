"""The heap of a process: `python -m pprofdelta record`, and pprofdelta.heap in a process that runs already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pprofdelta.__main__ import arguments

PROGRAM = """
import os, sys
kept = []
def keep_rows(count):
    for i in range(count):
        kept.append(bytearray(1000))
def drop_rows(count):
    for i in range(count):
        bytearray(1000)
"""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PPROFDELTA_")}
    return subprocess.run([sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, check=False)


def in_use(folder: Path) -> dict[str, int]:
    """What is in use at the end, by the function that allocated it."""
    files = sorted(folder.glob("heap.*.pb.gz"))
    assert files
    total = run(folder, "-m", "pprofdelta", "sum", "-q", *map(str, files), "-o", "total")
    assert total.returncode == 0, total.stderr
    shown = json.loads(run(folder, "-m", "pprofdelta", "show", "--json", "total").stdout)
    column = [t["type"] for t in shown["types"]].index("inuse_space")
    found: dict[str, int] = {}
    for sample in shown["samples"]:
        for frame in sample["stack"]:
            if "keep_rows" in frame["function"] or "drop_rows" in frame["function"]:
                found[frame["function"]] = found.get(frame["function"], 0) + sample["values"][column]
    return found


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["show", "a.py"], ["show", "a.py"]),
        (["record", "-o", "d", "app.py", "--x"], ["record", "-o", "d", "--", sys.executable, "app.py", "--x"]),
        (["record", "-m", "app", "-o", "x"], ["record", "--", sys.executable, "-m", "app", "-o", "x"]),
        (["record", "--", "ls", "a.py"], ["record", "--", "ls", "a.py"]),
        (["record", "--pid", "1"], ["record", "--pid", "1"]),
    ],
)
def test_what_the_command_gets(given: list[str], want: list[str]) -> None:
    assert arguments(given) == want


def test_a_script_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM + "keep_rows(int(sys.argv[1]))\ndrop_rows(500)\nos._exit(0)\n")
    ran = run(tmp_path, "-m", "pprofdelta", "record", "-q", "--rate=1", "-o", ".", "app.py", "700")
    assert ran.returncode == 0, ran.stderr
    rows = in_use(tmp_path)
    kept = next(value for name, value in rows.items() if "keep_rows" in name)
    assert 700_000 <= kept < 900_000
    assert sum(value for name, value in rows.items() if "drop_rows" in name) < 1000


def test_a_process_records_itself(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        PROGRAM
        + """
import pprofdelta.heap as heap
try:
    heap.window()
except RuntimeError as error:
    print(error)
keep_rows(100)  # not known
heap.start("found", rate=1, interval=3600)
try:
    heap.start("found", rate=1)
except RuntimeError as error:
    print(error)
keep_rows(300)
first = heap.window()
keep_rows(200)
drop_rows(100)
heap.stop()
heap.stop()
keep_rows(1000)  # not recorded
open("first", "wb").write(first)
heap.start("again", rate=1)
keep_rows(50)
heap.stop()
"""
    )
    ran = run(tmp_path, "app.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "this process is not recorded: call pprofdelta.heap.start first",
        "this process is recorded already",
    ]
    files = sorted((tmp_path / "found").glob("heap.*.pb.gz"))
    assert (tmp_path / "first").read_bytes() == files[0].read_bytes()
    assert len(files) == 2
    for folder, least, most in (("found", 500_000, 600_000), ("again", 50_000, 100_000)):
        (kept,) = (value for name, value in in_use(tmp_path / folder).items() if "keep_rows" in name)
        assert least <= kept < most


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    for call, says in (
        ("heap.start('d', interval=0)", "ValueError"),
        ("heap.start('d', rate=0)", "ValueError"),
        ("heap.start('app.py')", "FileExistsError"),
    ):
        (tmp_path / "app.py").write_text(f"import pprofdelta.heap as heap\n{call}\n")
        ran = run(tmp_path, "app.py")
        assert ran.returncode == 1
        assert says in ran.stderr


def test_a_child_of_a_fork_starts_for_itself(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        PROGRAM
        + """
import pprofdelta.heap as heap
heap.start("parent", rate=1)
keep_rows(10)
pid = os.fork()
if pid == 0:
    heap.start("child", rate=1)
    keep_rows(400)
    heap.stop()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
keep_rows(20)
heap.stop()
"""
    )
    ran = run(tmp_path, "app.py")
    assert ran.returncode == 0, ran.stderr
    (of_child,) = in_use(tmp_path / "child").values()
    (of_parent,) = in_use(tmp_path / "parent").values()
    assert 400_000 <= of_child < 450_000
    assert 30_000 <= of_parent < 60_000
