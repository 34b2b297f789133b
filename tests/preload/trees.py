"""record --pid-tree: the profiles of all processes that a command starts, added up."""

import os
import re
import shutil
import signal
import subprocess

import pb
import recorded
from agents import TIMEOUT, checked, plainly, quiet, record, target

TREE = ["--pid-tree", "--rate=1"]
TYPES = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes", "freed_objects/count",
         "freed_space/bytes"]


def the_sum(t):
    """The path of the only sum in the folder, and the folder of its parts."""
    sums = [name for name in os.listdir(t.path("out")) if name.endswith(".pb.gz")]
    t.equal(len(sums), 1, f"sums: {sums}")
    t.check(re.fullmatch(r"tree\.[\w+.-]+\.\d+\.pb\.gz", sums[0]), sums[0])
    return t.path("out/" + sums[0]), t.path("out/" + sums[0][:-len(".pb.gz")])


def by_binary(path):
    """{(stack of names): values} of a profile without a stamp."""
    sums = {}
    for stack, values in recorded.Profile(path, is_stamped=False).samples:
        at = sums.setdefault(stack, [0] * len(values))
        for i, value in enumerate(values):
            at[i] += value
    return sums


def added_by_hand(t, folder):
    """The same, and the time, from the profiles of the single processes. What is of one time, of which each
    process has its own, is in no sum."""
    sums, begin, end = {}, [], []
    for profiles in checked(t, folder).values():
        for profile in profiles:
            begin.append(profile.begin)
            end.append(profile.end)
            for stack, values in profile.samples:
                at = sums.setdefault(stack, [0] * len(TYPES))
                for i, value in enumerate(values[:4] + values[recorded.FREED_OBJECTS:recorded.RSS]):
                    at[i] += value
    return sums, (max(end), max(end) - min(begin))


def whole(t, *command, code=0, options=()):
    """Runs the command, and checks the sum against its parts."""
    shutil.rmtree(t.path("out"), ignore_errors=True)
    ran = quiet(t, record(t, *command, options=[*TREE, *options]))
    t.equal(ran.code, code, f"{command}")
    path, folder = the_sum(t)
    done = plainly(t, t.binary, "check", path)
    t.equal((done.code, done.err), (0, ""), "pprofdelta check")
    got, (want, time) = by_binary(path), added_by_hand(t, folder)
    header = pb.read(pb.load(path))
    t.equal((header.time, header.duration), time, f"{command}: the end and the duration")
    t.equal((header.types, header.comments), (TYPES, []))
    t.equal(got, {stack: values for stack, values in want.items() if any(values)}, f"{command}")
    return ran, path, folder


def test_the_sum_of_a_tree(t):
    """Children, their children, programs that become others, and several windows of one process."""
    counted = target(t, "counted")
    script = '"$0"; ("$0"; "$0") & wait; exec "$0"'
    _, path, folder = whole(t, "sh", "-c", script, counted, options=["--interval=5ms"])
    made = sum(values[recorded.ALLOC_OBJECTS] for stack, values in by_binary(path).items()
               if "main" in stack and values[recorded.ALLOC_BYTES] % 7777 == 0)
    t.equal(made, 400, "blocks of four programs")
    t.check(len(recorded.files(folder)) >= 4, "processes")
    first = next(iter(recorded.Profile(path, is_stamped=False).mappings.values()))
    t.check(os.path.basename(first[3]) in ("dash", "bash", "sh"), f"the main binary is {first[3]}")


def test_processes_one_after_the_other(t):
    """The tree lasts from the first beginning to the last end, whichever process that was."""
    script = '"$0"; sleep 0.2; "$0"'
    whole(t, "sh", "-c", script, target(t, "counted"))
    whole(t, "sh", "-c", f"({script}) & exec sleep 0.1", target(t, "counted"), options=["--no-account"])


def test_what_is_planted_in_the_folder_of_a_tree(t):
    t.write("foreign", b"\x0a\x00\x32\x00")
    script = """cd "$PPROFDELTA_RECORD_DIR"; "$0"; cp "$1" heap.foreign.6.pb.gz
        : >heap.empty.1.pb.gz; echo hunter2 >heap.text.2.pb.gz; mkfifo heap.fifo.3.pb.gz
        ln -s /dev/zero heap.zero.4.pb.gz; truncate -s 20G heap.vast.5.pb.gz"""
    shutil.rmtree(t.path("out"), ignore_errors=True)
    ran = record(t, "sh", "-c", script, target(t, "counted"), t.path("foreign"), options=TREE)
    t.equal(ran.code, 0, ran.err)
    path, folder = the_sum(t)
    for name in ("heap.empty.1", "heap.text.2", "heap.fifo.3", "heap.zero.4", "heap.vast.5", "heap.foreign.6"):
        t.contains(ran.err, f"pprofdelta: note: {folder}/{name}.pb.gz: ")
        os.remove(f"{folder}/{name}.pb.gz")
    t.equal(ran.err.count("it is left out"), 6)
    t.check("hunter2" not in ran.err, ran.err)
    got, (want, _) = by_binary(path), added_by_hand(t, folder)
    t.equal(got, {stack: values for stack, values in want.items() if any(values)})


def test_a_server_that_forks(t):
    """What was in use before the fork is in use in each process."""
    whole(t, target(t, "forks"))


def test_the_status_is_that_of_the_command(t):
    for script, code in (("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM), ("kill -INT $$", -signal.SIGINT),
                         ("kill -KILL $$", -signal.SIGKILL)):
        ran = quiet(t, record(t, "sh", "-c", script, options=["--pid-tree", "--rate=1G"]))
        t.equal(ran.code, code, script)
    t.equal(os.listdir(t.path("out")), [], "folders without a profile")
    for command, code in ((t.path("missing"), 127), (t.dir, 126), (t.write("text", b"text"), 126)):
        ran = record(t, command, options=["--pid-tree"])
        t.equal((ran.code, len(ran.noise), ran.out), (code, 1, b""), command)
    t.equal(os.listdir(t.path("out")), [], "folders of commands that did not run")


def start(t, script, *options):
    return subprocess.Popen([t.binary, "record", *TREE, "-o", t.path("out"), *options, "--", "sh", "-c",
                             script, target(t, "counted")], cwd=t.dir, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def test_a_signal_for_record_is_for_the_command(t):
    """The command ends by it, and its profiles are added up. The shell itself would exit with 130 after
    SIGINT, so the signal is sent when cat runs and has opened its file."""
    gate = t.path("gate")
    os.mkfifo(gate)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        process = start(t, f'"$0"; exec cat "{gate}"', "-q")
        with open(gate, "wb"):
            process.send_signal(number)
            _, err = process.communicate(timeout=TIMEOUT)
        t.equal((process.returncode, err), (-number, b""))
        t.check(by_binary(the_sum(t)[0]), "nothing was added up")


def test_the_command_may_handle_a_signal(t):
    process = start(t, 'trap "exit 5" USR1; echo ready; while :; do sleep 0.1; done', "-q", "--signal=none")
    t.equal(process.stdout.readline(), b"ready\n")
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=TIMEOUT)
    t.equal(process.returncode, 5)


def test_what_the_command_leaves_behind_belongs_to_the_tree(t):
    """record waits for it and says so; a signal ends the wait."""
    script = '(while ! [ -e go ]; do sleep 0.05; done; "$0") >/dev/null 2>&1 & echo ready; exit 3'
    process = start(t, script)
    t.equal(process.stdout.readline(), b"ready\n")
    t.contains(process.stderr.readline().decode(), "the command has ended; waiting")
    t.write("go", b"")
    process.communicate(timeout=TIMEOUT)
    t.equal(process.returncode, 3)
    t.check(any("main" in stack for stack in by_binary(the_sum(t)[0])), "what ran on is not in the sum")
    shutil.rmtree(t.path("out"))
    os.remove(t.path("go"))
    process = start(t, script)
    t.equal(process.stdout.readline(), b"ready\n")
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    t.equal(process.returncode, 3, "the status is the command's")
    os.killpg(process.pid, signal.SIGKILL)  # what is left behind has no go


def test_the_end_says_where_it_is(t):
    ran = record(t, target(t, "counted"), options=TREE, end=None)
    path, folder = the_sum(t)
    t.equal(ran.noise, [f"pprofdelta: note: 1 profile of 1 program, added up: {path} "
                        f"(one by one, with the peak and the resident memory of each: {folder})",
                        f"pprofdelta: note: next: pprofdelta show {path}"])
    ran = record(t, "true", options=["--pid-tree"], end=None)
    t.equal(len(ran.noise), 1)
    t.contains(ran.err, "no profile: no allocation", "--rate")
    t.equal(ran.code, 0)


def test_two_runs_in_one_folder(t):
    """Each has its own folder, and nothing of the other in its sum."""
    for _ in range(2):
        quiet(t, record(t, target(t, "counted"), options=TREE))
    sums = [name for name in os.listdir(t.path("out")) if name.endswith(".pb.gz")]
    t.equal(len(sums), 2)
    for name in sums:
        made = sum(v[recorded.ALLOC_OBJECTS] for s, v in by_binary(t.path("out/" + name)).items()
                   if "main" in s)
        t.equal(made, 100)


def test_it_is_for_files(t):
    ran = record(t, "true", options=["--pid-tree", "--to=cat"])
    t.equal((ran.code, ran.out), (125, b""))
    t.contains(ran.err, "--pid-tree", "--to")
