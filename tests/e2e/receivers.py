"""`check --for` and the receivers' own code: run.py receivers PPROFDELTA

What check passes is taken, and what it refuses is refused. Nothing of the receivers is kept or built here:
PPROFDELTA_TEST_RECEIVERS is a program of the tester, which README.md describes. Skipped (77) without it.
"""

import glob
import os
import subprocess

import harness
import pb
import real

FORMATS = ("otlp", "otlp-parca", "otlp-plain")
AT_ONCE = 100  # files in a call
LEAST = 1500

program, receivers = None, []


def prepare(folder):
    global program
    program = os.environ.get("PPROFDELTA_TEST_RECEIVERS")
    if not program:
        raise real.Missing("PPROFDELTA_TEST_RECEIVERS names no program")
    receivers[:] = sorted(receiver for _, receiver in verdicts([seeds()[0]], folder))


# ---- the requests ----------------------------------------------------------------------------------------

# The messages whose fields are left out or doubled, one at a time, by their fields from the request on.
PLACES = [(), (1,), (1, 1), (1, 1, 1), (1, 2), (1, 2, 1), (1, 2, 2), (1, 2, 2, 1), (1, 2, 2, 2), (2,), (2, 1), (2, 2), (2, 3), (2, 6)]


def mutants(data, places=PLACES):
    """The message with each kind of field of the messages at these places left out, or its last there twice."""
    for place in places:
        parts = []
        try:
            pb.edit(data, place, lambda part: parts.append(part) or part)
        except IndexError:  # it has no such message
            continue
        for field, begin, _, end in {span[0]: span for span in pb.spans(parts[0])}.values():
            yield pb.edit(data, place, pb.without(field))
            yield pb.edit(data, place, lambda part: part[:end] + part[begin:])


def seeds():
    """All bundled files, readable ones and others."""
    return sorted(path for folder in (("testdata",), ("tests", "fuzz", "corpus"))
                  for path in glob.glob(os.path.join(real.root, *folder, "**"), recursive=True) if os.path.isfile(path))


def corpus(t):
    """What we write of every file that can be read, read and written again, as a window, and damaged; and requests of others."""
    made = set()
    t.check(len(seeds()) > 100, f"{len(seeds())} files")

    def take(*command):
        ran = t.run(*command, "-q", "--compress=none", manners=False)
        if ran.code == 0 and ran.out:
            made.add(ran.out)
        return ran.out if ran.code == 0 else b""

    for number, path in enumerate(seeds()):
        is_request = t.run("check", path, manners=False).text.find("an OTLP request") >= 0
        if is_request or "otlp" in os.path.basename(path):
            made.add(pb.inflate(pb.load(path)) if is_request else pb.load(path))
        form = FORMATS[number % len(FORMATS)]
        request = take("sum", path, f"--format={form}")
        if request:
            t.write("request", request)
            take("sum", "request", f"--format={FORMATS[(number + 1) % len(FORMATS)]}")
            take("--state", t.path(f"state.{number}"), "--force", path, f"--format={FORMATS[(number + 2) % len(FORMATS)]}")
    few = sorted((one for one in made if len(one) < 20000), key=len)
    for request in few[::max(1, len(few) // 60)]:
        made.update(mutants(request))
    return sorted(made)


# ---- both verdicts -----------------------------------------------------------------------------------------

def refused(t, names, *options):
    """Those that check has an error for, with what it says."""
    said = {}
    for at in range(0, len(names), AT_ONCE):
        for line in t.run("check", "-q", *options, *names[at:at + AT_ONCE], manners=False).err.splitlines():
            name, _, why = line.removeprefix("pprofdelta: ").partition(": ")
            said.setdefault(name, why)
    return said


def verdicts(names, folder):
    """What each receiver says of each file."""
    ran = subprocess.run([program], input="\n".join(names).encode(), stdout=subprocess.PIPE, cwd=folder, check=True,
                         timeout=harness.TIMEOUT)
    return {(name, receiver): said for name, receiver, said in
            (line.split("\t", 2) for line in ran.stdout.decode("utf-8", "replace").splitlines())}


def test_check_says_what_receivers_do(t):
    requests = corpus(t)
    names = [t.write(f"r{number}", data) and f"r{number}" for number, data in enumerate(requests)]
    t.check(len(names) >= LEAST, f"{len(names)} requests")
    theirs, damaged = verdicts(names, t.dir), refused(t, names)
    for receiver in receivers:
        ours = refused(t, names, f"--for={receiver}")
        taken = [name for name in names if theirs[name, receiver] == "takes"]
        t.check(LEAST // 10 < len(taken) < len(names) - LEAST // 10, f"{receiver} takes {len(taken)} of {len(names)}")
        wrong = [f"{name}: check passes it, and {receiver} says {theirs[name, receiver]}" for name in names
                 if name not in ours and theirs[name, receiver] != "takes"]
        # What is no valid request is refused by every verb. A receiver may take it.
        wrong += [f"{name}: {receiver} takes it, and check says {ours[name]}" for name in taken
                  if name in ours and name not in damaged]
        t.equal(wrong[:9], [], f"{len(wrong)} of {len(names)} differ")
        print(f"{receiver}: {len(names)} requests, {len(taken)} taken, {len(damaged)} damaged, "
              f"of which it takes {len([name for name in taken if name in damaged])}")


def test_what_we_write_is_taken(t):
    """The bundled profiles and a window of them, as --for writes them."""
    for receiver in receivers:
        files = []
        for number, path in enumerate(sorted(glob.glob(os.path.join(real.root, "testdata", "valid", "*.1.pb.gz")))):
            name = f"{receiver}.{number}"
            t.succeeds("sum", path, "-q", f"--for={receiver}", "--compress=none", "-o", name + "a")
            t.succeeds(path, path.replace(".1.", ".2."), "-q", f"--for={receiver}", "--compress=none", "-o", name + "b")
            files += [name + "a", name + "b"]
        t.check(len(files) >= 6, f"{files}")
        for (name, judge), said in verdicts(files, t.dir).items():
            if judge == receiver:
                t.equal(said, "takes", name)
