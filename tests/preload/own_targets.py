"""Programs of our own, which know what they did."""

import glob
import itertools
import json
import os
import re
import resource
import shutil

import killed
import recorded
from agents import (checked, counted, near, only, plainly, quiet, record, same, target)
from starting import copy, other_libc, script

EVERYTHING = "--rate=1"  # a sample of each allocation: the numbers are exact


def leaked(out):
    """What the program says that it leaked."""
    return {name.decode(): int(size) for name, size in re.findall(rb"(leak_\w+) (\d+)", out)}


def sums_of(profile, column):
    return recorded.leaks((stack, values[column]) for stack, values in profile.samples)


def test_leaks_are_found_to_the_byte(t):
    ran = same(t, target(t, "leaks"), "4", options=[EVERYTHING])
    profile = only(t, checked(t, t.path("out")))[-1]
    wanted = leaked(ran.out)
    t.check(len(wanted) == 5, f"the program leaked {wanted}")
    t.equal(sums_of(profile, recorded.INUSE_BYTES), wanted)
    names = {name for stack, _ in profile.samples for name in stack}
    t.equal([name for name in names if name.endswith("_seldom")], [], "names of the agent's functions")
    for name in wanted:
        stacks = [stack for stack, _ in profile.samples if name in stack]
        t.check(all("run" in stack for stack in stacks), f"{name} was not called by run: {stacks}")
    t.equal(profile.types, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                            "inuse_space/bytes", "peak_objects/count", "peak_space/bytes", "freed_objects/count",
                            "freed_space/bytes", "rss_space/bytes", "mapped_space/bytes"])


def test_leaks_are_estimated(t):
    ran = quiet_but_for_memory(t, same(t, target(t, "leaks"), "16", options=["--rate=16k"]))
    profile = only(t, checked(t, t.path("out")))[-1]
    wanted = leaked(ran.out)
    got = sums_of(profile, recorded.INUSE_BYTES)
    for name, size in wanted.items():
        # 20 MB and more at 16 kB: a thousand samples, 3% off at one sigma
        near(t, got.get(name, 0), size, 0.2, name)


def quiet_but_for_memory(t, ran):
    t.check(all("allocation of" in line for line in ran.noise), f"said {ran.noise}")
    t.check(len(ran.noise) <= 1, f"said more than once: {ran.noise}")
    return ran


def test_deltas_add_up(t):
    """The deltas of many windows say in the end what one profile of the whole says."""
    ran = quiet_but_for_memory(t, record(t, target(t, "leaks"), "8",
                                         options=[EVERYTHING, "--interval=20ms"]))
    windows = only(t, checked(t, t.path("out")))
    t.equal([p.sequence for p in windows], list(range(1, len(windows) + 1)))
    t.equal({p.id for p in windows}, {windows[0].id})
    t.equal([p.kind for p in windows], ["full"] + ["delta"] * (len(windows) - 1))
    t.equal(recorded.in_use(windows), leaked(ran.out))


MADE = ("make_early", "make_top", "make_worker", "make_grown", "make_late")
PEAK = {"make_top": (200, 200 * 20000), "make_worker": (10, 10 * 30000), "make_grown": (2, 500000)}


def made(profiles, columns):
    """{function: [objects, bytes]} of what the target peak makes."""
    sums = {}
    for stack, values in recorded.add_up(profiles, columns).items():
        for name in set(stack) & set(MADE):
            at = sums.setdefault(name, [0, 0])
            for i, value in enumerate(values):
                at[i] += value
    return {name: tuple(values) for name, values in sums.items() if any(values)}


def test_the_peak(t):
    """What was in use when most was, exactly, in one profile, in windows that are added up, as in-use values of
    their own, and in a child, which begins with what it inherits."""
    late, early = {"make_late": (150, 150 * 10000)}, {"make_early": (100, 100 * 10000)}
    for what, options in (("", []), ("slowly", ["--interval=5ms"]), ("slowly", ["--interval=5ms", "--snapshot"]),
                          ("fork", [])):
        for _ in range(9):  # until it has windows
            shutil.rmtree(t.path("out"), ignore_errors=True)
            ran = record(t, target(t, "peak"), what, options=["--rate=1", *options], end=None)
            t.equal(ran.code, 0, ran.err)
            if what != "slowly" or counted(t) > 3:
                break
        t.check(re.search(r"; peak of the live heap: 4\.5 MiB, after \d+\.\d s$", ran.noise[0]), ran.err)
        found = checked(t, t.path("out"))
        t.equal(len(found), 2 if what == "fork" else 1, "processes")
        for pid, profiles in found.items():
            is_parent = any("make_late" in stack for stack, _ in profiles[-1].samples)
            t.equal(made(profiles, recorded.PEAK), PEAK, f"{what} {options}: the peak")
            t.equal(made(profiles, (recorded.INUSE_OBJECTS, recorded.INUSE_BYTES)), late if is_parent else early)
            t.check(what != "slowly" or len(profiles) > 3, f"{len(profiles)} windows")
    t.contains(plainly(t, t.binary, "show", "--type=peak_space", profiles[-1].path).out.decode(), "by peak_space")


def test_in_otlp_all_windows_are_snapshots(t):
    """The last one has what is in use, and the counters of all add up to what was allocated."""
    for options in ([], ["--to=cat >got.$(date +%s%N)"]):
        ran = record(t, target(t, "leaks"), "2", options=[EVERYTHING, "--interval=20ms", "--format=otlp", *options])
        said = [json.loads(t.succeeds("show", "--json", "--no-symbolize", path).text)
                for path in sorted(glob.glob(t.path("got.*") if options else t.path("out/*.otlp.gz")))]
        t.equal([p["comments"][0].split()[5] for p in said], ["kind=full"] + ["kind=window"] * (len(said) - 1))
        rows = [[(tuple(f["function"] for f in s["stack"]), s["values"]) for s in p["samples"]] for p in said]
        made = leaked(ran.out)  # also by realloc: what is in the block already is not allocated again
        for column, windows in ((recorded.INUSE_BYTES, rows[-1:]), (recorded.ALLOC_BYTES, rows)):
            got = recorded.leaks((stack, values[column]) for window in windows for stack, values in window)
            t.equal(got, made, f"{options}: column {column}")
    t.contains(t.succeeds("leaks", "out").text, "window")
    t.succeeds("sum", *sorted(glob.glob(t.path("out/*.otlp.gz"))), "-o", "sum")
    total = recorded.Profile(t.path("sum"), is_stamped=False)
    t.equal((sums_of(total, recorded.INUSE_BYTES), sums_of(total, recorded.ALLOC_BYTES)), (made, made), "the sum")


FLAKY = "i=$(cat n 2>/dev/null || echo 0); echo $((i+1)) >n; case $i in 1|2) cat >/dev/null; exit 1; esac; cat >got.$(printf %03d $i)"


def test_a_receiver_adds_up_what_it_gets(t):
    """No value is negative, what was allocated and freed adds up although windows had to wait, and what is in use is what
    the last window says. Each window ends when it was sent, so none is too old."""
    for receiver in "pyroscope", "parca", "otel", "pprof":
        for millis in "400", "4000":  # until it has windows
            for name in glob.glob(t.path("got.*")) + glob.glob(t.path("n")):
                os.unlink(name)
            ran = record(t, target(t, "leaks"), "2", millis, options=[EVERYTHING, "--interval=20ms", f"--for={receiver}", f"--to={FLAKY}"])
            paths = sorted(glob.glob(t.path("got.*")))
            if len(paths) >= 3:
                break
        t.check(len(paths) >= 3 and paths[1].endswith(".003"), f"{paths}")
        sums = {}
        for path in paths:
            t.succeeds("check", "-q", f"--for={receiver}", path)
            said = json.loads(t.succeeds("show", "--json", "--no-symbolize", path).text)
            if receiver != "otel":  # which has the beginning
                t.check(abs(os.stat(path).st_mtime - said["time_nanos"] / 1e9) < 5, f"{path} has another time")
            types = [one["type"] for one in said["types"]]
            values = [dict(zip(types, sample["values"])) for sample in said["samples"]]
            t.check(all(value >= 0 for one in values for value in one.values()), f"{path} has a negative value")
            for kind in types:
                sums.setdefault(kind, []).append(sum(one[kind] for one in values))
        for what in "objects", "space":
            t.equal(sum(sums["alloc_" + what]) - sum(sums["freed_" + what]), sums["inuse_" + what][-1], f"{receiver}: {what}")
        rows = [(tuple(f["function"] for f in s["stack"]), s["values"][types.index("alloc_space")])
                for path in paths for s in json.loads(t.succeeds("show", "--json", "--no-symbolize", path).text)["samples"]]
        t.equal(recorded.leaks(rows), leaked(ran.out), receiver)


def test_the_whole_family(t):
    """Every function does what it does without the agent, and balanced use leaves nothing."""
    quiet_but_for_memory(t, same(t, target(t, "family")))
    quiet_but_for_memory(t, same(t, target(t, "family"), "3000", options=[EVERYTHING]))
    found = recorded.profiles(t.path("out"))
    profile = max((p for ps in found.values() for p in ps), key=lambda p: p.total(0))
    in_use = {stack: values for stack, values in profile.samples
              if "go_round" in stack and values[recorded.INUSE_OBJECTS]}
    t.equal(in_use, {}, "in use after balanced rounds")
    seen = sum(values[recorded.ALLOC_OBJECTS] for stack, values in profile.samples
               if "go_round" in stack)
    t.equal(seen, 3000 * 12, "allocations")


def test_out_of_memory_in_a_cancelled_thread(t):
    """Saying where memory went is no place for the thread to end."""
    ran = same(t, target(t, "cancelled"), code=0)
    t.equal(ran.out, b"malloc returned, the thread was cancelled\n")
    t.check(len(ran.noise) == 1 and "failed" in ran.noise[0], f"said {ran.noise}")


def test_forks(t):
    quiet(t, same(t, target(t, "forks"), "30", options=["--rate=16k", "--interval=30ms"]))
    found = checked(t, t.path("out"))
    t.check(len(found) >= 30, f"{len(found)} processes of 31 were recorded")
    t.equal(len({p.id for ps in found.values() for p in ps if p.sequence == 1}),
            sum(1 for ps in found.values() for p in ps if p.sequence == 1), "identities")
    kept = [ps for ps in found.values()
            if any("keep_in_child" in stack for p in ps for stack, _ in p.samples)]
    t.check(len(kept) >= 28, f"{len(kept)} of 30 children show what they kept")
    for windows in kept:
        before_exec = [p for p in windows if p.id == windows[0].id]
        size = sum(size for stack, (_, size) in recorded.add_up(before_exec).items()
                   if "keep_in_child" in stack)
        near(t, size, 4_000_000, 0.5, "what a child kept")


def test_children_that_record_nothing(t):
    """A child without a sample of its own writes nothing, whatever its parent has."""
    quiet(t, same(t, target(t, "forks"), "30", "idle", options=[EVERYTHING, "--interval=30ms"]))
    only(t, checked(t, t.path("out")))


def test_children_that_are_no_forks(t):
    """clone, _Fork and the system call: such a child writes nothing into the tables of its parent, whose lock it does not
    take, and is not recorded. Signals are for it what they are without the agent."""
    for how, kernel in itertools.product(("clone", "_Fork", "syscall", "clone3"), killed.kernels(t)):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        quiet(t, same(t, target(t, "cloned"), how, "50", options=[EVERYTHING, "--interval=20ms"], code=0, **kernel))
        windows = only(t, checked(t, t.path("out")))
        in_use = {name: sum(size for stack, (_, size) in recorded.add_up(windows).items() if name in stack)
                  for name in ("parent_block", "child_block")}
        t.equal(in_use, {"parent_block": 20_000_000, "child_block": 0}, how)


def test_forks_in_signal_handlers(t):
    """The handler may have interrupted the agent, or fork, and the child goes on there."""
    for how in ("handler", "nested"):
        shutil.rmtree(t.path("out"), ignore_errors=True)
        quiet(t, same(t, target(t, "cloned"), how, options=[EVERYTHING, "--interval=20ms"], code=0))
        checked(t, t.path("out"))


def test_forks_while_loading(t):
    """A child is not held up by what another thread of its parent was doing, and is recorded."""
    t.equal(quiet(t, same(t, target(t, "loading"), options=[EVERYTHING], code=0)).out, b"the child ended with 5\n")
    found = checked(t, t.path("out"))
    t.equal(len(found), 2, "processes")
    most = max(p.total(recorded.ALLOC_BYTES) for ps in found.values() for p in ps)
    t.check(most >= 1000000, "what the child allocated is missing")


def test_exec(t):
    """A program that becomes another keeps its pid: neither overwrites the other's windows."""
    script = "x=$(printf '%0400000d' 1); y=$x$x; exec \"$0\""
    ran = same(t, "bash", "-c", script, target(t, "leaks"), options=["--rate=4k"])
    quiet_but_for_memory(t, ran)
    found = checked(t, t.path("out"))
    several = [ps for ps in found.values() if len({p.id for p in ps}) > 1]
    t.check(several, "nobody shows a window before the exec and one behind it")
    for windows in several:
        names = [os.path.basename(p.path) for p in windows]
        programs = {name.rsplit(".", 4)[0] for name in names}
        t.check({"heap.bash", "heap.leaks"} <= programs or len(programs) == 1, f"{programs}")
        for program in programs:
            numbers = [name.split(".")[-3] for name in names if name.startswith(program + ".")]
            t.equal(numbers, sorted(set(numbers)), "numbers")


def last_leak(paths):
    return sum(values[recorded.ALLOC_BYTES] for path in paths
               for stack, values in recorded.Profile(path).samples if "leak_at_last" in stack)


def test_exec_while_a_profile_is_on_its_way(t):
    """The window before an exec waits for the one that is being handed over."""
    os.mkdir(t.path("got"))
    take = "sleep 1; cat >got/$$.pb.gz"
    record(t, target(t, "leaving"), "exec", "600",
           options=[EVERYTHING, "--interval=300ms", f"--to={take}"])
    paths = [os.path.join(t.path("got"), name) for name in os.listdir(t.path("got"))]
    t.equal(last_leak(paths), 20000 * 20001 // 2, "bytes of the last window")


def test_two_ends(t):
    """A second thread that ends the program does not cut off the last window."""
    for _ in range(10):
        t.equal(record(t, target(t, "leaving"), "end", "0", options=[EVERYTHING]).code, 3)
    found = checked(t, t.path("out"))
    t.equal([last_leak([p.path for p in ps]) for ps in found.values()], [20000 * 20001 // 2] * 10)


def test_plugins(t):
    """Code that was unloaded, and other code in its place, keep their own names."""
    paths = [target(t, f"libplugin_{name}.so") for name in ("one", "two")]
    quiet(t, same(t, target(t, "plugin"), *paths, options=[EVERYTHING]))
    profile = only(t, checked(t, t.path("out")))[-1]
    sums = sums_of(profile, recorded.ALLOC_BYTES)
    t.equal(sums, {"leak_in_one": 5 * 20 * 100000, "leak_in_two": 5 * 10 * 300000})


def test_the_names_of_plugins(t):
    """Those in the windows are of the code that was there, also where memory cannot be given back to the kernel."""
    paths = [target(t, f"libplugin_{name}.so") for name in ("one", "two")]
    for how in ((), ("locked",)):
        out = t.path(f"out{len(how)}")
        ran = record(t, target(t, "plugin"), *paths, "300", *how, options=["-o", out, EVERYTHING, "--interval=5ms"])
        ran.code == 77 and t.skip("memory cannot be locked here")
        t.equal(ran.code, 0, quiet(t, ran).err)
        found = [pair for window in only(t, checked(t, out)) for pair in window.names()]
        own = [(names, name) for names, name in found if name in ("use", "main", "run", "leak_in_one", "leak_in_two")]
        t.check({"use", "main"} <= {name for _, name in own}, f"these functions have names: {own}")
        t.equal({(names[0], name) for names, name in own if names != [name]}, set(), "names, and what they should be")


def test_names_take_few_pages(t):
    """What a process of a few milliseconds pays most for is each page that it writes for the first time."""
    def faults(name):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        ran = record(t, target(t, name), options=["-o", t.path(name), EVERYTHING])
        more = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
        t.equal(quiet(t, ran).code, 0)
        window = only(t, checked(t, t.path(name)))[-1]
        t.check(any("leak_early" in names for names, _ in window.names()), "no name of a function")
        return more
    # 30,000 symbols are 180 pages, and their names are 270
    few, many = (faults("symbols_" + name) for name in ("few", "many"))
    t.check(many - few < 150, f"page faults: {many}, and {few} with few symbols")


def test_locked_memory(t):
    """mlockall does the same, and locks as much, also under a limit that the agent's memory would exceed."""
    def with_rights_of(user, limit):
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
        if os.getuid() == 0 and user:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    os.chmod(t.dir, 0o777)
    low, high, nobody = 2 << 20, 8 << 20, 65534
    cases = [(0, low, 3), (0, low, 7, "early"), (nobody, low, 1), (nobody, low, 2), (nobody, high, 2),
             *((nobody, high, flags, how) for flags in (1, 3, 7, 8) for how in ("early", "syscall"))]
    for user, *case in cases if os.getuid() == 0 else cases[2:]:
        limit, *args = map(str, case)
        run = lambda how: how(t, target(t, "locked"), *args, preexec_fn=lambda: with_rights_of(user, int(limit)))
        plain = run(plainly)
        ran = run(lambda *args, **kwargs: record(*args, **kwargs, options=["-o", t.path(f"out{user}"), "--rate=4k"]))
        results, resident = zip(*(r.out.decode().split("resident") for r in (plain, quiet(t, ran))))
        t.equal((results[1], ran.code), (results[0], plain.code), f"user {user}, {case}")
        more = int(resident[1]) - int(resident[0])
        t.check(more < 4000, f"user {user}, {case}: {more} KiB of the agent are resident")
    t.check(checked(t, t.path(f"out{user}")), "no profile")


def test_manners(t):
    """Neither descriptors nor children nor signals nor errno show that somebody is there."""
    for options in (["--interval=5ms", "--rate=512"], ["--interval=5ms", "--to=cat >>got"]):
        quiet(t, same(t, target(t, "manners"), "600", options=options))
    t.check(os.path.getsize(t.path("got")) > 0, "the command got nothing")
    t.check(len(checked(t, t.path("out"))) >= 1, "nothing was recorded")


PLACES = ("thread", "alternate", "context")


def depths(ran):
    return {name: int(depth) for name, depth in re.findall(r"(.+): (\d+)\n", ran.out.decode())}


def test_the_stack_of_a_sample(t):
    """A sample takes at most 512 bytes more of its caller's stack than the call alone, or 4 KiB where 64 are free."""
    for place in PLACES:
        alone = depths(plainly(t, target(t, "depth"), place))
        sampled = depths(quiet(t, record(t, target(t, "depth"), place, options=[EVERYTHING])))
        t.equal(list(sampled), list(alone))
        for call, depth in sampled.items():
            t.check(depth <= alone[call] + (4096 if place == "thread" else 512), f"{place}, {call}: {depth} bytes, alone {alone[call]}")


def test_small_stacks(t):
    """An alternate stack of 8 KiB and the smallest threads are large enough."""
    for rate in ("1", "1k"):
        quiet(t, same(t, target(t, "depth"), "small", options=[f"--rate={rate}"], code=0))
        stacks = [stack for p in recorded.profiles(t.path("out")).values() for q in p for stack, _ in q.samples]
        t.check(any("churn_on_alternate" in stack and "main" in stack for stack in stacks),
                "no stack leads through the signal to main")


def test_replaced_operators(t):
    """A program's own new and delete, or a library's for what is aligned alone: each gets back what
    it gave."""
    for name, blocks in (("replaced", b"3, then 0\n"), ("operators", b"2, then 0\n")):
        t.equal(quiet(t, same(t, target(t, name), options=[EVERYTHING], code=0)).out, blocks, name)
    checked(t, t.path("out"))  # no stack has the agent's operators between these and the program


def test_one_thread_alone(t):
    """What only a process with one thread may do works as it does without the agent, whose thread is
    back afterwards."""
    ran = quiet(t, same(t, target(t, "alone"), options=[EVERYTHING, "--interval=20ms"],
                        code=0))
    t.contains(ran.out.decode(), "failed: 0\n")
    t.equal(recorded.in_use(only(t, checked(t, t.path("out")))), leaked(ran.out))


def test_its_thread_is_wanted_away_while_it_is_made(t):
    """Nobody joins a thread of which it is not known yet which one it is."""
    quiet(t, same(t, target(t, "gated"), options=["--rate=1G"], code=0))
    only(t, checked(t, t.path("out")))


def test_an_allocator_with_the_older_hash_table(t):
    """Its malloc is the one that the program goes on to use."""
    ran = same(t, target(t, "old_hash"), code=0)
    t.equal(ran.out, b"1 call\n")


def test_threads_that_ask_for_their_attributes(t):
    """The C library allocates for the answer, with a lock of the thread held that the agent needs, too."""
    t.equal(quiet(t, same(t, target(t, "attributes"), options=[EVERYTHING])).out, b"160 threads\n")
    profile = only(t, checked(t, t.path("out")))[-1]
    t.equal(sums_of(profile, recorded.INUSE_BYTES), {"leak_in_thread": 160 * 1000})


def test_own_malloc(t):
    ran = same(t, target(t, "ownmalloc"))
    t.equal(len(ran.noise), 1, "messages")
    t.contains(ran.err, "has its own malloc")
    t.equal(os.listdir(t.path("out")), [])
    own = target(t, "ownmalloc")
    ran = record(t, own, own, own, own)
    t.equal((len(ran.noise), ran.out), (1, b"own\n" * 8), "the programs that it starts do not say it again")
    ran = record(t, "sh", "-c", '"$0"; "$0"', own)
    t.equal(len(ran.noise), 2, "two that were started by another one do")


def test_what_is_refused(t):
    """A program that the agent cannot be loaded into does not run."""
    programs = [(target(t, name), word) for name, word in (("static", "linked statically"), ("sanitized", "sanitizer"))
                if os.path.exists(target(t, name))]
    programs.append((other_libc(t), "another C library"))  # whose loader would find no glibc for the agent
    for mode, word in ((0o4755, "is setuid"), (0o2755, "is setgid")):
        programs.append((copy(t, "family", mode), word))
    programs.append((script(t, "script", programs[-1][0]), word))
    for path, word in programs:
        ran = record(t, path)
        t.equal((ran.code, ran.out), (126, b""), word)
        t.contains(ran.err, word)


def test_twice(t):
    """record within record: one agent, one recording."""
    inner = 'exec "$0" record -q --rate=1 -o inner "$1"'  # the command itself may be linked statically
    ran = record(t, "bash", "-c", inner, t.binary, target(t, "family"))
    t.equal(ran.code, 0)
    quiet_but_for_memory(t, ran)
    t.equal(len(recorded.files(t.path("inner"))), 1)
    t.equal(plainly(t, target(t, "family")).out, ran.out)
