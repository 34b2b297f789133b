"""Properties of deltas, over generated programs, against the oracle."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pprofdelta
from oracle import Reading, is_compact, parse, subtracted
from worlds import Look, World, encoded, looks

Drawn = tuple[World, list[Look]]


def profiles(drawn: Drawn) -> list[bytes]:
    world, found = drawn
    return [encoded(world, look) for look in found]


@given(looks(2))
def test_a_delta_is_what_the_oracle_computes(drawn: Drawn) -> None:
    prev, cur = profiles(drawn)
    data = pprofdelta.delta(prev, cur, on_reset="negative", verify=True)
    delta = Reading(data)
    assert delta.samples == subtracted(Reading(prev), Reading(cur))
    assert is_compact(delta.profile)
    assert delta.profile.duration_nanos == drawn[1][1].time - drawn[1][0].time


@given(looks(2))
def test_the_report_has_the_sums_of_the_oracle(drawn: Drawn) -> None:
    prev, cur = profiles(drawn)
    report = pprofdelta.compare(prev, cur, on_reset="clamp").report
    before, after = Reading(prev), Reading(cur)
    assert report.samples_in == len(after.profile.sample)
    assert [(t.type, t.unit) for t in report.types] == after.types
    for column, total in enumerate(report.types):
        assert total.is_counter is after.is_counter[column]
        assert total.cur == sum(values[column] for values in after.samples.values())
        if total.is_counter:
            assert total.prev == sum(values[column] for values in before.samples.values())
            assert total.prev + total.delta - total.clamped - total.vanished == total.cur


@given(looks(1), st.integers(0, 2**32))
def test_a_profile_minus_itself_has_no_counter(drawn: Drawn, seed: int) -> None:
    world, [look] = drawn
    one = encoded(world, look)
    other = encoded(world, Look(look.values, look.time, seed))
    window = pprofdelta.compare(one, other)
    assert window.report.is_same
    assert all(t.delta == 0 for t in window.report.types if t.is_counter)


@given(looks(4, grows=True))
def test_the_sum_of_all_windows_is_the_last_profile(drawn: Drawn) -> None:
    found = profiles(drawn)
    context = pprofdelta.Context(on_reset="clamp", verify=True)
    deltas = []
    for profile in found:
        deltas.append(context.window(profile).delta)
        context.commit()
    assert Reading(pprofdelta.sum(*deltas)).nonzero == Reading(found[-1]).nonzero
    assert Reading(pprofdelta.sum(found[0], *deltas[1:])).nonzero == Reading(found[-1]).nonzero


@given(looks(3, grows=True))
def test_after_an_abandoned_window_the_next_one_covers_both(drawn: Drawn) -> None:
    first, lost, last = profiles(drawn)
    context = pprofdelta.Context(on_reset="clamp")
    context.base(first)
    context.window(lost)
    context.abandon()
    window = context.window(last)
    assert (window.report.sequence, window.report.attempt) == (2, 2)
    assert Reading(window.delta).samples == subtracted(Reading(first), Reading(last))


@given(looks(3), st.sampled_from(("auto", "clamp")))
def test_a_context_that_was_saved_and_loaded_goes_on_with_the_same_bytes(drawn: Drawn, on_reset: str) -> None:
    options = pprofdelta.Options(on_reset=pprofdelta.OnReset(on_reset))
    kept = pprofdelta.Context(**options)
    state = kept.save()
    for profile in profiles(drawn):
        loaded = pprofdelta.Context.load(state, **options)
        assert loaded.window(profile) == kept.window(profile)
        kept.commit()
        loaded.commit()
        state = kept.save()
        assert loaded.save() == state
        assert loaded.describe() == kept.describe()


@given(looks(2), st.integers(0, 2**32))
def test_ids_orders_and_load_addresses_do_not_matter(drawn: Drawn, seed: int) -> None:
    world, [one, two] = drawn
    prev = encoded(world, one)
    again = encoded(world, Look(two.values, two.time, seed))
    first = Reading(pprofdelta.delta(prev, encoded(world, two), on_reset="clamp"))
    assert Reading(pprofdelta.delta(prev, again, on_reset="clamp")).samples == first.samples


@given(looks(1), st.data())
@settings(max_examples=60)
def test_every_prefix_is_refused_or_whole(drawn: Drawn, data: st.DataObject) -> None:
    [profile] = profiles(drawn)
    whole = gzip.decompress(profile) if profile[:2] == b"\x1f\x8b" else profile
    for source in (profile, whole):
        cut = source[: data.draw(st.integers(0, len(source) - 1))]
        try:
            census = pprofdelta.check(cut)
        except pprofdelta.Error as error:
            assert error.status in (
                pprofdelta.Status.INFLATE,
                pprofdelta.Status.WIRE,
                pprofdelta.Status.PROFILE,
                pprofdelta.Status.MISMATCH,
            )
        else:
            assert source is whole and census.samples == len(parse(cut).sample)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_but_an_error(data: bytes) -> None:
    for call in (pprofdelta.check, pprofdelta.Context.load, pprofdelta.sum):
        with pytest.raises(pprofdelta.Error) as raised:
            call(data)
        assert raised.value.status is not pprofdelta.Status.USAGE
        assert str(raised.value)
