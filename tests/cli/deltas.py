"""What comes out: the delta itself and everything that travels with it."""

from pb import HEAP, mapped, packed, read
from samples import DELTA, T0, cur, pair, prev, regress, two


def test_counters_are_subtracted_and_gauges_kept(t):
    before, after = pair(t)
    d = read(t.succeeds(before, after).out)
    t.equal(d.values(), DELTA)
    t.equal(d.types, HEAP)
    t.equal([stack[0] for stack, _, _ in d.samples], ["work", "idle", "new"])


def test_what_travels_with_cur(t):
    t.write("prev", prev(comments=["of prev"], period=1, period_type="x/y"))
    t.write("cur", cur(comments=["one", "two"], period=524288, period_type="space/bytes",
                       doc_url="https://example.com/doc", default="inuse_space"))
    d = read(t.succeeds("prev", "cur", "--no-stamp").out)
    t.equal(d.comments, ["one", "two"])
    t.equal((d.period, d.period_type), (524288, "space/bytes"))
    t.equal((d.doc_url, d.default), ("https://example.com/doc", "inuse_space"))


def test_default_type(t):
    t.write("prev", prev(default="inuse_space"))
    t.write("cur", cur(default="inuse_space"))
    for args, want in ((), "inuse"), (("=keep",), "inuse"), (("",), "alloc"), (("=counter",), "alloc"), (("", "=keep"), "inuse"):
        options = ["--default-type" + value for value in args]
        t.equal(read(t.succeeds("prev", "cur", *options).out).default, want + "_space", str(args))


def test_counters_and_gauges_by_name(t):
    before, after = two(t, [(("f",), [3, 7, 20])], [(("f",), [9, 8, 30])],
                        types=["faults/count", "inuse_space/bytes", "alloc_space/bytes"])
    for args, want in (("-c faults", [6, 8, 10]), ("--counter=faults/count", [6, 8, 10]), ("--counter faults", [6, 8, 10]),
                       ("-c faults -c inuse_space", [6, 1, 10]), ("-g alloc_space -c faults", [6, 8, 30]),
                       ("--counter=faults --counter=inuse_space/bytes", [6, 1, 10]),
                       ("-c faults --gauge=alloc_space/bytes", [6, 8, 30])):
        t.equal(read(t.succeeds(before, after, *args.split()).out).samples, [(("f",), {}, want)], args)


def test_the_stamp(t):
    before, after = pair(t)
    t.write("d", t.succeeds(before, after).out)
    stamp = [c for c in read(t.load("d")).comments if c.startswith("pprofdelta: delta")]
    t.equal(len(stamp), 1)
    for args in ((before, "d"), ("d", after)):
        result = t.fails(1, *args)
        t.contains(result.err, "pprofdelta: d: ", "hint: --force")
        t.succeeds(*args, "--force", "-q")


def test_no_stamp(t):
    before, after = pair(t)
    t.write("d", t.succeeds(before, after, "--no-stamp").out)
    t.equal(read(t.load("d")).comments, [])
    t.contains(t.fails(1, before, "d").err, "d: duration_nanos: cur is a window already")
    t.succeeds(before, "d", "-q", "--force")


REGIONS = ["/memfd:jit (deleted)", "/memfd:jit", "/dev/zero (deleted)", "/anon_hugepage (deleted)",
           "/SYSV00000000 (deleted)", "/dev/ashmem/dalvik-jit-code-cache (deleted)", "[anon]",
           "[anon:jit]", "[anon_shmem:jit]", "//anon", "/[aio] (deleted)", "anon_inode:[jit]",
           "/dmabuf:jit", "/secretmem (deleted)", ""]


def regions():
    """Two regions of each name, with one function each at equal offsets."""
    samples, mappings = [], [(0x400000, 0x500000, 0, "/bin/app", "")]
    for name in REGIONS:
        for half, values in (("A", [10, 100]), ("B", [5, 50])):
            start = 0x7F0000000000 + len(mappings) * 0x100000
            mappings.append((start, start + 0x10000, 0, name, ""))
            samples.append((f"{name} {half}", len(mappings), start + 0x123, values))
    return mapped(samples, mappings, time=T0)


def test_regions_of_one_made_up_name_stay_apart(t):
    data = regress("regions-of-one-name.pb")
    t.check(data == regions(), "testdata/regress/regions-of-one-name.pb is not what this file writes")
    t.write("cur", data)
    t.write("twice", regions().replace(packed(2, [10, 100]), packed(2, [20, 120])))
    want = {f"{name} {half}": values for name in REGIONS
            for half, values in (("A", [10, 100]), ("B", [5, 50]))}
    t.equal(read(t.succeeds("--state", "state", "cur").out).values(), want)
    t.equal(read(t.succeeds("cur", "twice", "--verify").out).values(),
            {f"{name} A": [10, 20] for name in REGIONS})
