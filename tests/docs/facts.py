#!/usr/bin/env python3
"""The table of facts: what the bindings know of the library's structs is what the headers say.

usage: facts.py SOURCE_ROOT"""

import os
import re
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(root, "bindings"), os.path.join(root, "tests", "support")]
sys.dont_write_bytecode = True

import facts  # noqa: E402
from checks import check, finish  # noqa: E402


def text_of(*path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


for path, text in facts.made_of(facts.HEADERS).items():
    check(f"bindings/{path} is what the header says", text == text_of("bindings", path), "run bindings/facts.py")

# A report with one member more: no file of a binding is written by hand for it.
header = text_of("lib", "include", "pprofdelta.h")
member = "    uint64_t lost_windows; /* windows that never arrived */\n} pprofdelta_report;"
with tempfile.NamedTemporaryFile("w", suffix=".h", encoding="utf-8") as file:
    file.write(header.replace("\n} pprofdelta_report;", "\n" + member))
    file.flush()
    longer = facts.made_of([file.name, *facts.HEADERS[1:]])
for path, expected in {
    "wasm/answers.h": "    put64(from->lost_windows);\n",
    "go/pprofdelta/answers.go": "\t// windows that never arrived\n\tLostWindows uint64\n",
    "python/src/answers.c": "(unsigned long long)from->lost_windows",
    "rust/pprofdelta-sys/src/ffi.rs": "    pub lost_windows: u64,\n",
    "rust/pprofdelta-sys/tests/layout/table.rs": "offset!(pprofdelta_report, lost_windows)",
    "rust/pprofdelta/src/answers.rs": "    /// Windows that never arrived\n    pub lost_windows: u64,\n",
    "python/pprofdelta/_answers.py": "    #: windows that never arrived\n    lost_windows: int\n",
}.items():
    check(f"a new member is in bindings/{path}", expected in longer[path], longer[path])

# An option that the bindings do not have, or under another name, is named here.
options = re.search(r"typedef struct pprofdelta_options {(.*?)\n} pprofdelta_options;", header, re.S)[1]
names = {name for declared in re.findall(r"^    [\w *]+?[ *]((?:\w+, )*\w+);", options, re.M) for name in declared.split(", ")}
names = {name for name in names if not name.endswith("_len")} - {"size", "resource_weak"}  # for what the command's environment has
check("the options were found", {"flags", "max_memory", "counters", "format", "id"} <= names, names)
elsewhere = {"wasm": {"level", "last_sequence"},  # the host compresses
             "go": {"flags": "WithVerify", "max_memory": "WithMaxMemory", "first": "WithFirstZero", "last_sequence": None},
             "rust": {"flags": "verify", "counters": "counter", "gauges": "gauge", "target_label": None,  # it has no sums
                      "last_sequence": None},
             "python": {"flags": "verify", "id": None, "last_sequence": None}}  # pprofdelta.spark has them
go_text, python_text = text_of("bindings", "go", "pprofdelta", "options.go"), text_of("bindings", "python", "pprofdelta", "_options.py")
rust_text = text_of("bindings", "rust", "pprofdelta", "src", "context.rs")
for name in sorted(names):
    known = elsewhere["rust"].get(name, name)
    check(f"Rust knows the option {name}", known is None or re.search(rf"^    pub fn {known}\(|^        {known}: ", rust_text, re.M), known)
    check(f"wasm knows the option {name}",
          name in elsewhere["wasm"] or f".{name} = " in text_of("bindings", "wasm", "glue.h"))
    known = elsewhere["go"].get(name, "With" + facts.camel(name))
    check(f"Go knows the option {name}", known is None or re.search(rf"\b{known}\b", go_text), known)
    known = elsewhere["python"].get(name, name)
    check(f"Python knows the option {name}", known is None or re.search(rf"^    {known}: ", python_text, re.M), known)

finish()
