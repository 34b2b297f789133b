"""The processes of a run, for tests that end them or see that none is left."""

import os


def of_session(session):
    """Those that live: a shell's pipeline leaves them behind, where it leaves any."""
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state, *fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == session and state not in "ZX":
            alive.append(int(pid))
    return alive
