"""Threads, processes and interpreters. Nothing here measures time; bench/overhead.py does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import pprofdelta

Pair = tuple[bytes, bytes]


def test_contexts_in_many_threads_agree(heap: Pair) -> None:
    def work(_: int) -> tuple[bytes, bytes]:
        context = pprofdelta.Context()
        context.base(heap[0])
        delta = context.window(heap[1]).delta
        context.commit()
        return delta, context.save()

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
