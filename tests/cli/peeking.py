"""pprofdelta show --peek: functions with their callers and callees. (That pprof prints the same is
tests/e2e/peeks.py's.)"""

import random
import re

from pb import Stack, profile

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
