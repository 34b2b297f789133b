"""--report: the numbers, exactly, for people and for programs."""

import json
import os
import shutil

from pb import profile, read
from samples import T0, pair

KEYS = ["samples", "identity", "mappings", "restart", "window", "had_base", "same", "may_be_window", "clock_set_back",
        "may_be_two_kinds", "id", "sequence", "attempt", "unknown_fields", "left_out", "output_bytes", "unread_bytes", "lost", "types"]


def test_json_is_one_line_of_all_members_in_their_order(t):
    result = t.succeeds(*pair(t), "--report=json", manners=False)
    t.equal(len(result.err.splitlines()), 1, "one line")
    got = json.loads(result.err)
    t.equal((list(got), got["output_bytes"]), (KEYS, len(result.out)))


def test_json_names_are_escaped(t):
    kinds = [b'say "hi"\\\n\x01/caf\xc3\xa9', b"alloc_space/\xff\xc3"]
    s = profile([], types=["A/B", "alloc_space/C"], time=T0)
    name = kinds[0].split(b"/")[0]
    odd = s.replace(b"2\x01A", b"2" + bytes([len(name)]) + name)
    odd = odd.replace(b"2\x01B", b"2\x05caf\xc3\xa9").replace(b"2\x01C", b"2\x02\xff\xc3")
    t.write("odd", odd)
    result = t.succeeds("odd", "odd", "-c", "alloc_space", "--report=json", manners=False)
    names = json.loads(result.err)["types"]
    t.equal((names[0]["type"], names[0]["unit"]), ('say "hi"\\\n\x01', "café"))
    t.equal(names[1]["unit"], "\ufffd\ufffd")
    t.lacks(result.err.rstrip("\n"), "\n", "\x01")


def test_a_report_that_cannot_be_printed_changes_nothing_else(t):
    """The window counts, so the next run must not send it again: exit 0."""
    before, after = pair(t)
    want = t.succeeds(before, after, "--compress=none").out
    t.succeeds("--state", "first", before, "-o", "base")
    cases = {"two files": (before, after, "-o", "OUT"), "a state": ("--state", "S", after, "-o", "OUT"),
             "an uploader": ("--state", "S", after, "--", "sh", "-c", "cat > OUT")}
    streams = [("closed", {"stderr": None, "preexec_fn": lambda: os.close(2)})]
    if os.path.exists("/dev/full"):
        streams.append(("full", {"stderr": open("/dev/full", "wb")}))
    for what, args in cases.items():
        for how, stream in streams:
            for form in ("--report", "--report=json"):
                shutil.copy(t.path("first"), t.path("S"))
                at = args.index("--") if "--" in args else len(args)
                result = t.run(*args[:at], form, *args[at:], manners=False, **stream)
                if t.equal(result.code, 0, f"{what}, {how}, {form}"):
                    t.equal(read(t.load("OUT")).values(), read(want).values())
                if "--state" in args:
                    status = json.loads(t.succeeds("--state", "S", "--status", "--report=json").text)
                    t.equal(status["sequence"], 2, f"{what}, {how}: the state has moved")
                os.remove(t.path("OUT"))
    t.succeeds(before, after, "-o", "delta")
    for how, stream in streams:
        t.equal(t.run("sum", before, "delta", "-o", "OUT", manners=False, **stream).code, 0, f"sum, {how}")
        os.remove(t.path("OUT"))
