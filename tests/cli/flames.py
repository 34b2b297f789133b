"""pprofdelta show --flame, --folded and the table, of one profile and of two: what the page holds.
(That a browser draws it is tests/e2e/flame.py's.)"""

import json
import os
import re

from pb import HEAP, Stack, Writer, chunk, gz, number, profile
from samples import T1, cur, pair, prev, two
from showing import terminal


def page(t, *args, **kwargs):
    t.succeeds("show", *args, "--flame", "page.html", **kwargs)
    return t.load("page.html").decode()


def data_of(text):
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))


def paths_of(data):
    """The nodes of the tree, root first."""
    paths, parents, at = [()], [0], 0
    for name, back in list(zip(data["name"], data["back"]))[:-1]:
        for _ in range(back):
            at = parents[at]
        paths.append(paths[at] + (data["names"][name],))
        parents.append(at)
        at = len(paths) - 1
    return paths


def stacks_of(data, which="self", number=0):
    """The tree read back: {"root;...;leaf": value} of one type."""
    got, node, paths = {}, 0, paths_of(data)
    pairs = data["types"][number][which]
    for step, value in zip(pairs[::2], pairs[1::2]):
        node += step
        path = ";".join(paths[node])
        got[path] = got.get(path, 0) + value
    return got


def folded(text):
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}


def test_the_page_has_the_profile(t):
    t.write("cur", gz(cur(comments=["a comment"], default="alloc_space")))
    data = data_of(page(t, "cur"))
    t.equal(data["profiles"], [{"file": "cur", "time": "2023-11-14T22:14:20Z", "duration": "",
                                "samples": 3, "isDelta": False, "comments": ["a comment"],
                                "binary": "app", "buildId": ""}])
    t.equal([(one["type"], one["unit"]) for one in data["types"]],
            [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
             ("inuse_space", "bytes")])
    t.equal(data["chosen"], 1)
    t.equal(data["names"], ["idle", "main", "new", "work"])
    t.equal(stacks_of(data), {"main;work": 15, "main;idle": 5, "main;new": 1})
    t.write("known", cur(build_id="5d4c0f"))
    t.equal(data_of(page(t, "known"))["profiles"][0]["buildId"], "5d4c0f")
    t.equal(data_of(page(t, "known"))["chosen"], 3)
    t.equal(data_of(page(t, "cur", "--type=inuse_objects"))["chosen"], 2)


def test_the_page_has_what_folded_has(t):
    samples = [(("f", "g", "f", "main"), [1, 2, 3, 4]), (("f", "main"), [5, 6, 7, 8]),
               (("f", "g", "f", "main"), [10, 20, 30, 40]), (("main",), [7, 0, 0, 0]),
               ((), [9, 9, 9, 9]), (("z", "y"), [0, 0, 0, 1]), (("g", "f", "main"), [2, 2, 2, 2])]
    t.write("a", profile(samples))
    data = data_of(page(t, "a"))
    for number, kind in enumerate(one["type"] for one in data["types"]):
        want = folded(t.succeeds("show", "--folded", "a", "--type", kind).text)
        t.equal(stacks_of(data, number=number),
                {("" if path == "(no stack)" else path): value for path, value in want.items()})


def test_the_page_of_two(t):
    t.write("prev", prev())
    t.write("cur", cur(types=["inuse_space/bytes", "alloc_objects/count", "alloc_space/bytes",
                              "own/count"]))
    data = data_of(page(t, "prev", "cur"))
    t.equal([one["file"] for one in data["profiles"]], ["prev", "cur"])
    t.equal([one["type"] for one in data["types"]],
            ["inuse_space", "alloc_objects", "alloc_space"])
    t.equal(stacks_of(data, "before", 1), {"main;work": 10, "main;idle": 5})
    t.equal(stacks_of(data, "self", 1), {"main;work": 1600, "main;idle": 500, "main;new": 8})
    t.equal(stacks_of(data, "before", 0), {"main;work": 100, "main;idle": 500})


def test_the_page_needs_no_network(t):
    t.write("cur", cur())
    text = page(t, "cur")
    t.check(text.isascii(), "not ASCII")
    t.contains(text, "default-src 'none'", "<!doctype html>", "<title>")
    t.equal(re.findall(r"https?://|@import|url\(|src=|<link(?! rel=\"icon\" href=\"data:,\")", text),
            [])
    for marker in ("{{style}}", "{{script}}", "{{data}}"):
        t.lacks(text, marker)


def test_names_stay_data(t):
    evil = '</script><script>alert(1)</script><!--"\\\n\u2028' + "\x00after"
    t.write("a", profile([((evil, b"\xff\xfe", "main"), [1, 1, 1, 1])], comments=["</script>"]))
    text = page(t, "a")
    t.equal(text.count("</script>"), 2)
    t.lacks(text, "<script>alert", "\u2028")
    data = data_of(text)
    shown = evil.replace("\n", "\\x0a").replace("\0", "\\x00").replace("\u2028", "\\xe2\\x80\\xa8")
    t.equal(sorted(data["names"]), sorted([shown, "\\xff\\xfe", "main"]))


# What a terminal or a browser obeys instead of showing it, and how it is shown.
CONTROLS = {"a \u202egnirts\u202c b": "a \\xe2\\x80\\xaegnirts\\xe2\\x80\\xac b", "\x1b[31m\x7f": "\\x1b[31m\\x7f",
            "x\u2066y\u2069\u061c": "x\\xe2\\x81\\xa6y\\xe2\\x81\\xa9\\xd8\\x9c", "t\tb": "t\\x09b", "\x9b8m": "\\xc2\\x9b8m"}


def test_a_page_escapes_as_the_terminal_does(t):
    """Names, files, labels, types, comments, and the name of the profile itself."""
    for raw, shown in CONTROLS.items():
        w = Writer([f"{raw}/{raw}"])
        w.sample([1], [7], [(raw, raw), (raw, (5, raw))])
        w.mapping(1, 1 << 20, 1 << 21, 0, raw, raw)
        w.location(1, 1, (1 << 20) + 1, [(1, 7)])
        w.function(1, raw, raw)
        t.write(raw, w.bytes() + chunk(6, raw.encode()) + number(13, len(w.index)))
        data = data_of(page(t, raw, "--focus", "."))
        one, kind = data["profiles"][0], data["types"][0]
        t.equal((data["names"], data["files"]), ([shown], [shown]))
        t.equal(sorted(data["labels"]), sorted([f"{shown}={shown}", f"{shown}=5{shown}"]))
        t.equal((one["file"], one["binary"], one["buildId"], one["comments"]), (shown, shown, shown, [shown]))
        t.equal((kind["type"], kind["unit"]), (shown, shown))
        t.contains(data["notes"][0][1], f"100.0% of {shown}")
        t.contains(t.succeeds("show", raw, "--stacks").text, f"    {shown}  {shown}:7\n")
        t.lacks(t.load("page.html").decode(), raw)


def test_stamps_are_not_shown_as_they_are(t):
    t.write("a", cur(comments=["pprofdelta: account rss=31821824 live_estimate=0 heap_resident=0", "own",
                               "pprofdelta: delta from=1700000000000000000 to=1700000060000000000", "pprofdelta"]))
    t.equal(data_of(page(t, "a"))["profiles"][0]["comments"], ["own", "pprofdelta"])


def test_odd_pages(t):
    """Sums stay exact, and a profile may be empty."""
    most = 2**63 - 1
    t.write("a", profile([(Stack("f", labels={"k": str(i)}), [most, -most, 0, 0]) for i in range(3)]))
    data = data_of(page(t, "a"))
    t.equal((stacks_of(data), stacks_of(data, number=1)), ({"f": 3 * most}, {"f": -3 * most}))
    t.write("a", profile([], time=T1))
    data = data_of(page(t, "a"))
    t.equal((data["names"], data["name"], data["back"], stacks_of(data)), ([], [0], [0], {}))


def test_where_the_page_goes(t):
    t.write("cur", cur())
    text = page(t, "cur")
    t.equal(t.succeeds("show", "cur", "--flame", "-").text, text)
    t.equal(t.litter(), [])
    os.mkdir(t.path("folder"))
    t.contains(t.fails(1, "show", "cur", "--flame", "folder").err, "folder: cannot write")
    t.write("bad", b"\x0a")
    t.write("page.html", b"<html>as it was")
    t.fails(1, "show", "bad", "--flame", "page.html")
    t.fails(1, "show", "cur", "--flame", "page.html", "--type=nonsense")
    t.equal(t.load("page.html"), b"<html>as it was")
    t.contains(t.fails(1, "show", "cur", "--flame", "/dev/full").err, "/dev/full: cannot write")


def test_what_a_page_replaces(t):
    t.write("cur", cur())
    want = page(t, "cur")
    for old in (b"", b"<!DOCTYPE HTML>\n<p>", b"\xef\xbb\xbf\n <html>", want.encode()):
        t.write("page.html", old)
        t.equal(page(t, "cur"), want)


# ---- names ---------------------------------------------------------------------------------------------

# Of each language, a name as its profilers write it, and its source file.
NAMES = [("Kernel::sleep - > [c function]", ""), ("Kernel::sleep - > [c function]", "lib/kernel.rb"),
         ("Integer#<=>", "lib/sort.rb"), ("block in Set::List<Set::Item<Integer> >#each", "lib/set.rb"),
         ("std::list<int, std::allocator<int> >::f", "app/list.rb"), ("Outer.<locals>.<lambda>", "app.py"),
         ("<module>", "app.py"), ("java.util.Map<String,List<Item> >::put", "Map.java"), ("app.Main.<init>", "Main.java"),
         ("slices.SortFunc[go.shape.[]int,int]", "sort.go"), ("main.(*Tree[...]).Walk", "tree.go"),
         ("Object.<anonymous>", "app.js"), ("get std::_V2::x > >", "x.mjs"), ("App\\Std::__1::call<T<U> >", "Std.php"),
         ("System.List`1[A::B<C<D> >]::Add", "List.cs"), ("std::_V2::run", "V2.pm"), ("Api::_V2::call", ""),
         ("_Zaa", "min.js"), ("clone", "lib/tree.rb"), ("malloc", "Arena.java")]
CXX = [("std::vector<int, std::allocator<int> >::push_back", "", "std::vector<int>::push_back"),
       ("std::_V2::error_category::name", "/usr/src/x.cc", "std::error_category::name"),
       ("a::List<a::Item<int> >::add", "list.hpp", "a::List<a::Item<int>>::add"),
       ("alloc::vec::Vec<u8, alloc::alloc::Global>::put", "src/lib.rs", "alloc::vec::Vec<u8>::put")]


def test_only_names_of_cxx_and_rust_are_short(t):
    """By the source file of the frame; without one, by what only C++ and Rust write."""
    rows = [(name, file, name) for name, file in NAMES] + CXX
    for name, file, want in rows:
        w = Writer(["space/bytes"])
        w.sample([1, 2], [7])
        for at, (one, source) in enumerate(((name, file), ("root", file)), 1):
            w.location(at, 0, 0, [(at, 1)])
            w.function(at, one, source)
        t.write("a", w.bytes())
        t.equal(t.succeeds("show", "--folded", "a").text, f"root;{want} 7\n")
        for form in ("--stacks", "--top"):
            t.contains(t.succeeds("show", form, "a").text, want)
        t.equal(sorted(data_of(page(t, "a"))["names"]), sorted(["root", want]))


# ---- two profiles ----------------------------------------------------------------------------------

# ---- the type that is shown -------------------------------------------------------------------------

def test_a_default_type_of_zeros_is_not_shown(t):
    """The first type of its unit that is not 0 in every sample, else the first of any unit; the default
    if all are 0, and what the user names in any case. PREV and CUR have one type."""
    for types, default, values, want in (
            (HEAP, "", [[5, 500, 0, 0], [7, 900, 0, 0]], "alloc_space"),  # all was freed
            (HEAP, "inuse_objects", [[5, 500, 0, 0], [7, 900, 0, 0]], "alloc_objects"),
            (HEAP, "", [[5, 0, 0, 0], [7, 0, 0, 0]], "alloc_objects"),
            (HEAP, "", [[5, 500, 0, 3], [7, 900, 0, -3]], "inuse_space"),  # the sum is 0, the values are not
            (HEAP, "", [[0, 0, 0, 0], [0, 0, 0, 0]], "inuse_space"), (HEAP, "", [], "inuse_space"),
            (["contentions/count", "delay/nanoseconds"], "", [[3, 0], [4, 0]], "contentions")):
        samples = [((name, "main"), row) for name, row in zip("ab", values)]
        before, after = two(t, samples, [], types=types, default=default)
        names = [one.split("/")[0] for one in types]
        preferred, is_zero = default or names[-1], not any(map(any, values))
        said = f"{want}, because {preferred} is 0 in every sample"
        for args in ((before,), (before, after), (after, before)):
            for form in ((), ("--stacks",)):
                text = t.succeeds("show", *args, *form).text
                t.contains(text, f"by {want}")
                t.equal((f"type      {said}\n" in text, ": all is 0" in text), (want != preferred, is_zero), text)
                text = t.succeeds("show", *args, *form, f"--type={preferred}").text
                t.lacks(text, "because")
                t.equal(f"by {preferred}: all is 0; --type=TYPE shows another type\n" in text,
                        is_zero or want != preferred, text)
            result = t.run("show", "--folded", *args)
            t.equal((f"note: type: {said}\n" in result.err, bool(result.text)), (want != preferred, not is_zero))
            data = data_of(t.run("show", "--flame=-", *args).text)
            t.equal((data["chosen"], ["type", said] in data["notes"]), (names.index(want), want != preferred))
            t.equal(json.loads(t.run("show", "--json", *args).text)["chosen_type"], names.index(want))
        t.lacks(t.run("show", "--raw", before).err, "because")


# ---- colour ----------------------------------------------------------------------------------------

def test_colour_is_for_terminals(t):
    before, after = pair(t)
    for args in (("show", after), ("show", before, after)):
        plain = t.succeeds(*args).text
        t.lacks(plain, "\x1b")
        shown = terminal(t, 80, *args, env={"TERM": "xterm", "NO_COLOR": ""})
        t.contains(shown, "\x1b[1m", "\x1b[0m")
        t.equal(re.sub("\x1b\\[[0-9]*m", "", shown), plain)
        for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            t.equal(terminal(t, 80, *args, env=env), plain)


def test_growth_and_shrinkage_differ(t):
    before, after = two(t, [(("f",), [7, 1]), (("g",), [1, 1])], [(("g",), [3, 1])])
    shown = terminal(t, 80, "show", before, after, "--type=alloc_objects",
                     env={"TERM": "xterm", "NO_COLOR": ""})
    t.contains(shown, "\x1b[36m    -7\x1b[0m", "\x1b[31m    +2\x1b[0m")
