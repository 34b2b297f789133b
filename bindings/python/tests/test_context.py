"""Contexts: windows, commit and abandon, states, closing; and sums."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import tracemalloc
import weakref

import pytest

import pprofdelta
from conftest import load, resident
from oracle import Reading, subtracted

Pair = tuple[bytes, bytes]


def test_windows_of_a_series(heap: Pair) -> None:
    with pprofdelta.Context() as context:
        first = context.window(heap[0])
        assert not first.report.had_base and first.report.sequence == 1
        assert Reading(first.delta).nonzero == Reading(heap[0]).nonzero
        context.commit()
        second = context.window(heap[1])
        assert second.report.had_base and (second.report.sequence, second.report.attempt) == (2, 1)
        assert Reading(second.delta).samples == subtracted(Reading(heap[0]), Reading(heap[1]))
        assert second.report.output_len == len(second.delta)


def test_first_zero(heap: Pair) -> None:
    window = pprofdelta.Context(first="zero").window(heap[0])
    assert all(t.delta == 0 for t in window.report.types if t.is_counter)


def test_without_a_sequence(heap: Pair) -> None:
    context = pprofdelta.Context(sequence=False)
    window = context.window(heap[0])
    assert (window.report.sequence, window.report.attempt) == (0, 0)


def test_a_pending_window_is_committed_or_abandoned_first(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.window(heap[0])
    with pytest.raises(pprofdelta.UsageError, match=r"commit\(\) or abandon\(\) first") as raised:
        context.window(heap[1])
    assert raised.value.status is pprofdelta.Status.USAGE
    context.abandon()
    assert context.window(heap[1]).report.attempt == 2
    context.commit()
    context.commit()  # nothing is pending: nothing happens
    context.abandon()
    assert context.describe().sequence == 1


def test_a_with_statement_commits_or_abandons_a_window(heap: Pair) -> None:
    context = pprofdelta.Context()
    with pytest.raises(KeyboardInterrupt), context.window(heap[0]) as lost:
        raise KeyboardInterrupt
    assert lost.report.attempt == 1 and context.describe().sequence == 0
    with context.window(heap[0]) as window:
        assert window.report.attempt == 2
    assert context.describe().sequence == 1
    with pytest.raises(pprofdelta.UsageError, match="not pending"):
        window.__enter__()
    for not_pending in (pprofdelta.compare(*heap), copy.copy(context.window(heap[1]))):
        with pytest.raises(pprofdelta.UsageError, match="no context"), not_pending:
            pass
    assert context.describe().attempts == 1


def test_a_with_statement_ends_no_other_window(heap: Pair) -> None:
    context = pprofdelta.Context()
    with context.window(heap[0]):
        context.abandon()
    assert (context.describe().sequence, context.describe().attempts) == (0, 1)
    with context.window(heap[0]):
        context.commit()
        other = context.window(heap[1])
    memory = context.describe()
    assert (memory.sequence, memory.open_sequence) == (1, other.report.sequence)
    with pytest.raises(ZeroDivisionError), other:
        context.close()
        raise ZeroDivisionError


def test_a_failed_call_leaves_the_context_as_it_was(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    state = context.save()
    for call in (context.window, context.base, context.check):
        with pytest.raises(pprofdelta.InvalidProfileError):
            call(heap[1][:-9])
        assert context.save() == state
    assert Reading(context.window(heap[1]).delta).samples == subtracted(Reading(heap[0]), Reading(heap[1]))


def test_a_clock_that_is_set_back(heap: Pair) -> None:
    """An hour back, then a scrape a minute: none fails, the first says so, and the windows join."""
    minute = 60 * 10**9
    message = Reading(heap[1]).profile
    message.duration_nanos = 0

    def scrape(n: int) -> bytes:
        message.time_nanos = start + n * minute
        for sample in message.sample:
            sample.value[0] += 1
        return bytes(message.SerializeToString())

    start = message.time_nanos
    context = pprofdelta.Context()
    deltas = [context.window(scrape(0)).delta]
    context.commit()
    late = scrape(30 - 60)
    for n in range(1, 71):
        last = scrape(n - 60)
        window = context.window(last)
        context.commit()
        deltas.append(window.delta)
        assert window.report.clock_set_back == (n == 1)
        assert window.report.from_nanos <= window.report.to_nanos
    assert Reading(pprofdelta.sum(*deltas)).nonzero == Reading(last).nonzero
    state = context.save()
    with pytest.raises(pprofdelta.OlderError) as raised:
        context.window(late)
    assert raised.value.status is pprofdelta.Status.OLDER
    assert context.save() == state


def test_states(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    context.window(heap[1])
    pending = context.save()
    assert pprofdelta.Context.load(pending).describe().attempts == 1
    with pytest.raises(pprofdelta.StateError):
        pprofdelta.Context.load(pending + b"\0")
    context.commit()
    arrived = pprofdelta.Context.load(pending[:-1] + b"\1")  # the last attempt has arrived
    assert arrived.describe() == context.describe() and arrived.save() == context.save()
    loaded = pprofdelta.Context.load(memoryview(context.save()), compression="none")
    memory = loaded.describe()
    assert 0 < memory.bytes < 1 << 20
    assert memory == context.describe()
    assert memory.has_base and memory.sequence == 2 and memory.to_nanos == pprofdelta.check(heap[1]).time_nanos
    assert loaded.window(heap[1]).report.is_same


def test_a_damaged_state_is_refused(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    state = bytearray(context.save())
    state[len(state) // 2] ^= 1
    for damaged in (state, state[:-1], b"", heap[0]):
        with pytest.raises(pprofdelta.StateError) as raised:
            pprofdelta.Context.load(damaged)
        assert raised.value.stage == "state"


def test_the_memory_of_an_empty_context() -> None:
    memory = pprofdelta.Context().describe()
    assert not memory.has_base and memory.types == () and memory.build_id == ""


def test_a_restart_is_in_the_memory(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    context.set_started(pprofdelta.check(heap[0]).time_nanos + 1)
    assert context.window(heap[1]).report.restart is pprofdelta.Restart.STARTED
    context.commit()
    assert context.describe().restart is pprofdelta.Restart.STARTED
    context.set_started(None)
    assert context.window(heap[1]).report.restart is pprofdelta.Restart.NONE


def test_a_closed_context_is_refused(heap: Pair) -> None:
    with pprofdelta.Context() as context:
        context.window(heap[0])
    context.close()  # again: nothing happens
    for call in (context.commit, context.abandon, context.save, context.describe):
        with pytest.raises(pprofdelta.UsageError, match="closed"):
            call()
    with pytest.raises(pprofdelta.UsageError, match="closed"):
        context.window(heap[1])


def test_results_are_frozen_and_can_be_copied(heap: Pair) -> None:
    window = pprofdelta.compare(*heap)
    assert pickle.loads(pickle.dumps(window)) == window == copy.deepcopy(window)
    with pytest.raises(dataclasses.FrozenInstanceError):
        window.report.sequence = 7  # type: ignore[misc]
    assert dataclasses.asdict(window.report)["types"][0]["type"] == "alloc_objects"


@pytest.mark.parametrize("kind", [pprofdelta.Context, pprofdelta.Adder])
def test_an_object_of_the_library_is_never_copied(kind: type[pprofdelta.Context] | type[pprofdelta.Adder]) -> None:
    thing = kind()
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=f"{kind.__name__} objects cannot be copied or pickled: "):
            call(thing)


def test_weak_references(heap: Pair) -> None:
    context = pprofdelta.Context()
    things = [context, context.window(heap[0]), pprofdelta.Adder(), pprofdelta.table(heap[0])]
    references = [weakref.ref(thing) for thing in things]
    assert [reference() for reference in references] == things
    del context
    things.clear()
    assert [reference() for reference in references] == [None] * 4


def test_no_memory_is_left_behind(heap: Pair) -> None:
    """The Python objects of a window are freed, and the memory of a thousand contexts is not kept."""

    def work(times: int) -> None:
        for _ in range(times):
            context = pprofdelta.Context()
            context.base(heap[0])
            context.window(heap[1])
            with pytest.raises(pprofdelta.Error):
                context.check(b"\xff")
            pprofdelta.sum(heap[0])

    work(20)
    gc.collect()
    tracemalloc.start()
    before, before_resident = tracemalloc.take_snapshot(), resident()
    work(300)
    gc.collect()
    after, after_resident = tracemalloc.take_snapshot(), resident()
    tracemalloc.stop()
    grown = sum(max(0, one.size_diff) for one in after.compare_to(before, "filename") if "pprofdelta" in str(one))
    assert grown < 20_000
    # Each context has several hundred kilobytes.
    assert after_resident - before_resident < 40 << 20


# ---- sums -------------------------------------------------------------------------------------------


def test_an_adder_says_how_each_profile_joined(heap: Pair) -> None:
    context = pprofdelta.Context()
    first = context.window(heap[0]).delta
    context.commit()
    lost = context.window(heap[1]).delta
    context.abandon()
    again = context.window(heap[1]).delta
    with pprofdelta.Adder() as adder:
        joins = [adder.add(delta) for delta in (first, lost, again, lost)]
        assert joins == [
            pprofdelta.Join.FIRST,
            pprofdelta.Join.NEXT,
            pprofdelta.Join.AGAIN,
            pprofdelta.Join.STALE,
        ]
        total = adder.finish()
        with pytest.raises(pprofdelta.UsageError, match="finished"):
            adder.add(first)
    assert Reading(total).nonzero == Reading(heap[1]).nonzero


def test_a_missing_window_is_an_error(heap: Pair) -> None:
    context = pprofdelta.Context()
    deltas = []
    for profile in (*heap, heap[1]):
        deltas.append(context.window(profile).delta)
        context.commit()
    adder = pprofdelta.Adder()
    adder.add(deltas[0])
    with pytest.raises(pprofdelta.MismatchError):
        adder.add(deltas[2])
    adder.add(deltas[1])  # the sum is as before
    assert Reading(adder.finish()).nonzero == Reading(heap[1]).nonzero


def test_the_options_of_a_sum(heap: Pair) -> None:
    delta = pprofdelta.delta(*heap)
    plain = pprofdelta.sum(heap[0], delta, compression="none")
    assert pprofdelta.check(plain).format == "plain"
    assert pprofdelta.sum(heap[0], heap[0], force=True)
    with pytest.raises(TypeError, match="on_reset"):
        pprofdelta.sum(heap[0], delta, on_reset="auto")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        pprofdelta.sum()  # type: ignore[call-arg]


def test_a_sum_that_does_not_fit_is_closed(heap: Pair) -> None:
    adder = pprofdelta.Adder(max_memory=100_000)
    with pytest.raises(pprofdelta.LimitError):
        adder.add(heap[0])
    with pytest.raises(pprofdelta.UsageError):
        adder.add(heap[0])


def test_real_windows_of_every_kind() -> None:
    for kind in ("heap", "mutex", "block"):
        one, two = (load(f"{kind}.{number}.pb.gz") for number in (1, 2))
        assert Reading(pprofdelta.sum(one, pprofdelta.delta(one, two))).nonzero == Reading(two).nonzero
