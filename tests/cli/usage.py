"""The command line itself: what is refused, with which words, and what is taken."""

import json
import os
import re

from samples import DELTA, TESTDATA, pair
from pb import read
from windows import begun, stands


def test_every_wrong_line_is_refused_and_explained(t):
    """testdata/usage/wrong.json has every way to get it wrong, with what the message must say."""
    with open(os.path.join(TESTDATA, "usage/wrong.json"), encoding="utf-8") as file:
        wrong = json.load(file)
    for line in wrong:
        code = 125 if line["args"][:1] == ["record"] else 2  # record fails as env does
        t.contains(re.sub(r"\s+", " ", t.fails(code, *line["args"]).err), *line["says"])


def test_a_suggested_option_is_there(t):
    """... whatever pprof, perf and others call it: what a message names is in a help."""
    source = os.path.join(os.path.dirname(__file__), "../../cli/suggest.c")
    with open(source, encoding="utf-8") as file:
        words = re.findall(r"\w+", " ".join(re.findall(r'^    \{"([\w ]+)"', file.read(), re.M)))
    verbs = ("show", "check", "sum", "merge", "record", "symbolize", "leaks", "export", "recover")
    helps = {verb: t.succeeds(*([verb] if verb else []), "--help").text for verb in ("", *verbs)}
    t.check(len(words) > 50, "found no words")
    for word in words:
        said = t.fails(2, "check", f"--{word}=x", "a").err
        t.contains(said, f"there is no option --{word}; ")
        clause = re.sub(r"\s+", " ", said.split("; ", 1)[1].split("pprofdelta: try")[0])
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", clause):
            verb = re.findall(r"pprofdelta (\w+) \S+ " + option, clause)
            t.contains(helps[verb[0]] if verb and verb[0] in verbs else "".join(helps.values()), option)


def test_help(t):
    """It fits a terminal, and needs nothing else of the line."""
    result = t.succeeds("--help")
    t.check(len(result.text.splitlines()) <= 40, "more lines than a terminal has")
    t.equal(result.err, "")
    for args in (("-h",), ("help",), ("help", "--help"), ("help", "help"), ("help", "delta"), ("-help",),
                 ("--help", "nowhere.pb", "--nonsense")):
        t.equal(t.succeeds(*args).out, result.out)
    for verb in ((), ("show",), ("check",), ("sum",), ("record",)):
        shown = t.succeeds(*verb, "--help")
        t.contains(shown.text, " ".join(("usage: pprofdelta", *verb)))
        t.check(all(len(line) < 80 for line in shown.text.splitlines()), f"{verb}: wider than 79 columns")
        t.equal([t.succeeds(*other).out for other in ((*verb, "-h"), ("help", *verb))], [shown.out] * 2)
    for option in ("-o", "-c", "-g", "--on-reset", "--compress", "-1", "-9", "--report", "--verify",
                   "--max-memory", "-q", "--force", "--no-stamp", "--started", "--default-type",
                   "-h", "--version", "show", "check", "sum", "--state", "--first", "--timeout",
                   "--no-wait", "--status", "-- UPLOADER", "--top", "--type", "--raw", "--folded",
                   "--json"):
        t.contains(result.text, option)


def test_version(t):
    result = t.succeeds("--version")
    t.check(re.fullmatch(r"pprofdelta \d+\.\d+\.\d+\nOTLP: opentelemetry-proto \d+\.\d+, profiles "
                         r"v1development\n", result.text), result.text)
    t.equal(result.err, "")
    t.equal(t.succeeds("nowhere.pb", "--version").out, result.out)
    t.equal(t.succeeds("version").out, result.out)
    prev, cur = pair(t)
    t.write("version", t.load(prev))
    t.equal(read(t.succeeds("version", cur).out).values(), DELTA)


def test_the_output_is_not_the_state(t):
    """Either would throw the other away."""
    one, two_, _ = begun(t)
    before = t.load("s")
    os.mkdir(t.path("folder"))
    os.symlink("../s", t.path("folder/link"))
    for out in ("s", "./s", "folder/../s", t.path("s"), "folder/link"):
        t.contains(t.fails(2, "--state", "s", two_, "-o", out).err, "-o and --state name the same file")
        stands(t, before, out)
    t.fails(2, "--state", "new", one, "-o", "./new")
    t.check(not os.path.exists(t.path("new")), "there is a file")
    t.succeeds("--state", "s", two_, "-o", "folder/s")


def test_the_library_names_no_option_of_the_command(t):
    """Its messages are for every caller; the command adds the options as hints."""
    options = set()
    for args in ((), ("show",), ("check",), ("sum",), ("record",)):
        options |= set(re.findall(r"--[a-z][a-z-]+", t.succeeds(*args, "--help").text))
    t.check(len(options) > 20, "found no options")
    library = os.path.join(os.path.dirname(__file__), "../../lib")
    for folder, _, names in os.walk(library):
        for name in names:
            if os.path.basename(folder) == "agent" or not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            literals = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))
            named = options & set(re.findall(r"--[a-z][a-z-]+", literals))
            t.check(not named, f"{name} names {named}")
