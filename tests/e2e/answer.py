"""The page of `leaks --html` in a real browser: run.py answer PPROFDELTA

It draws the windows, compares any two, leads from a finding to its stack, obeys keys and addresses, goes light and
dark, prints, and asks the network for nothing. Skipped (77) where there is no Chromium.
"""

import re

import flame
from answers import EVIL_SHOWN, EVIL
from flame import end, prepare  # noqa: F401 (what run.py calls)
from leaking import KIND, film, heap, scene, series
from pb import HEAP, profile
from samples import MINUTE, T0

TYPES = [*HEAP, "rss_space/bytes"]


def server(t):
    """The film of leaking.py with an account of the resident memory."""
    def samples(i):
        return [*((("malloc", "std::vector<int>::push_back", name, "serve", "main"), [made, made * 1024, live, live * 1024, 0])
                  for name, (made, live) in scene(i).items()),
                *((stack, [0, 0, 0, 0, kib * 1024]) for stack, kib in ((("[live heap]",), 100 * i + 100), (("[allocator slack]",), 300), (
                    ("[file mappings, clean or shared]", "/usr/lib/libx.so"), 4000)))]

    return series(t, "", (profile(samples(i), types=TYPES, time=T0 + i * MINUTE, period_type=KIND, period=1) for i in range(16)))


def open_page(t, *args):
    return flame.Page(t, *args, command=("leaks", "--html"))


def reopen(t, address):
    flame.shared.open("about:blank")
    flame.shared.open(t.path("page.html"), address)


def colours(page, selector):
    """The colours of a canvas, from the bottom to the top of its middle, each once in a row."""
    return page.run(f"(one => {{ const c = one.getContext('2d'), found = []; for (let y = one.height - 22; y > 16; y--) {{"
                    " const p = [...c.getImageData(one.width >> 1, y, 1, 1).data].join(); if (found.at(-1) !== p) found.push(p) }"
                    f" return found }})(document.querySelector('{selector}'))")


def rows(page, selector):
    return page.run(f"[...document.querySelectorAll('{selector} tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")


def test_shows_the_answer(t):
    page = open_page(t, *server(t))
    t.contains(page.text("#title"), "app: leaks")
    t.contains(page.text("#facts"), "16 windows in 15.0min", "inuse_space")
    t.contains(page.text("#notes"), "verdict: 1 suspect, 0 unknown")
    t.equal([row[0] for row in rows(page, "#findings")], ["suspect"])
    t.contains(rows(page, "#findings")[0][1], "leak app.go:")
    t.equal(page.run("[...document.querySelectorAll('#stack li')].map(one => [one.className, one.firstChild.textContent])"),
            [["library", "malloc"], ["library", "std::vector<int>::push_back"], ["cause", "leak"], ["", "serve"], ["", "main"]])
    t.contains(page.text("#film-legend"), "suspect: leak app.go:", "cache app.go:", "all other stacks")
    all_colours = colours(page, "#film")
    t.check(len(all_colours) > 5, "the areas are not drawn")
    page.keys("f")
    t.check(len(colours(page, "#film")) < len(all_colours), "what is not found is still drawn")
    t.equal(page.run("location.hash"), "#only=true")
    t.check(len(colours(page, "#areas")) > 3, "the parts of the resident memory are not drawn")
    areas = {row[0]: row[2:5] for row in rows(page, "#areas-table")}
    t.equal(areas["[file mappings, clean or shared]"], ["3.91MiB", "3.91MiB", "0B"])
    t.equal(areas["[live heap]"], ["100KiB", "1.56MiB", "+1.46MiB"])
    t.equal([row[0] for row in rows(page, "#sizes")], ["1.00KiB to 2.00KiB"])
    t.equal(page.value("#width"), "now")
    t.contains(page.detail(), "all, 1.21MiB \u2192 4.14MiB, change +2.93MiB")
    page.clean()


def test_compares_any_two_windows(t):
    page = open_page(t, *film(t))
    page.choose("#from", 3)
    page.choose("#to", 7)
    t.contains(page.text("#film-detail"), "window 4, +3.00min: ", "window 8, +7.00min: ")
    page.do("document.querySelector('#search').value = 'leak'; document.querySelector('#search').dispatchEvent(new Event('input'))")
    page.keys("n")
    t.contains(page.detail(), "leak, 400KiB \u2192 800KiB, change +400KiB (100.0%)")
    page.run("document.querySelector('#film').focus()")
    page.keys("ArrowRight")
    t.equal((page.value("#from"), page.value("#to")), ("3", "8"))
    page.keys("]", "]", "[", "Home")
    t.equal((page.value("#from"), page.value("#to")), ("3", "0"))
    page.keys("m")
    peak = page.run("document.querySelector('#to').selectedIndex")
    totals = page.run("unpack(JSON.parse(document.querySelector('#data').textContent)).then(({ runs: [{ film }] }) => "
                      "film.points.map((_, i) => film.stacks.reduce((sum, one) => sum + expand(one.at(-1), film.points.length)[i], 0)))")
    t.equal(totals[peak], max(totals))
    box = page.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector('#film').getBoundingClientRect())")
    flame.shared.click(box[0] + 66, box[1] + box[3] / 2)
    t.equal(page.value("#to"), "0")
    t.contains(page.run("location.hash"), "from=3", "to=0")
    reopen(t, "#from=2&to=5&width=change")
    t.equal((page.value("#from"), page.value("#to"), page.value("#width")), ("2", "5", "change"))
    reopen(t, "#from=99&to=x&finding=77&run=5")
    t.equal((page.value("#from"), page.value("#to")), ("0", "15"))


def test_survival_by_age(t):
    """As Kaplan and Meier estimate it, and nothing where the profiles have no ages."""
    page = open_page(t, *film(t))
    t.equal(page.run("document.querySelector('#survival').checkVisibility()"), False)
    cohorts = "[{born: 10, freed: [2, 3]}, {born: 10, freed: [5]}]"
    t.equal(page.run(f"agesOf({{windows: 2, cohorts: {cohorts}}})"), [[0, 20, 0.65], [2, 8, 0.65 * (1 - 3 / 8)]])
    page.do(f"putSurvival(document.querySelector('#survival'), {{windows: 2, cohorts: {cohorts}}}, 60)")
    t.equal(rows(page, "#survival"), [["over a window", "65.0%", "", "20"], ["over 2.00min", "40.6%", "", "8"]])


def test_changes_the_run(t):
    page = open_page(t, *film(t), *(heap(t, f"later.{i:02}.pb.gz", 20 + i, {"leak": (i + 1, i + 1)}) for i in range(8)))
    t.equal(page.run("document.querySelector('#run-label').hidden"), False)
    reopen(t, "#run=1")
    t.contains(page.text("#facts"), "8 windows", "after a restart")
    t.equal(page.value("#run"), "1")


def test_light_dark_and_paper(t):
    page = open_page(t, *film(t))
    light = colours(page, "#film")
    flame.shared.scheme("dark")
    dark = colours(page, "#film")
    t.check(light[0] != dark[0], f"{light} {dark}")
    page.do("window.dispatchEvent(new Event('beforeprint'))")
    t.equal(colours(page, "#film"), light)
    page.do("window.dispatchEvent(new Event('afterprint'))")
    t.equal(colours(page, "#film"), dark)


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
