"""The types of the package, of its tests and of a program that uses it: here is all that mypy has to read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import HERE

USER = """
import mmap
import numpy as np
import pprofdelta
array = np.zeros(3, dtype=np.uint8)
context = pprofdelta.Context.load(array, level=9, started=None, on_reset=pprofdelta.OnReset.CLAMP)
with context.window(array) as window:
    context.base(memoryview(window.delta))
pprofdelta.Adder(resource={"a": "b"}, format="otlp").add(mmap.mmap(-1, 3))
total: bytes = pprofdelta.sum(array, bytearray(3), force=True)
pprofdelta.delta("profile", array)  # type: ignore[arg-type]
pprofdelta.delta(array, array, on_reset="never")  # type: ignore[arg-type]
"""


def checked(*arguments: object) -> None:
    command = [sys.executable, "-m", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent / "tests")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_types_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "user.py").write_text(USER)
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    mypy = "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache", "--python-version"
    tests = [f"-m{path.stem}" for path in (HERE.parent / "tests").glob("*.py")]
    checked(*mypy, "3.14", "-p", "pprofdelta", "-m", "user", *tests)  # the newest
    checked(*mypy, "3.14", *HERE.glob("*.py"))
    checked(*mypy, "3.12", "-m", "user")  # the first with Buffer
    checked(*mypy, "3.11", "-p", "pprofdelta", "-m", "user")  # the oldest
    checked("mypy.stubtest", "pprofdelta._core")
