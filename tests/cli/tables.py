"""The tables of tables/*.txt: what the command is given, its exit status, and what it says. Each case is a test.

    == the name of the case
    file NAME [gz] [KEY=VALUE...]: SAMPLES   makes a profile. More samples may be on lines behind it that begin with two spaces.
    text NAME: TEXT                          makes a file of any text
    $ [VAR=VALUE...] ARGUMENTS... [<NAME] [>NAME]   runs the command, which ends with 0; or "$2 ARGUMENTS": with 2
      | LINE   standard output is these lines       ! TEXT   standard error has this text
      + TEXT   standard output has this text        !| LINE  standard error is these lines
      - TEXT   neither has this text                  = LINE   leaks --json has these findings: what it is, of what, where, and why
    film NAME COUNT [KEY=VALUE...]           makes the heap profiles NAME00.pb.gz and so on, one each minute. A line behind it, STACK: [xN] MADE LIVE
                                             [RESIDENT [MAPPED]], has the KiB of a stack, in objects of 1 KiB. These are formulas of the number i;
                                             and of k, which is below N, as is the number for %d in the stack. at=FORMULA is the minute. areas: AREAS are there, too.
                                             STACK alone is called by serve and main; ;STACK is not.
    values NAME: SAMPLES                     the profile has these samples and no others
    use NAME                                 does what a case does whose name is (NAME), which is no test
    testdata PATH, copy NAME NAME, link TARGET NAME   makes a file of one in testdata/, or of another one
    same NAME NAME [WORD]                    two files are equal, or their lines that have this word
    none NAME, remove NAME                   there is no such file; or none any more
    windows ..., places ...                  makes small profiles: see there

A sample is a stack as show --folded prints it, its labels, and its values: main;work{user=x size=16bytes} 10 1000. PREV and CUR stand for those
of samples.py. gz compresses; at=MINUTES is the time, from that of PREV on; what else a profile has is in pb.profile. {a|b} in a line of
arguments makes two runs of it, which are held to the same. A word with "*" is the files that it matches. \\x1b and the like are the characters in what is given and behind "-".
"""

import glob
import itertools
import json
import os
import re
import shlex

import pb
import samples

TYPES = {"heap": pb.HEAP, "counters": samples.COUNTERS}
NUMBERS = ("time", "duration", "period", "start", "addresses")
AREAS = ["main;use: 500*i 100 0", ";[live heap]: 0 0 100", ";[allocator slack]: 0 0 300",
         "/usr/lib/libx.so;[file mappings, clean or shared]: 0 0 4000"]  # what a program has that allocates little
HEAD = re.compile(r'((?:"[^"]*"|[^":]|:(?! |$))*):? ?(.*)')  # what stands before the first colon
SAMPLE = re.compile(r"(.*?)(?:\{(.*)\})?((?: -?\d+)+)")


def plain(text):
    """Without the escapes."""
    return re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|n|r|t|\\)", lambda found: found[0].encode().decode("unicode_escape"), text)


def time_at(minute):
    return samples.T0 + minute * samples.MINUTE


def words_of(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def label_of(pair):
    key, _, value = pair.partition("=")
    number = re.fullmatch(r"(\d+)([a-z]*)", value)
    return plain(key), (int(number[1]), number[2] or "bytes") if number else plain(value)


def samples_of(text):
    for one in re.split(r", (?=[^,]* -?\d+)", text) if text else ():
        stack, labels, values = SAMPLE.fullmatch(one).groups()
        names = map(plain, reversed(stack.split(";"))) if stack != "(no stack)" else ()
        yield pb.Stack(*names, labels=dict(map(label_of, labels.split(" "))) if labels else {}), [int(value) for value in values.split()]


def profile_of(options, text):
    known = {"PREV": (samples.PREV, 0), "CUR": (samples.CUR, 1)}
    made, at = known[text] if text in known else (list(samples_of(text)), None)
    how, comments, cut = {} if at is None else {"time": time_at(at)}, [], None
    for key, _, value in (option.partition("=") for option in options):
        if key == "comment":
            comments.append(plain(value))
        elif key == "cut":
            cut = -int(value)
        elif key == "at":
            how["time"] = time_at(int(value))
        elif key == "types":
            how[key] = TYPES.get(value) or plain(value).split(",")
        elif key != "gz":
            how[key] = int(value, 0) if key in NUMBERS else plain(value)
    data = pb.profile(made, comments=comments, **how)
    return (pb.gz(data) if "gz" in options else data)[:cut]


def write(t, name, data):
    os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
    t.write(name, data)


def film(t, head, lines):
    (name, count, *options), rows = words_of(head), []
    how = {"period_type": "space/bytes", "period": "1", "at": "i", **dict(option.partition("=")[::2] for option in options)}
    for line in AREAS * (how.pop("areas", None) is not None) + lines:
        names, _, formulas = line.rpartition(": ")
        times, *formulas = formulas.split() if ": x" in line else ("x1", *formulas.split())
        for k in range(int(times[1:])):
            stack = [plain(name).replace("%d", str(k)) for name in reversed(names.split(";")) if name]
            rows.append((stack if ";" in names else [*stack, "serve", "main"], [compile(f, head, "eval") for f in formulas], k))
    types = (pb.HEAP + ["rss_space/bytes", "mapped_space/bytes"])[:max(max(2 + len(formulas) for _, formulas, _ in rows), 4)]
    at, how = how.pop("at"), {key: int(value) if key in NUMBERS else value for key, value in how.items()}
    for i in range(int(count)):
        made = []
        for stack, formulas, k in rows:
            kib = [int(eval(formula, {"i": i, "k": k})) for formula in formulas]
            made.append((stack, [kib[0], kib[0] << 10, kib[1], kib[1] << 10, *(n << 10 for n in kib[2:]), 0, 0][:len(types)]))
        write(t, f"{name}{i:02}.pb.gz", pb.gz(pb.profile(made, types=types, time=time_at(0) + int(eval(at) * samples.MINUTE), **how)))


def places(t, head, text, behind):
    """places NAME [KEY=VALUE...]: FUNCTION@ADDRESS[/MAPPING] VALUES, ...: makes a profile of stacks of one frame; without a function, it
    has no name. On the lines behind it are the mappings: START-LIMIT OFFSET BUILD-ID FILE, where the id may be "-"."""
    name, *options = words_of(head)
    how = dict(option.split("=") for option in options)
    made = [re.fullmatch(r"(.*)@(\w+)(?:/(\d))?((?: -?\d+)+)", one).groups() for one in text.split(", ")]
    mappings = [re.fullmatch(r"(\w+)-(\w+) (\w+) (\S+) ?(.*)", line).groups() for _, line in behind]
    write(t, name, pb.mapped([(function, int(number or 0), int(address, 16), [int(value) for value in values.split()])
                              for function, address, number, values in made],
                             [(int(start, 16), int(limit, 16), int(offset, 16), file, build_id.strip("-"))
                              for start, limit, offset, build_id, file in mappings],
                             types=plain(how["types"]).split(",") if "types" in how else samples.COUNTERS,
                             time=time_at(int(how["at"])) if "at" in how else 0))


def windows(t, text, _):
    """windows FROM-TO[: WORDS OF THE STAMP] | ...: makes w0, w1 ..., which count 1, 10, 100 ... Without a colon a window is a
    cumulative profile."""
    for old in glob.glob(t.path("w[0-9]")):
        os.remove(old)
    for i, part in enumerate(text.split(" | ")):
        times, colon, words = part.partition(":")
        since, until = map(int, times.split("-"))
        comments = [f"pprofdelta: delta from={since} to={until}{words}"] if colon else ()
        write(t, f"w{i}", pb.profile([(("leaf", "main"), [10 ** i, 1, 7, 7])], time=until, duration=until - since if since else 0,
                                     comments=comments))


def findings(text):
    for found in (one for run in json.loads(text)["runs"] for one in run["findings"]):
        place = found["shared"] or (found["place"] or {}).get("function") or "-"
        yield f"{found['kind']} {found['what']} {place} {found['reason']}\n"


def alternatives(line):
    """The lines that a line with {a|b} stands for."""
    parts = re.split(r"\{([^{}]*\|[^{}]*)\}", line)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def run(t, code, line, wanted):
    """wanted: the lines behind it, (mark, text)."""
    words = words_of(line)
    given = {word[0]: word[1:] for word in words if word[0:1] in ("<", ">")}
    env = list(itertools.takewhile(re.compile("[A-Z_]+=").match, words))
    args = [plain(word) for word in words[len(env):] if word[0:1] not in ("<", ">")]
    args = [arg for word in args for arg in sorted(glob.glob(word, root_dir=t.dir)) * ("*" in word) or [word]]
    result = t.fails(code, *args, stdin=t.load(given["<"]) if "<" in given else b"", env=dict(word.split("=", 1) for word in env),
                     manners=not any(arg.startswith("--report") for arg in args))
    if ">" in given:
        t.write(given[">"], result.out)
    for mark, said in (("|", result.text), ("!|", result.err), ("=", "")):
        want = [text for other, text in wanted if other == mark]
        said = "".join(findings(result.text)) if mark == "=" and want else said
        t.check(not want or said == "".join(one + "\n" for one in want if one or len(want) > 1),
                f"{line}: printed\n{said}not\n" + "\n".join(want))
    for mark, text in wanted:
        if mark == "-":
            t.lacks(result.text + result.err, plain(text))
        elif mark in "+!":
            t.contains(result.text if mark == "+" else result.err, text)


def perform(t, steps, more=None):
    """more: {another word: a function of the test, the rest of the line, and the lines behind it}."""
    for word, rest, behind in steps:
        head, text = HEAD.match(rest).groups()
        if word.startswith("$"):
            for line in alternatives(rest):
                run(t, int(word[1:] or 0), line, behind)
        elif word == "file":
            name, *options = words_of(head)
            write(t, name, profile_of(options, ", ".join(filter(None, (text, *(more for _, more in behind))))))
        elif word == "text":
            write(t, head, plain(text).encode("latin-1"))
        elif word == "film":
            film(t, rest, [line for _, line in behind])
        elif word == "places":
            places(t, head, text, behind)
        elif word == "windows":
            windows(t, rest, behind)
        elif word == "values":
            want = {";".join(stack): values for stack, values in samples_of(", ".join(filter(None, (text, *(more for _, more in behind)))))}
            t.equal(pb.read(t.load(head)).values(), want, head)
        elif word == "use":
            perform(t, FIXTURES[rest], more)
        elif word == "testdata":
            t.write(os.path.basename(rest), pb.load(os.path.join(samples.TESTDATA, rest)))
        elif word == "copy":
            t.write(rest.split()[1], t.load(rest.split()[0]))
        elif word == "link":
            os.symlink(*rest.split()[:1], t.path(rest.split()[1]))
        elif word == "same":
            one, other, *some = rest.split()
            t.equal(*([line for line in t.load(name).split(b"\n") if not some or some[0].encode() in line] for name in (one, other)))
        elif word == "remove":
            os.remove(t.path(rest))
        elif word == "none":
            t.check(not os.path.exists(t.path(rest)), f"there is {rest}")
        else:
            more[word](t, rest, behind)


def cases_of(text):
    """(name, steps) of a table. A step: its first word, the rest of the line, and the indented lines behind it as (mark, text)."""
    for part in re.split(r"^== ", text, flags=re.M)[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        steps = []
        for line in lines:
            mark = re.match(r"  (\||!\||\+|-|!|=)(?: |$)", line)
            if mark:
                steps[-1][2].append((mark[1], line[mark.end():]))
            elif line.startswith("  "):
                steps[-1][2].append(("", line.strip()))
            elif line and not line.startswith("#"):
                word, _, rest = line.partition(" ")
                steps.append((word, rest, []))
        yield name, steps


def make_tests(pattern, into, do=perform):
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), pattern))):
        with open(path, encoding="utf-8") as file:
            for name, steps in cases_of(file.read()):
                tests, name = (FIXTURES, name[1:-1]) if name[0] == "(" else (into, f"test_{os.path.basename(path)[:-4]}: {name}")
                if name in tests:
                    raise ValueError(f"two cases have one name: {name}")
                tests[name] = steps if tests is FIXTURES else lambda t, steps=steps: do(t, steps)


FIXTURES = {}
make_tests("tables/*.txt", globals())
