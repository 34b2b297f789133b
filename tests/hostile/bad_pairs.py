"""Two valid profiles between which there is no delta."""

from wire import HEAP, NOON, number, packed, profile, s


def make(corpus):
    accept, refuse_pair = corpus.accept, corpus.refuse_pair
    good = accept("good.pb", profile())
    later = accept("good-later.pb", profile(time=NOON + 60_000_000_000))
    refuse_pair(later, good, "time_nanos: cur is older than prev "
                "(2023-11-14T22:13:20Z is before 2023-11-14T22:14:20Z): swapped?",
                hint="the older profile comes first: pprofdelta PREV CUR")
    stamped = accept("stamped.pb", profile(tail=packed(13, s("pprofdelta: delta from=1 to=2"))))
    for prev, cur in ((stamped, good), (good, stamped)):
        refuse_pair(prev, cur, "comment: this is already a delta that pprofdelta wrote, not a "
                    "cumulative profile", about=stamped,
                    hint="--force takes a delta as an input")

    def differ(prev, cur):
        return f"sample_type: the value types differ: prev has {prev}; cur has {cur}"

    heap, mutex = ", ".join(HEAP), ["contentions/count", "delay/nanoseconds"]
    fewer, other = HEAP[:2] + HEAP[3:], HEAP[:3] + ["inuse_space/count"]
    refuse_pair(good, accept("mutex.pb", profile(types=mutex)), differ(heap, ", ".join(mutex)))
    refuse_pair("mutex.pb", good, differ(", ".join(mutex), heap))
    refuse_pair(good, accept("types-fewer.pb", profile(types=fewer)),
                differ(heap, ", ".join(fewer)))
    refuse_pair(good, accept("types-another-unit.pb", profile(types=other)),
                differ(heap, ", ".join(other)))

    def no_counter(types):
        return ("sample_type: none of its value types is known as a counter, so there is nothing "
                f"to subtract; there are: {', '.join(types)}")

    def not_cumulative(kind, named, holds):
        return (f"sample_type: this is a {kind} profile ({named}), which is not cumulative: it holds "
                f"{holds}")

    hint = "pprofdelta show PREV CUR compares such profiles; --force with -c TYPE subtracts them"
    for name, types, holds in (
            ("goroutine", ["goroutine/count"], "the state at one time"),
            ("cpu", ["samples/count", "cpu/nanoseconds"], "the samples of a limited time")):
        file = accept(f"{name}.pb", profile(types=types))
        for options in ([], ["-c", types[-1]]):
            why = not_cumulative(name, types[-1], holds)
            refuse_pair(file, file, why, about=file, hint=hint, options=options)
            refuse_pair(file, good, why, about=file, hint=hint, options=options)
        refuse_pair(good, file, not_cumulative(name, types[-1], holds), about=file, hint=hint)
    hint = "-c TYPE makes a sample type that only grows a counter"
    file = accept("gauges-only.pb", profile(types=HEAP[2:]))
    refuse_pair(file, file, no_counter(HEAP[2:]), about=file, hint=hint)
    refuse_pair(good, file, differ(heap, ", ".join(HEAP[2:])))
    window = accept("window.pb", profile(time=NOON + 60_000_000_000,
                                          tail=number(10, 30_000_000_000)))
    refuse_pair(good, window, "duration_nanos: cur is a window already, not a cumulative profile: it "
                "covers 30.000 s, and prev is 60.000 s older", about=window,
                hint="take both profiles without ?seconds=; if both do count from the start of the "
                "process, use --force")
    refuse_pair("cpu.pb", "cpu.pb", 'sample_type: no value type is named "cpu_time"; there are: '
                "samples/count, cpu/nanoseconds", about="cpu.pb", options=["-c", "cpu_time"])
    longest = ["goroutine/nanoseconds"] * 64
    shown = ", ".join(longest[:17]) + ", ..."
    file = accept("types-64-gauges.pb", profile(types=longest))
    refuse_pair(file, file, no_counter([shown]), about=file, hint=hint)
