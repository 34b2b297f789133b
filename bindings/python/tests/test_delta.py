"""Deltas of two profiles: the real ones, the options, the kinds of input, the errors."""

from __future__ import annotations

import array
import ctypes
import gzip
import io
import json
import mmap
import pickle
from pathlib import Path
from typing import Any

import pytest

import pprofdelta
from conftest import HOSTILE, VALID, load
from oracle import Reading, is_compact, subtracted

Pair = tuple[bytes, bytes]


def test_a_real_pair_is_what_the_oracle_computes(pair: Pair) -> None:
    delta = Reading(pprofdelta.delta(*pair, on_reset="negative", verify=True))
    assert delta.samples == subtracted(Reading(pair[0]), Reading(pair[1]))
    assert delta.samples and is_compact(delta.profile)


def test_a_real_pair_adds_up_again(pair: Pair) -> None:
    delta = pprofdelta.delta(*pair)
    assert Reading(pprofdelta.sum(pair[0], delta)).nonzero == Reading(pair[1]).nonzero


# ---- input ------------------------------------------------------------------------------------------


def buffers(data: bytes) -> dict[str, Any]:
    mapped = mmap.mmap(-1, len(data))
    mapped.write(data)
    return {
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "part of a memoryview": memoryview(b"xx" + data + b"yyy")[2:-3],
        "mmap": mapped,
        "array": array.array("B", data),
        "ctypes": (ctypes.c_char * len(data)).from_buffer_copy(data),
    }


def test_any_object_with_a_buffer_is_an_input(heap: Pair) -> None:
    want = pprofdelta.delta(*heap)
    for prev, cur in zip(buffers(heap[0]).values(), buffers(heap[1]).values(), strict=True):
        assert pprofdelta.delta(prev, cur) == want


def test_an_input_is_released_after_the_call(heap: Pair) -> None:
    prev, cur = bytearray(heap[0]), bytearray(heap[1])
    pprofdelta.delta(prev, cur)
    with pytest.raises(pprofdelta.Error):
        pprofdelta.delta(prev, cur[:-1])
    prev += b"x"  # BufferError if a view of it were left
    cur += b"x"


@pytest.mark.parametrize("wrong", ["text", None, 7, [1, 2], memoryview(bytes(64))[::2]])
def test_an_object_without_a_contiguous_buffer_is_refused(heap: Pair, wrong: Any) -> None:
    with pytest.raises((TypeError, BufferError)):
        pprofdelta.delta(heap[0], wrong)
    with pytest.raises((TypeError, BufferError)):
        pprofdelta.delta(wrong, heap[1])
    context = pprofdelta.Context()
    for method in (context.window, context.base, context.check, pprofdelta.Context.load, pprofdelta.Adder().add):
        with pytest.raises((TypeError, BufferError)):
            method(wrong)
    context.window(heap[0])  # the context can still be used


def test_an_input_may_be_a_file(heap: Pair, tmp_path: Path) -> None:
    prev, cur = tmp_path / "prev", tmp_path / "cur"
    for path, profile in zip((prev, cur), heap, strict=True):
        path.write_bytes(profile)
    want = pprofdelta.delta(*heap)
    assert pprofdelta.delta(prev, cur) == want
    with open(prev, "rb") as first, gzip.open(cur) as second:
        assert pprofdelta.delta(first, second) == want
    assert pprofdelta.delta(io.BytesIO(heap[0]), io.BytesIO(heap[1])) == want
    with open(prev, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        mapped.seek(9)  # its bytes are its buffer
        assert pprofdelta.delta(mapped, cur) == want
    assert pprofdelta.check(cur) == pprofdelta.check(heap[1])
    assert list(map(list, pprofdelta.table(cur))) == list(map(list, pprofdelta.table(heap[1])))
    context = pprofdelta.Context()
    with open(prev, "rb") as file, context.window(file):
        pass
    state = tmp_path / "state"
    state.write_bytes(context.save())
    assert pprofdelta.Context.load(state).window(cur).report == context.window(cur).report
    assert pprofdelta.sum(prev, io.BytesIO(want)) == pprofdelta.sum(heap[0], want)


def test_a_file_that_cannot_be_read(heap: Pair, tmp_path: Path) -> None:
    class Broken:
        def read(self) -> bytes:
            raise OSError("the disk is gone")

    (tmp_path / "text").write_text("text")
    context = pprofdelta.Context()
    for method in (context.window, context.base, context.check, pprofdelta.check, pprofdelta.table, pprofdelta.Adder().add):
        with pytest.raises(FileNotFoundError, match="nothing"):
            method(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError):
            method(tmp_path)
        with open(tmp_path / "text") as file, pytest.raises(TypeError, match='"rb"'):
            method(file)  # type: ignore[arg-type]
        with pytest.raises(OSError, match="the disk is gone"):
            method(Broken())
        with pytest.raises(TypeError, match="pathlib.Path.* not <class 'str'>"):
            method("heap.pb.gz")  # type: ignore[arg-type]
        with pytest.raises(pprofdelta.InvalidProfileError):
            method(tmp_path / "text")
    context.window(heap[0])  # the context can still be used


# ---- options ----------------------------------------------------------------------------------------


def test_compression(heap: Pair) -> None:
    plain = pprofdelta.delta(*heap, compression="none")
    packed = pprofdelta.delta(*heap, compression=pprofdelta.Compression.GZIP)
    assert gzip.decompress(packed) == plain
    assert len(pprofdelta.delta(*heap, level=9)) < len(pprofdelta.delta(*heap, level=1))
    zstd = pprofdelta.delta(*heap, compression="zstd")
    assert zstd[:4] == b"\x28\xb5\x2f\xfd" and pprofdelta.check(zstd).format == "zstd"


def test_otlp(heap: Pair) -> None:
    request = pprofdelta.delta(*heap, format="otlp", resource={"service.name": "shop"}, compression="none")
    assert b"service.name" in request and b"shop" in request
    census, of_pprof = pprofdelta.check(request), pprofdelta.check(pprofdelta.delta(*heap))
    assert census.samples == of_pprof.samples and census.types == of_pprof.types
    series = heap[0], pprofdelta.delta(*heap)
    total = pprofdelta.sum(*series, format=pprofdelta.Format.OTLP, resource={"service.name": "shop"})
    assert pprofdelta.check(total).samples == pprofdelta.check(pprofdelta.sum(*series)).samples
    assert pprofdelta.delta(heap[0], total) == pprofdelta.delta(heap[0], pprofdelta.sum(*series))
    assert b"shop" in pprofdelta.delta(heap[0], total, format="otlp", compression="none")


@pytest.mark.parametrize("format", ["otlp", "otlp-parca", "otlp-plain"])
@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
def test_a_request_without_samples_is_empty(format: Any, compression: Any) -> None:
    mutex, options = load("mutex.1.pb.gz"), pprofdelta.SumOptions(format=format, compression=compression)
    context = pprofdelta.Context(first="zero", **options)
    with context.window(mutex) as window:
        assert window.delta == b"" and window.report.output_len == 0 and window.report.samples_in > 0
    assert pprofdelta.delta(mutex, mutex, **options) == b""
    later = load("mutex.2.pb.gz")
    with context.window(later) as window:
        delta = pprofdelta.check(pprofdelta.delta(mutex, later))
        assert pprofdelta.check(window.delta).samples == delta.samples and window.report.attempt == 1
    full = pprofdelta.Context(**options).window(mutex)
    assert pprofdelta.check(full.delta).samples == full.report.samples_in


def test_dialects_of_otlp_differ(heap: Pair) -> None:
    formats: list[Any] = [*map(str, pprofdelta.Format)]
    assert formats == ["pprof", "otlp", "otlp-parca", "otlp-plain", "tables"]
    assert len({pprofdelta.delta(*heap, format=one, compression="none") for one in formats[:4]}) == 4
    for one in formats[1:4]:
        resource = {"service.name": "shop"}
        assert b"shop" in pprofdelta.delta(*heap, format=one, resource=resource, compression="none")


def test_counters_and_gauges(heap: Pair) -> None:
    report = pprofdelta.compare(*heap, counters=["inuse_space/bytes"], gauges=iter(["alloc_objects"])).report
    assert {t.type: t.is_counter for t in report.types} == {
        "alloc_objects": False,
        "alloc_space": True,
        "inuse_objects": False,
        "inuse_space": True,
    }
    with pytest.raises(pprofdelta.MismatchError, match="nosuch"):
        pprofdelta.delta(*heap, counters=["nosuch"])


def test_stamp_and_force(heap: Pair) -> None:
    delta = pprofdelta.delta(*heap)
    stamp = pprofdelta.check(delta).stamp
    assert stamp.is_delta and stamp.to_nanos - stamp.from_nanos == 5_023_193_959
    assert not pprofdelta.check(pprofdelta.delta(*heap, stamp=False)).is_stamped
    with pytest.raises(pprofdelta.NotCumulativeError) as raised:
        pprofdelta.delta(heap[0], delta)
    assert raised.value.status is pprofdelta.Status.STAMPED and not raised.value.is_prev
    assert pprofdelta.delta(heap[0], delta, force=True)


def test_on_reset(heap: Pair) -> None:
    def swapped(profile: bytes, time: int) -> bytes:
        message = Reading(profile).profile
        message.time_nanos = time
        return bytes(message.SerializeToString())

    newer, older = swapped(heap[1], 1), swapped(heap[0], 2)
    auto = pprofdelta.compare(newer, older).report
    assert auto.restart is pprofdelta.Restart.MASS
    assert pprofdelta.compare(newer, older, on_reset="restart").report.restart is not pprofdelta.Restart.NONE
    assert pprofdelta.compare(newer, older, on_reset="clamp").report.clamped > 0
    negative = pprofdelta.compare(newer, older, on_reset=pprofdelta.OnReset.NEGATIVE).report
    assert negative.types[0].delta < 0
    with pytest.raises(pprofdelta.ResetError) as raised:
        pprofdelta.delta(newer, older, on_reset="fail")
    assert raised.value.status is pprofdelta.Status.RESET


def test_started(heap: Pair) -> None:
    between = pprofdelta.check(heap[0]).time_nanos + 1
    assert pprofdelta.compare(*heap, started=between).report.restart is pprofdelta.Restart.STARTED
    assert pprofdelta.compare(*heap, started=1).report.restart is pprofdelta.Restart.NONE


def test_default_counter(heap: Pair) -> None:
    def default(data: bytes) -> str:
        reading = Reading(data)
        return str(reading.strings[reading.profile.default_sample_type])

    message = Reading(heap[1]).profile
    message.default_sample_type = list(message.string_table).index(b"inuse_space")
    cur = message.SerializeToString()
    assert default(pprofdelta.delta(heap[0], cur)) == "inuse_space"
    assert default(pprofdelta.delta(heap[0], cur, default_counter=True)) == "alloc_space"


def test_max_memory(heap: Pair) -> None:
    with pytest.raises(pprofdelta.LimitError) as raised:
        pprofdelta.delta(*heap, max_memory=20_000)
    assert raised.value.status is pprofdelta.Status.LIMIT
    assert pprofdelta.delta(*heap, max_memory=8 << 20) == pprofdelta.delta(*heap)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"compress": "gzip"}, TypeError, "compress"),
        ({"compression": "brotli"}, pprofdelta.UsageError, "compression='brotli': .* 'gzip', 'zstd', 'none'"),
        ({"compression": None}, TypeError, "compression=None"),
        ({"on_reset": "never"}, pprofdelta.UsageError, "on_reset=.*'auto', 'restart', 'clamp', 'negative', 'fail'"),
        ({"first": 1}, TypeError, "first=1: .*'full', 'zero'"),
        ({"level": 10}, pprofdelta.UsageError, "level=10: .* 0 to 9"),
        ({"level": "9"}, TypeError, "level='9'"),
        ({"level": 2**40}, pprofdelta.UsageError, "level=1099511627776"),
        ({"max_memory": -1}, pprofdelta.UsageError, "max_memory=-1: .* a number of bytes"),
        ({"max_memory": 2**64}, pprofdelta.UsageError, "max_memory=18446744073709551616"),
        ({"max_memory": "1"}, TypeError, "max_memory='1'"),
        ({"max_memory": 1.5}, TypeError, "max_memory=1.5"),
        ({"counters": "alloc_space"}, TypeError, "counters='alloc_space': .* a list of types"),
        ({"counters": [b"alloc_space"]}, TypeError, "counters=.b'alloc_space'.: .* a list of types"),
        ({"counters": [1]}, TypeError, r"counters=\[1\]"),
        ({"gauges": 7}, TypeError, "gauges=7"),
        ({"counters": ["a\0b"]}, pprofdelta.UsageError, "counters=.* NUL"),
        ({"gauges": ["\ud800"]}, pprofdelta.UsageError, "gauges=.* surrogates"),
        ({"counters": ["x"]}, pprofdelta.MismatchError, 'no value type is named "x"'),
        ({"format": "OTLP"}, pprofdelta.UsageError, "format='OTLP': .* 'pprof', 'otlp', 'otlp-parca', 'otlp-plain', 'tables'"),
        ({"resource": {"a": "b"}}, pprofdelta.UsageError, "resource: .*format='otlp'"),
        ({"format": "otlp", "resource": {"": "b"}}, pprofdelta.UsageError, "resource=.*a key is empty"),
        ({"format": "otlp", "resource": {"a": "b\0"}}, pprofdelta.UsageError, "resource=.* NUL"),
        ({"resource": {"a": 1}}, TypeError, "resource={'a': 1}"),
        ({"format": "otlp", "resource": "a=b"}, TypeError, "resource='a=b'"),
        ({"force": "no"}, TypeError, "force='no'"),
        ({"stamp": 1}, TypeError, "stamp=1"),
        ({"started": -1}, pprofdelta.UsageError, "started=-1"),
        ({"started": 2**63}, pprofdelta.UsageError, "started=9223372036854775808"),
        ({"started": "now"}, TypeError, "started='now'"),
    ],
)
def test_a_wrong_option_is_refused(heap: Pair, options: Any, error: type[Exception], message: str) -> None:
    """A wrong type is a TypeError, and a wrong value a ValueError. Both name the option."""
    assert issubclass(pprofdelta.UsageError, ValueError)
    with pytest.raises(error, match=message):
        pprofdelta.delta(*heap, **options)


def test_an_integer_may_be_of_another_type(heap: Pair) -> None:
    numpy = pytest.importorskip("numpy")
    level, memory = numpy.int64(9), numpy.uint64(8 << 20)
    assert pprofdelta.delta(*heap, level=level, max_memory=memory) == pprofdelta.delta(*heap, level=9)


# ---- errors -----------------------------------------------------------------------------------------


def test_every_hostile_file_is_refused_as_expected() -> None:
    expected = json.loads((HOSTILE / "expected.json").read_text())
    refused = 0
    for path in sorted(HOSTILE.iterdir()):
        if path.name == "expected.json" or path.is_dir():
            continue
        try:
            pprofdelta.check(path.read_bytes())
        except pprofdelta.Error as error:
            refused += 1
            assert error.status is not pprofdelta.Status.USAGE, path
            assert error.text and error.stage, path
            assert pickle.loads(pickle.dumps(error)).args == error.args
    assert refused > len(expected) // 2


def test_an_error_has_the_position() -> None:
    message = Reading(load("heap.1.pb.gz")).profile
    message.sample[12].location_id[1] = 99_999
    data = message.SerializeToString()
    with pytest.raises(pprofdelta.InvalidProfileError) as raised:
        pprofdelta.delta(data, data)
    error = raised.value
    assert error.is_prev
    assert (error.status, error.stage) == (pprofdelta.Status.PROFILE, "profile")
    assert (error.field, error.element) == ("sample.location_id", 12)
    assert error.offset is not None and data[error.offset :].startswith(b"\x9f\x8d\x06")  # 99,999
    assert str(error) == (
        f"prev: sample[12].location_id: {error.text} (at byte {error.offset} of the uncompressed file)"
    )
    assert isinstance(error, pprofdelta.Error) and "99999" in error.text.replace(",", "")


def test_an_error_without_a_position_has_none() -> None:
    with pytest.raises(pprofdelta.InvalidProfileError) as raised:
        pprofdelta.check(b"<html>")
    error = raised.value
    assert (error.element, error.offset, error.field, error.is_prev) == (None, None, "", False)
    assert "HTML" in str(error)


def test_profiles_in_the_wrong_order(heap: Pair) -> None:
    with pytest.raises(pprofdelta.MismatchError, match="swapped"):
        pprofdelta.delta(heap[1], heap[0])


def test_text_that_is_not_utf8_is_shown_as_escapes(heap: Pair) -> None:
    message = Reading(heap[1]).profile
    message.string_table[message.mapping[0].build_id] = b"\xff\xfe id"
    census = pprofdelta.check(message.SerializeToString())
    assert census.build_id == "\\xff\\xfe id"


def test_sums_of_more_than_64_bits(heap: Pair) -> None:
    message = Reading(heap[1]).profile
    for sample in message.sample:
        sample.value[0] = 2**60
    profile = message.SerializeToString()
    context = pprofdelta.Context()
    assert context.window(profile).report.types[0].cur == 2**60 * len(message.sample) > 2**64


def test_check() -> None:
    for path in sorted(VALID.glob("*.pb.gz")):
        data = path.read_bytes()
        census = pprofdelta.check(data)
        reading = Reading(data)
        assert census.format == "gzip"
        assert (census.samples, census.types) == (len(reading.profile.sample), len(reading.types))
        assert census.locations == len(reading.profile.location) == census.by_address + census.by_lines
        assert census.binary == reading.strings[reading.profile.mapping[0].filename]
        assert census.inflated_len == len(gzip.decompress(data))


def test_the_input_may_be_a_file_in_memory(tmp_path: Path, heap: Pair) -> None:
    path = tmp_path / "cur"
    path.write_bytes(heap[1])
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert pprofdelta.delta(heap[0], mapped) == pprofdelta.delta(*heap)
