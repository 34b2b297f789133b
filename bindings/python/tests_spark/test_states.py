"""The files of states, against a dictionary."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from pprofdelta.spark._states import Folder, States, Waiting
from pprofdelta.spark._windows import Profile


def left_behind(chance: random.Random) -> tuple[bytes, list[Any]]:
    return chance.randbytes(chance.randrange(2000)), [chance.randrange(99), None, chance.randrange(9), [-6, 5]]


class Hdfs(LocalFileSystem):  # type: ignore[misc]
    """Does not replace files."""

    def move(self, old: str, new: str) -> None:
        if os.path.exists(new):
            raise OSError(new)
        super().move(old, new)


def test_micro_batches_of_few_and_of_many_targets(tmp_path: Path) -> None:
    chance, model = random.Random(5), dict[str, Any]()
    told = {"service": "shop", "map": [("a", "b")]}
    profiles = [Profile(7, 1, b"one", None), Profile(7, 1, None, told), Profile(8, 2, None, None)]
    profiles.append(Profile(9, -3, bytes(5000), told))
    for batch in range(60):
        active = chance.sample([f"t{number}" for number in range(300)], chance.choice((0, 1, 3, 10, 10, 300)))
        gone = chance.sample(sorted(model), min(len(model), chance.choice((0, 0, 2))))
        left = {target: left_behind(chance) for target in active}
        folder = Folder(str(tmp_path))
        folder.files = Hdfs()
        for is_last in (False, True):  # the first task ends before its commit, or after it
            with closing(States(folder, batch, 1, 1000 + batch, 0)) as states:
                assert set(states.index) == set(model) and states.clock == (999 + batch if batch else 0)
                for target in active:
                    *memory, held = states.read(target)
                    assert tuple(memory) == model.get(target, (None, []))
                    assert list(held.until()) == (profiles if target in model else [])
                    waiting = Waiting()
                    early = Profile(3, 4, b"too early", told)
                    for one in [early, *profiles]:
                        waiting.add(one)
                    assert list(waiting.until(6)) == [early]
                    states.write(target, *left[target], waiting)
                for target in gone:
                    del states.index[target]
                if is_last or batch % 2:
                    states.commit()
        model = {target: one for target, one in {**model, **left}.items() if target not in gone}
        used = sum(record.length for record in states.index.values())
        files = {int(path.name): path.stat().st_size for path in (tmp_path / "0-of-1").iterdir()}
        in_use = {record.batch for record in states.index.values()} | {batch}
        assert sum(files[number] for number in in_use) <= 2 * used + 100 * 300 * len(in_use)
        assert len(in_use) < 10 and len(files) < 20


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    with closing(States(Folder(str(tmp_path)), 0, 1, 1, 0)) as states:
        states.commit()
    file = tmp_path / "0-of-1" / "0"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="not a file of states"):
        States(Folder(str(tmp_path)), 1, 1, 1, 0)
