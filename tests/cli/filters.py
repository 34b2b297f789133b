"""pprofdelta show: --focus, --ignore, --tag, --hide, --all-frames, --stacks and --cum.

The oracle is a second implementation in Python: it reads generated profiles as the model that they
were written from, and says what each form must show.
"""

import json
import random
import re

from flames import data_of, folded, stacks_of
from pb import HEAP, Writer, profile
from samples import pair

# ---- a model with inlined calls, mappings and files --------------------------------------------------

# Names of the pool: what an oracle of our own says about them.
ALLOCATORS = {"malloc", "operator new(unsigned long)", "je_malloc", "runtime.mallocgc", "__rust_alloc"}
STARTS = {"_start", "__libc_start_main", "runtime.goexit", "std::rt::lang_start"}
PLAIN = {"main", "serve", "parse", "parse_line", "read;all", "cache::Cache<int>::put(int)", "a.b", "x(y)", "é"}
FILES = ["src/parse.c", "src/serve.c", "lib/cache.h", ""]
MODULES = ["/bin/app", "/usr/lib/libcache.so.1", "[anon]"]


class Model:
    """locations: (module, [(function, file, line)]); samples: (locations, values, labels)."""

    def __init__(self, seed, types):
        chance = random.Random(seed)
        names = sorted(ALLOCATORS | STARTS | PLAIN)
        functions = [(name, chance.choice(FILES)) for name in names]
        self.types = types
        self.locations = [(chance.randrange(len(MODULES)),
                           [(*chance.choice(functions), chance.randint(0, 3))
                            for _ in range(chance.choice([1, 1, 1, 2, 3]))]) for _ in range(40)]
        self.samples = [([chance.randrange(40) for _ in range(chance.choice([0, 1, 2, 4, 7]))],
                         [chance.randint(0, 1000) for _ in types],
                         [(key, chance.choice(["a", "ab", "b(", 7, 4096])) for key in ("user", "size")
                          if chance.random() < 0.5]) for _ in range(60)]

    def bytes(self):
        w, functions = Writer(self.types), {}
        for places, values, labels in self.samples:
            w.sample([place + 1 for place in places], values, labels)
        for at, module in enumerate(MODULES, 1):
            w.mapping(at, at << 32, (at << 32) + 4096, file=module)
        for at, (module, lines) in enumerate(self.locations, 1):
            w.location(at, module + 1, (module + 1 << 32) + at,
                       [(functions.setdefault(line[:2], len(functions) + 1), line[2]) for line in lines])
        for (name, file), at in functions.items():
            w.function(at, name, file)
        return w.bytes()

    def frames(self, sample):
        """(name, file, line, module) of each, leaf first."""
        return [(*line, MODULES[self.locations[place][0]]) for place in sample[0]
                for line in self.locations[place][1]]


def matches(pattern, frame):
    return any(re.search(pattern, text) for text in (frame[0], frame[1], frame[3]))


def has_tag(tag, labels):
    key, equals, want = tag.partition("=")
    for name, value in labels:
        texts = [value] if isinstance(value, str) else [str(value), f"{value}bytes"]
        if name != key:
            continue
        if not equals:
            return True
        least, colon, most = want.partition(":")
        if colon and isinstance(value, int):
            if int(least or -1 << 63) <= value <= int(most or (1 << 63) - 1):
                return True
        elif any(text == want or re.fullmatch(want, text) for text in texts):
            return True
    return False


OF_FRAMES = ("hide", "allocator")


def is_met(model, option, value, sample):
    if option == "tag":
        return has_tag(value, sample[2])
    return any(matches(value, frame) for frame in model.frames(sample))


def keeps(model, option, value, sample):
    return is_met(model, option, value, sample) == (option in ("focus", "tag")) or option in OF_FRAMES


def shown(model, filters, sample, folds):
    """The frames that are left, leaf first."""
    frames = model.frames(sample)
    if not frames:
        return []
    if folds:
        is_heap = any(kind.endswith("/bytes") for kind in model.types)
        low, high = 0, len(frames)
        while is_heap and low < high and (frames[low][0] in ALLOCATORS or any(
                option == "allocator" and matches(value, frames[low]) for option, value in filters)):
            low += 1
        while high > low and (frames[high - 1][0] in STARTS or frames[high - 1][0] == "main" and high > 1 and
                              frames[high - 2][0] == "std::rt::lang_start"):
            high -= 1
        frames = frames[low:high] or ([frames[low - 1]] if low else [frames[0]])
    left = [frame for frame in frames
            if not any(option == "hide" and matches(value, frame) for option, value in filters)]
    return left or [("(hidden)", "", 0, "")]


def expect_folded(model, filters, column, folds=True):
    sums = {}
    for sample in model.samples:
        if all(keeps(model, *one, sample) for one in filters):
            names = [frame[0].replace(";", ":") for frame in reversed(shown(model, filters, sample, folds))]
            line = ";".join(names) or "(no stack)"
            sums[line] = sums.get(line, 0) + sample[1][column]
    return {line: value for line, value in sums.items() if value}


def arguments(filters):
    return [f"--{option}={value}" for option, value in filters]


CASES = [
    [], [("focus", "parse")], [("focus", "^parse$")], [("ignore", "parse|serve")], [("hide", "parse")],
    [("hide", ".")], [("focus", r"src/serve\.c")], [("focus", "libcache")], [("hide", r"\[anon\]")],
    [("tag", "user")], [("tag", "user=a")], [("tag", "user=a.*")], [("tag", "size=7")], [("tag", "size=7bytes")],
    [("tag", "size=100:5000")], [("tag", "size=:100")], [("tag", "size=8:")], [("tag", "none")],
    [("focus", "malloc"), ("ignore", "serve")], [("focus", "main"), ("focus", "serve")],
    [("ignore", "cache"), ("tag", "user"), ("hide", "main|_start")], [("focus", r"x\(y\)")],
    [("hide", "operator new"), ("hide", r"^a[.]b$")], [("focus", "é")], [("focus", "nowhere")],
    [("allocator", "^parse")], [("allocator", "cache::Cache<int>"), ("allocator", "libcache|_start")],
    [("allocator", "."), ("ignore", "serve")], [("allocator", "main"), ("hide", "operator new")],
]
WHOLE_CASES = [case for case in CASES if "allocator" not in dict(case)]  # for forms that have all frames


def scenes(t, seeds, cases=CASES):
    """Each case with each model, which is the file p: the model, the filters, their arguments, and the samples
    that are kept."""
    for seed in seeds:
        model = Model(seed, HEAP)
        t.write("p", model.bytes())
        for filters in cases:
            yield model, filters, arguments(filters), [sample for sample in model.samples if all(
                keeps(model, *one, sample) for one in filters)]


def test_every_form_shows_what_the_oracle_says(t):
    for seed in range(4):  # 0 and 3 have the types of time
        types = HEAP if seed % 3 else ["samples/count", "cpu/nanoseconds"]
        model = Model(seed, types)
        t.write("p", model.bytes())
        for filters in CASES:
            args = arguments(filters)
            for folds, more in ((True, []), (False, ["--all-frames"])):
                got = t.run("show", "--folded", "p", *args, *more)
                t.equal(folded(got.text), expect_folded(model, filters, len(types) - 1, folds), f"{seed} {args}")
        filters = CASES[seed * 3 % len(CASES)]
        page = t.run("show", "--flame=-", "p", *arguments(filters))
        want = expect_folded(model, filters, len(types) - 1)
        t.equal({line.replace("read;all", "read:all") or "(no stack)": value for line, value in
                 stacks_of(data_of(page.text), "self", len(types) - 1).items()}, want, f"{seed} {filters}")


def test_json_and_raw_have_what_is_kept(t):
    for model, filters, args, kept in scenes(t, range(2), WHOLE_CASES):
        if filters and not any(option == "hide" for option, _ in filters):
            raw = t.run("show", "--raw", "p", *args)
            rows = raw.text.split("samples:\n")[1].split("locations:\n")[0].splitlines()
            t.equal(len([row for row in rows if not row.startswith("    ")]), len(kept), str(filters))
            t.contains(raw.err, f"note: kept: {len(kept)} of {len(model.samples)} samples, ")
        got = json.loads(t.run("show", "--json", "p", *args).text)
        t.equal([(one["values"], [frame["function"] for frame in one["stack"]]) for one in got["samples"]],
                [(sample[1], [frame[0] for frame in shown(model, filters, sample, False)]) for sample in kept], str(filters))
        for column, one in enumerate(got["types"]):
            t.equal((one["total"], one["kept"]), (sum(sample[1][column] for sample in model.samples),
                                                  sum(sample[1][column] for sample in kept)), str(filters))
        t.equal(got["filters"], [
            {"option": option, "value": value, "matched": sum(
                is_met(model, option, value, sample) for sample in model.samples), **({} if option == "hide" else {"kept": [
                    sum(sample[1][column] for sample in model.samples if keeps(model, option, value, sample))
                    for column in range(len(HEAP))]})} for option, value in filters])


def table(text):
    """{function: (flat, cum)} of a table with one type."""
    rows = text.split("function\n")[1].splitlines()
    cells = [re.split(r"\s{2,}", row.strip(), maxsplit=4) for row in rows]
    return {row[4]: (int(row[0]), int(row[2])) for row in cells}


def test_tables_add_up_what_is_left(t):
    for model, filters, args, kept in scenes(t, range(2)):
        flat, cum = {}, {}
        for sample in kept:
            names = [frame[0] for frame in shown(model, filters, sample, True)]
            for name in set(names):
                flat[name] = flat.get(name, 0) + sample[1][0] * (name == names[0])
                cum[name] = cum.get(name, 0) + sample[1][0]
        want = {name: (flat[name], cum[name]) for name in cum if cum[name]}
        text = t.run("show", "p", "--type=alloc_objects", "--top=99", *args).text
        t.equal(table(text) if want else {}, want, str(filters))
        t.contains(text, f"total     alloc_objects/count  {sum(sample[1][0] for sample in model.samples)}\n")
        rows = t.run("show", "p", "--type=alloc_objects", "--top=99", "--cum", *args).text
        t.contains(rows, "by cumulative alloc_objects\n")
        order = [values[1] for values in table(rows).values()] if want else []
        t.equal(order, sorted(order, reverse=True), str(filters))


# ---- whole stacks ----------------------------------------------------------------------------------

def stacks_in(text):
    """[(value, [(name, place)])] of --stacks."""
    found = []
    for line in text.split("leaf first\n")[1].splitlines():
        if line[:1].isdigit():
            found.append((line.split(".  ", 1)[1], []))
        elif line:
            parts = re.split(r"\s{2,}", line.strip(), maxsplit=1)
            found[-1][1].append((parts[0], parts[1] if len(parts) > 1 else ""))
    return found


# Frames by letter: (function, "" for none, and its mapping from 1); p is a public function of the library, and b both
# of an allocator and of start-up.
LETTERS = {"f": ("f", 1), "g": ("g", 1), "a": ("malloc", 1), "s": ("start_thread", 1), "c": ("", 2), "n": ("", 1), "m": ("main", 1),
           "r": ("std::rt::lang_start", 1), "p": ("std::vector<int>::push_back", 1), "b": ("clone", 1)}

# Stacks of a heap, leaf first, and what is shown of them.
ENDS = {"f": "f", "aafgmss": "fgm", "faag": "faag", "afsg": "fsg", "aaa": "a", "sss": "s", "aass": "a", "bb": "b",
        "afrrrm": "f", "afrrrmss": "f", "afmss": "fm", "m": "m", "rm": "r",  # main only starts Rust's
        "afmccn": "fm", "afmcn": "fm", "afmn": "fmn", "afncn": "fn", "nn": "nn", "ccn": "c",  # _start without a name
        "apf": "pf", "aapapf": "pf", "appppf": "pf", "appaf": "f", "pf": "pf", "fpf": "fpf", "app": "p", "appss": "p", "p": "p",
        "apfpf": "pfpf", "ab": "b", "fab": "fa", "": ""}
TIMES = {"aafgmss": "aafgm", "aass": "aa", "appf": "appf", "bb": "b"}  # where no memory is


def test_only_the_ends_of_a_stack_are_cut(t):
    for kind, stacks in ("space/bytes", ENDS), ("cpu/nanoseconds", TIMES):
        for stack, want in stacks.items():
            w = Writer([kind])
            w.sample(["fgascnmrpb".index(letter) + 1 for letter in stack], [1])
            w.mapping(1, 0x1000, 0x2000, file="/bin/app")
            w.mapping(2, 0x3000, 0x4000, file="/lib/libc.so.6")
            for at, (name, mapping) in enumerate((LETTERS[letter] for letter in "fgascnmrpb"), 1):
                w.location(at, mapping, mapping * 0x2000 - 0x1000 + at, [(at, 0)] if name else [])
                if name:
                    w.function(at, name)
            t.write("p", w.bytes())
            got = t.succeeds("show", "--folded", "--allocator=^clone$", "p").text.rsplit(" ", 1)[0].split(";")[::-1]
            names = [LETTERS[letter][0] or ("app", "libc.so.6")[LETTERS[letter][1] - 1] for letter in want] or ["(no stack)"]
            t.equal([name.split("+")[0] for name in got], names, f"{kind} {stack}")


def test_stacks_are_whole_and_the_heaviest_come_first(t):
    for model, filters, args, kept in scenes(t, range(3)):
        sums = {}
        for sample in kept:
            key = tuple((frame[0], frame[1], frame[2]) for frame in shown(model, filters, sample, True))
            sums[key] = sums.get(key, 0) + sample[1][0]
        got = stacks_in(t.run("show", "p", "--stacks=999", "--type=alloc_objects", *args).text)
        values = [int(value.split()[0]) for value, _ in got]
        t.equal(values, sorted((value for value in sums.values() if value), reverse=True), str(filters))
        if values:
            t.equal(stacks_in(t.run("show", "p", "--stacks", "2", "--type=alloc_objects", *args).text), got[:2])


def test_stacks_have_files_and_lines(t):
    model = Model(0, HEAP)
    model.locations = [(0, [("malloc", "", 0)]), (0, [("grow", "src/vec.h", 12), ("put", "src/vec.c", 7)]),
                       (1, [("serve", "", 0)]), (0, [("_start", "", 0)])]
    model.samples = [([0, 1, 2, 3], [4, 4096, 2, 2048], []), ([2, 3], [1, 1, 1, 1], []), ([], [1, 1, 1, 7], [])]
    t.write("p", model.bytes())
    t.contains(t.succeeds("show", "--stacks", "p").text, """\
hidden    2 wrapper and start-up functions; --all-frames shows them

3 stacks, by inuse_space, leaf first
1.  2.00KiB  99.6%  alloc_objects 4, alloc_space 4.00KiB, inuse_objects 2
    grow   src/vec.h:12
    put    src/vec.c:7
    serve  [/usr/lib/libcache.so.1]

2.  7B  0.3%  alloc_objects 1, alloc_space 1B, inuse_objects 1
    (no stack)

3.  1B  0.0%  alloc_objects 1, alloc_space 1B, inuse_objects 1
    serve  [/usr/lib/libcache.so.1]
""")
    t.contains(t.succeeds("show", "--stacks=1", "--all-frames", "p", "--type=alloc_space").text, """
the first 1 of 3 stacks, by alloc_space, leaf first
1.  4.00KiB  100.0%
    malloc  [/bin/app]
    grow    src/vec.h:12
    put     src/vec.c:7
    serve   [/usr/lib/libcache.so.1]
    _start  [/bin/app]
""")


def test_stacks_of_two_profiles(t):
    """By the change, matched by names; lines that moved from build to build do not matter."""
    before, after = Model(0, HEAP), Model(0, HEAP)
    before.locations = [(0, [("put", "vec.c", 7)]), (0, [("get", "vec.c", 30)]), (0, [("old", "vec.c", 1)])]
    after.locations = [(0, [("put", "vec.c", 9)]), (0, [("get", "vec.c", 33)]), (0, [("get", "vec.c", 34)])]
    before.samples = [([0], [1, 1, 1, 1000], []), ([1], [1, 1, 1, 10], []), ([2], [1, 1, 1, 5], [])]
    after.samples = [([0], [1, 1, 1, 900], []), ([1], [1, 1, 1, 100], []), ([2], [1, 1, 1, 110], [])]
    t.write("a", before.bytes())
    t.write("b", after.bytes())
    t.contains(t.succeeds("show", "a", "b", "--stacks").text, """\
          inuse_space/bytes    1015B -> 1.08KiB  +95B

3 stacks that changed, by inuse_space, leaf first
1.  10B -> 210B  +200B
    get  vec.c

2.  1000B -> 900B  -100B
    put  vec.c:9

3.  5B -> 0B  -5B
    old  vec.c:1
""")


# ---- PREV and CUR ----------------------------------------------------------------------------------

def test_filters_of_two_profiles(t):
    models = [Model(seed, HEAP) for seed in (11, 12)]
    for name, model in zip("ab", models):
        t.write(name, model.bytes())
    for filters in CASES:
        args = arguments(filters)
        sides = [expect_folded(model, filters, 3) for model in models]
        want = {line: (sides[0].get(line, 0), sides[1].get(line, 0)) for line in {**sides[0], **sides[1]}}
        got = {}
        for line in t.run("show", "--folded", "a", "b", *args).text.splitlines():
            stack, before, now = line.rsplit(" ", 2)
            got[stack] = (int(before), int(now))
        t.equal(got, want, str(filters))
        if filters not in WHOLE_CASES:
            continue
        data = json.loads(t.run("show", "--json", "a", "b", *args).text)
        for column in range(4):
            sides = [expect_folded(model, filters, column, False) for model in models]
            sums = {}
            for one in data["stacks"]:
                line = ";".join(frame["function"].replace(";", ":") for frame in reversed(one["stack"]))
                if one["before"][column] or one["now"][column]:
                    sums[line or "(no stack)"] = (one["before"][column], one["now"][column])
            t.equal(sums, {line: (sides[0].get(line, 0), sides[1].get(line, 0))
                           for line in {**sides[0], **sides[1]}}, str(filters))
            kept = [sum(sample[1][column] for sample in model.samples
                        if all(keeps(model, *one, sample) for one in filters)) for model in models]
            one = data["types"][column]
            t.equal((one["before"], one["now"], one["kept_before"], one["kept_now"]),
                    (*(sum(sample[1][column] for sample in model.samples) for model in models), *kept))
        t.equal([one["file"] for one in data["profiles"]], ["a", "b"])
        t.contains(t.run("show", "a", "b", *args).text, "total     alloc_objects/count  ", " -> ")


# ---- what is said ----------------------------------------------------------------------------------

def test_expressions_meet_what_is_shown(t):
    """Control characters are escaped before an expression meets them, and long names are cut."""
    long = "x" * 70000 + "end"
    t.write("a", profile([(("a\nb\0c", "main"), [1, 1, 1, 1]), ((long, "main"), [2, 2, 2, 2])]))
    t.contains(t.run("show", "a", "--focus", r"a\\x0ab\\x00c", "--folded").err, "kept: 1 of 2 samples")
    t.contains(t.run("show", "a", "--focus", "^x*$", "--folded").err, "kept: 1 of 2 samples")
    t.write("b", profile([(("f",), [1, 1, 1, 1])], filename="/opt/my app"))
    t.contains(t.run("show", "b", "--ignore", "my app$", "--folded").err, "kept: 0 of 1 samples")


def test_long_and_many_expressions_are_refused(t):
    before, _ = pair(t)
    t.fails(2, "show", before, "--tag", "k=a|b)(c")
    t.fails(2, "show", before, "--focus", "x" * 5000)
    t.fails(2, "show", before, *["--focus=x"] * 65)
    t.equal(t.run("show", before, *["--focus=x"] * 64).code, 0)
