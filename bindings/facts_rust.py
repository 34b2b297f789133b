"""Makes what the Rust crates know of the library, from the public headers: see facts.py.

    ffi       the declarations: pprofdelta-sys/src/ffi.rs
    layout    what its test holds against a C compiler: pprofdelta-sys/tests/layout/table.rs
    answers   the structs that the library fills, and its enums, as Rust has them: pprofdelta/src/answers.rs

The headers are written in a form that these patterns know. A declaration in another form ends the program.
"""

import re
import textwrap

TYPES = {"uint64_t": "u64", "int64_t": "i64", "uint32_t": "u32", "uint8_t": "u8", "size_t": "usize", "int": "c_int",
         "unsigned": "c_uint", "char": "c_char", "void": "c_void"}
DECLARATION = re.compile(r"(const )?(?:struct )?(\w+) ?((?:\* ?(?:const ?)?)*)(\w+)?((?:\[\w+\])?)")
CALLBACK = re.compile(r"([\w ]+?\**) ?\(\*(\w+)\)\((.*)\)")


class Headers:
    """What is declared: structs, enums, types of functions, and functions."""

    def __init__(self, text):
        text = " ".join(re.sub(r"/\*.*?\*/", " ", re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M), flags=re.S).split())
        self.callbacks = dict(re.findall(r"typedef (\w+ (?:pprofdelta_\w+))\((.*?)\);", text))
        self.callbacks = {key.split()[1]: (key.split()[0], arguments) for key, arguments in self.callbacks.items()}
        self.structs = {name: self.members(body) for name, body in
                        re.findall(r"typedef struct pprofdelta_\w+ { (.*?) } (pprofdelta_\w+);", text) for body, name in [(name, body)]}
        self.opaque = [name for name in re.findall(r"struct (pprofdelta(?:_\w+)?)\b(?! {)", text) if name not in self.structs]
        self.opaque = sorted(set(self.opaque))
        self.enums = [(name, self.enumerators(body)) for body, name in re.findall(r"\benum (?:pprofdelta_\w+ )?{ (.*?) }(?: (pprofdelta_\w+))?;", text)]
        self.functions = re.findall(r"PPROFDELTA_API ([\w ]+?\**) ?(pprofdelta_\w+)\((.*?)\);", text)

    @staticmethod
    def enumerators(body):
        found, value = [], -1
        for name, given in re.findall(r"(\w+)(?: = ([^,]+))?", body):
            value = eval(given.replace("u", "")) if given else value + 1  # pylint: disable=eval-used
            found.append((name, value))
        return found

    def members(self, body):
        found = []
        for declared in body.split(";"):
            declared = declared.strip()
            callback = CALLBACK.fullmatch(declared)
            if callback:
                found.append((callback[2], self.function_type(callback[1], callback[3])))
                continue
            first, *others = declared.split(", ")
            base = re.match(r"(?:const )?(?:struct )?\w+", first)[0] if declared else ""
            for one in [first, *(f"{base} {other}" for other in others)] if declared else []:
                found.append(self.declared(one))
        return found

    def declared(self, text):
        """The name and the type of a member or parameter."""
        is_const, base, stars, name, array = DECLARATION.fullmatch(text).groups()
        if base in self.callbacks:
            return name, self.function_type(*self.callbacks[base])
        kind = TYPES.get(base, base)
        for star in re.findall(r"\*(?: ?const)?", stars):
            kind, is_const = f"*{'const' if is_const else 'mut'} {kind}", "const" in star
        return name, f"[{kind}; {array[1:-1]}]" if array else kind

    def parameters(self, text):
        return [self.declared(one.strip()) for one in text.split(", ")] if text != "void" else []

    def result(self, text):
        return "" if text == "void" else " -> " + self.declared(text + " " * (text[-1] != "*") + "result")[1]

    def function_type(self, result, arguments):
        kinds = ", ".join(kind for _, kind in self.parameters(arguments))
        return f'Option<unsafe extern "C" fn({kinds}){self.result(result)}>'


def raw(name):
    return f"r#{name}" if name in ("type", "match", "ref") else name


def ffi(headers):
    out = ["// The declarations of pprofdelta_common.h, pprofdelta.h and pprofdelta_heap.h. The headers have the contract.",
           "// Made by bindings/facts.py from these headers. Do not edit.\n", "use crate::PPROFDELTA_HEAP_FILTER_LEN;",
           "use core::ffi::{c_char, c_int, c_uint, c_void};\n"]
    for name, enumerators in headers.enums:
        out += [f"pub type {name} = c_uint;"] if name else []
        out += [f"pub const {one}: {name or 'c_uint'} = {value};" for one, value in enumerators] + [""]
    for name in headers.opaque:
        out += ["#[repr(C)]", f"pub struct {name} {{", "    _private: [u8; 0],", "}\n"]
    for name, members in headers.structs.items():
        out += ["#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
        out += [f"    pub {raw(member)}: {kind}," for member, kind in members] + ["}\n"]
    out.append('extern "C" {')
    for result, name, arguments in headers.functions:
        parameters = [f"{raw(one)}: {kind}" for one, kind in headers.parameters(arguments)]
        line = f"    pub fn {name}({', '.join(parameters)}){headers.result(result)};"
        out += [line] if len(line) <= 100 else [f"    pub fn {name}(", *(f"        {one}," for one in parameters),
                                                f"    ){headers.result(result)};"]
    return "\n".join(out) + "\n}\n"


def layout(headers):
    out = ["// What C must say of the declarations. Made by bindings/facts.py from the headers. Do not edit.\n", "use pprofdelta_sys::*;\n",
           "pub fn assertions() -> Vec<String> {", "    vec!["]
    for name, members in headers.structs.items():
        out.append(f"        size!({name}),")
        out += [f"        offset!({name}, {raw(member)})," for member, _ in members]
    out += [f"        constant!({one})," for _, enumerators in headers.enums for one, _ in enumerators]
    return "\n".join(out) + "\n    ]\n}\n"


# ---- the structs and enums of the crate pprofdelta -------------------------------------------------

ENUMS = {"status": "The kind of an [`Error`](crate::Error).",
         "reason": "Why a call failed, where a [`Status`] has several reasons that a caller may handle differently.",
         "stage": "The part of the library that failed.",
         "restart": "Why a window counts as a restart of the target.",
         "on_reset": "What to do when a counter went backwards or the target restarted.",
         "first": "What the first window of an empty context is.",
         "compression": "Compression of the output.",
         "format": "The format of the output."}
STRUCTS = {"type_report": "The sums of one type over all samples.", "report": "What a window found."}
LEFT_OUT = ("OK", "TABLES")
PREFIX = {"status": "E_", "compression": "", "format": "", "reason": "REASON_"}
KINDS = {"bool": ("bool", "from.{0} != 0"), "u64": ("u64", "from.{0}"), "i64": ("i64", "from.{0}"), "nanos": ("i64", "from.{0}"),
         "span": ("i64", "from.{0}"), "text": ("String", "text(from.{0})"), "sum": ("i128", "sum(from.{0})")}
# What only a caller in C must know, and the names of C.
WORDS = [(r"NUL-terminated; a NUL in the name ends it early", ""), (r"(?:PPROFDELTA_)?E_(\w+)", r"`Status::\1`"), (r"options\.", ""),
         (r"PPROFDELTA_FORCE", "`force`"), (r"PPROFDELTA_ON_RESET_RESTART", "`OnReset::Restart`"), (r"PPROFDELTA_RESTART_LIVE", "`Restart::Live`"),
         (r"pprofdelta_set_started", "`Context::set_started`"), (r"; or the library was built without compression libraries", ""),
         (r"\bFORCE\b", "`force`"), (r"with PPROFDELTA_NO_SEQUENCE", "without a sequence"), (r"pprofdelta_heap\.h", "the header pprofdelta_heap.h"),
         (r" A library that was built without .*", ""), (r"A profile in PPROFDELTA_OTLP .*", "")]


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def docs(comment, indent, is_bool=False):
    if is_bool:
        comment = re.sub(r"^0: ", "False: ", re.sub(r"^1: ", "", comment)).replace("Never 1", "Never true")
    for pattern, word in WORDS:
        comment = re.sub(pattern, word, comment)
    comment = re.sub(r"`Status::(\w+)`", lambda found: f"`Status::{camel(found[1])}`", comment).strip()
    comment = re.sub(r"PPROFDELTA_(\w+)", lambda found: f"`{camel(found[1])}`", comment)
    comment = re.sub(r"([\[\]<>])", r"\\\1", comment) or "See the header."
    return [f"{indent}/// {line}" for line in textwrap.wrap(comment[0].upper() + comment[1:], 92)]


def receivers(rows):
    named = [(camel(word.lower()), camel(form.lower()), camel(how.lower())) for word, form, how in rows]
    out = ["", "/// A receiver of profiles: what it takes, as `--for` of the command has it.", "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]",
           "#[non_exhaustive]", "pub enum Receiver {"]
    for word, form, how in named:
        out += [f"    /// [`Format::{form}`], [`Compression::{how}`], and what is in use.", f"    {word},"]
    out += ["}", "", "impl Receiver {", "    pub(crate) fn takes(self) -> (Format, Compression) {", "        match self {"]
    out += [f"            Self::{word} => (Format::{form}, Compression::{how})," for word, form, how in named]
    return "\n".join([*out, "        }", "    }", "}", ""])


def answers(structs, enums):
    out = ["// The enums of the library, and what it returns. Made by bindings/facts.py from the headers. Do not edit.\n",
           "use crate::error::{sum, text};", "use pprofdelta_sys as sys;\n"]
    for name, about in ENUMS.items():
        prefix = PREFIX.get(name, name.upper() + "_")
        values = [(number, enumerator, comment) for number, (enumerator, comment) in enumerate(enums[name]) if enumerator not in LEFT_OUT]
        is_answer = name in ("status", "reason", "stage", "restart")
        out += [f"/// {about}", "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash" + ("" if is_answer else ", Default") + ")]",
                "#[non_exhaustive]", f"pub enum {camel(name)} {{"]
        for number, enumerator, comment in values:
            out += docs(comment, "    ") if comment else [f"    /// `PPROFDELTA_{enumerator}`."]
            out += ["    #[default]"] * (not is_answer and number == 0) + [f"    {camel(enumerator.removeprefix(prefix))} = {number},"]
        if is_answer:
            out += ["    /// A value that this version of the crate does not know.", "    Unknown = -1,"]
        out.append("}\n")
        if is_answer:
            out += [f"impl {camel(name)} {{", f"    pub(crate) fn from_raw(value: sys::pprofdelta_{name}) -> Self {{", "        match value {"]
            out += [f"            {number} => Self::{camel(enumerator.removeprefix(prefix))}," for number, enumerator, _ in values]
            out += ["            _ => Self::Unknown,", "        }", "    }", "}\n"]
    for name, about in STRUCTS.items():
        out += [f"/// {about}", "#[derive(Clone, Debug, PartialEq)]", "#[non_exhaustive]", f"pub struct {camel(name)} {{"]
        for member in structs[name]:
            kind = {"enum": camel(member.of), "list": f"Vec<{camel(member.of)}>"}.get(member.kind) or KINDS[member.kind][0]
            out += docs(member.comment, "    ", member.kind == "bool") if member.comment else [f"    /// `{member.name}`"]
            out.append(f"    pub {raw(member.name)}: {kind},")
        out += ["}\n", f"impl {camel(name)} {{", "    /// # Safety", "    /// `from` was filled by the library, and what it points to is valid.",
                f"    pub(crate) unsafe fn from_raw(from: &sys::pprofdelta_{name}) -> Self {{", "        Self {"]
        for member in structs[name]:
            if member.kind == "enum":
                value = f"{camel(member.of)}::from_raw(from.{member.name})"
            elif member.kind == "list":
                value = f"crate::error::list(from.{member.name}, from.{member.name}_len, from.{member.name}_stride, |one| {camel(member.of)}::from_raw(one))"
            else:
                value = KINDS[member.kind][1].format(raw(member.name))
            out.append(f"            {raw(member.name)}: {value},")
        out += ["        }", "    }", "}\n"]
    return "\n".join(out).rstrip() + "\n"
