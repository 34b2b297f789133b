"""OTLP requests as input: check, every form of show, and what refuses them. The schema of --json is in the
manual, and output of pprof profiles and OTLP requests is held against it.
"""

import json
import os
import re
import time

from pb import Stack, chunk, edit, gz, packed, profile, read, without
from samples import valid

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KINDS = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "any": object,
         "null": type(None)}
PLACES = ("SCOPES", "PROFILES", "ATTRIBUTES")


ALL, PREV, CUR, JOINED = (os.path.join(ROOT, "testdata", "regress", f"otlp-{name}")
                          for name in ("everything", "one-scope-prev", "one-scope-cur", "joined-comments"))


def schema():
    """{path: (types, may be missing, what its elements are called)}"""
    with open(os.path.join(ROOT, "man", "pprofdelta-formats.5"), encoding="utf-8") as file:
        text = file.read().split('.SS "The JSON of show"')[1].split(".EX\n")[1].split(".EE")[0].replace("\\-", "-")
    found = {}
    for line in text.splitlines():
        path, kind, meaning = re.fullmatch(r"(\S+) +(\S+)(?: +(.*))?", line).groups()
        found[path] = (kind.rstrip("?").split("|"), kind.endswith("?"), meaning if meaning in PLACES else None)
    return found


def walk(t, keys, seen, path, value):
    """Every value has the type of its path, and every key of the schema that must be there is there."""
    if path:
        kinds, _, place = keys[path]
        fits = any(isinstance(value, KINDS[kind]) for kind in kinds)
        t.check(fits and ("boolean" in kinds or not isinstance(value, bool) or "any" in kinds), f"{path}: {value!r}")
        seen.add(path)
        if kinds == ["any"]:
            return
        path = place or path
    if isinstance(value, list):
        for element in value:
            walk(t, keys, seen, path + "[]", element)
    if isinstance(value, dict):
        prefix = path + "." if path else ""
        for key, member in value.items():
            t.check(prefix + key in keys, f"{prefix + key} is not in the manual")
            walk(t, keys, seen, prefix + key, member)
        here = re.compile(re.escape(prefix) + r"\w+")
        for name, (_, is_optional, _) in keys.items():
            missing = here.fullmatch(name) and name[len(prefix):] not in value and name not in PLACES
            t.check(not missing or is_optional, f"{name} is missing")


def otlp(t, kind="heap"):
    t.succeeds(valid(kind, 1), valid(kind, 2), "-q", "--format=otlp", "--resource", "service.name=shop", "-o", "r")
    t.succeeds(valid(kind, 1), valid(kind, 2), "-q", "-o", "p")


def test_the_schema_of_json(t):
    keys, seen = schema(), set()
    otlp(t)
    for name in ("p", "r", ALL, valid("mutex", 1)):
        walk(t, keys, seen, "", json.loads(t.succeeds("show", "--json", "--focus=.", name).text))
    t.equal([name for name in keys if name not in seen], [], "each line of the manual was seen in an output")


def test_both_formats_show_the_same(t):
    for kind in ("heap", "mutex", "block"):
        otlp(t, kind)
        got, want = (json.loads(t.succeeds("show", "--json", name).text) for name in ("r", "p"))
        for key in ("time", "time_nanos", "duration_nanos", "period_type", "period", "comments", "mappings", "types",
                    "is_delta", "default_sample_type"):
            t.equal(got[key], want[key], key)
        one, other = (sorted(json.dumps(sample) for sample in found["samples"]) for found in (got, want))
        t.check(one == other, f"{kind}: the samples differ")
        t.equal(want["otlp"], None)
        for form in (("--folded",), ("--flame", "-")):
            texts = [t.succeeds("show", *form, name).text.replace('"r"', '"p"') for name in ("r", "p")]
            t.check(form != ("--folded",) or texts[0] == texts[1], f"{kind} {form}")
        t.contains(t.succeeds("show", "p", "r").text, "alloc_space" if kind == "heap" else "delay")


def raw(t, *args, **kwargs):
    t.succeeds(*args, "--format=otlp", "-q", "-o", "made", **kwargs)
    return t.succeeds("show", "--raw", "made").text


def test_a_request_that_is_made_of_one_has_what_it_has(t):
    pair = PREV, CUR
    env = {"OTEL_RESOURCE_ATTRIBUTES": "process.pid=1,host.name=h", "OTEL_SERVICE_NAME": "weak"}
    shown = raw(t, *pair, "--resource=k=v", "--verify", env=env)
    t.contains(shown, 'resource: "http://resource"\n  attribute "service.name" = "a"\n  attribute "process.pid" = 7\n'
               '  attribute "host.name" = "h"\n  attribute "k" = "v"\n  dropped attributes: 1\n  entity "service"\n'
               'scope: "one" "1" "http://schema"\n  attribute "k" = "v"\n', "    11: stack 1\n",
               '  1: trace 0102030405060708090a0b0c0d0e0f10 span 0102030405060708\n')
    attributes = dict(re.findall(r'^  (\d+): ("[^"]*" = .*) "\w*"$', shown.split("attribute_table:")[1], re.M))
    lists = [[attributes[i] for i in found.split()] for found in re.findall(r" attributes ([\d ]*\d)", shown)]
    t.contains(str(lists[0]), '"hello", "pprofdelta: nope", "pprofdelta: delta from=', "frame.type")
    t.equal(lists[1], ['"thread" = "worker"', '"size" = [5, 7]', '"ratio" = 0.10000000000000001', '"raw" = "00ff"',
                       '"flag" = true', '"nested" = {"a": "x", "b": [1, "y"]}'], "of the sample")
    t.equal(lists[4:], [['"process.executable.build_id.gnu" = "abc123"', '"pprof.mapping.has_functions" = true'],
                        ['"frame.type" = "native"']], "of the mapping and the location")
    t.contains(raw(t, *pair, "--resource=service.name=x", env=env), '  attribute "service.name" = "x"')
    t.contains(raw(t, "sum", PREV, "made"), "  1: trace 0102", 'scope: "one"', '"flag" = "true"', "    111: stack")
    for form, count in ("otlp", 0), ("pprof", 6):
        said = t.succeeds(*pair, f"--format={form}", "--report=json", "-o", "d", manners=False).err
        t.equal(json.loads(said)["left_out"], count, form)
    # The Collector's receiver of pprof joins comments by commas.
    t.contains(t.fails(1, JOINED, CUR).err, "comment: this is already a delta")


def test_a_delta_of_requests_is_that_of_the_profiles(t):
    """In each order, with a state that goes on from one format to the other, and back to the second profile."""
    for kind in ("heap", "mutex", "block"):
        names = [valid(kind, 1), valid(kind, 2), "one", "two"]
        for number in (0, 1):
            t.succeeds("sum", names[number], "--format=otlp", "--resource=service.name=shop", "-o", names[number + 2])
        want = t.succeeds(*names[:2], "--verify").out
        t.succeeds("sum", names[1], "-o", "whole")
        for pair in ((names[2], names[3]), (names[0], names[3]), (names[2], names[1])):
            t.check(t.succeeds(*pair, "--verify").out == want, f"{kind} {pair}: another delta")
            t.succeeds("--state", "S", pair[0], "-o", "full")
            t.succeeds("--state", "S", pair[1], "-o", "delta")
            t.equal(t.succeeds("show", "--folded", "delta").text, t.succeeds("show", "--folded", "-", stdin=want).text)
            os.unlink(t.path("S"))
            t.succeeds(*pair, "--verify", "--format=otlp", "-o", "delta")
            t.succeeds("sum", pair[0], "delta", "-o", "sum")
            sums = [sorted(map(str, read(t.load(name)).samples)) for name in ("sum", "whole")]
            t.check(sums[0] == sums[1], f"{kind} {pair}: PREV and the delta are not CUR")


LAST_SAMPLE = (1, 2, 2, 2)


def test_what_receivers_refuse(t):
    """Requests that are valid for us, and of which a receiver's own code says no or panics."""
    request = t.succeeds("sum", valid("heap", 1), "-q", "--for=parca", "--compress=none", "--resource", "host.name=h").out
    for receiver, place, change, code, says in (
            ("parca", (2,), without(4), 1, "the link table has not its zero value"),
            ("otel", (2,), without(4), 1, "the link table has not its zero value"),
            ("parca", (2,), lambda part: part + chunk(4, b""), 1, "link 1 has not the ids of a trace and of a span"),
            ("parca", (1, 1, 1), without(1), 1, "of the resource has no key or no value"),
            ("pyroscope", (1, 1, 1), without(1), 1, "of the resource or scope is a reference"),
            ("pyroscope", (1, 2, 2), without(6), 1, "has no period type and period"),
            ("pyroscope", LAST_SAMPLE, lambda part: part + packed(4, [1]), 1, "has 2 values"),
            ("parca", (1, 2, 2), without(1), 1, "has no sample type"),
            ("parca", LAST_SAMPLE, lambda part: part + chunk(5, (1).to_bytes(8, "little")), 1, "has a timestamp outside of its time"),
            ("parca", LAST_SAMPLE, lambda part: part + packed(4, [1]), 1, "has several values and no timestamps")):
        t.succeeds("check", "-q", t.write("changed", edit(request, place, change)))
        ran = t.run("check", f"--for={receiver}", "changed")
        t.contains(ran.err, says)
        t.check(code in (None, ran.code), f"{receiver}: {says}: {ran.code}")
    request = t.succeeds("sum", valid("heap", 1), "-q", "--for=otel", "--compress=none", "--resource", "host.name=h").out
    for number, table in enumerate(("mapping", "location", "function", "link", "string", "attribute", "stack"), 1):
        t.write("changed", edit(request, (2,), lambda part, more=chunk(number, b"" if number != 5 else b"odd"): part + more))
        t.contains(t.fails(1, "check", "-q", "--for=otel", "changed").err, "nothing refers to entry", f"of the {table} table")


def test_labels_that_pyroscope_refuses(t):
    """Strings of names like those of dd-trace are written as what it makes no label of, and are read as they were."""
    labels = {"thread id": "7", "1st": "a", "a.b_2": "kept", "": "none", "\u00e9": "accent", "n": 5}
    t.write("p", gz(profile([(Stack("f", "main", labels=labels), [1, 2, 3, 4])], time=time.time_ns())))
    t.contains(t.fails(1, "check", "-q", "--for=pyroscope", "p").err, "'thread id' is no name of a label there")
    for word in ("parca", "otel", "pprof"):
        t.succeeds("check", "-q", f"--for={word}", t.succeeds("sum", "p", "-q", f"--for={word}", "-o", "r") and "r")
        t.equal(read(t.succeeds("sum", "r", "-q").out).samples, read(t.load("p")).samples, word)
        if word == "parca":
            t.contains(t.fails(1, "check", "-q", "--for=pyroscope", "r").err, "' is no name of a label there")
    t.succeeds("sum", "p", "-q", "--for=pyroscope", "-o", "r")
    t.equal(t.succeeds("check", "-q", "--for=pyroscope", "r").err, "")
    t.equal(read(t.succeeds("sum", "r", "-q").out).samples, read(t.load("p")).samples)
    t.succeeds("sum", "r", "-q", "--for=pyroscope", "-o", "again")
    t.equal(t.load("again"), t.load("r"))
    t.contains(t.succeeds("show", "--raw", "r").text, '"a.b_2" = "kept"', '"thread id" = {"value": "7", "unit": ""}')
    for given, says in (("a-b=c", "'a-b' is no name"), ("a.b=c", "")):
        t.succeeds("sum", "p", "-q", "--for=pyroscope", "--resource", given, "-o", "r")
        t.contains(t.run("check", "-q", "--for=pyroscope", "r").err, says)


def test_types_that_pyroscope_refuses(t):
    for kind, says in (("/count", "no type has a name, which /ingest needs"), ("cpu-samples/count", "has a dash")):
        t.write("p", gz(profile([(("f", "main"), [1])], types=[kind], time=time.time_ns())))
        t.contains(t.fails(1, "check", "-q", "--for=pyroscope", "p").err, says)
