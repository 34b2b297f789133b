"""Programs of others, as they come: the same output with the agent, and profiles that open."""

import http.client
import os
import re
import shutil
import signal
import socket

import recorded
from agents import (TIMEOUT, checked, need, plainly, quiet, record, same, start, stop,
                    until)
from pb import load


def largest(found):
    """The profiles of the process that allocated most."""
    return max(found.values(), key=lambda ps: sum(p.total(recorded.ALLOC_BYTES) for p in ps))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_redis(t):
    need(t, "redis-server", "redis-benchmark", "redis-cli")
    port = str(free_port())
    process = start(t, "redis-server", "--port", port, "--save", "", "--bind", "127.0.0.1",
                    options=["--interval=300ms", "--rate=64k"])

    def cli(*words):
        return plainly(t, "redis-cli", "-p", port, *words)

    try:
        t.check(until(lambda: cli("ping").out == b"PONG\n"), "the server does not answer")
        bench = plainly(t, "redis-benchmark", "-p", port, "-n", "20000", "-r", "20000", "-q",
                        "-d", "500", "-t", "set,get,lpush,lpop,sadd,hset,mset")
        t.equal(bench.code, 0, "redis-benchmark")
        t.check(bench.out.count(b"requests per second") >= 7, f"{bench.out!r}")
        t.check(int(re.search(rb"\d+", cli("dbsize").out).group()) > 10000, "the keys are lost")
        t.equal(cli("debug", "jmap").code, 0)
        cli("bgsave")  # it forks
        cli("shutdown", "nosave")
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        if process.poll() is None:
            stop(t, process)
    t.equal(process.returncode, 0)
    t.lacks(err.decode() + out.decode(), "pprofdelta:", "crashed", "BUG REPORT")
    windows = largest(checked(t, t.path("out"), killed=None))  # the child may be killed
    t.check(len(windows) >= 2, f"{len(windows)} windows")
    in_use = sum(size for _, size in recorded.add_up(windows).values())
    t.check(in_use >= 0, f"{in_use} bytes in use at the end")
    t.check(sum(p.total(recorded.ALLOC_BYTES) for p in windows) > 20e6, "allocations are missing")


NGINX = """user nobody nogroup; worker_processes 2; daemon off; pid nginx.pid; error_log error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
        server {{ listen 127.0.0.1:{port}; location / {{ return 200 "here\n"; }} }} }}
"""


def test_nginx(t):
    """The master runs as root, and its workers do not. Their standard error is the log."""
    shutil.which("nginx") and os.geteuid() == 0 or t.skip("nginx is not here, or this is not root")
    port, own = free_port(), os.path.join(t.path("out"), "uid-65534")
    os.chmod(t.dir, 0o755)
    t.write("nginx.conf", NGINX.format(port=port).encode())
    process = start(t, "nginx", "-p", t.dir, "-e", "error.log", "-c", "nginx.conf",
                    options=["--interval=200ms", "--rate=1k"])

    def ask():
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
            connection.request("GET", "/")
            return connection.getresponse().read() == b"here\n"
        except OSError:
            return False

    def has_windows():
        ask()
        found = recorded.files(own) if os.path.isdir(own) else {}
        return len(found) == 2 and max(map(len, found.values())) >= 3

    try:
        t.check(until(ask), "the server does not answer")
        t.check(until(has_windows, 20), "the workers have no windows")
    finally:
        stop(t, process, signal.SIGQUIT)
    t.equal(process.returncode, 0)
    t.lacks(load(t.path("error.log")).decode(), "pprofdelta")
    t.equal(len(recorded.files(t.path("out"))), 1, "the master")
    found = checked(t, own)
    t.equal(len(found), 2, "workers")
    t.check(any(p.by_function(recorded.ALLOC_BYTES) for p in largest(found)), "allocations are missing")


def test_python(t):
    code = ("import json, sys, threading, subprocess\n"
            "def work(): return len(json.dumps([{'key': i, 'text': str(i) * 50} for i in "
            "range(20000)]))\n"
            "ts = [threading.Thread(target=work) for _ in range(4)]\n"
            "[x.start() for x in ts]; [x.join() for x in ts]\n"
            "print(work(), subprocess.run(['echo', 'child'], capture_output=True).stdout)\n"
            "import os; pid = os.fork()\n"
            "if pid == 0: work(); os._exit(4)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
            "print('to stderr', file=sys.stderr); sys.exit(5)\n")
    quiet(t, same(t, "/usr/bin/python3", "-c", code, options=["--interval=100ms", "--rate=32k"],
                  code=5))
    found = checked(t, t.path("out"))
    t.check(len(found) >= 2, f"{len(found)} processes: Python and its child at least")


def test_sqlite(t):
    need(t, "sqlite3")
    script = ("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);"
              "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<50000) "
              "INSERT INTO t SELECT x, hex(zeroblob(x % 60)) FROM c;"
              "CREATE INDEX i ON t(b);"
              "SELECT count(*), sum(length(b)), max(b) FROM t;"
              "SELECT group_concat(a) FROM (SELECT a FROM t ORDER BY b DESC, a LIMIT 2000);")
    quiet(t, same(t, "sqlite3", ":memory:", script, options=["--rate=64k"]))
    windows = largest(checked(t, t.path("out")))
    t.check(windows[-1].total(recorded.ALLOC_BYTES) > 1e6, "allocations are missing")


def test_bash(t):
    script = ("f() { local x=$(seq 1 20000); echo ${#x}; }\n"
              "for i in 1 2 3 4 5; do (f; f) & wait $!; echo $?; done\n"
              "echo a b c | tr ' ' '\\n' | sort -r | while read l; do echo \"<$l>\"; done\n"
              "cat <(echo one) <(echo two); trap 'echo bye' EXIT; exit 6")
    quiet(t, same(t, "bash", "-c", script, options=["--rate=16k"], code=6))
    found = checked(t, t.path("out"))
    t.check(len(found) > 10, f"{len(found)} processes")


def test_no_samples_no_thread(t):
    """A program that allocates little stays single-threaded."""
    t.contains(record(t, "cat", "/proc/self/status", options=["--rate=1T"]).out.decode(), "Threads:\t1\n")
    t.equal(os.listdir(t.path("out")), [])
