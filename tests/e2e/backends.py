"""A backend that takes pprof profiles: run.py backends PPROFDELTA

Pyroscope (backend/main.go: its handlers, its storage, its queries) gets our deltas by HTTP, as an
agent would send them, and is asked for its totals: of each window, and of all of them together.
Skipped (77) where there is no Go, or Pyroscope's module cannot be had.
"""

import json
import os
import urllib.parse
import urllib.request
import uuid

import harness
import pb
import real

BEGIN = 1767225600  # a time on one of Pyroscope's steps of ten seconds
WINDOW = 10
TYPES = {"alloc_objects": "objects", "alloc_space": "bytes", "inuse_space": "bytes"}

server = None


def prepare(folder):
    global server
    program = real.go_program(os.path.join(real.here, "backend"), ".", cgo="1")  # for the zstd of its database
    data = os.path.join(folder, "data")
    os.mkdir(data)
    server = real.Program(program, data)


def end():
    server.end()


def multipart(parts):
    boundary = uuid.uuid4().hex
    body = b""
    for name, data in parts:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"'
                 "\r\n\r\n").encode() + data + b"\r\n"
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def send(app, window, delta):
    """As an agent does: the profile, what its types mean, and the time that it covers."""
    config = {kind: {"units": unit, "display-name": kind, "aggregation": "sum", "sampled": False}
              for kind, unit in TYPES.items()}
    begin = BEGIN + window * WINDOW
    query = urllib.parse.urlencode({"name": app, "from": begin, "until": begin + WINDOW,
                                    "spyName": "gospy"})
    kind, body = multipart([("profile", delta), ("sample_type_config", json.dumps(config).encode())])
    request = urllib.request.Request(f"http://{server.address}/ingest?{query}", body,
                                     {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
        return answer.status


def ask(app, kind, first, count):
    """The total of some windows, and what each function has of its own."""
    begin = BEGIN + first * WINDOW
    query = urllib.parse.urlencode({"query": f"{app}.{kind}{{}}", "from": begin, "format": "json",
                                    "until": begin + count * WINDOW, "max-nodes": 1 << 20})
    said = json.loads(server.get(f"/render?{query}"))["flamebearer"]
    own = {}
    for level in said["levels"]:
        for at in range(0, len(level), 4):
            name = said["names"][level[at + 3]]
            own[name] = own.get(name, 0) + level[at + 2]
    return said["numTicks"], {name: value for name, value in own.items() if value}


# Three profiles: `parse` allocates in both windows, `grow` in the second only, `keep` holds what it has.
PROFILES = [
    {("parse", "serve", "main"): [100, 6400, 2, 128], ("keep", "main"): [7, 7000, 7, 7000]},
    {("parse", "serve", "main"): [150, 9600, 3, 192], ("keep", "main"): [7, 7000, 7, 7000]},
    {("parse", "serve", "main"): [450, 28800, 1, 64], ("keep", "main"): [7, 7000, 7, 7000],
     ("grow", "serve", "main"): [1 << 40, 1 << 50, 0, 0]},
]


def lay(t, addresses=True):
    for number, samples in enumerate(PROFILES):
        t.write(f"profile.{number}", pb.gz(pb.profile(list(samples.items()), addresses=addresses,
                                                   time=(BEGIN + number * WINDOW) * 10**9)))


def test_totals_of_windows(t):
    lay(t)
    for window in (0, 1):
        t.succeeds(f"profile.{window}", f"profile.{window + 1}", "--verify", "-q", "-o", "delta")
        t.equal(send("service", window, t.load("delta")), 200)
    t.equal(ask("service", "alloc_objects", 0, 1), (50, {"parse": 50}))
    t.equal(ask("service", "alloc_space", 0, 1), (3200, {"parse": 3200}))
    t.equal(ask("service", "alloc_objects", 1, 1), ((1 << 40) + 300, {"parse": 300, "grow": 1 << 40}))
    both, own = ask("service", "alloc_space", 0, 2)
    t.equal(both, 28800 - 6400 + (1 << 50), "both windows are the last profile less the first")
    t.equal(own, {"parse": 28800 - 6400, "grow": 1 << 50})
    t.equal(ask("service", "inuse_space", 0, 1), (7192, {"parse": 192, "keep": 7000}))


def test_profiles_without_addresses(t):
    lay(t, addresses=False)
    t.succeeds("profile.1", "profile.2", "-q", "-o", "delta")
    t.equal(send("symbols", 0, t.load("delta")), 200)
    t.equal(ask("symbols", "alloc_objects", 0, 1), ((1 << 40) + 300, {"parse": 300, "grow": 1 << 40}))
