"""Generated programs and their profiles, for hypothesis.

A world is a program: its mappings, functions, places and stacks. `encoded` writes a profile of it. The
ids, the order of the tables and of the samples, the load addresses and the repeated records of a
profile are drawn from a seed, so that two profiles of one world have nothing in common but its stacks.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from profile_message import Profile

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000

KINDS = (
    (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")),
    (("contentions", "count"), ("delay", "nanoseconds")),
    (("inuse_space", "bytes"), ("alloc_space", "bytes")),
)


@dataclass(frozen=True)
class World:
    types: tuple[tuple[str, str], ...]
    mappings: tuple[tuple[str, str], ...]  # file, build id
    functions: tuple[tuple[str, str, int], ...]  # name, file, start line
    # ("address", mapping or None, offset, is folded), or ("lines", (function, line)...)
    places: tuple[Any, ...]
    stacks: tuple[Any, ...]  # (places, labels): distinct


@dataclass(frozen=True)
class Look:
    """The values of a profile: one tuple for each stack of its world, or None."""

    values: tuple[tuple[int, ...] | None, ...]
    time: int
    seed: int


@st.composite
def worlds(draw: st.DrawFn) -> World:
    count = draw(st.integers(1, 5))
    mappings = tuple((f"/bin/file{n}", draw(st.sampled_from(("", f"build{n}")))) for n in range(count))
    functions = tuple((f"f{n}", f"/src/{n % 3}.c", n) for n in range(draw(st.integers(1, 6))))
    offsets = st.integers(0x10, 0xFFF0)
    address = st.tuples(st.just("address"), st.none() | st.integers(0, count - 1), offsets, st.booleans())
    line = st.tuples(st.integers(0, len(functions) - 1), st.integers(0, 9))
    lines = st.lists(line, min_size=1, max_size=3).map(lambda found: ("lines", *found))
    places = draw(st.lists(address | lines, min_size=1, max_size=12, unique=True))
    label = st.tuples(st.sampled_from(("thread", "bytes", "é")), st.text("ab", min_size=1, max_size=2)) | st.tuples(
        st.just("bytes"), st.integers(1, 2**40), st.sampled_from(("", "bytes"))
    )
    stack = st.tuples(
        st.lists(st.integers(0, len(places) - 1), min_size=1, max_size=6).map(tuple),
        st.lists(label, max_size=2, unique=True).map(lambda found: tuple(sorted(found, key=repr))),
    )
    stacks = draw(st.lists(stack, min_size=1, max_size=20, unique=True))
    return World(draw(st.sampled_from(KINDS)), mappings, functions, tuple(places), tuple(stacks))


@st.composite
def looks(draw: st.DrawFn, count: int, grows: bool = False) -> tuple[World, list[Look]]:
    """A world and some looks at it. If it grows, no counter goes backwards and no stack vanishes."""
    world = draw(worlds())
    found: list[Look] = []
    for n in range(count):
        values: list[tuple[int, ...] | None] = []
        for place in range(len(world.stacks)):
            before = found[-1].values[place] if found else None
            if not (grows and before) and draw(st.integers(0, 3)) == 0:
                values.append(None)
                continue
            drawn = draw(st.tuples(*[st.integers(0, 2**40)] * len(world.types)))
            if grows and before:
                drawn = tuple(
                    after + earlier if name in ("alloc_objects", "alloc_space", "contentions", "delay") else after
                    for after, earlier, (name, _) in zip(drawn, before, world.types, strict=True)
                )
            values.append(drawn)
        found.append(Look(tuple(values), START + n * SECOND, draw(st.integers(0, 2**32))))
    return world, found


class _Strings:
    def __init__(self, profile: Any, chance: random.Random) -> None:
        self.table = profile.string_table
        self.table.append(b"")
        self.table.extend(b"unused%d" % n for n in range(chance.randrange(3)))
        self.known: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = len(self.table)
            self.table.append(text.encode())
        return self.known[text]


def _ids(count: int, chance: random.Random) -> list[int]:
    return chance.sample(range(1, 4 * count + 2), count)


def encoded(world: World, look: Look) -> bytes:
    chance = random.Random(look.seed)
    profile = Profile(time_nanos=look.time)
    string = _Strings(profile, chance)
    for name, unit in world.types:
        profile.sample_type.add(type=string(name), unit=string(unit))
    starts = [0x10000 * (n + 1) + 0x1000000 * chance.randrange(1, 99) for n in range(len(world.mappings))]
    mapping_ids = _ids(len(world.mappings), chance)
    for (file, build_id), start, number in zip(world.mappings, starts, mapping_ids, strict=True):
        profile.mapping.add(
            id=number, memory_start=start, memory_limit=start + 0x10000,
            filename=string(file), build_id=string(build_id),
        )  # fmt: skip
    function_ids = _ids(len(world.functions), chance)
    order = list(zip(function_ids, world.functions, strict=True))
    chance.shuffle(order)
    for number, (name, file, line) in order:
        profile.function.add(id=number, name=string(name), filename=string(file), start_line=line)
    location_ids = _ids(len(world.places), chance)
    places = list(zip(location_ids, world.places, strict=True))
    chance.shuffle(places)
    for number, place in places:
        location = profile.location.add(id=number)
        if place[0] == "lines":
            for function, line in place[1:]:
                location.line.add(function_id=function_ids[function], line=line)
            continue
        _, mapping, offset, location.is_folded = place
        location.address = offset if mapping is None else starts[mapping] + offset
        location.mapping_id = 0 if mapping is None else mapping_ids[mapping]
    _add_samples(profile, world, look, location_ids, string, chance)
    data: bytes = profile.SerializeToString()
    return gzip.compress(data, 1) if chance.random() < 0.5 else data


def _add_samples(
    profile: Any, world: World, look: Look, location_ids: list[int], string: _Strings, chance: random.Random
) -> None:
    rows = [row for row in zip(world.stacks, look.values, strict=True) if row[1] is not None]
    chance.shuffle(rows)
    for (places, labels), values in rows:
        assert values is not None
        parts = [values]
        if chance.random() < 0.2:  # a sample in two records
            part = tuple(chance.randint(0, value) for value in values)
            parts = [part, tuple(v - p for v, p in zip(values, part, strict=True))]
        for part in parts:
            sample = profile.sample.add(location_id=[location_ids[n] for n in places], value=part)
            for label in chance.sample(labels, len(labels)):
                if len(label) == 2:
                    sample.label.add(key=string(label[0]), str=string(label[1]))
                else:
                    sample.label.add(key=string(label[0]), num=label[1], num_unit=string(label[2]))
