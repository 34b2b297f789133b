"""Servers that start as root and become another user: the windows of each process, and what root may recover."""

import os
import shutil
import signal
import subprocess
import time

import killed
import recorded
from agents import TIMEOUT, plainly, recording, target, until

NOBODY = 65534
OWN = f"uid-{NOBODY}"  # the folder


def is_worth_it(path):
    """Is the live file complete, and has the process run for some time since?"""
    with open(path, "rb") as file:
        return file.read(len(killed.READY)) == killed.READY and time.time() - os.stat(path).st_ctime > 1


def need_root(t):
    os.geteuid() == 0 or t.skip("root alone can become another user")
    os.chmod(t.dir, 0o755)


def folder(t, mode=0o755, owner=0):
    path = t.path("out")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    os.chmod(path, mode)
    os.chown(path, owner, owner)
    return path


def windows_in(path):
    """{pid: sequences}, of a folder that need not be there."""
    found = recorded.files(path) if os.path.isdir(path) else {}
    return {pid: [recorded.Profile(name).sequence for name in names] for pid, names in found.items()}


def run(t, way, workers, *more, number=signal.SIGTERM, is_enough=None, options=()):
    """Records the server until each process has windows, or until is_enough, and ends all of it by the signal. Returns what
    the server said."""
    command = recording(t, [target(t, "dropping"), way, str(workers), *more],
                        ["--rate=1k", *(options or ["--interval=200ms"])])
    process = subprocess.Popen(command, cwd=t.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
    own = os.path.join(t.path("out"), OWN)

    def has_all():
        found = recorded.files(own) if os.path.isdir(own) else {}
        return len(found) == max(workers, 1) and min(map(len, found.values())) >= 3

    try:
        t.check(until(is_enough or has_all, 20), f"{way}: no windows of nobody: {os.listdir(t.path('out'))}")
    finally:
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=TIMEOUT)
    return err.decode()


def of_function(profiles, name):
    return sum(p.by_function(recorded.ALLOC_BYTES).get(name, 0) for p in profiles)


def check_windows(t, workers, what):
    """Each worker has all of its windows, in the folder of its user, and that is whose files they are."""
    own = os.path.join(t.path("out"), OWN)
    is_over = until(lambda: not killed.live_files(own) and not killed.live_files(t.path("out")), 20)
    t.check(is_over, f"{what}: live files stay")
    found = recorded.profiles(own)
    t.equal(len(found), workers, f"{what}: processes")
    for windows in found.values():
        t.equal([w.sequence for w in windows], list(range(1, len(windows) + 1)), what)
        t.check(of_function(windows, "leak_nobody") > 100e3, f"{what}: {of_function(windows, 'leak_nobody')} bytes")
    owners = {os.stat(os.path.join(own, name)).st_uid for name in os.listdir(own)} | {os.stat(own).st_uid}
    t.equal(owners, {NOBODY}, what)
    paths = [w.path for windows in found.values() for w in windows]
    t.equal(plainly(t, t.binary, "check", "-q", *paths).code, 0, what)


def test_the_workers_of_another_user(t):
    """Also if that user cannot reach the directory, in another root directory, and if it executes the program."""
    need_root(t)
    os.mkdir(t.path("root"))
    for way, mode in (("setuid", 0o755), ("setuid", 0o700), ("setreuid", 0o755), ("setresuid", 0o755), ("exec", 0o755),
                      ("vfork", 0o755), ("chroot", 0o755)):
        folder(t, mode)
        err = run(t, way, 2, *([t.path("root")] if way == "chroot" else []))
        check_windows(t, 2, f"{way} {mode:o}")
        t.lacks(err, "missing", "lost")
        master, = windows_in(t.path("out")).values()
        t.check(len(master) >= 3, f"{way}: the master has {master}")
        t.equal(os.stat(os.path.join(t.path("out"), OWN)).st_mode & 0o7777, mode)
        ran = plainly(t, t.binary, "leaks", "out", "--every=1m")
        t.lacks(ran.err, "missing")
        t.contains(ran.out.decode(), "3 of 3 runs")


def test_the_workers_are_killed(t):
    """Root recovers their last windows, with their rights."""
    need_root(t)
    for mode in 0o755, 0o700:
        own = os.path.join(folder(t, mode), OWN)

        def has_all(places=((own, 2), (t.path("out"), 1))):
            return all(os.path.isdir(at) and sum(map(is_worth_it, killed.live_files(at))) == len_ for at, len_ in places)

        run(t, "setuid", 2, number=signal.SIGKILL, is_enough=has_all, options=["--interval=1h"])
        ran = killed.recover(t.binary, t.path("out"))
        t.equal((ran.returncode, ran.stderr.count("the last window")), (0, 3), ran.stderr)
        check_windows(t, 2, f"killed {mode:o}")


def test_one_process_that_becomes_another_user(t):
    """Its windows are one series, in two folders, and its live file goes with it."""
    need_root(t)
    for number in signal.SIGTERM, signal.SIGKILL:
        folder(t)
        err = run(t, "setuid", 0, number=number)
        number == signal.SIGTERM and t.lacks(err, "lost", "missing")
        t.equal(killed.live_files(t.path("out")), [])
        number == signal.SIGKILL and t.equal(killed.recover(t.binary, t.path("out")).returncode, 0)
        own = os.path.join(t.path("out"), OWN)
        t.equal(killed.live_files(own), [])
        (pid, first), = windows_in(t.path("out")).items()
        then = windows_in(own)[pid]
        t.equal(first + then, list(range(1, len(first) + len(then) + 1)))
        paths = recorded.files(t.path("out"))[pid] + recorded.files(own)[pid]
        profiles = list(map(recorded.Profile, paths))
        t.equal(len({p.id for p in profiles}), 1)
        t.check(of_function(profiles, "leak_root") > 500e3 and of_function(profiles, "leak_nobody") > 100e3, "bytes")
        ran = plainly(t, t.binary, "sum", "out", "-o", "sum.pb.gz")
        t.equal((ran.code, ran.err), (0, ""))
        t.equal(recorded.add_up([recorded.Profile(t.path("sum.pb.gz"))]), recorded.add_up(profiles))


def test_windows_that_cannot_be_written(t):
    """The effective user alone may change back, so no folder is made. The directory has a file that says so, and so do the
    master and the commands that read it."""
    need_root(t)
    out = folder(t)

    def lost():
        return [name for name in os.listdir(out) if name.endswith(".lost.txt")]

    err = run(t, "effective", 1, is_enough=lost)
    name, = lost()
    with open(os.path.join(out, name), encoding="utf-8") as file:
        text = file.read()
    t.contains(text, "profiles are missing: process ", f"cannot write to {out}")
    t.contains(err, text)
    for verb in "leaks", "recover":
        t.contains(plainly(t, t.binary, verb, "out").err, f"out/{name}: profiles are missing here")
    # A folder of this name that is another's, or a link, is not used.
    for trap in "link", "other":
        out = folder(t)
        os.mkdir(t.path("elsewhere")) if trap == "link" else os.mkdir(os.path.join(out, OWN))
        os.symlink(t.path("elsewhere"), os.path.join(out, OWN)) if trap == "link" else os.chown(os.path.join(out, OWN), 1, 1)
        run(t, "setuid", 1, is_enough=lost)
        t.equal(os.listdir(os.path.join(out, OWN)), [], trap)
    # Somebody else might put a trap into these.
    for mode, owner in ((0o775, 0), (0o755, 1)):
        out = folder(t, mode, owner)
        run(t, "setuid", 1, is_enough=lost)
        t.check(not os.path.exists(os.path.join(out, OWN)), f"a folder was made in one of mode {mode:o}")


def test_a_directory_where_the_user_may_write(t):
    """No folder is made."""
    need_root(t)
    for mode, owner in ((0o1777, 0), (0o755, NOBODY)):
        out = folder(t, mode, owner)
        run(t, "setuid", 2, is_enough=lambda: sum(len(names) >= 3 for names in recorded.files(out).values()) == 3)
        t.equal(len(windows_in(out)), 3)
        t.check(not os.path.exists(os.path.join(out, OWN)), "a folder was made")


def test_keep_in_the_folder_of_a_user(t):
    need_root(t)
    own = os.path.join(folder(t), OWN)
    names = set()

    def is_enough():
        names.update(recorded.NAME.match(n).group(0) for n in (os.listdir(own) if os.path.isdir(own) else []) if recorded.NAME.match(n))
        return len(names) >= 8

    run(t, "setuid", 1, is_enough=is_enough, options=["--interval=200ms", "--keep=3"])
    left, = windows_in(own).values()
    t.check(len(left) <= 4, f"{left} of {len(names)}")


def as_user(user):
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def leave(t, user, owner, mode=0o755):
    """A process of the user is killed. The folder belongs to the owner then. Returns it and the live file."""
    out = folder(t, mode, user)
    killed.kill(t.binary, killed.PERL, out, 0.1, ["--rate=4k"], preexec_fn=lambda: as_user(user)) or t.skip("perl is not here")
    os.chown(out, owner, owner)
    path, = killed.live_files(out)
    return out, path


def test_root_recovers_what_is_of_the_user_of_the_folder(t):
    need_root(t)
    shutil.which("perl") or t.skip("perl is not here")
    out, path = leave(t, NOBODY, NOBODY)
    victim = t.write("victim", b"")  # a profile would replace an empty file
    name = os.path.basename(path).replace(".live", "")
    os.symlink(victim, os.path.join(out, f"{name}.000001.pb.gz"))
    ran = killed.recover(t.binary, out)
    t.equal((ran.returncode, killed.live_files(out), os.path.getsize(victim)), (0, [], 0), ran.stderr)
    made = os.path.join(out, f"{name}.000002.pb.gz")
    t.equal((os.stat(made).st_uid, os.stat(made).st_gid, os.path.islink(made)), (NOBODY, NOBODY, False))
    # Another user's folder; a folder of root; a file with two names, with rights for others, or a link.
    for owner in 1, 0:
        out, path = leave(t, NOBODY, owner)
        ran = killed.recover(t.binary, out)
        t.equal((ran.returncode, os.listdir(out)), (1, [os.path.basename(path)]), ran.stderr)
        t.contains(ran.stderr, "is left alone: it belongs to another user than its folder")
    out, path = leave(t, NOBODY, NOBODY)
    os.link(path, t.path("name"))
    t.equal((killed.recover(t.binary, out).returncode, os.listdir(out)), (1, [os.path.basename(path)]))
    os.remove(t.path("name"))
    os.chmod(path, 0o640)
    t.equal((killed.recover(t.binary, out).returncode, os.listdir(out)), (1, [os.path.basename(path)]))
    os.chmod(path, 0o600)
    os.rename(path, t.path("name"))
    os.symlink(t.path("name"), path)
    t.equal((killed.recover(t.binary, out).returncode, os.listdir(out)), (1, [os.path.basename(path)]))
    # Where the user may not write, root does not.
    os.remove(path)
    os.rename(t.path("name"), path)
    os.chmod(out, 0o555)
    ran = killed.recover(t.binary, out)
    t.equal((ran.returncode, os.listdir(out)), (1, [os.path.basename(path)]), ran.stderr)
    os.chmod(out, 0o755)
    # The command of record has root's rights and groups, and the one of --to, too.
    whole = shutil.copy(path, t.path("whole"))
    ran = plainly(t, t.binary, "record", "-q", "-o", out, "--", "sh", "-c", "id -u; id -G; grep CapEff /proc/self/status",
                  preexec_fn=lambda: os.setgroups([0, 7, 8]))
    t.equal(ran.out.splitlines()[:2], [b"0", b"0 7 8"], ran.err)
    with open("/proc/self/status", "rb") as file:
        t.contains(file.read().decode(), ran.out.splitlines()[2].decode())
    t.equal((killed.live_files(out), int(path.split(".")[-2]) in recorded.files(out)), ([], True))
    out = folder(t, 0o755, NOBODY)
    shutil.copy(whole, path)
    os.chmod(path, 0o600)
    os.chown(path, NOBODY, NOBODY)
    with open(path, "r+b") as file:  # a copy is another file, and its process has ended with another boot
        data = killed.with_boot(file.read(), b"0" * 8)
        file.seek(0)
        file.write(data)
    taken = t.path("taken.pb.gz")
    ran = plainly(t, t.binary, "recover", "--to", f"cat > {taken}; id -u > {t.path('user')}", out)
    t.equal((ran.code, os.listdir(out), open(t.path("user"), encoding="ascii").read()), (0, [], "0\n"), ran.err)
    t.equal(recorded.Profile(taken).sequence, 1)


def test_links_to_folders_of_users_are_not_followed(t):
    out, path = folder_of_planted(t)
    for verb in "leaks", "sum":
        ran = plainly(t, t.binary, verb, out, *(["-o", "sum.pb.gz"] if verb == "sum" else []))
        t.equal(ran.code, 1, ran.err)
        t.contains(ran.err, "has no profiles")
    t.check(os.path.exists(path), "a planted file went")


def folder_of_planted(t):
    """A folder with a link in the place of a user's folder, and what the link leads to."""
    os.mkdir(t.path("out"))
    os.mkdir(t.path("elsewhere"))
    path = t.path("elsewhere/heap.x.1.000001.pb.gz")
    t.write(path, b"")
    os.symlink(t.path("elsewhere"), t.path("out/uid-7"))
    os.mkdir(t.path("out/uid-x"))
    return t.path("out"), path
