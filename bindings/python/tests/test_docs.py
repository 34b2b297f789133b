"""The examples of the documentation run, the types are right, and the signatures have the options."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pprofdelta
from conftest import ROOT, VALID
from pprofdelta import _options


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in VALID.glob("*.pb.gz"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_of_the_module(folder: Path) -> None:
    result = doctest.testmod(pprofdelta)
    assert result.attempted >= 12 and result.failed == 0


def test_the_examples_of_the_readme(folder: Path) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    readme = ROOT / "bindings" / "python" / "README.md"
    result = doctest.testfile(str(readme), module_relative=False)
    assert result.attempted >= 12 and result.failed == 0


def test_every_name_is_documented() -> None:
    for name in (*pprofdelta.__all__, "sum"):
        thing = getattr(pprofdelta, name)
        assert thing.__doc__ and thing.__module__ == "pprofdelta", name
    for kind in (pprofdelta.Context, pprofdelta.Adder):
        for name, method in vars(kind).items():
            assert name.startswith("_") or method.__doc__, (kind, name)


def test_the_flags_are_those_of_the_headers() -> None:
    headers = "".join(path.read_text() for path in (ROOT / "lib" / "include").glob("pprofdelta*.h"))
    flags = {name: int(shift) for name, shift in re.findall(r"PPROFDELTA_(\w+) = 1u << (\d+)", headers)}
    names = {"stamp": "NO_STAMP", "sequence": "NO_SEQUENCE"}
    for option, (flag, _) in _options._FLAGS.items():
        assert flag == 1 << flags[names.get(option, option.upper())], option


def test_the_options_stand_in_the_signatures() -> None:
    """In the order of the table of options, with their types, and with the defaults of README.md."""
    readme = (ROOT / "bindings" / "python" / "README.md").read_text()
    calls: dict[Any, Any] = {pprofdelta.Adder: pprofdelta.AdderOptions, pprofdelta.merge: pprofdelta.MergeOptions}
    calls |= {pprofdelta.sum: pprofdelta.SumOptions, pprofdelta.Context.load: pprofdelta.Options}
    calls |= dict.fromkeys((pprofdelta.Context, pprofdelta.delta, pprofdelta.compare), pprofdelta.Options)
    defaults: dict[str, object] = {}
    for call, options in calls.items():
        found = [p for p in inspect.signature(call).parameters.values() if p.kind is p.KEYWORD_ONLY]
        types = {p.name: p.annotation for p in found}
        wanted = {name: getattr(kind, "__forward_arg__", kind) for name, kind in options.__annotations__.items()}
        assert list(types.items()) == list(wanted.items()), call
        for p in found:
            assert defaults.setdefault(p.name, p.default) == p.default, (call, p)
    rows = re.findall(r"^\| (`\w.*?) \| (`.*?`) \|", readme.split("## Options")[1], re.M)
    told = {name: value for names, values in rows for name, value in zip(names.split(", "), values.split(", "), strict=True)}
    assert told == {f"`{name}`": f"`{value!r}`".replace("'", '"') for name, value in defaults.items()}


mypy_is_here = pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")


def checked(*arguments: object, folder: Path) -> None:
    command = [sys.executable, "-m", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@mypy_is_here
def test_the_types_are_right(tmp_path: Path) -> None:
    tests = Path(__file__).parent
    # Without pyspark and pyarrow, which only pprofdelta.spark needs: its tests check its types.
    mypy = "mypy", "--strict", "--ignore-missing-imports", "--allow-subclassing-any", "--cache-dir", tmp_path
    checked(*mypy, "-p", "pprofdelta", folder=tests)
    checked(*mypy, *sorted(tests.glob("*.py")), folder=tests)


@mypy_is_here
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.14"])  # the oldest, the first with Buffer, the newest
def test_numpy_arrays_have_the_right_type(version: str, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "user.py").write_text(USER)
    checked("mypy", "--strict", "--python-version", version, "--cache-dir", "/dev/null", "user.py", folder=tmp_path)


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


@mypy_is_here
def test_the_stub_is_what_the_extension_has(tmp_path: Path) -> None:
    checked("mypy.stubtest", "pprofdelta._core", folder=tmp_path)
