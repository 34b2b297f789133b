"""A Go server whose binary is replaced, removed or renamed on disk while it lives, as every deploy does:
run.py deploys PPROFDELTA

Go reads the name and the build id of its mappings from the disk at each dump. So after a deploy the same
process has another build id, another name, or no build id. It is no restart: the delta holds what was
allocated in the window alone. What is right is counted here, by the names of the functions, which the
running program knows: cur minus prev for counters, cur for gauges. A process that really began again, with
the same build or another one, is a restart, and its delta is all that it has counted.

Each is tried with a program at fixed addresses, with one that is moved (PIE), with a PIE that has the same
addresses in each process, and with one that has no build id; with two files, and with a state over all
profiles. Skipped (77) where there is no Go.
"""

import collections
import ctypes
import json
import os
import shutil
import subprocess
import sys

import pb
import real

# name: the tags and the build id. The twin has the code of one, all else has other addresses. With one,
# it differs in the build id alone, as a build of the same source by another machine does.
BUILDS = {"one": ("", "11" * 20), "two": ("other", "22" * 20), "twin": ("", "33" * 20)}
FIXED, MOVED, PINNED, BARE = "fixed", "PIE", "PIE at one place", "no build id"
LAYOUTS = {FIXED: "exe", MOVED: "pie", PINNED: "pie", BARE: "bare"}
ADDR_NO_RANDOMIZE = 0x0040000
COUNTERS = {"alloc_objects/count", "alloc_space/bytes", "contentions/count", "delay/nanoseconds"}

built = {}  # (mode, name): its path
servers = []


def prepare(_):
    for name, (tags, build_id) in BUILDS.items():
        for mode in ("exe", "pie"):
            build(mode, name, "-buildmode=" + mode, "-tags=" + tags, "-ldflags=-B=0x" + build_id)
        try:
            build("bare", name, "-tags=" + tags, "-ldflags=-B=none")
        except real.Missing:  # before Go 1.24 none is what it gives by itself
            build("bare", name, "-tags=" + tags)
    pin = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).personality({ADDR_NO_RANDOMIZE}) < 0)"
    if subprocess.run([sys.executable, "-c", pin], check=False).returncode:
        print(f"skipped {PINNED}: the addresses of a process cannot be pinned here")
        del LAYOUTS[PINNED]


def build(mode, name, *flags):
    built[mode, name] = real.go_program(os.path.join(real.here, "server"), ".", *flags)


def layouts(*names):
    return [name for name in names or LAYOUTS if name in LAYOUTS]


def end():
    for server in servers:
        server.end()


# ---- a deploy ----------------------------------------------------------------------------------------

class Server(real.Program):
    """One process, started from the release's binary."""

    def __init__(self, release):
        def personality():
            if release.layout == PINNED:
                ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)

        super().__init__(release.path, preexec_fn=personality)
        servers.append(self)

    def work(self, times=1):
        for _ in range(times):
            self.get("/work")

    def end(self):
        super().end()
        if self in servers:
            servers.remove(self)


class Release:
    """A folder with the binary, and what is done to it."""

    def __init__(self, t, layout, name="one"):
        self.layout = layout
        self.folder = os.path.join(t.dir, "release")
        self.names = 0
        os.mkdir(self.folder)
        self.put(name)

    @property
    def path(self):
        return os.path.join(self.folder, "server")

    def put(self, name):
        """Written under another name and renamed, as packages do: a running binary cannot be written to."""
        shutil.copy(built[LAYOUTS[self.layout], name], self.path + ".new")
        os.rename(self.path + ".new", self.path)

    def rename(self):
        self.names += 1
        os.rename(self.path, f"{self.path}.{self.names}")

    def move_folder(self):
        os.rename(self.folder, self.folder + ".moved")
        self.folder += ".moved"

    def start(self):
        return Server(self)


def replace_folder(release):
    release.move_folder()
    release.folder = os.path.join(os.path.dirname(release.folder), "release")
    os.mkdir(release.folder)
    release.put("two")


# What is done to the binary between two profiles.
STEPS = {"nothing": lambda release: None, "rename": Release.rename, "replace": lambda release: release.put("two"),
         "rename back": lambda release: os.rename(f"{release.path}.{release.names}", release.path),
         "replace by twin": lambda release: release.put("twin"), "put back": lambda release: release.put("one"),
         "remove": lambda release: os.unlink(release.path), "move folder": Release.move_folder,
         "rename and replace": lambda release: (release.rename(), release.put("two")), "replace folder": replace_folder}

# A server lives through all of them: what is done, and whether the name and the build id of its main mapping are
# other ones than in the first profile.
DEPLOYS = [("nothing", False, False), ("rename", True, False), ("rename back", False, False),
           ("replace", False, True), ("replace by twin", False, True), ("put back", False, False),
           ("remove", False, True), ("replace", False, True), ("remove", False, True),
           ("put back", False, False), ("rename and replace", False, True), ("move folder", True, True),
           ("replace folder", True, True), ("nothing", True, True)]


# ---- what is right -------------------------------------------------------------------------------------

class Seen:
    """A profile by the names of its functions, and its main mapping."""

    def __init__(self, data):
        profile = pb.read(data)
        self.types = profile.types
        self.time = profile.time
        self.sums = collections.defaultdict(lambda: [0] * len(self.types))
        for stack, _, values in profile.samples:
            sums = self.sums[";".join(stack)]
            for i, value in enumerate(values):
                sums[i] += value
        self.locations, mapping = profile.locations, next(iter(profile.binaries.values()))
        self.place, self.identity = mapping[:3], mapping[3:]

    def addresses(self, name):
        """Of the function of this name."""
        return {address for _, address, names in self.locations.values() if name in names}

    def of(self, types=None):
        """{stack: values} of what is not zero in any of the types."""
        at = [i for i, name in enumerate(self.types) if not types or name in types]
        return {stack: kept for stack, values in self.sums.items()
                if any(kept := [values[i] for i in at])}

    def minus(self, prev, types=None):
        """The delta: counters are subtracted."""
        out = Seen.__new__(Seen)
        out.types, out.sums = self.types, {}
        for stack, values in self.sums.items():
            before = prev.sums.get(stack, [0] * len(values))
            out.sums[stack] = [value - before[i] if name in COUNTERS else value
                               for i, (name, value) in enumerate(zip(self.types, values))]
        return out.of(types)


def scrape(t, server, name, kind="heap"):
    t.write(name, server.get("/debug/pprof/" + kind))
    return Seen(t.load(name))


def delta_of(t, *args):
    """A delta, and its report."""
    ran = t.run(*args, "--verify", "--report=json", "-o", "delta", manners=False)
    if not t.check(ran.code == 0, f"{args}: exit code {ran.code}: {ran.err}"):
        return None, None
    return Seen(t.load("delta")), json.loads(ran.err)


def is_same_process(t, what, args, prev, cur, types=None):
    delta, report = delta_of(t, *args)
    if delta is None:
        return
    t.check(not report["restart"]["detected"], f"{what}: a restart: {report['restart']['reason']}")
    if not types:  # a sample without counts has no label yet: it may vanish, and takes nothing with it
        gone = [kind["vanished"] + kind["clamped"] for kind in report["types"]]
        t.check(not any(gone), f"{what}: {gone} vanished or were clamped")
    real.same(t, delta.of(types), cur.minus(prev, types), what)


def is_restart(t, what, args, cur):
    delta, report = delta_of(t, *args)
    if delta is None:
        return
    t.check(report["restart"]["detected"], f"{what}: no restart")
    real.same(t, delta.of(), cur.of(), what)


# ---- deploys under a living process -----------------------------------------------------------------------

def live(t, layout):
    """The profiles of one server, the first one and one after each deploy."""
    release = Release(t, layout)
    server = release.start()
    try:
        server.work(3)
        profiles = [scrape(t, server, "profile.0")]
        for i, (step, has_name, has_build) in enumerate(DEPLOYS, 1):
            STEPS[step](release)
            server.work()
            profiles.append(scrape(t, server, f"profile.{i}"))
            differs = tuple(a != b for a, b in zip(profiles[0].identity, profiles[i].identity))
            t.equal(differs, (has_name, has_build and layout != BARE), f"{layout}, {i}, {step}")
    finally:
        server.end()
    t.equal(profiles[0].identity[1], "" if layout == BARE else BUILDS["one"][1])
    t.check(len({one.place for one in profiles}) == 1, f"{layout}: one process, one place")
    return profiles


def check_windows(t, layout):
    profiles = live(t, layout)
    delta_of(t, "--state", "state", "profile.0")
    os.rename(t.path("delta"), t.path("sent.0"))
    for i, (prev, cur) in enumerate(zip(profiles, profiles[1:]), 1):
        window = f"{layout}, window {i}, {prev.identity} to {cur.identity}"
        is_same_process(t, window, (f"profile.{i - 1}", f"profile.{i}"), prev, cur)
        for how in ("clamp", "fail"):
            t.succeeds(f"profile.{i - 1}", f"profile.{i}", f"--on-reset={how}", "-q", "-o", "same")
            t.check(t.load("same") == t.load("delta"), f"{window}, {how}: another delta")
        is_same_process(t, f"{window}, from the first", ("profile.0", f"profile.{i}"), profiles[0], cur)
        is_same_process(t, f"{window}, state", ("--state", "state", f"profile.{i}"), prev, cur)
        os.rename(t.path("delta"), t.path(f"sent.{i}"))
    t.succeeds("sum", *(f"sent.{i}" for i in range(len(profiles))), "-q", "-o", "total")
    real.same(t, Seen(t.load("total")).of(), profiles[-1].of(), f"{layout}, the sum of all windows")


def of_each_layout():
    for layout in LAYOUTS:
        def test(t, layout=layout):
            if layout not in LAYOUTS:
                t.skip("the addresses of a process cannot be pinned here")
            check_windows(t, layout)
        globals()["test_deploys_of_" + layout.replace(" ", "_")] = test


of_each_layout()


def test_mutex_and_block_profiles_after_a_deploy(t):
    """Each profile measures a delay again: only the contentions are exact."""
    release = Release(t, FIXED)
    server = release.start()
    kinds, identities = ("mutex", "block"), set()
    try:
        for i, step in enumerate(("nothing", "replace", "remove")):
            STEPS[step](release)
            server.work(3)
            now = {kind: scrape(t, server, f"{kind}.{i}", kind) for kind in kinds}
            identities.add(now["mutex"].identity)
            for kind in kinds if i else ():
                is_same_process(t, f"{kind}, window {i}", (f"{kind}.{i - 1}", f"{kind}.{i}"), before[kind], now[kind],
                                ["contentions/count"])
            before = now
    finally:
        server.end()
    t.equal(len(identities), 3, "the identity changes")


# ---- real restarts ---------------------------------------------------------------------------------------

def restart(t, layout, build, works=(5, 1), before="nothing"):
    """A process of the first build, its profile, another process, its profile. `before` is done to the binary under
    the first process."""
    release = Release(t, layout)
    profiles = []
    for i, times in enumerate(works):
        if i:
            release.put(build)
        server = release.start()
        try:
            if not i:
                STEPS[before](release)
            server.work(times)
            profiles.append(scrape(t, server, f"profile.{i}"))
        finally:
            server.end()
    shutil.rmtree(release.folder)
    return profiles


def restarts(t, layout, build, works=(5, 1), before="nothing"):
    what = f"{layout}, {build}, {works}, {before}"
    prev, cur = restart(t, layout, build, works, before)
    is_restart(t, what, ("profile.0", "profile.1"), cur)
    if os.path.exists(t.path("state")):
        os.unlink(t.path("state"))
    delta_of(t, "--state", "state", "profile.0")
    is_restart(t, f"{what}, state", ("--state", "state", "profile.1"), cur)
    t.fails(3, "profile.0", "profile.1", "--on-reset=fail", "-o", "none")
    return prev, cur


def test_restarts(t):
    """With the same build; with another one, which also counts more: its code is at other addresses; and with
    another one whose code has the same addresses."""
    name = "main.allocateLarge"
    for layout in layouts():
        prev, cur = restarts(t, layout, "one")
        t.equal(prev.identity, cur.identity)
        prev, cur = restarts(t, layout, "two", works=(1, 5))
        t.equal(prev.identity[1] != cur.identity[1], layout != BARE, f"{layout}: another build id")
        t.check(prev.addresses(name) != cur.addresses(name), f"{layout}: its code has other addresses")
    for layout in layouts(FIXED, PINNED):
        prev, cur = restarts(t, layout, "twin")
        t.equal(prev.place, cur.place, layout)
        t.check(prev.identity[1] != cur.identity[1], f"{layout}: another build id")
        t.equal(prev.addresses(name), cur.addresses(name), f"{layout}: its code has the same addresses")


def test_restart_that_no_counter_shows(t):
    """The twin has the same addresses and has counted more. When it began is known."""
    for layout in layouts(FIXED, PINNED):
        prev, cur = restart(t, layout, "twin", works=(1, 5))
        t.equal(prev.place, cur.place, layout)
        began = f"--started=@{prev.time // 10**9 + 1}"
        if cur.time // 10**9 < prev.time // 10**9 + 1:  # both profiles within a second: any time between them
            began = f"--started=@{(prev.time + 1) // 10**9}.{(prev.time + 1) % 10**9:09d}"
        is_restart(t, f"{layout}, --started", ("profile.0", "profile.1", began), cur)


def test_restart_after_a_deploy(t):
    """The deploy goes before: the first process has the second one's build id when its profile is taken."""
    for layout in layouts(FIXED, MOVED):
        for build, before in (("two", "replace"), ("two", "remove"), ("two", "rename"), ("one", "replace")):
            restarts(t, layout, build, before=before)
    for layout in layouts(FIXED, PINNED):
        prev, cur = restarts(t, layout, "twin", before="replace by twin")
        t.equal((prev.identity, prev.place), (cur.identity, cur.place), f"{layout}: as if nothing had been")
