"""pprofdelta show --peek: functions with their callers and callees. (That pprof prints the same is
tests/e2e/peeks.py's.)"""

import random
import re

from pb import Stack, profile
from samples import two

COUNT = ["n/count"]


def blocks_of(text):
    return [[line for line in block.splitlines() if line] for block in re.split(r"^-+\+-+$", text, flags=re.M)[1:]]


def peeked(t, *args):
    """{function: (flat, cum, {caller: value}, {callee: value})}, of exact values."""
    got = {}
    for block in blocks_of(t.succeeds("show", *args).text):
        callers, own = {}, None
        for line in block:
            numbers, name = line.split(" | ", 1)
            values = [int(one) for one in re.findall(r"(?<!\S)[-+]?\d+(?!\S)(?! times)", numbers)]
            t.equal(len(values), 1 if name.startswith("  ") else 2, line)
            if len(values) == 1:
                (callers if own is None else own[3])[name.strip()] = values[0]
            else:
                own = (*values, callers, {})
                got[name] = own
    return got


def model_of(samples, wanted):
    """Each function, and each call, once for each stack."""
    got = {name: [0, 0, {}, {}] for stack, _ in samples for name in stack if name in wanted}
    for stack, value in samples:
        for name in set(stack) & set(got):
            got[name][0] += value * (stack[0] == name)
            got[name][1] += value
        for callee, caller in {(a, b) for a, b in zip(stack, stack[1:]) if a != b}:
            for name, at, other in ((callee, 2, caller), (caller, 3, callee)):
                if name in got:
                    got[name][at][other] = got[name][at].get(other, 0) + value
    return {name: tuple(one) for name, one in got.items()}


def test_it_reads_like_pprof(t):
    t.write("a", profile([(("grow", "parse", "serve", "main"), [600]), (("parse", "retry", "main"), [200]),
                          (("parse", "serve", "main"), [100]), (("idle", "main"), [100])], types=["space/bytes"]))
    text = t.succeeds("show", "a", "--peek", "^(parse|main)$").text
    line = "-" * 71 + "+" + "-" * 13 + "\n"
    t.equal(text[text.index("\n2 functions"):],
            "\n2 functions, by space\n"
            "        flat   flat%    sum%         cum    cum%       calls  calls%\n" + line +
            "                                                        700B   77.8% |   serve\n"
            "                                                        200B   22.2% |   retry\n"
            "        300B   30.0%   30.0%        900B   90.0%                     | parse\n"
            "                                                        600B   66.7% |   grow\n" + line +
            "          0B    0.0%   30.0%       1000B  100.0%                     | main\n"
            "                                                        700B   70.0% |   serve\n"
            "                                                        200B   20.0% |   retry\n"
            "                                                        100B   10.0% |   idle\n")


def test_of_one_and_of_two(t):
    """Against a reading in Python, on stacks made by chance; of two, what changed."""
    chance = random.Random(3)

    def some():
        return [(tuple(chance.choice("abcdef") for _ in range(chance.randint(0, 7))), chance.randint(1, 99)) for _ in range(150)]

    before, after = some(), some()
    for name, samples in (("1", before), ("2", after)):
        t.write(name, profile([(stack, [value]) for stack, value in samples], types=COUNT))
    for pattern, wanted in ((".", "abcdef"), ("[bd]", "bd"), ("f", "f")):
        t.equal(peeked(t, "2", "--peek", pattern), model_of(after, wanted))
        want = model_of([(stack, -value) for stack, value in before] + after, wanted)
        got = peeked(t, "1", "2", "--peek", pattern)
        for ways in (2, 3):  # a call that did not change is left out
            for name in got:
                one = want[name]
                t.equal(got[name][ways], {other: value for other, value in one[ways].items() if value}, name)
        t.equal({name: one[:2] for name, one in got.items()}, {name: one[:2] for name, one in want.items() if any(one[:2])})
    t.equal(peeked(t, "2", "--peek=b", "--peek=d"), model_of(after, "bd"))


def test_filters_and_types(t):
    """Allocators and start-up are there, because they have callers. Filters keep samples, and totals stay."""
    stack = Stack("malloc", "make", "main", "_start", labels={"user": "x"})
    t.write("a", profile([(stack, [1, 10, 0, 0]), (("make", "other"), [1, 30, 0, 0])]))
    got = t.succeeds("show", "a", "--peek", "malloc|_start", "--type=alloc_space").text
    t.equal([re.sub(" +", " ", line) for block in blocks_of(got) for line in block],
            [" 10B 100.0% | make", " 10B 25.0% 25.0% 10B 25.0% | malloc", " 0B 0.0% 25.0% 10B 25.0% | _start", " 10B 100.0% | main"])
    text = t.succeeds("show", "a", "--peek", "make", "--tag=user=x").text
    t.contains(text, "tag       25.0% of alloc_space: user=x", "10B   25.0%")
    t.lacks(text, "other")
    t.contains(t.succeeds("show", "a", "--peek", "nowhere").text, "\n0 functions, by alloc_space\n")


def test_what_is_wrong(t):
    two(t, [(("f",), [1, 1])], [(("f",), [2, 2])])
    for args, words in ((("--peek", "("), "is not a regular expression"), (("--peek", r"\d"), "is not a POSIX regular"),
                        (("--peek="), "must be a regular expression"), (("--peek", "f", "--json"), "exclude each other"),
                        (("--peek", "f", "--top"), "is for the table"), (("--peek", "f", "--cum"), "is for the table")):
        t.contains(t.fails(2, "show", "cur.pb.gz", *([args] if isinstance(args, str) else args)).err, words)


def test_names_are_shown_safely(t):
    t.write("a", profile([(("f\x1b\n\u202e", "g\x1b"), [1])], types=COUNT))
    text = t.succeeds("show", "a", "--peek", ".").text
    t.contains(text, "f\\x1b\\x0a\\xe2\\x80\\xae\n", "   g\\x1b\n")
    t.lacks(text, "\x1b", "\u202e")
