"""Two valid profiles between which there is no delta."""

from wire import HEAP, NOON, packed, profile, s


def make(corpus):
    accept, refuse_pair = corpus.accept, corpus.refuse_pair
    good = accept("good.pb", profile())
    later = accept("good-later.pb", profile(time=NOON + 60_000_000_000))
    refuse_pair(later, good, "time_nanos: cur is older than prev "
                f"({NOON} is before {NOON + 60_000_000_000}): swapped?",
                hint="the older profile comes first: pprofdelta PREV CUR")
    stamped = accept("stamped.pb", profile(tail=packed(13, s("pprofdelta: delta from=1 to=2"))))
    for prev, cur in ((stamped, good), (good, stamped)):
        refuse_pair(prev, cur, "comment: this is already a delta that pprofdelta wrote, not a "
                    "cumulative profile", about=stamped,
                    hint="--force takes a delta as an input all the same")

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

    hint = "-c TYPE names a sample type that only grows"
    for name, types in (("goroutine", ["goroutine/count"]),
                        ("cpu", ["samples/count", "cpu/nanoseconds"]),
                        ("gauges-only", HEAP[2:])):
        file = accept(f"{name}.pb", profile(types=types))
        refuse_pair(file, file, no_counter(types), about=file, hint=hint)
        refuse_pair(good, file, differ(heap, ", ".join(types)))
    refuse_pair("cpu.pb", good, differ("cpu/nanoseconds, samples/count", heap),
                options=["-c", "cpu"])
    refuse_pair("cpu.pb", "cpu.pb", 'sample_type: no value type is named "cpu_time"; there are: '
                "samples/count, cpu/nanoseconds", about="cpu.pb", options=["-c", "cpu_time"])
    longest = ["goroutine/nanoseconds"] * 64
    shown = ", ".join(longest[:17]) + ", ..."
    file = accept("types-64-gauges.pb", profile(types=longest))
    refuse_pair(file, file, no_counter([shown]), about=file, hint=hint)
