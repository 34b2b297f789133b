"""An interpreter within, which this thread makes and another one uses."""

import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
def hold_within():
    global held
    held = [bytearray(2000) for _ in range(1000)]
hold_within()
"""

within = interpreters.create()
run = getattr(interpreters, "exec", None) or interpreters.run_string
thread = threading.Thread(target=run, args=(within, CODE))
thread.start()
thread.join()
interpreters.destroy(within)
