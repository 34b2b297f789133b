"""The heap of this process, for programs that `pprofdelta record` cannot start: a profile of what was allocated and
what is in use, with Python's lines, every minute.

    import pprofdelta.heap
    pprofdelta.heap.start("profiles", interval=60)
    ...
    pprofdelta.heap.stop()

It is the agent of `pprofdelta record`, loaded into this process. What was allocated before `start` is not known to it.
The files are those of `record`: `pprofdelta leaks profiles` finds leaks in them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from pathlib import Path

from ._installed import AGENT, installed

__all__ = ["start", "stop", "window"]

_RECORDING = 2
_agent: ctypes.CDLL | None = None
_directory: Path | None = None


def _load() -> ctypes.CDLL:
    global _agent
    if _agent is None:
        _agent = ctypes.CDLL(os.environ.get("PPROFDELTA_AGENT") or installed(AGENT, "pprofdelta"))
    return _agent


def _look(agent: ctypes.CDLL) -> tuple[bool, int, int]:
    """Does the agent record, how many recordings were begun or refused, and how many files it wrote in this one."""
    runs, files = ctypes.c_uint64(), ctypes.c_uint64()
    state = agent.pd_agent_look_late(ctypes.byref(runs), ctypes.byref(files))
    return state == _RECORDING, runs.value, files.value


def start(
    directory: str | os.PathLike[str] = ".", *, interval: float = 60, rate: int = 512 << 10, snapshot: bool = False
) -> None:
    """Records this process from now on: a file in `directory` every `interval` seconds.

    rate      one sample in so many bytes of allocations
    snapshot  values in use are totals, as backends take them, not changes, as `pprofdelta sum` adds them up

    Only this process is recorded, not what it forks: call this again in a child. rate must be the same each time.
    RuntimeError: it is recorded already, or cannot be; a line on stderr says why.
    """
    global _directory
    if not (interval > 0 and rate >= 1):
        raise ValueError(f"interval {interval} and rate {rate}: they must be above 0")
    agent = _load()
    folder = Path(directory).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"DIR": folder, "INTERVAL": f"{interval:.9f}", "RATE": int(rate), "SNAPSHOT": int(snapshot), "QUIET": 1}
    text = b"".join(f"PPROFDELTA_RECORD_{name}={value}".encode() + b"\0" for name, value in settings.items())
    runs = _look(agent)[1]
    error = agent.pd_agent_start_late(text + b"\0")
    if error:
        is_recorded = error in (errno.EBUSY, errno.ENOTSUP)
        raise RuntimeError("this process is recorded already" if is_recorded else os.strerror(error))
    while _look(agent)[1] == runs:
        time.sleep(0.01)
    if not _look(agent)[0]:
        raise RuntimeError("this process is not recorded: the line on stderr says why")
    _directory = folder


def stop() -> None:
    """Ends the recording with a last file. Without one, nothing happens."""
    global _directory
    if _agent is not None:
        _agent.pd_agent_stop_late()
    _directory = None


def window() -> bytes:
    """Ends the window now, and returns its profile, which is also a file: for a handler of a web server.

    RuntimeError: this process is not recorded.
    """
    if _agent is None or _directory is None or not _look(_agent)[0]:
        raise RuntimeError("this process is not recorded: call pprofdelta.heap.start first")
    files = _look(_agent)[2]
    _agent.pd_agent_window_late()
    while _look(_agent)[2] == files:
        if not _look(_agent)[0]:
            raise RuntimeError("the recording ended before its window was written")
        time.sleep(0.01)
    return max(_directory.glob(f"heap.*.{os.getpid()}.*.pb.gz"), key=lambda path: path.name.split(".")[-3]).read_bytes()
