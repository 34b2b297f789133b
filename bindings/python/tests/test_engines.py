"""The recipe for DuckDB in ENGINES.md runs as it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pprofdelta
from conftest import ROOT, load

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")


def test_the_recipe_for_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profiles = {(kind, n): load(f"{kind}.{n}.pb.gz") for kind in ("heap", "mutex") for n in (1, 2)}
    with duckdb.connect("fleet.duckdb") as duck:
        duck.execute("CREATE TABLE profiles (target VARCHAR, time BIGINT, profile BLOB)")
        for (kind, n), profile in [*profiles.items(), (("heap", 3), b"damaged")]:
            duck.execute("INSERT INTO profiles VALUES (?, ?, ?)", [kind, n, profile])
    text = (ROOT / "bindings" / "python" / "ENGINES.md").read_text()
    [recipe] = [block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "duckdb" in block]
    names: dict[str, object] = {}
    exec(compile(recipe, "ENGINES.md", "exec"), names)
    duck = names["duck"]
    rows = duck.sql('SELECT * FROM deltas ORDER BY target, "to"').fetchall()  # type: ignore[attr-defined]
    duck.close()  # type: ignore[attr-defined]
    assert [row[:3] for row in rows] == [
        ("heap", None, 1), ("heap", 1, 2), ("heap", 2, 3), ("mutex", None, 1), ("mutex", 1, 2),
    ]  # fmt: skip
    for target, begin, end, delta, error in rows:
        if end == 3:
            assert delta is None and error.startswith("profile: this is text")
            continue
        with pprofdelta.Context(sequence=False) as context:
            cur = profiles[target, end]
            if begin:
                context.base(profiles[target, begin])
            window = context.window(cur)
        assert delta == window.delta and error is None
