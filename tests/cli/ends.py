"""How the command ends when it is told to: by the signal, with nothing left behind."""

import array
import fcntl
import os
import signal
import subprocess
import termios
import time

from harness import TIMEOUT
from outputs import OLD
from pb import profile, read
from samples import T0, large
from windows import start


def wait_until(condition, process):
    while not condition() and process.poll() is None:
        time.sleep(0.001)


def big_pair(t, size):
    t.write("prev", profile([], time=T0))
    t.write("cur", profile(large(size), time=T0 + 1))
    return "prev", "cur", "--compress=none", "-q"


def test_signal_while_a_pipe_is_full(t):
    args = big_pair(t, 1_000_000)
    os.mkfifo(t.path("fifo"))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        reader = os.open(t.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
        process = start(t, *args, "-o", "fifo")
        waiting = array.array("i", [0])

        def is_full():
            fcntl.ioctl(reader, termios.FIONREAD, waiting)
            return waiting[0] >= 4096

        wait_until(is_full, process)
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT)
        os.close(reader)
        t.equal(process.returncode, -number)
        t.equal(t.litter(), [])


def test_signal_while_nobody_opens_the_pipe(t):
    args = big_pair(t, 10)
    os.mkfifo(t.path("fifo"))
    process = start(t, *args, "-o", "fifo")
    try:
        process.wait(0.5)
        t.check(False, "did not wait for a reader")
    except subprocess.TimeoutExpired:
        pass
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT)
    t.equal(process.returncode, -signal.SIGTERM)


def test_signal_while_the_temporary_file_grows(t):
    """The moment is not ours to choose: it is tried until it was hit."""
    args = big_pair(t, 60_000_000)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        hit = False
        for _ in range(30):
            t.write("out", OLD)
            process = start(t, *args, "-o", "out")
            wait_until(t.litter, process)
            process.send_signal(number)
            process.communicate(timeout=TIMEOUT)
            t.equal(t.litter(), [], "left behind")
            if process.returncode == 0:
                t.equal(len(read(t.load("out")).samples), 1)
                continue
            t.equal(process.returncode, -number)
            t.equal(t.load("out"), OLD)
            hit = True
            break
        t.check(hit, f"signal {number} always came too late")
