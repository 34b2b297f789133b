#!/usr/bin/env python3
"""Makes what the bindings know of the structs that the library fills, and of its enums, from the public headers.

    bindings/facts.py            writes the files
    bindings/facts.py --check    fails if a file is not what it would write

The headers are the table of facts: the members of a struct, their types and their comments. A new member of a
report needs no other file of a binding. The order of the members is everywhere that of the header.

    bindings/wasm/answers.h                     puts a struct into the answer of the module
    bindings/go/pprofdelta/answers.go           the types in Go, and how an answer is read
    bindings/python/src/answers.c               a struct as a tuple
    bindings/python/pprofdelta/_answers.py      the dataclasses, and how one is made of a tuple
    bindings/rust/...                           the declarations, and the structs in Rust: see facts_rust.py
"""

import itertools
import os
import re
import sys
import textwrap
from dataclasses import dataclass

import facts_rust

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "lib", "include")
COMMON = os.path.join(INCLUDE, "pprofdelta_common.h")
HEADERS = [os.path.join(INCLUDE, name) for name in ("pprofdelta.h", "pprofdelta_profile.h", "pprofdelta_common.h")]
STRUCTS = ["type_report", "report", "memory", "stamp", "census"]
ENUMS = ["restart", "live", "join", "status", "reason", "on_reset"]
PY_ENUMS = ["stage", "first", "compression", "format"]  # besides: Go has them in its options
PY_NOT_COMPARED = ["memory.bytes"]  # two contexts that remember the same are equal
PY_LISTS = ["restart", "live", "join"]  # a number is made one of these
PREFIXES = {"status": "E_", "compression": "", "format": ""}  # of the enumerators, where it is not the name
# The value in Python, where it is not the name: as in --report=json, and as in options of the command.
VALUES = {"RESTART_ANY": "decrease", "PLAIN": "none", "OTLP_PARCA": "otlp-parca", "OTLP_PLAIN": "otlp-plain"}
MADE = "Made by bindings/facts.py from pprofdelta.h. Do not edit."


@dataclass
class Member:
    name: str
    kind: str  # bool, u64, i64, nanos, span, text, bytes (text with a length), sum, list, enum or struct
    of: str  # the name of the enum or struct, or of the list's struct
    comment: str

    @property
    def go(self):
        words = self.name.removesuffix("_nanos").split("_")
        return "".join("ID" if word == "id" else word.capitalize() for word in words)


def sentence(comment):
    """The text of a comment, or of several, on one line."""
    return " ".join(re.sub(r"/\*|\*/|\n\s*\*(?!/)", " ", comment).split())


def kind_of(name, declared):
    """The kind and what it is of, of a member that is declared so; None: a length, or bytes that bindings do not have."""
    plain = declared.removeprefix("const ").removeprefix("pprofdelta_")
    if declared in ("size_t", "const uint8_t *"):
        return None
    if declared == "int":
        return "bool", ""
    if declared == "uint64_t":
        return "u64", ""
    if declared == "int64_t":
        return ("span" if name.startswith("duration") else "nanos") if name.endswith("_nanos") else "i64", ""
    if declared == "const char *":
        return "text", ""
    if declared == "pprofdelta_sum":
        return "sum", ""
    if plain.removesuffix(" *") in STRUCTS:
        return ("list" if plain.endswith("*") else "struct"), plain.removesuffix(" *")
    if plain in ENUMS:
        return "enum", plain
    raise SystemExit(f"facts.py: {declared} {name}: a kind of member that is not known")


ITEM = re.compile(r"((?:/\*.*?\*/\s*)*)([^;/]+);((?:[ \t]*/\*.*?\*/)?)", re.S)


def members_of(body):
    members = []
    for before, declaration, behind in ITEM.findall(body):
        declared, names = re.fullmatch(r"((?:const )?\w+(?: \*)?) ?(.*)", " ".join(declaration.split())).groups()
        comment = sentence(before + behind)
        for name in names.replace("*", "").split(","):
            found = kind_of(name.strip(), declared)
            if found:
                members.append(Member(name.strip(), *found, comment))
            elif declared == "size_t" and name.strip().removesuffix("_len") in {m.name for m in members if m.kind == "text"}:
                next(m for m in members if m.name == name.strip().removesuffix("_len")).kind = "bytes"
            comment = ""
    return members


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read(paths):
    """The structs and the enums of the headers: of each, its members or enumerators. A comment that is the name of an
    enumerator, such as E_LIMIT, is before all those that belong to it."""
    text = "".join(text_of(path) for path in [COMMON, *paths])
    structs, enums = {}, {}
    for name in STRUCTS:
        body = re.search(rf"typedef struct pprofdelta_{name} {{(.*?)\n}} pprofdelta_{name};", text, re.S)
        structs[name] = members_of(body[1])
    for name in [*ENUMS, *PY_ENUMS]:
        body = re.search(rf"typedef enum pprofdelta_{name} {{(.*?)}} pprofdelta_{name};", text, re.S)
        found = re.findall(r"((?:/\*.*?\*/\s*)*)PPROFDELTA_(\w+)(?: = 0)?,?[ \t]*((?:/\*.*?\*/)?)", body[1], re.S)
        enums[name], of = [], ""
        for before, enumerator, behind in found:
            heading = re.match(r"/\* (E_\w+) \*/", before)
            of = heading[1] + ": " if heading else of
            enums[name].append((enumerator, of + sentence(before[heading.end():] + behind if heading else before + behind)))
    return structs, enums


def camel(name):
    return "".join("ID" if word.lower() == "id" else word.capitalize() for word in name.split("_"))


def word_of(name, enumerator):
    """What an enumerator is called in an enum: RESTART_ANY is ANY."""
    return enumerator.removeprefix(PREFIXES.get(name, name.upper() + "_"))


def value_of(name, enumerator):
    return VALUES.get(enumerator, word_of(name, enumerator).lower())


# ---- WebAssembly: bindings/wasm ------------------------------------------------------------------

PUT = {"bool": "put32({0} != 0);", "u64": "put64({0});", "i64": "put64((uint64_t){0});", "nanos": "put64((uint64_t){0});",
       "span": "put64((uint64_t){0});", "text": "put_text({0});", "bytes": "put_bytes({0}, {0}_len);",
       "sum": "put_sum({0});", "enum": "put32((uint32_t){0});", "struct": "put_{1}(&{0});", "list": "put32((uint32_t){0}_len);\n    for (size_t i = 0; i < {0}_len; i++)\n        put_{1}(PPROFDELTA_TYPE(from, i));"}


def order(structs):
    """Structs before those that contain them."""
    return sorted(structs, key=lambda name: any(member.kind in ("list", "struct") for member in structs[name]))


def wasm(structs, _enums):
    out = [f"/* Puts structs of the library into the answer of the module: see glue.h. {MADE} */", "/* clang-format off */\n"]
    for name in order(structs):
        out.append(f"static void put_{name}(const pprofdelta_{name} *from)\n{{")
        out += ["    " + PUT[member.kind].format(f"from->{member.name}", member.of) for member in structs[name]]
        out.append("}\n")
    return "\n".join(out).rstrip() + "\n"


# ---- Go: bindings/go -----------------------------------------------------------------------------

GO_TYPE = {"bool": "bool", "u64": "uint64", "i64": "int64", "nanos": "time.Time", "span": "time.Duration",
           "text": "string", "bytes": "string", "sum": "Int128"}
GO_READ = {"bool": "a.flag()", "u64": "a.u64()", "i64": "a.i64()", "nanos": "a.time()", "span": "time.Duration(a.i64())",
           "text": "a.text()", "bytes": "a.text()", "sum": "a.sum()"}
GO_NAME = {"memory": "remembered"}  # where the struct has another name
GO_MEMBER = {"census.format": "Encoding"}  # and where the member has
GO_ABOUT = {
    "type_report": "TypeReport has the sums of one type over all samples.",
    "report": "Report is what a window found.",
    "memory": "Remembered is what a computer remembers (see [Computer.Describe]).",
    "stamp": "Stamp is the stamp of a profile that pprofdelta wrote.",
    "census": "Census is what [Check] found in a valid profile.",
    "restart": "Restart says why a window counts as a restart of the target.",
    "live": "Live is the kind of a live heap's profile (see pprofdelta_heap(3)).",
    "join": "Join says how a profile joined a sum.",
    "status": "Status is the kind of an [Error]. Each is an error, so that errors.Is(err, pprofdelta.ErrStamped) works. "
              "Those of this package alone are negative.",
    "reason": "Reason is why a call failed, where a [Status] has several reasons that a caller may handle differently.",
    "on_reset": "OnReset says what to do when a counter went backwards or the target restarted.",
}
GO_ENUM = {"status": "Err", "on_reset": "Reset"}  # how the names of the values begin, where it is not the type


# What only a caller in C must know, and the names of C.
GO_WORDS = [
    (r"(Not )?NUL-terminated[.;] (a NUL in the name ends it early|Valid as long as the profile\.)", ""),
    ("Static: ", ""), ("pprofdelta_set_started", "[Computer.SetStarted]"), ("context", "computer"),
    ("PPROFDELTA_ON_RESET_RESTART", "[ResetRestart]"), (r"options\.on_reset", "[WithOnReset]"), (r"options\.first\b", "[WithFirstZero]"),
    ("is_delta is also 0 if", "IsDelta is also false if"), ("is_delta is 0", "IsDelta is false"), ("to_nanos", "To"),
    ("given to the sink", "before they are compressed"), ("Never 1 with FORCE", "Never true with [WithForce]"),
    ("FORCE", "[WithForce]"), (r"\(pprofdelta_heap\.h\)", "(pprofdelta_heap(3))"),
    ("the allocator returned NULL", "there is no memory for the call"), (r"options\.max_memory", "[WithMaxMemory]"),
    ("; or the library was built without compression libraries", ""), ("is FAIL", "is [ResetFail]"), ("this library", "the library"),
    ("the sink refused the output", "the writer failed; the error also wraps the writer's error"), (r"\bmax_memory", "[WithMaxMemory]"),
    ("the source failed", "the reader failed; the error also wraps the reader's error"), ("options.counters", "[WithCounters]"),
]


def go_words(text, kind=""):
    if kind == "bool":
        text = re.sub(r"^0: ", "false: ", re.sub(r"^1: ", "", text))
    text = text.replace("PPROFDELTA_FORCE", "FORCE")
    for pattern, word in GO_WORDS:
        text = re.sub(pattern, word, text)
    text = re.sub(r"(?:PPROFDELTA_|\b)E_(\w+)\b", lambda found: f"[Err{camel(found[1])}]", text)
    return re.sub(r"(?:PPROFDELTA_|\b)((?:LIVE|RESTART|JOIN|FIRST)_\w+)\b", lambda found: camel(found[1]), text)


def go_comment(text, indent, kind=""):
    return [f"{indent}// {line}" for line in textwrap.wrap(go_words(text, kind), 96)]


def go_type(name):
    return camel(GO_NAME.get(name, name))


def go_reader(name):
    return go_type(name)[0].lower() + go_type(name)[1:]


def go_member(name, member):
    return GO_MEMBER.get(f"{name}.{member.name}", member.go)


def go(structs, enums):
    with open(COMMON, encoding="utf-8") as file:
        version = re.search(r'#define PPROFDELTA_VERSION "(.*)"', file.read())[1]
    out = [f"// {MADE.replace('Made', 'Code generated', 1).replace('Do not edit', 'DO NOT EDIT')}\n", "package pprofdelta\n",
           'import "time"\n', "// Version returns the version of the C library that is built in. Its states and bytes are the same everywhere.",
           f'func Version() string {{ return "{version}" }}\n']
    for name, members in structs.items():
        out += go_comment(GO_ABOUT[name], "") + [f"type {go_type(name)} struct {{"]
        for i, member in enumerate(members):
            kind = {"enum": camel(member.of), "struct": go_type(member.of), "list": "[]" + go_type(member.of)}.get(
                member.kind) or GO_TYPE[member.kind]
            out += [""] * (i > 0) + go_comment(member.comment, "\t", member.kind) + [f"\t{go_member(name, member)} {kind}"]
        out.append("}\n")
    for name in ENUMS:
        enumerators, begin, first = enums[name], GO_ENUM.get(name, camel(name)), "iota"
        if enumerators[0][0] == "OK":
            enumerators, first = enumerators[1:], "iota + 1"
        out += go_comment(GO_ABOUT[name], "") + [f"type {camel(name)} int32\n", f"// The values of {camel(name)}.", "const ("]
        for i, (enumerator, comment) in enumerate(enumerators):
            out += [""] * (i > 0) + go_comment(comment, "\t")
            out.append(f"\t{begin}{camel(word_of(name, enumerator))}" + (f" {camel(name)} = {first}" if i == 0 else ""))
        out.append(")\n")
        if first == "iota":
            words = ", ".join(f'"{value_of(name, each)}"' for each, _ in enumerators)
            out += ["// String returns a word, as --report=json of the command does.", f"func (value {camel(name)}) String() string {{",
                    f'\treturn nameOf(value, "{camel(name)}", {words})', "}\n"]
    for name in order(structs):
        out += [f"func (a *answer) {go_reader(name)}() {go_type(name)} {{", f"\treturn {go_type(name)}{{"]
        for member in structs[name]:
            read_as = GO_READ.get(member.kind) or (
                f"{camel(member.of)}(a.u32())" if member.kind == "enum" else f"a.{go_reader(member.of)}()" if member.kind == "struct"
                else f"listOf(a, a.{go_reader(member.of)})")
            out.append(f"\t\t{go_member(name, member)}:{{pad}}{read_as},")
        width = max(len(go_member(name, member)) for member in structs[name])
        out = [line.replace("{pad}", " " * (1 + width - line.index(":") + 2)) if "{pad}" in line else line for line in out]
        out += ["\t}", "}\n"]
    return "\n".join(out).rstrip() + "\n"


# ---- Python: bindings/python ---------------------------------------------------------------------

PY_C = {"bool": ("N", "PyBool_FromLong({0} != 0)"), "u64": ("K", "(unsigned long long){0}"), "i64": ("L", "(long long){0}"),
        "nanos": ("L", "(long long){0}"), "span": ("L", "(long long){0}"), "text": ("N", "text_of({0}, strlen({0}))"),
        "bytes": ("N", "text_of({0}, {0}_len)"), "sum": ("N", "sum_of({0})"), "enum": ("i", "(int){0}"),
        "struct": ("N", "core_{1}(&{0})"), "list": ("N", "core_{1}s({0}, {0}_len, {0}_stride)")}
PY_TYPE = {"bool": "bool", "text": "str", "bytes": "str"}
PY_ABOUT = {
    "type_report": "One value type of a window, with its sums over all samples.",
    "report": "What went into a window and what came out.",
    "memory": "What a context remembers.",
    "stamp": 'The stamp of a profile that pprofdelta wrote. pprofdelta.h, "Sequence and attempt", has the rule\n'
             "    for receivers.",
    "census": "What a valid profile has.",
    "restart": "Why a window counts as a restart of the target. The values are those of `--report=json`.",
    "live": "The kind of a live heap's profile (pprofdelta_heap.h).",
    "join": "How a profile joined a sum.",
    "status": "What failed.",
    "reason": "Why a call failed, where a status has several reasons.",
    "on_reset": "What to do when a counter went backwards or the target restarted.",
    "stage": "The part of the library that failed.",
    "first": "What the first window of an empty context is.",
    "compression": "The compression of the output.",
    "format": "The format of the output.",
}


# The names of C, and what only a caller in C must know.
PY_WORDS = [
    (r"NUL-terminated; a NUL in the name ends it early|Static: | Not NUL- ?terminated\.| Valid as long as the profile\.", ""),
    (r"options\.on_reset is FAIL", '`on_reset` is "fail"'),
    (r"options\.counters and gauges", "the options `counters` and `gauges`"), (r"\boptions\.(\w+)", r"the option `\1`"),
    (r"with PPROFDELTA_ON_RESET_RESTART", 'with the option on_reset="restart"'), ("PPROFDELTA_E_RESET", "`ResetError`"),
    (r"PPROFDELTA_FORCE", "the option `force`"), (r"pprofdelta_set_started", "`Context.set_started`"),
    (r"\b(?:PPROFDELTA_|(?=LIVE_|JOIN_))(?:(LIVE|JOIN)_)?([A-Z]\w+)", lambda found: f"{(found[1] or 'Format').capitalize()}.{found[2]}"),
]


def py_comment(text, kind=""):
    if kind == "bool":
        text = re.sub(r"^(?:1|(0)): ", lambda found: "False: " if found[1] else "", text).replace("Never 1", "Never True")
        text = text.replace("is_delta is 0", "is_delta is False")
    for pattern, word in PY_WORDS:
        text = re.sub(pattern, word, text)
    return [f"    #: {line}" for line in textwrap.wrap(text, 100)]


PY_HELPERS = """\
static PyObject *text_of(const char *bytes, size_t len)
{
    return PyUnicode_DecodeUTF8(len ? bytes : "", (Py_ssize_t)len, "backslashreplace");
}

static PyObject *sum_of(pprofdelta_sum sum)
{
    PyObject *lo = PyLong_FromUnsignedLongLong(sum.lo), *hi = PyLong_FromLongLong(sum.hi);
    PyObject *bits = PyLong_FromLong(64), *high = hi && bits ? PyNumber_Lshift(hi, bits) : NULL;
    PyObject *whole = lo && high ? PyNumber_Or(high, lo) : NULL;
    Py_XDECREF(lo);
    Py_XDECREF(hi);
    Py_XDECREF(bits);
    Py_XDECREF(high);
    return whole;
}
"""


def python_c(structs, _enums):
    out = [f"/* The structs that the library fills, as tuples. {MADE} */", "/* clang-format off */", '#include "core.h"\n', "#include <string.h>\n",
           PY_HELPERS]
    lists = {member.of for members in structs.values() for member in members if member.kind == "list"}
    for name in order(structs):
        members = structs[name]
        inner = name in lists or any(member.of == name for each in structs.values() for member in each)
        out.append(f"{'static ' if inner else ''}PyObject *core_{name}(const pprofdelta_{name} *from)\n{{")
        codes = "".join(PY_C[member.kind][0] for member in members)
        values = [PY_C[member.kind][1].format(f"from->{member.name}", member.of) for member in members]
        out.append(f'    return Py_BuildValue("({codes})",\n' + " " * 25 + (",\n" + " " * 25).join(values) + ");\n}\n")
        if name in lists:
            out.append(f"static PyObject *core_{name}s(const pprofdelta_{name} *from, size_t len, size_t stride)\n{{\n"
                       "    PyObject *tuple = PyTuple_New((Py_ssize_t)len);\n"
                       "    for (size_t i = 0; tuple && i < len; i++) {\n"
                       f"        PyObject *one = core_{name}((const void *)((const char *)from + i * stride));\n"
                       "        if (!one || PyTuple_SetItem(tuple, (Py_ssize_t)i, one))\n"
                       "            Py_CLEAR(tuple);\n    }\n    return tuple;\n}\n")
    return "\n".join(out).rstrip() + "\n"


def python(structs, enums):
    out = [f'"""The enums of the library, and what it returns as frozen dataclasses. {MADE}\n',
           "Text from a profile (the names of types, files and build ids) is decoded as UTF-8. Bytes that are not",
           'UTF-8 are shown as \\\\\\\\xNN.\n"""\n', "from __future__ import annotations\n",
           "from dataclasses import dataclass, field", "from enum import StrEnum", "from typing import Any, Literal, TypeAlias\n"]
    for name, enumerators in enums.items():
        out += ["", f"class {camel(name)}(StrEnum):", f'    """{PY_ABOUT[name]}"""\n']
        for enumerator, comment in enumerators:
            word = "NONE" if enumerator == "PLAIN" else word_of(name, enumerator)
            out += py_comment(re.sub(r"^E_\w+: ", "", comment))
            out.append(f'    {word} = "{value_of(name, enumerator)}"')
        out += ["", "", f"{name.upper()}S = tuple({camel(name)})", ""] if name in PY_LISTS else [""]
    for name in order(structs):
        out += ["", "@dataclass(frozen=True, slots=True)", f"class {camel(name)}:", f'    """{PY_ABOUT[name]}"""\n']
        for member in structs[name]:
            kind = {"enum": camel(member.of), "struct": camel(member.of), "list": f"tuple[{camel(member.of)}, ...]"}.get(
                member.kind) or PY_TYPE.get(member.kind, "int")
            out += py_comment(member.comment, member.kind) + [
                f"    {member.name}: {kind}" + " = field(compare=False)" * (f"{name}.{member.name}" in PY_NOT_COMPARED)]
        values = []  # those that stay as they are in one slice
        for is_made, group in itertools.groupby(enumerate(structs[name]), lambda one: bool(one[1].of)):
            members = list(group)
            values += [f"*raw[{members[0][0]}:{members[-1][0] + 1}]"] if not is_made else [
                {"enum": f"{member.of.upper()}S[raw[{i}]]", "struct": f"{member.of}_of(raw[{i}])",
                 "list": f"tuple(map({member.of}_of, raw[{i}]))"}[member.kind] for i, member in members]
        out += ["", "", f"def {name}_of(raw: tuple[Any, ...]) -> {camel(name)}:",
                *textwrap.wrap(f"values = [{', '.join(values)}]", 116, initial_indent="    ", subsequent_indent="        "),
                f"    return {camel(name)}(*values)", ""]
    return "\n".join(out).rstrip() + "\n"


# ---- what receivers take -------------------------------------------------------------------------

def receivers(text):
    """Of each row of PPROFDELTA_RECEIVERS: the word, and the enumerators of the format and the compression."""
    rows = re.search(r"#define PPROFDELTA_RECEIVERS\b(.*?[^\\])\n", text, re.S)[1]
    return re.findall(r'\{"(\w+)", "[^"]*", "[^"]*", PPROFDELTA_(\w+), PPROFDELTA_(\w+), \d+\}', rows)


def go_receivers(rows):
    width = max(len(word) for word, _, _ in rows) + 4
    named = [(f'"{word}":', camel(form).replace("Otlp", "OTLP"), camel(how).replace("Plain", "None")) for word, form, how in rows]
    return "\n".join(["", "// receivers has what each takes, as --for of the command.", "var receivers = map[string]struct {", "\tformat      Format",
                      "\tcompression Compression", "}{", *(f"\t{word:{width}}{{{form}, {how}}}," for word, form, how in named), "}", ""])


def python_receivers(rows):
    words = ", ".join(f'"{word}"' for word, _, _ in rows)
    return "\n".join(["", "", f"ReceiverLike: TypeAlias = Literal[{words}]", "# What each takes, as --for of the command.",
                      "RECEIVERS: dict[str, tuple[Format, Compression]] = {",
                      *(f'    "{word}": (Format.{form}, Compression.{how.replace("PLAIN", "NONE")}),' for word, form, how in rows), "}", ""])


FILES = {"wasm/answers.h": wasm, "go/pprofdelta/answers.go": go, "python/src/answers.c": python_c,
         "python/pprofdelta/_answers.py": python, "rust/pprofdelta/src/answers.rs": facts_rust.answers}
RECEIVERS = {"go/pprofdelta/answers.go": go_receivers, "python/pprofdelta/_answers.py": python_receivers,
             "rust/pprofdelta/src/answers.rs": facts_rust.receivers}  # what follows in these
# Declarations, of the headers that the crate has.
RUST = {"rust/pprofdelta-sys/src/ffi.rs": facts_rust.ffi, "rust/pprofdelta-sys/tests/layout/table.rs": facts_rust.layout}
RUST_HEADERS = [COMMON, os.path.join(INCLUDE, "pprofdelta_heap.h")]


def made_of(headers):
    """What each file is for these headers."""
    structs, enums = read(headers)
    rows = receivers(text_of(COMMON))
    declared = facts_rust.Headers("\n".join(text_of(path) for path in [*RUST_HEADERS, headers[0]]))
    return {**{path: make(structs, enums) + RECEIVERS.get(path, lambda _: "")(rows) for path, make in FILES.items()},
            **{path: make(declared) for path, make in RUST.items()}}


def main(arguments):
    old = []
    for path, text in made_of(HEADERS).items():
        path = os.path.join(HERE, path)
        there = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                there = file.read()
        if there == text:
            continue
        old.append(os.path.relpath(path, os.path.join(HERE, "..")))
        if "--check" not in arguments:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    for path in old:
        print(f"facts.py: {path}: {'is not what pprofdelta.h says; run bindings/facts.py' if '--check' in arguments else 'written'}")
    return 1 if old and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
