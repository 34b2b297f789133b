"""The command line itself: what is refused, with which words, and what is taken."""

import os
import re

from samples import DELTA, pair
from pb import read
from windows import begun, stands

# Every way to get it wrong, with something that the message must say.
WRONG = [
    ([], "two profiles are missing"),
    (["prev.pb.gz"], "the second profile is missing"),
    (["prev.pb.gz", "cur.pb.gz", "third.pb.gz"], "third.pb.gz"),
    (["prev.pb.gz", ""], "empty"),
    (["-", "-"], "stdin can be read only once"),
    (["--nonsense", "prev.pb.gz", "cur.pb.gz"], "--nonsense"),
    (["--nonsense=value"], "--nonsense"),
    (["-z", "prev.pb.gz", "cur.pb.gz"], "-z"),
    (["-qz", "--force"], "-z"),
    (["--force", "-zq"], "-z"),
    (["--force=yes", "prev.pb.gz", "cur.pb.gz"], "--force takes no value"),
    (["--ver"], "there is no option --ver"),
    (["prev.pb.gz", "cur.pb.gz", "-o"], "-o needs a value"),
    (["prev.pb.gz", "cur.pb.gz", "--output"], "--output needs a value"),
    (["prev.pb.gz", "cur.pb.gz", "--output="], "--output="),
    (["prev.pb.gz", "cur.pb.gz", "-o", ""], "the name of a file"),
    (["--on-reset=sometimes"], "--on-reset=sometimes", "auto, restart, clamp, negative or fail"),
    (["--on-reset", "AUTO"], "--on-reset=AUTO"),
    (["--on-reset="], "--on-reset="),
    (["--compress=lzma"], "--compress=lzma", "gzip, zstd or none"),
    (["--report=xml"], "--report=xml", "text or json"),
    (["--report="], "--report="),
    (["--default-type=gauge"], "--default-type=gauge", "counter or keep"),
    (["--max-memory=lots"], "--max-memory=lots", "a number of bytes above 0"),
    (["--max-memory=0"], "--max-memory=0"),
    (["--max-memory=-1"], "--max-memory=-1"),
    (["--max-memory=+1"], "--max-memory=+1"),
    (["--max-memory= 1"], "--max-memory"),
    (["--max-memory=1.5G"], "--max-memory=1.5G"),
    (["--max-memory=1MB"], "--max-memory=1MB"),
    (["--max-memory=1P"], "--max-memory=1P"),
    (["--max-memory=1Mi"], "--max-memory=1Mi"),
    (["--max-memory=0x10"], "--max-memory=0x10"),
    (["--max-memory=18446744073709551616"], "--max-memory=18446744073709551616"),
    (["--max-memory=16777216T"], "--max-memory=16777216T"),
    (["--max-memory="], "--max-memory="),
    (["--started=yesterday"], "--started=yesterday", "2026-11-21T08:00:00Z", "@SECONDS"),
    (["-c", ""], "--counter=", "TYPE or TYPE/UNIT"),
    (["-c", "/bytes"], "--counter=/bytes"),
    (["-g", "/bytes"], "--gauge=/bytes"),
    (["-0", "prev.pb.gz", "cur.pb.gz"], "-0", "-1 to -9"),
    (["-12", "prev.pb.gz", "cur.pb.gz"], "-12", "-1 to -9"),
    (["--on-reset=" + "x" * 3000], "xxx..."),
    (["--" + "y" * 3000], "--yyy"),
    (["--compress=\x1b[31mred"], "\\x1b[31mred"),
    (["--first=zero", "prev.pb.gz", "cur.pb.gz"], "--first needs --state FILE"),
    (["--timeout=3s", "prev.pb.gz", "cur.pb.gz"], "--timeout needs --state FILE"),
    (["--no-wait", "prev.pb.gz", "cur.pb.gz"], "--no-wait needs --state FILE"),
    (["--status"], "--status needs --state FILE"),
    (["--state"], "--state needs a value"),
    (["--state="], "--state=", "the name of a file"),
    (["--state=folder/", "cur.pb.gz"], "--state=folder/"),
    (["--state=s", "prev.pb.gz", "cur.pb.gz"], "cur.pb.gz", "the state is PREV"),
    (["--state=s", "cur.pb.gz", "--first=some"], "--first=some", "full or zero"),
    (["--state=s", "cur.pb.gz", "--first="], "--first="),
    (["--state=s", "cur.pb.gz", "--on-reset=negative"], "a state has no stacks"),
    (["--state=s", "cur.pb.gz", "--timeout=3s"], "--timeout is for UPLOADER"),
    (["--state=s", "cur.pb.gz", "--"], "the command after -- is missing"),
    (["--state=s", "cur.pb.gz", "--", ""], "the command after -- is missing"),
    (["--state=s", "cur.pb.gz", "-o", "out", "--", "true"], "not to both"),
    (["--state=s", "--status", "cur.pb.gz"], "it takes no profile, UPLOADER or -o"),
    (["--state=s", "--status", "-o", "out"], "it takes no profile, UPLOADER or -o"),
    (["--state=s", "--status", "--", "true"], "it takes no profile, UPLOADER or -o"),
    (["--json"], "--json needs --state FILE"),
    (["--state=s", "--json", "cur.pb.gz"], "--json is for --status or for show"),
    (["--state=s", "--status=xml"], "--status=xml", "text or json"),
    *[(["--state=s", f"--timeout={value}"], f"--timeout={value}", "30s")
      for value in ("", "0", "0s", "-1", "1w", "s", "1 s", "1e3", "400d", "9" * 30)],
    (["shwo", "f"], "there is no file and no verb shwo; did you mean pprofdelta show?"),
    (["shw"], "did you mean pprofdelta show?"),
    (["sohw", "--raw", "f"], "did you mean pprofdelta show?"),
    (["chekc", "f"], "did you mean pprofdelta check?"),
    (["recrod", "--", "true"], "did you mean pprofdelta record?"),
    (["usm", "a", "b"], "did you mean pprofdelta sum?"),
    (["hlep"], "did you mean pprofdelta help?"),
    (["help", "recod"], "there is no verb recod; did you mean record?"),
    (["help", "nonsense"], "there is no verb nonsense; there are show, check, sum, merge, record, symbolize, leaks and export"),
    (["help", "show", "sum"], "sum: is one operand too many"),
    (["--otuput=x", "a", "b"], "there is no option --otuput; did you mean --output?"),
    (["--on-rest", "auto"], "there is no option --on-rest; did you mean --on-reset?"),
    (["--fromat=x"], "there is no option --fromat"),
    (["-state", "s"], "there is no option -s; did you mean --state?"),
    (["--sate=s", "cur"], "there is no option --sate; did you mean --state?"),
    (["show", "--flmae=x", "a"], "there is no option --flmae; did you mean --flame?"),
    (["show", "-type", "x", "a"], "there is no option -t; did you mean --type?"),
    (["sum", "--forec", "a"], "there is no option --forec; did you mean --force?"),
    (["check", "--quite", "a"], "there is no option --quite; did you mean --quiet?"),
    (["record", "--intervall=3", "true"], "there is no option --intervall; did you mean --interval?"),
    (["prev.pb.gz", "cur.pb.gz", "--", "cat"],
     "cat: is one operand too many", "a command after -- needs --state FILE"),
    (["sum"], "pprofdelta sum BASE DELTA..."),
    (["sum", "a", ""], "empty"),
    (["sum", "-", "-"], "stdin can be read only once"),
    (["sum", "--bogus", "a"], "--bogus"),
    (["leaks"], "the profiles are missing: pprofdelta leaks FILE..."),
    (["leaks", ""], "the name of a profile is empty"),
    (["leaks", "-"], "stdin cannot be one"),
    (["leaks", "--top=0", "a"], "--top=0", "1 or more"),
    (["leaks", "--top=x", "a"], "--top=x"),
    (["leaks", "--top", "a"], "--top=a"),
    (["leaks", "--type=", "a"], "--type=", "TYPE or TYPE/UNIT"),
    (["leaks", "--type=/bytes", "a"], "--type=/bytes"),
    (["leaks", "--every=0", "a"], "--every=0", "30s"),
    (["leaks", "--every=soon", "a"], "--every=soon"),
    (["leaks", "--max-memory=0", "a"], "--max-memory=0"),
    (["leaks", "--jsn", "a"], "there is no option --jsn; did you mean --json?"),
    (["leaks", "--fail=yes", "a"], "--fail takes no value"),
    (["laeks", "a"], "did you mean pprofdelta leaks?"),
    (["export"], "a profile is missing: pprofdelta export FILE... -o DIR"),
    (["export", "a"], "-o DIR is missing: pprofdelta export FILE... -o DIR"),
    (["export", "-o", "", "a"], "--output=", "the name of a directory"),
    (["export", "a", "-", "-o", "d"], "several FILEs are read twice, so stdin cannot be one of them"),
    (["exprot", "a"], "did you mean pprofdelta export?"),
    (["sum", "--state=s", "a"], "no option --state"),
    (["sum", "--report", "a"], "--report"),
    (["show"], "pprofdelta show FILE"),
    (["show", "a", "b", "c"], "c"),
    (["show", "a", "b", "--raw"], "--raw shows one profile"),
    (["show", "-", "-"], "stdin can be read only once"),
    (["show", "a", "--flame"], "--flame needs a value"),
    (["show", "a", "--flame="], "--flame="),
    (["show", "a", "--flame=x", "--raw"], "exclude each other"),
    (["show", "a", "--flame=x", "--top=3"], "--top"),
    (["show", "--top=0", "a"], "--top=0", "1 or more"),
    (["show", "--top=-3", "a"], "--top=-3"),
    (["show", "--top=ten", "a"], "--top=ten"),
    (["show", "--top=99999999999999999999", "a"], "--top=99999999999999999999"),
    (["show", "--top=", "a"], "--top="),
    (["show", "--raw", "--json", "a"], "exclude each other"),
    (["show", "--folded", "--raw", "a"], "exclude each other"),
    (["show", "--folded", "--top=3", "a"], "--top"),
    (["show", "--raw", "--type=x", "a"], "--type"),
    (["show", "--max-memory=no", "a"], "--max-memory=no"),
    (["show", "--stacks=0", "a"], "--stacks=0", "1 or more"),
    (["show", "--stacks=ten", "a"], "--stacks=ten"),
    (["show", "--stacks", "--folded", "a"], "exclude each other"),
    (["show", "--stacks", "--top=3", "a"], "--top"),
    (["show", "--cum", "--folded", "a"], "--cum is for the table"),
    (["show", "--hide=x", "--raw", "a"], "--hide is not for --raw"),
    (["show", "--focus", "a(b", "a"], "from character 2", '("(b")', "is not a regular expression from character"),
    (["show", "--focus=", "a"], "--focus=", "a regular expression"),
    (["show", "--hide=[a", "a"], "--hide [a", "from character 1", "is not a regular expression from character 1"),
    (["show", "--ignore=\\d+", "a"], "from character 1", "not in POSIX expressions"),
    (["show", "--focus=(?i)x", "a"], "from character 1", "(?"),
    (["show", "--tag==x", "a"], "--tag==x"),
    (["show", "--tag=key=(", "a"], "--tag (", "is not a regular expression from character"),
    (["show", "--bogus", "a"], "--bogus"),
    (["show", "--type"], "--type needs a value"),
    (["check"], "pprofdelta check FILE..."),
    (["check", "-", "-"], "stdin can be read only once"),
    (["check", "--bogus", "a"], "--bogus"),
    (["check", "--max-memory=no", "a"], "--max-memory=no"),
]


def test_every_wrong_line_is_refused_and_explained(t):
    for args, *parts in WRONG:
        result = t.fails(125 if args[:1] == ["record"] else 2, *args)  # record fails as env does
        t.contains(re.sub(r"\s+", " ", result.err), *parts)


def test_only_what_is_near_is_suggested(t):
    for args in (["--nonsense"], ["--x"], ["-zz"], ["show", "--bogus", "a"], ["--" + "y" * 3000]):
        t.lacks(t.fails(2, *args).err, "did you mean")
    for word in ("s", "old", "new", "prev", "cur", "shovel", "summer", "sum.pb", "recorder.pb.gz", "./shwo"):
        result = t.fails(1, word, "cur", "-o", "out")
        t.equal(result.err, f"pprofdelta: {word}: cannot open: No such file or directory\n")


def test_a_file_that_is_called_like_a_verb_nearly(t):
    prev, cur = pair(t)
    t.write("shwo", t.load(prev))
    delta_of(t, "shwo", cur)


def test_help_is_a_verb(t):
    t.equal(t.succeeds("help").out, t.succeeds("--help").out)
    t.equal(t.succeeds("help", "--help").out, t.succeeds("--help").out)
    t.equal(t.succeeds("help", "help").out, t.succeeds("--help").out)
    for verb in ("show", "check", "sum", "record"):
        t.equal(t.succeeds("help", verb).out, t.succeeds(verb, "--help").out)


def test_help_fits_a_terminal(t):
    result = t.succeeds("--help")
    lines = result.text.splitlines()
    t.check(len(lines) <= 40, f"{len(lines)} lines")
    t.check(all(len(line) < 80 for line in lines), "wider than 79 columns")
    t.equal(result.err, "")
    t.equal(t.succeeds("-h").out, result.out)
    for option in ("-o", "-c", "-g", "--on-reset", "--compress", "-1", "-9", "--report", "--verify",
                   "--max-memory", "-q", "--force", "--no-stamp", "--started", "--default-type",
                   "-h", "--version", "show", "check", "sum", "--state", "--first", "--timeout",
                   "--no-wait", "--status", "-- UPLOADER", "--top", "--type", "--raw", "--folded",
                   "--json"):
        t.contains(result.text, option)


def test_verbs_have_help(t):
    for verb in ("show", "check", "sum", "record"):
        result = t.succeeds(verb, "--help")
        t.contains(result.text, f"usage: pprofdelta {verb}")
        t.check(all(len(line) < 80 for line in result.text.splitlines()), "wider than 79 columns")
        t.equal(t.succeeds(verb, "-h").out, result.out)


def test_version(t):
    result = t.succeeds("--version")
    t.check(re.fullmatch(r"pprofdelta \d+\.\d+\.\d+\nOTLP: opentelemetry-proto \d+\.\d+, profiles "
                         r"v1development\n", result.text), result.text)
    t.equal(result.err, "")


def test_help_needs_nothing_else(t):
    t.succeeds("--help", "nowhere.pb", "--nonsense")
    t.succeeds("nowhere.pb", "--version")


def delta_of(t, *args, **kwargs):
    result = t.succeeds(*args, **kwargs)
    if result.code == 0:
        t.equal(read(result.out).values(), DELTA, str(args))


def test_options_go_anywhere(t):
    prev, cur = pair(t)
    delta_of(t, prev, "--verify", cur, "-q")
    delta_of(t, prev, cur, "--compress", "none", "-9")
    delta_of(t, "-q1", prev, cur)
    delta_of(t, prev, cur, "--report=json", manners=False)
    delta_of(t, prev, "-q", cur, env={"POSIXLY_CORRECT": "1"})


def test_double_dash_ends_options(t):
    prev, cur = pair(t)
    t.write("-q", t.load(prev))
    t.write("--force", t.load(cur))
    delta_of(t, "--", "-q", "--force")
    delta_of(t, "--verify", "--", "-q", "./--force")
    delta_of(t, "-q", "--", prev, cur)
    t.fails(2, prev, cur, "--", "-q")


def test_verbs_are_names_of_files_elsewhere(t):
    prev, cur = pair(t)
    t.write("show", t.load(prev))
    t.write("check", t.load(cur))
    delta_of(t, "./show", "check")
    delta_of(t, "--", "show", "check")


def test_good_values_are_taken(t):
    prev, cur = pair(t)
    for option in ("--on-reset=auto", "--on-reset=restart", "--on-reset=clamp",
                   "--on-reset=negative", "--on-reset=fail", "--compress=gzip", "--compress=zstd",
                   "--compress=none", "--verify", "--no-stamp", "--force", "--default-type",
                   "--default-type=counter", "--default-type=keep", "-q", "--quiet",
                   "--counter=alloc_space", "--counter=alloc_space/bytes",
                   "--gauge=inuse_space", "--gauge=inuse_space/bytes", "--started=@1",
                   "--max-memory=64M", "--max-memory=65536k", "--max-memory=65536K",
                   "--max-memory=65536KiB", "--max-memory=64MiB", "--max-memory=1G",
                   "--max-memory=1T", "--max-memory=67108864", "-1", "-2", "-3", "-4", "-5", "-6",
                   "-7", "-8", "-9"):
        if option == "--compress=zstd":
            t.succeeds(option, prev, cur)
        else:
            delta_of(t, option, prev, cur)


def test_abbreviated_options(t):
    prev, cur = pair(t)
    delta_of(t, prev, cur, "--no-s")
    delta_of(t, prev, cur, "--comp=none")


def test_the_output_is_not_the_state(t):
    """Either would throw the other away."""
    one, two_, _ = begun(t)
    before = t.load("s")
    os.mkdir(t.path("folder"))
    os.symlink("../s", t.path("folder/link"))
    for out in ("s", "./s", "folder/../s", t.path("s"), "folder/link"):
        result = t.fails(2, "--state", "s", two_, "-o", out)
        t.contains(result.err, "-o and --state name the same file")
        stands(t, before, out)
    t.fails(2, "--state", "new", one, "-o", "./new")
    t.check(not os.path.exists(t.path("new")), "there is a file")
    t.succeeds("--state", "s", two_, "-o", "folder/s")


def test_the_library_names_no_option_of_the_command(t):
    """Its messages are for every caller; the command adds the options as hints."""
    options = set()
    for args in ((), ("show",), ("check",), ("sum",), ("record",)):
        options |= set(re.findall(r"--[a-z][a-z-]+", t.succeeds(*args, "--help").text))
    t.check(len(options) > 20, "found no options")
    library = os.path.join(os.path.dirname(__file__), "../../lib")
    for folder, _, names in os.walk(library):
        for name in names:
            if os.path.basename(folder) == "agent" or not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            literals = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))
            named = options & set(re.findall(r"--[a-z][a-z-]+", literals))
            t.check(not named, f"{name} names {named}")
