"""--format=otlp: its options, the environment of OpenTelemetry, and ids that stay over retries."""

import json

from pb import Request, chunk, gz, inflate, mapped, number, one, packed, parts, profile, read
from samples import T0, T1, cur, pair, prev


def request(t, *args, **kwargs):
    return Request(inflate(t.succeeds(*args, **kwargs).out))  # which run() has checked


def otlp(t, *args, **kwargs):
    return request(t, *pair(t), "--format=otlp", *args, **kwargs)


CLEAN = {"OTEL_RESOURCE_ATTRIBUTES": "", "OTEL_SERVICE_NAME": ""}


def test_a_delta_is_one_request(t):
    r = otlp(t, env=CLEAN)
    t.equal(len(r.profiles), 4)
    t.equal(r.resource, [("service.name", "unknown_service")])
    t.equal(r.strings[0], "")
    t.check("alloc_space" in r.strings and "main" in r.strings, "a string is missing")
    t.equal(len(set(r.ids)), 4)
    t.equal({len(i) for i in r.ids}, {16})
    t.equal(r.duration, T1 - T0)
    for how in "gzip", "zstd", "none":
        out = t.succeeds(*pair(t), "--format=otlp", f"--compress={how}", env=CLEAN).out
        if how != "zstd":
            t.equal(Request(inflate(out)).ids, r.ids)
    t.equal(read(t.succeeds(*pair(t), "--format=pprof").out).duration, T1 - T0)


def test_two_states_that_begin_with_one_file_have_ids_of_their_own(t):
    one_, two_ = pair(t)
    ids = set()
    for state in "s", "other":
        for look in one_, two_:
            ids.update(request(t, "--state", state, look, "--format=otlp", env=CLEAN).ids)
    t.equal(len(ids), 16)


def test_a_window_that_is_sent_again_has_its_ids(t):
    t.write("one.pb.gz", gz(prev()))
    t.write("two.pb.gz", gz(cur()))
    keep = ["--", "sh", "-c", "cat >$OUT; exit $CODE"]

    def window(name, code, number, *options):
        env = dict(CLEAN, OUT=t.path(number), CODE=str(code))
        run = t.succeeds if not code else lambda *a, **k: t.fails(4, *a, **k)
        run("--state", "s", name, "--format=otlp", *options, *keep, env=env)
        return t.request(t.load(number)).ids

    first = window("one.pb.gz", 1, "1")
    t.equal(window("two.pb.gz", 1, "2"), first)  # another profile, the same window
    t.equal(window("two.pb.gz", 0, "3"), first)
    second = window("two.pb.gz", 1, "4")
    t.equal(len(set(first + second)), 6)  # nothing was allocated in the second one
    t.equal(window("two.pb.gz", 0, "5"), second)
    third = window("two.pb.gz", 1, "6")
    other = window("two.pb.gz", 0, "7", "--resource=service.name=x")
    t.equal(len(set(second + third + other)), 6)


def test_times_that_are_zero_or_unknown(t):
    """A window that begins in 1970 has its times in every format; of one without a time, the duration is known."""
    second = 10**9
    for time, duration, begin, times in (
            (30 * second, 30 * second, 0, (30 * second, 30 * second)),
            (30 * second, 60 * second, 0, (30 * second, 30 * second)),  # the part before 1970 is left out
            (0, 30 * second, None, (0, 30 * second)), (30 * second, 0, 30 * second, (30 * second, 0))):
        t.write("p", profile([(("f",), [1, 1, 1, 1])], time=time, duration=duration))
        sent = request(t, "sum", "p", "--format=otlp", env=CLEAN)
        t.equal((parts(sent.profiles[0], 3), sent.duration), ([] if begin is None else [times[0]], times[1]))
        plain = request(t, "sum", "p", "--format=otlp-plain", env=CLEAN)
        t.equal((parts(plain.profiles[0], 3), plain.duration), ([] if begin is None else [begin], times[1]))
        t.succeeds("sum", "p", "--format=otlp", "-o", "r", env=CLEAN)
        for verb in ("sum",), ("merge", "--force"):
            back = read(t.succeeds(*verb, "r", "-q").out)
            t.equal((back.time, back.duration), times, verb[0])
        same = read(t.succeeds("sum", "p", "-q").out)
        t.equal((same.time, same.duration), (time, duration))
        shown = json.loads(t.succeeds("show", "--json", "r").text)
        t.equal((shown["time_nanos"], shown["duration_nanos"]), times)


def test_lines_without_a_function(t):
    """A pprof profile has a function without a name in place of OTLP's function 0; a request has no such line."""
    function, stack = chunk(3, number(1, 1)), chunk(7, packed(1, [1, 2, 3]))
    lines = [b"", chunk(3, number(2, 7)), chunk(3, number(2, 8)) + chunk(3, number(1, 1) + number(2, 9))]
    dictionary = b"".join((
        chunk(1, b""), chunk(2, b""), *(chunk(2, number(2, 16 + i) + line) for i, line in enumerate(lines)),
        chunk(3, b""), function, chunk(4, b""), chunk(5, b""), chunk(5, b"main"), chunk(5, b"alloc_space"),
        chunk(5, b"bytes"), chunk(6, b""), chunk(7, b""), stack))
    sample = chunk(2, number(1, 1) + packed(4, [5]))
    body = chunk(1, chunk(2, chunk(2, chunk(1, number(1, 2) + number(2, 3)) + sample)))
    t.write("r", body + chunk(2, dictionary))
    pprof = read(t.succeeds("sum", "r", "-q").out)
    t.equal([[(pprof.functions[function][0], line) for function, line, _ in pprof.lines[location]]
             for location in pprof.stacks[0]], [[], [("", 7)], [("", 8), ("main", 9)]])
    t.contains(t.succeeds("check", "r").text, "3 locations, 2 functions")
    t.write("p", t.succeeds("sum", "r", "-q").out)
    for name in "r", "p":
        again = Request(inflate(t.succeeds("sum", name, "-q", "--format=otlp", env=CLEAN).out))
        found = [[one(line, 1, 0) for line in parts(location, 3)] for location in again.tables[2][1:]]
        t.equal(found, [[], [], [1]], name)


def test_a_mapping_that_nothing_refers_to(t):
    """The main binary is the first mapping in pprof; in OTLP, it is there if a location is in it."""
    mappings = [(0x400000, 0x500000, 0, "/bin/app", "ab"), (0x700000, 0x800000, 0, "/lib/x.so", "cd")]
    for which, files in ((1, ["", "/bin/app"]), (2, ["", "/lib/x.so"]), (0, [""])):
        t.write("p", mapped([("f", which, (0, 0x400010, 0x700010)[which], [1, 8])], mappings))
        r = request(t, "sum", "p", "--format=otlp", env=CLEAN)
        t.equal([r.strings[one(mapping, 4, 0)] for mapping in r.tables[1]], files)
        t.equal(read(t.succeeds("sum", "p").out).binaries[1][3], "/bin/app")
