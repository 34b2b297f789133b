"""What the tests share. They test the package that is installed, never the files beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[3]
VALID = ROOT / "testdata" / "valid"
HOSTILE = ROOT / "testdata" / "hostile"

# The same examples in every run, and no deadline: a slow machine fails no test.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=150)
settings.load_profile("repeatable")


def load(name: str) -> bytes:
    return (VALID / name).read_bytes()


def resident() -> int:
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(params=["heap", "mutex", "block"])
def pair(request: pytest.FixtureRequest) -> tuple[bytes, bytes]:
    """Two profiles of a real Go program."""
    return load(f"{request.param}.1.pb.gz"), load(f"{request.param}.2.pb.gz")


@pytest.fixture
def heap() -> tuple[bytes, bytes]:
    return load("heap.1.pb.gz"), load("heap.2.pb.gz")
