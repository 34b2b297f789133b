"""pprofdelta export: the tables, read by arrow.py, say what show --json says of the same files."""

import json
import os
import random
import re
import resource
import shutil

from arrow import Table
from inputs import peak_of
from pb import Stack, gz, profile
from samples import CUR, PREV, T0, T1, cur, pair, valid

NAMES = ["functions", "locations", "samples", "stacks"]


def exported(t, *args, folder="out", **kwargs):
    plain = [] if shutil.which("zstd") else ["--compress=none"]
    t.succeeds("export", *plain, *args, "-o", folder, **kwargs)
    t.equal(sorted(os.listdir(t.path(folder))), [f"{name}.arrow" for name in NAMES])
    return {name: Table(t.load(f"{folder}/{name}.arrow")) for name in NAMES}


def by_id(table, name):
    rows = {row[name]: row for row in table.rows}
    assert len(rows) == len(table.rows), f"{name}: an id is there twice"
    return rows


def frames(tables):
    """{stack_id: frames as show --json has them, without the addresses}"""
    functions, locations = by_id(tables["functions"], "function_id"), by_id(tables["locations"], "location_id")

    def of(location):
        lines = location["lines"]
        assert [line["inlined"] for line in lines] == [True] * (len(lines) - 1) + [False] * bool(lines)
        return [(functions[line["function_id"]]["name"], functions[line["function_id"]]["file"], line["line"],
                 location["file"]) for line in lines] or [("", None, None, location["file"])]

    return {row["stack_id"]: [frame for i in row["location_ids"] for frame in of(locations[i])]
            for row in tables["stacks"].rows}


def labels_of(labels):
    return sorted((label["key"], label.get("str"), label.get("num"), label.get("unit") or "") for label in labels)


def same(t, file, rows, stacks):
    """Takes the rows of samples of one file, which are what show says of it."""
    shown = json.loads(t.succeeds("show", file, "--json").text)
    types = [kind["type"] for kind in shown["types"]]
    for sample in shown["samples"]:
        row = next(rows)
        t.equal([row[name] for name in types], sample["values"])
        t.equal(labels_of(row["labels"]), labels_of(sample["labels"]))
        t.equal(stacks[row["stack_id"]], [(f["function"], f.get("file"), f.get("line"), f.get("mapping", ""))
                                          for f in sample["stack"]])
        t.equal(row["time"], shown["time_nanos"] or None)
        t.equal(row["time"] - row["from"] if row["from"] else 0, shown["duration_nanos"])


def windows(t):
    """Three windows of a state: d1 to d3; d3 is sent twice, and only the second attempt has the sample "late"."""
    more = [*CUR, (("late", "main"), [7, 70, 7, 70]), ((), [9, 9, 9, 9])]
    looks = [profile([*PREV, ((), [1, 1, 1, 1])], time=T0), cur(), cur(), profile(more, time=T1 + T1 - T0)]
    for n, look in enumerate(looks):
        t.write("look", gz(look))
        if n < 2:
            t.succeeds("--state", "s", "look", "-o", f"d{n + 1}", manners=False)
        else:  # an attempt that has failed, then one that arrives
            t.run("--state", "s", "look", "--", "sh", "-c", f"cat >d3-{n - 1}; exit {3 - n}", manners=False)
    return "d1", "d2", "d3-1", "d3-2"


def test_the_values_are_those_of_show(t):
    for name in "heap", "mutex", "block":
        for n in 1, 2:
            shutil.copy(valid(name, n), t.path(f"{name}{n}"))
            t.succeeds("--state", f"{name}.s", f"{name}{n}", "-o", f"{name}.d{n}")
        files = [f"{name}1", f"{name}.d1", f"{name}.d2"]
        tables = exported(t, *files, folder=name)
        rows = iter(tables["samples"].rows)
        for file in files:
            same(t, file, rows, frames(tables))
        t.equal((next(rows, None), len(tables["samples"].batches)), (None, 1))
    t.equal(list(dict.fromkeys(row["sequence"] for row in tables["samples"].rows)), [None, 1, 2])


def test_a_row_that_was_written_is_not_written_again(t):
    files = windows(t)[:2]
    tables = exported(t, *files)
    parts = [exported(t, file, folder=file + ".out") for file in files]
    for name, key in ("stacks", "stack_id"), ("locations", "location_id"), ("functions", "function_id"):
        t.equal(by_id(tables[name], key), {**by_id(parts[1][name], key), **by_id(parts[0][name], key)})
        t.check(len(tables[name].rows) < sum(len(part[name].rows) for part in parts), "no row in common")
    t.equal(tables["samples"].rows, parts[0]["samples"].rows + parts[1]["samples"].rows)


def test_a_window_counts_once(t):
    first, second, early, late = windows(t)
    tables = exported(t, first, second, late)
    want = tables["samples"].rows
    t.equal(by_id(tables["stacks"], "stack_id")[0], {"stack_id": 0, "location_ids": []})  # in the first and the last
    for order in [early, late, first, second, second], [late, second, early, first]:
        got = exported(t, *order, "-q")["samples"].rows
        t.equal(sorted(map(json.dumps, got)), sorted(map(json.dumps, want)))
    t.equal([(row["sequence"], row["attempt"]) for row in (want[0], want[-1])], [(1, 1), (3, 2)])
    t.contains(t.succeeds("export", late, early, "-o", "out").err,
               f"note: {early}: does not count: {late} is the same window, sent again")


def test_the_report_counts(t):
    first, second, early, late = windows(t)
    files = [late, early, second, first]
    report = json.loads(t.succeeds("export", *files, "-q", "--report=json", "--compress=none", "-o", "out",
                                   manners=False).err)
    written = {name: t.load(f"out/{name}.arrow") for name in NAMES}
    tables = {name: {"rows": len(Table(file).rows), "bytes": len(file)} for name, file in written.items()}
    t.equal(report, {"files": 4, "replaced": 1, **tables})
    t.contains(t.succeeds("export", *files, "-q", "--report", "--compress=none", "-o", "out", manners=False).err,
               "files      4, of which 1 do not count",
               f"samples    {report['samples']['rows']} rows, {report['samples']['bytes']} bytes")


def test_the_ids_of_all_files_count_against_the_limit(t):
    for n in range(8):
        t.write(f"p{n}", gz(profile([((f"f{n}.{i}",), [1, 1, 1, 1]) for i in range(2000)])))
    limit = 64 << 10
    while t.run("export", "p0", "-o", "one", f"--max-memory={limit}").code:
        limit += limit // 16
    t.contains(t.fails(1, "export", *(f"p{n}" for n in range(8)), "-o", "all", f"--max-memory={limit}").err,
               "--max-memory")
    t.succeeds("export", *(f"p{n}" for n in range(8)), "-o", "all", f"--max-memory={3 * limit}")


def test_columns_and_texts(t):
    odd = Stack("f\xff", "main", labels={"key": "Gr\u00fc\u00dfe", "size": 12})
    t.write("p", gz(profile([(odd, [1, 2]), (("main",), [2 ** 63 - 1, -2 ** 63])], types=["n/count", "n/bytes"])))
    row, last = exported(t, "-", "--target", "checkout", stdin=t.load("p"))["samples"].rows
    t.equal(labels_of(row["labels"]), [("key", "Gr\u00fc\u00dfe", None, ""), ("size", None, 12, "bytes")])
    t.equal([row["target"], row["time"], row["sequence"], row["restart"]], ["checkout", None, None, False])
    t.equal([last["n/count"], last["n/bytes"]], [2 ** 63 - 1, -2 ** 63])


def test_what_is_refused_leaves_the_folder_as_it_was(t):
    one, two = pair(t)
    exported(t, one)
    before = {name: t.load(f"out/{name}.arrow") for name in NAMES}
    t.succeeds("--state", "s", one, "-o", "other")
    t.write("damaged", t.load(two)[:-9])
    t.write("mutex", gz(profile([(("f",), [1, 2])], types=["contentions/count", "delay/nanoseconds"])))
    for args, *said in (([one, "damaged"], "damaged: "), ([one, "missing"], "missing: cannot open"),
                        ([one, "out/samples.arrow"], "this is an Arrow file"),
                        ([one, "mutex"], "mutex: its value types", "contentions in place of alloc_objects"),
                        (["--target=x", one, "other"], "other: is of another state than prev.pb.gz"),
                        (["--max-memory=3k", one], "--max-memory")):
        for folder in "out", "new":
            t.contains(t.fails(1, "export", *args, "-o", folder).err, *said)
    t.contains(t.fails(2, "export", one, "-o", "-").err, "four files, in a folder")
    for limit in range(0, 2000, 200):  # bytes of a file: a full disk, for one table after the other
        result = t.fails(1, "export", two, "-o", "out", preexec_fn=lambda most=limit: resource.setrlimit(
            resource.RLIMIT_FSIZE, (most, most)))
        t.contains(result.err, ".arrow: cannot write: File too large")
        t.equal({name: t.load(f"out/{name}.arrow") for name in NAMES}, before)
    t.check(not os.path.exists(t.path("new")), "a folder was left behind")
    t.equal(t.litter(), [])


def test_only_tables_are_replaced(t):
    one, _ = pair(t)
    os.mkdir(t.path("out"))
    t.write("else.arrow", b"ARROW1\0\0")
    for make, said in ((lambda path: t.write(path, t.load(one)), "it is a pprof profile, and a table replaces only"),
                       (lambda path: os.symlink("../else.arrow", t.path(path)), "it is no regular file"),
                       (lambda path: os.mkfifo(t.path(path)), "it is no regular file"),
                       (lambda path: os.mkdir(t.path(path)), "it is no regular file")):
        make("out/samples.arrow")
        t.contains(t.fails(1, "export", one, "-o", "out").err, "out/samples.arrow: is not replaced", said)
        t.equal(os.listdir(t.path("out")), ["samples.arrow"])
        (os.rmdir if os.path.isdir(t.path("out/samples.arrow")) else os.remove)(t.path("out/samples.arrow"))
    t.equal(t.load("else.arrow"), b"ARROW1\0\0")
    t.contains(t.fails(1, "export", one, "-o", one).err, "Not a directory")


def test_the_examples_of_the_manual(t):
    """Those in the shell: the tables, and Parquet of them where there is pyarrow."""
    with open(os.path.join(os.path.dirname(__file__), "../../man/pprofdelta-export.1"), encoding="utf-8") as file:
        export, parquet, _ = re.findall(r"\.EX\n(.*?)\n\.EE", file.read().replace("\\-", "-"), re.S)
    os.mkdir(t.path("deltas"))
    for name in windows(t)[:2]:
        os.rename(t.path(name), t.path(f"deltas/{name}.pb.gz"))
    ran = t.shell(f'set -e\n{export}\npython3 -c "import pyarrow" || exit 0\n{parquet}')
    t.equal((ran.returncode, ran.stdout), (0, ""), ran.stderr)
    if os.path.exists(t.path("rows")):
        t.equal([os.listdir(t.path(f"rows/{name}")) for name in NAMES], [["2026-11-24-0.parquet"]] * 4)
    t.equal([f"{name}.arrow" in os.listdir(t.path("tables")) for name in NAMES], [True] * 4)


def test_a_window_that_begins_in_1970(t):
    t.write("p", profile([(("f",), [1, 1, 1, 1])], time=30, duration=30))
    [row] = exported(t, "p")["samples"].rows
    t.equal((row["from"], row["time"]), (0, 30))


def test_a_batch_has_rows_of_many_files(t):
    """A batch ends with 64 Ki rows, which may be in the middle of a file. The rows are those of each file by itself."""
    if not shutil.which("zstd"):
        t.skip("there is no zstd")
    for n in range(5):
        stacks = [((f"f{n % 2}.{i}", "main"), [n, i, 1, 1]) for i in range(30000)]
        t.write(f"p{n}", gz(profile([*stacks, (("main",), [n, n, n, n])], time=T0 + n)))
    files = [f"p{n}" for n in range(5)]
    parts = [exported(t, file, folder=f"{file}.out") for file in files]
    for how in "zstd", "none":
        tables = exported(t, *files, f"--compress={how}", folder=how)
        t.equal([len(batch) for batch in tables["samples"].batches], [1 << 16, 1 << 16, 5 * 30001 - (2 << 16)])
        t.equal(tables["samples"].rows, [row for part in parts for row in part["samples"].rows])
        t.equal([len(tables[name].rows) for name in NAMES], [60001, 60001, 5 * 30001, 60001])
        words = {"functions": ["file"], "locations": ["build_id", "file"], "samples": ["target"], "stacks": []}
        for name in NAMES:
            t.equal(set(tables[name].are_compressed), {how == "zstd"})
            t.equal(tables[name].dictionaries, words[name] if how == "zstd" else [])
            by_id(tables[name], name[:-1] + "_id") if name != "samples" else None
    size = {how: sum(len(t.load(f"{how}/{name}.arrow")) for name in NAMES) for how in ("zstd", "none")}
    t.check(size["zstd"] * 3 < size["none"], f"bytes {size}")


def test_a_dictionary_has_the_words_of_all_files(t):
    one, two = pair(t)
    for state in "s", "t":
        t.succeeds("--state", state, two, "-o", f"{state}0")
    files = ["s0", one, "t0"]
    parts = [exported(t, file, folder=f"{file}.out") for file in files]
    tables = exported(t, *files)
    targets = [row["target"] for row in tables["samples"].rows]
    t.equal(targets, [row["target"] for part in parts for row in part["samples"].rows])
    t.check(len(set(targets)) == 3 and "" in targets, f"targets {set(targets)}")
    for name in "locations", "functions":
        rows = {row[f"{name[:-1]}_id"]: row for part in reversed(parts) for row in part[name].rows}
        t.equal(by_id(tables[name], f"{name[:-1]}_id"), rows)


def test_compression(t):
    if not shutil.which("zstd"):
        t.skip("there is no zstd")
    t.write("p", gz(profile([(("main",), [1, 1, 1, 1])])))
    plain, small = exported(t, "p", "--compress=none"), exported(t, "p")  # too short to become shorter
    t.equal([plain[name].rows for name in NAMES], [small[name].rows for name in NAMES])
    t.equal([plain[name].are_compressed + small[name].are_compressed for name in NAMES], [[False, True]] * 4)
    t.contains(t.fails(2, "export", "p", "--compress=gzip", "-o", "out").err, "--compress=gzip: must be zstd or none")


def test_memory_is_that_of_one_batch(t):
    """Four times the files have the same peak, since the batches of the first are written."""
    labels = [{"key": f"{n:03}" * 200} for n in range(400)]
    for n in range(16):
        t.write(f"p{n}", gz(profile([(Stack("main", labels=label), [n, 1, 1, 1]) for label in labels * 24], time=T0 + n)))
    peaks = [peak_of(t, "export", "-q", *(t.path(f"p{n}") for n in range(files)), "-o", t.path("out"),
                     "--compress=none") for files in (4, 16)]
    table = Table(t.load("out/samples.arrow"))
    t.equal(len(table.rows), 16 * 400 * 24)
    t.check(4 < len(table.sizes) < 16 and all(8 << 20 <= size <= 17 << 20 for size in table.sizes[:-1]), f"{table.sizes}")
    t.check(peaks[1] < peaks[0] * 1.25, f"{peaks} MiB")


def test_a_failure_in_a_later_batch_leaves_the_folder_as_it_was(t):
    values = random.Random(1)
    t.write("p", gz(profile([((f"f{i}",), [values.getrandbits(40)] * 4) for i in range(50000)])))
    exported(t, "p")
    before = {name: t.load(f"out/{name}.arrow") for name in NAMES}
    first = Table(t.load("out/samples.arrow"))
    t.equal(len(first.batches), 1)
    files = ["p", "p", "p"]
    t.contains(t.fails(1, "export", *files, "-o", "out", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (len(before["samples"]) * 2,) * 2)).err, "samples.arrow: cannot write: File too large")
    t.equal({name: t.load(f"out/{name}.arrow") for name in NAMES}, before)
    t.equal(t.litter(), [])


def test_a_batch_that_is_too_large_becomes_several(t):
    """A label of 8 MiB that 20 samples have is in the profile once, and each sample is a batch by itself."""
    long = "x" * (8 << 20)
    t.write("p", gz(profile([(Stack(f"f{i}", labels={"key": long}), [1, 1, 1, 1]) for i in range(20)])))
    table = exported(t, "p")["samples"]
    t.equal([len(batch) for batch in table.batches], [1] * 20)
    t.equal([row["labels"][0]["str"] == long for row in table.rows], [True] * 20)
