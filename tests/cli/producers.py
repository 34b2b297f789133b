"""Profiles of producers of other languages, testdata/producers: each verb reads them, and means what they say."""

import glob
import json
import os
import sys

import flames
from pb import load, read
from samples import TESTDATA

FOLDER = os.path.join(TESTDATA, "producers")
sys.path.append(os.path.join(TESTDATA, "recorder", "producers"))

import by_hand  # noqa: E402


# ---- the verbs ---------------------------------------------------------------------------------------------

def files(t):
    """The name of each producer, and its two files, which are laid in the test's folder."""
    paths = sorted(glob.glob(os.path.join(FOLDER, "*")))
    for path in paths:
        t.write(os.path.basename(path), load(path))
    names = [os.path.basename(path) for path in paths]
    t.check(len(names) >= 22 and len(names) % 2 == 0, str(names))
    return [(one.split(".")[0], one, two) for one, two in zip(names[::2], names[1::2])]


def types_of(t, name):
    return [one["type"] for one in json.loads(t.succeeds("show", "--json", name).text)["types"]]


def values_of(data, to=None, sign=1):
    """{(names, labels): values}, equal ones added up, without those that are zero."""
    to = {} if to is None else to
    for names, labels, values in read(data).samples:
        key = names, tuple(sorted(labels.items()))
        to[key] = [a + sign * b for a, b in zip(to.get(key, [0] * len(values)), values)]
    return {key: values for key, values in to.items() if any(values)}


def by_depth(pairs):
    """{length of the stack: sum}"""
    found = {}
    for depth, value in pairs:
        found[depth] = found.get(depth, 0) + value
    return {depth: value for depth, value in found.items() if value}


def test_what_is_made_by_hand_is_what_its_program_makes(t):
    for name, data in by_hand.made().items():
        t.check(load(os.path.join(FOLDER, name)) == data, f"{name}: run testdata/recorder/producers/by_hand.py testdata/producers")


def test_no_name_breaks_a_stack(t):
    """Whatever is in a name: each frame is one in folded stacks, in a page and in JSON, and nothing is lost."""
    for _, *pair in files(t):
        for name in pair:
            t.contains(t.succeeds("check", name).text, ": ok: ")
            shown = json.loads(t.succeeds("show", "--json", name).text)
            for at, one in enumerate(shown["types"]):
                want = by_depth((len(sample["stack"]), sample["values"][at])
                                for sample in shown["samples"])
                folded = t.succeeds("show", "--folded", "--all-frames", f"--type={one['type']}", name).text
                t.lacks(folded, "\0", "\r")
                t.equal(by_depth((line.count(";") + 1, int(line.rsplit(" ", 1)[1])) for line in folded.splitlines()), want, name)
            if name.endswith(".gz") or "ebpf" not in name:
                t.equal(sum(sample["values"][-1] for sample in shown["samples"]), sum(v[-1] for _, _, v in read(load(t.path(name))).samples))
            data = flames.data_of(flames.page(t, name, "--all-frames"))
            paths, values = flames.paths_of(data), data["types"][-1]["self"]
            node, got = 0, []
            for step, value in zip(values[::2], values[1::2]):
                node += step
                got.append((len(paths[node]), value))
            t.equal(by_depth(got), want, f"{name}: the page")
            t.succeeds("show", name)
            t.succeeds("export", name, "-o", "tables")


def test_sums_and_deltas_are_those_of_a_reader(t):
    for name, one, two in files(t):
        if name.startswith("ebpf"):
            continue
        counters = [word for kind in types_of(t, one) for word in ("-c", kind)]
        datas = [t.load(file) for file in (one, two)]
        total = t.succeeds("sum", one, two, *counters, "--force").out
        values_of(datas[0], want := {})
        t.equal(values_of(total), values_of(datas[1], want), f"{name}: sum")
        delta = t.succeeds(one, two, *counters, "--force", "--verify", "--on-reset=negative").out
        values_of(datas[1], want := {})
        t.equal(values_of(delta), values_of(datas[0], want, -1), f"{name}: delta")
        t.succeeds("show", one, two)


def test_windows_are_not_subtracted_unasked(t):
    for name, one, two in files(t):
        error = t.fails(1, one, two).err
        t.check(any(why in error for why in ("as a counter", "is not cumulative", "split it", "are events")), f"{name}: {error}")


def test_receivers_get_what_they_take(t):
    """What is written for a receiver is what it takes; Pyroscope takes no old times and no types with a dash."""
    for name, one, _ in files(t):
        if name == "ebpf-host":
            continue
        counters = [word for kind in types_of(t, one) for word in ("-c", kind)]
        for receiver in ("pyroscope", "parca", "otel", "pprof"):
            t.succeeds("sum", one, *counters, "--force", f"--for={receiver}", "-o", "out")
            said = t.run("check", f"--for={receiver}", "out").err
            rest = [line for line in said.splitlines() if receiver != "pyroscope" or
                    not any(word in line for word in ("its time is ", "has a dash"))]
            t.equal(rest, [], f"{name}: {receiver}")


def test_symbolize_says_what_there_was(t):
    files(t)
    t.contains(t.succeeds("symbolize", "ruby.1.pb", "-o", "out").err, "ruby.1.pb: no location has an address, so nothing was looked for")
    t.contains(t.succeeds("symbolize", "perf.1.pb", "-o", "out").err, " locations, 0 had lines, ")


def test_hosts_in_ebpf(t):
    """Native places of eBPF are addresses of their file, also where the mapping has moved; samples are counted by their times."""
    files(t)
    shown = t.succeeds("show", "--folded", "--all-frames", "ebpf-host.1.pb").text
    t.contains(shown, "python3.12+0x1f0011;python3.12+0x1f2a30;entry_SYSCALL_64_after_hwframe;", "libjvm.so+0x8a1b40;void com.shop.Book.<init>",
               "<lambda>;linux-vdso.1.so+0x9c3 5\n", "[unwinder error: lr is not in a mapping] 1\n")
    t.contains(t.succeeds("show", "--folded", "ebpf-host.1.pb").text, "<lambda>;entry_SYSCALL_64_after_hwframe;")
    t.contains(t.succeeds("show", "ebpf.1.pb", "ebpf.2.pb", "--folded").text, "<lambda>;linux-vdso.1.so+0x9c3 5 4\n")
    total = read(t.succeeds("sum", "ebpf.1.pb", "ebpf.2.pb", "-c", "samples", "--force").out)
    t.equal(by_depth((len(names), values[0]) for names, _, values in total.samples), {3: 5 + 4, 6: 3 + 6, 1: 1})
    t.equal(sorted(place[1] for place in total.locations.values() if place[1]), [0x9c3, 0x1f0011, 0x1f2a30])
