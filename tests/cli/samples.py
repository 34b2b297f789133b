"""The profiles that most tests share."""

import os

from pb import HEAP, Stack, gz, load, profile

TESTDATA = os.environ.get("PD_TESTDATA") or os.path.join(os.path.dirname(__file__), "../../testdata")
SECOND = 10**9
MINUTE = 60 * SECOND
T0 = 1_700_000_000 * SECOND  # 2023-11-14T22:13:20Z
T1 = T0 + MINUTE

# One function that went on, one that stood still, one that is new; then the delta of the two.
PREV = [(("work", "main"), [10, 1000, 1, 100]), (("idle", "main"), [5, 500, 5, 500])]
CUR = [(("work", "main"), [15, 1600, 2, 250]), (("idle", "main"), [5, 500, 5, 500]),
       (("new", "main"), [1, 8, 1, 8])]
DELTA = {"work;main": [5, 600, 2, 250], "idle;main": [0, 0, 5, 500], "new;main": [1, 8, 1, 8]}

COUNTERS = HEAP[:2]


def prev(**kwargs):
    return profile(PREV, time=T0, **kwargs)


def cur(**kwargs):
    return profile(CUR, time=T1, **kwargs)


def pair(t, **kwargs):
    """Writes prev.pb.gz and cur.pb.gz and returns their names as the arguments of a delta."""
    t.write("prev.pb.gz", gz(prev(**kwargs)))
    t.write("cur.pb.gz", gz(cur(**kwargs)))
    return "prev.pb.gz", "cur.pb.gz"


def two(t, before, after, **kwargs):
    """The same for samples of one's own: two counters, no gauge."""
    kwargs.setdefault("types", COUNTERS)
    t.write("prev.pb.gz", gz(profile(before, time=T0, **kwargs)))
    t.write("cur.pb.gz", gz(profile(after, time=T1, **kwargs)))
    return "prev.pb.gz", "cur.pb.gz"


def large(size, text="x"):
    """Samples of which the profile has `size` bytes: a label that long."""
    return [(Stack("big", "main", labels={"payload": text * size}), [1, 1, 1, 1])]


def regress(name):
    """A file of testdata/regress."""
    return load(os.path.join(TESTDATA, "regress", name))


def valid(kind, number):
    """The path of one of the two profiles of this kind in testdata/valid."""
    return os.path.join(TESTDATA, "valid", f"{kind}.{number}.pb.gz")


TRACKER = "00000000000000ab"


def stamp(seq, kind="delta", since=None, until=None):
    """The comment of a profile of record."""
    start = T0 if kind == "full" else T0 + (seq - 1 if since is None else since) * SECOND
    end = T0 + (seq if until is None else until) * SECOND
    return f"pprofdelta: live epoch=1 seq={seq} kind={kind} from={start} to={end} id={TRACKER}"
