"""leaks --html and --markdown: what the page holds, and what the comment says. (That a browser draws the page
is tests/e2e/answer.py's.)"""

import base64
import json
import os
import random
import re
import zlib

import tables as cases
from flames import CONTROLS, data_of, paths_of
from leaking import KIND, film, film_in, heap, leaks, series, AGED, scene
from samples import MINUTE, T0
from pb import profile

EVIL = '</script><img src=x onerror=alert(1)>|`[a](javascript:b) @user #1 www.example.org\n| **x** | & \\'
EVIL_SHOWN = EVIL.replace("\n", "\\x0a")


def page_of(t, *args):
    t.succeeds("leaks", *args, "--html", "page.html")
    text = t.load("page.html").decode()
    return text, json.loads(zlib.decompress(base64.b64decode(data_of(text))))


def series_of(changes, points):
    values, at, value = [], 0, 0
    for gap, change in zip(changes[::2], changes[1::2]):
        values += [value] * gap
        at, value = at + gap, value + change
    return values + [value] * (points - at)


def levels_of(run):
    """{stack: its values at the points}, of all stacks with the same names."""
    paths, node, levels = paths_of(run), 0, {}
    points = len(run["film"]["points"])
    for step, *_, series in run["film"]["stacks"]:
        node += step
        before = levels.get(paths[node], [0] * points)
        levels[paths[node]] = [a + b for a, b in zip(before, series_of(series, points))]
    return levels


def in_use(t, path):
    """The same of one window, as show has it."""
    shown = json.loads(t.succeeds("show", "--json", path).text)
    column = [one["type"] for one in shown["types"]].index("inuse_space")
    values = {}
    for sample in shown["samples"]:
        stack = tuple(frame["function"] for frame in reversed(sample["stack"]))
        values[stack] = values.get(stack, 0) + sample["values"][column]
    return {stack: value for stack, value in values.items() if value}


def check_windows(t, run, files, some=None):
    levels = levels_of(run)
    for i, (window, _) in enumerate(run["film"]["points"]):
        if some is None or window in some:
            t.equal({stack: values[i] for stack, values in levels.items() if values[i]}, in_use(t, files[window]), f"window {window}")


def test_the_page_has_what_json_and_show_have(t):
    files = film(t)
    _, data = page_of(t, *files)
    run = data["runs"][0]
    t.equal(run["report"], leaks(t, *files)["runs"][0])
    t.equal(run["film"]["points"], [[i, 60 * i] for i in range(16)])
    check_windows(t, run, files)
    leak = next(one for one in run["film"]["stacks"] if one[1] == run["film"]["finding"][0])
    t.equal(series_of(leak[-1], 16), [102400 * (i + 1) for i in range(16)])
    t.equal(leak[6:8], [102400 * 16, 1600], "what was allocated")
    t.equal((data["reasons"][leak[4]][0], run["film"]["source"]), ("steady-growth", []))


def test_a_run_of_many_windows(t):
    """The page has all of 1,000 windows; of more, the peak, the last two and a window of each part of the run."""
    draw = random.Random(3)
    files = [heap(t, f"{i:04}", i, {"leak": (10 * i + 10,) * 2, "noise": (9999 * (i + 1), 9000 if i == 77 else draw.randrange(900))})
             for i in range(1100)]
    run = page_of(t, *files[:1000])[1]["runs"][0]
    t.equal(run["film"]["points"], [[i, 60 * i] for i in range(1000)])
    run = page_of(t, *files)[1]["runs"][0]
    windows = [point[0] for point in run["film"]["points"]]
    t.equal((len(windows), windows[-2:], 77 in windows), (1000, [1098, 1099], True))
    t.equal(windows, sorted(windows))
    t.check(all(b - a <= 3 for a, b in zip(windows, windows[1:])), f"a part is missing: {windows}")
    check_windows(t, run, files, {0, 1, 77, 1099})


def test_the_size_of_the_page_is_bounded(t):
    """Long names and values that change all the time: what does not fit is one stack, and nothing is lost."""
    draw = random.Random(5)  # with which no two names have one address
    names = [f"f{i}_{draw.getrandbits(1200):x}" for i in range(5000)]
    files = [heap(t, f"{w:02}", w, {"leak": (9999, 999 * w + 1), **{name: (999, draw.randrange(1, 99)) for name in names}})
             for w in range(8)]
    text, data = page_of(t, *files)
    run, levels = data["runs"][0], levels_of(data["runs"][0])
    grain = run["film"]["grain"]
    t.check(600_000 < len(text) < 1_000_000, f"{len(text)} bytes")
    t.equal(run["film"]["others"] + len(run["film"]["stacks"]) - 1, 5001)
    rest = levels.pop(("(other stacks)",))
    for i, (window, _) in enumerate(run["film"]["points"]):
        want = in_use(t, files[window])
        t.equal(sum(values[i] for values in levels.values()) + rest[i], sum(want.values()))
        t.check(rest[i] >= 0, f"others have {rest[i]}")
        for stack, values in levels.items():
            t.check(0 <= want.get(stack, 0) - values[i] <= grain, f"{stack}: {values[i]}, not {want.get(stack)}, grain {grain}")
        t.equal(levels[("main", "serve", "leak")][i], want[("main", "serve", "leak")], "the suspect is not as it was")
    binary = f"{draw.getrandbits(6_000_000):x}"
    names = [heap(t, f"n{w}", w, {"leak": (9, 9)}, filename=binary) for w in range(6)]
    t.write("page.html", b"<html>as it was")
    t.contains(t.fails(1, "leaks", *names, "--html", "page.html").err, "page.html: is not written: the names")
    t.equal(t.load("page.html"), b"<html>as it was")


def test_several_runs(t):
    """A restart makes a run. Of many runs, those with suspects are in the page."""
    first = film(t)
    again = [heap(t, f"later.{i:02}.pb.gz", 20 + i, {"leak": (i + 1, i + 1)}) for i in range(8)]
    _, data = page_of(t, *first, *again)
    t.equal([run["report"]["after_restart"] for run in data["runs"]], [False, True])
    check_windows(t, data["runs"][1], again)
    for i in range(20):
        heap(t, f"restart.{i:02}.pb.gz", 100 + i, {"start": (1 << 40 - i, 1)})
    _, data = page_of(t, *first, *(f"restart.{i:02}.pb.gz" for i in range(20)))
    t.equal((len(data["runs"]), data["leftOut"] > 0, data["runs"][0]["report"]["suspects"]), (16, True, 1))


def test_the_resident_memory(t):
    cases.film(t, "resident 14 period=524288 areas", ["main;new_arena;mmap;[anonymous mappings]: 0 0 30000+1500*i"])
    t.write("app.go", b"line\n" * 40)
    run = page_of(t, *(f"resident{i:02}.pb.gz" for i in range(14)), "--source")[1]["runs"][0]
    place = run["report"]["findings"][0]["place"]
    t.check([place["file"], place["line"]] in [one[:2] for one in run["film"]["source"]], "no source of what mapped the area")
    areas = {name: (cause, series_of(series, 14)) for name, cause, _, _, series in run["film"]["areas"]}
    t.equal(areas["[anonymous mappings]"], ("mmap", [1024 * (30000 + 1500 * i) for i in range(14)]))
    t.equal(areas["[file mappings, clean or shared]"][0], "/usr/lib/libx.so")
    t.equal(set(areas), {"[live heap]", "[allocator slack]", "[file mappings, clean or shared]", "[anonymous mappings]"})


def test_what_becomes_of_allocations(t):
    """Of the stack `brief` all is freed in its window, of the stack `leak` nothing: as the types freed_* say."""
    files = series(t, "", (
        profile([(("leak", "main"), [50 * n, 51200 * n, 50 * n, 51200 * n, 0, 0]),
                 (("brief", "main"), [80 * n, 8000 * n, 0, 0, 80 * n, 8000 * n])],
                types=AGED, time=T0 + n * MINUTE, period_type=KIND, period=1) for n in range(1, 13)))
    run = page_of(t, *files)[1]["runs"][0]
    stacks = {paths_of(run)[sum(one[0] for one in run["film"]["stacks"][:i + 1])]: one for i, one in enumerate(run["film"]["stacks"])}
    t.equal(stacks[("main", "brief")][6:10], [96000, 960, 96000, 960])
    t.equal(stacks[("main", "leak")][6:10], [614400, 600, 0, 0])
    t.check(run["report"]["findings"][0]["survival"], "no ages")


def test_names_in_the_page_stay_data(t):
    files = [heap(t, f"{i}", i, {EVIL: (100 * i + 100,) * 2}, filename=EVIL) for i in range(8)]
    t.write("app.go", (EVIL * 30).encode())
    text, data = page_of(t, *files, "--source")
    plain = page_of(t, *film(t))[0]
    for mark in ("</script>", "<img", "<script", "onerror="):
        t.equal(text.count(mark), plain.count(mark), mark)
    run = data["runs"][0]
    t.equal((run["report"]["binary"], run["report"]["findings"][0]["stack"][0]["function"]), (EVIL_SHOWN,) * 2)
    t.check(EVIL.split("\n", maxsplit=1)[0][:100] in str(run["film"]["source"]), "no source")
    t.contains(text, "default-src 'none'")
    t.equal(re.findall(r"https?://|@import|url\(|<link(?! rel=\"icon\" href=\"data:,\")", text), [])


def strings_of(data):
    """All texts of the data."""
    if isinstance(data, (dict, list)):
        return [text for one in (data.values() if isinstance(data, dict) else data) for text in strings_of(one)]
    return [data] if isinstance(data, str) else []


def test_the_page_and_the_comment_escape_as_the_terminal_does(t):
    for raw, shown in CONTROLS.items():
        files = [heap(t, f"{i}", i, {raw: (100 * i + 100,) * 2}, filename=f"/bin/{raw}") for i in range(8)]
        t.write("app.go", (f"\tif {raw}\r\n" * 40).encode())
        run = page_of(t, *files, "--source")[1]["runs"][0]
        texts = strings_of(run)
        t.equal([text for text in texts if any(one in text for one in "\x1b\x7f\t\r\n\x9b\u202e\u2066\u061c")], [])
        t.equal((run["report"]["binary"], run["report"]["findings"][0]["place"]["function"]), (f"/bin/{shown}", shown))
        t.check(shown in run["names"], f"names: {run['names']}")
        t.check(f"    if {shown.replace(chr(92) + 'x09', '    ')}" in texts, f"source: {run['film']['source']}")
        t.contains(t.succeeds("leaks", *files).text, shown)
        text = t.succeeds("leaks", "--markdown", *files).text
        t.contains(re.sub("&#([0-9]+);", lambda found: chr(int(found.group(1))), text), shown)
        t.check(not any(one in text for one in "\x1b\x7f\t\x9b\u202e\u2066\u061c"), text)


def test_source_lines(t):
    """Only with --source, and only of regular files: a profile may name any."""
    files = film(t)
    t.write("app.go", "".join(f"line {i} of app\n" for i in range(1, 40)).encode())
    t.equal(page_of(t, *files)[1]["runs"][0]["film"]["source"], [])
    run = page_of(t, *files, "--source")[1]["runs"][0]
    place = run["report"]["findings"][0]["place"]
    found = {(file, line): (first, lines) for file, line, first, lines in run["film"]["source"]}
    first, lines = found[("app.go", place["line"])]
    t.equal(lines[place["line"] - first], f"line {place['line']} of app")
    t.equal((len(lines), lines), (5, [f"line {first + k} of app" for k in range(5)]))
    os.remove(t.path("app.go"))
    os.mkfifo(t.path("app.go"))
    t.equal(page_of(t, *files, "--source")[1]["runs"][0]["film"]["source"], [])


def test_where_the_page_of_leaks_goes(t):
    files = film(t)
    text, _ = page_of(t, *files)
    t.equal(t.succeeds("leaks", *files, "--html=-").text, text)
    t.equal(t.run("leaks", *files, "--html=page.html", "--fail").code, 5)
    before = t.load(files[0])
    t.contains(t.fails(1, "leaks", *files, "--html", files[0]).err, "is not replaced", "a page replaces only a page")
    t.equal(t.load(files[0]), before)
    t.contains(t.fails(1, "leaks", *files, "--html=/dev/full").err, "/dev/full: cannot write")
    t.equal(t.litter(), [])


# ---- the comment ------------------------------------------------------------------------------------

def tables(text):
    """The rows of each table of a comment, without the line of dashes."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            found.append([rows[0], *rows[2:]])
            rows = []
    return found


def test_the_comment(t):
    files = film(t)
    text = t.succeeds("leaks", "--markdown", *files).text
    t.contains(text, "### pprofdelta leaks\n", "<code>app</code>: suspects 1, unknown 0, stacks without steady growth 5; in use ",
               " <code>inuse&#95;space</code>, windows 16\n")
    t.equal([row[0] for row in tables(text)[0]], ["", "**suspect**"])
    row = tables(text)[0][1]
    t.check(re.fullmatch("<code>leak</code> <code>app&#46;go</code>:[0-9]+, called by <code>serve</code>", row[1]), row[1])
    t.equal(row[2:], ["1.56MiB", "+5.86MiB/h", "grows steadily, and what grew stays"])
    t.equal((len(tables(text)), t.run("leaks", "--markdown", "--fail", *files).code), (1, 5))


def test_a_budget_for_each_stack(t):
    files = film(t)
    for budget, over in (("1500k", ["leak"]), ("900k", ["leak", "cache"]), ("1600k", [])):
        result = t.run("leaks", "--markdown", f"--fail-above={budget}", *files)
        t.equal((result.code, result.err), (5 if over else 0, ""))
        rows = tables(result.text)[1][1:] if over else []
        t.equal([re.search("<code>([a-z]+)", row[1]).group(1) for row in rows], over, budget)
        t.check(all(row[0] == "**over**" for row in rows), str(rows))


def test_a_base(t):
    """What grew and what is new since another run, of another build at other addresses."""
    files = film(t)
    before = {name: (made, live) for name, (made, live) in scene(15).items() if name != "step"}
    before["leak"] = (9, 100)
    before["startup"] = (900, 900)
    base = heap(t, "base.pb.gz", 3, before, start=0x7000000, build_id="other")
    result = t.run("leaks", "--markdown", "--base", base, "--fail-above=1M", *files)
    t.equal(result.code, 5)
    t.equal([[row[0], re.search("<code>([a-z]+)", row[1]).group(1), *row[2:]] for row in tables(result.text)[1][1:]],
            [["**over**", "leak", "100KiB", "1.56MiB", "+1.46MiB"], ["new", "step", "0B", "500KiB", "+500KiB"]])
    t.contains(result.text, "Stacks that have grown since the base: 2\n", "Stacks above the budget of 1.00MiB: 1\n")
    t.equal(t.run("leaks", "--markdown", "--base", base, "--fail-above=2M", *files).code, 0)
    film_in(t, "runs")
    text = t.succeeds("leaks", "--markdown", "--base=runs", "runs").text
    t.contains(text, "\nStacks that have grown since the base: 0\n")
    t.contains(t.fails(1, "leaks", "--markdown", "--base=missing", "runs").err, "missing: cannot")


def test_names_in_a_comment_are_only_text(t):
    """No character of a name ends its cell or its element, and none is Markdown, a link or a mention."""
    files = [heap(t, f"{i}", i, {EVIL: (100 * i + 100,) * 2}, filename=EVIL) for i in range(8)]
    text = t.run("leaks", "--markdown", "--fail-above=1k", *files).text
    t.equal([len(row) for table in tables(text) for row in table], [5] * 4)
    for name in re.findall("<code>(.*?)</code>", text):
        bare = re.sub("&#[0-9]+;", "", name)
        t.check(re.fullmatch(r"[A-Za-z0-9 ,/=+.-]*", bare) and "." not in bare.replace("...", ""), f"{bare!r}")
    t.equal(re.sub("<code>.*?</code>", "", text).count("<"), 0)
    t.equal(text.count("<code>"), 8)
