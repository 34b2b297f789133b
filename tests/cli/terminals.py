"""What a person sees who runs the command: lines that fit, and what takes long."""

import fcntl
import os
import re
import select
import subprocess
import termios

from harness import TIMEOUT, until
from pb import gz, profile
from samples import T0, T1, cur, pair, prev
from showing import terminal
from uploading import is_gone
from windows import ONE, TWO, looks, status, wait_for


def test_messages_fit_80_columns(t):
    before, after = pair(t)
    t.write("types", profile([(("f",), [1])], types=["samples/count"], time=T1))
    t.write("bad", cur() + b"\x0a")
    t.write("stamped", t.succeeds(before, after).out)
    t.write("less", profile([(("work", "main"), [9, 990, 1, 1]), (("idle", "main"), [5, 500, 5, 5])],
                            time=T1))
    for args, code in (((before, "types", "-o", "o"), 1), ((before, "bad", "-o", "o"), 1),
                       ((after, before, "-o", "o"), 1), (("stamped", after, "-o", "o"), 1),
                       ((before, "missing", "-o", "o"), 1), ((before, "less", "-o", "o"), 0),
                       ((before, "less", "-o", "o", "--on-reset=fail"), 3), (("check", "bad"), 1),
                       (("show", "bad"), 1), (("show", before, "types"), 1),
                       (("types", "types", "-o", "o"), 1), ((before, after), 2),
                       ((before, after, "--max-memory=1k", "-o", "o"), 1)):
        shown = terminal(t, 80, *args, code=code).replace("\r\n", "\n").splitlines()
        t.check(shown, f"{args}: said nothing")
        for line in shown:
            t.check(len(line) <= 80, f"{args}: {len(line)} columns: {line!r}")
            t.check(line.startswith(("pprofdelta: ", " " * 12)), f"{args}: {line!r}")
        # The same words as in a log, where each message is one line.
        logged = t.run(*args[:2] if code == 2 else args, stdout=subprocess.DEVNULL)
        if code != 2:
            t.equal(" ".join("\n".join(shown).split()), " ".join(logged.err.split()), str(args))
            t.check(all(line.startswith("pprofdelta: ") for line in logged.err.splitlines()),
                    logged.err)


def read_until(t, fd, wanted):
    data = b""
    while wanted not in data:
        if not select.select([fd], [], [], TIMEOUT)[0]:
            t.check(False, f"waited for {wanted!r}, got {data!r}")
            break
        data += os.read(fd, 65536)
    return data


def slow(t, *args):
    """Runs the command with a stdin that says nothing until the terminal says that it waits."""
    master, slave = t.open_terminal()
    process = subprocess.Popen([t.binary, *args], cwd=t.dir, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    return master, process


def test_progress_on_a_terminal(t):
    t.write("prev", gz(prev()))
    want = t.succeeds("prev", "-", stdin=cur()).out
    for args in (("prev", "-"), ("check", "-"), ("show", "--raw", "-")):
        master, process = slow(t, *args)
        text = read_until(t, master, b"reading (stdin), 3 s")
        t.check(text.startswith(b"\r\x1b[Kpprofdelta: reading (stdin), 2 s"), repr(text))
        out, _ = process.communicate(cur(), timeout=TIMEOUT)
        t.equal(process.returncode, 0)
        if args[0] == "prev":
            t.equal(out, want)
        rest = read_until(t, master, b"\r\x1b[K")
        t.check(rest.endswith(b"\r\x1b[K"), f"the line stays: {rest!r}")
        os.close(master)


def test_a_message_takes_the_line_away(t):
    t.write("prev", gz(prev()))
    master, process = slow(t, "prev", "-", "-o", "out")
    read_until(t, master, b"reading (stdin), 2 s")
    process.communicate(b"\x0a", timeout=TIMEOUT)
    t.equal(process.returncode, 1)
    text = read_until(t, master, b"\n").decode()
    t.contains(text, "\r\x1b[Kpprofdelta: (stdin): ")
    os.close(master)


def test_quiet_has_no_progress(t):
    """The command outlives the first tick, or has nothing to say: both are silence."""
    t.write("prev", gz(profile([(("f",), [1, 1, 1, 1])], time=T0)))
    master, process = slow(t, "-q", "prev", "-")
    ready = select.select([master], [], [], 2.5)[0]
    t.equal(ready, [], "printed")
    process.communicate(cur(), timeout=TIMEOUT)
    os.close(master)


def test_no_progress_in_a_log(t):
    t.write("prev", gz(prev()))
    process = subprocess.Popen([t.binary, "prev", "-"], cwd=t.dir, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ready = select.select([process.stderr], [], [], 2.5)[0]
    t.equal(ready, [], "printed")
    process.communicate(cur(), timeout=TIMEOUT)


# ---- an uploader at a terminal -----------------------------------------------------------------------

# An uploader that asks at the terminal, as scp and curl -u do.
ASKS = "pprofdelta -q --state s %s -- sh -c 'echo $$ >pid; read word </dev/tty; echo got:$word; cat >got'"


class Shell:
    """A shell at a terminal, interactive if it has no script; and what a person types."""

    def __init__(self, t, *script):
        looks(t)
        t.succeeds("--state", "s", ONE, "-o", "out")
        t.shell("true")  # makes the command's name
        self.t, self.seen = t, ""
        self.master, slave = t.open_terminal()
        self.process = subprocess.Popen(
            ["sh", *(script or ["-i"])], cwd=t.dir, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
            env={**os.environ, "PATH": f"{t.path('bin')}:{os.environ['PATH']}", "PS1": "ready> ", "ENV": "", "TERM": "dumb"})
        os.close(slave)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def see(self, pattern):
        """Reads until it is there. Returns what matches the pattern's group."""
        while not (found := re.search(pattern, self.seen)):
            if not select.select([self.master], [], [], TIMEOUT)[0]:
                raise AssertionError(f"waited for {pattern!r}, got {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode()
        self.seen = self.seen[found.end():]
        return found[1] if found.groups() else None

    def run(self, line):
        self.see("ready> ")
        self.type(line + "\n")

    def code(self):
        self.run("echo code:$?.")
        return int(self.see(r"code:(\d+)\."))

    def uploader(self):
        """The process, when it has said which one it is."""
        self.t.check(until(lambda: os.path.exists(self.t.path("pid")) and self.t.load("pid").endswith(b"\n")), "does not run")
        pid = int(self.t.load("pid"))
        os.unlink(self.t.path("pid"))
        return pid

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def wait_for_terminal(t, pid):
    """Until the process waits in the foreground."""
    def reads():
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state, _, group, _, _, foreground = file.read().rsplit(")", 1)[1].split()[:6]
        return state == "S" and group == foreground
    t.check(until(reads), "never came to the foreground")


def arrived(t, sequence):
    got = status(t)
    t.equal((got["sequence"], got["attempts"]), (sequence, 0))
    t.check(t.load("got"), "it did not get the delta")


def test_an_uploader_reads_the_terminal(t):
    shell = Shell(t)
    shell.run(ASKS % TWO)
    shell.uploader()
    shell.type("hello\n")
    shell.see("got:hello")
    t.equal(shell.code(), 0)
    arrived(t, 2)
    shell.run(f"pprofdelta -q --state s {TWO} -- true")  # and the terminal is ours again
    t.equal(shell.code(), 0)
    shell.close()


def test_a_prompt_that_takes_too_long(t):
    """The terminal is as it was before, also if a word was to be typed without echo."""
    shell = Shell(t)
    shell.run(f"pprofdelta -q --state s {TWO} --timeout=0.5 -- sh -c 'stty -echo </dev/tty; read word </dev/tty'")
    t.equal(shell.code(), 4)
    shell.run("stty -a")
    shell.see(r"\s(echo)\s")
    shell.close()


def test_ctrl_c_at_an_uploader(t):
    """... that waits for the terminal, or for something else, or handles it; a script that runs it ends, too."""
    shell = Shell(t)
    t.write("script", f"for n in 1 2; do {ASKS % TWO}; echo went on; done\n".encode())
    handles = ASKS.replace("echo $$", 'trap "exit 7" INT; echo $$') % TWO
    for attempts, line in enumerate((ASKS % TWO, "sh script", handles, ASKS.replace("read word </dev/tty", "sleep 100") % TWO), 1):
        shell.run(line)
        pid = shell.uploader()
        if "sleep" not in line:
            wait_for_terminal(t, pid)
        shell.type("\x03")
        t.equal(shell.code(), 130, line)
        t.check(until(lambda pid=pid: is_gone(pid)), f"{line}: lives on")
        t.equal(status(t)["attempts"], attempts, line)
    shell.close()


def test_ctrl_z_at_an_uploader(t):
    """Both stop, and go on with fg; whether it reads the terminal or not."""
    shell = Shell(t)
    for sequence, waits in enumerate(("", "while ! [ -e go ]; do sleep 0.01; done; "), 2):
        shell.run(ASKS.replace("read word", waits + "read word") % TWO)
        pid = shell.uploader()
        if not waits:
            wait_for_terminal(t, pid)
        shell.type("\x1a")
        shell.see("topped|suspended")
        t.check(until(lambda pid=pid: is_stopped(pid)), "the uploader was not stopped")
        t.contains(t.fails(1, "--state", "s", TWO, "--no-wait", "-o", "out").err, "another run is using this state")
        shell.run("fg")
        t.write("go", b"")
        shell.type("hello\n")
        shell.see("got:hello")
        t.equal(shell.code(), 0)
        arrived(t, sequence)
    shell.close()


def test_an_uploader_in_the_background(t):
    """It may run. If it reads the terminal, the job stops, which the shell says."""
    shell = Shell(t)
    shell.run(f"pprofdelta -q --state s {TWO} -- sh -c 'cat >got; touch done' & wait")
    wait_for(t, "done")
    shell.run(f"{ASKS % TWO} &")
    pid = shell.uploader()
    t.check(until(lambda: is_stopped(pid)), "the uploader was not stopped")
    shell.run("sleep 0.1; jobs")
    shell.see("topped|suspended")
    shell.run("fg")
    shell.type("hello\n")
    shell.see("got:hello")
    t.equal(shell.code(), 0)
    arrived(t, 3)
    shell.close()


def test_an_uploader_that_no_shell_can_continue(t):
    """In the background, of a group that has lost its shell: it is ended, and the lock with it."""
    t.write("job", f"{ASKS % TWO} 2>err; echo $? >part; mv part code\n".encode())
    shell = Shell(t, "-c", "set -m; (sh job &) & while ! [ -e code ]; do sleep 0.01; done")
    wait_for(t, "code")
    t.equal(t.load("code"), b"4\n")
    t.contains(t.load("err").decode(), "sh: was ended because it uses the terminal, and pprofdelta is in the background",
               "hint: the next run covers this window too")
    t.check(until(lambda: is_gone(int(t.load("pid")))), "lives on")
    t.equal(status(t)["attempts"], 1)
    shell.close()
