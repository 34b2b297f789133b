"""The command in the wheel, and what the package says about itself."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sysconfig
from pathlib import Path

import pprofdelta
import pytest
from conftest import VALID
from oracle import Reading
from pprofdelta._answers import RECEIVERS, ReceiverLike

COMMAND = Path(sysconfig.get_path("scripts")) / "pprofdelta"


def run(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, check=False)


def test_the_versions_are_one() -> None:
    assert importlib.metadata.version("pprofdelta") == pprofdelta.__version__
    assert run("--version").stdout.split()[1] == pprofdelta.__version__


def test_the_command_computes_the_same_delta(tmp_path: Path) -> None:
    one, two, out = VALID / "heap.1.pb.gz", VALID / "heap.2.pb.gz", tmp_path / "out.pb.gz"
    ran = run(one, two, "-o", out)
    assert ran.returncode == 0, ran.stderr
    assert out.read_bytes() == pprofdelta.delta(one.read_bytes(), two.read_bytes())


def test_the_command_writes_the_same_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    one, two, out = VALID / "heap.1.pb.gz", VALID / "heap.2.pb.gz", tmp_path / "out"
    ran = run(one, two, "-o", out, "--format=otlp", "--resource=service.name=shop", "--resource=\u00e9=\u00e8")
    assert ran.returncode == 0, ran.stderr
    resource = {"service.name": "shop", "\u00e9": "\u00e8"}
    assert out.read_bytes() == pprofdelta.delta(
        one.read_bytes(), two.read_bytes(), format="otlp", resource=resource
    )


# The words are those of the table in the C header, which tests/docs/facts.py compares.
@pytest.mark.parametrize("receiver", RECEIVERS)
def test_what_a_receiver_takes_is_one_word(receiver: ReceiverLike, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    one, two, out = VALID / "heap.1.pb.gz", VALID / "heap.2.pb.gz", tmp_path / "out"
    resource = {} if receiver == "pprof" else {"service.name": "unknown_service"}
    for given, options in (
        ((), pprofdelta.options_for(receiver, resource=resource)),
        (("--compress=none",), pprofdelta.options_for(receiver, resource=resource, compression="none")),
    ):
        ran = run(one, two, "-o", out, "-q", f"--for={receiver}", *given)
        assert ran.returncode == 0, ran.stderr
        assert out.read_bytes() == pprofdelta.delta(one.read_bytes(), two.read_bytes(), **options)


def test_a_receiver_that_is_not_known() -> None:
    with pytest.raises(pprofdelta.UsageError, match="receiver='x': the option is one of 'pyroscope', 'parca'"):
        pprofdelta.options_for("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="receiver=None"):
        pprofdelta.options_for(None)  # type: ignore[arg-type]


def test_the_command_and_the_package_share_states(tmp_path: Path) -> None:
    one, two = (VALID / f"heap.{number}.pb.gz" for number in (1, 2))
    state, out = tmp_path / "state", tmp_path / "out.pb.gz"
    context = pprofdelta.Context()
    context.window(one.read_bytes())
    context.commit()
    state.write_bytes(context.save())
    assert run("--state", state, two, "-o", out).returncode == 0
    assert out.read_bytes() == context.window(two.read_bytes()).delta
    context.commit()
    assert pprofdelta.Context.load(state.read_bytes()).describe() == context.describe()


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without the GIL, Python has an allocator of its own"
)
def test_the_command_finds_the_heap_agent(tmp_path: Path) -> None:
    code = "x = [bytearray(100_000) for _ in range(200)]"
    python = os.path.realpath(os.path.join(sysconfig.get_path("scripts"), "python"))
    ran = run("record", "-o", tmp_path, "--", python, "-c", code)
    assert ran.returncode == 0, ran.stderr
    [*deltas] = tmp_path.glob("heap.*.pb.gz")
    assert deltas, ran.stderr
    assert sum(values[1] for path in deltas for values in Reading(path.read_bytes()).samples.values()) > 10_000_000
