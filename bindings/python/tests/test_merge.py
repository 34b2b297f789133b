"""Merges: the windows of many targets, in any order, as one profile; against the naive reading."""

from __future__ import annotations

import io
import random

import pytest

import pprofdelta
from oracle import Reading, Samples

Pair = tuple[bytes, bytes]


def windows(looks: tuple[bytes, ...]) -> list[bytes]:
    """Those of a target; each is sent twice, as two attempts."""
    deltas = []
    with pprofdelta.Context() as context:
        for look in looks:
            for _ in range(2):
                context.abandon()
                deltas.append(context.window(look).delta)
            context.commit()
    return deltas


def added(*found: Samples) -> Samples:
    total: dict[object, tuple[int, ...]] = {}
    for samples in found:
        for key, values in samples.items():
            total[key] = tuple(a + b for a, b in zip(values, total.get(key, (0,) * len(values)), strict=True))
    return {key: values for key, values in total.items() if any(values)}


def test_what_a_fleet_counted_and_has_in_use(heap: Pair) -> None:
    fleet = [delta for _ in range(3) for delta in windows(heap)]
    want = added(*[Reading(heap[1]).nonzero] * 3)
    random.Random(1).shuffle(fleet)
    merged = pprofdelta.merge(fleet)
    assert Reading(merged).nonzero == want
    assert pprofdelta.merge(reversed(fleet)) == merged
    assert pprofdelta.merge(map(io.BytesIO, fleet)) == merged
    stamp = pprofdelta.check(merged).stamp
    assert (stamp.windows, stamp.targets, stamp.sequence) == (6, 3, 0)
    labels = {label for _, labels in Reading(pprofdelta.merge(fleet, target_label="host")).samples for label in labels}
    ids = {f"{pprofdelta.check(delta).stamp.id:016x}" for delta in fleet}
    assert {label[1] for label, _ in labels if label[0] == "host"} == ids and len(ids) == 3


def test_what_may_count_twice_is_refused(heap: Pair) -> None:
    one, two = windows(heap), windows(heap)
    for deltas in ((one[0], heap[0]), (pprofdelta.merge(one), one[0])):
        with pytest.raises(pprofdelta.MismatchError) as refused:
            pprofdelta.merge(deltas)
        assert refused.value.reason == pprofdelta.Reason.NO_TARGET
    with pprofdelta.Adder(merge=True) as adder:
        joins = [adder.add(delta) for delta in (*one, two[3])]
        assert [join.value for join in joins] == ["first", "again", "next", "again", "first"]
        with pytest.raises(pprofdelta.MismatchError) as refused:
            adder.add(one[1])
        assert refused.value.reason == pprofdelta.Reason.WINDOW_LATE
        assert pprofdelta.check(adder.finish()).stamp.windows == 3
    with pytest.raises(pprofdelta.MismatchError) as refused:
        pprofdelta.sum(one[0], two[2], force=True)  # its in-use values would be those of one
    assert refused.value.reason == pprofdelta.Reason.TWO_TARGETS
    for options in ({"target_label": "host"}, {"target_label": "", "merge": True}):
        with pytest.raises(pprofdelta.UsageError, match="target_label=.* merge=True"):
            pprofdelta.Adder(**options)


def test_a_tree_of_merges_is_the_flat_merge(heap: Pair) -> None:
    fleet = [windows(heap) for _ in range(4)]
    parts = [pprofdelta.merge(fleet[0] + fleet[1]), pprofdelta.merge(fleet[2])]
    inputs = [*parts, *fleet[3], parts[0]]  # an equal one counts once
    random.Random(2).shuffle(inputs)
    tree, flat = pprofdelta.merge(inputs, disjoint=True), pprofdelta.merge([one for target in fleet for one in target])
    assert Reading(tree).nonzero == Reading(flat).nonzero
    assert pprofdelta.check(tree).stamp == pprofdelta.check(flat).stamp
    assert pprofdelta.merge(reversed(inputs), disjoint=True) == tree
    for other in (fleet[1][0], pprofdelta.merge(fleet[1] + fleet[2])):
        with pytest.raises(pprofdelta.MismatchError, match="would count twice") as refused:
            pprofdelta.merge([parts[0], other], disjoint=True)
        assert refused.value.reason == pprofdelta.Reason.WINDOW_LATE
