#!/usr/bin/env python3
"""What `meson install` puts down, and programs that use it: run.py SOURCE_ROOT BUILD_ROOT PPROFDELTA

Installs into an empty folder, checks each file, builds a consumer in C (shared and static), C++,
Go and Python as its user would, through pkg-config, and lets each make the bundled delta. The shell
completions are asked what they complete. What is not installed here is skipped, with its name.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build, tool = map(os.path.abspath, sys.argv[1:4])
here = os.path.join(source, "tests", "consumers")
sys.path[:0] = [os.path.join(source, "tests", "support")]
from checks import check, finish  # noqa: E402
from pages import read  # noqa: E402


TIMEOUT = 3600  # for what hangs; nothing here measures time


def run(*args, env=None, **kwargs):
    return subprocess.run(args, capture_output=True, check=False, env={**os.environ, **(env or {})},
                          timeout=TIMEOUT, **kwargs)


def have(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        print("skipped: there is no", " and no ".join(missing), flush=True)
    return not missing


with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
    options = {option["name"]: option["value"] for option in json.load(file)}
folder = tempfile.mkdtemp(prefix="pprofdelta-consumers-")
result = run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
check("meson install", result.returncode == 0, result.stderr.decode())
prefix = folder + options["prefix"]
libdir = os.path.join(prefix, options["libdir"])
header = read(prefix, "include", "pprofdelta_common.h")
version = re.search(r'PPROFDELTA_VERSION "(.*)"', header).group(1)
api = re.search(r"PPROFDELTA_API_VERSION (\d+)", header).group(1)

# ---- the files ------------------------------------------------------------------------------------

for name in ("bin/pprofdelta", "include/pprofdelta.h", "share/man/man1/pprofdelta.1",
             "share/man/man1/pprofdelta-delta.1", "share/man/man5/pprofdelta-formats.5",
             "share/man/man3/libpprofdelta.3", "share/bash-completion/completions/pprofdelta",
             "share/zsh/site-functions/_pprofdelta", "share/fish/vendor_completions.d/pprofdelta.fish",
             f"{options['libdir']}/libpprofdelta.a", f"{options['libdir']}/libpprofdelta.so.{version}",
             f"{options['libdir']}/pkgconfig/pprofdelta.pc", f"{options['libdir']}/cmake/pprofdelta/pprofdelta-config.cmake",
             f"{options['libdir']}/cmake/pprofdelta/pprofdelta-config-version.cmake"):
    check("installs " + name, os.path.isfile(os.path.join(prefix, name)))
for link in ("libpprofdelta.so", "libpprofdelta.so." + api):
    leads_to = os.path.realpath(os.path.join(libdir, link))
    check(f"{link} leads to the library", leads_to == os.path.realpath(
        os.path.join(libdir, "libpprofdelta.so." + version)), leads_to)
ran = run(os.path.join(prefix, "bin", "pprofdelta"), "--version")
check("the installed command runs", ran.stdout.decode().splitlines()[:1] == [f"pprofdelta {version}"], ran)
if have("nm"):
    loose = {row.split()[0] for row in run("nm", "--defined-only", "--extern-only", "--format=posix", os.path.join(
        libdir, "libpprofdelta.a")).stdout.decode().splitlines() if " " in row}
    loose = {name for name in loose if not name.startswith("pprofdelta_")} - {"_.stapsdt.base"}
    check("the archive has no name outside of pprofdelta_", not loose, sorted(loose)[:5])
leak = run("grep", "-rlaF", source, prefix)
check("nothing installed names the folder it was built in", not leak.stdout or options["debug"],
      leak.stdout.decode())

# ---- the consumers --------------------------------------------------------------------------------

pair = [os.path.join(source, "testdata", "valid", f"heap.{n}.pb.gz") for n in (1, 2)]


def seen(profile):
    """All that is in it, but for the numbers that the command does not give two files."""
    shown = run(tool, "show", "--raw", "-", input=profile).stdout
    return re.sub(rb" seq=2 attempt=1 id=\w+", b"", shown)


want = seen(run(tool, *pair).stdout)
long_pair = [os.path.join(folder, f"long.{n}.pb") for n in (1, 2)]  # with a string that nothing uses
for short, long in zip(pair, long_pair):
    with gzip.open(short) as source_file, open(long, "wb") as file:
        file.write(source_file.read() + b"\x32\x80\x80\x80\x0a" + bytes(20 << 20))
env = {"PKG_CONFIG_PATH": os.path.join(libdir, "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": folder,
       "LD_LIBRARY_PATH": libdir}


def flags(*options_):
    result_ = run("pkg-config", *options_, "pprofdelta", env=env)
    check("pkg-config " + " ".join(options_), result_.returncode == 0, result_.stderr.decode())
    return result_.stdout.decode().split()


def makes_the_delta(name, *command):
    ran_ = run(*command, *pair, env=env)
    check(name + " makes the delta", ran_.returncode == 0 and seen(ran_.stdout) == want and want,
          ran_.stderr.decode())
    ran_ = run(*command, pair[0], __file__, env=env)
    check(name + " tells what is wrong", ran_.returncode == 1 and b"not a pprof profile" in ran_.stderr,
          ran_.stderr.decode())
    ran_ = run(*command, pair[0], out("missing"), env=env)
    check(name + " names a file that is missing", ran_.returncode == 1 and b"missing" in ran_.stderr, ran_)
    ran_ = run(*command, env=env)
    check(name + " needs two files", ran_.returncode > 0 and ran_.stderr, ran_)
    ran_ = run(*command, *long_pair, env=env)
    check(name + " reads long files", ran_.returncode == 0 and seen(ran_.stdout) == want, ran_.stderr.decode())


def compiles(name, *command):
    result_ = run(*command, env=env)
    check(name + " compiles", result_.returncode == 0, result_.stderr.decode()[-3000:])
    return result_.returncode == 0


def out(name):
    return os.path.join(folder, name)


if have("pkg-config", "cc"):
    check("pkg-config tells the version",
          run("pkg-config", "--modversion", "pprofdelta", env=env).stdout.decode().strip() == version)
    if compiles("C", "cc", "-Wall", "-Wextra", "-Werror", "-std=c11", os.path.join(here, "consumer.c"),
                "-o", out("c"), *flags("--cflags", "--libs")):
        makes_the_delta("C", out("c"))
        needed = run("readelf", "-dW", out("c")).stdout.decode()
        check("C needs the library by its soname", f"[libpprofdelta.so.{api}]" in needed, needed)
    static = [flag for flag in flags("--cflags", "--libs", "--static") if flag != "-lpprofdelta"]
    if compiles("C, static", "cc", "-std=c11", os.path.join(here, "consumer.c"), "-o", out("static"),
                os.path.join(libdir, "libpprofdelta.a"), *static):
        makes_the_delta("C, static", out("static"))
        needed = run("readelf", "-dW", out("static")).stdout.decode()
        check("C, static, has the library in it", "libpprofdelta" not in needed, needed)
CMAKE = """cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(pprofdelta {} REQUIRED)
add_executable(shared {here}/consumer.c)
target_link_libraries(shared pprofdelta::pprofdelta)
add_executable(with_archive {here}/consumer.c)
target_link_libraries(with_archive pprofdelta::static)
"""


def find_with_cmake(name, wanted):
    os.makedirs(out(name), exist_ok=True)
    with open(os.path.join(out(name), "CMakeLists.txt"), "w", encoding="utf-8") as lists:
        lists.write(CMAKE.format(wanted, here=here))
    return run("cmake", "-S", out(name), "-B", out(name), "-DCMAKE_PREFIX_PATH=" + prefix,
               f"-Dpprofdelta_DIR={libdir}/cmake/pprofdelta", env=env)


if have("cmake", "cc"):
    found, later = find_with_cmake("cmake", version), find_with_cmake("cmake_later", "0.2")
    check("CMake finds the package", found.returncode == 0, found.stderr.decode()[-2000:])
    check("CMake does not take it for a later version", later.returncode and b"0.2" in later.stderr, later.stderr)
    if compiles("C, by CMake", "cmake", "--build", out("cmake")):
        for name in ("shared", "with_archive"):
            makes_the_delta("C, by CMake, " + name, os.path.join(out("cmake"), name))
        needed = run("readelf", "-dW", os.path.join(out("cmake"), "with_archive")).stdout.decode()
        check("pprofdelta::static is the archive", "libpprofdelta" not in needed, needed)
if have("pkg-config", "c++") and compiles(
        "C++", "c++", "-Wall", "-Wextra", "-Werror", "-std=c++17", os.path.join(here, "consumer.cc"),
        "-o", out("cc"), *flags("--cflags", "--libs")):
    makes_the_delta("C++", out("cc"))
if have("pkg-config", "c++") and compiles(
        "C++ with pools", "c++", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-std=c++17", "-pthread",
        os.path.join(here, "pools.cc"), "-o", out("pools"), *flags("--cflags", "--libs"), "-ldl"):
    ran = run(out("pools"), env=env)
    totals = [kind["total"] for kind in json.loads(run(tool, "show", "--json", "-", input=ran.stdout).stdout or '{"types": []}')["types"]]
    # Twice 1000 blocks of 48 bytes, of which 400 are kept; and a block of 100 bytes that grows to 100,000 and shrinks to 10,000.
    check("C++ with pools is accounted", ran.returncode == 0 and totals[:4] == [2002, 196000, 802, 48400], (totals, ran.stderr))
    listed = run(tool, "show", "--stacks", "3", "-", input=ran.stdout).stdout.decode()
    check("functions of pprofdelta_alloc.hpp are hidden", "::cache" in listed and "pprofdelta_alloc::" not in listed, listed)
    for visibility in ("default", "hidden"):
        plugins = [out(f"plugin_{visibility}_{i}.so") for i in (1, 2)]
        for plugin in plugins:
            compiles(f"a plugin, {visibility}", "c++", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-std=c++17", "-fPIC",
                     "-shared", f"-fvisibility={visibility}", os.path.join(here, "pools_plugin.cc"), "-o", plugin, *flags("--cflags", "--libs"))
        if compiles("plugins", "c++", "-std=c++17", os.path.join(here, "plugins.cc"), "-o", out("plugins"), "-ldl"):
            ran = run(out("plugins"), *plugins, env=env)
            check(f"two plugins come and go, {visibility}", ran.returncode == 0, (ran.stdout, ran.stderr))
if have("pkg-config", "go", "cc"):
    shutil.copy(os.path.join(here, "consumer.go"), out("consumer.go"))
    env.update(CGO_ENABLED="1", GOFLAGS="-mod=mod -trimpath", GOTOOLCHAIN="local", GO111MODULE="off")
    if not any(os.environ.get(home) for home in ("GOCACHE", "XDG_CACHE_HOME", "HOME")):
        env["GOCACHE"] = out("go-cache")
    if compiles("Go", "go", "build", "-o", out("go"), out("consumer.go")):
        makes_the_delta("Go", out("go"))
makes_the_delta("Python", sys.executable, os.path.join(here, "consumer.py"))

# ---- the completions ------------------------------------------------------------------------------

by_help = {verb: sorted(set(re.findall(r"--[a-z][a-z-]*=?", "\n".join(
    line for line in run(tool, *verb, "--help").stdout.decode().splitlines()
    if re.match(r" +-", line))))) for verb in (
        (), ("sum",), ("show",), ("check",), ("symbolize",), ("record",), ("leaks",), ("export",))}
share = os.path.join(prefix, "share")
path = os.path.join(folder, "path")
os.mkdir(path)
os.symlink(tool, os.path.join(path, "pprofdelta"))
shell_env = {"PATH": path + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb"}
os.mkdir(os.path.join(folder, "files"))
with open(os.path.join(folder, "files", "heap.pb.gz"), "w", encoding="utf-8"):
    pass
os.symlink("/bin/true", os.path.join(path, "an-uploader-of-ours"))

# Lines whose last word is the first of a command, ones with a word of it further on, and others.
COMMANDS = ("record -- an-up", "record an-up", "record -o d an-up", "record --rate=1 --snapshot an-up",
            "record --rate 1 -- an-up", "--state s heap.pb.gz -- an-up", "--state=s -- an-up")
ARGUMENTS = ("record -- an-uploader-of-ours he", "record an-uploader-of-ours he",
             "--state s -- an-uploader-of-ours -x he")
OTHERS = ("--state s an-up", "a b -- an-up", "record -o an-up", "record --rate an-up", "sum -- an-up")


def bash(line):
    """Words as bash parts them: '=' stands alone."""
    words = [word for part in line.split(" ") for word in (re.split("(=)", part) if "=" in part else [part])]
    words = [word for i, word in enumerate(words) if word or i == len(words) - 1]
    script = (f". {share}/bash-completion/completions/pprofdelta\n"
              f"COMP_WORDS=({' '.join(repr(word) for word in words)}) COMP_CWORD={len(words) - 1}\n"
              "_pprofdelta 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return sorted(filter(None, run("bash", "-c", script, env=shell_env,
                                   cwd=os.path.join(folder, "files")).stdout.decode().split("\n")))


def fish(line):
    script = (f"source {share}/fish/vendor_completions.d/pprofdelta.fish\n"
              f"complete -C '{line}'")
    shown = run("fish", "--no-config", "-c", script, env=shell_env,
                cwd=os.path.join(folder, "files")).stdout.decode()
    return sorted({row.split("\t")[0] for row in shown.splitlines()})


ZSH = """
compset() { PREFIX=${PREFIX#*=} }
compadd() { shift; print -l -- "$@" }
_describe() { [[ $1 == -o ]] && shift; print -l -- ${(P)2} }
_files() { print -l -- *(N) }
_normal() { (( CURRENT == 1 )) && print -l -- ${(k)commands[(I)$words[1]*]} || print -l -- ${words[CURRENT]}*(N) }
"""


def zsh(line):
    """What the completion hands to zsh's own functions, which here only print it."""
    words = line.split(" ")
    script = (f"words=(); . {share}/zsh/site-functions/_pprofdelta; {ZSH}\n"
              f"words=({' '.join(repr(word) for word in words)}) CURRENT={len(words)} "
              f"PREFIX={words[-1]!r}; _pprofdelta")
    shown = run("zsh", "-f", "-c", script, env=shell_env, cwd=os.path.join(folder, "files"))
    return sorted({row.split(":")[0] for row in shown.stdout.decode().splitlines()})


def check_shell(name, complete):
    for verb, wanted in by_help.items():
        typed = " ".join(("pprofdelta", *verb, "--"))
        check(f"{name}: options of {' '.join(verb) or 'the delta'}",
              complete(typed) == wanted and len(wanted) > 2, (complete(typed), wanted))
    check(f"{name}: verbs", {"show", "check", "sum", "record"} <= set(complete("pprofdelta ")), complete("pprofdelta "))
    check(f"{name}: files", "heap.pb.gz" in complete("pprofdelta show "), complete("pprofdelta show "))
    check(f"{name}: no verb behind a verb", "check" not in complete("pprofdelta show "))
    check(f"{name}: verbs behind help", {"show", "sum"} <= set(complete("pprofdelta help ")))
    for line, wanted in [(line, ["an-uploader-of-ours"]) for line in COMMANDS] + \
            [(line, ["heap.pb.gz"]) for line in ARGUMENTS]:
        got = complete("pprofdelta " + line)
        check(f"{name}: the command of {line}", got == wanted, got)
    for line in OTHERS:
        got = complete("pprofdelta " + line)
        check(f"{name}: no command in {line}", "an-uploader-of-ours" not in got, got)
    for line in ("export --compress", "sum --compress", "--compress", "--format", "record --format", "--for", "recover --for",
                 "--status", "--report", "export --report", "--first", "--on-reset", "--default-type"):
        said = run(tool, *f"{line}=?".split(), "x").stderr.decode()  # "must be zstd or none"
        words = re.search(r"must be (.*)", said)[1].replace(",", "").replace(" or ", " ").split()
        got = [value.rpartition("=")[2] for value in complete(f"pprofdelta {line}=")]
        check(f"{name}: values of {line}", got == sorted(words), (got, words))
    check(f"{name}: options of record before its command",
          "--rate=" in complete("pprofdelta record --snapshot --r"))


if have("bash"):
    check_shell("bash", bash)
    check("bash: values", bash("pprofdelta --compress=") == ["gzip", "none", "zstd"]
          and bash("pprofdelta a b --on-reset=c") == ["clamp"], bash("pprofdelta --compress="))
    check("bash: files behind a '='", bash("pprofdelta --state=he") == ["heap.pb.gz"], bash("pprofdelta --state=he"))
    check("bash: values of a word of its own", bash("pprofdelta show --type inuse_o") == ["inuse_objects"])
if have("fish"):
    check_shell("fish", fish)
    check("fish: values", fish("pprofdelta --compress=") == ["--compress=gzip", "--compress=none",
                                                             "--compress=zstd"],
          fish("pprofdelta --compress="))
    check("fish: files behind a '='", fish("pprofdelta --state=he") == ["--state=heap.pb.gz"],
          fish("pprofdelta --state=he"))
if have("zsh"):
    check_shell("zsh", zsh)
    check("zsh: values", zsh("pprofdelta --compress=") == ["gzip", "none", "zstd"],
          zsh("pprofdelta --compress="))
    check("zsh: files behind a '='", "heap.pb.gz" in zsh("pprofdelta --state=he"), zsh("pprofdelta --state=he"))

shutil.rmtree(folder, ignore_errors=True)
finish()
