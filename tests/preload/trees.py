"""merge of the profiles of all processes that a command starts."""

import os

import recorded
from agents import checked, plainly, quiet, record, target

ADDED = (recorded.ALLOC_OBJECTS, recorded.ALLOC_BYTES, recorded.INUSE_OBJECTS, recorded.INUSE_BYTES,
         recorded.FREED_OBJECTS, recorded.FREED_BYTES)


def add_up(profiles):
    """{stack: values} of several profiles. What is of one time, of which each process has its own, is left out."""
    sums = {}
    for profile in profiles:
        for stack, values in profile.samples:
            at = sums.setdefault(stack, [0] * len(ADDED))
            for i, column in enumerate(ADDED):
                at[i] += values[column]
    return {stack: values for stack, values in sums.items() if any(values)}


def whole(t, *command, options=()):
    """Runs the command, and checks the merge of its profiles against them."""
    quiet(t, record(t, *command, options=["--rate=1", *options]))
    parts = [profile for profiles in checked(t, t.path("out")).values() for profile in profiles]
    done = plainly(t, t.binary, "merge", "-q", *[part.path for part in parts], "-o", t.path("all.pb.gz"))
    t.equal((done.code, done.err), (0, ""), "pprofdelta merge")
    merged = recorded.Profile(t.path("all.pb.gz"), is_stamped=False)
    t.equal(add_up([merged]), add_up(parts), f"{command}")
    os.remove(t.path("all.pb.gz"))
    return parts, merged


def test_the_sum_of_a_tree(t):
    """Children, their children, programs that become others, and several windows of one process."""
    counted = target(t, "counted")
    script = '"$0"; ("$0"; "$0") & wait; exec "$0"'
    parts, merged = whole(t, "sh", "-c", script, counted, options=["--interval=5ms"])
    made = sum(values[recorded.ALLOC_OBJECTS] for stack, values in merged.samples
               if "main" in stack and values[recorded.ALLOC_BYTES] % 7777 == 0)
    t.equal(made, 400, "blocks of four programs")
    t.check(len({part.id for part in parts}) >= 4, "processes")


def test_a_server_that_forks(t):
    """What was in use before the fork is in use in each process."""
    whole(t, target(t, "forks"))
