"""A Go server with net/http/pprof, scraped as the cron recipe does: run.py goserver PPROFDELTA

Each delta is held against google/pprof's Merge sample by sample, counts what the server did, and is
opened by `go tool pprof`. Profiles that count nothing get an error that says so. Skipped (77) where
there is no Go or no curl, or its modules cannot be had.
"""

import concurrent.futures
import os
import socket
import subprocess
import urllib.error
import urllib.request

import harness
import real

ROUNDS = 500  # as in server/main.go
# What each call asks for. The runtime may allocate a little for itself below such a call (when it
# helps the collector), so only samples of these sizes are counted.
SIZES = {"allocateLarge": 64 << 10, "allocateSmall": 48}
server = None


def prepare(_):
    global server
    real.need("go", "curl")
    real.google_pprof()
    server = real.Program(real.go_program(os.path.join(real.here, "server"), "."))


def end():
    server.end()


def scrape(t, kind, to):
    done = subprocess.run(["curl", "-sf", "-o", t.path(to), f"http://{server.address}/debug/pprof/{kind}"],
                          timeout=harness.TIMEOUT, check=False)
    t.equal(done.returncode, 0, "curl")


def two_profiles(t, kind, times=2):
    server.get("/work")
    scrape(t, kind, "prev")
    for _ in range(times):
        server.get("/work")
    scrape(t, kind, "cur")
    t.succeeds("prev", "cur", "--verify", "-o", "delta", "-q")


def pprof(t, *args):
    ran = subprocess.run(["go", "tool", "pprof", *args, t.path("delta")], capture_output=True,
                         timeout=harness.TIMEOUT, check=False, env={**os.environ, "PPROF_TMPDIR": t.dir})
    t.equal(ran.returncode, 0, ran.stderr.decode())
    return ran.stdout.decode()


def test_heap(t):
    two_profiles(t, "heap")
    real.agrees_with_merge(t)
    for name, size in SIZES.items():
        rows = t.succeeds("show", "--folded", "--type=alloc_objects", f"--tag=bytes={size}", "delta").text
        counted = sum(int(line.rsplit(" ", 1)[1]) for line in rows.splitlines() if name in line)
        t.equal(counted, 2 * ROUNDS, name)
    large = SIZES["allocateLarge"]
    t.contains(pprof(t, "-top", "-unit=B", "-sample_index=alloc_space", f"-tagfocus={large}b"),
               "main.allocateLarge", f"{2 * ROUNDS * large}B")
    t.contains(pprof(t, "-raw"), "main.allocateSmall", "pprofdelta: delta", "Samples:")


def test_the_other_kinds(t):
    for kind, name, of in (("allocs", "main.allocateLarge", "alloc_space"), ("mutex", "main.fight", "delay"),
                           ("block", "main.fight", "delay")):
        two_profiles(t, kind)
        real.agrees_with_merge(t)
        t.contains(pprof(t, "-top", "-cum"), name, f"Type: {of}")


def test_the_web_interface(t):
    two_profiles(t, "heap")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = "127.0.0.1:%d" % free.getsockname()[1]
    process = subprocess.Popen(["go", "tool", "pprof", "-http=" + at, "-no_browser", t.path("delta")],
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env={**os.environ, "PPROF_TMPDIR": t.dir}, start_new_session=True)

    def has_page():
        try:
            with urllib.request.urlopen(f"http://{at}/ui/flamegraph?si=alloc_objects", timeout=harness.TIMEOUT) as page:
                return b"main.allocateLarge" in page.read()
        except urllib.error.URLError:
            return False

    try:
        t.check(harness.until(has_page), "it does not listen, or the function is not in its page")
    finally:
        os.killpg(process.pid, 15)
        process.wait()
        process.stderr.close()


def test_profiles_that_count_nothing(t):
    for profile, kind, counter in (("goroutine", "goroutine", "goroutine/count"),
                                   ("threadcreate", "thread", "threadcreate/count"),
                                   ("profile?seconds=1", "cpu", "cpu/nanoseconds")):
        scrape(t, profile, "prev")
        scrape(t, profile, "cur")
        for args in ((), ("-c", counter)):
            t.contains(t.fails(1, "prev", "cur", "-o", "delta", *args).err, f"this is a {kind} profile ({counter})", "--force")
        t.succeeds("prev", "cur", "-o", "delta", "-c", counter, "--force", "-q")


def test_windows_of_the_server(t):
    """Of a heap no less than of contentions, and whether or not something happens between the two."""
    kinds = ("mutex", "heap", "block", "allocs")
    with concurrent.futures.ThreadPoolExecutor() as pool:  # each answer takes a second
        for name in ("prev", "cur"):
            list(pool.map(lambda kind, to=name: scrape(t, kind + "?seconds=1", kind + to), kinds))
    for kind in kinds:
        t.contains(t.fails(1, kind + "prev", kind + "cur", "-o", "delta").err, "cur is a window already", "?seconds=")
        scrape(t, kind, "whole")
        t.contains(t.succeeds(kind + "prev", "whole", "-o", "delta").err, "if one is a window")


def test_text_form_is_told(t):
    for kind in ("heap?debug=1", "mutex?debug=1", "goroutine?debug=2"):
        scrape(t, kind, "text")
        t.contains(t.fails(1, "check", "text").err, "text")
