"""The page of `show --flame` in a real browser: run.py flame PPROFDELTA

It renders, zooms, finds, switches types and views, obeys keys and addresses, goes light and dark, asks
the network for nothing, and draws 50,000 samples without more work than the screen holds. Skipped (77) where
there is no Chromium.
"""

import functools
import json
import random
import re

import browser
import real
from pb import Stack, gz, profile
from samples import T0, T1

ROW = 20  # of the graph, in pixels

OBJECTS = "alloc_objects"  # the type that is shown first
OTHERS = ["alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]

# Twelve of sixteen objects below left, four below right; by bytes it is the other way round.
SAMPLES = [(("parse", "left", "main"), [8, 100, 1, 1]), (("left", "main"), [4, 100, 1, 1]),
           (("parse", "deep", "right", "main"), [3, 500, 0, 0]), (("right", "main"), [1, 100, 0, 0])]
LATER = [(("parse", "left", "main"), [24, 100, 1, 1]), (("left", "main"), [4, 100, 1, 1]),
         (("right", "main"), [1, 100, 0, 0]), (("fresh", "main"), [6, 100, 0, 0])]

PAIR = profile(SAMPLES, time=T0, default=OBJECTS), profile(LATER, time=T1, default=OBJECTS)

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
        self.t = t
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

    def click_on(self, selector):
        self.do(f"document.querySelector('{selector}').click()")

    def value(self, selector):
        return self.run(f"document.querySelector('{selector}').value")

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

    def found(self):
        return self.text("#found")

    def functions(self):
        return self.run("[...document.querySelectorAll('#table tbody tr')]"
                                ".map(row => [...row.cells].map(cell => cell.textContent))")

    def keys(self, *keys):
        for key in keys:
            shared.key(key)

    def walk(self, *steps):
        """Steps of keys, and what the line about the selected frame says after each."""
        for keys, detail in steps:
            self.keys(*keys.split())
            self.t.contains(self.detail(), detail)

    def focus(self):
        self.run("document.querySelector('#graph').focus()")

    def clean(self):
        self.t.equal(shared.errors, [], "errors")
        self.t.equal([url.split("/")[-1] for url in shared.requests], ["page.html"], "requests")


def on_page(*profiles):
    """A test of the page of one profile, or of two. At its end, nothing has failed and the network was not asked."""
    def wrap(test):
        @functools.wraps(test)
        def run(t):
            names = "ab"[:max(len(profiles), 1)]
            for name, data in zip(names, profiles or [profile(SAMPLES, default=OBJECTS)]):
                t.write(name, data)
            page = Page(t, *names)
            test(t, page)
            page.clean()
        return run
    return wrap


@on_page(gz(PAIR[0]))
def test_renders(t, page):
    t.equal(page.run("document.title"), "a \u2013 pprofdelta")
    t.contains(page.text("#facts"), "4 samples, app, 2023-11-14T22:13:20Z")
    ground = page.ground()
    t.equal(ground, (255, 255, 255, 255))
    for share, row in ((0.5, 0), (0.5, 1), (0.3, 2), (0.9, 2), (0.3, 3), (0.78, 3), (0.78, 4)):
        t.check(page.colour(share, row) != ground, f"nothing at {share}, {row}")
    t.equal(page.colour(0.6, 3), ground, "left's own value has no frame below")
    t.equal(page.colour(0.97, 3), ground, "right's own value neither")
    t.equal(page.functions(), [["11", "68.8%", "11", "68.8%", "parse"],
                               ["4", "25.0%", "12", "75.0%", "left"],
                               ["1", "6.3%", "4", "25.0%", "right"],
                               ["0", "0.0%", "3", "18.8%", "deep"],
                               ["0", "0.0%", "16", "100.0%", "main"]])
    t.contains(page.detail(), "all, total 16 (100.0%)")


@on_page()
def test_zooms(t, page):
    page.click(0.9, 2)
    t.contains(page.detail(), "right, total 4 (25.0%), self 1 (6.3%)")
    ground = page.ground()
    t.check(page.colour(0.1, 2) != ground, "right is not as wide as the graph")
    t.check(page.colour(0.1, 3) != ground and page.colour(0.74, 3) != ground, "deep is 3 of 4")
    t.equal(page.colour(0.77, 3), ground, "right's own quarter")
    for share, row, detail in ((0.2, 4, "parse, total 3 (18.8%)"), (0.5, 1, "main, total 16"),
                               (0.3, 3, "parse, total 8 (50.0%)")):
        page.click(share, row)
        t.contains(page.detail(), detail)
    page.click_on("#reset")
    t.contains(page.detail(), "all, total 16")
    t.equal(page.run("document.querySelector('#reset').disabled"), True)


@on_page()
def test_finds(t, page):
    before = page.colour(0.6, 2)
    page.keys("/")
    page.type("PARSE")
    t.equal(page.found(), "1 function, 68.8%")
    t.equal([row[-1] for row in page.functions()], ["parse"])
    t.check(page.colour(0.6, 2) != before, "what was not found does not step back")
    t.check(page.colour(0.3, 3) != page.colour(0.6, 2), "what was found does not stand out")
    page.walk(("Enter", "parse, total 8"), ("Enter", "parse, total 3"))
    page.keys("Escape")
    t.equal((page.found(), len(page.functions())), ("", 5))
    for text, found in (("/^(left|right)$/", "2 functions, 100.0%"), ("nowhere", "0 functions, 0.0%"),
                        ("/(/", "not a pattern: Unterminated group")):
        page.keys("/")
        page.type(text)
        t.equal(page.found(), found)
        page.keys("Escape")


@on_page()
def test_obeys_keys(t, page):
    page.walk(("ArrowDown ArrowDown", "left, total 12"),  # the graph has the keys from the start
              ("ArrowRight", "right, total 4"), ("ArrowDown Enter", "deep, total 3 (18.8%)"))
    t.check(page.colour(0.99, 3) != page.ground(), "deep is not as wide as the graph")
    page.walk(("Backspace", "right, total 4"), ("Escape", "all, total 16"),
              ("ArrowDown ArrowDown ArrowRight ArrowLeft ArrowUp", "main, total 16"), ("t", "main, total 800B"))
    # Everything can be reached with Tab alone: what has the focus says who it is.
    page.run("document.activeElement.blur()")
    reached = []
    for _ in range(30):
        shared.key("Tab")
        reached.append(page.run("document.activeElement === document.body ? '' : "
                                        "document.activeElement.id || document.activeElement.textContent"))
    for name in ("type", "search", "theme", "graph", "Self", "Total", "Function"):
        t.check(name in reached, f"Tab does not reach {name}: {reached}")


@on_page(profile(SAMPLES, default="alloc_space"))
def test_switches_types(t, page):
    t.equal(page.value("#type"), "1")
    t.contains(page.detail(), "all, total 800B")
    ground = page.ground()
    t.check(page.colour(0.5, 4) != ground, "by bytes, deep is wider")
    page.choose("#type", 0)
    t.contains(page.detail(), "all, total 16")
    t.equal(page.colour(0.5, 4), ground)


@on_page()
def test_sorts_the_table(t, page):
    def press(number):
        page.run(f"document.querySelectorAll('#heads button')[{number}].click()")
        return [row[-1] for row in page.functions()]

    t.equal(press(1), ["main", "left", "parse", "right", "deep"])
    t.equal(press(1), ["deep", "right", "parse", "left", "main"])
    t.equal(press(2), ["deep", "left", "main", "parse", "right"])
    t.equal(page.run("[...document.querySelectorAll('#heads th')].map(th => th.ariaSort)"),
            [None, None, None, None, "ascending"])
    page.do("document.querySelector('#table tbody button').click()")
    t.equal(page.found(), "1 function, 18.8%")
    t.contains(page.detail(), "deep, total 3")


@on_page()
def test_light_and_dark(t, page):
    ground = "getComputedStyle(document.body).backgroundColor"
    t.equal(page.run(ground), "rgb(255, 255, 255)")
    shared.scheme("dark")
    t.equal(page.run(ground), "rgb(21, 24, 27)")
    t.equal(page.ground(), (21, 24, 27, 255))
    page.click_on("#theme")
    t.equal(page.text("#theme"), "Theme: light")
    t.equal((page.run(ground), page.ground()), ("rgb(255, 255, 255)", (255,) * 4))
    page.click_on("#theme")
    shared.scheme("light")
    t.equal((page.run(ground), page.ground()), ("rgb(21, 24, 27)", (21, 24, 27, 255)))


@on_page(*PAIR)
def test_paints_growth_and_shrinkage(t, page):
    t.contains(page.detail(), "all, 16 \u2192 35, change +19")

    def tint(share, row):
        red, _, blue, _ = page.colour(share, row)
        return "grew" if red > blue + 20 else "shrank" if blue > red + 20 else "same"

    # As wide as the larger of both: fresh 6, left 24 + 4, right 3 + 1, in the order of the names.
    t.equal([tint(share, 2) for share in (0.05, 0.4, 0.97)], ["grew", "grew", "shrank"])
    t.equal(tint(0.9, 3), "shrank", "deep is gone")
    page.choose("#width", 'before')
    t.equal(tint(0.05, 2), "grew", "left: fresh was not there before")
    page.focus()
    page.keys("ArrowDown", "ArrowDown")
    t.contains(page.detail(), "left, 12 \u2192 28, change +16 (133.3%), self 0")
    t.equal(page.functions()[0], ["11", "24", "+13", "+13", "parse"])
    t.equal(page.run("document.querySelector('#legend').hidden"), False)


@on_page(profile([(("up", "main"), [5, 5, 0, 0]), (("down", "main"), [-5, -5, 0, 0])], default=OBJECTS))
def test_paints_negative_values(t, page):
    down, up = page.colour(0.25, 2), page.colour(0.75, 2)
    t.check(down[2] > down[0] + 20 and up[0] > up[2] + 20, f"{down} {up}")


# Base and new value have opposite signs, or differ by a factor of thousands.
SIGNS = ([(("up", "main"), [-5, 100, 0, 0]), (("down", "main"), [5, 7, 0, 0]), (("new", "main"), [0, 10, 0, 0])],
         [(("up", "main"), [5, 1089492, 0, 0]), (("down", "main"), [-5, 0, 0, 0]), (("new", "main"), [1, 120, 0, 0])])


@on_page(*(profile(samples, default=OBJECTS) for samples in SIGNS))
def test_opposite_signs_and_large_changes(t, page):
    for width in ("larger", "now", "before", "change"):
        page.choose("#width", width)
        down, up = page.colour(0.2, 2), page.colour(0.7, 2)  # of equal width, in the order of their names
        ink = page.run("getComputedStyle(document.body).color")
        for name, colour, more, less in (("down", down, 2, 0), ("up", up, 0, 2)):
            t.check(colour[more] > colour[less] + 20, f"{name} {width}: {colour}")
            t.check(f"rgb({colour[0]}, {colour[1]}, {colour[2]})" != ink, "it is painted in the colour of the text")
    page.choose("#width", "larger")
    page.focus()
    page.walk(("ArrowDown ArrowDown", "down, 5 \u2192 -5, change -10 (-200.0%)"),
              ("ArrowRight", "up, -5 \u2192 5, change +10 (200.0%)"),
              ("t Escape ArrowDown ArrowDown", "up, 100B \u2192 1.04MiB, change +1.04MiB (10,900 times)"),
              ("ArrowRight", "new, 10B \u2192 120B, change +110B (11 times)"))
    t.contains(page.text("#totals"), "+1.04MiB (9,310 times)")
    for part, whole, want in ((9.99, 1, "999.0%"), (10, 1, "10 times"), (-1089392.9, 100, "-10,900 times"),
                              (12345, 1000, "12.3 times"), (1, 0, "-")):
        t.equal(page.run(f"formatShare({part}, {whole})"), want)


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
    page.run("window.copied = []; Object.defineProperty(navigator, 'clipboard', "
             "{ value: { writeText: async text => { window.copied.push(text) } } })")
    page.keys("c")
    t.equal(page.run("window.copied"), [shown])
    shared.point(*page.point(0.5, 2))
    t.contains(page.text("#tip"), shown)
    everything = page.run("document.documentElement.outerHTML")
    t.equal([hex(ord(one)) for one in everything if one in "\u202e\u202c\u2066\x1b"], [])
    page.clean()


@on_page()
def test_turns_the_tree_around(t, page):
    """Inverted: leaf first, callers below."""
    page.keys("i")
    t.equal(page.value("#view-kind"), "inverted")
    page.walk(("ArrowDown", "parse, total 11 (68.8%), self 0"), ("ArrowDown", "left, total 8 (50.0%)"),
              ("ArrowRight", "deep, total 3 (18.8%)"), ("ArrowDown ArrowDown", "main, total 3 (18.8%), self 3"))
    page.walk(("t Escape ArrowDown", "parse, total 600B (75.0%)"), ("g", "all, total 800B"))


def test_shows_callers_and_callees(t):
    t.write("a", profile(SAMPLES + [(("parse", "right", "left", "main"), [2, 0, 0, 0])], default=OBJECTS))
    page = Page(t, "a")
    page.keys("ArrowDown", "ArrowDown", "ArrowRight", "b")  # right: 6 of 18
    t.equal(page.run("document.querySelector('#view-kind').selectedOptions[0].textContent"),
            "callers and callees of right")
    page.walk(("", "right, total 6 (100.0%), self 1 (16.7%)"), ("ArrowUp", "main, total 4 (66.7%)"),
              ("ArrowRight", "left, total 2 (33.3%)"), ("ArrowUp", "main, total 2 (33.3%)"))
    page.walk(("ArrowDown ArrowDown ArrowDown", "deep, total 3 (50.0%)"), ("Enter", "deep, total 3"),
              ("Escape Escape", "all, total 18"))
    # From the table, and a function that calls itself counts once.
    t.write("b", profile([(("f", "g", "f", "main"), [4, 1, 0, 0]), (("f", "h"), [1, 1, 0, 0])], default=OBJECTS))
    page = Page(t, "b")
    page.do("[...document.querySelectorAll('#table tbody tr')].find(row => row.cells[4].textContent === 'f')"
                     ".querySelector('.around').click()")
    page.walk(("", "f, total 5 (100.0%), self 1 (20.0%)"), ("ArrowUp", "main, total 4 (80.0%)"))
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


@on_page(profile([((name, "main"), [value, 1, 0, 0]) for name, value in
                   (("a", 1), ("b", 5), ("c", 3), ("d", 9))], default=OBJECTS))
def test_the_heaviest_come_first(t, page):
    page.keys("ArrowDown")
    page.walk(("ArrowDown", "d, total "), *(("ArrowRight", f"{name}, total ") for name in "bca"))


@on_page(profile([(Stack(*stack, labels={"user": name}), values) for (stack, values), name in
                   zip(SAMPLES, "xyxy")], default=OBJECTS))
def test_an_address_leads_back(t, page):
    where = "location.hash"
    t.equal(page.run(where), "")
    page.click(0.9, 2)
    zoomed = page.run(where)
    t.contains(zoomed, "zoom=")
    page.keys("t", "/")
    page.type("deep")
    page.keys("Escape", "i")
    t.equal(page.run(where), "#view=inverted&type=1")
    page.do("history.back()")
    t.contains(page.run(where), "type=1&zoom=")
    t.contains(page.detail(), "right, total 600B")
    page.do("history.back()")
    t.equal((page.run(where), page.detail()[:13]), (zoomed, "right, total "))
    page.do("history.back()")
    t.equal(page.run(where), "")
    t.contains(page.detail(), "all, total 16")
    page.do("history.forward()")
    t.contains(page.detail(), "right, total 4")
    page.do("const key = (to, key) => to.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})), s = element('search');"
            "s.value = 'deep', key(s, 'Enter'), key(document.body, 'i'), history.back()")  # at once
    t.contains(page.run(where), "search=deep")

    def at(address):
        shared.open("about:blank")
        shared.open(t.path("page.html"), address)
        return page.detail()

    t.contains(at("#view=around&of=right&type=1"), "right, total 600B (100.0%)")
    t.equal(page.value("#view-kind"), "around")
    t.contains(at("#search=parse&label=user%3Dx"), "all, total 11")
    t.equal((page.found(), page.value("#search")), ("1 function, 100.0%", "parse"))
    for nonsense in ("#zoom=999999999", "#zoom=-1", "#view=around", "#view=around&of=nowhere", "#type=9", "#type=x",
                     "#width=now", "#view=<b>", "#zoom", "#%", "#&&=&", "#type=__proto__"):
        t.contains(at(nonsense), "all, total 16")


def test_filters_by_label(t):
    t.write("a", profile([(Stack("parse", "main", labels={"user": "x", "size": 16}), [8, 1, 0, 0]),
                          (Stack("parse", "main", labels={"user": "y"}), [4, 1, 0, 0]),
                          (Stack("serve", "main"), [2, 1, 0, 0])], default=OBJECTS))
    page = Page(t, "a")
    t.equal(page.run("[...document.querySelectorAll('#labels option')].map(one => one.value)"),
            ["size=16bytes", "user=x", "user=y"])

    def filter_by(text):
        page.run(f"(label => {{ label.value = {text!r}; label.dispatchEvent(new Event('input')) }})"
                         "(document.querySelector('#label'))")
        page.settle()
        return page.text("#totals")

    t.equal(page.text("#totals"), "alloc_objects: 14")
    for text, total, functions in (("user=x", 8, 2), ("user", 12, 2), ("/^user=[xy]$/", 12, 2), ("size", 8, 2), ("z", 8, 2),
                                   ("none", 0, 0)):
        t.equal(filter_by(text), f"alloc_objects: {total}, with the label {text}")
        t.equal(len(page.functions()), functions, text)
    t.equal(filter_by("/(/"), "Label: not a pattern: Unterminated group")
    t.equal(filter_by(""), "alloc_objects: 14")
    t.write("b", profile(SAMPLES, default=OBJECTS))
    t.equal(Page(t, "b").run("document.querySelector('#label-label').hidden"), True)
    page.clean()


@on_page(*PAIR)
def test_width_by_the_change(t, page):
    t.equal(page.text("#totals"), "alloc_objects: 16 \u2192 35, +19 (118.8%)")
    page.keys("w", "w", "w")
    t.equal(page.value("#width"), "change")
    t.contains(page.run("location.hash"), "width=change")
    # parse below left grew by 16, fresh by 6, and deep lost 3: 25 in all; what did not change is gone.
    ground = page.ground()
    t.check(page.colour(0.3, 3) != ground and page.colour(0.63, 2) != ground, "left is 16 of 25")
    t.equal(page.colour(0.7, 3), ground, "fresh calls nothing")
    page.focus()
    page.walk(("Escape ArrowDown ArrowDown ArrowRight ArrowRight", "right, 4 \u2192 1, change -3"),
              ("i", "all, 16 \u2192 35, change +19"))


@on_page(profile([(("a::very::long<name>(int)", "main"), [3, 1, 0, 0])], default=OBJECTS))
def test_tooltips_and_copies(t, page):
    page.run("window.copied = []; Object.defineProperty(navigator, 'clipboard', "
                     "{ value: { writeText: async text => { window.copied.push(text) } } })")
    tip = "document.querySelector('#tip')"
    t.equal(page.run(f"{tip}.hidden"), True)
    shared.point(*page.point(0.5, 2))
    t.equal(page.run(f"[...{tip}.children].map(line => line.textContent)"),
            ["a::very::long<name>(int)", "app.go:11", "total 3 (100.0%)", "self 3 (100.0%)"])
    shared.point(page.box[0] + page.box[2] - 2, page.box[1] + 1.5 * ROW)
    box = page.run(f"(() => {{ const b = {tip}.getBoundingClientRect(); return [b.left, b.right, b.bottom] }})()")
    t.check(0 <= box[0] and box[1] <= 1200 and box[2] <= 900, f"the tooltip is outside: {box}")
    shared.point(5, 5)
    t.equal(page.run(f"{tip}.hidden"), True)
    t.contains(page.detail(), "all, ")
    page.keys("ArrowDown", "ArrowDown", "c", "C", "i", "ArrowDown", "ArrowDown", "C")
    stack = "a::very::long<name>(int)  app.go:11\nmain  app.go:12"
    t.equal(page.run("window.copied"), ["a::very::long<name>(int)", stack, stack])
    t.equal(page.text("#copied"), "copied the stack")


@on_page(profile(SAMPLES))
def test_lists_its_keys(t, page):
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


def test_names_and_times_are_short(t):
    second = 10 ** 9
    t.write("a", profile(SAMPLES, time=T0 + 123456789, duration=98100279, default=OBJECTS,
                         comments=["pprofdelta: delta from=1 to=1700000000123456789", "1.5 s of own"]))
    page = Page(t, "a")
    t.equal(page.text("#facts"), "4 samples, app, 2023-11-14T22:13:20Z, a delta of 98.1ms; "
            "1.5 s of own")
    t.write("b", profile([(Stack("f", labels={"n": 1}), [3 * second + 7])], types=["delay/nanoseconds"]))
    t.contains(Page(t, "b").detail(), "all, total 3.00s (100.0%), self 0ns")
    for name, room, want in (
            ("main", 9, "main"), ("github.com/a/b.(*T).Method", 30, "github.com/a/b.(*T).Method"),
            ("github.com/a/b.(*T).Method", 14, "b.(*T).Method"), ("github.com/a/b.(*T).Method", 7, "Method"),
            ("github.com/a/b.(*T).Method", 4, "Met\u2026"), ("std::map<int, a::b>::insert(int, a::b)", 12, "map::insert"),
            ("std::map<int, a::b>::insert(int, a::b)", 7, "insert"), ("a.Outer.func1", 9, "Outer.fu\u2026"),
            ("a/b.glob..func12", 8, "glob..f\u2026"), ("(no name)", 5, "(no \u2026"), ("<<<<<<<<", 4, "<<<\u2026"),
            # Names in brackets, generics and paths of other languages.
            ("java.util.ArrayList.<init>", 16, "ArrayList.<init>"), ("java.util.ArrayList.<init>", 6, "<init>"),
            ("java.util.Map<String,List<Item>>.put(Object)", 8, "Map.put"), ("Object.<anonymous>", 12, "<anonymous>"),
            ("Outer.<locals>.<lambda>", 10, "<lambda>"), ("Integer#<=>", 10, "Integer#<\u2026"),
            ("slices.SortFunc[...]", 8, "SortFunc"), ("main.(*Tree[go.shape.int]).Walk", 14, "(*Tree).Walk"),
            ("App\\Http\\Kernel::handle", 14, "Kernel::handle"), ("Elixir.Foo.baz/2", 9, "Foo.baz/2"),
            ("System.List`1[[System.String, mscorlib]].Add", 10, "Add"), ("(anonymous:L#12)", 10, "(anonymou\u2026"),
            ("<a::Vec<T> as a::Extend<T>>::extend", 12, "extend"), ("f()::{lambda(int)#1}::operator()", 10, "operator()")):
        t.equal(page.run(f"shorten({json.dumps(name)}, {room})"), want, f"{name} {room}")
    page.clean()


def test_a_new_size_is_drawn_at_once(t):
    """A new size clears the canvas. A picture that is taken then, as of a page that was just opened, has the
    graph: it does not wait for the next one."""
    t.write("a", PAIR[0])
    t.write("b", PAIR[1])
    for args in (("a",), ("a", "b")):
        page = Page(t, *args)
        before = page.colour(0.3, 2)
        page.run("new Promise(done => { const ask = requestAnimationFrame, view = document.querySelector('#view');"
                         "requestAnimationFrame = () => 0; view.style.height = '300px';"
                         "new ResizeObserver(() => { requestAnimationFrame = ask; done() }).observe(view) })")
        t.equal(page.colour(0.3, 2), before, str(args))
        page.clean()


@on_page(profile([(stack, [*values[:2], 0, 0]) for stack, values in SAMPLES]))
def test_a_type_of_zeros_says_so(t, page):
    """The page begins with a type that is not 0, and names those where there is nothing to draw."""
    options = "[...document.querySelector('#type').options].map(one => one.text)"
    t.equal(page.run(options), ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count (all 0)",
                                        "inuse_space/bytes (all 0)"])
    t.contains(page.text("#notes"), "type: alloc_space, because inuse_space is 0 in every sample")
    t.contains(page.detail(), "all, total 800B")
    said = "document.querySelector('#graph').ariaLabel"
    t.equal(page.run(said), "flame graph of alloc_space")
    page.keys("t")
    t.equal(page.run(said), "inuse_objects is 0 in every sample. Other types: alloc_objects, alloc_space.")
    drawn = page.run("[...document.querySelector('#graph').getContext('2d').getImageData(20, 20, 400, 20).data]")
    t.check(set(drawn) != {255}, "the graph does not say it")


EVIL = "</script><img src=x onerror=alert(1)><b>bold"


@on_page(profile([((EVIL, "main"), [1, 1, 1, 1])], comments=["<i>comment"]))
def test_names_are_only_text(t, page):
    t.equal(page.functions()[0][-1], EVIL)
    t.contains(page.text("#facts"), "<i>comment")
    t.equal(page.run("document.querySelectorAll('img, #table tbody b, i').length"), 0)


@on_page(profile([]))
def test_nothing_to_show(t, page):
    page.focus()
    page.keys("ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Enter", "Escape", "n", "p")
    page.click(0.5, 3)
    t.contains(page.detail(), "all, total 0")


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
    page.click_on("#more")
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
