"""How recorded programs end: as without the agent, and with their last window."""

import os
import re
import shutil
import signal
import subprocess

import recorded
from killed import install_filter
from agents import TIMEOUT, checked, only, plainly, quiet, record, recording, same, start, target, until

EVERYTHING = "--rate=1"  # a sample of each allocation: the numbers are exact
FATAL = "HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "PIPE", "ALRM", "TERM", "XCPU", "XFSZ", "VTALRM", "PROF"


def number(name):
    return getattr(signal, "SIG" + name)


def allocated(profiles, function):
    """The blocks of 1000 bytes that a function allocated."""
    return sum(values[recorded.ALLOC_OBJECTS] for p in profiles for stack, values in p.samples
               if function in stack and values[recorded.ALLOC_BYTES])


def all_of(found):
    return [p for profiles in found.values() for p in profiles]


def fresh(t):
    """The next run has a folder of its own."""
    if os.path.exists(t.path("out")):
        os.rename(t.path("out"), t.path(f"out of {len(os.listdir(t.dir))}"))


# ---- the last thread ------------------------------------------------------------------------

def test_the_last_thread_ends_the_program(t):
    """Exit handlers run and the status is the program's, in whatever order its threads end."""
    for how, threads in (("alone", 0), ("workers", 4), ("cancelled", 1), ("late", 0),
                         ("late-thread", 1)):
        fresh(t)
        t.equal(quiet(t, same(t, target(t, "lastone"), how, options=[EVERYTHING], code=0)).out, b"the exit handler ran\n", how)
        windows = only(t, checked(t, t.path("out")))
        t.equal(allocated(windows, "leak_at_last"), 100 * (threads + 1), how)


def test_threads_that_make_threads(t):
    """Windows that are on their way neither keep the program from ending nor are lost."""
    for more in (*([],) * 5, ["--interval=1ms"]):
        fresh(t)
        ran = quiet(t, same(t, target(t, "lastone"), "chain", options=[EVERYTHING, *more], code=0))
        t.equal(ran.out, b"the exit handler ran\n")
        windows = only(t, checked(t, t.path("out")))
        t.equal([allocated(windows, function) for function in ("leak_early", "leak_at_last")], [100 * 101, 100])


def test_the_last_thread_of_a_child(t):
    quiet(t, same(t, target(t, "lastone"), "child", options=[EVERYTHING], code=0))
    t.equal(len(checked(t, t.path("out"))), 2, "processes")


def test_threads_that_end_by_the_system_call(t):
    """The C library does not hear of it; the kernel takes the main thread's status."""
    t.equal(quiet(t, same(t, target(t, "lastone"), "raw", options=[EVERYTHING], code=7)).out, b"")
    t.equal(allocated(only(t, checked(t, t.path("out"))), "leak_early"), 100)


def test_workers_behind_a_main_thread_that_is_no_more(t):
    """Which status counts depends on the version of Linux, and on who was seen last."""
    for how, codes in (("raw-workers", (7, 0)), ("seccomp", (-signal.SIGSYS, 0))):
        without = plainly(t, target(t, "lastone"), how)
        if without.code == 77:
            t.skip("no filter can be installed")
        fresh(t)
        ran = quiet(t, record(t, target(t, "lastone"), how, options=[EVERYTHING]))
        t.check(without.code in codes and ran.code in codes, f"{how}: {without.code}, {ran.code}")
        windows = only(t, checked(t, t.path("out")))
        t.equal(allocated(windows, "leak_at_last"), 400 if how == "raw-workers" else 100, how)
        t.check(windows[-1].mappings, "the last window has no mappings")


# ---- signals --------------------------------------------------------------------------------

def killed(t, how, name, function="leak_at_last"):
    """The program is killed by the signal, as without the agent, and its last window is there."""
    fresh(t)
    ran = quiet(t, same(t, target(t, "signalled"), how, str(int(number(name))),
                        options=[EVERYTHING, "--signal=none"], code=-number(name)))
    t.equal(allocated(only(t, checked(t, t.path("out"))), function), 100, f"{how} {name}")
    return ran


def test_signals_that_end_a_program(t):
    """Each of them; while the agent is at work; on a small stack; and after the program had a handler, and asked
    for the default action again."""
    for how, name in (*(("plain", name) for name in FATAL), *(("busy", "TERM"),) * 20, ("small", "TERM"), ("reset", "TERM")):
        killed(t, how, name)


def test_ends_on_an_alternate_stack(t):
    """8 KiB are enough for every end, with the last window."""
    for how in ("exit", "_exit", "quick_exit", "syscall", "abort", "signal", "exec", "out of memory"):
        fresh(t)
        ran = same(t, target(t, "exits"), how, "alternate", options=[EVERYTHING])
        t.equal(ran.rest, [], how)
        found = all_of(recorded.profiles(t.path("out")))
        t.equal(allocated(found, "leak_at_last"), 100, how)


def test_signals_that_the_program_handles(t):
    for name in FATAL:
        quiet(t, same(t, target(t, "signalled"), "handled", str(int(number(name))),
                      options=[EVERYTHING], code=5))
    quiet(t, same(t, target(t, "signalled"), "wait", str(int(signal.SIGTERM)), code=0))


def test_signals_for_children(t):
    for how, processes in (("child", 2), ("vfork", 1)):
        fresh(t)
        quiet(t, same(t, target(t, "signalled"), how, str(int(signal.SIGTERM)),
                      options=[EVERYTHING], code=0))
        found = checked(t, t.path("out"))
        t.equal(len(found), processes, "processes")
        t.equal(allocated(all_of(found), "leak_at_last"), 100, how)


def test_actions_look_as_they_are(t):
    t.lacks(quiet(t, same(t, target(t, "signalled"), "asks", code=0)).out.decode(), "strange")


def test_daemons(t):
    """The parent's window is written before it ends inside the C library."""
    quiet(t, record(t, target(t, "signalled"), "daemon", options=[EVERYTHING]))
    t.check(until(lambda: os.path.exists(t.path("daemon"))), "the daemon did nothing")
    t.check(until(lambda: not running(t)), "the daemon did not end")
    t.equal(allocated(all_of(checked(t, t.path("out"))), "leak_at_last"), 100)


def running(t):
    """Is any program of this test running?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == t.dir:
                return True
        except OSError:
            continue
    return False


def test_pipelines(t):
    """The reader goes away: SIGPIPE ends the recorded program, and the shell sees it.

    With the rate, chance leaves out next to none of the 100 blocks.
    """
    code = "x = [bytes(50000) for _ in range(100)]\nimport signal\n" \
           "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: print('y' * 1000)"
    script = '"$@" | head -c 10; exit ${PIPESTATUS[0]}'
    ran = plainly(t, "bash", "-c", script, "x", *recording(t, ["/usr/bin/python3", "-c", code], ["--rate=4k"]))
    t.equal((ran.code, ran.out), (128 + signal.SIGPIPE, b"y" * 10))
    t.check(sum(p.total(recorded.ALLOC_BYTES) for p in only(t, checked(t, t.path("out")))) > 4e6,
            "the last window is missing")


LOOP = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
kept = [bytes(50000) for _ in range(100)]
print('ready', flush=True)
while True:
    signal.pause()
"""


def start_loop(t, command, **more):
    """Under `record --to`, and waits until it has allocated."""
    process = start(t, "/usr/bin/python3", "-c", LOOP, options=["--rate=4k", f"--to={command}"], **more)
    t.equal(process.stdout.readline(), b"ready\n")
    return process


def test_interrupted_with_its_command(t):
    """Ctrl-C is for the whole group, but not for the command that takes the last profile."""
    process = start_loop(t, "cat >got.part && mv got.part got.pb.gz", start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    t.equal((process.returncode, err), (-signal.SIGINT, b""))
    t.succeeds("check", "got.pb.gz")


def test_who_insists_is_obeyed(t):
    """A signal after more than a second ends a program whose last profile waits for its command."""
    os.mkfifo(t.path("begun"))
    os.mkfifo(t.path("never"))
    process = start_loop(t, "echo $$ >begun; exec cat never")
    process.send_signal(signal.SIGTERM)
    with open(t.path("begun"), "rb") as begun:
        command = int(begun.readline())
    try:
        for _ in range(60):
            process.send_signal(signal.SIGINT)
            if until(lambda: process.poll() is not None, 0.5):
                break
        t.equal(process.poll(), -signal.SIGINT)
    finally:
        os.kill(command, signal.SIGKILL)
        process.kill()
        process.communicate()


def test_exit_in_a_handler(t):
    """If it has interrupted the agent, the last window is recovered, and a message says so."""
    for _ in range(20):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        ran = same(t, target(t, "signalled"), "exits", options=[EVERYTHING], code=int(signal.SIGALRM))
        left = [name for name in os.listdir(t.path("out")) if name.endswith(".live")]
        t.equal(["pprofdelta recover can make it" in line for line in ran.noise], [True] * len(left))
        t.equal(allocated(only(t, checked(t, t.path("out"), len(left))), "leak_at_last"), 100)


def test_nothing_half_written(t):
    """What ends a process while it writes a profile leaves no half of it, and its last window can be made (it lives on for
    200 ms before, so it has a file)."""
    try:
        os.close(os.open(t.dir, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        t.skip("this file system has no files without a name")
    linkat = {"x86_64": 265, "aarch64": 37}.get(os.uname().machine) or t.skip("the number of linkat is not known here")
    kill_for_it = [(0x20, 0, 0, 0), (0x15, 0, 1, linkat), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]
    try:
        ran = record(t, target(t, "account"), "leak", options=[EVERYTHING], preexec_fn=lambda: install_filter(kill_for_it))
    except subprocess.SubprocessError:
        t.skip("no filter can be installed")
    t.equal(ran.code, -signal.SIGSYS)
    checked(t, t.path("out"), killed=1)


def test_filters_that_kill(t):
    """The agent makes no system call behind such a filter, and the program ends as it would without the agent. What it
    allocated behind the filter is recovered."""
    for how, code, killed in (("strict", 3, 1), ("prctl", 3, 1), ("syscall", 3, 1),
                              ("signal", -signal.SIGTERM, 1), ("wrong", 3, 0)):
        fresh(t)
        if plainly(t, target(t, "confined"), how).code == 77:
            t.skip("no filter can be installed")
        same(t, target(t, "confined"), how, options=["--rate=1"], code=code)
        made = recorded.leaks(((stack, values[0]) for stack, values in
                               recorded.add_up(only(t, checked(t, t.path("out"), killed))).items()), ("leak_", "after_"))
        t.equal(made, {"leak_at_last": 1000, "after_confined": 2000}, how)


def test_filters_that_kill_for_some_calls(t):
    """If one of them is the agent's, it makes none of them after that. Otherwise it goes on. A program that runs behind the
    filter runs without the agent."""
    if plainly(t, target(t, "confined"), "ptrace").code == 77:
        t.skip("no filter can be installed")
    agents, others = ("openat", "rename", "clone3", "futex", "write", "munmap"), ("ptrace", "memfd_create", "execve")
    for how in agents + others:
        fresh(t)
        ran = same(t, target(t, "confined"), how, options=["--rate=1"], code=3)
        t.equal(f"which forbids {how}, " in ran.err, how in agents, how)
        made = recorded.leaks(((stack, values[0]) for stack, values in
                               recorded.add_up(only(t, checked(t, t.path("out"), int(how in agents)))).items()), ("leak_", "after_"))
        t.equal(made, {"leak_at_last": 1000, "after_confined": 2000}, how)
    ran = same(t, target(t, "confined"), "memfd_create", options=["--rate=1", "--to=cat >>got"], code=3)
    t.contains(ran.err, "which forbids memfd_create, ")
    for how in "rename", "write":
        fresh(t)
        same(t, target(t, "confined"), how, target(t, "counted"), options=["--rate=1"], code=0)
        t.equal({name.split(".")[1] for name in os.listdir(t.path("out"))}, {"confined"}, how)


def test_the_calls_of_the_agent(t):
    """A filter kills for each call but those that the agent says it makes."""
    for options in ([], ["--keep=2", "--threshold=10k"], ["--to=cat >>got"], ["--format=otlp", "--pressure"]):
        fresh(t)
        t.lacks(same(t, target(t, "confined"), "only", options=["--rate=1", "--interval=20ms", *options], code=3).err, "seccomp")


# ---- without memory -------------------------------------------------------------------------

def test_the_last_profile_without_memory(t):
    for how, code in (("exit", 3), ("abort", -signal.SIGABRT), ("go-on", 0)):
        fresh(t)
        ran = same(t, target(t, "starve"), how, options=["--rate=64k"], code=code)
        # The agent's thread may come so late that there is no memory for its file either.
        said = [line for line in ran.noise if "its last window is lost" not in line]
        t.check(len(said) == 1 and "failed" in said[0], f"{how}: said {ran.noise}")
        windows = only(t, checked(t, t.path("out")))
        in_use = sum(values[1] for stack, values in recorded.add_up(windows).items()
                     if "hoard" in stack)
        t.check(120e6 < in_use < 192 * 2**20, f"{how}: {in_use} bytes in use")
        top, = [name for name in os.listdir(t.path("out")) if name.endswith(".top.txt")]
        t.contains(said[0], top)
        inuse = int(re.match(r"heap profile:\s*\d+:\s*(\d+)", t.load("out/" + top).decode()).group(1))
        t.check(120e6 < inuse < 192 * 2**20, f"{how}: {inuse} bytes in use when memory ran out")


def test_without_mappings(t):
    """The program goes on. Where the tracker cannot grow, or the last profile cannot be made, a message says so; which of them is a
    matter of what the agent could still make before."""
    ran = record(t, target(t, "starve"), "mappings", options=[EVERYTHING])
    if ran.code == 77:
        t.skip("the kernel allows more mappings")
    t.equal(ran.code, 0)
    if "samples are missing" in ran.err:
        t.contains(ran.err, "vm.max_map_count")
    elif "the last profile could not be made" not in ran.err:
        checked(t, t.path("out"))


def test_a_large_profile_without_memory(t):
    """4096 stacks: more than were ever written before."""
    same(t, target(t, "starve"), "exit", "12", options=["--rate=1", "--interval=1h"], code=3)
    windows = only(t, checked(t, t.path("out")))
    stacks = {stack for p in windows for stack, _ in p.samples if "leak_by_turns" in stack}
    t.check(len(stacks) >= 2, f"{len(stacks)} stacks")
    t.equal(sum(values[recorded.ALLOC_OBJECTS] for p in windows for stack, values in p.samples
                if "leak_by_turns" in stack), 4096)


def test_a_command_without_memory(t):
    ran = record(t, target(t, "starve"), "exit", options=["--rate=64k", "--to=cat >got.pb.gz"])
    t.equal(ran.code, 3)
    t.succeeds("check", "got.pb.gz")
    t.check(not any("could not" in line for line in ran.noise), f"said {ran.noise}")
