"""The recipes in examples/: run.py recipes PPROFDELTA

Each script runs as it is there, with its variables, against a program whose counters are known and a receiver on the
loopback interface. Windows fail, hang, are killed after they have arrived, and the program restarts. What arrived has
the path and headers of the recipe, `check --for` has nothing against it, and the windows are what the program did.
Skipped (77) where there is no curl. The Collector, Pyroscope and the databases are skipped where they cannot be had.
"""

import base64
import collections
import csv
import email
import email.policy
import glob
import hashlib
import hmac
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import backends
import collectors
import harness
import pb
import processes
import real
import world as worlds

EXAMPLES = os.path.join(real.root, "examples")
TARGET_FAILED, UPLOADER_FAILED = 1, 4
SECOND = 10**9
STAMP = re.compile(rb"pprofdelta: delta [ -~]*? id=[0-9a-f]{16}")



def prepare(_):
    real.need("curl")


# ---- the program, whose counters are known ---------------------------------------------------------

class Program:
    """A Go program with a heap profile, and what it did since its first process began."""

    STACKS = [("parse", "serve", "main"), ("keep", "main"), ("grow", "serve", "main")]

    def __init__(self):
        self.time = time.time_ns() - 1000 * SECOND
        self.counted = collections.Counter()
        self.did = collections.Counter()
        self.steps = 0

    def work(self):
        self.steps += 1
        self.time += 10 * SECOND
        for number, stack in enumerate(self.STACKS, 1):
            self.counted[stack] += number * self.steps * 100
            self.did[stack] += number * self.steps * 100

    def restart(self):
        self.counted.clear()

    def profile(self):
        samples = [(stack, [count, 64 * count, 7, 448]) for stack, count in self.counted.items()]
        return pb.gz(pb.profile(samples, time=self.time, period_type="space/bytes", period=512 << 10, build_id="c0ffee",
                                default="inuse_space"))

    def space(self):
        """What it allocated, by stack as --folded has it."""
        return {";".join(reversed(stack)): 64 * count for stack, count in self.did.items()}


class World(worlds.World):
    """The program's profiles and a receiver of any kind."""

    def __init__(self):
        super().__init__()
        self.program = Program()
        self.profile = self.program.profile


# ---- running a recipe --------------------------------------------------------------------------------

class Recipe:
    def __init__(self, t, world, script, **variables):
        self.t, self.world, self.script = t, world, script
        os.makedirs(t.path("bin"), exist_ok=True)
        if not os.path.exists(t.path("bin/pprofdelta")):
            os.symlink(t.binary, t.path("bin/pprofdelta"))
        self.env = {"PATH": f"{t.path('bin')}:{os.environ['PATH']}", "HOME": t.dir, "TARGET": world.url + "/debug/pprof/heap",
                    "SERVICE": "shop", "STATE": t.path("shop.state"), "LIMIT": "300", "TMPDIR": t.dir, **variables}

    def begin(self, **variables):
        return subprocess.Popen([os.path.join(EXAMPLES, self.script)], cwd=self.t.dir, env={**self.env, **variables},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def run(self, code=0, says="", **variables):
        process = self.begin(**variables)
        out, err = process.communicate(timeout=harness.TIMEOUT)
        self.t.equal((process.returncode, out), (code, ""), f"{self.script}: {err}")
        self.t.check(says in err if says or code else not err, f"{self.script}: {err}")

    def kill(self, arrived):
        """All of it, after the window has arrived and before that is known."""
        process = self.begin()
        self.t.check(arrived(), "the window arrived")
        for pid in processes.of_session(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.communicate(timeout=harness.TIMEOUT)
        self.t.check(harness.until(lambda: not processes.of_session(process.pid)), "nothing is left of the run")


def survives(recipe, fail, hangs=True):
    """Ten runs, of which some fail. fail(how) says what the receiver does from now on."""
    world, t = recipe.world, recipe.t
    for how in ("answers", "fails", "is silent", "answers", "fails"):
        world.program.work()
        if how == "is silent" and not hangs:
            continue
        fail(how)
        if how == "answers":
            recipe.run()
        else:
            recipe.run(UPLOADER_FAILED, "covers this window too", LIMIT="0.4" if how == "is silent" else "300")
    while world.asked.acquire(blocking=False):
        pass
    fail("takes it and is silent")
    world.program.work()
    recipe.kill(lambda: world.asked.acquire(timeout=harness.TIMEOUT))
    fail("answers")
    world.program.work()
    recipe.run()
    world.target = "fails"
    recipe.run(TARGET_FAILED, "500")
    world.target = "answers"
    world.program.restart()
    world.program.work()
    recipe.run(says="restart")
    world.program.time += SECOND
    recipe.run()
    world.program.work()
    recipe.run()
    t.check(world.program.steps == 9, "each step of the program was in a run")


def stamp_of(data):
    """What the stamp in a profile or a request says."""
    found = STAMP.search(pb.inflate(data))
    return dict(re.findall(r"(\w+)=(\w+)", found[0].decode())) if found else {}


def spaces(t, name):
    """What was allocated in this window, by stack. A window without any has no such type in OTLP."""
    types = [f"{one['type']}/{one['unit']}" for one in json.loads(t.succeeds("show", "--json", name, manners=False).text)["types"]]
    if "alloc_space/bytes" not in types:
        return {}
    lines = t.succeeds("show", "--all-frames", "--folded", "--type", "alloc_space/bytes", name).text.splitlines()
    return {stack: int(value) for stack, value in (line.rsplit(" ", 1) for line in lines)}


def arrived(t, world, bodies, receiver, again=True):
    """Of the windows with one id and sequence the highest attempt counts, and together they are what the program did. again:
    one came twice, as survives() makes it."""
    kept = {}
    for number, body in enumerate(bodies):
        name = f"window.{number}"
        t.write(name, body)
        t.succeeds("check", "-q", f"--for={receiver}", name)
        said = stamp_of(body)
        key, attempt = (said["id"], int(said["seq"])), int(said["attempt"])
        t.check(key not in kept or kept[key][0] < attempt, f"window {key} has a higher attempt if it comes again")
        kept[key] = attempt, spaces(t, name)
    t.check(len(kept) >= 4 and (len(bodies) > len(kept)) == again, f"{len(kept)} windows in {len(bodies)} requests")
    total = collections.Counter()
    for _, window in kept.values():
        total.update(window)
    t.equal({stack: value for stack, value in total.items() if value}, world.program.space())
    return kept


# ---- the recipes that send by HTTP ----------------------------------------------------------------------

def whole(t, got):
    return got.body


def form(t, got):
    """The profile of Pyroscope's multipart form, whose other part says that nothing is cumulative."""
    message = email.message_from_bytes(b"Content-Type: " + got.headers["Content-Type"].encode() + b"\r\n\r\n" + got.body,
                                       policy=email.policy.HTTP)
    parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
    t.equal(sorted(parts), ["profile", "sample_type_config"])
    t.equal(got.query["spyName"], "gospy")
    t.check(all(part.get_filename() for part in parts.values()), "Pyroscope reads parts with file names only")
    config = json.loads(parts["sample_type_config"].get_payload(decode=True))
    t.check(config["alloc_space"]["units"] == "bytes" and not any(one.get("cumulative") for one in config.values()), f"{config}")
    t.equal(got.query["name"], "shop")
    return parts["profile"].get_payload(decode=True)


def push(t, got):
    [series] = json.loads(got.body)["series"]
    t.equal({one["name"]: one["value"] for one in series["labels"]},
            {"__name__": "memory", "service_name": "shop", "__delta__": "false"})
    [sample] = series["samples"]
    t.check(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", sample["ID"]), sample["ID"])
    return base64.b64decode(sample["rawProfile"], validate=True)


def write_raw(t, got):
    [series] = json.loads(got.body)["series"]
    t.equal({one["name"]: one["value"] for one in series["labels"]["labels"]}, {"__name__": "memory", "job": "shop"})
    [sample] = series["samples"]
    return base64.b64decode(sample["rawProfile"], validate=True)


def numbered(t, got):
    said = stamp_of(got.body)
    t.equal([got.headers[f"Pprofdelta-{name}"] for name in ("Service", "Id", "Sequence", "Attempt")],
            ["shop", said["id"], said["seq"], said["attempt"]])
    return got.body


def signed(t, got):
    """The name has what tells windows and attempts apart, and the signature (AWS Signature Version 4) is of these bytes."""
    said = stamp_of(got.body)
    t.equal(got.path, f"/profiles/shop.{said['id']}.{int(said['seq']):08}.{said['attempt']}.pb.gz")
    headers = {name.lower(): value for name, value in got.headers.items()}
    scope, names, signature = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=key/(\S+), ?SignedHeaders=(\S+), ?Signature=(\S+)",
                                           headers["authorization"]).groups()
    t.check(scope.endswith("/us-east-1/s3/aws4_request"), scope)
    digest = hashlib.sha256(got.body).hexdigest()
    asked = "\n".join(["PUT", got.path, "", *(f"{name}:{headers[name].strip()}" for name in names.split(";")), "", names, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = b"AWS4secret"
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    t.equal(signature, key.hex())
    return got.body


OTLP = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
BYTES = {"Content-Type": "application/octet-stream"}
Form = collections.namedtuple("Form", "path headers receiver unpack")
BY_HTTP = {
    "pyroscope/otlp.sh": Form("/v1development/profiles", OTLP, "pyroscope", whole),
    "pyroscope/ingest.sh": Form("/ingest", {}, "pyroscope", form),
    "pyroscope/push.sh": Form("/push.v1.PusherService/Push", JSON, "pyroscope", push),
    "parca/writeraw.sh": Form("/api/profiles/writeraw", JSON, "parca", write_raw),
    "otel-collector/cron.sh": Form("/v1development/profiles", OTLP, "otel", whole),
    "curl/send.sh": Form("/", BYTES, "pprof", numbered),
    "files/s3.sh": Form(None, BYTES, "pprof", signed),
}
ELSEWHERE = {"parca/otlp.sh", "files/folder.sh", "clickhouse/load.sh"}  # with tests of their own


def by_http(t, script):
    world, due = World(), BY_HTTP[script]
    t.write("credentials", b'user = "key:secret"\n')
    recipe = Recipe(t, world, script, RECEIVER=world.url + ("/" if due.path == "/" else ""), BUCKET=world.url + "/profiles")
    try:
        survives(recipe, lambda how: setattr(world, "receiver", how))
        bodies = []
        for got in world.got:
            t.equal(got.path, due.path or got.path, script)
            for name, value in due.headers.items():
                t.equal(got.headers.get(name), value, f"{script}: {name}")
            bodies.append(due.unpack(t, got))
        return arrived(t, world, bodies, due.receiver)
    finally:
        world.end()


def test_pyroscope_by_otlp(t):
    by_http(t, "pyroscope/otlp.sh")


def test_pyroscope_by_ingest(t):
    by_http(t, "pyroscope/ingest.sh")


def test_pyroscope_by_push(t):
    by_http(t, "pyroscope/push.sh")


def test_parca_by_write_raw(t):
    by_http(t, "parca/writeraw.sh")


def test_collector_by_cron(t):
    by_http(t, "otel-collector/cron.sh")


def test_curl(t):
    by_http(t, "curl/send.sh")


def test_files_in_a_store(t):
    by_http(t, "files/s3.sh")


# ---- files ------------------------------------------------------------------------------------------------

MV = """#!/bin/sh
case $(cat {mode}) in
fails) exit 1 ;;
*silent) {mv} "$@" && : >{taken} && exec sleep 3600 ;;
*) exec {mv} "$@" ;;
esac
"""


def in_folder(t):
    """Files in deltas/, as the recipe leaves them after failures."""
    world = World()
    recipe = Recipe(t, world, "files/folder.sh", FOLDER=t.path("deltas"))
    words = {"mode": t.path("mode"), "taken": t.path("taken"), "mv": "/bin/mv"}
    os.chmod(t.write("bin/mv", MV.format_map({k: shlex.quote(v) for k, v in words.items()}).encode()), 0o755)
    world.asked.acquire = lambda blocking=True, timeout=None: blocking and harness.until(lambda: os.path.exists(t.path("taken")), timeout)
    try:
        survives(recipe, lambda how: t.write("mode", how.encode()), hangs=False)
    finally:
        world.end()
    return world


def test_files_in_a_folder(t):
    world = in_folder(t)
    files = sorted(glob.glob(t.path("deltas/*.pb.gz")))
    arrived(t, world, [pb.load(path) for path in files], "pprof")
    for path in files:
        said = stamp_of(pb.load(path))
        t.equal(os.path.basename(path), f"shop.{said['id']}.{int(said['seq']):08}.{said['attempt']}.pb.gz")
    t.succeeds("sum", "-q", *files, "-o", "sum")
    t.equal(spaces(t, "sum"), world.program.space())


# ---- databases ------------------------------------------------------------------------------------------------

REQUIREMENTS = [os.path.join(real.root, "bindings", "python", "requirements", name) for name in ("test.txt", "spark.txt")]
CLICKHOUSE = """#!{python}
import sys
import chdb
assert sys.argv[1:3] == ["local", "--queries-file"], sys.argv
with open(sys.argv[3], encoding="utf-8") as file:
    print(chdb.query(file.read().replace("FORMAT CSV", ""), "CSV"), end="")
"""


def test_databases(t):
    """Of the files that failures and attempts have left, each window counts once."""
    try:
        python = real.python_with(*REQUIREMENTS)
    except real.Missing as why:
        t.skip(str(why))
    world = in_folder(t)
    os.chmod(t.write("bin/clickhouse", CLICKHOUSE.format(python=python).encode()), 0o755)
    want = {stack.rsplit(";", 1)[1]: value for stack, value in world.program.space().items()}
    for command in ([os.path.join(EXAMPLES, "clickhouse", "load.sh")], [python, os.path.join(EXAMPLES, "duckdb", "top.py")]):
        ran = subprocess.run(command, cwd=t.dir, capture_output=True, text=True, check=False, timeout=harness.TIMEOUT,
                             env={**os.environ, "PATH": f"{t.path('bin')}:{os.environ['PATH']}"})
        t.equal(ran.returncode, 0, ran.stderr)
        t.equal({name: int(value) for name, value in csv.reader(io.StringIO(ran.stdout))}, want, command[-1])


# ---- the real things ---------------------------------------------------------------------------------------------

def windows(recipe, fail, took=lambda: None):
    """Windows of which each second fails at first, and a restart."""
    for number in range(4):
        recipe.world.program.work()
        if number % 2:
            recipe.run(UPLOADER_FAILED, "covers this window too", **fail())
            recipe.world.program.work()
        recipe.run(says="restart" if number == 3 else "")
        took()
        if number == 2:
            recipe.world.program.restart()


def real_thing(t, make):
    try:
        return make()
    except real.Missing as why:
        t.skip(str(why))


CURL = """#!/bin/sh
case $* in
*ProfilesService*) tee {frame} | {curl} "$@" ;;
*) exec {curl} "$@" ;;
esac
"""


def test_parca_by_otlp(t):
    """The gRPC receiver of a real Collector has Parca's service. What it holds, pdata would write in another way, so the
    frame is looked at that is sent."""
    source = os.path.join(real.here, "collector")
    world, held = World(), []
    collectors.collector = real_thing(t, lambda: real.Program(real.go_program(source, ".")))
    try:
        recipe = Recipe(t, world, "parca/otlp.sh", RECEIVER="http://" + collectors.ask("grpc"))
        words = {"frame": t.path("frame"), "curl": shutil.which("curl")}
        os.chmod(t.write("bin/curl", CURL.format_map({k: shlex.quote(v) for k, v in words.items()}).encode()), 0o755)

        def took():
            frame = t.load("frame")
            t.equal(frame[:5], b"\0" + (len(frame) - 5).to_bytes(4, "big"))
            held.append(frame[5:])

        windows(recipe, lambda: collectors.ask("fail", "503", "1") and {}, took)
        got = collectors.ask("received")
        t.equal([one["status"] for one in got], [200, 503, 200, 200, 503, 200])
        t.check(all(one["resource"] == {"service.name": "shop"} for one in got), f"{got}")
        arrived(t, world, held, "parca", again=False)
        t.equal(glob.glob(t.path("tmp.*")), [], "the recipe leaves no file behind")
    finally:
        collectors.end()
        world.end()


def test_pyroscope_itself(t):
    """The /ingest of a real Pyroscope, whose totals are what the program did."""
    os.mkdir(t.path("pyroscope"))
    real_thing(t, lambda: backends.prepare(t.path("pyroscope")))
    world = World()
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    try:
        recipe = Recipe(t, world, "pyroscope/ingest.sh", RECEIVER="http://" + backends.server.address)
        windows(recipe, lambda: {"RECEIVER": "http://127.0.0.1:%d" % closed.getsockname()[1]})
        hours = 2 * 3600 // backends.WINDOW
        total, own = backends.ask("shop", "alloc_space", int(time.time() - backends.BEGIN) // backends.WINDOW - hours // 2, hours)
        want = {stack.rsplit(";", 1)[1]: value for stack, value in world.program.space().items()}
        t.equal((total, own), (sum(want.values()), want))
    finally:
        closed.close()
        backends.end()
        world.end()


def test_alloy(t):
    """What its page says to run sends to the address at which its configuration listens."""
    folder = os.path.join(EXAMPLES, "alloy")
    page, config = (pb.load(os.path.join(folder, name)).decode() for name in ("README.md", "config.alloy"))
    host, port = (re.search(rf"listen_{what} += (\S+)", config)[1].strip('"') for what in ("address", "port"))
    [(receiver, script)] = re.findall(r"^    RECEIVER=(\S+) SERVICE=checkout (\S+)$", page, re.M)
    t.equal((receiver, os.path.normpath(os.path.join("alloy", script))), (f"http://{host}:{port}", "pyroscope/push.sh"))


COLLECTOR = os.path.join(real.root, "bindings", "otelcol", "collector")


class Collector:
    """A whole Collector with collector.yaml, in which OTLP receivers stand for contrib's of pprof."""

    def __init__(self, t, program, world):
        self.t, self.program, self.process = t, program, None
        self.ports = {}
        config = pb.load(os.path.join(EXAMPLES, "otel-collector", "collector.yaml")).decode()
        for kind in ("heap", "mutex", "block"):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.ports[kind] = free.getsockname()[1]
            config = self.put(config, rf"pprof/{kind}: {{remote.*}}", f"otlp/{kind}: {{protocols: {{http: {{endpoint: "
                              f"'127.0.0.1:{self.ports[kind]}'}}}}}}")
            config = self.put(config, rf"\bpprof/{kind}\b", f"otlp/{kind}")
        config = self.put(config, r"  resource:\n    attributes:\n(      - .*\n)+", "")
        config = self.put(config, r"\[resource, ", "[")
        config = self.put(config, "/var/lib/otelcol", t.path("storage"))
        config = self.put(config, "https://profiles.example.com", world.url)
        config = self.put(config, "service:\n", "service:\n  telemetry: {metrics: {level: none}, logs: {disable_stacktrace: true}}\n")
        t.write("collector.yaml", config.encode())
        os.mkdir(t.path("storage"))

    def put(self, config, pattern, text, times=1):
        config, found = re.subn(pattern, lambda _: text, config)
        self.t.equal(found, times, pattern)
        return config

    def begin(self):
        with open(self.t.path("log"), "ab") as log:
            self.process = subprocess.Popen([self.program, "--feature-gates=service.profilesSupport",
                                             "--config=" + self.t.path("collector.yaml")], stdout=log, stderr=log)
        for port in self.ports.values():
            self.t.check(harness.until(lambda: self.process.poll() is not None or self.listens(port)) and self.process.poll() is None,
                         f"the collector begins: {self.t.load('log').decode()[-2000:]}")

    @staticmethod
    def listens(port):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def scrape(self, kind, profile):
        """As a receiver of pprof does: the cumulative profile, as OTLP. Returns whether it was passed on."""
        self.t.write("scraped", profile)
        request = self.t.succeeds("sum", "scraped", "-q", "--for=otel", "--compress=none").out
        try:
            with urllib.request.urlopen(urllib.request.Request(
                    f"http://127.0.0.1:{self.ports[kind]}/v1development/profiles", request,
                    {"Content-Type": "application/x-protobuf"}), timeout=harness.TIMEOUT):
                return True
        except (urllib.error.HTTPError, ConnectionError):
            return False


def test_collector_scrapes(t):
    world = World()
    collector = Collector(t, real_thing(t, lambda: real.go_program(COLLECTOR, ".")), world)
    try:
        collector.begin()
        for number in range(8):
            if number in (2, 5):
                collector.kill()
                collector.begin()
            if number == 6:
                world.program.restart()
            world.program.work()
            world.receiver = "fails" if number in (3, 4) else "answers"
            t.equal(collector.scrape("heap", world.program.profile()), world.receiver == "answers", f"window {number}")
        heaps = list(world.got)
        for got in heaps:
            t.equal((got.path, got.headers["Content-Type"], got.headers["Content-Encoding"]),
                    ("/v1development/profiles", OTLP["Content-Type"], "gzip"))
        # pdata writes the keys and values of the resource as references, of which profcheck, Parca and Pyroscope know nothing.
        arrived(t, world, [got.body for got in heaps], "pyroscope", again=False)
        t.contains(t.run("check", "--for=pyroscope", "window.0").err, "the key of attribute 0 of the resource is a reference")
        t.contains(t.fails(1, "check", "--for=parca", "window.0").err, "attribute 0 of the resource has no key")
        for kind in ("mutex", "block"):
            for number in (1, 2):
                profile = pb.load(os.path.join(real.root, "testdata", "valid", f"{kind}.{number}.pb.gz"))
                t.equal(collector.scrape(kind, profile), True, f"{kind} {number}")
        t.equal(len(world.got), len(heaps) + 4, "each other profile has windows of its own")
    finally:
        if collector.process:
            collector.kill()
        world.end()


# ---- all of them ---------------------------------------------------------------------------------------------------

def test_each_is_short_and_has_a_test(t):
    files = [os.path.relpath(path, EXAMPLES) for path in glob.glob(os.path.join(EXAMPLES, "*", "*")) if "many-targets" not in path]
    scripts = {path for path in files if path.endswith(".sh")}
    t.equal(scripts, set(BY_HTTP) | ELSEWHERE)
    table = pb.load(os.path.join(EXAMPLES, "README.md")).decode()
    for folder in {os.path.dirname(path) for path in files}:
        t.contains(table, f"({folder}/README.md)")
    for path in files:
        text = pb.load(os.path.join(EXAMPLES, path)).decode()
        if path.endswith("README.md"):
            t.contains(text, "Run with: ")
            continue
        t.check(len(text.splitlines()) <= 25, f"{path} has more than 25 lines")
        t.contains(pb.load(os.path.join(EXAMPLES, os.path.dirname(path), "README.md")).decode(), os.path.basename(path))
        t.check(not path.endswith(".sh") or os.access(os.path.join(EXAMPLES, path), os.X_OK), path)
