"""Does "Find a leak in ten minutes" work as it is written? The commands are those of README.md, with shorter
times. `./server` is a server with planted leaks; for Go, a loopback server hands out its heap profiles, one
for each request. The verdict is that of the windows' times here, so only the run is checked, not the
suspects."""

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading

from planted import HERE, build

sys.path[:0] = [os.path.join(HERE, "..", "support")]
from pages import blocks, examples, one  # noqa: E402


def commands(start):
    """The commands of README.md that begin like this."""
    return one(blocks("sh"), start)


def shell(t, text, **changes):
    for old, new in changes.items():
        t.check(old in text, f"{old!r} is not in the page")
        text = text.replace(old, new)
    ran = t.shell("set -e\n" + text)
    t.equal(ran.returncode, 0, ran.stderr)
    return ran.stdout


def put_server(t, program, windows, requests):
    """./server, as the page calls it."""
    t.write("server", f"#!/bin/sh\nexec {program} profiles {windows} {requests}\n".encode())
    os.chmod(t.path("server"), 0o755)


def check_report(t, out, least=10):
    t.contains(out, "run       ", "in use    ", "verdict   ")
    found = re.search(r"(\d+) windows in ", out)
    t.check(found and int(found.group(1)) >= least, f"there are not enough windows: {out[:300]}")
    t.check(re.search(r"verdict   \d+ suspects?, \d+ unknown", out), f"there is no verdict: {out[:300]}")


def test_the_manual_has_the_same_commands(t):
    t.equal([commands("pprofdelta record"), commands("mkdir")], examples("pprofdelta-leaks.1")[:2])


def test_cpp(t):
    program = os.path.join(t.targets, "leaks_server_cpp")
    if not os.path.exists(program):
        t.skip("there is no C++ compiler")
    put_server(t, program, 12, 2000)
    check_report(t, shell(t, commands("pprofdelta record"), **{"60s": "1h"}))


def test_rust(t):
    put_server(t, build(t, "rust"), 12, 500)
    check_report(t, shell(t, commands("pprofdelta record"), **{"60s": "1h"}))


def test_go(t):
    program = build(t, "go")
    if not shutil.which("curl"):
        t.skip("there is no curl")
    os.mkdir(t.path("made"))
    subprocess.run([program, "made", "12", "2000"], check=True, cwd=t.dir, env={**os.environ, "RATE": "1"})
    made = sorted(os.listdir(t.path("made")))
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            """The third answer is an error, and the fifth breaks off: neither leaves a file."""
            asked.append(self.path)
            body = t.load(os.path.join("made", made.pop(0)))
            self.send_response(503 if len(asked) == 3 else 200 if self.path == "/debug/pprof/heap" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:100] if len(asked) == 5 else body)

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        out = shell(t, commands("mkdir"), **{"localhost:6060": f"127.0.0.1:{server.server_port}",
                                                  "sleep 60": "sleep 0"})
    finally:
        server.shutdown()
        server.server_close()
    check_report(t, out, least=7)
    t.equal(sorted(os.listdir(t.path("profiles"))),
            [f"{i:02}.pb.gz" for i in range(1, 11) if i not in (3, 5)])
