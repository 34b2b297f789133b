"""Are the documents true? The programs in them are those of tests/docs and tests/consumers, which are compiled and run.
Every option is in the page of its verb, and every function of a header in a page. Links lead to files, pages and
sections. The version is one. recipe.py and demo.py run what README.md tells a user to type.

usage: check.py SOURCE_ROOT PPROFDELTA AGENT VERSION RECORDS RECEIVER"""

import gzip
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

root, tool, agent = (os.path.abspath(path) for path in sys.argv[1:4])
version = sys.argv[4]
records, receiver = (os.path.abspath(path) for path in sys.argv[5:7])
sys.path[:0] = [os.path.join(root, "tests", "support")]
from checks import check, finish  # noqa: E402
from pages import examples, read  # noqa: E402

one, two = (os.path.join(root, "testdata", "valid", f"heap.{n}.pb.gz") for n in (1, 2))


def run(*args, **kwargs):
    return subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)


# ---- the programs -----------------------------------------------------------------------------------

def check_agent(folder):
    first, second, by_tool = (os.path.join(folder, name) for name in ("1", "2", "tool"))
    ran = run(agent, one, first, two, second)
    check("agent.c runs", ran.returncode == 0, ran.stderr)
    run(tool, one, two, "-o", by_tool)
    raw = [re.sub(r"pprofdelta: delta.*", "", run(tool, "show", "--raw", f).stdout).replace(f, "")
           for f in (second, by_tool)]
    check("agent.c and the command agree", raw[0] == raw[1] and "Samples" in raw[0].title())
    long = os.path.join(folder, "long")  # with a string that nothing uses
    with gzip.open(two) as source, open(long, "wb") as file:
        file.write(source.read() + b"\x32\x80\x80\x80\x28" + bytes(80 << 20))
    ran = run(agent, one, first, long, second)
    check("agent.c reads long files", ran.returncode == 0 and os.path.getsize(second), ran.stderr)


def check_records(folder):
    """Two windows, of which the second has what happened in between."""
    first, second = (os.path.join(folder, name) for name in ("1", "2"))
    ran = run(records, first, second)
    shown = run(tool, "show", "--raw", second).stdout
    check("records.c runs", ran.returncode == 0 and not ran.stderr, ran.stderr)
    check("records.c writes its second window", "1000 64000 20 1280: 1 2\n" in shown and
          "2 8192 4 16384: 3 2\n" in shown and "seq=2" in shown and '"remember"' in shown, shown)
    ran = run(records, os.path.join(folder, "none", "there"))
    check("records.c says what went wrong", ran.returncode != 0 and ran.stderr, ran.stderr)


def check_receiver(folder):
    """Deltas of a state in any order, some twice, and one that a higher attempt replaces."""
    sent = [os.path.join(folder, f"delta{n}") for n in range(4)]
    for profile, delta, keeps in ((one, 0, True), (two, 1, False), (two, 2, True), (two, 3, True)):
        run(tool, "--state", os.path.join(folder, "s"), profile, "--", "sh", "-c",
            f"cat >{sent[delta]}; exit {0 if keeps else 1}")
    total = os.path.join(folder, "total")
    for names, says in ((sent, "3 kept, 3 added up"), (sent[::-1] + sent, "3 kept, 3 added up"),
                        (sent[3:] + sent[:2], "3 kept, 3 added up"), (sent[:1] + sent[3:], "2 kept, 1 added up")):
        with open(total, "wb") as out:
            ran = subprocess.run([receiver, *names], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        check(f"receiver.c: {says}", ran.returncode == 0 and ran.stderr == says + "\n", ran.stderr)
        want = one if "1 added" in says else two
        check("receiver.c adds them up", run(tool, "show", "--folded", total).stdout ==
              run(tool, "show", "--folded", want).stdout != "")


for check_program in (check_agent, check_records, check_receiver):
    with tempfile.TemporaryDirectory() as folder:
        check_program(folder)
for page, folder, program in (("libpprofdelta.3", "consumers", "consumer.c"), ("libpprofdelta.3", "docs", "agent.c"), ("libpprofdelta.3", "consumers", "consumer.cc"),
                              ("libpprofdelta.3", "consumers", "consumer.go"),
                              ("libpprofdelta.3", "consumers", "consumer.py"),
                              ("pprofdelta_record.3", "docs", "records.c"), ("pprofdelta_heap.3", "docs", "receiver.c")):
    check(f"{page} has {program}", read("tests", folder, program) in examples(page))

# ---- the pages of the command -----------------------------------------------------------------------

VERBS = ("delta", "sum", "merge", "show", "check", "symbolize", "record", "leaks", "export", "recover")
pages = {name: read("man", name) for name in sorted(os.listdir(os.path.join(root, "man"))) if name[-1].isdigit()}
plain = {name: re.sub(r"\\f[BIR]", "", page).replace("\\-", "-") for name, page in pages.items()}
for verb in VERBS:
    help_text = run(tool, *([] if verb == "delta" else [verb]), "--help").stdout
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", "\n".join(
        line for line in help_text.splitlines() if re.match(r" +-", line))))
    missing = [option for option in options if option not in plain[f"pprofdelta-{verb}.1"]]
    check(f"every option of {verb} is in its page", len(options) > 3 and not missing, missing)
    wide = [line for line in help_text.splitlines() if len(line) > 80]
    check(f"--help of {verb} fits 80 columns", not wide, wide)
sources = "".join(read(path) for path in glob.glob("cli/**/*.c", root_dir=root, recursive=True))
variables = set(re.findall(r'(?:getenv|set_number|set_nanos)\("(\w+)"', sources)) - {"PATH"}
section = "".join(plain[name].split(".SH ENVIRONMENT")[1].split(".SH ")[0]
                  for name in ("pprofdelta.1", "pprofdelta-record.1"))
missing = [name for name in variables if name not in section]
check("every variable is in a section ENVIRONMENT", len(variables) > 5 and not missing, missing)


def members(value, path=""):
    """The paths of all values in a JSON object."""
    if isinstance(value, list):
        return members(value[0], path + "[]") if value else set()
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in members(inner, f"{path}.{key}")}
    return {path[1:]}


def named(table):
    """The same of a table of the manual, where `.name` is in the object of the name before it."""
    found, prefix = set(), ""
    for line in table.splitlines():
        for word in re.split(r"  +", line)[0].split(", ") if line[:1].strip() else ():
            prefix = word.rpartition(".")[0] if word[0] != "." else prefix
            found.add(f"{prefix}{word}" if word[0] == "." else word)
    return found


with tempfile.TemporaryDirectory() as folder:
    state = os.path.join(folder, "s")
    reported = run(tool, one, two, "-q", "--report=json", "-o", os.path.join(folder, "d")).stderr
    exported = run(tool, "export", one, "-q", "--report=json", "-o", os.path.join(folder, "t")).stderr
    run(tool, "--state", state, one, "-q", "--", "false")
    described = run(tool, "--state", state, "--status=json").stdout
tables = plain["pprofdelta-formats.5"].split('.SS "The JSON of report and status"\n')[1].split(".EX\n")
for name, text, table in zip(("report", "report of export", "status"), (reported, exported, described), tables[1:]):
    want, got = named(table.split(".EE")[0]) - {"open"}, members(json.loads(text))
    check(f"the members of the {name} are in pprofdelta-formats(5)", got and got == want, got ^ want)

# ---- all pages --------------------------------------------------------------------------------------

installed = read("man", "meson.build")
see_also = {}
LINK = r"\b((?:lib)?pprofdelta[\w-]*)\((\d)\)"


def links(text):
    return {".".join(link) for link in re.findall(LINK, re.sub(r"\.BR (\S+) \((\d)\)", r"\1(\2)", text))}


for name, page in pages.items():
    title, number = name.rsplit(".", 1)
    text = plain[name]
    sections = re.findall(r"^\.S[HS] \"?([^\"\n]*)", page, re.M)
    check(f"{name} has its title, the version and each section once", len(set(sections)) == len(sections) and
          f".TH {title.upper()} {number} " in text and f"pprofdelta {version}" in page and
          text.split("\n.SH NAME\n")[1].startswith(title + " "), sections)
    check(f"{name} is installed, and named in pprofdelta(1) or libpprofdelta(3)", f"'{name}'" in installed and
          (f"{name}" in links(plain["pprofdelta.1"] + plain["libpprofdelta.3"])))
    check(f"the links of {name} lead to pages", links(text) and links(text) <= set(pages), links(text) - set(pages))
    see_also[name] = links(text.split('.SH "SEE ALSO"')[1])
    for other, section in re.findall(r"\\fB(pprofdelta[\w-]*\\fR\(\d)\), \\fB([^\\]*)\\fR(?!\()", page.replace("\\-", "-")):
        other = other.replace("\\fR(", ".")
        check(f"{name}: {other} has {section}", re.search(rf'^\.S[HS] "?{re.escape(section)}"?$', pages[other], re.M))
    for lint in (("groff", "-man", "-ww", "-z"), ("mandoc", "-T", "lint", "-W", "warning")):
        if shutil.which(lint[0]):
            ran = run(*lint, os.path.join(root, "man", name))
            check(f"{lint[0]} accepts {name}", not ran.stdout + ran.stderr, ran.stdout + ran.stderr)
callers = sources + "".join(read(path) for pattern in (
    "agent/**/*.c", "bindings/wasm/*.c", "bindings/python/src/*.c", "bindings/rust/pprofdelta/src/*.rs", "lib/include/*.hpp", "tests/docs/*.c")
                            for path in glob.glob(pattern, root_dir=root, recursive=True))
experimental = plain["libpprofdelta.3"].split(".SH EXPERIMENTAL\n")[1].split(".SH ")[0]
one_way = [(name, other) for name in see_also for other in see_also[name] if name not in see_also.get(other, ())]
check("SEE ALSO leads back", not one_way, one_way)
for header, name in (("pprofdelta_common.h", "libpprofdelta.3"), ("pprofdelta.h", "libpprofdelta.3"),
                     ("pprofdelta_profile.h", "libpprofdelta.3"),
                     ("pprofdelta_record.h", "pprofdelta_record.3"), ("pprofdelta_heap.h", "pprofdelta_heap.3")):
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", read("lib", "include", header), flags=re.S | re.M)
    functions = re.findall(r"(?:PPROFDELTA_API|static inline)\b[^;(]*?(\w+)\s*\(", text)
    missing = [function for function in functions if function not in pages[name]]
    check(f"every function of {header} is in its man page", functions and not missing, missing)
    parts = "".join(re.findall(r"#if defined\(PPROFDELTA_EXPERIMENTAL\)(.*?)#endif", read("lib", "include", header), re.S))
    hidden = {f for f in functions if f"{f}(" in parts}
    check(f"the experimental functions of {header} are those behind the macro", {f for f in functions if f in experimental} == hidden, hidden)
    unused = {f for f in functions if not re.search(rf"\b{f}\b", callers) and not f.endswith("_free")}
    unused -= {f for f in functions if f.startswith("pprofdelta_builder_")}  # a door for programs, like none of ours
    check(f"the functions of {header} that nothing calls are experimental", unused == hidden, unused)

# ---- README.md, NEWS.md and the pages for contributors ----------------------------------------------

for path, most in (("README.md", 200), ("man/pprofdelta.1", 400)):
    lines = len(read(*path.split("/")).splitlines())
    check(f"{path} has at most {most} lines", lines <= most, lines)
internal = {name for path in glob.glob("agent/**/*.[ch]", root_dir=root, recursive=True)
            for name in re.findall(r'#include "([^"]+)"', read(path)) if os.path.exists(os.path.join(root, "lib", name))}
check("agent/meson.build names the internal headers that the agent uses", internal ==
      set(re.findall(r"^#     (\w+/\w+\.h) ", read("agent", "meson.build"), re.M)), internal)
check("--version prints meson's version", version in run(tool, "--version").stdout)

# What meson.build needs is what INSTALL.md and ./dev name.
builds = "".join(read(*path, "meson.build") for path in ((), ("proto",), ("lib",)))
asked = dict(re.findall(r"dependency\('(?:lib)?([\w-]+)', version: '>= ([\d.]+)'(?!, required: .*get_option)", builds))
asked["meson"] = re.search(r"meson_version: '>= ([\d.]+)'", builds).group(1)
install = read("INSTALL.md")
missing = [name for name, least in asked.items() if not re.search(rf"\b(lib)?{name}\s{least}\b", install, re.I)]
check("INSTALL.md has the versions that meson.build asks for", len(asked) > 5 and not missing, (asked, missing))
options = re.findall(r"^option\('(\w+)', type: 'feature'", read("meson_options.txt"), re.M)
missing = [name for name in options if f"`-D{name}" not in install + read("CONTRIBUTING.md")]
check("INSTALL.md or CONTRIBUTING.md has every optional part of the build", len(options) > 2 and not missing, missing)
lists = {system: re.search(rf"^    {system} ((?:.*\\\n)*.*)", install, re.M).group(1)
         for system in ("dnf install", "apk add", "pacman -S")}
lists["./dev"] = re.search(r'^base_packages="(.*?)"', read("dev"), re.M | re.S).group(1)
for system, packages in lists.items():
    missing = [name for name in asked.keys() | {"python"} if not re.search(rf"(^|\s)(lib)?{name}", packages)]
    check(f"{system} has every library", not missing, missing)

contributing = read("CONTRIBUTING.md")
listed = re.findall(r"^\./dev (\w+)", read("dev"), re.M)
missing = [command for command in listed if not re.search(rf"`./dev {command}\b", contributing)]
check("CONTRIBUTING.md has every command of ./dev", len(listed) > 5 and not missing, missing)
for path in ("README.md", "INSTALL.md", "CONTRIBUTING.md", "SECURITY.md", "VERSIONING.md", "CODE_OF_CONDUCT.md", "lib/README.md", "tests/bench/README.md", "tests/e2e/README.md",
             "tests/leaks/README.md", "bindings/go/README.md", "bindings/go/PORTING.md", "bindings/otelcol/pprofdeltaprocessor/README.md",
             "bindings/python/README.md", *glob.glob("examples/**/README.md", root_dir=root, recursive=True)):
    text = re.sub(r"```.*?```", "", read(path), flags=re.S)
    anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
               for title in re.findall(r"^#+ (.*)", text, re.M)}
    found = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    paths = [os.path.join(os.path.dirname(path), link.split("#")[0]) for link in found if link[0] != "#"]
    paths += re.findall(r"(?<![\w/-])((?:lib|cli|tests|testdata|man|proto)/[\w./-]*\w)", text) if path[0] != "b" else []
    missing = [link for link in found if link[0] == "#" and link[1:] not in anchors] + \
        [path for path in paths if not path.endswith("/FILE") and  # stands for a name
         not os.path.exists(os.path.join(root, path))]
    check(f"the links and paths of {path} lead somewhere", not missing, missing)
every = [os.path.relpath(os.path.join(place, name), root) for top in os.scandir(root) if not re.match(r"(build|\.git$)", top.name)
         for place, _, names in (os.walk(top) if top.is_dir() else [(root, [], [top.name])]) for name in names]
whole = {path[at.end():] for path in every for at in re.finditer("^|/", path)}  # paths may begin in any folder
of_others = {"bindings/wasm/build.py", "packaging/build-wheel", "tests/cli/filters.py"}  # these name files of other projects
NAMED = r"(?<![\w.:@~<>{}%/-])((?:agent|bindings|cli|docs|examples|lib|man|packaging|proto|tests)/[\w./-]+\.(?:[chS]|py|md|go|rs|sh|json|proto|yml))\b(?![/*])"
wrong = []
for path in sorted(set(every) - of_others):
    if not re.match("testdata/|.*/(corpus|target|internal|__pycache__|node_modules)/", path):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            wrong += [(path, name) for name in re.findall(NAMED, file.read()) if os.path.normpath(name) not in whole]
check("no file names another that does not exist", len(every) > 1000 and not wrong, wrong)
pictures = glob.glob("docs/pictures/*.webp", root_dir=root)
large = [name for name in pictures if os.path.getsize(os.path.join(root, name)) > 150 << 10]
used = re.findall(r'(?:src|srcset)="([^"]+)"', read("README.md"))
used += [f"docs/pictures/{name}" for path in glob.glob("examples/*/README.md", root_dir=root)
         for name in re.findall(r"!\[[^]]*\]\(\.\./\.\./docs/pictures/([^)]+)\)", read(path))]
check("the pictures are those of README.md and the recipes, of at most 150 KiB each", not large and sorted(pictures) == sorted(used), (large, used))
man_links = links(read("README.md") + contributing)
check("the pages that README.md names are there", len(man_links) > 4 and man_links <= set(pages), man_links - set(pages))
finish()
