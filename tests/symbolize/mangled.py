"""Mangled names of C++ and Rust: what is shown, and that no name does harm."""

import json
import random
import shutil
import subprocess

import harness
import pb
from compiled import Symbolized

NAMES = {
    "_ZN6shapes5Store4fillEi": "shapes::Store::fill",
    "_ZNSt6vectorIiSaIiEE9push_backERKi": "std::vector<int, std::allocator<int> >::push_back",
    "_ZN1AC2Ev": "A::A",
    "_ZnwmRKSt9nothrow_t": "operator new",
    "_Z3fooi.part.0": "foo",
    "_ZN3app5serve17h0123456789abcdefE": "app::serve",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
    "_RNvCskwGfYPst2Cb_3app5serve": "app::serve",
    "_RINvNtC3std3mem8align_ofjE": "std::mem::align_of::<usize>",
}
SHOWN = [name.replace("<int, std::allocator<int> >", "<int>") for name in NAMES.values()]  # for people
AS_THEY_ARE = ["main", "malloc", "_start", "_Z", "_R", "_Zebra", "_ZN", "runtime.mallocgc", "_Rust_me",
               "__libc_start_main", "main.(*T)._Z", "\u00e9_Z3foov", ""]


def bomb(levels):
    """Every level has the one before twice: the name stands for 2 ** levels types."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    parts = ["1PIiiE"]
    for n in range(levels):
        at, number = "", n + 1
        while number:
            at, number = digits[number % 36] + at, number // 36
        parts.append(f"S0_IS{at}_S{at}_E")
    return "_Z1fI" + "".join(parts) + "Evv"


def write(t, names, addresses=False):
    t.write("in.pb", pb.profile([((name,), [1, 1, 1, 1]) for name in names], addresses=addresses))


def test_names_of_both_languages(t):
    write(t, [*NAMES, *[name for name in AS_THEY_ARE if name]])
    others = [name for name in AS_THEY_ARE if name]
    want = sorted([*NAMES.values(), *others])
    lines = t.succeeds("show", "in.pb", "--folded").text.splitlines()
    t.equal(sorted({line.rsplit(" ", 1)[0] for line in lines}), sorted({*SHOWN, *others}))
    got = json.loads(t.succeeds("show", "in.pb", "--json").text)
    t.equal(sorted(s["stack"][0]["function"] for s in got["samples"]), want)
    for name in ("shapes::Store::fill", "app::serve"):
        t.contains(t.succeeds("show", "in.pb", "--top", "40").text, name)
        t.contains(t.succeeds("show", "in.pb", "--flame", "-").text, name)
    for form in ("--folded", "--json", "--top"):
        t.contains(t.succeeds("show", "in.pb", "--no-demangle", form).text, "_ZN1AC2Ev")
    t.contains(t.succeeds("show", "in.pb", "--raw").text, "_ZN1AC2Ev")


def test_symbolize_keeps_the_system_name(t):
    write(t, NAMES)
    t.succeeds("symbolize", "in.pb", "-o", "out.pb")
    functions = Symbolized(t.load("out.pb")).functions.values()
    t.equal({system: name for name, system, _, _ in functions}, NAMES)
    t.succeeds("symbolize", "out.pb", "-o", "again.pb")
    t.equal(t.load("again.pb"), t.load("out.pb"), "twice")
    t.succeeds("symbolize", "in.pb", "--no-demangle", "-o", "plain.pb")
    functions = Symbolized(t.load("plain.pb")).functions.values()
    t.equal({name for name, _, _, _ in functions}, set(NAMES))


def test_names_that_would_fill_the_memory(t):
    bombs = [bomb(levels) for levels in (20, 40, 200, 400)]
    deep = ["_Z" + "1fI" * 1300, "_Z1f" + "P" * 4000 + "i", "_ZN" + "1a" * 2000 + "Ev", "_Z" + "9" * 4000,
            "_R" + "INv" * 1300, "_RNvC" + "9" * 300, "_RM" + "RR" * 2000, "_Z3foo" + "v" * 100000,
            "_RB" + "_" * 4000, "_RNvB_1a", "_RNvNvB2_1a1b", "_Z1fIXsr" * 400, "_Z" + "N" * 4090]
    write(t, [*bombs, *deep, *NAMES])
    lines = t.succeeds("show", "in.pb", "--folded").text.splitlines()
    shown = {line.rsplit(" ", 1)[0] for line in lines}
    t.equal([name for name in SHOWN if name not in shown], [], "other names")
    t.equal([name[:40] for name in bombs if name not in shown], [], "left as they are")


def test_damaged_names(t):
    """Names with bytes changed, cut off, doubled. None may end the command."""
    rng = random.Random(7)
    seeds = [*NAMES, bomb(5), "_ZZ4mainENKUlvE_clEv", "_ZN12_GLOBAL__N_1L1fEDpT_", "_ZStlsISt11char_traitsIcEERSt13basic",
             "_RNvXs_NtC3app1mNtB4_1SNtNtC4core3fmt5Debug3fmt", "_RNCNvC3app4main0B3_"]
    names = set()
    while len(names) < 3000:
        name = bytearray(rng.choice(seeds).encode())
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(2, len(name))
            kind = rng.randrange(4)
            if kind == 0:
                name[at] = rng.choice(b"_0123456789SETIJLNPRKFXZBCMvisd")
            elif kind == 1:
                del name[at:at + rng.randrange(1, 4)]
            elif kind == 2:
                name[at:at] = name[at:at + rng.randrange(1, 12)]
            else:
                name[at] = rng.randrange(256)
            name = name if len(name) > 3 else bytearray(b"_ZNSt")
        names.add(bytes(name))
    samples = [((name,), [1, 1, 1, 1]) for name in sorted(names)]
    t.write("in.pb", pb.profile([*samples, *[((name,), [1, 1, 1, 1]) for name in NAMES]], addresses=False))
    shown = t.succeeds("show", "in.pb", "--folded").text
    t.contains(shown, "std::vector<int>::push_back")
    t.succeeds("symbolize", "in.pb", "-o", "out.pb")
    t.succeeds("check", "out.pb")


def test_as_cxxfilt(t):
    """The names of C++ are those of binutils. Of Rust it shows the hashes, too."""
    if not shutil.which("c++filt"):
        t.skip("c++filt is missing")
    for name, plain in [(name, plain) for name, plain in NAMES.items()
                        if name.startswith("_Z") and "17h" not in name]:
        got = subprocess.run(["c++filt", "-p", name], stdout=subprocess.PIPE, timeout=harness.TIMEOUT,
                             check=True).stdout.decode().strip()
        t.equal(got, plain)
