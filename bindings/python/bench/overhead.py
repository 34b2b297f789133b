"""What the package costs over C, and what two threads gain: overhead.py STEADY PREV CUR [PREV CUR]...

STEADY is build/tests/steady, which times the same windows in C: from plain bytes to plain bytes, in a context
in its steady state, with a report. C and Python take turns. The overhead is the difference of the medians of
the processor time of one window. The gain of two threads is the wall time of two threads in turn divided by
their wall time at once. The gain of two processes in C beside it is what the machine itself gives; it is 2 on
two processors that have nothing else to do.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from statistics import median

import pprofdelta

ROUNDS = 9
WINDOWS = 300


def by_c(steady: str, prev: str, cur: str) -> list[int]:
    """The processor time of each window in nanoseconds."""
    ran = subprocess.run([steady, prev, cur, str(WINDOWS)], capture_output=True, text=True, check=True)
    return [int(line.split()[1]) for line in ran.stdout.splitlines() if not line.startswith("#")]


def by_python(prev: bytes, cur: bytes) -> list[int]:
    context = pprofdelta.Context(compression="none")
    times = []
    for _ in range(WINDOWS):
        context.base(prev)
        begin = time.thread_time_ns()
        context.window(cur)
        times.append(time.thread_time_ns() - begin)
        context.abandon()
    return times


def work(prev: bytes, cur: bytes, windows: int) -> None:
    context = pprofdelta.Context(compression="none")
    context.base(prev)
    for _ in range(windows):
        context.window(cur)
        context.abandon()


def gain(start: Callable[[], Callable[[], object]]) -> float:
    """The time of two pieces of work in turn, divided by their time at once. `start` returns what waits for one."""
    begin = time.perf_counter()
    start()()
    start()()
    in_turn = time.perf_counter() - begin
    begin = time.perf_counter()
    for wait in [start(), start()]:
        wait()
    return in_turn / (time.perf_counter() - begin)


def thread(*args: object) -> Callable[[], object]:
    started = threading.Thread(target=work, args=args)
    started.start()
    return started.join


def process(*command: object) -> Callable[[], object]:
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL).wait


def plain(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def main(steady: str, *paths: str) -> None:
    print("samples      C us  Python us  overhead us  two threads  two processes in C")
    for prev_path, cur_path in zip(paths[::2], paths[1::2], strict=True):
        prev, cur = plain(prev_path), plain(cur_path)
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("prev", "cur")]
            for file, data in zip(files, (prev, cur), strict=True):
                with open(file, "wb") as out:
                    out.write(data)
            c, python, gains, references = [], [], [], []
            for _ in range(ROUNDS):
                c += by_c(steady, *files)
                python += by_python(prev, cur)
            windows = max(3, int(2e8 / median(c)))  # about 0.2 s
            for _ in range(ROUNDS):
                gains.append(gain(lambda: thread(prev, cur, windows)))
                references.append(gain(lambda: process(steady, *files, windows)))
        in_c, in_python = median(c) / 1000, median(python) / 1000
        print(f"{pprofdelta.check(cur).samples:7,}{in_c:10.1f}{in_python:11.1f}{in_python - in_c:13.1f}"
              f"{median(gains):12.2f}x{median(references):19.2f}x", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
