"""--format=otlp: its options, the environment of OpenTelemetry, and ids that stay over retries."""

from pb import Request, gz, inflate, read
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


def test_the_resource_of_the_options(t):
    r = otlp(t, "--resource", "service.name=a", "--resource=k=x=y,z%41", "--resource", "service.name=b",
             "--resource=empty=", env=CLEAN)
    t.equal(r.resource, [("service.name", "b"), ("k", "x=y,z%41"), ("empty", "")])


def test_the_resource_of_the_environment(t):
    env = {"OTEL_RESOURCE_ATTRIBUTES": " service.name = shop%2c1 ,host.name=h%3D,,empty=,",
           "OTEL_SERVICE_NAME": ""}
    t.equal(otlp(t, env=env).resource, [("service.name", "shop,1"), ("host.name", "h="), ("empty", "")])
    env["OTEL_SERVICE_NAME"] = "other,=%41"
    t.equal(otlp(t, env=env).resource[0], ("service.name", "other,=%41"))
    t.equal(otlp(t, "--resource=service.name=mine", env=env).resource[0], ("service.name", "mine"))


def test_a_bad_variable_is_noted_and_ignored(t):
    for text, why in (("novalue", "no ="), ("=x", "no key"), ("a=b,c=%4", "hexadecimal"),
                      ("a=%zz", "hexadecimal"), ("a=%00", "hexadecimal")):
        result = t.succeeds(*pair(t), "--format=otlp",
                            env={"OTEL_RESOURCE_ATTRIBUTES": text, "OTEL_SERVICE_NAME": "s"})
        t.contains(result.err, "OTEL_RESOURCE_ATTRIBUTES is ignored", why)
        t.equal(Request(inflate(result.out)).resource, [("service.name", "s")])
    for args in ((), ("-q", "--format=otlp")):
        t.lacks(t.succeeds(*pair(t), *args, env={"OTEL_RESOURCE_ATTRIBUTES": "bad"}).err, "OTEL")


def test_wrong_command_lines(t):
    names = pair(t)
    t.contains(t.fails(2, *names, "--format=json").err, "--format")
    for value in "novalue", "=x", "":
        t.contains(t.fails(2, *names, "--format=otlp", f"--resource={value}").err, "KEY=VALUE")
    for verb in [], ["sum"]:
        t.contains(t.fails(2, *verb, *names, "--resource=a=b").err, "--format=otlp")
    t.contains(t.fails(125, "record", "--resource=a=b", "--", "true").err, "--format=otlp")
    t.contains(t.fails(125, "record", "--format=x", "--", "true").err, "--format")
    t.contains(t.succeeds("--version").text, "opentelemetry-proto 1.11", "v1development")


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
    t.equal(len(set(first + second)), 8)
    t.equal(window("two.pb.gz", 0, "5"), second)
    third = window("two.pb.gz", 1, "6")
    other = window("two.pb.gz", 0, "7", "--resource=service.name=x")
    t.equal(len(set(second + third + other)), 12)
