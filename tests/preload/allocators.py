"""What allocators offer beyond malloc: followed where it is there, and not invented where it is not."""

import os
import re
import shutil

import recorded
from agents import allocator, checked, only, quiet, same, target
from own_targets import leaked, sums_of

FAMILIES = ("jemalloc", "tcmalloc")


def in_use(profile):
    """What stays in use, by the function of the program that asked for it."""
    rows = ((stack, values[recorded.INUSE_BYTES]) for stack, values in profile.samples)
    return {name: size for name, size in recorded.leaks(rows, ("leak_by_", "keep_nothing")).items() if size}


def leaks(t, family, program, how="linked", **kwargs):
    """Exactly what the program says that it leaked is in use, and of the rest nothing."""
    ran = quiet(t, same(t, target(t, program), "leak", family, how, options=["--rate=1"], code=0,
                        **kwargs))
    wanted = leaked(ran.out)
    t.check(wanted, f"the program leaked {ran.out}")
    profile = only(t, checked(t, t.path("out")))[-1]
    t.equal(in_use(profile), wanted, f"{program} {how}")
    done = sums_of(profile, recorded.ALLOC_BYTES)
    t.check(all(name in done for name in wanted), f"{program} {how}: {done}")
    shutil.rmtree(t.path("out"))


def test_functions_that_are_not_there_are_not_invented(t):
    """A program without such an allocator finds none of its functions, in any way of asking."""
    ran = quiet(t, same(t, target(t, "extras"), "probe", code=0))
    t.equal(set(line.split(": ", 1)[1] for line in ran.out.decode().splitlines()),
            {"none", "not there, dlsym says the same", "not there"})


def test_functions_that_are_there_are_found(t):
    """By weak references and by dlsym, which agree; the other allocator's are not there."""
    for family in FAMILIES:
        env = {**os.environ, "LD_PRELOAD": allocator(t, family)}
        ran = quiet(t, same(t, target(t, "extras"), "probe", code=0, env=env))
        there = re.findall(r"(\w+): there, dlsym says the same", ran.out.decode())
        t.check(len(there) >= 5, f"{family}: {there}")
        t.check(all(name.startswith("tc_") == (family == "tcmalloc") for name in there), f"{there}")
        t.lacks(ran.out.decode(), "another")


def test_preloaded(t):
    """It stays behind the agent, also where it has operators of its own."""
    for family in FAMILIES:
        env = {**os.environ, "LD_PRELOAD": allocator(t, family)}
        for how in ("linked", "dlsym"):
            leaks(t, family, "extras", how, env=env)
        ran = same(t, target(t, "leaks"), "4", options=["--rate=1"], env=env)
        t.equal(sums_of(only(t, checked(t, t.path("out")))[-1], recorded.INUSE_BYTES), leaked(ran.out), family)
        shutil.rmtree(t.path("out"))


def test_a_resized_block_keeps_its_birth(t):
    """So nothing of what is kept was freed. With a rate of 2, each of these allocations is a sample, too."""
    for family in FAMILIES:
        env = {**os.environ, "LD_PRELOAD": allocator(t, family)}
        for rate in (1, 2):
            quiet(t, same(t, target(t, "extras"), "leak", family, "linked", options=[f"--rate={rate}"], code=0, env=env))
            freed = sums_of(only(t, checked(t, t.path("out")))[-1], recorded.FREED_BYTES)
            t.equal(freed.get(f"leak_by_{family}", 0), 0, f"{family} {rate}")
            shutil.rmtree(t.path("out"))


def test_linked(t):
    """Bound when it is loaded, and then read-only; bound at the first call; at a fixed place."""
    for family in FAMILIES:
        allocator(t, family)
        for bound in ("now", "lazy", "fixed"):
            for how in ("linked", "dlsym"):
                leaks(t, family, f"extras_{family}_{bound}", how)
            for late in ({"LD_BIND_NOW": "1"}, {"LD_BIND_NOT": "1"}):
                leaks(t, family, f"extras_{family}_{bound}", env={**os.environ, **late})


def test_any_library(t):
    """What counts is the name: also where the blocks are not those of malloc."""
    env = {**os.environ, "LD_PRELOAD": target(t, "libextras_pool.so")}
    for how in ("linked", "dlsym"):
        leaks(t, "own", "extras", how, env=env)


def test_opened(t):
    """An allocator that the program opens is one beside malloc: neither its blocks nor their ends are
    seen."""
    quiet(t, same(t, target(t, "extras"), "open", "own", target(t, "libextras_pool.so"),
                  options=["--rate=1"], code=0))
    t.equal(in_use(only(t, checked(t, t.path("out")))[-1]), {})


def test_the_programs_own(t):
    """A program that has mallocx itself calls it without the loader: it is left alone."""
    for how in ("linked", "dlsym"):
        quiet(t, same(t, target(t, "extras_own"), "leak", "own", how, options=["--rate=1"], code=0))
        t.equal(in_use(only(t, checked(t, t.path("out")))[-1]), {}, how)
        shutil.rmtree(t.path("out"))
    quiet(t, same(t, target(t, "extras_own"), "probe", code=0))
