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


def test_the_leak_is_found(t):
    files = film(t)
    report = leaks(t, *files)
    run = report["runs"][0]
    t.equal(suspects(report), ["leak"])
    t.equal((run["windows"], run["stacks"], run["suspects"], run["unknown"]), (16, 6, 1, 0))
    t.equal((run["type"], run["unit"], run["is_enough"]), ("inuse_space", "bytes", True))
    found = run["findings"][0]
    t.equal((found["now"], found["objects"], found["per_hour"]), (1600 * 1024, 1600, 100 * 1024 * 60))
    t.equal(round(found["age_seconds"]), 16 * 60)
    t.equal([f["function"] for f in found["stack"]], ["leak", "serve", "main"])
    text = t.succeeds("leaks", *files).text
    t.contains(text, "verdict   1 suspect, 0 unknown, 5 stacks without steady growth",
               "suspect 1: leak  app.go:11\n"
               "          +5.86MiB/h, 1.56MiB in 1600 objects now, >99.99% sure\n", "age 16.0min",
               "            leak   app.go:11\n            serve  app.go:12\n            main   app.go:13\n")
    t.check("hidden" not in text, "nothing is hidden, and the text says that something is")


def test_wrappers_and_start_up_are_folded(t):
    """As show does: undone by --all-frames, and never in JSON."""
    stack = ("operator new(unsigned long)", "leak", "main", "__libc_start_main", "_start")
    steady = ("malloc", "keep", "main", "_start")
    files = [heap(t, f"heap.{i:02}.pb.gz", i, {stack: (100 * (i + 1),) * 2, steady: (50, 50)}) for i in range(12)]
    text = t.succeeds("leaks", *files).text
    t.contains(text, "            leak  app.go:")
    for name in stack[:1] + stack[3:]:
        t.check(name not in text, f"{name} is shown: {text}")
    t.contains(t.succeeds("leaks", "--all-frames", *files).text, *stack)
    for options in [], ["--all-frames"]:
        found = leaks(t, *options, *files)["runs"][0]["findings"][0]
        t.equal([f["function"] for f in found["stack"]], list(stack))


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


def test_all_has_the_reasons(t):
    report = leaks(t, "--all", *film(t))
    reasons = {leaf(f): f["reason"] for f in report["runs"][0]["findings"]}
    t.equal(reasons, {"leak": "steady-growth", "cache": "filled", "sawtooth": "sawtooth",
                      "buffers": "flat", "startup": "flat", "step": "step"})
    text = t.succeeds("leaks", "--all", *film(t)).text
    t.contains(text, "grew at first, and stays", "grew at one moment", "no leak 2: ")


def test_top(t):
    files = [heap(t, f"{i}.pb.gz", i, {f"f{k:02}": (50 * k * (i + 1),) * 2 for k in range(1, 15)})
             for i in range(12)]
    t.equal(suspects(leaks(t, *files)), [f"f{k:02}" for k in range(14, 4, -1)])
    t.equal(suspects(leaks(t, "--top=2", *files)), ["f14", "f13"])
    t.equal(leaks(t, "--top=2", *files)["runs"][0]["suspects"], 14)
    t.contains(t.succeeds("leaks", "--top", "2", *files).text, "and 12 more: --top=N")


def test_exit_status(t):
    files = film(t)
    t.equal(t.run("leaks", *files).code, 0)
    t.equal(t.run("leaks", "--fail", *files).code, 5)
    t.equal(t.run("leaks", "--fail", *files[:5]).code, 6)
    calm = [heap(t, f"calm{i}.pb.gz", i, {"f": (10 * i + 10, 10)}) for i in range(8)]
    t.equal(t.run("leaks", "--fail", *calm).code, 0)
    late = [heap(t, f"late{i}.pb.gz", i, {"f": (10000, 100 * max(1, i - 7))}) for i in range(12)]
    t.equal(leaks(t, *late)["runs"][0]["findings"][0]["reason"], "late")
    t.equal(t.run("leaks", "--fail", *late).code, 6)
    t.equal(t.run("leaks", *late).code, 0)
    t.fails(1, "leaks", "--fail", "nothing.pb.gz")


MIB = 1024  # objects of 1 KiB


def test_growth_without_a_fall_is_not_clean(t):
    """A series that was called clean, sampled at 512 KiB; the smallest leak is named."""
    levels = [0, 5.5, 7.5, 9, 12, 13.5, 15.1, 18.1, 24, 24]
    files = [heap(t, f"{i}.pb.gz", i, {"login": (int(v * MIB), int(v * MIB)), "buffers": (9000 * i, 512),
                                       **{f"f{k}": (9000 * i, 1024) for k in range(13)}}, period=512 << 10)
             for i, v in enumerate(levels)]
    run = leaks(t, *files)["runs"][0]
    found = run["findings"][0]
    t.equal((found["kind"], leaf(found), run["unknown"]), ("unknown", "login", 1))
    t.equal(t.run("leaks", "--fail", *files).code, 6)
    t.check(15 << 20 < run["smallest_leak"] < 40 << 20, f"{run['smallest_leak']}")
    t.contains(t.succeeds("leaks", *files).text, "power     a leak of ", "MiB in this run (+")
    objects = leaks(t, "--type=inuse_objects", *files)["runs"][0]
    t.check(abs(objects["smallest_leak"] * 1024 / run["smallest_leak"] - 1) < 0.01, f"{objects}")
    flat = [heap(t, f"flat{i}.pb.gz", i, {"login": (9000 * i, 12 * MIB)}, period=512 << 10)
            for i in range(len(levels))]
    t.lacks(t.succeeds("leaks", *flat).text, "unknown 1")
    t.equal(t.run("leaks", "--fail", *flat).code, 0)


def test_growth_that_no_stack_explains(t):
    """Stacks which each step up at another time, and stay: together they grow all the time."""
    files = [heap(t, f"{i}.pb.gz", i, {(f"f{k:02}",): (5000, 400 if i > k else 0) for k in range(16)})
             for i in range(16)]
    run = leaks(t, *files)["runs"][0]
    t.equal([(f["kind"], f["what"]) for f in run["findings"]], [("unknown", "rest")])
    t.contains(t.succeeds("leaks", *files).text, "16 stacks grow together, none of them enough; the largest:")
    t.equal(t.run("leaks", "--fail", *files).code, 6)


def resident(t, name, at, areas, live=100, comment=None, mapped=None):
    """A profile with an account of the resident memory. areas: {stack: KiB}; mapped: {stack: KiB}."""
    samples = [(("use", "main"), [500 * at, 500 * at * 1024, live, live * 1024, 0, 0])]
    samples += [(stack, [0, 0, 0, 0, kib * 1024, (mapped or {}).get(stack, 0) * 1024]) for stack, kib in areas.items()]
    types = HEAP + ["rss_space/bytes"] + (["mapped_space/bytes"] if mapped else [])
    t.write(name, gz(profile([(stack, values[:len(types)]) for stack, values in samples], types=types, time=T0 + at * MINUTE,
                             period_type=KIND, period=512 << 10, comments=[comment] if comment else ())))
    return name


HEAP_AREAS = {("[live heap]",): 100, ("[allocator slack]",): 300, ("[file mappings, clean or shared]", "/usr/lib/libx.so"): 4000}


def test_resident_memory_that_the_stacks_do_not_explain(t):
    arenas = ("[anonymous mappings]", "mmap", "_PyMem_ArenaAlloc", "new_arena", "main")
    files = [resident(t, f"{i}.pb.gz", i, {**HEAP_AREAS, arenas: 30000 + 1500 * i}) for i in range(14)]
    run = leaks(t, *files)["runs"][0]
    found = run["findings"][0]
    t.equal((run["suspects"], run["unknown"]), (0, 1))
    t.equal((found["kind"], found["reason"], found["what"]), ("unknown", "resident", "resident"))
    t.equal(found["per_hour"], 1500 * 1024 * 60)
    t.equal([(a["area"], [f["function"] for f in a["stack"]]) for a in found["areas"]],
            [("[anonymous mappings]", list(arenas))])
    t.equal(t.run("leaks", "--fail", *files).code, 6)
    text = t.succeeds("leaks", *files).text
    t.contains(text, "unknown 1: resident memory\n",
               "resident memory grows, and the stacks do not explain it\n            +10.3MiB  [anonymous mappings]  ",
               "next      record with PYTHONMALLOC=malloc")
    t.contains(t.succeeds("leaks", "--type=inuse_objects", *files).text, "+87.9MiB/h, 52.2MiB now\n", "+10.3MiB  ")


def test_a_mapping_that_is_touched_step_by_step(t):
    """One that was made once, or several, fills and is bounded. What is mapped again and again leaks."""
    ring = ("[anonymous mappings]", "mmap", "make_ring", "main")
    segment = ("[file mappings, clean or shared]", "/dev/shm/segment")
    stacks = ("[thread stacks]", "other threads")
    for stack in (ring, segment, stacks):
        files = [resident(t, f"{i:02}.pb.gz", i, {**HEAP_AREAS, stack: 4000 + 8192 * i}, mapped={stack: 160 << 10})
                 for i in range(18)]
        found = leaks(t, *files)["runs"][0]["findings"]
        t.equal([(f["kind"], f["reason"], f["what"]) for f in found], [("unknown", "filling", "resident")], stack[0])
        t.contains(t.succeeds("leaks", *files).text, "a mapping that was made before fills: its size is the bound (160MiB)\n")
        t.equal(t.run("leaks", "--fail", *files).code, 6)
    for chunk in 1, 4:  # windows until the next mapping
        files = [resident(t, f"{i:02}.pb.gz", i, {**HEAP_AREAS, ring: 4000 + 8192 * i},
                          mapped={ring: 4000 + 8192 * chunk * (i // chunk + 1)}) for i in range(18)]
        t.equal([(f["kind"], f["reason"]) for f in leaks(t, *files)["runs"][0]["findings"]], [("suspect", "steady-growth")])


def test_resident_memory_that_is_no_leak(t):
    """It is full, it steps, it is little, or the stacks explain it; the heap's own growth counts, too."""
    pages = ("[anonymous mappings]", "mmap", "load", "main")
    shapes = {
        "flat": lambda i: {pages: 30000},
        "full": lambda i: {pages: min(30000, 9000 * i)},
        "step": lambda i: {pages: 30000 if i > 9 else 1000},
        "little": lambda i: {pages: 3000 + 10 * i},
        "share": lambda i: {pages: 3000000 + 150 * i},
        "agent": lambda i: {("[heap agent]",): 3000 + 1500 * i},
    }
    for name, shape in shapes.items():
        files = [resident(t, f"{name}{i:02}.pb.gz", i, {**HEAP_AREAS, **shape(i)}) for i in range(14)]
        t.equal(leaks(t, *files)["runs"][0]["unknown"], 0, name)
        t.equal(t.run("leaks", "--fail", *files).code, 0, name)
    for slack, expected in (1000, [("suspect", "stack")]), (6000, [("suspect", "stack"), ("unknown", "resident")]):
        files = [resident(t, f"{slack}.{i:02}.pb.gz", i,
                          {("[live heap]",): 100 + 4000 * i, ("[allocator slack]",): 100 + slack * i}, 100 + 4000 * i)
                 for i in range(14)]
        t.equal([(f["kind"], f["what"]) for f in leaks(t, *files)["runs"][0]["findings"]], expected)


def test_windows_without_an_account(t):
    """The agent leaves it out where it takes too long. The others count."""
    pages = ("[anonymous mappings]", "mmap", "load", "main")
    files = [resident(t, f"{i:02}.pb.gz", i, {} if i % 3 == 1 else {**HEAP_AREAS, pages: 3000 + 1500 * i})
             for i in range(30)]
    found = leaks(t, *files)["runs"][0]["findings"]
    t.equal([(f["kind"], f["what"], f["per_hour"], f["place"]["function"]) for f in found],
            [("suspect", "resident", 1500 * 1024 * 60, "mmap")])
    few = leaks(t, *[resident(t, f"few{i:02}.pb.gz", i, {pages: 3000 + 1500 * i} if i > 8 else {})
                     for i in range(14)])
    t.equal(few["runs"][0]["findings"], [])


def test_one_cause_is_one_suspect(t):
    """A map of sessions: the library allocates in several ways for one line of the program."""
    ways = [("operator new(unsigned long)", "std::string::_M_create(unsigned long&)", "std::string::assign"),
            ("operator new(unsigned long)", "std::map<int, Session>::operator[](int&&)"),
            ("malloc", "std::vector<char>::push_back")]
    tail = ("login", "serve", "main", "__libc_start_main")
    files = [heap(t, f"{i}.pb.gz", i, {**{way + tail: (100 * (k + 1) * (i + 1),) * 2 for k, way in enumerate(ways)},
                                       ("malloc", "login", "other", "main"): (300 * (i + 1),) * 2,
                                       ("malloc", "steady", "main"): (900, 900)})
             for i in range(12)]
    run = leaks(t, *files)["runs"][0]
    t.equal([(f["what"], f["stacks"], f["place"]["function"]) for f in run["findings"]],
            [("place", 3, "login"), ("stack", 1, "login")])
    t.equal(run["suspects"], 2)
    found = run["findings"][0]
    t.equal((found["per_hour"], found["now"]), (600 * 1024 * 60, 600 * 12 * 1024))
    text = t.succeeds("leaks", *files).text
    line = f"app.go:{found['place']['line']}\n"
    t.contains(text, f"suspect 1: login  {line}", "stack 1 of 3: 3.52MiB, +17.6MiB/h\n", "stack 3 of 3: ",
               "1 stack without steady growth")
    t.equal(text.count("suspect "), 3)
    members = [f for f in leaks(t, "--all", *files)["runs"][0]["findings"] if f["group"] == found["group"]]
    t.equal(sorted(f["what"] for f in members), ["place", "stack", "stack", "stack"])


def test_functions_that_only_allocate(t):
    """Two leaks through one pool are two suspects, at the lines of its callers; one without --allocator."""
    way = ("malloc", "pool::grow(int)", "pool::take(int)")
    files = [heap(t, f"{i}.pb.gz", i, {(*way, "login", "serve", "main"): (200 * (i + 1),) * 2,
                                       (*way, "log_line", "serve", "main"): (100 * (i + 1),) * 2,
                                       (*way, "answer", "serve", "main"): (300 * (i + 1), 50)}) for i in range(12)]
    allocators = ["--allocator=^pool::take", "--allocator=^pool::grow"]

    def places(*args):
        run = leaks(t, *args, *files)["runs"][0]
        t.equal({len(f["stack"]) for f in run["findings"]}, {6})
        return [(f["place"]["function"], f["place"]["line"]) for f in run["findings"]]

    t.equal({function for function, _ in places()}, {"pool::grow(int)"})
    t.equal([function for function, _ in places("--allocator=pool::grow")], ["pool::take(int)"] * 2)
    lines = [line for _, line in places(*allocators)]
    t.equal(places(*allocators), [("login", lines[0]), ("log_line", lines[1])])
    text = t.succeeds("leaks", *allocators, *files).text
    t.contains(text, f"suspect 1: login  app.go:{lines[0]}\n", f"suspect 2: log_line  app.go:{lines[1]}\n")
    t.lacks(text, "pool::", "malloc")
    t.contains(t.succeeds("leaks", "--all-frames", *allocators, *files).text, "suspect 1: login ", "            pool::take(int)  app.go:")
    t.contains(t.succeeds("leaks", "--markdown", *allocators, *files).text, "<code>login</code> ", "<code>log&#95;line</code> ")
    t.lacks(t.succeeds("leaks", *allocators, *files, "-q").err, "note")
    note = t.run("leaks", *allocators, "--allocator=^poool", *files)
    t.equal((note.code, note.err), (0, "pprofdelta: note: --allocator ^poool: no frame of the stacks matches\n"))


def test_an_allocator_is_no_place_that_stacks_share(t):
    """Small leaks through one pool are named by the function that calls them all."""
    files = [heap(t, f"{i:02}.pb.gz", i, {("malloc", "take", f"f{k:02}", "serve", "main"): (40 * (i + 1),) * 2
                                          for k in range(12)}, period=64 * 1024) for i in range(12)]
    for options, want in (([], "take"), (["--allocator=^take$"], "serve")):
        found = leaks(t, *options, *files)["runs"][0]["findings"]
        t.equal([(f["kind"], f["what"], f["shared"]) for f in found], [("suspect", "shared", want)])


def test_a_leak_that_slows_its_program_down(t):
    """By time it grows ever more slowly; by what the program allocates, it does not."""
    done = [int(100000 * (1 - 0.88 ** i)) for i in range(16)]
    files = [heap(t, f"{i:02}.pb.gz", i, {"leak": (n, n), "serve_it": (30 * n, 20)}) for i, n in enumerate(done)]
    t.equal(suspects(leaks(t, *files)), ["leak"])
    files = [heap(t, f"steady{i:02}", i, {"leak": (n, n), "serve_it": (99999 * i, 20)}) for i, n in enumerate(done)]
    t.equal(leaks(t, *files)["runs"][0]["findings"][0]["reason"], "slowing")


def test_hints_name_what_is_not_set(t):
    levels = [1 + 4 * i // 5 for i in range(12)]
    for period, hint in ((512 << 10, ", or take more samples (record --rate=64k, in Go runtime.MemProfileRate = 64 << 10)"),
                         (64 << 10, "\n"), (1, "\n")):
        size = max(period >> 10, 1)
        files = [heap(t, f"{period}.{i:02}.pb.gz", i + 1, {"f": (n * size, n * size)}, period=period)
                 for i, n in enumerate(levels)]
        t.contains(t.succeeds("leaks", *files).text, "unknown 1: f", "\nnext      record longer" + hint)


def test_too_few_windows_are_unknown(t):
    for n in range(1, 6):
        run = leaks(t, *film(t, n))["runs"][0]
        t.equal((run["is_enough"], run["suspects"]), (False, 0))
        text = t.succeeds("leaks", *film(t, n)).text
        number = "1 window is" if n == 1 else f"{n} windows are"
        t.contains(text, f"{number} too few, at least 6 are needed", "next      record longer")
    t.equal(leaf(leaks(t, *film(t, 5))["runs"][0]["findings"][0]), "cache")


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


def test_a_directory(t):
    film_in(t, "run")
    t.write("run/notes.txt", b"no profile")
    t.equal(suspects(leaks(t, "run")), ["leak"])
    t.equal(suspects(leaks(t, "run/")), ["leak"])
    os.mkdir(t.path("empty"))
    t.contains(t.fails(1, "leaks", "empty").err, "empty: has no profiles", "*.pb.gz")


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


def test_a_restart_splits_the_run(t):
    files = film(t) + [heap(t, f"heap.{i}.pb.gz", i, scene(i - 16)) for i in range(16, 32)]
    result = t.succeeds("leaks", *files)
    t.contains(result.err, "note: heap.16.pb.gz: the program restarted before this profile")
    t.contains(result.text, "after a restart")
    report = leaks(t, *files)
    t.equal([r["windows"] for r in report["runs"]], [16, 16])
    t.equal([r["after_restart"] for r in report["runs"]], [False, True])
    t.equal((suspects(report), suspects(report, 1)), (["leak"], ["leak"]))


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


def test_deltas_of_heaps_have_in_use_values(t):
    files = film(t)
    deltas = [f"delta{i}.pb.gz" for i in range(1, len(files))]
    for prev, cur, delta in zip(files, files[1:], deltas):
        t.succeeds(prev, cur, "-o", delta)
    t.equal(suspects(leaks(t, *deltas)), ["leak"])


def test_profiles_without_in_use_values(t):
    files = series(t, "", (profile([(("f",), [i + 1, i + 1])], types=HEAP[:2], time=T0 + i * MINUTE) for i in range(8)))
    t.contains(t.fails(1, "leaks", *files).err, "has no in-use values; there are: alloc_objects/count, alloc_space/bytes",
               "hint: leaks needs what is in use")


def test_the_type_is_chosen_by_its_name(t):
    """Other gauges, before and behind it, do not count, nor does the default type."""
    types = ["peak_objects/count", "peak_space/bytes", *HEAP, "rss_space/bytes"]
    files = series(t, "peak", (
        profile([((name, "serve", "main"), [9999, 9 << 20, made, made * 1024, live, live * 1024, 0])
                 for name, (made, live) in scene(i).items()],
                types=types, time=T0 + i * MINUTE, period_type=KIND, period=1, default="peak_space") for i in range(16)))
    t.equal(leaks(t, "--all", *files), leaks(t, "--all", *film(t)))


def test_a_profile_of_another_kind_in_a_directory(t):
    """It is left out with a note; a file that the user named is refused."""
    film_in(t, "all")
    alone = leaks(t, "all")
    cpu = gz(profile([(("f", "main"), [3, 30])], types=["samples/count", "cpu/nanoseconds"],
                     time=T0 + MINUTE, duration=MINUTE))
    t.write("all/cpu.pb.gz", cpu)
    result = t.succeeds("leaks", "all", "--json")
    t.equal(result.err, "pprofdelta: note: all/cpu.pb.gz: has no in-use values; it is left out\n")
    t.equal(json.loads(result.text), alone)
    t.contains(t.fails(1, "leaks", "all/cpu.pb.gz").err, "pprofdelta: all/cpu.pb.gz: ", "is not cumulative")


def test_another_type(t):
    files = film(t)
    report = leaks(t, "--type=inuse_objects", *files)
    t.equal(suspects(report), ["leak"])
    t.equal(report["runs"][0]["findings"][0]["per_hour"], 6000)
    t.contains(t.succeeds("leaks", "--type=inuse_objects/count", *files).text, "+6000/h, 1600 now")
    t.contains(t.fails(1, "leaks", "--type=other", *files).err, 'no sample type is named "other"; there are')
    goroutines = series(t, "go", (profile([(("stuck", "main"), [50 * i + 1]), (("idle",), [9])],
                                          types=["goroutine/count"], time=T0 + i * MINUTE) for i in range(12)))
    t.equal(suspects(leaks(t, "--type=goroutine", *goroutines)), ["stuck"])


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


def test_what_is_freed_at_the_end_does_not_hide_a_leak(t):
    files = film(t)
    files.append(heap(t, "heap.99.pb.gz", 16, {k: (made, live // 3) for k, (made, live) in scene(16).items()}))
    result = t.succeeds("leaks", *files)
    t.contains(result.err, "note: heap.99.pb.gz: is the last profile, and less is in use than before")
    t.contains(result.text, "16 windows in 15.0min", "1 suspect, 0 unknown, 5 stacks")
    t.equal(suspects(leaks(t, *files)), ["leak"])


def drained(t, prefix, left, made=0):
    """16 windows of a leak and of traffic, and those at the end with these shares in use."""
    return [heap(t, f"{prefix}{i:02}.pb.gz", i, {"leak": (min(i, 16) * 100 + 100, int((min(i, 15) * 100 + 100) * part)),
                                                 "traffic": (9000 * min(i + 1, 16) + made * max(0, i - 15), int(300 * part))})
            for i, part in enumerate([1.0] * 16 + left)]


def test_a_drain_over_several_windows(t):
    """The leak is judged up to where the program begins to end. Of a program that goes on, all counts."""
    files = drained(t, "drain", [0.8, 0.5, 0.2, 0.01, 0.01])
    result = t.succeeds("leaks", *files)
    t.contains(result.err, "note: drain16.pb.gz: the program begins to end, and frees its memory: the last 5 profiles are not judged")
    t.contains(result.text, "16 windows in 15.0min, from ", ", without the end of the program (5 windows)\n", "1 suspect, 0 unknown")
    run = leaks(t, *files)["runs"][0]
    t.equal((suspects(leaks(t, *files)), run["windows"], run["left_out"]), (["leak"], 16, 5))
    t.equal(round(run["findings"][0]["age_seconds"]), 16 * 60)
    files = drained(t, "on", [0.8, 0.5, 0.2, 0.01, 0.01], made=9000)
    t.equal(suspects(leaks(t, *files)), [])
    t.lacks(t.succeeds("leaks", *files).err, "end")


def go_windows(t, prefix, stacks, count=12):
    """Windows of a minute without a stamp. stacks: a function of the number that returns {leaf: (allocated, in use)}."""
    return [heap(t, f"{prefix}{i:02}.pb.gz", i, stacks(i), duration=MINUTE) for i in range(count)]


def test_windows_of_go(t):
    """In-use values are absolute, as those of godeltaprof; with ?seconds= they are changes."""
    absolute = go_windows(t, "abs", lambda i: {"leak": (100, 100 * i + 100), "calm": (7000, 500 - i % 3), "cache": (0, 400)})
    report = leaks(t, *absolute)
    t.equal((suspects(report), report["runs"][0]["windows"]), (["leak"], 12))
    changes = go_windows(t, "chg", lambda i: {"leak": (100, 100), "calm": (7000, (-40, 40)[i % 2])})
    report = leaks(t, "--all", *changes)
    t.equal(suspects(report), ["leak"])
    t.equal(report["runs"][0]["findings"][0]["now"], 1200 * 1024)
    # What is freed between two windows is in none of them, so that anything may seem to grow.
    for pause, want in ((0.01, (5, ["leak"])), (0.5, (6, []))):
        files = [heap(t, f"pause{i:02}.pb.gz", i * (1 + pause), {"leak": (100, 100), "calm": (7000, (-40, 40)[i % 2])},
                      duration=MINUTE) for i in range(12)]
        t.equal((t.run("leaks", "--fail", *files).code, suspects(leaks(t, *files))), want)
    t.contains(t.succeeds("leaks", *files).text, "verdict   unknown: these windows have only what changed in them, and there is time between")
    unclear = go_windows(t, "bad", lambda i: {"leak": (100, 100), "calm": (7000, 40)})
    t.contains(t.succeeds("leaks", *unclear).text, "verdict   unknown: what is in use may be changes in these windows")
    t.equal(t.run("leaks", "--fail", *unclear).code, 6)


def test_profiles_that_repeat(t):
    """Go's heap profile is as of its last collection: what does not change is no evidence, and no clean verdict."""
    files = [heap(t, f"same{i}.pb.gz", i, {"f": (5000, 1000), "g": (40, 40)}) for i in range(10)]
    t.contains(t.succeeds("leaks", *files).text, "verdict   unknown: most profiles are the same as the one before", "gc=1")
    run = leaks(t, *files)["runs"][0]
    t.equal((run["is_enough"], run["doubt"] is None), (False, False))
    t.equal(t.run("leaks", "--fail", *files).code, 6)


def test_an_empty_file_among_good_ones(t):
    files = film(t, 10)
    want = t.succeeds("leaks", *files).text
    t.write("none.pb.gz", b"")
    result = t.succeeds("leaks", files[0], "none.pb.gz", *files[1:])
    t.equal(result.text, want)
    t.equal(result.err, "pprofdelta: note: none.pb.gz: is empty; it is left out\n")
    t.equal(t.run("leaks", "--fail", "none.pb.gz", *files).code, 5)
    t.contains(t.fails(1, "leaks", "none.pb.gz").err, "is empty", "no profile is left to judge")


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


def test_names_are_made_safe(t):
    files = [heap(t, f"{i}.pb.gz", i, {"evil\x1b[31m\n\"": (100 * i + 100,) * 2}) for i in range(8)]
    t.lacks(t.succeeds("leaks", *files).text, "\x1b")
    t.equal(suspects(leaks(t, *files)), ["evil\x1b[31m\n\""])


def test_damage_is_refused(t):
    files = film(t)
    t.write("cut.pb.gz", t.load(files[5])[:100])
    result = t.fails(1, "leaks", *files, "cut.pb.gz")
    t.contains(result.err, "cut.pb.gz: ")
    t.contains(result.text, "verdict   1 suspect")  # of the others
    t.equal(t.run("leaks", "--fail", *files, "cut.pb.gz").code, 5)
    t.contains(t.fails(1, "leaks", "--max-memory=20k", *files).err, "memory")
    t.contains(t.fails(1, "leaks", "missing.pb.gz").err, "missing.pb.gz: cannot")


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
