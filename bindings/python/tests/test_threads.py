"""Threads, processes and interpreters. Nothing here measures time; bench/overhead.py does."""

from __future__ import annotations

import gzip
import mmap
import os
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pprofdelta

Pair = tuple[bytes, bytes]
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_contexts_in_many_threads_agree(heap: Pair) -> None:
    def work(_: int) -> tuple[bytes, tuple[pprofdelta.TypeReport, ...]]:
        context = pprofdelta.Context(stamp=False)  # a stamp has the id of its context
        context.base(heap[0])
        delta = context.window(heap[1]).delta
        context.commit()
        return delta, context.describe().types

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(200)))) == 1


class Calling:
    """A buffer that calls a function when it is taken: in the middle of a call on a context."""

    def __init__(self, data: bytes, function: object) -> None:
        self.data, self.function = data, function

    def __buffer__(self, flags: int) -> memoryview:
        self.function()  # type: ignore[operator]
        return memoryview(self.data)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ is new in Python 3.12")
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_second_call_at_once_is_refused(heap: Pair, in_thread: bool) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    raised: list[pprofdelta.UsageError] = []

    def intrude() -> None:
        for call in (context.commit, context.save, context.close, lambda: context.window(heap[1])):
            with pytest.raises(pprofdelta.UsageError, match="another call is using this object") as caught:
                call()
            raised.append(caught.value)

    def function() -> None:
        if not in_thread:
            return intrude()
        thread = threading.Thread(target=intrude)
        thread.start()
        return thread.join()

    window = context.window(Calling(heap[1], function))
    assert len(raised) == 4 and window.report.sequence == 2
    context.commit()


def in_threads(function: Callable[[], int]) -> int:
    """The sum of what 8 threads return that call the function at once."""
    barrier = threading.Barrier(8)

    def work(_: int) -> int:
        barrier.wait()
        return function()

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(work, range(8)))


def test_threads_that_share_a_context_make_one_call_at_a_time(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    want = context.check(heap[1])

    def work() -> int:
        windows = 0
        for n in range(150):
            try:
                if n % 3 == 0:
                    windows += context.window(heap[1]).report.matched > 0
                elif n % 3 == 1:
                    context.commit()
                else:
                    assert context.check(heap[1]) == want
            except pprofdelta.UsageError as error:
                assert re.search("another call is using this object|is pending|is under way|a window was written", str(error))
        return windows

    windows = in_threads(work)
    context.commit()
    assert 0 < windows == context.describe().sequence - 1

    def close() -> int:
        try:
            context.close()
        except pprofdelta.UsageError as error:
            assert "another call is using this object" in str(error)
        return 1

    assert in_threads(close) == 8
    with pytest.raises(pprofdelta.UsageError, match="closed"):
        context.commit()


def test_threads_that_share_an_adder_get_one_sum(heap: Pair) -> None:
    adder = pprofdelta.Adder(stamp=False)
    adder.add(heap[0])

    def work() -> int:
        try:
            return len(adder.finish())
        except pprofdelta.UsageError:
            return 0

    assert in_threads(work) == len(pprofdelta.sum(heap[0], stamp=False))


def test_threads_that_share_a_table_get_capsules(heap: Pair) -> None:
    samples = pprofdelta.table(heap[0]).samples
    assert in_threads(lambda: len([samples.__arrow_c_stream__() for _ in range(500)])) == 4000


def test_a_free_threaded_python_stays_free_threaded() -> None:
    code = "import sys, pprofdelta; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{not IS_FREE_THREADED}\n", ran.stderr


SAVE = """
import re, resource
import pprofdelta
from pprofdelta import _errors

def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body

def profile(count):
    # Each sample is at a location of its own. The one type is a counter.
    types = field(1, b"\\x08\\x01\\x10\\x02") + b"".join(field(6, t) for t in (b"", b"delay", b"nanoseconds"))
    samples = (field(2, b"\\x08" + varint(i) + b"\\x10" + varint(count)) for i in range(1, 100_001))
    places = (field(4, b"\\x08" + varint(i) + b"\\x18" + varint(i)) for i in range(1, 100_001))
    return types + b"".join(samples) + b"".join(places)

context = pprofdelta.Context(compression="none")
context.base(profile(1))
cur = profile(2)
outcomes = []

class Intruding(pprofdelta.OutOfMemoryError):
    def __init__(self, *args):
        super().__init__(*args)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:
            outcomes.append(context.window(cur))
        except pprofdelta.UsageError as error:
            outcomes.append(str(error))

_errors._CLASSES[pprofdelta.Status.MEMORY] = Intruding
used = int(re.search(r"VmSize:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
try:
    context.save()
except pprofdelta.OutOfMemoryError:
    print(*outcomes)
"""


def test_a_save_that_fails_is_one_call_until_its_error_is_made() -> None:
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}  # large memory is mapped each time
    ran = subprocess.run([sys.executable, "-c", SAVE], capture_output=True, text=True, check=False, env=environment)
    assert (ran.returncode, "another call is using this object" in ran.stdout) == (0, True), ran


def shared(kind: str, data: bytes) -> tuple[Any, Any]:
    """A buffer that can be written, and what is passed to a call: a view of it."""
    if kind == "mmap":
        mapped = mmap.mmap(-1, len(data))
        return memoryview(mapped), mapped
    buffer = bytearray(data)
    if kind == "numpy":
        array = pytest.importorskip("numpy").frombuffer(buffer, dtype="uint8")
        array.flags.writeable = False
        return memoryview(buffer), array
    return memoryview(buffer), {"bytearray": buffer, "memoryview": memoryview(buffer).toreadonly()}[kind]


@pytest.mark.parametrize("kind", ["bytearray", "memoryview", "numpy", "mmap"])
def test_a_buffer_may_change_during_a_call(heap: Pair, kind: str) -> None:
    """Each call reads the bytes as they were when it began: those of one profile, or of none. Without the GIL, a
    call may read a part of each."""
    profile = gzip.decompress(heap[1])
    junk = b"\xff" * len(profile)
    want = pprofdelta.check(profile)
    with pytest.raises(pprofdelta.Error) as refused:
        pprofdelta.check(junk)
    writable, passed = shared(kind, profile)
    is_over = threading.Event()

    def overwrite() -> None:
        while not is_over.is_set():
            writable[:] = junk
            writable[:] = profile

    thread = threading.Thread(target=overwrite)
    thread.start()
    try:
        for _ in range(500):
            try:
                assert pprofdelta.check(passed) == want
            except pprofdelta.Error as error:
                assert IS_FREE_THREADED or str(error) == str(refused.value)
    finally:
        is_over.set()
        thread.join()


def test_the_child_of_a_fork_goes_on(heap: Pair) -> None:
    context = pprofdelta.Context()
    context.base(heap[0])
    want = context.window(heap[1]).delta
    context.abandon()
    child = os.fork()
    if child == 0:
        try:
            window = context.window(heap[1])
            os._exit(0 if window.report.attempt == 2 and window.delta != b"" else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert context.window(heap[1]).report.attempt == 2 and want


INTERPRETERS = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    ended = interpreters.exec(interpreters.create("legacy"), CODE)
    assert ended is None, ended
else:
    import _xxsubinterpreters as interpreters
    interpreters.run_string(interpreters.create(isolated=False), CODE)
import pprofdelta
pprofdelta.Context().close()
print("done")
"""


def test_a_subinterpreter_that_shares_the_gil_has_a_module_of_its_own() -> None:
    code = "import pprofdelta\ntry:\n    pprofdelta.check(b'x')\nexcept pprofdelta.Error:\n    pass\n"
    ran = subprocess.run(
        [sys.executable, "-c", f"CODE = {code!r}\n{INTERPRETERS}"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
