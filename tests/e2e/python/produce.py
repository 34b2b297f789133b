"""A Python program under ddtrace's memory profiler: produce.py FOLDER

Flushes twice; what each time would have gone to the agent lands in FOLDER.
"""

import os
import sys

# Before ddtrace is imported, which reads them then.
os.environ.update({
    "DD_PROFILING_OUTPUT_PPROF": os.path.join(sys.argv[1], "profile"),
    "DD_PROFILING_HEAP_SAMPLE_SIZE": "8192",
    "DD_PROFILING_STACK_ENABLED": "false",
    "DD_PROFILING_UPLOAD_INTERVAL": "3600",
    "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
    "DD_TRACE_ENABLED": "false",
})

from ddtrace.profiling import Profiler  # noqa: E402

kept = []


def keep(count):
    kept.extend(bytearray(16384) for _ in range(count))


def churn(count):
    for _ in range(count):
        bytes(bytearray(16384))


profiler = Profiler()
profiler.start()
keep(200)
churn(400)
profiler._profiler._scheduler.flush()
keep(300)
churn(1500)
profiler._profiler._scheduler.flush()
profiler.stop(flush=False)
