"""The examples of the documentation run, and the signatures have the options."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
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
