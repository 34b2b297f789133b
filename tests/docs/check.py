"""Are the documents true? The README's program is the one in agent.c, which is compiled and run, and so
is the one in records.c, which pprofdelta_record(3) has; every option of --help is in the man page; every
function of a header is in its page; links lead to files; the version is one. recipe.py runs the README's
recipe.

usage: check.py SOURCE_ROOT PPROFDELTA AGENT VERSION RECORDS RECEIVER"""

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
passed = failed = 0


def read(*path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def check(name, holds, detail=""):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print("ok" if holds else "FAILED", name, "" if holds else detail)


def blocks(language):
    return re.findall(r"```%s\n(.*?)```" % language, read("README.md"), re.S)


def run(*args, **kwargs):
    return subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)


check("the README's program is agent.c", read("tests", "docs", "agent.c") in blocks("c"))

valid = os.path.join(root, "testdata", "valid")
one, two = (os.path.join(valid, "heap.%d.pb.gz" % n) for n in (1, 2))
with tempfile.TemporaryDirectory() as folder:
    first, second, by_tool = (os.path.join(folder, name) for name in ("1", "2", "tool"))
    ran = run(agent, one, first, two, second)
    check("agent.c runs", ran.returncode == 0, ran.stderr)
    run(tool, one, two, "-o", by_tool)
    raw = [re.sub(r"pprofdelta: delta.*", "", run(tool, "show", "--raw", f).stdout).replace(f, "")
           for f in (second, by_tool)]
    check("agent.c and the command agree", raw[0] == raw[1] and "Samples" in raw[0].title())

    # The records door: two windows, of which the second has what happened in between.
    ran = run(records, first, second)
    shown = run(tool, "show", "--raw", second).stdout
    check("records.c runs", ran.returncode == 0 and not ran.stderr, ran.stderr)
    check("records.c writes its second window", "1000 64000 20 1280: 1 2\n" in shown and
          "2 8192 4 16384: 3 2\n" in shown and "seq=2" in shown and '"remember"' in shown, shown)
    ran = run(records, os.path.join(folder, "none", "there"))
    check("records.c says what went wrong", ran.returncode != 0 and ran.stderr, ran.stderr)

    # The receiver: deltas of a state in any order, some twice, and one that a higher attempt replaces.
    sent = [os.path.join(folder, f"delta{n}") for n in range(4)]
    for look_, delta, keeps in ((one, 0, True), (two, 1, False), (two, 2, True), (two, 3, True)):
        run(tool, "--state", os.path.join(folder, "s"), look_, "--", "sh", "-c",
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
    os.unlink(os.path.join(folder, "s"))

# Each verb has a page, with every option of its --help. All pages are installed and named in pprofdelta(1).
VERBS = ("delta", "sum", "show", "check", "symbolize", "record", "leaks")
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

installed = read("man", "meson.build")
see_also = {}
for name, page in pages.items():
    title, section = name.rsplit(".", 1)
    text = plain[name]
    sections = re.findall(r"^\.S[HS] \"?([^\"\n]*)", page, re.M)
    check(f"{name} has its title, the version and each section once", len(set(sections)) == len(sections) and
          f".TH {title.upper()} {section} " in text and f"pprofdelta {version}" in page and
          text.split("\n.SH NAME\n")[1].startswith(title + " - "), sections)
    check(f"{name} is installed and named in pprofdelta(1)", f"'{name}'" in installed and
          (f"{title}({section})" in plain["pprofdelta.1"] or section == "3" or title == "pprofdelta"))
    joined = re.sub(r"\.BR (\S+) \((\d)\)", r"\1(\2)", text)
    links = {f"{to}.{number}" for to, number in re.findall(r"\b((?:lib)?pprofdelta[\w-]*)\((\d)\)", joined)}
    check(f"the links of {name} lead to pages", links and links <= set(pages), links - set(pages))
    see_also[name] = {f"{to}.{number}" for to, number in re.findall(
        r"\b((?:lib)?pprofdelta[\w-]*)\((\d)\)", joined.split('.SH "SEE ALSO"')[1])}
    for to, number, title in re.findall(r"\\fB(pprofdelta[\w-]*)\\fR\((\d)\), \\fB([^\\]*)\\fR(?!\()",
                                        page.replace("\\-", "-")):
        check(f"{name}: {to}({number}) has {title}",
              re.search(rf'^\.S[HS] "?{re.escape(title)}"?$', pages[f"{to}.{number}"], re.M))
    for lint in (("groff", "-man", "-ww", "-z"), ("mandoc", "-T", "lint", "-W", "warning")):
        if shutil.which(lint[0]):
            ran = run(*lint, os.path.join(root, "man", name))
            check(f"{lint[0]} accepts {name}", not ran.stdout + ran.stderr, ran.stdout + ran.stderr)
one_way = [(one, other) for one in see_also for other in see_also[one] if one not in see_also.get(other, ())]
check("SEE ALSO leads back", not one_way, one_way)
for name, most in (("README.md", 487), ("man/pprofdelta.1", 400)):
    lines = len(read(*name.split("/")).splitlines())
    check(f"{name} has at most {most} lines", lines <= most, lines)

# The JSON of the report and of the status have the members that the manual names.
formats = plain["pprofdelta-formats.5"].split(".SS \"The JSON of report and status\"\n")[1].split("\n.SS ")[0]


def members(value, path=""):
    """The paths of all values in it."""
    if isinstance(value, list):
        return members(value[0], path + "[]") if value else set()
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in members(inner, f"{path}.{key}")}
    return {path[1:]}


def named(table):
    """The same, as a table of the manual has them: `.name` has the folder of the name before it."""
    found, folder_ = set(), ""
    for line in table.splitlines():
        for word in re.split(r", ", re.split(r"  +", line)[0]) if line[:1].strip() else ():
            folder_ = word.rpartition(".")[0] if word[0] != "." else folder_
            found.add(f"{folder_}{word}" if word[0] == "." else word)
    return found


with tempfile.TemporaryDirectory() as folder:
    state, delta = os.path.join(folder, "s"), os.path.join(folder, "d")
    reported = run(tool, one, two, "-q", "--report=json", "-o", delta).stderr
    run(tool, "--state", state, one, "-q", "--", "false")
    told = run(tool, "--state", state, "--status=json").stdout
for name, text, table in zip(("report", "status"), (reported, told), formats.split(".EX\n")[1:]):
    want, got = named(table.split(".EE")[0]) - {"open"}, members(json.loads(text))
    check(f"the members of the {name} are in pprofdelta-formats(5)", got and got == want, got ^ want)


def example(page):
    """The program of a page, as it was before it became one."""
    found = re.search(r"^\.EX\n(#include.*?)^\.EE$", page, re.S | re.M)
    text = found.group(1) if found else ""
    return re.sub(r"^\\&", "", text, flags=re.M).replace("\\-", "-").replace("\\e", "\\")


page, program = read("man", "pprofdelta_record.3"), read("tests", "docs", "records.c")
check("pprofdelta_record(3) has records.c", example(page) == program)
check("records.c has less than 60 lines", len(program.splitlines()) < 60)
check("pprofdelta_heap(3) has receiver.c",
      example(read("man", "pprofdelta_heap.3")) == read("tests", "docs", "receiver.c"))
header = re.sub(r"/\*.*?\*/", "", read("lib", "include", "pprofdelta_record.h"), flags=re.S)
names = re.findall(r"PPROFDELTA_API\b[^;(]*?(\w+)\s*\(", header)
missing = [name for name in names if name not in page]
check("every function of pprofdelta_record.h is in pprofdelta_record(3)", names and not missing,
      missing)

check("--version tells meson's version", version in run(tool, "--version").stdout)
check("the header tells it too", f'"{version}"' in read("lib", "include", "pprofdelta_common.h"))
check("NEWS.md begins with it", re.search(r"^## (\S+)", read("NEWS.md"), re.M).group(1) == version)
sources = "".join(read(path) for path in glob.glob("cli/**/*.c", root_dir=root, recursive=True))
variables = set(re.findall(r'(?:getenv|set_number|set_nanos)\("(\w+)"', sources)) - {"PATH"}
section = plain["pprofdelta.1"].split(".SH ENVIRONMENT")[1].split(".SH ")[0] + \
    plain["pprofdelta-record.1"].split(".SH ENVIRONMENT")[1].split(".SH ")[0]
missing = [name for name in variables if name not in section]
check("every variable is in a section ENVIRONMENT", len(variables) > 5 and not missing, missing)

# What meson.build asks for is what the README, ./dev and the Debian packages name.
builds = "".join(read(*path, "meson.build") for path in ((), ("proto",), ("lib",), ("tests",)))
libraries = set(re.findall(r"dependency\('(?:lib)?([\w-]+)'", builds)) - {"threads", "dl"}
asked = dict(re.findall(r"dependency\('(?:lib)?([\w-]+)', version: '>= ([\d.]+)'", builds))
asked["meson"] = re.search(r"meson_version: '>= ([\d.]+)'", builds).group(1)
check("meson.build asks for versions of all libraries",
      set(asked) == libraries | {"meson"} and len(asked) == 7, asked)
readme = read("README.md")
missing = [name for name, at_least in asked.items()
           if not re.search(rf"\b(lib)?{name}\s{at_least}\b", readme, re.I)]
check("the README has these versions", not missing, missing)
lists = {system: re.search(rf"^    {system} ((?:.*\\\n)*.*)", readme, re.M).group(1)
         for system in ("dnf install", "apk add", "pacman -S")}
lists["./dev"] = re.search(r'^base_packages="(.*?)"', read("dev"), re.M | re.S).group(1)
for system, packages in lists.items():
    missing = [name for name in libraries | {"meson", "python"}
               if not re.search(rf"(^|\s)(lib)?{name.replace('isal', 'isa-?l')}", packages)]
    check(f"{system} has every library", not missing, missing)

# A library's man page names every function of its header.
for header, pages in (("pprofdelta_common.h", ("libpprofdelta.3",)),
                      ("pprofdelta.h", ("libpprofdelta.3",)),
                      ("pprofdelta_heap.h", ("pprofdelta_heap.3",))):
    named = "".join(read("man", page) for page in pages)
    functions = re.findall(r"(?:PPROFDELTA_API|static inline)\b[^;(]*?(\w+)\s*\(",
                           re.sub(r"/\*.*?\*/|^#.*?$", "", read("lib", "include", header),
                                  flags=re.S | re.M))
    missing = [f for f in functions if f not in named]
    check(f"every function of {header} is in its man page", functions and not missing, missing)

# The pages for contributors: links and paths lead to files, and every command of ./dev is described.
contributing = read("CONTRIBUTING.md")
listed = re.findall(r"^\./dev (\w+)", read("dev"), re.M)
missing = [command for command in listed if not re.search(rf"`./dev {command}\b", contributing)]
check("CONTRIBUTING.md has every command of ./dev", len(listed) > 5 and not missing, missing)
for page, folder in (("README.md", "."), ("CONTRIBUTING.md", "."), ("lib/README.md", "lib")):
    text = re.sub(r"```.*?```", "", read(page), flags=re.S)
    anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
               for title in re.findall(r"^#+ (.*)", text, re.M)}
    links = re.findall(r"\]\(([^)]+)\)", text)
    paths = [os.path.join(folder, link) for link in links if link[0] != "#"]
    paths += re.findall(r"(?<![\w/-])((?:lib|cli|tests|testdata|man|proto)/[\w./-]*\w)", text)
    missing = [link for link in links if link[0] == "#" and link[1:] not in anchors] + \
        [path for path in paths if not path.endswith("/FILE") and  # stands for a name
         not os.path.exists(os.path.join(root, path))]
    check(f"the links and paths of {page} lead somewhere", paths and not missing, missing)

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
