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
import http.server
import io
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
import urllib.parse

import backends
import harness
import pb
import processes
import real

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


Got = collections.namedtuple("Got", "path query headers body")


class World:
    """The program's profiles and a receiver of any kind, and what they do."""

    def __init__(self):
        self.program = Program()
        self.target = self.receiver = "answers"  # or fails, is silent; the receiver also takes it and is silent
        self.got = []
        self.asked, self.freed = threading.Semaphore(0), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"world": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def end(self):
        self.freed.set()
        self.server.shutdown()
        self.server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    world = None

    def answer(self, how, body=b""):
        if "silent" in how:
            self.world.asked.release()
            self.world.freed.wait()
            return
        self.send_response(500 if how == "fails" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(self.world.target, self.world.program.profile())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.world.receiver in ("answers", "takes it and is silent"):
            path, _, query = self.path.partition("?")
            self.world.got.append(Got(path, dict(urllib.parse.parse_qsl(query)), dict(self.headers), body))
        self.answer(self.world.receiver)

    do_PUT = do_POST

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:  # curl has gone
            pass


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


def arrived(t, world, bodies, receiver):
    """Of the windows with one id and sequence the highest attempt counts, and together they are what the program did."""
    kept = {}
    for number, body in enumerate(bodies):
        name = f"window.{number}"
        t.write(name, body)
        t.succeeds("check", "-q", f"--for={receiver}", name)
        said = stamp_of(body)
        key, attempt = (said["id"], int(said["seq"])), int(said["attempt"])
        t.check(key not in kept or kept[key][0] < attempt, f"window {key} has a higher attempt if it comes again")
        kept[key] = attempt, spaces(t, name)
    t.check(len(kept) >= 5 and len(bodies) > len(kept), f"{len(kept)} windows in {len(bodies)} requests")
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
    """The name has what tells windows and attempts apart, and the signature is of these bytes."""
    said = stamp_of(got.body)
    t.equal(got.path, f"/profiles/shop.{said['id']}.{int(said['seq']):08}.{said['attempt']}.pb.gz")
    digest = hashlib.sha256(got.body).hexdigest()
    headers = {name.lower(): value for name, value in got.headers.items()}
    t.equal(headers.get("x-amz-content-sha256", digest), digest)
    t.check(headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=key/"), headers["authorization"])
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


def by_http(t, script, command=None):
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
