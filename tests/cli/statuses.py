"""--status: many states at once, as a table, JSON and OpenMetrics; and the recipe for many targets, examples/many-targets."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.parse

from harness import TIMEOUT
from pb import gz, profile, read
from samples import PREV, SECOND, cur
from world import Handler, Server

NAMES = ("plain", 'quo"te', "back\\slash", "new\nline", "\\n", "\u00fcber")


def parse_metrics(t, text):
    """A reader of OpenMetrics, written from its grammar: {(name, state): value} and {name: unit}. Everything is a gauge
    without a timestamp, which is what node_exporter's textfile collector takes, too."""
    found, units, heads = {}, {}, {}
    lines = text.split("\n")
    t.equal(lines[-2:], ["# EOF", ""])
    for line in lines[:-2]:
        head = re.fullmatch(r'# (TYPE|UNIT|HELP) ([a-z_]+) ([^\\"]+)', line)
        if head:
            kind, family, value = head.groups()
            t.check(kind not in heads.setdefault(family, {}), f"{line}: twice")
            t.check(list(heads)[-1] == family, f"{line}: apart from its family")
            heads[family][kind] = value
            continue
        sample = re.fullmatch(r'([a-z_]+)(?:\{state="((?:[^"\\\n]|\\["n\\])*)"\})? (-?[0-9]+(?:\.[0-9]+)?)', line)
        t.check(sample, f"no line of OpenMetrics: {line!r}")
        if not sample:
            continue
        family, state, value = sample.groups()
        t.equal(family, list(heads)[-1], "a sample apart from its family")
        if state is not None:
            state = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), state)
        t.check((family, state) not in found, f"{line}: twice")
        found[family, state] = float(value)
    for family, head in heads.items():
        t.equal(head.get("TYPE"), "gauge", family)
        t.check(head.get("HELP"), f"{family} has no HELP")
        if "UNIT" in head:
            t.check(family.endswith("_" + head["UNIT"]), family)
            units[family] = head["UNIT"]
    return found, units


def metrics(t, *states, code=0):
    result = t.run("--status=openmetrics", *states)
    t.equal(result.code, code, result.err)
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=result.out, capture_output=True, check=False,
                                 timeout=TIMEOUT)
        t.equal((checked.returncode, checked.stderr), (0, b""), "promtool")
    return parse_metrics(t, result.text)[0], result


def fleet(t, folder="states"):
    """A folder of states, whose last window ended a while ago."""
    os.makedirs(t.path(folder), exist_ok=True)
    now = int(time.time())
    for i, name in enumerate(NAMES):
        t.write("look", gz(profile(PREV, time=(now - 100 * (i + 1)) * SECOND)))
        t.succeeds("--state", f"{folder}/{name}", "look", "-o", "out")
    return now


def damage(t, name, at=60):
    with open(t.path(name), "rb") as file:
        data = bytearray(file.read())
    data[at] ^= 1
    t.write(name, bytes(data))


# ---- many states -----------------------------------------------------------------------------------

def test_metrics_of_a_folder(t):
    now = fleet(t)
    t.fails(4, "--state", "states/plain", "look", "--", "false")
    t.fails(4, "--state", "states/plain", "look", "--", "false")
    found, result = metrics(t, "states")
    t.equal(result.err, "")
    late = time.time() - now
    for i, name in enumerate(NAMES):
        of = {family: value for (family, state), value in found.items() if state == name}
        age = of["pprofdelta_state_window_age_seconds"] - 100 * (i + 1)
        t.check(0 <= age <= late + 1, f"{name!r}: {age}")
        t.equal(of["pprofdelta_state_window_end_timestamp_seconds"], now - 100 * (i + 1))
        t.equal(of["pprofdelta_state_open_attempts"], 2 if name == "plain" else 0)
        t.equal(of["pprofdelta_state_sequence"], 1)
        t.equal(of["pprofdelta_state_bytes"], os.path.getsize(t.path(f"states/{name}")))
        t.equal((of["pprofdelta_state_restart"], of["pprofdelta_state_readable"]), (0, 1))
    t.equal(found["pprofdelta_states_unreadable", None], 0)


def test_a_restart_and_a_first_attempt(t):
    t.write("one", gz(cur()))
    t.write("two", gz(profile([(("other", "main"), [1, 1, 1, 1])], time=time.time_ns())))
    t.succeeds("--state", "a", "one", "-o", "out")
    t.succeeds("--state", "a", "two", "-o", "out")
    t.fails(4, "--state", "b", "one", "--", "false")
    found, _ = metrics(t, "a", "b")
    t.equal([found["pprofdelta_state_restart", name] for name in "ab"], [1, 0])
    t.equal([found["pprofdelta_state_sequence", name] for name in "ab"], [2, 0])
    t.check(("pprofdelta_state_window_age_seconds", "a") in found and
            ("pprofdelta_state_window_age_seconds", "b") not in found, "the age of a window that has not arrived")


def test_a_profile_without_a_time(t):
    """A dump of jemalloc has none: that of the arrival stands in."""
    t.write("one", gz(profile(PREV, time=0)))
    t.succeeds("--state", "s", "one", "-o", "out")
    os.utime(t.path("s"), (1e9, 1e9))
    found, _ = metrics(t, "s")
    t.equal(found["pprofdelta_state_window_end_timestamp_seconds", "s"], 1e9)
    t.fails(4, "--state", "s", "one", "--", "false")
    found, _ = metrics(t, "s")
    t.check(("pprofdelta_state_window_age_seconds", "s") not in found, "the time of an attempt counts as an arrival")


def test_a_damaged_state_hides_no_other(t):
    fleet(t)
    damage(t, "states/plain")
    t.write("states/empty", b"")
    t.write("states/zeros", bytes(300))
    found, result = metrics(t, "states", code=1)
    for name, why in (("plain", "its checksum is wrong"), ("empty", "it is cut off"), ("zeros", "not a state")):
        t.equal(found["pprofdelta_state_readable", name], 0)
        t.check(("pprofdelta_state_bytes", name) not in found, f"{name} has bytes")
        t.check(re.search(f"^pprofdelta: states/{name}: .*{why}", result.err, re.M), result.err)
    t.equal(found["pprofdelta_states_unreadable", None], 3)
    t.equal(sum(found["pprofdelta_state_readable", name] for name in NAMES), len(NAMES) - 1)

    result = t.fails(1, "--status=json", "states")
    read = {line["state"]: line for line in map(json.loads, result.text.splitlines())}
    t.equal(len(read), len(NAMES) + 2)
    t.equal(read["states/plain"], {"state": "states/plain", "readable": False})
    t.equal((read['states/quo"te']["readable"], read['states/quo"te']["sequence"]), (True, 1))
    t.check(200 <= read['states/quo"te']["age_seconds"], str(read))

    rows = t.fails(1, "--status", "states").text.splitlines()
    t.equal(len(rows), 1 + len(NAMES) + 2)
    t.equal(rows[0].split(), ["age", "attempts", "restart", "bytes", "sequence", "state"])
    t.check(any(re.fullmatch(r" +unreadable  states/plain", row) for row in rows), str(rows))
    t.check(any(re.fullmatch(r" +[0-9]+s +0 +no +[0-9]+ +1  states/back\\slash", row) for row in rows), str(rows))


def test_what_is_no_state_is_left_out_of_a_folder(t):
    fleet(t)
    os.mkdir(t.path("states/folder"))
    os.symlink("plain", t.path("states/link"))
    os.mkfifo(t.path("states/pipe"))
    shutil.copy(t.path("look"), t.path("states/profile"))
    t.write("states/.hidden", b"")
    found, result = metrics(t, "states")
    t.equal(sorted(state for family, state in found if family.endswith("_readable")), sorted(NAMES))
    t.equal(result.err, "pprofdelta: note: states/profile: this is a pprof profile, and not a state; it is left out\n")
    t.equal(t.succeeds("--status", "-q", "states").err, "")
    for name, why in (("link", "is a symbolic link"), ("pipe", "is not a regular file"), ("profile", "a pprof profile"),
                      ("nowhere", "No such file")):
        result = t.fails(1, "--status=openmetrics", "states/plain", f"states/{name}")
        t.contains(result.err, why)
        t.contains(result.text, f'pprofdelta_state_readable{{state="{name}"}} 0\n')
        t.contains(result.text, "pprofdelta_states_unreadable 1\n# EOF\n")


def test_states_with_one_name(t):
    for folder in ("a", "b"):
        fleet(t, folder)
    found, _ = metrics(t, "a", "b/plain")
    states = {state for _, state in found if state}
    t.equal(states, {"a/plain", "b/plain", *NAMES[1:]})
    found, _ = metrics(t, "a", "b", "a/plain", "b", "a")
    t.equal(len({state for _, state in found if state}), 2 * len(NAMES))
    found, _ = metrics(t, "a/plain", "nowhere/", code=1)
    t.equal(found["pprofdelta_state_readable", "nowhere/"], 0)


def test_the_forms_of_one_state(t):
    fleet(t)
    t.equal(t.succeeds("--status", "states/plain").out, t.succeeds("--state", "states/plain", "--status").out)
    t.contains(t.succeeds("--state", "states/plain", "--status=openmetrics").text,
               'pprofdelta_state_sequence{state="plain"} 1\n')
    t.equal(len(t.succeeds("--status", "--json", "states/plain", "states/\\n").text.splitlines()), 2)
    if os.geteuid():
        os.mkdir(t.path("closed"), 0)
        result = t.fails(1, "--status=openmetrics", "closed", "states")
        t.contains(result.err, "closed: cannot open: ")
        t.contains(result.text, "pprofdelta_states_unreadable 1\n")
        t.contains(result.text, 'pprofdelta_state_sequence{state="plain"} 1\n')


def test_all_of_500_states(t):
    t.write("look", gz(cur()))
    t.succeeds("--state", "s", "look", "-o", "out")
    os.makedirs(t.path("states"))
    for i in range(500):
        os.link(t.path("s"), t.path(f"states/{i}"))
    found, _ = metrics(t, "states", code=0)
    t.equal({state for family, state in found if family.endswith("_sequence")}, set(map(str, range(500))))
    t.equal(len(t.succeeds("--status", "states").text.splitlines()), 501)


def test_a_merge_has_the_ids_of_the_states_in_its_labels(t):
    t.write("look", gz(cur()))
    for name in "ab":
        t.succeeds("--state", name, "look", "-o", name + ".pb", "-q")
    for option, key in ("--label-target", "target"), ("--label-target=host", "host"):
        raw = t.succeeds("show", "--raw", "-", stdin=t.succeeds("merge", "a.pb", "b.pb", option).out).text
        t.equal(raw.count(f'label "{key}" = "'), 6)
        for name in "ab":
            t.contains(raw, t.succeeds("--state", name, "--status").text.split("id")[1].split()[0])


# ---- examples/many-targets -------------------------------------------------------------------------

EXAMPLE = os.path.join(os.path.dirname(__file__), "../../examples/many-targets")


class Targets(Handler):
    """Each serves a profile or fails; and the receiver at /heap."""

    def do_GET(self):
        self.world.enter(1)
        self.world.gate.wait(TIMEOUT)  # as many are here at once as may be
        name = urllib.parse.unquote(self.path[1:])
        self.answer(*self.world.fails.get(name, (200, self.world.profiles.get(name, b""))))
        self.world.enter(-1)

    def do_POST(self):
        body, name = self.body(), self.headers["Pprofdelta-Target"]
        with self.world.lock:
            self.world.got.setdefault(name, []).append(body)
        self.answer(503 if name in self.world.refuses else 200, b"thanks")


class World:
    """Of many targets, by name."""

    def __init__(self, parallel):
        self.profiles, self.fails, self.refuses, self.got = {}, {}, set(), {}
        self.gate = threading.Barrier(parallel)
        self.lock, self.now, self.most = threading.Lock(), 0, 0
        self.server = Server(Targets, world=self)

    def enter(self, step):
        with self.lock:
            self.now += step
            self.most = max(self.most, self.now)

    def url(self, name):
        return f"{self.server.url}/{urllib.parse.quote(name)}"


def test_the_recipe_for_many_targets(t):
    for tool in ("curl", "xargs", "cksum"):
        if not shutil.which(tool):
            t.skip(f"there is no {tool}")
    names = ["checkout", "cart one", "quo'te", "-dash", "a", "b", "c", "d"]
    world = World(parallel=4)
    for folder in ("targets", "states", "bin"):
        os.makedirs(t.path(folder))
    for name in names:
        t.write(f"targets/{name}", (world.url(name) + "\n").encode())
    os.symlink(t.binary, t.path("bin/pprofdelta"))
    env = {"PATH": f"{EXAMPLE}:{t.path('bin')}:{os.environ['PATH']}", "TARGETS": t.path("targets"), "STATES": t.path("states"),
           "METRICS": t.path("heap.prom"), "RECEIVER": world.url("heap"), "PARALLEL": "4", "JITTER": "50"}

    def run(minute, code):
        now = int(time.time()) - 600 + 60 * minute
        for i, name in enumerate(names):
            world.profiles[name] = gz(profile([(("work", "main"), [10 * minute + i, 100 * minute + i, 1, 1])], time=now * SECOND))
        ran = subprocess.run(["heap-deltas"], cwd=t.dir, env={**os.environ, **env}, capture_output=True, text=True, check=False,
                             timeout=TIMEOUT)
        t.equal((ran.returncode, ran.stdout), (code, ""), ran.stderr)
        return ran.stderr, parse_metrics(t, t.load("heap.prom").decode())[0]

    said, found = run(1, 0)
    t.equal((said, sorted(world.got)), ("", sorted(names)))
    t.equal(sorted(state for family, state in found if family.endswith("_sequence")), sorted(names))
    world.fails = {"a": (500,), "b": (200, b"<html>no profile here</html>"), "c": (200, world.profiles["c"], 50)}
    world.refuses = {"d", "checkout"}
    damage(t, "states/cart one")
    for minute in (2, 3):
        said, found = run(minute, 1)
        for name, why in (("a", "500"), ("b", "HTML"), ("c", "curl: (18)"), ("d", "503"), ("checkout", "503"), ("cart one", "damaged")):
            t.check(re.search(f"^{name}: .*{re.escape(why)}", said, re.M), f"{name}: {why} is not in {said}")
        t.check(not re.search("^(quo'te|-dash): ", said, re.M), said)
    t.equal([found["pprofdelta_state_open_attempts", name] for name in ("checkout", "a", "quo'te")], [2, 0, 0])
    t.equal([found["pprofdelta_state_sequence", name] for name in ("checkout", "a", "quo'te")], [1, 1, 3])
    t.equal((found["pprofdelta_state_readable", "cart one"], found["pprofdelta_states_unreadable", None]), (0, 1))
    os.unlink(t.path("states/cart one"))
    world.fails, world.refuses = {}, set()
    said, found = run(4, 0)
    t.equal({found["pprofdelta_state_open_attempts", name] for name in names}, {0})
    t.equal(world.most, 4, "targets asked at once")
    for i, name in enumerate(names):  # whatever failed, nothing is lost and nothing counts twice
        parts = [t.write(f"{i}.{n}", body) for n, body in enumerate(world.got[name]) if name != "cart one" or n]
        t.equal(read(t.succeeds("sum", *parts, "-q").out).values(), {"work;main": [40 + i, 400 + i, 1, 1]}, name)
    world.server.end()
    os.unlink(t.path("targets/a"))
    os.rename(t.path("targets"), t.path("old"))
    os.makedirs(t.path("targets"))
    ran = subprocess.run(["heap-deltas"], env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    t.equal(ran.returncode, 1)
    t.contains(ran.stderr, "there are no targets")


def test_the_units_and_rules_of_the_recipe(t):
    def text(name):
        return t.load(os.path.join(EXAMPLE, name)).decode()

    t.write("look", gz(cur()))
    t.succeeds("--state", "s", "look", "-o", "out")
    printed = t.succeeds("--status=openmetrics", "s").text
    rules = text("heap-deltas.rules.yml")
    named = set(re.findall(r"pprofdelta_\w+", rules))
    t.check(len(named) > 2 and all(f"\n{name}{{" in printed for name in named), str(named))
    t.equal(len(re.findall("- alert:", rules)), 2)
    if shutil.which("promtool"):
        t.equal(subprocess.run(["promtool", "check", "rules", os.path.join(EXAMPLE, "heap-deltas.rules.yml")], check=False,
                               capture_output=True, timeout=TIMEOUT).returncode, 0, "promtool refuses the rules")
    given = set(re.findall(r"(?:^Environment=| )([A-Z]+)=", text("heap-deltas@.service"), re.M))
    t.equal(given, set(re.findall(r"\b(TARGETS|STATES|METRICS|RECEIVER|PARALLEL|JITTER)\b", text("heap-deltas"))))
    for name in ("heap-deltas", "heap-delta-of", "heap-deltas@.service", "heap-deltas@.timer", "heap-deltas.rules.yml"):
        t.contains(text("README.md"), name)
