"""The page of `leaks --html` in a real browser: run.py answer PPROFDELTA

It draws the windows, compares any two, leads from a finding to its stack, obeys keys and addresses, goes light and
dark, prints, and asks the network for nothing. Skipped (77) where there is no Chromium. What a user does and sees step
by step stands in pages/answer.txt.
"""

import re

import flame
import tables
from answers import EVIL_SHOWN, EVIL
from flame import end, prepare  # noqa: F401 (what run.py calls)
from leaking import KIND, heap, series
from pb import HEAP, profile
from samples import MINUTE, T0

def open_page(t, *args):
    return flame.Page(t, *args, command=("leaks", "--html"))


def colours(page, selector):
    """The colours of a canvas, from the bottom to the top of its middle, each once in a row."""
    return page.run(f"(one => {{ const c = one.getContext('2d'), found = []; for (let y = one.height - 22; y > 16; y--) {{"
                    " const p = [...c.getImageData(one.width >> 1, y, 1, 1).data].join(); if (found.at(-1) !== p) found.push(p) }"
                    f" return found }})(document.querySelector('{selector}'))")


def rows(page, selector):
    return page.run(f"[...document.querySelectorAll('{selector} tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")


def canvas(t, rest, _):
    """canvas SELECTOR as NAME[, more than N]: its colours are those that have this name, which they get if none have it.
    canvas SELECTOR not as NAME, and fewer than NAME: others than these, and fewer."""
    selector, how, name, least = re.fullmatch(r"(\S+) (as|not as|fewer than) (\w+)(?:, more than (\d+))?", rest).groups()
    got, t.page.noted = colours(t.page, selector), t.page.noted or {}
    want = t.page.noted.setdefault(name, got)
    is_right = {"as": got == want, "not as": got[0] != want[0], "fewer than": len(got) < len(want)}[how]
    t.check(is_right and len(got) > int(least or 0), f"{rest}: {got}, and {name} is {want}")


flame.WORDS["canvas"] = canvas
flame.WORDS["click-at"] = flame.does(lambda page, rest: flame.shared.click(*page.run(rest)))
tables.make_tests("../e2e/pages/answer.txt", globals(), flame.browser_steps)

LONG = "github.com/example/server/internal/session.(*Manager).create"


def test_a_narrow_screen_has_a_card_for_each_finding(t):
    """No text breaks to a few letters a line, nothing is wider than the screen, and every number has its title."""
    files = [heap(t, f"{w:02}", w, {(f"{LONG}{i}", f"handle{i}", "main"): ((100 + i) * (w + 1),) * 2 for i in range(20)})
             for w in range(16)]
    page = open_page(t, *files, "--top=20")
    wide = page.run("document.querySelector('#findings').clientHeight")
    try:
        flame.shared.resize(400, 800)
        t.equal(page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
        cells = page.run("[...document.querySelectorAll('#findings tbody tr')].map(row => [...row.cells].map(cell => "
                         "(b => [cell.className, b.x, b.right, b.height, getComputedStyle(cell, '::before').content])"
                         "(cell.getBoundingClientRect())))")
        t.equal(len(cells), 20)
        for row in cells:
            for kind, left, right, height, _ in row:
                t.check(0 <= left and right <= 400 and height <= 4 * 20, f"{kind}: {left} to {right}, {height} high")
            t.check(row[1][2] - row[1][1] > 250 and row[5][2] - row[5][1] > 250, f"{row}")
            t.equal([re.findall("[A-Z][a-z]+", content) for kind, *_, content in row if not kind], [["Now"], ["Slope"], ["Sure"]])
        high = page.run("document.querySelector('#findings').clientHeight")
        t.check(high < 20 * 130, f"{high} pixels for 20 findings")
        t.equal(page.run("getComputedStyle(document.querySelector('#findings thead')).display"), "none")
    finally:
        flame.shared.resize(1200, 900)
    t.equal(page.run("document.querySelector('#findings').clientHeight"), wide)
    page.clean()


def test_names_are_only_text(t):
    files = [heap(t, f"{i}", i, {EVIL: (100 * i + 100,) * 2}, filename=EVIL) for i in range(8)]
    t.write("app.go", (EVIL * 30).encode())
    page = open_page(t, *files, "--source")
    t.contains(page.text("#findings"), EVIL_SHOWN)
    t.equal(page.run("document.querySelectorAll('img').length"), 0)
    page.clean()


def test_many_windows_of_many_stacks(t):
    """What is drawn depends on what is seen, not on the size of the run."""
    files = [heap(t, f"{w:03}", w, {"leak": (9 * w + 9,) * 2, **{f"f{i}": (w + 1, (w * i) % 97 % (w + 1)) for i in range(900)}})
             for w in range(40)]
    page = open_page(t, *files)
    drawn = int(page.run("document.querySelector('#film').dataset.drawn"))
    t.check(0 < drawn <= 2 * 200 * 13, f"{drawn} points")
    page.clean()


WIDE = "a_template<" + "of_a_very_long_name_without_a_space_" * 12 + ">::allocate"


def crowded(t):
    """Stacks of one line by many ways, a long name, a deep stack, and a step that another stack takes back."""
    def samples(i):
        live = 100 * i + 100
        many = [((("load", "cache_line", f"way{k}", "main")), [900 * i, 900 * i << 10, 300 + k, (300 + k) << 10, 60, 60 << 10])
                for k in range(14)]
        deep = (WIDE, *(f"frame{k}" for k in range(120)), "main")
        return [*many, (deep, [live + 9, live + 9 << 10, live, live << 10, 9, 9 << 10]),
                (("new_table", "main"), [900, 900 << 10, 900 * (i >= 9), 900 * (i >= 9) << 10, 0, 0]),
                (("old_table", "main"), [900, 900 << 10, 900 * (i < 9), 900 * (i < 9) << 10, 0, 0])]

    return series(t, "", (profile(samples(i), types=[*HEAP, "freed_objects/count", "freed_space/bytes"], time=T0 + i * MINUTE,
                                  period_type=KIND, period=1) for i in range(16)))


def test_nothing_is_cut_or_listed_twice(t):
    page = open_page(t, *crowded(t))
    legend = page.run("[...document.querySelectorAll('#film-legend li')].map(one => one.textContent)")
    t.equal(len(legend), len(set(legend)), str(legend))
    places = [row[0] for row in rows(page, "#temporary")]
    t.equal(len(places), len(set(places)), str(places))
    wide = page.run("[...document.querySelectorAll('section *, h1, h2, p')].filter(one => one.getBoundingClientRect().right >"
                    " document.documentElement.clientWidth + 1).map(one => one.tagName + ' ' + one.id + ' ' + one.className)")
    t.equal(wide, [], "these run out of the right edge")
    room = page.run("(list => { const c = document.createElement('canvas').getContext('2d'), s = getComputedStyle(list);"
                    " c.font = s.font; return parseFloat(s.paddingLeft) - c.measureText('123. ').width })(document.querySelector('#stack'))")
    t.check(room > 0, f"the number of a frame is cut by {-room} pixels")
    page.do("(window.seen = [], (proto => { const put = proto.fillText; proto.fillText = function (text, x, y) {"
            " const w = this.measureText(text).width, a = this.textAlign, left = a === 'right' ? x - w : a === 'center' ? x - w / 2 : x;"
            " window.seen.push([text, left, this.canvas.width / devicePixelRatio - left - w]); put.call(this, text, x, y) } })"
            "(CanvasRenderingContext2D.prototype))")
    page.do("window.dispatchEvent(new Event('beforeprint'))")
    seen = [label for label in page.run("window.seen") if label[0].endswith("min")]
    t.check(seen, "no label of the axis was drawn")
    t.equal([label for label in seen if label[1] < 0 or label[2] < 0], [], "labels that are cut")
    t.equal([text for text, *_ in page.run("window.seen") if text == "step"], [], "steps that are not seen")
    page.clean()
