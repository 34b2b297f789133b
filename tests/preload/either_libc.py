"""One agent for both C libraries: programs of other tests, built by musl-gcc, under the agent that was built with glibc."""

import os
import re
import shutil
import subprocess

import attached
import endings
import own_targets
import recorded
from agents import AGENT, by_hand, need, only, plainly

FLAGS = ("-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-D_GNU_SOURCE")
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets")


def build(t, folder, name):
    """libplugin_one.so is plugin.c with another main, as meson.build has it."""
    source, _, plugin = name.removeprefix("lib").removesuffix(".so").partition("_")
    shared = ("-shared", "-fPIC", f"-DPLUGIN={plugin}") if plugin else ()
    subprocess.run(["musl-gcc", *FLAGS, *shared, os.path.join(SOURCES, source + ".c"), "-o", os.path.join(folder, name)],
                   check=True)


def loader_of(program):
    with open(program, "rb") as file:
        return re.search(rb"/[^\0]*/ld-musl-[^\0]*", file.read()).group().decode()


def in_musl(test, *names):
    def run(t):
        need(t, "musl-gcc")
        t.targets = t.path("musl")
        os.mkdir(t.targets)
        for name in names:
            build(t, t.targets, name)
        test(t)
    return run


test_threads = in_musl(own_targets.test_one_thread_alone, "alone")
test_attributes = in_musl(own_targets.test_threads_that_ask_for_their_attributes, "attributes")
test_cancelled = in_musl(own_targets.test_out_of_memory_in_a_cancelled_thread, "cancelled")
test_forks = in_musl(own_targets.test_forks, "forks")
test_plugins = in_musl(own_targets.test_plugins, "plugin", "libplugin_one.so", "libplugin_two.so")
test_manners = in_musl(own_targets.test_manners, "manners")
test_the_peak = in_musl(own_targets.test_the_peak, "peak")
test_own_malloc = in_musl(own_targets.test_own_malloc, "ownmalloc")
test_ends = in_musl(endings.test_ends_on_an_alternate_stack, "exits")


def a_small_stack(t):
    """A program that runs on it without the agent runs with it. With each allocation a sample, and with few."""
    own_targets.quiet(t, own_targets.same(t, own_targets.target(t, "small"), options=["--rate=1"]))
    profile = only(t, recorded.profiles(t.path("out")))[-1]
    t.equal(own_targets.sums_of(profile, recorded.INUSE_BYTES), {"leak_small": 100 * 1000})


test_a_small_stack = in_musl(a_small_stack, "small")


def test_a_root_with_musl_alone(t):
    """As in Alpine: the command and the agent are the only files that are not musl's."""
    need(t, "musl-gcc", "unshare", "chroot")
    agent, = {path for path in by_hand(t)["LD_PRELOAD"].split(":") if AGENT in path}
    mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', t.dir]
    for folder in ("agent", "bin", "cli", "lib", "proc"):
        os.mkdir(t.path(folder))
    for name in ("plugin", "libplugin_one.so", "libplugin_two.so"):
        build(t, t.path("bin"), name)
    for path, to in ((loader_of(t.path("bin/plugin")), "lib"), (t.binary, "cli"), (agent, "agent")):
        shutil.copy(path, t.path(to))
    ran = plainly(t, *mounted, "/cli/pprofdelta", "--version")
    if ran.code:
        t.skip(f"no root can be made, or the command is not static: {ran.err}")
    plugins = ("/bin/libplugin_one.so", "/bin/libplugin_two.so")
    ran = plainly(t, *mounted, "/cli/pprofdelta", "record", "-q", "-o", "/out", "--rate=1", "--", "/bin/plugin", *plugins)
    t.equal((ran.code, ran.err), (0, ""))
    profile = only(t, recorded.profiles(t.path("out")))[-1]
    t.check(profile.total(recorded.ALLOC_BYTES) >= 5 * 20 * 100000 + 5 * 10 * 300000, "allocations are missing")


def no_attaching(t):
    with attached.attachee(t, "epoll") as it:
        attached.refused(t, it, "its C library is not glibc", "start it under pprofdelta record")
        it.ended()


test_no_attaching = in_musl(no_attaching, "attachee")
