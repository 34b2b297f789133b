"""What the programs that a recorded one starts inherit: the agent where they can take it."""

import os
import re
import shutil

import recorded
from agents import AGENT, by_hand, checked, plainly, quiet, record, same, target

WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
        "execveat of a descriptor", "vfork", "posix_spawn", "posix_spawnp", "system", "popen")


def needed(t, name):
    path = target(t, name)
    if not os.path.exists(path):
        t.skip(f"{name} could not be built")
    return path


def loader_of(t, program):
    found = re.search(rb"/[^\0]*/ld-linux[^\0]*", program)
    if not found:
        t.skip("this program has another loader")
    return found.group()


def other_libc(t):
    """A program whose loader has the name of uClibc's, and is a link to the one of this system."""
    program = t.load(target(t, "inherits"))
    ours, other = loader_of(t, program), b"./ld-uClibc.so.1"
    os.symlink(ours.decode(), t.path("ld-uClibc.so.1"))
    path = t.write("other", program.replace(ours, other.ljust(len(ours), b"\0")))
    os.chmod(path, 0o755)
    return path


def copy(t, name, mode):
    path = t.path(f"copy{mode:o}")
    shutil.copy(target(t, name), path)
    os.chmod(path, mode)
    return path


def script(t, name, interpreter):
    path = t.write(name, f"#! {interpreter}\n".encode())
    os.chmod(path, 0o755)
    return path


def seen(t, how, program, others=None, **kwargs):
    """LD_PRELOAD as the program sees it."""
    env = {**os.environ, **({"LD_PRELOAD": others} if others else {}), **kwargs.pop("env", {})}
    ran = quiet(t, record(t, target(t, "starts"), how, program, env=env, **kwargs))
    t.equal((ran.code, ran.rest), (0, []), f"{how} {program}")
    return ran.out.decode().strip()


def test_the_agent_brings_no_other_library(t):
    """Each library that a short process loads for the agent costs it a tenth of all that the agent does."""
    def loaded(**env):
        ran = plainly(t, target(t, "starts"), env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1", **env})
        return set(re.findall(r"(?:^|/)([^/\s]+\.so[.\d]*)(?= \(| =>|$)", ran.out.decode(), re.M))
    without = loaded()
    if not any(name.startswith("libc.so") for name in without):
        t.skip("this loader does not list what it loads")
    path = by_hand(t)["LD_PRELOAD"]
    t.equal(loaded(LD_PRELOAD=path) - without, {os.path.basename(path)}, "libraries with the agent")


def test_who_can_take_the_agent_gets_it(t):
    for how in WAYS:
        t.contains(seen(t, how, target(t, "inherits"), options=["--rate=1"]), AGENT)
    checked(t, t.path("out"))


def test_a_static_program_gets_no_agent(t):
    path = needed(t, "inherits_static")
    for how in WAYS:
        if how not in ("system", "popen"):
            t.equal(seen(t, how, path), "not set", how)
        t.equal(seen(t, how, path, "libm.so.6"), "libm.so.6", how)


def test_who_cannot_take_the_agent_gets_none(t):
    """Its loader could end the program with status 127, and so would a sanitizer, which must come first."""
    copies = [(copy(t, "inherits", mode), ("execve", "posix_spawn")) for mode in (0o4755, 0o2755)]
    for path, ways in ((other_libc(t), WAYS), (needed(t, "inherits_sanitized"), WAYS), *copies):
        for how in ways:
            t.equal(seen(t, how, path), "not set", f"{how} {path}")


def test_scripts(t):
    """What counts is the interpreter, also that of an interpreter; the kernel follows some."""
    good = script(t, "good", target(t, "inherits"))
    static = script(t, "static", needed(t, "inherits_static"))
    other = script(t, "other script", other_libc(t))
    for how in ("execve", "execvp", "vfork", "posix_spawn", "posix_spawnp"):
        t.contains(seen(t, how, good), AGENT)
        t.contains(seen(t, how, script(t, "nested", good)), AGENT)
        t.equal(seen(t, how, static), "not set", how)
        t.equal(seen(t, how, script(t, "nested", static)), "not set", how)
        t.equal(seen(t, how, other), "not set", how)
    relative = script(t, "relative", "./static")
    t.equal(seen(t, "execv", relative), "not set")
    os.chmod(good, 0o4755)
    t.contains(seen(t, "execve", good), AGENT)


def test_a_script_without_a_first_line(t):
    """execvp gives it to the shell, which can take the agent."""
    path = t.write("plain", f"{target(t, 'inherits')}\n".encode())
    os.chmod(path, 0o755)
    t.contains(seen(t, "execvp", path), AGENT)


def test_the_search_for_a_program(t):
    """By PATH for the ways that search; a file there that is no program does not count."""
    for folder in ("one", "two", "three"):
        os.mkdir(t.path(folder))
    t.write("one/it", b"")
    shutil.copy(needed(t, "inherits_static"), t.path("two/it"))
    shutil.copy(target(t, "inherits"), t.path("three/it"))
    for how in ("execvp", "execvpe", "execlp", "posix_spawnp"):
        for folders, want in (("one:two:three", "not set"), ("one:three:two", None)):
            path = ":".join(t.path(folder) for folder in folders.split(":"))
            got = seen(t, how, "it", env={"PATH": path})
            t.check(got == want if want else AGENT in got, f"{how} {folders}: {got}")
    os.chdir(t.path("two"))
    try:
        t.equal(record(t, target(t, "starts"), "execvp", "two/it").out, b"not set\n")
    finally:
        os.chdir("/")


def test_other_entries_stay(t):
    path = needed(t, "inherits_static")
    for others, want in (("libm.so.6", "libm.so.6"), ("libm.so.6:libdl.so.2", None),
                         ("libm.so.6 libdl.so.2", "libm.so.6:libdl.so.2"),
                         (f"x{AGENT}.so.1:libm.so.6", None)):
        ran = record(t, target(t, "starts"), "execve", path, env={**os.environ, "LD_PRELOAD": others})
        t.equal(ran.out.decode().strip(), want or others)


def test_no_environment(t):
    quiet(t, same(t, "env", "-i", target(t, "inherits"), code=0))
    t.equal(record(t, "env", "-i", target(t, "inherits")).out, b"not set\n")


def test_the_agent_is_gone(t):
    """The loader would complain of a file that is not there, as in another root."""
    away = t.path("away")
    os.mkdir(away)
    moved = shutil.copy(by_hand(t)["LD_PRELOAD"], away)
    env = {**os.environ, "PPROFDELTA_AGENT": moved}
    ran = record(t, "sh", "-c", 'rm away/*; exec "$0"', target(t, "inherits"), env=env)
    t.equal((ran.code, ran.out, ran.err), (0, b"not set\n", ""))


def test_a_constructor_before_the_agents(t):
    """What another library starts or unloads there is not lost for want of what the agent looks up."""
    env = {**os.environ, "LD_PRELOAD": target(t, "libearly.so")}
    t.equal(quiet(t, same(t, target(t, "inherits"), code=0, env=env)).out, b"early: 5, 0\nnot set\n")


def test_a_program_that_is_not_there(t):
    """The answer is the same, and the program goes on."""
    for how in WAYS:
        for program in (t.path("missing"), t.dir):
            same(t, target(t, "starts"), how, program)


def test_the_window_before_each_exec(t):
    """Every way to become another program writes what happened before."""
    for how in WAYS[:10]:
        shutil.rmtree(t.path("out"), ignore_errors=True)
        record(t, target(t, "starts"), how, target(t, "inherits"), options=["--rate=1"])
        first = [ps[0] for ps in recorded.profiles(t.path("out")).values()]
        t.check(any("main" in stack for p in first for stack, _ in p.samples
                    if p.by_function(recorded.ALLOC_BYTES).get("main", 0) >= 1000), how)


def test_the_loader_as_a_program(t):
    """It has no loader of its own, and preloads into the program that it is given."""
    command = loader_of(t, t.load(target(t, "inherits"))).decode(), target(t, "inherits")
    t.contains(record(t, *command).out.decode(), AGENT)
    t.equal(plainly(t, *command).code, 0)


def test_a_path_that_begins_like_the_agents(t):
    """Another library is not the agent. The loader's word about the one that is not there stays."""
    agent = by_hand(t)["LD_PRELOAD"]
    for others in (agent + ".shim.so", "/x" + agent, f"libm.so.6:{agent}.shim.so"):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        record(t, target(t, "counted"), options=["--rate=1"], env={**os.environ, "LD_PRELOAD": others})
        t.check(os.path.isdir(t.path("out")) and recorded.files(t.path("out")), others)


def test_a_program_that_cannot_be_recorded_runs_if_that_is_asked_for(t):
    """Without profiles, with its own environment and exit status, and with a message even if notes are not wanted."""
    script = "sh", "-c", "env | grep -E 'LD_PRELOAD|PPROFDELTA_RECORD'; echo mine; exit 7"
    for options in (["-o", "/proc/none"], ["-o", t.write("file", b"")], ["-o", "out", "--to=true", "--format=otlp",
                                                                         "--resource=a=" + "b" * 20000]):
        ran = record(t, *script, options=options)
        t.equal((ran.code, ran.out), (125, b""), ran.err)
        ran = record(t, *script, options=["--anyway", *options])
        t.equal((ran.code, ran.out, ran.rest), (7, b"mine\n", []), ran.err)
        t.contains(ran.err, "runs all the same, without being recorded")
    ran = record(t, "env", options=["--anyway"])
    t.check(ran.code == 0 and AGENT in ran.out.decode() and not ran.noise, ran.err)
    t.equal(record(t, "there-is-no-such-program", options=["--anyway"]).code, 127)
