"""A slow second implementation of what a delta is, over Google's protobuf.

It shares nothing with the library. A reading maps each sample to its values: the key is the sample's
stack, as addresses relative to their files or as lines, and its labels in any order.
"""

from __future__ import annotations

import gzip
from collections import Counter
from typing import Any

from profile_message import Profile

Values = tuple[int, ...]
Samples = dict[Any, Values]

COUNTERS = {"alloc_objects", "alloc_space", "contentions", "delay"}


def parse(data: bytes) -> Any:
    return Profile.FromString(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Reading:
    """The types and the samples of a profile."""

    def __init__(self, data: bytes) -> None:
        profile = self.profile = parse(data)
        self.strings = [text.decode() for text in profile.string_table]
        self.mappings = {one.id: one for one in profile.mapping}
        self.functions = {one.id: one for one in profile.function}
        self.places = {one.id: self._place(one) for one in profile.location}
        self.types = [(self.strings[t.type], self.strings[t.unit]) for t in profile.sample_type]
        self.samples: Samples = {}
        for sample in profile.sample:
            stack = tuple(self.places[number] for number in sample.location_id)
            key = (stack, frozenset(Counter(map(self._label, sample.label)).items()))
            old = self.samples.get(key, (0,) * len(self.types))
            self.samples[key] = tuple(a + b for a, b in zip(old, sample.value, strict=True))

    def _place(self, location: Any) -> Any:
        s = self.strings
        mapping = self.mappings.get(location.mapping_id)
        file = mapping and (s[mapping.build_id] or s[mapping.filename])
        if mapping and location.address and file:
            relative = location.address - mapping.memory_start + mapping.file_offset
            return (file, relative, location.is_folded)
        lines = tuple(
            (s[f.name], s[f.system_name], s[f.filename], f.start_line, line.line, line.column)
            for line in location.line
            for f in [self.functions[line.function_id]]
        )
        return (lines, location.address, location.is_folded)

    def _label(self, label: Any) -> Any:
        s = self.strings
        return (s[label.key], s[label.str], label.num, s[label.num_unit])

    @property
    def nonzero(self) -> Samples:
        return {key: values for key, values in self.samples.items() if any(values)}

    @property
    def is_counter(self) -> list[bool]:
        return [name in COUNTERS for name, _ in self.types]


def subtracted(prev: Reading, cur: Reading) -> Samples:
    """cur - prev for the counters and cur for the gauges, also for samples that vanished."""
    assert prev.types == cur.types
    zero = (0,) * len(cur.types)
    delta = {}
    for key in {**cur.samples, **prev.samples}:
        before, after = prev.samples.get(key, zero), cur.samples.get(key, zero)
        values = tuple(
            c - p if is_counter else c
            for c, p, is_counter in zip(after, before, cur.is_counter, strict=True)
        )
        if any(values):
            delta[key] = values
    return delta


def is_compact(profile: Any) -> bool:
    """Ids are dense from 1, no string is there twice, and everything is used (but the first mapping)."""
    dense = all(
        [one.id for one in table] == list(range(1, len(table) + 1))
        for table in (profile.mapping, profile.location, profile.function)
    )
    locations = {number for sample in profile.sample for number in sample.location_id}
    functions = {line.function_id for one in profile.location for line in one.line}
    mappings = {one.mapping_id for one in profile.location} - {0}
    return (
        dense
        and len(set(profile.string_table)) == len(profile.string_table)
        and locations == {one.id for one in profile.location}
        and functions == {one.id for one in profile.function}
        and mappings | {1} >= {one.id for one in profile.mapping}
    )
