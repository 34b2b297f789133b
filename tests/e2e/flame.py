"""The page of `show --flame` in a real browser: run.py flame PPROFDELTA

It renders, zooms, finds, switches types and views, obeys keys and addresses, goes light and dark, asks
the network for nothing, and draws 50,000 samples without more work than the screen holds. Skipped (77) where
there is no Chromium.
"""

import glob
import json
import random
import re

import browser
import real
import tables
from pb import Stack, gz, profile

ROW = 20  # of the graph, in pixels

OBJECTS = "alloc_objects"  # the type that is shown first
OTHERS = ["alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]

shared = None  # one browser for all of them


def prepare(_):
    global shared
    path = browser.find()
    if not path:
        raise real.Missing("there is no Chromium here")
    shared = browser.Browser(path)


def end():
    shared.close()


class Page:
    """A page in the browser, with what a user finds on it."""

    def __init__(self, t, *args, command=("show", "--flame")):
        t.succeeds(command[0], *args, command[1], "page.html")
        self.t, self.noted = t, None
        self.run, self.text, self.type, self.settle = shared.run, shared.text, shared.type, shared.settle
        shared.scheme("light")
        shared.open(t.path("page.html"))
        self.box = shared.run("(() => { const b = document.querySelector('#graph')"
                              ".getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()")

    def point(self, share, row):
        """Of the screen: so far from the left of the graph, in that row."""
        return self.box[0] + share * self.box[2], self.box[1] + (row + 0.4) * ROW

    def do(self, expression):
        self.run(expression)
        self.settle()

    def choose(self, selector, value):
        self.do(f"(one => {{ one.value = {value!r}; one.dispatchEvent(new Event('change')) }})"
                f"(document.querySelector('{selector}'))")

    def click(self, share, row):
        shared.click(*self.point(share, row))

    def colour(self, share, row):
        """What the graph shows near the bottom of a frame, where no letter stands."""
        x, y = share * self.box[2], row * ROW + ROW - 3
        return tuple(self.run(
            f"[...document.querySelector('#graph').getContext('2d').getImageData({x}, {y}, 1, 1).data]"))

    def ground(self):
        """What the graph shows below its frames: its last row is empty."""
        rows = self.run("document.querySelector('#graph').clientHeight") / ROW
        self.t.equal(rows % 1, 0)
        return self.colour(0.5, int(rows) - 1)

    def detail(self):
        return self.text("#detail")

    def functions(self):
        return self.run("[...document.querySelectorAll('#table tbody tr')]"
                        ".map(row => [...row.cells].map(cell => cell.textContent))")

    def keys(self, *keys):
        for key in keys:
            shared.key(key)

    def focus(self):
        self.run("document.querySelector('#graph').focus()")

    def clean(self):
        self.t.equal(shared.errors, [], "errors")
        self.t.equal([url.split("/")[-1] for url in shared.requests], ["page.html"], "requests")


# ---- the tables in pages/: a word for each thing that a user does or sees -----------------------------------

def open_page(t, rest, _):
    """page VERB FILE...: the page that this makes."""
    verb, *args = rest.split()
    args = [arg for word in args for arg in sorted(glob.glob(word, root_dir=t.dir)) or [word]]
    t.page = Page(t, *args, command=(verb, "--flame" if verb == "show" else "--html"))


def does(act, see=Page.detail):
    """A word that acts: act(page, rest of the line). Behind it is what the page says then, of the selected frame."""
    def step(t, rest, behind):
        for one in tables.alternatives(rest):
            act(t.page, one)
            if behind:
                judge(t, one, see(t.page), behind)
    return step


def sees(look):
    """A word that looks: behind it is what look(page, rest of the line) returns."""
    return lambda t, rest, behind: judge(t, rest, look(t.page, rest), behind)


def judge(t, what, got, behind):
    text = got if isinstance(got, str) else json.dumps(got, ensure_ascii=False)
    want = "\n".join(line for mark, line in behind if mark == "|")
    t.check(("|", "") not in behind and not want or text == want, f"{what}: {text!r} is not {want!r}")
    t.contains(text, *(line for mark, line in behind if mark == "+"))


def colours_at(page, rest):
    """Of the places SHARE ROW, SHARE ROW ..."""
    return [page.colour(float(share), int(row)) for share, row in (place.split() for place in rest.split(", "))]


def tint(colour):
    return "grew" if colour[0] > colour[2] + 20 else "shrank" if colour[2] > colour[0] + 20 else "same"


def holds(condition):
    """A word that checks: condition(page, rest of the line)."""
    def step(t, rest, _):
        t.check(condition(t.page, rest), f"{rest}: {colours_at(t.page, rest) if rest else ''}, and before {t.page.noted}")
    return step


def pointed(act):
    return lambda page, rest: act(*page.point(*map(float, rest.split())))


def shortened(page, rest):
    room, name = rest.split(" ", 1)
    return page.run(f"shorten({json.dumps(name)}, {room})")


def note(page, rest):
    page.noted = rest, colours_at(page, rest)


COPIES = ("window.copied = []; Object.defineProperty(navigator, 'clipboard', "
          "{ value: { writeText: async text => { window.copied.push(text) } } })")
LABEL = "(label => {{ label.value = {!r}; label.dispatchEvent(new Event('input')) }})(document.querySelector('#label'))"
WORDS = {
    "page": open_page,
    "open": does(lambda page, rest: (shared.open("about:blank"), shared.open(page.t.path("page.html"), rest))),
    "keys": does(lambda page, rest: page.keys(*rest.split())),
    "type": does(lambda page, rest: page.type(rest)),
    "click": does(pointed(lambda *place: shared.click(*place))),
    "point": does(pointed(lambda *place: shared.point(*place))),
    "press": does(lambda page, rest: page.do(f"document.querySelector('{rest}').click()")),
    "choose": does(lambda page, rest: page.choose(*rest.split())),
    "label": does(lambda page, rest: page.do(LABEL.format(rest)), lambda page: page.text("#totals")),
    "scheme": does(lambda _, rest: shared.scheme(rest)),
    "focus": does(lambda page, _: page.focus()),
    "clipboard": does(lambda page, _: page.run(COPIES)),
    "remember": does(note),
    "js": sees(lambda page, rest: (page.run(rest), page.settle())[0]),
    "says": sees(lambda page, rest: page.text(rest)),
    "shorten": sees(shortened),
    "functions": sees(lambda page, _: "\n".join(map(" ".join, page.functions()))),
    "names": sees(lambda page, _: ", ".join(row[-1] for row in page.functions())),
    "ground": sees(lambda page, _: " ".join(map(str, page.ground()))),
    "tints": sees(lambda page, rest: ", ".join(map(tint, colours_at(page, rest)))),
    "painted": holds(lambda page, rest: page.ground() not in colours_at(page, rest)),
    "bare": holds(lambda page, rest: set(colours_at(page, rest)) == {page.ground()}),
    "apart": holds(lambda page, rest: len(set(colours_at(page, rest))) > 1),
    "changed": holds(lambda page, _: colours_at(page, page.noted[0]) != page.noted[1]),
    "unchanged": holds(lambda page, _: colours_at(page, page.noted[0]) == page.noted[1]),
}


def browser_steps(t, steps):
    """A case of a table. At its end, nothing has failed and the network was not asked."""
    tables.perform(t, steps, WORDS)
    t.page.clean()


tables.make_tests("../e2e/pages/flame.txt", globals(), browser_steps)


# ---- what a table does not say ----------------------------------------------------------------------------

def small(t):
    t.write("a", profile([(("parse", "left", "main"), [8, 100, 1, 1]), (("right", "main"), [4, 100, 0, 0])], default=OBJECTS))
    return Page(t, "a")


def test_everything_can_be_reached_with_tab_alone(t):
    """What has the focus says who it is."""
    page = small(t)
    page.run("document.activeElement.blur()")
    reached = []
    for _ in range(30):
        shared.key("Tab")
        reached.append(page.run("document.activeElement === document.body ? '' : "
                                "document.activeElement.id || document.activeElement.textContent"))
    for name in ("type", "search", "theme", "graph", "Self", "Total", "Function"):
        t.check(name in reached, f"Tab does not reach {name}: {reached}")
    page.clean()


def test_the_graph_is_as_high_as_its_frames(t):
    """Up to a share of the window. A zoom changes nothing below the graph."""
    height = "document.querySelector('#view').clientHeight"
    for depth, rows in ((1, 3), (2, 4), (6, 8)):
        t.write("a", profile([(tuple(f"f{i}" for i in range(depth)), [1, 1, 1, 1])]))
        page = Page(t, "a")
        t.equal(page.run(height), rows * ROW)
        page.click(0.5, depth)
        t.equal(page.run(height), rows * ROW, "zoomed")
        for key in "ig":
            page.keys(key)
            t.equal(page.run(height), rows * ROW, key)
    t.write("a", profile([(tuple(f"f{i}" for i in range(200)), [1, 1, 1, 1])]))
    t.equal(Page(t, "a").run(height), 0.6 * 900 - 2)
    t.write("a", profile([]))
    page = Page(t, "a")
    t.equal(page.run(height), 3 * ROW)
    page.clean()


TRICK, SHOWN = "a \u202egnirts\u202c b", "a \\xe2\\x80\\xaegnirts\\xe2\\x80\\xac b"


def test_directions_and_controls_are_shown(t):
    """In titles, tables, tooltips, labels, the search, and what is copied: as the terminal shows them."""
    name = TRICK + "\x1b\u2066"
    t.write(name, profile([(Stack(name, "main", labels={"k": name}), [1, 1, 1, 1])], comments=[name], filename=name,
                          types=[f"{name}/{name}", *OTHERS]))
    shown = SHOWN + "\\x1b\\xe2\\x81\\xa6"
    page = Page(t, name, "--type", name)
    t.equal(page.run("document.title"), f"{shown} \u2013 pprofdelta")
    page.keys("/")
    page.type("xae")
    t.equal([row[-1] for row in page.functions()], [shown])
    page.keys("Enter")
    t.contains(page.detail(), shown)
    page.focus()
    page.run(COPIES)
    page.keys("c")
    t.equal(page.run("window.copied"), [shown])
    shared.point(*page.point(0.5, 2))
    t.contains(page.text("#tip"), shown)
    everything = page.run("document.documentElement.outerHTML")
    t.equal([hex(ord(one)) for one in everything if one in "\u202e\u202c\u2066\x1b"], [])
    page.clean()


def model_of(samples, column):
    """What an inverted tree and the two halves around a function must add up to."""
    inverted, around = {}, {}
    for stack, values in samples:
        for depth in range(1, len(stack) + 1):
            inverted[stack[:depth]] = inverted.get(stack[:depth], 0) + values[column]
        for name in set(stack):
            at = len(stack) - 1 - stack[::-1].index(name)  # the outermost
            for depth in range(1, len(stack) - at):
                key = (name, "up", stack[at + 1:at + 1 + depth])
                around[key] = around.get(key, 0) + values[column]
            for depth in range(1, at + 1):
                key = (name, "down", stack[at - 1::-1][:depth] if at else ())
                around[key] = around.get(key, 0) + values[column]
    return inverted, around


def test_the_other_views_add_up(t):
    """Against a reading in Python, on stacks made by chance."""
    chance = random.Random(5)
    samples = [(tuple(chance.choice("abcdef") for _ in range(chance.randint(1, 7))), [chance.randint(1, 9), 1, 0, 0])
               for _ in range(300)]
    t.write("a", profile(samples, default=OBJECTS))
    page = Page(t, "a")
    inverted, around = model_of(samples, 0)
    paths = ("const data = JSON.parse(document.querySelector('#data').textContent); const base = readTree(data);"
             "const self = spread(base, data.types[0].self, data.types[0].set, null);"
             "const pathsOf = (job) => { const { tree, self } = finish(job), sums = finish(addUp(tree, self)), got = [];"
             " for (let i = 1; i < tree.len; i++) { const path = []; for (let at = i; at > 0; at = tree.parent[at]) "
             "path.unshift(tree.names[tree.name[at]]); got.push([tree.below[i], path.join(''), sums[i]]); } return got; };")
    got = page.run("(() => {" + paths + "return pathsOf(invert(base, self, null)) })()")
    t.equal({tuple(path): value for _, path, value in got}, inverted)
    t.equal(len(got), len(inverted))
    for name in "abcdef":
        got = page.run("(() => {" + paths + f"return pathsOf(joinAround(base, self, null, data.names.indexOf('{name}'))) }})()")
        t.equal({("down" if below else "up", tuple(path)): value for below, path, value in got},
                {key[1:]: value for key, value in around.items() if key[0] == name}, name)
    page.clean()


def test_lists_its_keys(t):
    page = small(t)
    page.keys("?")
    t.equal(page.run("document.querySelector('#help').open"), True)
    listed = set(page.run("[...document.querySelectorAll('#help dt kbd')].map(key => key.textContent)"))
    t.equal(listed, {"\u2190", "\u2192", "\u2191", "\u2193", "Enter", "Space", "Backspace", "Esc", "Home", "/", "n", "p",
                     "g", "i", "b", "t", "w", "c", "Shift", "C", "?"})
    source = page.run("document.querySelector('script:not([type])').textContent")
    block = source[source.index("  const keys = {"):source.index("  function place(event)")]
    handled = re.findall(r'^    "?([A-Za-z/? ]+?)"?: ', block, re.M)
    names = {"ArrowDown": "\u2193", "ArrowUp": "\u2191", "ArrowLeft": "\u2190", "ArrowRight": "\u2192", "Escape": "Esc",
             " ": "Space"}
    t.equal({names.get(key, key) for key in handled} | {"Shift"}, listed)
    page.keys("Escape")
    t.equal(page.run("document.querySelector('#help').open"), False)


def fifty_thousand():
    chance = random.Random(7)
    names = [f"example.com/pkg{i % 40}.(*Type{i % 300}).Method{i}" for i in range(5000)]

    def stack():
        depth = chance.randint(5, 60)
        return tuple(chance.choice(names) for _ in range(depth // 3)) + tuple(
            names[i * 7 % 300] for i in range(depth - depth // 3))

    return gz(profile([(stack(), [chance.randint(1, 9), 1, 0, 0]) for _ in range(50_000)], default=OBJECTS))


def test_fifty_thousand_samples(t):
    t.write("a", fifty_thousand())
    page = Page(t, "a")
    most = page.box[2] * (page.box[3] / ROW + 1)  # a frame of a pixel in every place
    drawn = []
    for keys in ((), ("ArrowDown", "ArrowDown", "Enter"), ("ArrowDown", "Enter"), ("Escape",)):
        page.focus()
        page.keys(*keys)
        drawn.append(int(page.run("document.querySelector('#graph').dataset.drawn")))
    t.check(all(0 < number < most / 4 for number in drawn), f"{drawn} of at most {most}")
    # Scrolled to the bottom only the screen is drawn, not the profile.
    page.do("document.querySelector('#view').scrollTop = 1e6")
    number = int(page.run("document.querySelector('#graph').dataset.drawn"))
    t.check(0 < number < most / 4, f"{number} of at most {most}")
    # A search and "More" make rows for what is shown, and nothing is drawn twice.
    t.equal(len(page.functions()), 200)
    page.run("window.made = 0; const make = document.createElement.bind(document); "
                     "document.createElement = name => { window.made += name === 'tr'; return make(name) }")
    page.do("document.querySelector('#more').click()")
    t.equal((len(page.functions()), page.run("window.made")), (400, 200))
    page.keys("/")
    page.type("Type1")
    t.equal((len(page.functions()), page.run("window.made")), (200, 400))
    for keys in (("Escape",), ("i",), ("ArrowDown", "Enter"), ("b",), ("Escape", "Escape")):
        page.keys(*keys)
        work = page.run("(({ drawn, visited }) => [Number(drawn), Number(visited)])"
                                "(document.querySelector('#graph').dataset)")
        t.check(0 < work[0] < most / 4, f"{keys}: {work[0]} of at most {most}")
        t.check(work[1] < 120_000, f"{keys}: {work[1]} nodes visited")
    check_pictures(page)
    page.clean()


def check_pictures(page):
    """Bounds on what is done for one picture. They count work, because times depend on the machine."""
    t, run = page.t, page.run
    slices = "(({ slices, most }) => [Number(slices), Number(most)])(document.querySelector('#busy').dataset)"
    run("window.rows = 0, window.matched = 0, window.rowsOf = [], window.words = new Set(); (() => {"
        "const make = document.createElement.bind(document), match = matchTexts;"
        "document.createElement = name => { rows += name === 'tr'; return make(name) };"
        "matchTexts = (...all) => { matched++; return match(...all) };"
        "const look = () => { rowsOf.push(rows); words.add(document.querySelector('#busy').textContent); rows = 0;"
        " requestAnimationFrame(look) }; requestAnimationFrame(look) })()")

    def press(key):
        return lambda: page.keys(key)

    def letters():
        run("(search => { for (const text of ['M', 'Me', 'Method49', 'Method4999']) { search.value = text; "
            "search.dispatchEvent(new Event('input')) } })(document.querySelector('#search'))")
        page.settle()

    page.keys("Escape", "Escape", "g")
    page.focus()
    for what, act, least in (("search", letters, 20), ("inverted", press("i"), 20), ("another type", press("t"), 20),
                             ("flame graph", press("g"), 20)):
        run("matched = 0, rowsOf = []")
        act()
        number, most = run(slices)
        t.check(number >= least, f"{what}: {number} slices")
        t.check(0 < most <= 50_000 + 2 * 8192, f"{what}: {most} nodes in a slice")
        t.check(0 < max(run("rowsOf")) <= 32, f"{what}: rows of a picture {run('rowsOf')}")
        t.check(run("matched") <= 2, f"{what}: {run('matched')} times all names or labels were matched")
    page.keys("/", "Escape")  # no search, so that there are more rows
    run("rowsOf = [], document.querySelector('#more').click()")
    page.settle()
    t.check(0 < max(run("rowsOf")) <= 32 and sum(run("rowsOf")) == 200, f"More: {run('rowsOf')}")
    t.check(set(run("[...words]")) <= {"", "building\u2026", "searching\u2026"}, "the word for what is done")
    t.check("building\u2026" in run("[...words]"), "no word while a view is built")
    t.equal(page.text("#busy"), "")
