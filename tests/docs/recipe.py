"""Does the README's recipe survive what a target and a receiver do? Its script, its commands and its crontab are
taken from README.md, and its units from pprofdelta-delta(1), and run as written, with real curl, against a server on
the loopback interface that answers, fails, hangs, or closes.

The time limits that a run is to reach are shorter than the recipe's. All others are longer. So no result
depends on the speed of this machine. Skipped (77) where there is no curl.

usage: recipe.py SOURCE_ROOT PPROFDELTA"""

import grp
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

root, tool = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path[:0] = [os.path.join(root, "tests", "support")]
import processes  # noqa: E402
from checks import check, finish, put  # noqa: E402
from pages import blocks, examples, one  # noqa: E402
from world import World  # noqa: E402
TIMEOUT = 3600  # for a run that does not end
SHORT, LONG = "0.4", "90"  # the seconds that stand for the recipe's


def run(*args, **kwargs):
    return subprocess.run(args, capture_output=True, text=True, check=False, timeout=TIMEOUT, **kwargs)


# ---- the world ------------------------------------------------------------------------------------

world = None
stopped = socket.socket()  # as a stopped process has it: the kernel accepts, and nothing is answered
stopped.bind(("127.0.0.1", 0))
stopped.listen(16)
closed = socket.socket()  # a port that refuses connections
closed.bind(("127.0.0.1", 0))


def url(how):
    """Of a target or a receiver that does this."""
    return "http://127.0.0.1:%d/" % {"is away": closed, "is stopped": stopped}.get(how, world.server.socket).getsockname()[1]


# ---- a run of the recipe -----------------------------------------------------------------------------

class Limits:
    """What stands for the seconds of the script: those of its two curls, and the uploader's."""

    def __init__(self, scrape=LONG, upload=LONG, uploader=LONG + "s"):
        self.values = (scrape, upload, uploader)

    def put_into(self, script):
        limits = iter(self.values[:2])
        script, found = re.subn(r"\bcurl -sSf -m \d+\b", lambda _: f"curl -sSf -m {next(limits)}", script)
        script, timeouts = re.subn(r"--timeout \d+s\b", f"--timeout {self.values[2]}", script)
        return script, (found, timeouts) == (2, 1)


class Recipe:
    def __init__(self, what, command, env):
        self.what, self.command, self.env = what, command, env
        self.state = os.path.join(env["STATE_DIRECTORY"], "state")

    def check(self, name, *args):
        return check(f"{self.what}: {name}", *args)

    def begin(self, limits=Limits()):
        """A tick: the command as cron or systemd starts it."""
        new = put(limits.put_into(script)[0], self.env["SCRIPT"] + ".new", mode=0o755)
        os.rename(new, self.env["SCRIPT"])  # a run may have the old one open
        env = {**self.env, "TARGET": url(world.target), "RECEIVER": url(world.receiver),
               "PPROFDELTA_SEQUENCE": "early", "PPROFDELTA_ATTEMPT": "early"}
        return subprocess.Popen(["/bin/sh", "-c", self.command], env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def end(self, process):
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            for pid in processes.of_session(process.pid):
                os.kill(pid, 9)
            out, err = process.communicate()
            self.check("a run ends by itself", False, err)
        for _ in range(500):  # one that was killed may take its time
            left = processes.of_session(process.pid)
            if not left:
                break
            time.sleep(0.01)
        self.check("a run leaves no process", not left, left)
        return subprocess.CompletedProcess((), process.returncode, out, err)

    def tick(self):
        return self.end(self.begin())

    def kept(self):
        """What the state remembers, but for the window that is open."""
        if not os.path.exists(self.state):
            return None
        found = json.loads(run(tool, "--state", self.state, "--status=json").stdout)
        return [found[key] for key in ("sequence", "window", "restart", "types")]


def profile_path(n):
    return os.path.join(root, "testdata", "valid", f"heap.{n}.pb.gz")


def profile(n):
    with open(profile_path(n), "rb") as file:
        return file.read()


# What a target or a receiver does, the limits, and the exit status and the causes that a run then has.
SENT_AGAIN = "covers this window too"
HUNG = "curl: (28)"  # a time limit that was reached
FAILURES = [
    ("receiver", "fails", Limits(), 4, ["503", SENT_AGAIN]), ("receiver", "is away", Limits(), 4, ["onnect", SENT_AGAIN]),
    ("target", "fails", Limits(), 1, ["500", "pprofdelta: (stdin)"]),
    ("target", "closes half way", Limits(), 1, ["curl: (18)", "pprofdelta: (stdin)"]),
    ("target", "is away", Limits(), 1, ["onnect", "it is empty"]),
    *(("target", how, Limits(scrape=SHORT), 1, [HUNG]) for how in (
        "is stopped", "is silent", "stops after its headers", "stops half way", "stops before its last byte")),
    ("receiver", "is silent", Limits(upload=SHORT), 4, [HUNG, SENT_AGAIN]),
    ("receiver", "is silent", Limits(uploader="400ms"), 4, ["took longer than 0.4 s", SENT_AGAIN])]


def first_window(recipe):
    world.profile = lambda: profile(1)
    ran = recipe.tick()
    recipe.check("the first run sends what was so far", ran.returncode == 0 and not ran.stderr and
                 len(world.got) == 1, ran.stderr)
    world.profile = lambda: profile(2)


def failures(recipe):
    """Runs (of those against a target that hangs, three at once) end, say why, and leave the state."""
    before = recipe.kept()
    for side, how, limits, status, causes in FAILURES:
        setattr(world, side, how)
        ran = [recipe.end(tick) for tick in [recipe.begin(limits) for _ in range(3 if side == "target" and HUNG in causes else 1)]]
        recipe.check(f"a {side} that {how}: exit status {status}, with the cause",
                     all(one.returncode == status and all(cause in one.stderr for cause in causes) for one in ran),
                     [one.stderr for one in ran])
        recipe.check(f"a {side} that {how} leaves the state", recipe.kept() == before and len(world.got) == 1)
        setattr(world, side, "answers")
    world.receiver = "closes"
    ran = recipe.tick()
    recipe.check("an acknowledgement that is lost leaves the state", ran.returncode == 4 and
                 recipe.kept() == before and len(world.got) == 2, ran.stderr)


def busy_state(recipe):
    """While one run waits for its receiver, others neither wait for it nor harm it."""
    before, world.receiver = recipe.kept(), "takes it and is silent"
    while world.asked.acquire(blocking=False):
        pass
    slow = recipe.begin()
    arrived = world.asked.acquire(timeout=TIMEOUT)
    ran = [recipe.end(tick) for tick in
           [recipe.begin(Limits(upload=SHORT)) for _ in range(3)]]
    recipe.check("runs that find the state in use end", arrived and slow.poll() is None and
                 all(r.returncode == 1 and "another run is using" in r.stderr for r in ran),
                 [r.stderr for r in ran])
    recipe.check("and leave it", recipe.kept() == before and len(world.got) == 3)
    world.receiver = "answers"
    world.freed.set()
    ran = recipe.end(slow)
    recipe.check("the run that they found goes on", ran.returncode == 0 and recipe.kept() != before,
                 ran.stderr)
    world.freed = threading.Event()


def what_arrived(recipe, folder):
    """Of equal sequences the last counts; together they are the last profile."""
    headers = [{name.lower(): value for name, value in got.items()} for _, _, got, _ in world.got]
    numbers = [got.get("pprofdelta-sequence") for got in headers]
    recipe.check("the header has the sequence, of the run and not of the shell around it",
                 numbers == ["1", "2", "2"], numbers)
    attempts = [got.get("pprofdelta-attempt") for got in headers]
    shown = run(tool, "--state", os.path.join(folder, "other"), profile_path(1), "-q", "--", "env").stdout
    if "\nPPROFDELTA_ATTEMPT=" in "\n" + shown:
        recipe.check("the header has the attempt, which grows", all(map(str.isdigit, attempts)) and
                     int(attempts[2]) > int(attempts[1]), attempts)
    else:
        recipe.check("the header has what the environment has", attempts == ["early"] * 3, attempts)
    os.unlink(os.path.join(folder, "other"))
    names = []
    for number, body in {number: body for number, (*_, body) in zip(numbers, world.got)}.items():
        names.append(os.path.join(folder, f"sent{number}"))
        with open(names[-1], "wb") as file:
            file.write(body)
        stamp = run(tool, "show", "--raw", names[-1]).stdout
        recipe.check(f"delta {number} says its sequence itself", f"seq={number}" in stamp, stamp[:2000])
    total = os.path.join(folder, "total")
    ran = run(tool, "sum", *names, "-q", "-o", total)
    shown = [run(tool, "show", "--folded", path).stdout for path in (total, profile_path(2))]
    recipe.check("the sum of what arrived is the last profile", ran.returncode == 0 and
                 shown[0] == shown[1] != "", ran.stderr)


def survives(what, command, env, folder):
    """All of it, from no state to the last profile."""
    global world
    world = World()
    recipe = Recipe(what, command, env)
    first_window(recipe)
    failures(recipe)
    busy_state(recipe)
    what_arrived(recipe, folder)
    os.unlink(recipe.state)
    world.end()


# ---- the pieces of the recipe --------------------------------------------------------------------------

def seconds(text):
    return int(re.fullmatch(r"(\d+)s?", text).group(1))


def setup_commands(folder, bin_folder):
    """The commands that root runs: here by this user, for this user, and in this folder."""
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    state = os.path.join(folder, "state")
    put(script, os.path.join(folder, "heap-delta"))
    here = {"-o heapdelta -g heapdelta": f"-o {shlex.quote(user)} -g {shlex.quote(group)}",
            "/usr/local/bin": shlex.quote(bin_folder), "/var/lib/heap-delta": shlex.quote(state)}
    for line in one(blocks("sh"), "install").splitlines():
        if line.startswith("useradd "):
            new_user(line, folder)
            continue
        if not check("setup: the other commands are install", line.startswith("install "), line):
            continue
        for there, instead in here.items():
            line = line.replace(there, instead)
        for _ in range(2):  # the second time changes nothing
            ran = run("/bin/sh", "-c", line, cwd=folder)
            check("setup: a command runs", ran.returncode == 0, line + ran.stderr)
    check("setup: the state's folder is its user's alone", os.stat(state).st_mode & 0o7777 == 0o700)
    installed = os.path.join(bin_folder, "heap-delta")
    check("setup: the script is installed for all", os.stat(installed).st_mode & 0o7777 == 0o755)
    return installed, state


def new_user(line, folder):
    """Needs root, and touches the files of a folder, not those of the machine."""
    if os.getuid() or not shutil.which("useradd"):
        print("skipped setup: useradd needs root, and a machine that has it")
        return
    etc = os.path.join(folder, "prefix", "etc")
    os.makedirs(etc)
    for name in ("passwd", "group", "shadow", "gshadow"):
        put("", os.path.join(etc, name))
    prefix = shlex.quote(os.path.dirname(etc))
    ran = run("/bin/sh", "-c", line.replace("useradd ", f"useradd --prefix {prefix} ", 1))
    with open(os.path.join(etc, "passwd"), encoding="utf-8") as file:
        made = file.read().split(":")
    check("setup: useradd makes a user of the system who cannot log in", ran.returncode == 0 and
          made[0] == "heapdelta" and 0 < int(made[2]) < 1000 and made[6].strip() == "/usr/sbin/nologin",
          (ran.stderr[-200:], made))


def crontab():
    """Its settings and its command, which it hands to /bin/sh."""
    *settings, line = one(blocks("cron"), "PATH=").splitlines()
    fields = line.split(None, 6)
    check("crontab: five times, a user and a command", len(fields) == 7 and
          fields[:5] == ["*"] * 5 and fields[5] == "heapdelta", line)
    check("crontab: no percent sign in the command, which cron would take", "%" not in fields[6])
    check("crontab: nothing in the settings for a shell to expand, since cron does not",
          not re.search(r"[$`~]", "".join(settings)), settings)
    return fields[6], dict(setting.split("=", 1) for setting in settings)


def units(folder, installed):
    """The command of the service and its environment."""
    service, timer = (text for text in examples("pprofdelta-delta.1") if text.startswith("[Unit]"))
    limit = seconds((re.findall(r"^TimeoutStartSec=(\d+s)$", service, re.M) or ["0"])[0])
    longest = seconds(re.search(r"-m (\d+)", script).group(1)) + \
        seconds(re.search(r"--timeout (\d+s)", script).group(1)) + 2
    check("units: the longest run ends by itself, before its limit and the next minute",
          longest < limit < 60, (longest, limit))
    check("units: the state's folder is its user's alone", "\nDynamicUser=yes\nStateDirectory=heap-delta\n"
          "StateDirectoryMode=0700\n" in service)
    command = re.search(r"^ExecStart=(.*)$", service, re.M).group(1)
    check("units: nothing in the command for systemd to expand", command == "/usr/local/bin/heap-delta",
          command)
    settings = dict(line.split("=", 2)[1:] for line in service.splitlines()
                    if line.startswith("Environment="))
    paths = [put(text.replace(command, f'"{installed}"'), os.path.join(folder, "heap-delta." + kind))
             for kind, text in (("service", service), ("timer", timer))]
    if shutil.which("systemd-analyze"):
        ran = run("systemd-analyze", "verify", *paths)
        own = [line for line in ran.stderr.splitlines() if "heap-delta" in line]
        check("units: systemd takes them", not own, own)
    else:
        print("skipped units: there is no systemd-analyze")
    return shlex.quote(installed), settings


script = one(blocks("sh"), "#!/bin/sh")
if not shutil.which("curl"):
    print("skipped: there is no curl\n0 passed, 0 failed")
    sys.exit(77)
check("pprofdelta-delta(1) has the same script", script in examples("pprofdelta-delta.1"))
limited = check("the script: each curl and the uploader have a time limit", Limits().put_into(script)[1],
                script)
with tempfile.TemporaryDirectory(prefix="pprofdelta recipe ") as folder:
    bin_folder = os.path.join(folder, "bin")
    os.mkdir(bin_folder)
    os.symlink(tool, os.path.join(bin_folder, "pprofdelta"))
    installed, state = setup_commands(folder, bin_folder)
    command, settings = crontab()
    check("crontab: the state's folder is the one that was made",
          settings["STATE_DIRECTORY"] == "/var/lib/heap-delta")
    common = {"SCRIPT": installed, "STATE_DIRECTORY": state}
    cron = {**settings, **common, "PATH": f"{bin_folder}:{settings['PATH']}"}
    service, settings = units(folder, installed)
    systemd = {**settings, **common, "PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin"}
    if limited:  # nothing else would end a run against what hangs
        survives("cron", command, cron, folder)
        survives("systemd", service, systemd, folder)

finish()
