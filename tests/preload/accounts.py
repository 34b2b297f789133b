"""What a process is made of: the parts of a window, against what the program knows of itself and what
the kernel shows while it stands still."""

import os
import re
import signal
import subprocess

import recorded
from agents import TIMEOUT, allocator, checked, counted, only, plainly, start, target, until

ANONYMOUS, LIVE, SLACK = "[anonymous mappings]", "[live heap]", "[allocator slack]"
DIRTY, CLEAN = "[file mappings, private dirty]", "[file mappings, clean or shared]"
STACKS, AGENT, LEFT, ARENAS = "[thread stacks]", "[heap agent]", "[left over]", "[Python arena slack]"
PARTS = {ANONYMOUS, LIVE, SLACK, ARENAS, DIRTY, CLEAN, STACKS, AGENT, LEFT}
MIB = 1 << 20


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Rss:\s+(\d+) kB", file.read(), re.M).group(1)) << 10


class Account:
    """The rows of one profile."""

    def __init__(self, t, profile):
        self.rows = [(stack, values[recorded.RSS]) for stack, values in profile.samples
                     if len(values) > recorded.RSS and values[recorded.RSS]]
        self.sizes = [(stack, values[-1]) for stack, values in profile.samples]
        self.comment = next((c for c in profile.comments if " account" in c), "")
        for stack, values in profile.samples:
            if len(values) > recorded.RSS and values[recorded.RSS]:
                t.check(values[recorded.RSS] > 0, f"{stack} is negative")
                t.check(stack[0] in PARTS, f"{stack} is no part")
                t.equal(values[:recorded.RSS], [0] * recorded.RSS, f"{stack} has other values")
        facts = dict(re.findall(r"(\w+)=(\d+)", self.comment))
        if facts:
            t.equal(self.total, int(facts["rss"]), "the parts add up to RSS")
            t.equal(self.part(LIVE) + self.part(SLACK) + self.part(ARENAS), int(facts["heap_resident"]), "the heap")
            t.equal(self.part(LIVE), min(int(facts["live_estimate"]), int(facts["heap_resident"])))

    @property
    def total(self):
        return sum(value for _, value in self.rows)

    def part(self, name):
        return sum(value for stack, value in self.rows if stack[0] == name)

    def mapped(self, part, name):
        return sum(value for stack, value in self.sizes if stack[0] == part and name in stack)

    def of(self, part, name):
        return sum(value for stack, value in self.rows if stack[0] == part and name in stack)


def standing(t, *arguments, options=("--rate=1",), env=None, program="account"):
    """Runs the program until it stands still, asks for two profiles, and ends it. Returns what it said,
    its account, and RSS between the profiles."""
    process = start(t, target(t, program), *arguments, options=options, stdin=subprocess.PIPE, env=env)
    said = {}
    for line in process.stdout:
        words = line.decode().split()
        if words == ["ready"]:
            break
        said[words[0]] = int(words[1])
    pid = said.get("pid", process.pid)
    rss = 0
    for i in (1, 2):
        os.kill(pid, signal.SIGUSR2)
        t.check(until(lambda i=i: counted(t) >= i), "no profile came")
        rss = rss or resident(pid)
    _, err = process.communicate(timeout=TIMEOUT)
    t.equal((process.returncode, err.decode()), (0, ""), "the program")
    return said, pid, rss


def second_of(t, pid):
    """The account of the second profile: what the agent itself needs is resident by then."""
    return Account(t, checked(t, t.path("out"))[pid][1])


def stood(t, *arguments, **kwargs):
    """What the program said, its account, and RSS."""
    said, pid, rss = standing(t, *arguments, **kwargs)
    return said, second_of(t, pid), rss


def close(t, got, want, least, most, what):
    t.check(want + least <= got <= want + most, f"{what}: {got} is not {want}{least:+}..{most:+}")


def test_mappings_by_stack(t):
    said, account, rss = stood(t, "maps")
    for name, size in said.items():
        t.equal(account.of(ANONYMOUS, name), size, name)
        t.check(account.mapped(ANONYMOUS, name) >= size, f"{name}: less is mapped than is resident")
    t.equal(account.mapped(ANONYMOUS, "map_cut"), said["map_cut"] + MIB // 2, "with pages that were given back")
    t.equal(account.of(ANONYMOUS, "map_gone"), 0)
    t.equal(account.part(ANONYMOUS), sum(said.values()), "all mappings")
    t.check(all("main" in stack for stack, _ in account.rows if stack[0] == ANONYMOUS), "whole stacks")
    close(t, account.total, rss, -MIB, MIB, "RSS")
    t.check(account.part(LEFT) < MIB // 4, f"left over: {account.part(LEFT)}")


def test_everything_adds_up(t):
    said, account, rss = stood(t, "all")
    close(t, account.total, rss, -MIB, MIB, "RSS")
    t.equal(account.part(ANONYMOUS), sum(said[n] for n in said if n.startswith(("map_", "move_"))))
    close(t, account.part(LIVE), said["leak"] + said["slack"], 0, MIB, "live")
    # small blocks that leaked lie in the holes
    close(t, account.part(SLACK), said["slack"], -2 * MIB, said["slack"] // 20 + MIB, "slack")
    close(t, account.of(STACKS, "other threads"), said["threads"], 0, MIB // 2, "stacks of threads")
    close(t, account.of(STACKS, "main thread"), 0, 4096, MIB // 4, "the main thread's stack")
    name = os.path.realpath(t.path("mapped.bin"))
    t.equal((account.of(DIRTY, name), account.of(CLEAN, name)), (said["file_dirty"], said["file_clean"]))
    t.check(account.part(LEFT) < MIB // 4, f"left over: {account.part(LEFT)}")


def test_a_child_has_its_own(t):
    said, account, _ = stood(t, "fork")
    said.pop("pid")
    said["map_shared"] = 0  # a child has it, and has not touched it
    for name, size in said.items():
        t.equal(account.of(ANONYMOUS, name), size, name)


def of_library(t, name):
    """Mappings of an allocator in a library of its own are the heap, not the program's."""
    said, account, _ = stood(t, "all", env={**os.environ, "LD_PRELOAD": allocator(t, name)})
    mapped = sum(said[n] for n in said if n.startswith(("map_", "move_")))
    t.equal(account.part(ANONYMOUS), mapped)
    live = said["leak"] + said["slack"]
    close(t, account.part(LIVE), live, 0, MIB, "live")
    close(t, account.part(SLACK), 0, 0, 2 * said["slack"] + 8 * MIB, "slack")
    t.check(account.part(LEFT) < MIB, f"left over: {account.part(LEFT)}")
    return account


def check_counters(t, account, name):
    """At a rate of 1 the estimate counts what was asked for, and the allocator what it gave."""
    counted_by = dict(re.findall(r"(\w+)=(\w+)", account.comment))
    t.equal(counted_by.get("allocator"), name)
    allocated, live = int(counted_by["allocated"]), int(counted_by["live_estimate"])
    t.check(live <= allocated <= live * 1.25 + MIB, f"{name} says {allocated}, the tracker {live}")


def test_jemalloc(t):
    check_counters(t, of_library(t, "jemalloc"), "jemalloc")


def test_tcmalloc(t):
    check_counters(t, of_library(t, "tcmalloc"), "tcmalloc")


def test_mimalloc(t):
    of_library(t, "mimalloc")


def test_a_storm(t):
    """Threads and children that map and unmap at random: nothing of it stays, and windows in the middle
    of it are whole."""
    said, pid, _ = standing(t, "storm", options=("--rate=1", "--interval=10ms"))
    t.equal(said, {"blow": 0})
    profiles = checked(t, t.path("out"))[pid]
    for profile in profiles:
        Account(t, profile)
    t.equal(Account(t, profiles[-1]).of(ANONYMOUS, "blow"), 0)


def test_what_grows_counts_once(t):
    """The kernel shows an area again that has grown since the last piece of smaps was read."""
    said, pid, _ = standing(t, "grow", options=("--rate=64k", "--interval=10ms"), program="account_dense")
    for profile in checked(t, t.path("out"))[pid]:
        close(t, Account(t, profile).total, 0, 0, said["most"] + 2 * MIB, "RSS, and the most of it")


def test_a_short_process(t):
    """It has its window, and no file for it, no account, and if there are few samples no names. What COMMAND has started is
    short for a second. COMMAND itself is for 100 ms, which a busy machine may take before it ends."""
    as_child = ["sh", "-c", '"$@"; exit $?', "sh"]
    for number, (command, blocks, milliseconds, has_names, has_all) in enumerate((
            ([], 2, 0, False, None), ([], 8, 0, True, None), ([], 8, 500, True, True),
            (as_child, 8, 200, False, False), (as_child, 8, 2000, True, True))):
        where, what = t.path(str(number)), f"{command} {blocks} {milliseconds}"
        process = start(t, *command, target(t, "account"), "briefly", str(blocks), where, str(milliseconds),
                        options=["--rate=1", "-o", where])
        out, err = process.communicate(timeout=TIMEOUT)
        profile, = (p for ps in checked(t, where).values() for p in ps if ".account." in p.path)
        by_function = profile.by_function(recorded.INUSE_BYTES)
        t.equal(by_function.get("live_briefly"), blocks * MIB, f"{what}: {by_function}")
        raw = plainly(t, t.binary, "show", "--raw", profile.path).out.decode()
        t.equal('"live_briefly"' in raw, has_names, f"{what}: {raw}")
        has_account = Account(t, profile).total > 0
        t.equal(any("no account" in c for c in profile.comments), not has_account, f"{what}: {profile.comments}")
        if has_all is not None:
            t.equal((out, err, has_account), (f"live {int(has_all)}\n".encode(), b"", has_all), what)


def test_under_a_filter(t):
    """A filter that ends the process for a call that it does not expect: the call is not made."""
    if b"filtered 0" in subprocess.run([target(t, "account"), "filtered"], input=b"", capture_output=True, check=False).stdout:
        t.skip("no seccomp here")
    said, pid, _ = standing(t, "filtered")
    t.equal(said["filtered"], 1)
    account = second_of(t, pid)
    t.contains(account.comment, "the stacks of threads are not known")
    t.equal(account.of(STACKS, "other threads"), 0)
    close(t, account.part(LEFT), said["threads"], 0, MIB, "left over")


def test_another_program(t):
    """By exec: nothing of the first program is in the account of the second."""
    said, pid, _ = standing(t, "again")
    last = Account(t, checked(t, t.path("out"))[pid][-1])
    t.equal(last.part(ANONYMOUS), 0)
    close(t, last.part(LIVE), said["leak"], 0, MIB, "what leaked")
    first = Account(t, checked(t, t.path("out"))[pid][0])
    t.equal(first.of(ANONYMOUS, "map_whole"), 6 * MIB)


def test_the_sum_has_the_last_account(t):
    _, pid, _ = standing(t, "all")
    profiles = checked(t, t.path("out"))[pid]
    out = t.path("sum.pb.gz")
    done = plainly(t, t.binary, "sum", *[p.path for p in profiles], "-o", out)
    t.equal((done.code, done.err), (0, ""))
    got, last = recorded.Profile(out), profiles[-1]
    t.equal(sorted(Account(t, got).rows), sorted(Account(t, last).rows))
    t.check(len(profiles) >= 2, f"{len(profiles)} profiles")


def test_the_account_is_shown(t):
    _, pid, _ = standing(t, "maps")
    path = checked(t, t.path("out"))[pid][1].path
    done = plainly(t, t.binary, "show", path)
    head = done.out.decode().split("\n\n")[0]
    t.check(re.search(r"^resident +[\d.]+MiB\n +21\.5MiB +\d\d\.\d%  \[anonymous mappings\]$", head,
                      re.M), head)
    for part in PARTS - {LEFT, ARENAS}:  # a program in C
        t.contains(head, part)
    done = plainly(t, t.binary, "show", "--type", "rss_space", path)
    t.lacks(done.out.decode().split("\n\n")[0], "resident  ")
    t.contains(done.out.decode(), "[anonymous mappings]")


def test_no_account(t):
    _, pid, _ = standing(t, "maps", options=("--rate=1", "--no-account"))
    for profile in checked(t, t.path("out"))[pid]:
        t.equal(len(profile.types), recorded.RSS)
        t.check(not any(" account" in c for c in profile.comments), f"{profile.comments}")


def test_without_proc(t):
    """Without /proc there is no account. The comment says so, and the rest is as always."""
    unshare = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if plainly(t, *unshare, "true").code:
        t.skip("no namespaces here")
    # record itself finds the agent by /proc: so it runs first
    process = start(t, *unshare, target(t, "account"), "leak", options=["--rate=1"])
    out, err = process.communicate(timeout=TIMEOUT)
    t.equal((process.returncode, err.decode()), (0, ""), f"the program said {out}")
    profiles = [p for ps in recorded.profiles(t.path("out")).values() for p in ps]
    leaked = [p for p in profiles if p.by_function(recorded.INUSE_BYTES).get("?", 0) > MIB]
    t.check(leaked, "no profile has the leak")
    for profile in leaked:
        t.equal(Account(t, profile).total, 0)
        t.check(any("no account: /proc/self/smaps cannot be read" in c for c in profile.comments),
                f"{profile.comments}")


def test_short_windows(t):
    """Accounts may take a hundredth of the time: windows of a millisecond may have none, and say so. The
    last one of a program has one in any case."""
    process = start(t, target(t, "account"), "slack", options=["--rate=1", "--interval=1ms"])
    process.communicate(timeout=TIMEOUT)
    profiles = only(t, checked(t, t.path("out")))
    for profile in profiles:
        account = Account(t, profile)
        t.check(account.total or "no account" in account.comment, account.comment)
    t.check(Account(t, profiles[-1]).total, "the last window")
