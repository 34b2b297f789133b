"""The real programs that the end-to-end tests meet: got by their own package managers, by lock files
that stand in the tree, and kept between runs in the user's cache, so that a second run builds
nothing. Where one cannot be had, `Missing` says why, and the tests that need it are skipped.
"""

import fcntl
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
TIMEOUT = 3600  # for what hangs; nothing here measures time


class Missing(Exception):
    pass


def script(run, finish):
    """Runs the tests of a script, which finish() counts. Where something is missing they are skipped (77), and have
    failed in CI."""
    try:
        run()
    except Missing as why:
        print(f"skipped: {why}\n0 passed, 0 failed")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    finish()


def need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise Missing(f"there is no {' and no '.join(missing)}")


def made(what, command, cwd, env=None):
    """Runs a step of making something; its last words are the reason where it fails."""
    try:
        ran = subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=TIMEOUT,
                             stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    except subprocess.TimeoutExpired:
        raise Missing(f"{what}: not done within {TIMEOUT} seconds") from None
    if ran.returncode:
        said = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip()
        raise Missing(f"{what}: {said[-400:]}")
    return ran.stdout.decode("utf-8", "replace")


def kept(name, *sources):
    """A folder for what is made of these files. It is another one when they change."""
    digest = hashlib.sha256()
    for source in sources:
        with open(source, "rb") as file:
            digest.update(file.read())
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "pprofdelta-tests", f"{name}-{digest.hexdigest()[:16]}")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        folder = os.path.join(tempfile.gettempdir(), f"pprofdelta-tests-{os.getuid()}", name)
        os.makedirs(folder, exist_ok=True)
    return folder


def made_once(folder, *steps):
    """Runs the steps of making what the folder is for, unless it has all of it."""
    finished = os.path.join(folder, "finished")
    if not os.path.exists(finished):
        for command in steps:
            made(" ".join(command[:3]), command, folder)
        with open(finished, "wb"):
            pass
    return folder


def go_program(source, what, *flags, cgo="0"):
    """Returns the path of a program. Go links it again only when it has changed, so it is linked once for all tests that
    run it. Without cgo, as in gotests.py: what one test has compiled, another need not compile."""
    need("go")
    files = [path for path in glob.glob(os.path.join(source, "**"), recursive=True) if os.path.isfile(path)]
    folder = os.path.join(kept("go", *sorted(files)), hashlib.sha256(repr((what, flags)).encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    has_cache = any(os.environ.get(home) for home in ("GOCACHE", "XDG_CACHE_HOME", "HOME"))
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made(f"{what} of {os.path.basename(source)}", ["go", "build", "-trimpath", *flags, "-o", folder + "/", what], source,
             {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": cgo,
              **({} if has_cache else {"GOCACHE": os.path.join(folder, "go-cache")})})
    return os.path.join(folder, os.path.basename(os.path.realpath(os.path.join(source, what))))


def node_modules():
    """The folder with node_modules and the scripts."""
    need("node", "npm")
    source = os.path.join(here, "node")
    locked = [os.path.join(source, name) for name in ("package.json", "package-lock.json")]
    folder = kept("node", *locked)
    for name in os.listdir(source):
        shutil.copy(os.path.join(source, name), folder)
    return made_once(folder, ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"])


def python_with(*files, python=sys.executable):
    """A Python that has what the files pin."""
    files = [os.path.join(here, file) for file in files]
    folder = kept("python" + os.path.realpath(python).replace("/", "-"), *files)
    program = os.path.join(folder, "bin", "python")
    made_once(folder, [python, "-m", "venv", "--clear", folder],
              [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
               "--no-binary=pyspark", *(word for file in files for word in ("-r", file))])
    return program


def rust_program():
    """Cargo keeps what it built, with a copy of the source: it writes there too."""
    need("cargo")
    source = os.path.join(here, "rust")
    folder = kept("rust", os.path.join(source, "Cargo.toml"))
    shutil.copytree(source, os.path.join(folder, "source"), dirs_exist_ok=True)
    made("cargo build", ["cargo", "build", "--quiet", "--release", "--target-dir", folder],
         os.path.join(folder, "source"))
    return os.path.join(folder, "release", "rust")


class Program:
    """A program that prints its address and serves until its standard input ends."""

    def __init__(self, *command, **popen):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
        self.address = self.process.stdout.readline().decode().strip()

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=TIMEOUT) as answer:
            return answer.read()

    def end(self):
        if self.process.poll() is None:
            self.process.communicate(timeout=TIMEOUT)


@functools.cache
def google_pprof():
    """google/pprof's Merge, and a comparison by its own reading, as programs."""
    return [go_program(os.path.join(root, "tests", "peers"), what) for what in ("./merge", "./compare")]


def agrees_with_merge(t, counters=""):
    """The file delta has what google/pprof makes of prev and cur, sample by sample."""
    merge, compare = google_pprof()
    for command in ([merge, "-c", counters, t.path("prev"), t.path("cur"), t.path("merged")],
                    [compare, "-clamp", t.path("delta"), t.path("merged")]):
        ran = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        t.equal(ran.returncode, 0, (ran.stdout + ran.stderr).decode()[-2000:])


def same(t, got, want, what):
    """Two readings, sample by sample; only the first that differ are shown."""
    differ = [name for name in {**want, **got} if got.get(name) != want.get(name)]
    shown = [f"{name}: {got.get(name)} is not {want.get(name)}" for name in differ[:3]]
    t.check(not differ, f"{what}: {len(differ)} samples differ: {'; '.join(shown)}")


def run(module, arguments):
    """The tests of a module, after its `prepare`; 77, which is skipped, where something is missing."""
    import harness
    with tempfile.TemporaryDirectory(prefix="pprofdelta-real-") as folder:
        try:
            module.prepare(folder)
        except Missing as why:
            print(f"skipped: {why}\n0 passed, 0 failed")
            return 77
        try:
            return harness.run_tests(os.path.abspath(arguments[0]), [module], *arguments[1:])
        finally:
            getattr(module, "end", lambda: None)()
