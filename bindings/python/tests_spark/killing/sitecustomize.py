"""In the Python processes of the tests: processes are killed at points that the tests choose.

Each window is a point, and each delta that is merged, and so are the begin and the end of each commit of states and of each sink. While the folder
PPROFDELTA_TEST_FOLDER has orders, each point adds a byte to its file `points`. An order is a file `kill-WHAT-N`. The
process that reaches point N renames it to `done-WHAT-N`, and kills WHAT: itself (worker), its parent (daemon), the
parent of that (executor), or the process that the file names (driver).
"""

import os
import signal

folder = os.environ.get("PPROFDELTA_TEST_FOLDER", "")


def point(kinds=("worker", "daemon", "executor", "driver")):  # type: ignore[no-untyped-def]
    orders = [name for name in os.listdir(folder) if name.startswith("kill-")] if folder else []
    if not orders:
        return
    with open(os.path.join(folder, "points"), "ab", buffering=0) as file:
        file.write(b".")
        so_far = os.fstat(file.fileno()).st_size
    for name in orders:
        _, what, at = name.split("-")
        done = os.path.join(folder, f"done-{what}-{at}")
        if so_far >= int(at) and what in kinds:
            try:
                os.rename(os.path.join(folder, name), done)
            except FileNotFoundError:
                continue  # another process has done it
            with open(done) as file:
                number = int(file.read() or os.getpid())
            for _ in range({"daemon": 1, "executor": 2}.get(what, 0)):
                with open(f"/proc/{number}/stat") as file:
                    number = int(file.read().rpartition(")")[2].split()[1])
            os.kill(number, signal.SIGKILL)


def pointed(function):  # type: ignore[no-untyped-def]
    def called(*arguments):  # type: ignore[no-untyped-def]
        point()
        found = function(*arguments)
        point()
        return found

    return called


if folder:
    from pprofdelta import Adder, Context
    from pprofdelta.spark._states import States

    Adder.add = pointed(Adder.add)  # type: ignore[method-assign]
    Context.window = pointed(Context.window)  # type: ignore[method-assign]
    States.commit = pointed(States.commit)  # type: ignore[method-assign]
