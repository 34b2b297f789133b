"""Python: run.py pythons PPROFDELTA

A program under ddtrace's memory profiler, whose profiles have no addresses, nineteen value types and
numeric labels; and deltas, of those and of the bundled Go pairs, read and made again with Google's
protobuf. Skipped (77) where those packages cannot be had for this Python.
"""

import glob
import json
import os

import pb
import real
from samples import valid

python = descriptors = None
profiles = {}


def prepare(folder):
    global python, descriptors
    real.need("protoc-c", "zstd")
    python = real.python_with(os.path.join("python", "requirements.txt"))
    real.made("produce.py", [python, os.path.join(real.here, "python", "produce.py"), folder], folder)
    for number in ("1", "2"):
        [path] = glob.glob(os.path.join(folder, f"profile.*.{number}.pprof"))
        profiles[number] = pb.load(path)
    descriptors = os.path.join(real.kept("descriptors"), "profile.bin")
    real.made("protoc-c", ["protoc-c", "--descriptor_set_out=" + descriptors, "profile.proto"],
              os.path.join(real.root, "proto"))


def subtracted(t, *counters):
    """What protobuf says of the files prev, cur and delta."""
    raw = [t.write(name + ".raw", pb.inflate(t.load(name))) for name in ("prev", "cur", "delta")]
    return json.loads(real.made("subtract.py", [python, os.path.join(real.here, "python", "subtract.py"), descriptors,
                                                *raw, *counters], t.dir))


def test_ddtrace(t):
    t.write("prev", profiles["1"])
    t.write("cur", profiles["2"])
    t.contains(t.succeeds("check", "cur").text, "ok: zstd, ", "19 types", "0 mappings")
    t.contains(t.fails(1, "prev", "cur", "-o", "delta").err, "alloc-space/bytes", "-c TYPE")
    # ddtrace's profiles are windows, which may be told by their times: here they are numbers only.
    t.succeeds("prev", "cur", "-c", "alloc-space", "-c", "alloc-samples", "--on-reset=negative",
               "--force", "--verify", "-q", "-o", "delta")
    said = subtracted(t, "alloc-space", "alloc-samples")
    t.equal(said["differ"], 0, "; ".join(said["first"]))
    t.check(said["samples"] > 500, f"{said['samples']} samples")
    t.check(said["sums"]["alloc-samples"] != 0 and said["sums"]["heap-space"] > 0, f"{said['sums']}")


def test_ddtrace_is_shown(t):
    t.write("cur", profiles["2"])
    t.contains(t.succeeds("show", "--top", "5", "--type", "alloc-space", "cur").text, "churn", "MiB")
    t.contains(t.succeeds("show", "--folded", "--type", "alloc-space", "cur").text, ";churn ")


def test_the_bundled_pairs(t):
    for kind, counters in (("heap", ("alloc_objects", "alloc_space")),
                           ("mutex", ("contentions", "delay")), ("block", ("contentions", "delay"))):
        for name, number in (("prev", 1), ("cur", 2)):
            t.write(name, pb.load(valid(kind, number)))
        t.succeeds("prev", "cur", "--on-reset=negative", "--verify", "-q", "-o", "delta")
        said = subtracted(t, *counters)
        t.equal(said["differ"], 0, f"{kind}: {'; '.join(said['first'])}")
        t.check(said["samples"] > 0, kind)
