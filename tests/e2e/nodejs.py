"""Node.js: run.py nodejs PPROFDELTA

A program that profiles its own heap and time with @datadog/pprof. Its profiles have no addresses,
and no counters by name; the deltas are held against a subtraction of what npm's pprof-format reads.
What that package writes again is read back here. Skipped (77) where there is no Node.js or npm.
"""

import json
import os

import pb
import real

modules = None
profiles = {}


def prepare(folder):
    global modules
    modules = real.node_modules()
    real.made("produce.js", ["node", os.path.join(modules, "produce.js"), folder], folder)
    for name in ("heap.1", "heap.2", "time.1", "time.2"):
        profiles[name] = pb.load(os.path.join(folder, name))


def lay(t):
    for name, data in profiles.items():
        t.write(name, data)


def read(t, name, again=None):
    """What pprof-format reads in a file, and what it writes of it to another."""
    files = [t.path(one) for one in (name, again) if one]
    script = os.path.join(modules, "roundtrip.js")
    return json.loads(real.made("roundtrip.js", ["node", script, *files], t.dir))


def subtracted(prev, cur):
    """Of two readings: per stack what cur has more, without those that have the same."""
    names = [*cur["samples"], *(name for name in prev["samples"] if name not in cur["samples"])]
    zero = [0] * len(cur["types"])
    return {name: values for name in names
            if any(values := [c - p for c, p in zip(cur["samples"].get(name, zero),
                                                    prev["samples"].get(name, zero))])}


def test_nothing_is_a_counter_by_name(t):
    lay(t)
    for name in profiles:
        t.contains(t.succeeds("check", name).text, "ok: gzip", "0 mappings")
    t.contains(t.fails(1, "heap.1", "heap.2", "-o", "delta").err, "counter", "inuse_space/bytes", "-c TYPE")
    for args in ((), ("-c", "sample"), ("-c", "wall")):
        result = t.fails(1, "time.1", "time.2", "-o", "delta", *args)
        t.contains(result.err, "this is a wall-clock profile (wall/nanoseconds)", "--force")


def test_deltas_are_those_of_pprof_format(t):
    lay(t)
    for kind, counters in (("heap", ("inuse_objects", "inuse_space")), ("time", ("sample", "wall"))):
        named = [word for counter in counters for word in ("-c", counter)]
        named += ["--force"] if kind == "time" else []
        t.succeeds(kind + ".1", kind + ".2", *named, "--on-reset=negative", "--verify", "-q",
                   "-o", "delta")
        prev, cur, delta = (read(t, name) for name in (kind + ".1", kind + ".2", "delta"))
        t.equal(delta["types"], cur["types"])
        real.same(t, delta["samples"], subtracted(prev, cur), kind)
        t.check(len(delta["samples"]) > 1, "there is something in it")
        t.contains(" ".join(delta["comments"]), "pprofdelta: delta")


def test_what_pprof_format_writes_again(t):
    """Its bytes are others, what they say is the same: to the next reader, and to the next delta."""
    lay(t)
    counters = ("-c", "inuse_objects", "-c", "inuse_space")
    t.succeeds("heap.1", "heap.2", *counters, "-q", "-o", "delta")
    said = read(t, "delta", again="again")
    t.contains(t.succeeds("check", "again").text, "ok: gzip", "a delta")
    t.equal(read(t, "again"), said)
    t.equal(t.succeeds("show", "--folded", "again").text, t.succeeds("show", "--folded", "delta").text)
    for pair in (("heap.2", "heap.2"), ("delta", "again", "--force")):
        t.succeeds(*pair, *counters, "-q", "-o", "none")
        t.equal(read(t, "none")["samples"], {})
