"""leaks: which stacks are suspects, over made profiles of every kind that has in-use values."""

import itertools
import json
import os
import random

from pb import HEAP, Stack, Writer, chunk, gz, number, packed, profile, read
from samples import MINUTE, SECOND, T0, TRACKER, stamp

KIND = "space/bytes"


def heap(t, name, at, stacks, restart=0, **more):
    """A cumulative heap profile at minute `at`. stacks: {leaf: (allocated, in use)} in objects of
    1 KiB."""
    samples = [((leaf, "serve", "main") if isinstance(leaf, str) else leaf,
                [made, made * 1024, live, live * 1024]) for leaf, (made, live) in stacks.items()]
    more.setdefault("period_type", KIND)
    more.setdefault("period", 1)
    t.write(name, gz(profile(samples, time=T0 + int(at * MINUTE), **more)))
    return name


def scene(i):
    """Minute i of a server: one leak, and everything else that grows."""
    return {
        "leak": (100 * (i + 1), 100 * (i + 1)),
        "cache": (5000, min(1000, 300 * (i + 1))),
        "sawtooth": (1000 * i, 100 * (i % 4)),
        "buffers": (9000 * i, 40 + (i * 7) % 5),
        "startup": (800, 800),
        "step": (500, 500 if i >= 8 else 0),
    }


def series(t, prefix, profiles):
    """Writes the profiles as PREFIX00.pb.gz and so on. Returns the names."""
    names = []
    for i, data in enumerate(profiles):
        names.append(f"{prefix}{i:02}.pb.gz")
        t.write(names[-1], gz(data))
    return names


def film(t, windows=16, **more):
    return [heap(t, f"heap.{i:02}.pb.gz", i, scene(i), **more) for i in range(windows)]


def film_in(t, folder):
    os.mkdir(t.path(folder))
    for name in film(t):
        os.rename(t.path(name), t.path(f"{folder}/{name}"))


def leaks(t, *args, **more):
    return json.loads(t.succeeds("leaks", "--json", *args, **more).text)


def leaf(finding):
    return finding["stack"][0]["function"]


def suspects(report, run=0):
    return [leaf(f) for f in report["runs"][run]["findings"] if f["kind"] == "suspect"]


def test_one_way_to_print_a_stack(t):
    """The lines of show --stacks and those of leaks are the same but for their indent."""
    files = [heap(t, f"heap.{i:02}.pb.gz", i, {("malloc", "leak", "a_longer_name", "main", "_start"):
                                               (100 * (i + 1),) * 2}) for i in range(8)]
    for options in [], ["--all-frames"]:
        shown = t.succeeds("show", "--stacks=1", *options, files[-1]).text.splitlines()
        printed = t.succeeds("leaks", *options, *files).text.splitlines()
        frames = [line.strip() for line in shown if " app.go:" in line]
        t.equal([line.strip() for line in printed
                 if " app.go:" in line and not line.startswith("suspect")], frames)
        t.equal(len(frames), 5 if options else 3)


def test_the_order_of_the_files_does_not_matter(t):
    files = film(t)
    want = t.succeeds("leaks", *files).text
    for seed in range(4):
        mixed = files[:]
        random.Random(seed).shuffle(mixed)
        result = t.succeeds("leaks", *mixed)
        t.equal(result.text, want)
        t.contains(result.err, "older than a file before: the files are taken in the order of")
        t.equal(t.succeeds("leaks", "-q", *mixed).err, "")
    result = t.succeeds("leaks", *files, files[3], files[9])
    t.equal(result.text, want)
    t.contains(result.err, "is the same window as another file; 2 files do not count")


def plant(t, folder):
    """What strangers may put into a folder under the names of profiles: {name: why it is left out}."""
    secret = b"hunter2:" + bytes(9)
    t.write("secret", secret)
    t.write("elsewhere.pb.gz", t.load("run/heap.00.pb.gz"))
    whole = t.load("run/heap.08.pb.gz")
    files = {"empty": b"", "text": b"hunter2\n", "page": b"<html><title>hunter2", "binary": secret,
             "cut": whole[:-20], "other": gz(b"hunter2"), "untimed": gz(profile([(("f",), [1, 1, 1, 1])])),
             "dump": b"heap_v2/524288\n  t*: 1: 2 [0: 0]\n@ hunter2\n"}
    for name, data in files.items():
        t.write(f"{folder}/{name}.pb.gz", data)
    for name, target in (("zero", "/dev/zero"), ("private", "../secret"), ("linked", "../elsewhere.pb.gz"),
                         ("dangling", "nowhere")):
        os.symlink(target, t.path(f"{folder}/{name}.pb.gz"))
    os.mkfifo(t.path(f"{folder}/fifo.pb.gz"))
    os.mkdir(t.path(f"{folder}/folder.pb.gz"))
    for name, head in (("vast", b""), ("claims", whole[:4000])):
        t.write(f"{folder}/{name}.pb.gz", head)
        os.truncate(t.path(f"{folder}/{name}.pb.gz"), 20 << 30)
    links = dict.fromkeys(("zero", "private", "linked", "dangling"), "is a symbolic link")
    return {**links, **dict.fromkeys(files, ""), "fifo": "is a pipe", "folder": "is a directory",
            "empty": "it is empty", "text": "not a pprof profile", "page": "not a pprof profile",
            "cut": "cut off", "untimed": "has no time", "vast": "larger than the limit",
            "claims": "larger than the limit"}


def test_what_strangers_put_into_a_directory(t):
    film_in(t, "run")
    want = t.succeeds("leaks", "run").text
    planted = plant(t, "run")
    result = t.succeeds("leaks", "run")
    t.equal(result.text, want)
    for name, why in planted.items():
        line = [line for line in result.err.splitlines() if f"run/{name}.pb.gz: " in line]
        if t.equal(len(line), 1, name):
            t.check(line[0].startswith("pprofdelta: note: ") and line[0].endswith("; it is left out"), line[0])
            t.contains(line[0], why)
    t.equal(t.succeeds("leaks", "-q", "run").err, "")
    good = [f"run/heap.{i:02}.pb.gz" for i in range(16)]
    for name in planted:
        if name in ("zero", "linked", "untimed", "empty"):
            continue
        named = t.fails(1, "leaks", *good, f"run/{name}.pb.gz")
        t.check(named.err.startswith(f"pprofdelta: run/{name}.pb.gz: "), named.err)
        result.err += named.err
    t.lacks(result.err, "hunter2")
    t.contains(t.fails(1, "leaks", *good, "run/zero.pb.gz").err, "run/zero.pb.gz: is a device")
    t.contains(t.fails(1, "leaks", *good, "run/fifo.pb.gz").err, "run/fifo.pb.gz: is a pipe")
    t.contains(t.succeeds("leaks", *good, "run/linked.pb.gz").err, "is the same window")
    for name in good:
        os.remove(t.path(name))
    t.contains(t.fails(1, "leaks", "run").err, "pprofdelta: no profile is left to judge")


def test_times_come_from_the_profiles(t):
    files = film(t)
    per_hour = leaks(t, *files)["runs"][0]["findings"][0]["per_hour"]
    report = leaks(t, "--every=1s", *files)
    t.equal(report["runs"][0]["findings"][0]["per_hour"], per_hour * 60)
    t.equal(report["runs"][0]["span_seconds"], 15)
    untimed = series(t, "u", (profile([(("f", "main"), [i, i * 99999, 9 * i, 900 * i])]) for i in range(8)))
    t.contains(t.fails(1, "leaks", *untimed).err, "u00.pb.gz: has no time", "--every=TIME")
    t.equal(leaks(t, "--every=1m", *untimed)["runs"][0]["windows"], 8)


def live_film(t, kind="delta", windows=16):
    """The same scene as the batches of a tracker. kind: delta, window, or each in turn (mixed)."""
    files, before = [], {}
    for i in range(windows):
        now, is_full = scene(i), i == 0
        word = "full" if is_full else ("delta", "window")[i // 2 % 2] if kind == "mixed" else kind
        samples = []
        for name, (made, live) in now.items():
            was_made, was_live = before.get(name, (0, 0))
            was_live *= word == "delta"
            values = [made - was_made, live - was_live]
            samples.append(((name, "serve", "main"),
                            [values[0], values[0] * 1024, values[1], values[1] * 1024]))
        comment = stamp(i + 1, word, since=60 * i, until=60 * (i + 1))
        files.append(f"heap.7.{i + 1}.pb.gz")
        t.write(files[-1], gz(profile(samples, time=T0 + (i + 1) * MINUTE, comments=[comment],
                                      period_type=KIND, period=1)))
        before = now
    return files


def test_changes_are_added_up(t):
    want = leaks(t, "--all", *film(t))["runs"][0]
    for kind, form in itertools.product(("delta", "window", "mixed"), ("pprof", "otlp")):
        files = live_film(t, kind)
        for name in files:  # of one alone, the sum is itself
            t.succeeds("sum", name, "-o", name, f"--format={form}", "--force")
        got = leaks(t, "--all", *files)["runs"][0]
        for run in (want, got):
            for key in ("from", "to", "from_nanos", "to_nanos"):
                run.pop(key, None)
            run["findings"].sort(key=leaf)
        t.equal(got, want, f"{kind} {form}")


def resident(t, name, at, areas, live=100, comment=None, mapped=None):
    """A profile with an account of the resident memory. areas: {stack: KiB}; mapped: {stack: KiB}."""
    samples = [(("use", "main"), [500 * at, 500 * at * 1024, live, live * 1024, 0, 0])]
    samples += [(stack, [0, 0, 0, 0, kib * 1024, (mapped or {}).get(stack, 0) * 1024]) for stack, kib in areas.items()]
    types = HEAP + ["rss_space/bytes"] + (["mapped_space/bytes"] if mapped else [])
    t.write(name, gz(profile([(stack, values[:len(types)]) for stack, values in samples], types=types, time=T0 + at * MINUTE,
                             period_type=KIND, period=512 << 10, comments=[comment] if comment else ())))
    return name


HEAP_AREAS = {("[live heap]",): 100, ("[allocator slack]",): 300, ("[file mappings, clean or shared]", "/usr/lib/libx.so"): 4000}


def test_the_account_is_no_change(t):
    """In batches with changes of what is in use, it has all of the resident memory."""
    files = [resident(t, f"{i:02}.pb.gz", i, {**HEAP_AREAS, ("[thread stacks]", "run", "main"): 2000 + 100 * i},
                      comment=stamp(i + 1, "delta" if i else "full", since=60 * i, until=60 * (i + 1))) for i in range(8)]
    run = leaks(t, "--all", "--type=rss_space", *files)["runs"][0]
    t.equal((run["now"], run["windows"]), ((100 + 300 + 4000 + 2700) * 1024, 8))


def test_a_missing_batch_is_told(t):
    files = live_film(t)
    result = t.succeeds("leaks", *files[:10], *files[11:])
    t.contains(result.err, "heap.7.12.pb.gz: has changes only, and a profile before it is missing; "
               "5 files do not count")
    t.contains(result.text, "10 windows")
    t.contains(t.fails(1, "leaks", *files[1:]).err, "has changes of in-use values only", "record --snapshot")
    windows = live_film(t, "window")
    t.equal(leaks(t, *windows[1:5], *windows[6:])["runs"][0]["windows"], 14)
    want = leaks(t, *windows[:5], *windows[6:])["runs"]  # a snapshot behind the gap begins a sum
    mixed = live_film(t, "mixed")
    t.equal(leaks(t, *mixed[:5], *mixed[6:])["runs"], want)


def test_two_processes_are_two_runs(t):
    files = live_film(t)
    for name in live_film(t):
        data = read(t.load(name))
        samples = [(stack, values) for stack, _, values in data.samples]
        comment = data.comments[0].replace(TRACKER, "00000000000000cd")
        t.write("other." + name, gz(profile(samples, time=data.time, comments=[comment],
                                            period_type=KIND, period=1)))
        files.append("other." + name)
    report = leaks(t, *files)
    t.equal([r["windows"] for r in report["runs"]], [16, 16])
    t.equal((suspects(report), suspects(report, 1)), (["leak"], ["leak"]))


def processes(t, stacks, windows=16):
    """The profiles of processes. stacks: for each, a function of the window as scene; or so many windows of one."""
    os.mkdir(t.path("all"))
    for p, (of, count) in enumerate(stacks):
        for i in range(count):
            comment = stamp(i + 1, "full" if not i else "window").replace(TRACKER, f"{p + 1:016x}")
            t.write(f"all/{p:03}.{i:02}.pb.gz", gz(profile(
                [((leaf, "serve", "main"), [made, made * 1024, live, live * 1024]) for leaf, (made, live) in of(i).items()],
                time=T0 + p * SECOND + i * MINUTE, comments=[comment], period_type=KIND, period=1)))


def test_a_server_of_many_processes(t):
    """Suspects come first. What several processes have is printed once, and those that are too short in one line."""
    def calm(i):
        return {"calm": (1000 * i + 10, 10), "late": (9000 * i, 100 + (900 * (i - 12) if i > 12 else 0))}

    def leaky(i):
        return {**calm(i), "leak": (100 * i + 100, 100 * i + 100)}

    processes(t, [(calm, 16)] * 3 + [(leaky, 16)] * 5 + [(calm, 3)] * 40 + [(lambda i: {"idle": (10 * i + 10, 10)}, 16)])
    text = t.succeeds("leaks", "-q", "all").text
    t.equal(text.count("suspect 1: leak"), 1)
    t.equal(text.count("unknown 2: late"), 1)
    t.contains(text, "          in 5 processes, together +29.3MiB/min, 7.81MiB now; here:\n", "          in 8 processes, together ",
               "same      6 of 49 runs have what is printed above\n",
               "short     40 of 49 runs have less than 6 windows: too few for a verdict\n")
    t.check(text.index("suspect 1") < text.index("unknown 2"), text)
    t.equal(text.count("verdict  "), 3, text)
    t.lacks(text, "unknown:")
    markdown = t.succeeds("leaks", "-q", "--markdown", "all").text
    t.equal(markdown.count("<code>leak</code>"), 1)
    t.contains(markdown, ", in 5 processes |")
    report = leaks(t, "-q", "all")
    t.equal(sum(run["suspects"] for run in report["runs"]), 5)  # each run is whole in JSON


def test_each_file_is_opened_once(t):
    """The names of what is shown are found once for each binary, however many processes have it."""
    if "without libdw" in t.run("symbolize", "/dev/null").err:
        t.skip("this build does not read debug information")
    os.mkdir(t.path("all"))
    for p, i in itertools.product(range(7), range(8)):
        w = Writer(HEAP)
        w.sample([1], [100 * i + 100, 102400 * (i + 1)] * 2)
        w.mapping(1, 0x400000, 0x500000, 0, "/bin/false", "00" * 20, b"")
        w.location(1, 1, 0x401000 if p else 0x402000, ())
        comment = stamp(i + 1, "full" if not i else "window").replace(TRACKER, f"{p + 1:016x}")
        tail = number(9, T0 + i * MINUTE) + chunk(11, w.type(KIND)) + number(12, 1) + packed(13, [w.string(comment)])
        t.write(f"all/{p}.{i}.pb.gz", gz(w.bytes() + tail))
    result = t.succeeds("leaks", "all")
    t.equal(result.err.count("the file has another build id"), 1, result.err)
    t.contains(result.err, "2 of 2 locations")
    t.contains(result.text, "in 6 processes, together")


def test_the_type_is_chosen_by_its_name(t):
    """Other gauges, before and behind it, do not count, nor does the default type."""
    types = ["peak_objects/count", "peak_space/bytes", *HEAP, "rss_space/bytes"]
    files = series(t, "peak", (
        profile([((name, "serve", "main"), [9999, 9 << 20, made, made * 1024, live, live * 1024, 0])
                 for name, (made, live) in scene(i).items()],
                types=types, time=T0 + i * MINUTE, period_type=KIND, period=1, default="peak_space") for i in range(16)))
    t.equal(leaks(t, "--all", *files), leaks(t, "--all", *film(t)))


def test_a_leak_that_is_split_over_many_stacks(t):
    """Each of 40 stacks has a few samples; what they have in common is a function."""
    draw = random.Random(5)
    level = [0] * 40
    files = []
    for i in range(24):
        for _ in range(10):
            level[draw.randrange(40)] += 1
        stacks = {(f"make{k}", "new_session", f"path{k % 3}", "main"): (level[k], level[k])
                  for k in range(40)}
        stacks["buffers"] = (1000 * i, 30 + i % 2)
        stacks["startup"] = (500, 500)
        files.append(heap(t, f"{i}.pb.gz", i, stacks, period=1))
    report = leaks(t, *files)
    found = report["runs"][0]["findings"][0]
    t.equal((found["kind"], found["shared"]), ("suspect", "new_session"))
    t.check(found["stacks"] >= 36, "a stack that falls back by chance is not in the group")
    t.equal(report["runs"][0]["suspects"], 1)
    t.contains(t.succeeds("leaks", *files).text, " stacks with new_session in common; the largest:")


def test_addresses_move_and_ids_change(t):
    """The same program at another address, with its stacks in another order, is the same stacks."""
    files = [heap(t, f"{i}.pb.gz", i, dict(random.Random(i).sample(list(scene(i).items()), 6)),
                  start=0x400000 + i * 0x1000000, build_id="abcd") for i in range(12)]
    run = leaks(t, *files)["runs"][0]
    t.equal((run["stacks"], run["suspects"]), (6, 1))


def test_growth_above_the_power_is_never_clean(t):
    """In few large objects, chance explains much. Growth that is above what the report calls a suspect is unknown."""
    mib = 0, 5.5, 7.5, 9, 12, 13.5, 15.1, 18.1, 24, 24
    for large in 1, 2, 3, 5, 8:  # MiB of an object
        files = []
        for i, size in enumerate(mib):
            values = [int(size / large), int(size * 2**20)]
            t.write(f"{i}.pb.gz", gz(profile([(("load", "main"), values * 2), (("calm", "main"), [9000 * i, 9000 * i << 10, 400, 400 << 10])],
                                             types=HEAP, time=T0 + i * MINUTE, period_type=KIND, period=512 << 10)))
            files.append(f"{i}.pb.gz")
        run = leaks(t, *files)["runs"][0]
        t.check(run["smallest_leak"] < 24 << 20 and run["suspects"] + run["unknown"], f"{large} MiB: {run}")
        t.check(t.run("leaks", "--fail", *files).code in (5, 6), large)


AGED = HEAP + ["freed_objects/count", "freed_space/bytes"]


def aged_film(t, lives, windows, kind="delta", first=1, size=1024, period=1):
    """The windows of a tracker from number `first` on. lives: {function: [(born, died, objects)]} by window from 1;
    died: None is never. Behind the objects may be their bytes, else each has `size`."""
    def weigh(chosen):
        return [sum(column) for column in zip((0, 0), *((n, *(more or [n * size])) for _, _, n, *more in chosen))]

    files = []
    for w in range(first, windows + 1):
        word = "full" if w == 1 else ("delta", "window")[w // 2 % 2] if kind == "mixed" else kind
        since = 1 if word == "full" else w  # a full batch counts from the beginning
        samples = []
        for name, all_lives in lives.items():
            made = weigh(life for life in all_lives if since <= life[0] <= w)
            live, before = (weigh(life for life in all_lives if life[0] <= at and (life[1] is None or life[1] > at))
                            for at in (w, w - 1))
            now = [a - (b if word == "delta" else 0) for a, b in zip(live, before)]
            ended = {}
            for life in all_lives:
                born, died = life[:2]
                if died and since <= died <= w:
                    shift = max((died - born).bit_length() - 2, 0) if died - born > 15 else 0
                    ended.setdefault(died - born >> shift << shift, []).append(life)
            samples.append((Stack(name, "serve", "main"), [*made, *now, *weigh(ended.pop(0, []))]))
            samples += [(Stack(name, "serve", "main", labels={"age": (age, "windows")}), [0, 0, 0, 0, *weigh(dead)])
                        for age, dead in ended.items()]
        files.append(f"{kind}.{first}.{w:03}.pb.gz")
        t.write(files[-1], gz(profile(samples, types=AGED, time=T0 + w * MINUTE, period_type=KIND, period=period, comments=[
            stamp(w, word, since=60 * (w - 1), until=60 * w)])))
    return files


def draw_lives(seed, windows):
    draw = random.Random(seed)
    return {f"f{k}": [(born, died if died <= windows else None, draw.randrange(1, 9))
                      for born in range(1, windows + 1) for _ in range(3)
                      for died in [born + int(draw.expovariate(1 / (1 + 4 * k)))]] for k in range(6)}


def cohorts_of(lives, points):
    """The table of the lives of one stack: born, and freed by age."""
    return [{"born": sum(n for born, _, n in lives if born == b),
             "freed": [sum(n for born, died, n in lives if born == b and died == b + age)
                       for age in range(points + 1 - b)]} for b in range(1, points + 1)]


def test_the_survival_table(t):
    """It is that of a model, whatever the files have; with more windows than points, the sums are the model's."""
    lives = draw_lives(1, 16)
    for kind in "delta", "window", "mixed", "full":
        found = leaks(t, "--all", *aged_film(t, lives, 16, kind))["runs"][0]["findings"]
        t.equal({leaf(f): f["survival"]["cohorts"] for f in found if f["what"] == "stack"},
                {name: cohorts_of(of, 16) for name, of in lives.items()}, kind)
        t.equal({f["survival"]["windows"] for f in found}, {1})
    lives = draw_lives(2, 100)
    for kind in "delta", "full":
        for f in leaks(t, "--all", *aged_film(t, lives, 100, kind))["runs"][0]["findings"]:
            cohorts, of = f["survival"]["cohorts"], lives.get(leaf(f))
            if f["what"] != "stack":
                continue
            t.equal([c["born"] for c in cohorts], [sum(n for born, _, n in of if (born - 1) // 5 == p) for p in range(20)])
            for p in range(20):
                freed = sum(c["freed"][p - b] for b, c in enumerate(cohorts[:p + 1]))
                t.check(abs(freed - sum(n for _, died, n in of if died and (died - 1) // 5 == p)) < 1e-3, f"{p}: {freed}")
            t.check(all(sum(c["freed"]) <= c["born"] + 1e-3 for c in cohorts), f"{kind}: a cohort has more deaths than births")


def test_windows_before_the_first_and_windows_that_are_lost(t):
    """What is in use is certain: the cohorts have it at the end, and no more."""
    lives = draw_lives(3, 30)
    files = aged_film(t, lives, 30, "window", first=9)
    for lost in [], files[5:8], files[2:4] + files[9:10]:
        for f in leaks(t, "--all", *[name for name in files if name not in lost])["runs"][0]["findings"]:
            alive = sum(c["born"] - sum(c["freed"]) for c in f["survival"]["cohorts"])
            if f["what"] == "stack":
                t.equal(round(alive, 3), f["objects"], f"{leaf(f)} without {lost}")


def churn(windows, objects):
    return [(w, w, objects) for w in range(1, windows + 1)]


def test_what_is_in_use_is_certain(t):
    """Samples are counted by the mean size, which large objects that die and small ones that live share; and realloc to a
    small size frees bytes, but no object. No sample is alive that is not in use."""
    every = range(1, 19)
    lives = {"parse": [life for w in every for life in ((w, w, 20, 20 * 4096), (w, w + 1, 1, 300000))],
             "reset": [life for w in every for life in ((w, None, 200, 200), (w, w + 2, 0, 600000))],
             "leak": [life for w in every for life in ((w, None, 2, 60000), (w, w + 1, 1, 100000))]}
    run = leaks(t, *aged_film(t, lives, 18, period=65536))["runs"][0]
    t.equal(([leaf(f) for f in run["findings"] if f["kind"] == "suspect"], run["unknown"]), (["leak"], 0))


def test_a_few_samples_are_rounded(t):
    """Three samples of 49 KiB stand for 32 objects, which are 2.999 samples: enough for a queue."""
    lives, waiting = [], []
    for w in range(1, 19):
        waiting += [w] * 54
        lives += [(born, w, 1) for born in waiting[:32]]
        del waiting[:32]
    lives += [(born, None, 1) for born in waiting]
    found = leaks(t, *aged_film(t, {"queue": lives}, 18, size=49 * 1024, period=512 * 1024))["runs"][0]["findings"]
    t.equal([(leaf(f), f["kind"], f["reason"]) for f in found], [("queue", "suspect", "backlog")])


def test_a_leak_below_churn(t):
    """One of 2,000 allocations stays. Its level is nothing beside that of the sessions, which are freed."""
    kept = [(w, None, 2) for w in range(1, 19)]
    lives = {"leak": churn(18, 4000) + kept, "answer": churn(18, 9000),
             "session": [(w, w + 3 if w < 16 else None, 3000) for w in range(1, 19)],
             "ramp": [(w, w + 1 if w < 18 else None, 500 * w) for w in range(1, 19)],
             "cache": [(w, None, 500) for w in range(1, 8)], "rare": [(3, None, 1), (8, None, 1), (11, None, 1)]}
    files = aged_film(t, lives, 18)
    found = {leaf(f): f for f in leaks(t, "--all", *files)["runs"][0]["findings"]}
    t.equal({name: (f["kind"], f["reason"]) for name, f in found.items()},
            {"leak": ("suspect", "survives"), "answer": ("none", "flat"), "session": ("none", "filled"),
             "ramp": ("unknown", "turnover"), "cache": ("none", "filled"), "rare": ("none", "few-samples")})
    t.equal({k: found["leak"]["evidence"][k] for k in ("older_than_windows", "settled", "freed", "alive")},
            {"older_than_windows": 4, "settled": 26, "freed": 0, "alive": 26})
    text = t.succeeds("leaks", "--all", *files).text
    t.contains(text, "what is allocated stays, and more comes", "of 26 samples older than 4 windows 0 were freed\n",
               "of 3 samples older than 4 windows 0 were freed\n", " that are not freed are enough: a run of ")
    by_count = leaks(t, "--type=inuse_objects", *files)["runs"][0]["findings"]
    t.equal([(leaf(f), f["reason"]) for f in by_count], [("leak", "survives"), ("ramp", "turnover")])
    t.equal(t.run("leaks", "--fail", *files).code, 5)
    t.equal(leaks(t, *files[:5])["runs"][0]["is_enough"], False)
