"""An OpenTelemetry collector: run.py collectors PPROFDELTA

The Collector's own OTLP receiver (collector/main.go) gets windows by HTTP, as the manual's recipe sends them,
and answers some of them with 503 or 429. What it holds is written as pdata encodes it, decoded by Python's
opentelemetry-proto, and compared with google/pprof's Merge, sample by sample. check and show read it, too.
Skipped (77; in CI, failed) where there is no Go or curl, or the modules cannot be had.
"""

import glob
import json
import os
import subprocess
import sys

import harness
import pages
import pb
import real
import world
from samples import valid

SCOPES = {"heap": "memory ", "mutex": "mutex ", "block": "block "}
KINDS = {"heap": "alloc_objects,alloc_space", "mutex": "contentions,delay", "block": "contentions,delay"}
UPLOADER_FAILED = 4

collector = decoder = None
producers = {}


def produce(folder):
    """Profiles of Node.js and of Python, where these are here: symbols only, and labels."""
    try:
        modules = real.node_modules()
        real.made("produce.js", ["node", os.path.join(modules, "produce.js"), folder], folder)
        producers["node"] = [pb.load(os.path.join(folder, f"heap.{number}")) for number in (1, 2)]
    except real.Missing as why:
        producers["node"] = why
    try:
        python = real.python_with(os.path.join("python", "requirements.txt"))
        real.made("produce.py", [python, os.path.join(real.here, "python", "produce.py"), folder], folder)
        [first], [second] = (glob.glob(os.path.join(folder, f"profile.*.{number}.pprof")) for number in (1, 2))
        producers["python"] = [pb.inflate(pb.load(path)) for path in (first, second)]  # Go's reader knows no zstd
    except real.Missing as why:
        producers["python"] = why


def prepare(folder):
    global collector, decoder
    real.need("curl")
    program = real.go_program(os.path.join(real.here, "collector"), ".")
    real.google_pprof()
    produce(folder)
    decoder = real.python_with(os.path.join("python", "otlp_requirements.txt"))
    collector = real.Program(program)
    if not collector.address:
        raise real.Missing("the collector does not begin")


def end():
    if collector:
        collector.end()


def ask(*words):
    to, answers = collector.process.stdin, collector.process.stdout
    to.write((" ".join(words) + "\n").encode())
    to.flush()
    answer = json.loads(answers.readline())
    if "error" in answer:
        raise AssertionError(f"{words}: {answer['error']}")
    return answer["said"]


def uploader(encoding="gzip"):
    """As the manual has it."""
    encoded = ["-H", f"Content-Encoding: {encoding}"] if encoding else []
    return ["--", "curl", "-sSf", "-m", "20", "-H", "Content-Type: application/x-protobuf", *encoded,
            "--data-binary", "@-", f"http://{collector.address}/v1development/profiles"]


def post(t, path):
    """What is a request already, compressed with gzip."""
    sent = subprocess.run([*uploader()[1:-2], f"@{path}", uploader()[-1]], capture_output=True, check=False,
                          timeout=harness.TIMEOUT)
    t.equal(sent.returncode, 0, sent.stderr.decode())


def send(t, name, *options, code=0, encoding="gzip"):
    ran = t.run("--state", "S", name, "--format=otlp", "-q", *options, *uploader(encoding), manners=False)
    t.equal(ran.code, code, ran.err)
    return ask("received")


def times(t, name):
    said = json.loads(t.succeeds("show", "--json", name).text)
    return said["time_nanos"]


def decoded(t, path):
    return json.loads(real.made("read_otlp.py", [decoder, os.path.join(real.here, "python", "read_otlp.py"), path], t.dir))


def summed(samples):
    """{(stack, labels): values} of what is not zero."""
    sums = {}
    for stack, labels, values in samples:
        at = sums.setdefault((tuple(stack), tuple(sorted(labels.items()))), [0] * len(values))
        at[:] = map(sum, zip(at, values))
    return {key: values for key, values in sums.items() if any(values)}


def merged(t, prev, cur, counters):
    """The samples of google/pprof's delta. A counter below zero is written as zero (--on-reset=clamp)."""
    real.made("merge", [real.google_pprof()[0], "-c", counters, t.path(prev), t.path(cur), t.path("merged")], t.dir)
    profile = pb.read(t.load("merged"))
    may_fall = [name.split("/")[0] not in counters.split(",") for name in profile.types]
    return profile.types, {key: kept for key, values in summed(profile.samples).items()
                           if any(kept := [v if ok else max(v, 0) for v, ok in zip(values, may_fall)])}


def number_of(label):
    """The value of a label, and of the first of several."""
    if isinstance(label, list):
        return number_of(label[0])
    return label["value"] if isinstance(label, dict) else label


def holds(t, prev, cur, counters, what):
    """The last request that was accepted has the samples of cur - prev; prev may be "-". Returns what was decoded."""
    ask("save", t.path("held"))
    said = decoded(t, t.path("held"))
    whole = pb.read(t.load(cur))
    types, want = (whole.types, summed(whole.samples)) if prev == "-" else merged(t, prev, cur, counters)
    sent = [at for at in range(len(types)) if any(values[at] for values in want.values())]  # a type without samples is not
    want = {key: [values[at] for at in sent] for key, values in want.items()}
    got = summed(([name for name in stack if not name.startswith("0x")],
                  {key: number_of(value) for key, value, _ in labels}, values)
                 for stack, labels, values in said["samples"])
    t.equal(said["types"], [types[at].split("/")[0] for at in sent], what)
    t.check(want, f"{what}: there is something in it")
    real.same(t, got, want, what)
    return said


def windows(t, what, files, counters, *options):
    """A first window, a second that is refused twice, and what arrived of it at last."""
    ask("received")
    for name, data in zip(("one", "two"), files):
        t.write(name, data)
    options = [*options, "--resource", f"service.name={what}", "--resource", "deployment.environment.name=test"]
    [first] = send(t, "one", *options)
    t.equal((first["status"], first["resource"]),
            (200, {"service.name": what, "deployment.environment.name": "test"}))
    t.check(first["scope"].startswith(SCOPES.get(what, "")), f"{what}: {first['scope']}")
    holds(t, "-", "one", counters, f"{what}, the first window")
    refused = []
    for status in (503, 429):
        ask("fail", str(status), "1")
        [attempt] = send(t, "two", *options, code=UPLOADER_FAILED)
        t.equal(attempt["status"], status)
        refused.append(attempt)
    [second] = send(t, "two", *options)
    t.equal(second["status"], 200)
    for attempt in refused:
        t.equal(attempt["ids"], second["ids"], "a window that is sent again has the ids that it had")
    every = [*first["ids"].values(), *second["ids"].values()]
    t.equal(len(set(every)), len(every), "each type and each window has an id of its own")
    t.equal((second["time"] - second["duration"], second["time"]), (times(t, "one"), times(t, "two")))
    found = holds(t, "one", "two", counters, what)
    t.contains(str(found["attributes"]), "pprofdelta: delta", "attempt=3")
    is_read(t, what, options)


def is_read(t, what, options):
    """The encoder is another one: check takes the request, and show prints what it prints of the delta as pprof."""
    t.contains(t.succeeds("check", "held").text, ": ok: otlp, ", "an OTLP request", "1 resource", "1 scope")
    options = [one for one in options if one != "--resource" and "name=" not in one]
    t.succeeds("one", "two", "-q", "-o", "delta", *options)
    t.succeeds("one", "two", "-q", "-o", "own", "--format=otlp", "--compress=none", *options)
    t.equal(decoded(t, t.path("own"))["wrong"], [], what)
    got, want = (json.loads(t.succeeds("show", "--json", name).text) for name in ("held", "delta"))
    for key in ("time_nanos", "duration_nanos", "period", "types"):
        t.equal(got[key], want[key], f"{what}: {key}")
    for one in want["types"]:
        kind = f"{one['type']}/{one['unit']}"
        t.equal(*(t.succeeds("show", "--folded", "--type", kind, name).text for name in ("held", "delta")), f"{what}: {kind}")
    t.contains(t.fails(1, "held", "held", "-o", "none").err, "this is already a delta that pprofdelta wrote")


def bundled(kind):
    return [pb.load(valid(kind, number)) for number in (1, 2)]


OPTIONS = {"node": ("inuse_objects,inuse_space", []), "python": ("alloc-samples,alloc-space", ["--force"])}


def test_windows(t):
    """Of Go, and of Node.js and Python where these are here."""
    for kind, counters in KINDS.items():
        windows(t, kind, bundled(kind), counters)
        os.unlink(t.path("S"))
    for name, (counters, options) in OPTIONS.items():
        if isinstance(producers[name], real.Missing):
            print(f"skipped {name}: {producers[name]}")
            continue
        windows(t, name, producers[name], counters, *[word for one in counters.split(",") for word in ("-c", one)],
                "--on-reset=clamp", *options)
        os.unlink(t.path("S"))


def test_other_compressions(t):
    ask("received")
    t.write("one", bundled("heap")[0])
    t.write("two", bundled("heap")[1])
    send(t, "one", "--compress=zstd", encoding="zstd")
    [got] = send(t, "two", "--compress=none", encoding=None)
    t.equal(got["status"], 200)
    holds(t, "one", "two", KINDS["heap"], "without compression")


def test_other_targets_and_profiles_have_other_ids(t):
    ask("received")
    seen = []
    for kind, name in (("heap", "a"), ("heap", "b"), ("mutex", "a"), ("block", "a")):
        t.write("one", bundled(kind)[0])
        t.succeeds("--state", kind + name, "one", "--format=otlp", "-q", "--resource", f"service.name={name}", *uploader(),
                   manners=False)
        [got] = ask("received")
        seen += got["ids"].values()
    t.equal(len(set(seen)), len(seen))


class Target(world.Handler):
    """A service with /debug/pprof/heap."""

    profile = b""

    def do_GET(self):
        self.answer(200 if self.path == "/debug/pprof/heap" else 404, self.profile)


def recipe(t, page, start):
    """The example of this page that begins like this, with the addresses of this machine."""
    found = pages.one(pages.examples(page), start)
    t.contains(found, "http://collector:4318/v1development/profiles", "service.name=checkout")
    return found.replace("collector:4318", collector.address)


def test_the_recipe_of_the_manual(t):
    ask("received")
    server = world.Server(Target)
    commands = recipe(t, "pprofdelta-formats.5", "curl -sSf").replace("http://localhost:6060", server.url)
    try:
        server.RequestHandlerClass.profile, two = bundled("heap")
        ran = t.shell(commands)
        t.equal((ran.returncode, ran.stderr), (0, ""))
        server.RequestHandlerClass.profile = two
        ask("fail", "503", "1")
        ran = t.shell(commands)
        t.equal(ran.returncode, UPLOADER_FAILED)
        t.contains(ran.stderr, "503", "the next run covers this window too")
        ran = t.shell(commands)
        t.equal((ran.returncode, ran.stderr), (0, ""))
    finally:
        server.end()
    first, refused, second = ask("received")
    t.equal([one["resource"] for one in (first, refused, second)], [{"service.name": "checkout"}] * 3)
    t.equal((first["status"], refused["status"], second["status"]), (200, 503, 200))
    t.equal(refused["ids"], second["ids"])
    for name, data in zip(("one", "two"), bundled("heap")):
        t.write(name, data)
    holds(t, "one", "two", KINDS["heap"], "the recipe")


# Without env, and without what stands for Python in the PATH: they would be recorded, too.
PROGRAM = b"#!" + os.path.realpath(sys.executable).encode() + b"""
kept = [bytearray(1 << 20) for _ in range(40)]
for _ in range(40):
    bytearray(1 << 20)
"""


def test_the_recipe_of_the_heap_agent(t):
    """Its windows arrive, and what it writes is what google/pprof reads in the same window as pprof."""
    ask("received")
    os.chmod(t.write("checkout", PROGRAM), 0o755)
    ran = t.shell(recipe(t, "pprofdelta-record.1", "pprofdelta record --format=otlp"))
    if "agent" in ran.stderr and ran.returncode:
        t.skip(ran.stderr.strip())
    t.equal(ran.returncode, 0, ran.stderr)
    got = [one for one in ask("received") if "alloc_space" in one["ids"]]
    t.check(got and all(one["status"] == 200 for one in got), f"{got} {ran.stderr}")
    t.check(all(one["resource"]["service.name"] == "checkout" for one in got), f"{got}")
    ran = t.run("record", "-o", "profiles", "--", t.path("checkout"), manners=False)
    t.equal(ran.code, 0, ran.err)
    profiles = sorted(glob.glob(t.path("profiles/*.pb.gz")))
    t.check(profiles, "the agent wrote profiles")
    t.succeeds("sum", *profiles, "-q", "-o", "sum.pb.gz")
    t.succeeds("sum", *profiles, "-q", "--format=otlp", "--resource", "service.name=checkout", "-o", "sum.otlp")
    post(t, t.path("sum.otlp"))
    t.equal(len(ask("received")), 1)
    holds(t, "-", "sum.pb.gz", "-", "record")
    t.succeeds("record", "-q", "-o", "requests", "--format=otlp", "--", t.path("checkout"))
    requests = sorted(glob.glob(t.path("requests/*.otlp.gz")))
    t.check(requests, "the agent wrote requests")
    for request in requests:
        t.succeeds("check", "-q", request)
        post(t, request)
        t.equal(decoded(t, t.write("request", pb.inflate(t.load(request))))["wrong"], [], request)
    t.equal([one["status"] for one in ask("received")], [200] * len(requests))
