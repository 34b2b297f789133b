"""In the Python workers of the tests: a worker kills itself once, in the middle of a partition.

Each window first tries to rename the file PPROFDELTA_TEST_FOLDER/kill to `killed`. The one worker that
succeeds after some windows of its own ends by SIGKILL.
"""

import os
import signal

from pprofdelta import Context

folder = os.environ.get("PPROFDELTA_TEST_FOLDER", "")
window = Context.window
calls = 0


def dying_window(self, profile):  # type: ignore[no-untyped-def]
    global calls
    calls += 1
    if calls > 7 and folder:
        try:
            os.rename(os.path.join(folder, "kill"), os.path.join(folder, "killed"))
        except FileNotFoundError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return window(self, profile)


Context.window = dying_window  # type: ignore[method-assign]
