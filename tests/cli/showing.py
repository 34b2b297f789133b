"""pprofdelta show: the table and the three other forms."""

import fcntl
import json
import os
import random
import re
import struct
import subprocess
import termios

from inputs import peak_of
from pb import HEAP, Stack, Writer, chunk, gz, number, packed, profile, varint
from samples import T1, cur


def terminal(t, columns, *args, env=None, code=0):
    """What the command prints to a terminal of that width."""
    master, slave = t.open_terminal()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([t.binary, *args], cwd=t.dir, stdin=subprocess.DEVNULL, stdout=slave,
                               stderr=slave, env={**os.environ, "TERM": "dumb", **(env or {})})
    os.close(slave)
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    os.close(master)
    t.equal(process.wait(), code)
    return data.decode().replace("\r\n", "\n")


def test_top(t):
    samples = [((f"f{i:03}", "main"), [i, i, i, i]) for i in range(1, 201)]
    t.write("many", profile(samples, time=T1))
    for args, rows in (((), 10), (("--top",), 10), (("--top=3",), 3), (("--top", "150"), 150), (("--top=9999",), 201)):
        text = t.succeeds("show", "many", *args).text
        names = re.findall(r" (f\d{3}|main)$", text, re.M)
        t.equal(len(names), rows, str(args))
        t.equal(names[0], "f200")
        if rows < 201:
            t.contains(text, f"the first {rows} of 201 functions")


def test_long_names_lose_their_middle(t):
    name = "github.com/example/" + "x" * 100 + "/package.(*Type).Method"
    t.write("a", profile([((name, "main"), [1, 1, 1, 1])]))
    text = t.succeeds("show", "a").text
    table = text.splitlines()[-2:]
    t.check(all(len(line) <= 80 for line in text.splitlines()), text)
    t.contains(table[0], "github", "...", "(*Type).Method")
    t.equal(len(table[0]), 80)
    for columns in (60, 100, 140):
        lines = terminal(t, columns, "show", "a").splitlines()
        t.equal(max(len(line) for line in lines[8:]), columns)
    t.contains(terminal(t, 220, "show", "a"), name + "\n")


STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
INSERT = f"std::set<{STRING}, std::less<{STRING} >, std::allocator<{STRING} > >::insert"


def test_names_of_cxx_are_short(t):
    """In every form for people. The whole profile has full names, and the filters know both. Functions whose
    short names are equal are one. Of the library, the call that the program made stays."""
    tree = f"std::_Rb_tree<{STRING}, {STRING}, std::_Identity<{STRING} > >::_M_create_node"
    new = ("operator new(unsigned long)", f"std::__new_allocator<{STRING} >::allocate", f"{STRING}::basic_string", tree)
    t.write("a", profile([((*new, INSERT, "login", "main"), [1, 10, 1, 10]),
                          ((*new, INSERT.replace("__cxx11::", "__1::"), "login", "main"), [1, 5, 1, 5])]))
    short = "std::set<std::string>::insert"
    for args in (("a",), ("a", "--cum"), ("a", "--stacks")):
        t.contains(t.succeeds("show", *args).text, short)
        t.lacks(t.succeeds("show", *args).text, "basic_string", "_Rb_tree")
    t.write("none", profile([]))
    t.contains(t.succeeds("show", "none", "a").text, f"  0B   15B    +15B    +15B  {short}\n")
    t.equal(t.run("show", "a", "--folded").text, f"main;login;{short} 15\n")
    t.equal(t.run("show", "none", "a", "--folded").text, f"main;login;{short} 0 15\n")
    t.equal(t.run("show", "a", "--folded", "--all-frames").text, "main;login;" + ";".join(
        ["std::set<std::string>::insert", "std::_Rb_tree<std::string, std::string, std::_Identity<std::string>>::_M_create_node",
         "std::string::string", "std::__new_allocator<std::string>::allocate", "operator new(unsigned long)"]) + " 15\n")
    got = json.loads(t.succeeds("show", "a", "--json").text)
    t.equal([frame["function"] for frame in got["samples"][0]["stack"]], [*new, INSERT, "login", "main"])
    got = json.loads(t.succeeds("show", "none", "a", "--json").text)
    t.check(INSERT in [frame["function"] for one in got["stacks"] for frame in one["stack"]], "JSON of two")
    t.contains(t.succeeds("show", "a", "--raw").text, INSERT)
    for pattern in ("std::set<std::string>::insert$", "char_traits<char>.*::insert$", "^login$"):
        for option, kept in (("focus", 2), ("ignore", 0)):
            for form in ("--raw", "--folded"):
                t.contains(t.run("show", "a", form, f"--{option}={pattern}").err, f"kept: {kept} of 2 samples")
            t.equal(len(json.loads(t.succeeds("show", "a", "--json", f"--{option}={pattern}").text)["samples"]), kept)
    # Without the underscore functions, the leaf is that of the program.
    t.write("b", profile([((*new, "login", "main"), [1, 10, 1, 10])]))
    t.equal(t.run("show", "b", "--folded").text, "main;login 10\n")


def test_many_types_that_do_not_fit(t):
    kinds = [f"kind_number{i}/count" for i in range(12)]
    t.write("a", profile([(("f", "main"), [10**9 + i for i in range(12)])], types=kinds,
                         default="kind_number11"))
    text = t.succeeds("show", "a").text
    t.check(all(len(line) <= 80 for line in text.splitlines()[16:-1]), text)
    t.contains(text, "no room for ", " other types: use --type\n", "by kind_number11")
    t.contains(text.splitlines()[-3], str(10**9 + 11))


def test_names_are_shown_safely(t):
    evil = "evil\x1b]0;title\x07\nname\u202e\x9b".encode() + b"\xff"
    t.write("a", profile([((evil, "main"), [1, 1, 1, 1])], comments=["\x1b[2Jcleared"]))
    for form in ((), ("--folded",), ("--raw",)):
        result = t.succeeds("show", "a", *form)
        t.lacks(result.text, "\x1b", "\x07", "\u202e", "\x9b")
        t.check(b"\xff" not in result.out, "a stray byte got through")
    t.lacks(terminal(t, 200, "show", "a"), "\x1b", "\x07")
    t.contains(t.succeeds("show", "--folded", "a").text, "evil\\x1b]0:title\\x07\\x0aname")


def test_json(t):
    labelled = Stack("f", "main", labels={"k": 'v"\n', "n": 7})
    t.write("a", gz(profile([(labelled, [1, -2]), ((), [2**63 - 1, 3])],
                            types=["x/count", "y/bytes"], time=T1, duration=6, comments=["c"],
                            doc_url="u", default="x", period=3, period_type="p/q")))
    got = json.loads(t.succeeds("show", "--json", "a").text)
    samples = got.pop("samples")
    size = got.pop("inflated_bytes")
    t.check(size > 100, str(size))
    t.equal(got, {
        "file": "a", "format": "gzip", "is_delta": False, "time": "2023-11-14T22:14:20Z",
        "time_nanos": T1, "duration_nanos": 6, "period_type": {"type": "p", "unit": "q"},
        "period": 3, "default_sample_type": "x", "drop_frames": "", "keep_frames": "",
        "doc_url": "u", "comments": ["c"],
        "mappings": [{"file": "app", "build_id": "", "start": "0x400000", "limit": "0x900000",
                      "offset": "0x0"}],
        "types": [{"type": "x", "unit": "count", "total": 2**63, "kept": 2**63},
                  {"type": "y", "unit": "bytes", "total": 1, "kept": 1}],
        "chosen_type": 0, "filters": [], "otlp": None})
    t.equal(samples[0]["values"], [1, -2])
    t.equal([frame["function"] for frame in samples[0]["stack"]], ["f", "main"])
    t.equal(samples[0]["stack"][0]["mapping"], "app")
    t.equal(samples[0]["labels"], [{"key": "k", "str": 'v"\n'},
                                   {"key": "n", "num": 7, "unit": "bytes"}])
    t.equal(samples[1], {"values": [2**63 - 1, 3], "stack": [], "labels": []})


def test_json_of_odd_bytes(t):
    t.write("a", profile([((b"\xff\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf", "main"),
                           [1, 1, 1, 1])], comments=["tab\tnul-free \x7f é 漢 😀"]))
    got = json.loads(t.succeeds("show", "--json", "a").out)
    t.equal(got["samples"][0]["stack"][0]["function"],
            "\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd")
    t.equal(got["comments"], ["tab\tnul-free \x7f é 漢 😀"])


def test_what_cannot_be_shown(t):
    padded = b"\xfa\x86\x80\x80\x80\x80\x00\x00"  # a tag of seven bytes, and a length
    t.write("bad", cur() + b"\x0a")
    t.write("padded", cur() + padded)
    t.succeeds("check", "padded")
    for form in ((), ("--raw",), ("--json",), ("--folded",)):
        for name, said in (("bad", ["(at byte "]), ("padded", ["cannot show: a tag or a length takes more than 5 bytes, "
                                                               "or a field more than 2 GiB\n"])):
            result = t.fails(1, "show", name, *form)
            t.contains(result.err, f"pprofdelta: {name}: ", *said)
            t.equal(result.out, b"")


RSS = ("alloc_space/bytes", "rss_space/bytes")


def test_the_parts_of_a_hostile_file_are_bounded(t):
    t.write("many.pb", profile([((f"[part {i}]",), (0, 1000 - i)) for i in range(300)], types=RSS, addresses=False))
    t.contains(t.succeeds("show", "many.pb").text, "          and more: --type rss_space\n", "resident  249KiB\n")  # 300 * 1000 - 299 * 150


# ---- large profiles, and small ones that stand for large ones ---------------------------------------------


def deep(name, lines, samples, depth):
    """A few bytes for samples * depth * lines frames."""
    w = Writer(["alloc_space/bytes"])
    w.function(1, name)
    w.location(1, 0, 0, [(1, 1)] * lines)
    sample = chunk(2, chunk(1, b"\x01" * depth) + packed(2, [10]))
    return w.bytes() + sample * samples


def test_a_stack_of_very_many_inlined_calls(t):
    """The table looks at each frame of a location once in a stack, whatever is done with its frames."""
    for name in ("work", "malloc", "_start"):
        t.write(name, gz(deep(name, 5000, 400, 5000)))
        t.contains(t.succeeds("show", name).text, f"3.91KiB  100.0%  3.91KiB  100.0%  {name}\n")
    for args in (("--all-frames",), ("--focus=work",), ("--hide=other",)):
        t.contains(t.succeeds("show", "work", *args).text, "3.91KiB  100.0%  3.91KiB  100.0%  work\n")
    t.contains(t.succeeds("show", "work", "--hide=work").text, "3.91KiB  100.0%  3.91KiB  100.0%  (hidden)\n")
    for args in (("--folded",), ("--json",), ("--stacks",), ("--flame=page.html",), ("--peek=work",)):
        result = t.fails(1, "show", "work", *args)
        t.contains(result.err, "work: its stacks have more than 17317760", " frames", "--raw shows")
        t.equal(result.out, b"")
    t.check(peak_of(t, "show", t.path("work")) < peak_of(t, "check", t.path("work")) + 16, "stacks were unfolded")
    # What is not so much is printed as before.
    t.write("less", deep("f", 3, 2, 2))
    t.equal(t.succeeds("show", "less", "--folded").text, "f;f;f;f;f;f 20\n")


def test_memory_is_that_of_the_bytes(t):
    """At most twice the inflated size, beside the command itself, in the forms that sort stacks, too."""
    ids = random.Random(19).randbytes(1 << 20).translate(bytes(i % 100 + 1 for i in range(256)))
    w = Writer(["alloc_space/bytes"])
    for i in range(100):
        w.function(i + 1, f"f{i}")
        w.location(i + 1, 0, 0, [(i + 1, 1)])
    body = b"".join(chunk(2, chunk(1, ids[i * 7:i * 7 + 300]) + b"\x10\x07") for i in range(100000))
    data = w.bytes() + body
    t.write("large", data)
    t.write("small", w.bytes() + body[:10000])
    for args in ((), ("--stacks",), ("--raw", "--focus=nothing"), ("--json", "--ignore=f")):
        more = peak_of(t, "show", t.path("large"), *args) - peak_of(t, "show", t.path("small"), *args)
        t.check(more < 2 * len(data) / (1 << 20), f"{args}: {more:.0f} MiB for {len(data) >> 20}")
    # The limit counts what the forms keep, too.
    limit = f"--max-memory={len(data) + (1 << 20)}"
    t.contains(t.fails(1, "show", "large", "--stacks", limit).err, "large: ", "takes more memory than the limit",
               "--max-memory=SIZE raises the limit")
    t.succeeds("show", "large", limit)


def test_samples_in_every_encoding(t):
    """The ids of a sample in one piece or in several, with and without the table of ids in order."""
    def whole(samples, ids):
        w = Writer(["n/count"])
        for i, at in enumerate(ids):
            w.function(at, f"f{i}", "a.c")
            w.location(at, 0, 0, [(at, i + 1)] * (i % 2 + 1))
        return w.bytes() + b"".join(chunk(2, body) for body in samples)

    def path(kind, ids, value):
        one, rest = ids[0], ids[1:]
        v = number(2, value)
        return {"packed": packed(1, ids) + v,
                "behind": v + packed(1, ids),
                "single": b"".join(number(1, i) for i in ids) + v,
                "mixed": number(1, one) + packed(1, rest) + v,
                "pieces": packed(1, [one]) + packed(1, rest) + v,
                "apart": number(1, one) + v + b"".join(number(1, i) for i in rest),
                "long": b"".join(b"\x88\x00" + varint(i) for i in ids) + v}[kind]

    forms = ((), ("--stacks",), ("--folded",), ("--raw",), ("--json",), ("--hide=f1",), ("--folded", "--focus=f2"))
    for ids in ((1, 2, 3, 4), (7, 300, 5, 100000)):
        stacks = [[ids[0], ids[3]], [ids[1], ids[2], ids[3]], [ids[0], ids[0], ids[1], ids[3]]]
        want = None
        for kind in ("packed", "behind", "single", "mixed", "pieces", "apart", "long"):
            t.write("p", whole([path(kind, stack, i + 1) for i, stack in enumerate(stacks)], ids))
            got = [re.sub(r'"inflated_bytes": \d+', "", t.succeeds("show", "p", *args).text) for args in forms]
            want = want or got
            t.equal(got, want, kind)
        t.contains(want[2], "f3;f3;f0 1\n", "f3;f3;f1;f1;f0;f0 3\n", "f3;f3;f2;f1;f1 2\n")


def test_frames_of_an_interpreter_are_folded(t):
    """CPython's own frames are hidden where the stack has a frame of Python, and only there."""
    w = Writer(HEAP)
    files = {"python3.11": 1, "libnumpy.so": 2}
    frames = [("PyDataMem_NEW", "", "libnumpy.so"), ("_PyEval_EvalFrameDefault", "", "python3.11"), ("rows.load", "/srv/rows.py", ""),
              ("Py_RunMain", "", "python3.11"), ("list_resize", "", "python3.11")]
    for stack in ((1, 2, 3, 4), (5, 2, 3, 4), (5, 4)):
        w.sample(stack, [1, 10, 1, 10], [])
    for i, (name, source, module) in enumerate(frames, 1):
        w.location(i, files.get(module, 0), 0x1000 * i if module else 0, [(i, 7)])
        w.function(i, name, source)
    for name, i in files.items():
        w.mapping(i, 0x1000, 0x100000, 0, "/usr/lib/" + name, "", number(7, 1))
    t.write("p", w.bytes())
    t.equal(t.succeeds("show", "p", "--folded").text.splitlines(),
            ["Py_RunMain;list_resize 10", "rows.load 10", "rows.load;PyDataMem_NEW 10"])
    t.contains(t.succeeds("show", "p", "--stacks").text, "rows.load", "/srv/rows.py:7")
    t.contains(t.succeeds("show", "p", "--folded", "--all-frames").text,
               "Py_RunMain;rows.load;_PyEval_EvalFrameDefault;PyDataMem_NEW 10")
    t.contains(t.succeeds("show", "p").text, "hidden    3 wrapper and start-up functions")
