#!/usr/bin/env python3
"""Makes the profiles of testdata/producers that are made by hand, after what the producers write: by_hand.py FOLDER"""

import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tests", "cli"))

from pb import Writer, chunk, number, packed  # noqa: E402
from samples import T0  # noqa: E402

WINDOW = 10 * 10**9


# A frame is (name, file, line[, file of its mapping]).

def pprof(types, samples, index, period_type="", period=0, comments=()):
    """samples: (frames, leaf first; labels; values of each file). A place is its function, file and line, without an address."""
    w, functions, places, mappings = Writer(types), {}, {}, {}
    for frames, labels, *values in samples:
        for name, file, line, *mapping in frames:
            functions.setdefault((name, file), len(functions) + 1)
            places.setdefault((name, file, line, *mapping), len(places) + 1)
        w.sample([places[frame] for frame in frames], values[index], labels.items())
    for name, file, line, *mapping in places:
        at = mappings.setdefault(mapping[0], len(mappings) + 1) if mapping else 0
        w.location(places[name, file, line, *mapping], at, 0, [(functions[name, file], line)])
    for file, at in mappings.items():
        w.mapping(at, 0, 0, 0, file, "", number(7, 1))
    for (name, file), at in functions.items():
        w.function(at, name, file)
    tail = number(9, T0 + index * WINDOW) + number(10, WINDOW)
    if period_type:
        tail += chunk(11, w.type(period_type)) + number(12, period)
    tail += packed(13, [w.string(one) for one in comments])
    return w.bytes() + tail


def dotnet(index):
    """Names are tuples with spaces and bars; generics have backticks and brackets, lambdas and state machines angles."""
    main = ("|lm:Shop |ns:Shop |ct:Program |cg: |fn:<Main>$ |fg: |sg:(string[] args)", "", 0, "Shop")
    move = ("|lm:Shop |ns:Shop |ct:Orders.<RunAsync>d__7 |cg: |fn:MoveNext |fg: |sg:()", "", 0, "Shop")
    add = ("|lm:Shop |ns:Shop |ct:Book`2 |cg:<TKey, System.__Canon> |fn:Add |fg:<T> |sg:(T[] all, string& name)", "", 0, "Shop")
    each = ("|lm:Shop |ns:Shop |ct:Book`2.<>c__DisplayClass3_0 |cg:<int, string> |fn:<Sum>b__0 |fg: |sg:(int i)", "", 0, "Shop")
    listed = ("|lm:System.Private.CoreLib |ns:System.Collections.Generic |ct:List`1 |cg:<T> |fn:set_Capacity |fg: |sg:(int value)",
              "", 0, "System.Private.CoreLib")
    native = ("|lm:libcoreclr.so |ns: |ct: |cg: |fn:libcoreclr.so!JIT_New |fg: |sg:", "", 0, "libcoreclr.so")
    labels = {"thread id": "<0> [# 17]", "thread name": "Managed thread (name unknown) [# 17]", "appdomain name": "Shop"}
    kind = {**labels, "allocation class": "System.Collections.Generic.Dictionary`2[[System.String],[System.Int32[]]]"}
    return pprof(["cpu/nanoseconds", "cpu-samples/count", "alloc-samples/count", "alloc-size/bytes"], [
        ((each, add, move, main), labels, [19_000_000, 2, 0, 0], [9_000_000, 1, 0, 0]),
        ((native, listed, add, move, main), kind, [0, 0, 3, 12_288], [0, 0, 5, 20_480]),
        ((main,), labels, [9_000_000, 1, 0, 0], [0, 0, 0, 0]),
        ((listed, main), labels, [0, 0, 0, 0], [9_000_000, 1, 0, 0])], index, "cpu/nanoseconds", 9_000_000)


def ruby(index):
    """Blocks, singletons, bodies of classes, and files that the interpreter has built in."""
    main = ("<main>", "/app/shop.rb", 41)
    loop = ("Kernel#loop", "<internal:kernel>", 187)
    block = ("block (2 levels) in <main>", "/app/shop.rb", 37)
    add = ("Shop::Book#add", "/app/lib/book.rb", 12)
    rescued = ("rescue in block in Shop::Book#add", "/app/lib/book.rb", 19)
    made = ("#<Class:Shop::Book>#of", "/app/lib/book.rb", 5)
    body = ("<class:Book>", "/app/lib/book.rb", 3)
    collected = ("Garbage Collection", "", 0)
    evaluated = ("Object#price", "(eval at /app/lib/book.rb:23)", 1)
    labels = {"thread id": "77 (2180)", "thread name": "puma srv tp 001", "state": "had cpu"}
    return pprof(["cpu-time/nanoseconds", "cpu-samples/count", "wall-time/nanoseconds", "alloc-samples/count"], [
        ((rescued, add, block, loop, main), labels, [8_000_000, 1, 10_000_000, 2], [16_000_000, 2, 20_000_000, 4]),
        ((evaluated, made, body, main), {**labels, "ruby vm type": "T_STRING"}, [0, 0, 0, 5], [0, 0, 0, 7]),
        ((collected, loop, main), {**labels, "gc cause": "newobj"}, [3_000_000, 1, 3_000_000, 0], [0, 0, 0, 0]),
        ((("Array#each", "<internal:array>", 52), main), {**labels, "state": "waiting", "local root span id": (9_137_561_233, "")},
         [0, 1, 9_000_000, 0], [0, 1, 11_000_000, 0])], index)


def php(index):
    """Namespaces have backslashes, internal functions a bar, closures braces, and the class of an anonymous object a zero byte."""
    main = ("<?php", "/app/index.php", 12)
    add = ("Shop\\Book::add", "/app/src/Book.php", 31)
    closure = ("Shop\\{closure}", "/app/src/Book.php", 33)
    newer = ("{closure:Shop\\Book::add():33}", "/app/src/Book.php", 34)
    mapped = ("standard|array_map", "", 0)
    evaluated = ("<?php", "/app/src/Book.php(44) : eval()'d code", 1)
    hidden = ("class@anonymous\0/app/src/Book.php:50$0::run", "/app/src/Book.php", 51)
    labels = {"thread id": (9, ""), "process_id": "9"}
    return pprof(["sample/count", "wall-time/nanoseconds", "cpu-time/nanoseconds", "alloc-samples/count", "alloc-size/bytes"], [
        ((closure, mapped, add, main), labels, [1, 10_004_211, 9_800_000, 0, 0], [2, 20_111_007, 19_000_000, 0, 0]),
        ((evaluated, add, main), {**labels, "eval": "1"}, [1, 9_999_871, 9_000_000, 0, 0], [0, 0, 0, 0, 0]),
        ((hidden, newer, main), labels, [0, 0, 0, 12, 4_194_304], [0, 0, 0, 20, 8_388_608]),
        ((("[gc]", "", 0), main), {**labels, "event": "gc"}, [0, 61_000, 0, 0, 0], [0, 59_000, 0, 0, 0])], index,
        "wall-time/nanoseconds", 10_000_000)


def v8(index):
    """Functions without a name, WebAssembly, native ones, and V8's own states."""
    main = ("(anonymous)", "file:///app/main.mjs", 1)
    step = ("async function*lines", "file:///app/lib/naïve%20name.mjs", 8)
    priced = ("get total", "file:///app/lib/basket.mjs", 14)
    odd = ("a;b c", "evalmachine.<anonymous>", 1)
    wasm = ("wasm-function[12]", "wasm://wasm/0f3c7a12", 0)
    named = ("_ZN4core3fmt9Formatter3pad17h1b2c3d4e5f60718aE", "wasm://wasm/shop-0f3c7a12", 0)
    return pprof(["sample/count", "wall/nanoseconds"], [
        ((named, wasm, ("js-to-wasm::i", "", 0), priced, main), {}, [3, 30_000_000], [6, 60_000_000]),
        ((("(garbage collector)", "", 0), main), {}, [1, 10_000_000], [0, 0]),
        ((odd, step, main), {"trace endpoint": "GET /orders/:id?"}, [2, 20_000_000], [2, 20_000_000]),
        ((("(program)", "", 0),), {}, [40, 400_000_000], [38, 380_000_000]),
        ((("(idle)", "", 0),), {}, [900, 9_000_000_000], [901, 9_010_000_000])], index, "wall/nanoseconds", 10_000_000)


class Dictionary:
    """The tables of a request. Each entry is there once, and the first of each table is empty."""

    def __init__(self):
        self.tables = {field: {b"": 0} for field in range(1, 8)}

    def put(self, field, data):
        return self.tables[field].setdefault(data, len(self.tables[field]))

    def string(self, text):
        return self.put(5, text.encode())

    def attribute(self, key, value):
        said = chunk(1, value.encode()) if isinstance(value, str) else number(3, value)
        return self.put(6, number(1, self.string(key)) + chunk(2, said))

    def mapping(self, start, limit, offset, file, build_id):
        return self.put(1, number(1, start) + number(2, limit) + number(3, offset) + number(4, self.string(file)) +
                        packed(5, [self.attribute("process.executable.build_id.htlhash", build_id)]))

    def frame(self, kind, name="", file="", line=0, mapping=None, address=0):
        lines, mapping = b"", self.mapping(*mapping) if mapping else 0
        if name:
            function = self.put(3, number(1, self.string(name)) + number(3, self.string(file)))
            lines = chunk(3, number(1, function) + number(2, line))
        return self.put(2, number(1, mapping) + number(2, address) + lines + packed(4, [self.attribute("profile.frame.type", kind)]))

    def bytes(self):
        return b"".join(chunk(field, entry) for field, table in self.tables.items() for entry in table)


def ebpf(index, is_whole=True):
    """A whole host: the kernel and native code by address, interpreters by line, in one stack, each frame with its type; a
    resource for each container; no values: each time is one sample. Native addresses are those in the file, whatever the
    mapping says. Or one of the containers."""
    d = Dictionary()
    moved = index << 32
    python = 0x400000, 0x7d0000, 0, "python3.12", "3f7a9c0e1d2b4a5968778695a4b3c2d1"
    jvm = 0x7f2000000000 + moved, 0x7f2000d00000 + moved, 0x1000, "libjvm.so", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    vdso = 0x7ffd3a5f2000 - moved, 0x7ffd3a5f4000 - moved, 0, "linux-vdso.1.so", "11111111222222223333333344444444"
    kernel = [("kernel", "__x64_sys_futex"), ("kernel", "do_syscall_64"), ("kernel", "entry_SYSCALL_64_after_hwframe")]
    interpreter = [("native", "", "", 0, python, 0x1f2a30), ("native", "", "", 0, python, 0x1f0011)]
    pythons = [("cpython", "<lambda>", "/app/shop.py", 31), ("cpython", "Book.add.<locals>.<listcomp>", "/app/shop.py", 29),
               ("cpython", "<module>", "/app/shop.py", 80)]
    java = [("jvm", "boolean com.shop.Book$$Lambda/0x00007f2a4c0052f8.test(java.lang.Object)", "", 0),
            ("jvm", "void com.shop.Book.<init>(java.lang.String[], int)", "Book.java", 14), ("native", "", "", 0, jvm, 0x8a1b40)]
    others = [("ruby", "Shop::Book#add", "/app/lib/book.rb", 12), ("php", "Shop\\{closure}", "/app/src/Book.php", 33),
              ("v8js", "(anonymous)", "file:///app/main.mjs", 1), ("perl", "Shop::Book::__ANON__", "/app/Book.pm", 9),
              ("dotnet", "Shop.Book`1.<Sum>b__3_0", "Shop.dll", 0), ("beam", "Elixir.Shop.Book:-fun.add/2-/1", "lib/book.ex", 7),
              ("go", "shop.(*Book[go.shape.string]).Add", "/app/book.go", 22), ("luajit", "book.lua:3", "book.lua", 3)]
    broken = "abort-marker", "[unwinder error: lr is not in a mapping]"
    clock = [("native", "", "", 0, vdso, 0x9c3), *pythons]
    stacks = [("3a1f", "python3", [(clock, (5, 4)), ([*kernel, *interpreter, *pythons], (3, 6)), ([broken], (1, 0))]),
              ("77b2", "java", [([*kernel, *java], (7, 8)), (java[1:], (0, 2))]), ("", "mixed", [([one], (1, 1)) for one in others])]
    resources, tick = b"", T0 + index * WINDOW
    for container, program, all_of in stacks if is_whole else stacks[:1]:
        samples = b""
        for frames, counts in all_of:
            times = [tick + (n + 1) * 50_000_000 + 1 for n in range(counts[index])]
            tick += len(times) * 1_000
            said = [d.attribute(key, value) for key, value in (("thread.name", program), ("thread.id", 4242), ("cpu.logical_number", 1))]
            if times:
                samples += chunk(2, number(1, d.put(7, packed(1, [d.frame(*frame) for frame in frames]))) + packed(2, said) +
                                 chunk(5, b"".join(struct.pack("<Q", time) for time in times)))
        profile = chunk(1, number(1, d.string("samples")) + number(2, d.string("count"))) + samples + \
            b"\x19" + struct.pack("<Q", T0 + index * WINDOW) + number(4, WINDOW) + \
            chunk(5, number(1, d.string("cpu")) + number(2, d.string("nanoseconds"))) + number(6, 50_000_000)
        scope = chunk(1, chunk(1, b"go.opentelemetry.io/ebpf-profiler") + chunk(2, b"v0.0.202547"))
        attributes = [("process.pid", 4200 + len(program)), ("process.executable.name", program)] + [("container.id", container)] * bool(container)
        resource = b"".join(chunk(1, chunk(1, key.encode()) + chunk(2, chunk(1, value.encode()) if isinstance(value, str) else number(3, value)))
                            for key, value in attributes)
        resources += chunk(1, chunk(1, resource) + chunk(2, scope + chunk(2, profile)))
    return resources + chunk(2, d.bytes())


BY_HAND = {"dotnet": dotnet, "ruby": ruby, "php": php, "v8": v8, "ebpf": lambda index: ebpf(index, False), "ebpf-host": ebpf}


def made():
    return {f"{name}.{index + 1}.pb": make(index) for name, make in BY_HAND.items() for index in (0, 1)}


if __name__ == "__main__":
    for path, data in made().items():
        with open(os.path.join(sys.argv[1], path), "wb") as out:
            out.write(data)
