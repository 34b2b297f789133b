"""Leaves the arenas of Python's allocator three quarters empty: arenas.py SECONDS. Without the agent, Python says on stderr
what is in use in them."""

import os
import random
import sys
import time

rows = [bytes(50 + i % 300) for i in range(100000)]
random.seed(1)
random.shuffle(rows)
del rows[25000:]
sys._debugmallocstats()
time.sleep(float(sys.argv[1]))
os._exit(0)
