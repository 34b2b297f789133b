"""What a test of the command gets: a folder of its own, a way to run the command, and checks.

A test is a function test_NAME(t). A failed check is noted and the test goes on; a test in which no
check ran has failed. What the command says is held to its manners on every run: see `manners`.
"""

import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import traceback

from pb import Request, inflate, load

TIMEOUT = 3600  # for a command that hangs; nothing here measures time


class Skip(Exception):
    pass


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode("utf-8", "replace")

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")


class Test:
    def __init__(self, binary, name):
        self.binary, self.name = binary, name
        self.checks, self.failures = 0, []
        self.dir = tempfile.mkdtemp(prefix="pprofdelta-test-")

    # ---- files -------------------------------------------------------------------------------------

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def load(self, name):
        return load(self.path(name))

    def litter(self):
        """Temporary files that were left behind, anywhere below the test's folder."""
        return [name for _, dirs, files in os.walk(self.dir) for name in files + dirs
                if name.startswith(".pprofdelta")]

    def as_nobody(self):
        """How run is told to run as a user who may write nothing here, if this one may write everything."""
        if os.geteuid():
            return {}
        os.chmod(self.dir, 0o755)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            if self.run("--version", manners=False, **nobody).code:
                self.skip("nobody may not run the command here")
        except (PermissionError, OSError):
            self.skip("nobody may not run the command here")
        return nobody

    # ---- running -----------------------------------------------------------------------------------

    def run(self, *args, stdin=b"", env=None, manners=True, **popen):
        """Runs the command in the test's folder. env adds to the environment."""
        full_env = {**os.environ, **env} if env else None
        given = {"stdin": subprocess.PIPE} if isinstance(stdin, bytes) else {"stdin": stdin}
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        with subprocess.Popen([self.binary, *args], cwd=self.dir, env=full_env, **given,
                              **popen) as process:
            try:
                out, err = process.communicate(stdin if isinstance(stdin, bytes) else None,
                                               timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise
        result = Result(process.returncode, out or b"", err or b"")
        if manners:
            self.manners(args, result)
        is_upload = "--" in args and args[0] != "record"  # what is on standard output is the uploader's
        if "--format=otlp" in args and result.code == 0 and not is_upload:
            for data in filter(None, self.written(args, result)):  # a window without samples is no request
                self.request(data)
        return result

    def shell(self, script):
        """Runs a script as a user types it, who finds the command by its name."""
        os.makedirs(self.path("bin"), exist_ok=True)
        if not os.path.exists(self.path("bin/pprofdelta")):
            os.symlink(self.binary, self.path("bin/pprofdelta"))
        return subprocess.run(["/bin/sh", "-c", script], cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT, env={**os.environ, "PATH": f"{self.path('bin')}:{os.environ['PATH']}"})

    def written(self, args, result):
        """What the command wrote: to standard output, to the file of -o, or for record into its folder."""
        if "-o" not in args:
            return [result.out] if result.out else []
        out = self.path(args[args.index("-o") + 1])
        if os.path.isdir(out):
            return [self.load(os.path.join(out, name)) for name in os.listdir(out) if ".otlp" in name]
        return [self.load(out)]

    def request(self, data):
        """The OTLP request in an output. The command reads it, too: a request that check refuses passes no test. (run()
        does this with what the command writes itself.)"""
        checked = subprocess.run([self.binary, "check", "-"], input=data, capture_output=True, timeout=TIMEOUT,
                                 check=False)
        self.check(checked.returncode == 0 and b"an OTLP request" in checked.stdout,
                   f"check refuses what was written: {checked.stderr or checked.stdout!r}")
        is_zstd = data[:4] == b"\x28\xb5\x2f\xfd"
        for receiver in () if is_zstd else ("parca", "otel"):
            checked = subprocess.run([self.binary, "check", "-q", f"--for={receiver}", "-"], input=data, capture_output=True,
                                     timeout=TIMEOUT, check=False)
            self.check(checked.returncode == 0, f"{receiver} refuses what was written: {checked.stderr!r}")
        return None if is_zstd and not shutil.which("zstd") else Request(inflate(data))

    def manners(self, args, result):
        """Holds for every run: it ends by itself, and every message says who speaks."""
        self.check(result.code >= 0, f"{args}: killed by signal {-result.code}: {result.err}")
        is_record = args and args[0] == "record"
        own = (0, 125, 126, 127) if is_record else (0, 1, 2, 3, 4, 5, 6)
        self.check(result.code in own, f"{args}: exit code {result.code}")
        for line in result.err.splitlines():
            self.check(line.startswith("pprofdelta: "), f"{args}: said {line!r}")
        has_suspects = args and args[0] == "leaks" and result.code in (5, 6)
        if result.code and not has_suspects:
            self.check(result.err.startswith("pprofdelta: "), f"{args}: failed without a word")
        if result.code == 2 or (is_record and result.err.endswith("--help\n")):
            verb = f" {args[0]}" if args and args[0] in ("show", "check", "sum", "merge", "record", "symbolize", "leaks", "export", "recover") else ""
            self.check(result.err.endswith(f"\npprofdelta: try pprofdelta{verb} --help\n"),
                       f"{args}: does not point to --help: {result.err}")
            self.check(len(result.err.splitlines()) == 2, f"{args}: says too much: {result.err}")
            self.check(result.out == b"", f"{args}: printed, though it was refused")

    # ---- checking ----------------------------------------------------------------------------------

    def check(self, condition, message):
        self.checks += 1
        if not condition:
            frames = [f for f in traceback.extract_stack()[:-1] if "harness" not in f.filename]
            place = frames[-1] if frames else None
            where = f"{os.path.basename(place.filename)}:{place.lineno}: " if place else ""
            self.failures.append(where + message)
        return condition

    def equal(self, got, want, what=""):
        return self.check(got == want, f"{what + ': ' if what else ''}{got!r} is not {want!r}")

    def contains(self, text, *parts):
        for part in parts:
            self.check(part in text, f"{part!r} is not in {text!r}")

    def lacks(self, text, *parts):
        for part in parts:
            self.check(part not in text, f"{part!r} is in {text!r}")

    def succeeds(self, *args, **kwargs):
        result = self.run(*args, **kwargs)
        self.check(result.code == 0, f"{args}: exit code {result.code}: {result.err}")
        return result

    def fails(self, code, *args, **kwargs):
        result = self.run(*args, **kwargs)
        self.check(result.code == code, f"{args}: exit code {result.code}, not {code}: {result.err}")
        return result

    def skip(self, why):
        raise Skip(why)

    def open_terminal(self):
        """The two ends of one, where the machine has them: a bare root may not."""
        try:
            return pty.openpty()
        except OSError as error:
            raise Skip(f"no terminal is to be had: {error}") from None

    def close(self):
        for folder, dirs, _ in os.walk(self.dir):
            for name in dirs:
                os.chmod(os.path.join(folder, name), 0o700)
        shutil.rmtree(self.dir, ignore_errors=True)


def until(condition, seconds=TIMEOUT):
    """Waits for something that is to happen."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def meet_signals_as_a_shell_does():
    """What nohup, cron or a background job had us ignore, the commands under test would ignore too."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def tests_of(modules, which):
    """The tests (name, function) that run: all, those with `which` in their names, or every Nth ("1/N")."""
    tests = [(f"{module.__name__}.{name[5:]}", function) for module in modules
             for name, function in vars(module).items() if name.startswith("test_")]
    part = re.fullmatch(r"(\d+)/(\d+)", which)
    if part:
        return tests[int(part[1]) - 1::int(part[2])]
    return [(name, function) for name, function in tests if which in name]


def run_tests(binary, modules, which=""):
    meet_signals_as_a_shell_does()
    passed = failed = skipped = 0
    for name, function in tests_of(modules, which):
        t = Test(binary, function.__name__)
        try:
            function(t)
            if not t.checks:
                t.failures.append("checked nothing")
        except Skip as why:
            print(f"skipped {name}: {why}")
            skipped += 1
            continue
        except Exception:  # a test that breaks is a test that failed
            t.failures.append("".join(traceback.format_exc(limit=-3)))
        finally:
            t.close()
        print("FAILED" if t.failures else "ok", name, flush=True)
        for failure in t.failures[:10]:
            print("  " + failure.replace("\n", "\n  "))
        passed += not t.failures
        failed += bool(t.failures)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if passed else 77 if skipped else 1
