"""leaks, over servers with planted leaks: what is found, what is missed, and what is a false suspect."""

import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
servers = []  # the folder with those that were built
LEAKS = ("leak_fast", "leak_slow", "leak_rare", "leak_thread")


def site(finding):
    """The leak, or the innocent part of the server, that the stack goes through: its function."""
    for frame in finding["stack"]:
        name = frame["function"]
        name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name.replace("leakGoroutine", "leak_thread")).lower()
        found = re.search(r"leak_(fast|slow|rare|thread)|fill_cache|write_ring|grow_pool|open_session|"
                          r"collect_batch|answer|start_up|load_again|newproc", name)
        if found:
            return found.group().replace("newproc", "leak_thread")
    return finding["stack"][0]["function"]


def build(t, language):
    """The server of a language, built once if its compiler is here."""
    source = os.path.join(HERE, "server." + {"cpp": "cc", "rust": "rs", "go": "go"}[language])
    if not servers:
        servers.append(tempfile.mkdtemp(prefix="pprofdelta-servers-"))
        atexit.register(shutil.rmtree, servers[0], ignore_errors=True)
    out = os.path.join(servers[0], language)
    if os.path.exists(out):
        return out
    command = {"cpp": ["c++", "-g", "-O2", "-pthread", source, "-o", out],
               "rust": ["rustc", "-g", "-O", source, "-o", out],
               "go": ["go", "build", "-trimpath", "-o", out, source]}[language]
    if not shutil.which(command[0]):
        t.skip(f"there is no {command[0]}")
    subprocess.run(command, check=True, cwd=t.dir, env={**os.environ, "CGO_ENABLED": "0"})
    return out


def record(t, server, windows, requests, rate):
    os.makedirs(t.path("profiles"), exist_ok=True)
    arguments = [server, "profiles", str(windows), str(requests)]
    if server.endswith("go") or t.language == "go":
        env = {**os.environ, "RATE": str(rate)}
        subprocess.run(arguments, check=True, cwd=t.dir, env=env)
    else:
        t.succeeds("record", "-o", "profiles", f"--rate={rate}", "--interval=1h", "--", *arguments)


def judge(t):
    """The sites of all suspects, and of all stacks."""
    report = json.loads(t.succeeds("leaks", "--json", "--all", "--every=60s", "profiles").text)
    t.equal(len(report["runs"]), 1)
    findings = report["runs"][0]["findings"]
    return {site(f) for f in findings if f["kind"] == "suspect"}, {site(f) for f in findings}


def judge_kind(t, kind, windows, rate):
    """Records the program of this kind. Returns the functions that are suspects, and the reasons of the kind's own."""
    server = os.path.join(t.targets, "leaks_kinds")
    if not os.path.exists(server):
        t.skip("there is no C++ compiler")
    os.mkdir(t.path(kind))
    t.succeeds("record", "-o", kind, f"--rate={rate}", "--interval=1h", "--", server, kind, str(windows), kind)
    findings = json.loads(t.succeeds("leaks", "--json", "--all", "--every=3s", kind).text)["runs"][0]["findings"]
    places = [(re.search(r"(leak|calm|serve)_\w*?(?=v?\b)|$", f["place"]["function"] if f["place"] else "").group(), f)
              for f in findings]  # of a mapping it may be mangled, if the last windows have no account
    return {place for place, f in places if f["kind"] == "suspect"}, {f["reason"] for place, f in places if place == kind}


# What each rule is for, with each allocation a sample; measure.py has all kinds and real rates.
KINDS = {"leak_below_churn": "survives", "leak_at_cache": "survives", "leak_grown": "survives", "leak_backlog": "backlog",
         "leak_vector": "buffer", "leak_drained": "survives", "calm_cache_half": "filled", "calm_queue": "flat", "calm_mapping": "filling",
         "calm_shrink": "sawtooth"}


def test_kinds(t):
    for kind, reason in KINDS.items():
        suspects, reasons = judge_kind(t, kind, 18, 1)
        t.equal(suspects, {kind} if kind.startswith("leak") else set(), kind)
        t.check(reason in reasons, f"{kind}: {reasons}")


def check_all(t, language, server):
    t.language = language
    record(t, server, 24, 25000, 1)
    suspects, sites = judge(t)
    t.equal(suspects, set(LEAKS))
    t.check({"fill_cache", "write_ring", "grow_pool", "open_session", "collect_batch"} <= sites,
            f"some parts of the server are in no stack: {sites}")
    t.equal(t.run("leaks", "--fail", "--every=60s", "profiles").code, 5)


def test_cpp(t):
    server = os.path.join(t.targets, "leaks_server_cpp")
    if not os.path.exists(server):
        t.skip("there is no C++ compiler")
    check_all(t, "cpp", server)


def test_rust(t):
    check_all(t, "rust", build(t, "rust"))


def line_of(source, text):
    """The number of the first line that has the text."""
    with open(os.path.join(HERE, source), encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if text in line)


def check_the_line(t, language, source, function, text):
    """The headline of a suspect is the line that leaks in an optimised program; its stacks end with main."""
    t.language = language
    if "without libdw" in t.run("symbolize", "/dev/null").err:
        t.skip("this build does not read debug information")
    record(t, build(t, language), 10, 2000, 1)
    printed = t.succeeds("leaks", "--every=60s", "--top=100", "profiles").text
    suspects = [part for part in printed.split("\n\n") if part.startswith("suspect")]
    line = line_of(source, text)
    own = [s for s in suspects if re.match(f"suspect [0-9]+: {function}  .*/{source}:{line}\n", s)]
    t.equal(len(own), 1, printed)
    t.contains(own[0], "what is allocated stays, and more comes", " were freed\n")
    stacks = re.split(r"(?:\n {10}\S.*)+\n", own[0])[1:]
    for stack in filter(None, stacks):
        t.check(re.search(f"{function} .*/{source}:{line}\n", stack), stack)
        t.check(re.search(f" (server::)?main .*/{source}:[0-9]+$", stack), stack)


def test_the_line_that_leaks_in_cpp(t):
    check_the_line(t, "cpp", "server.cc", "Server::leak_fast", "open.push_back(new Session)")


def test_the_line_that_leaks_in_rust(t):
    check_the_line(t, "rust", "server.rs", "server::Server::leak_fast",
                   "Box::new([1u8; 512])")
