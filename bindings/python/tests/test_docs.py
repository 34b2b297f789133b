"""The examples of the documentation run, the types are right, and the oracle has every field."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pprofdelta
from conftest import ROOT, VALID
from profile_message import FIELDS


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


def test_the_flags_and_enums_that_are_not_generated_are_those_of_the_headers() -> None:
    headers = "".join(path.read_text() for path in (ROOT / "lib" / "include").glob("pprofdelta*.h"))

    def members(name: str) -> list[str]:
        found = re.search(rf"typedef enum {name} {{(.*?)}} {name};", headers, re.S)
        assert found
        body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.S)
        return re.findall(r"PPROFDELTA_\w+", body)

    from pprofdelta import _options

    firsts = [member.removeprefix("PPROFDELTA_FIRST_") for member in members("pprofdelta_first")]
    assert firsts == [member.name for member in pprofdelta.First]
    compressions = [member.removeprefix("PPROFDELTA_") for member in members("pprofdelta_compression")]
    assert compressions == ["GZIP", "ZSTD", "PLAIN"] and len(pprofdelta.Compression) == 3
    assert [member.removeprefix("PPROFDELTA_") for member in members("pprofdelta_format")] == [
        member.name for member in pprofdelta.Format
    ]
    flags = {name: int(shift) for name, shift in re.findall(r"PPROFDELTA_(\w+) = 1u << (\d+)", headers)}
    names = {"stamp": "NO_STAMP", "sequence": "NO_SEQUENCE"}
    for option, (flag, _) in _options._FLAGS.items():
        assert flag == 1 << flags[names.get(option, option.upper())], option


def test_the_oracle_has_every_field_of_the_format() -> None:
    text = (ROOT / "proto" / "profile.proto").read_text()
    found = {
        name: ", ".join(
            f"{kind}{'*' if repeated else ''} {field}"
            for repeated, kind, field in re.findall(r"^\s+(repeated )?(\w+) (\w+) = \d+;", body, re.M)
        )
        for name, body in re.findall(r"^message (\w+) {\n(.*?)^}", text, re.S | re.M)
    }
    assert found == FIELDS


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_the_types_are_right() -> None:
    tests = Path(__file__).parent
    # Without pyspark and pyarrow, which only pprofdelta.spark needs: its tests check its types.
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--allow-subclassing-any"]
    command += ["--cache-dir", "/dev/null"]
    for what in (["-p", "pprofdelta"], [str(path) for path in sorted(tests.glob("*.py"))]):
        ran = subprocess.run([*command, *what], capture_output=True, text=True, check=False, cwd=tests)
        assert ran.returncode == 0, ran.stdout + ran.stderr
