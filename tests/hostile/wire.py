"""Protobuf by hand, with a mark, and the small heap profile that every bad one is made from.

What is built is a `Wire`: bytes, and where in them the marked ones begin. `here(...)` marks;
whoever puts the parts together shifts the mark along, so that a case knows the offset of what it
broke without counting. `profile(...)` is a good one but for the parts that are given.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from pb import varint  # noqa: E402


class Wire:
    """Bytes, and how far into them the marked ones begin (None: nothing is marked)."""

    def __init__(self, data=b"", mark=None):
        self.data, self.mark = data, mark

    def __add__(self, other):
        other = wire(other)
        mark = self.mark
        if mark is None and other.mark is not None:
            mark = len(self.data) + other.mark
        return Wire(self.data + other.data, mark)

    def __radd__(self, other):
        return wire(other) + self

    def __len__(self):
        return len(self.data)

    def __getitem__(self, some):
        return Wire(self.data[some])


def wire(data):
    return data if isinstance(data, Wire) else Wire(data)


def here(data=b""):
    return Wire(wire(data).data, 0)


def join(parts):
    return sum((wire(part) for part in parts), Wire())


VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = 0, 1, 2, 3, 4, 5


def tag(field, kind):
    return varint(field << 3 | kind)


def number(field, value):
    return Wire(tag(field, VARINT) + varint(value))


def chunk(field, data=b""):
    data = wire(data)
    return tag(field, BYTES) + Wire(varint(len(data))) + data


def message(field, *parts):
    return chunk(field, join(parts))


def packed(field, *values):
    return chunk(field, join(wire(v if isinstance(v, Wire) else varint(v)) for v in values))


def fixed64(field):
    return Wire(tag(field, FIXED64) + b"\1" * 8)


def fixed32(field):
    return Wire(tag(field, FIXED32) + b"\1" * 4)


# ---- a small heap profile ------------------------------------------------------------------------

STRINGS = ["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space",
           "/srv/shop/bin/orders", "5f3c9a", "main.handle", "main.load", "orders.go", "thread",
           "worker", "heap", "contentions", "delay", "nanoseconds", "samples", "cpu", "goroutine",
           "pprofdelta: delta from=1 to=2"]
PAST = len(STRINGS)  # the first index that is none
NOON = 1_700_000_000_000_000_000

HEAP = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]


def s(text):
    return STRINGS.index(text)


def types_of(names):
    pairs = (name.split("/") for name in names)
    return join(message(1, number(1, s(kind)), number(2, s(unit))) for kind, unit in pairs)


def label(*parts):
    return message(3, *parts)


THREAD = label(number(1, s("thread")), number(2, s("worker")))


def sample(*parts):
    return message(2, *parts)


def samples_of(columns):
    """Two of them, with values that only grow, whatever `columns` there are."""
    return (sample(packed(1, 1, 2), packed(2, *range(3, 3 + columns)), THREAD) +
            sample(packed(1, 2), packed(2, *range(5, 5 + columns))))


def mapping(id, *more):
    return message(3, number(1, id), number(2, 0x400000), number(3, 0x500000),
                   number(5, s("/srv/shop/bin/orders")), number(6, s("5f3c9a")), *more)


def function(id, name="main.handle", *more):
    return message(5, number(1, id), number(2, s(name)), number(3, s(name)),
                   number(4, s("orders.go")), *more)


def line(function_id):
    return message(4, number(1, function_id), number(2, 10))


def location(id, *more, mapping_id=1):
    return message(4, number(1, id), number(2, mapping_id), number(3, 0x400000 + 16 * id), *more)


PERIOD = message(11, number(1, s("alloc_space")), number(2, s("bytes")))
STRING_TABLE = join(chunk(6, text.encode()) for text in STRINGS)


def profile(types=HEAP, samples=None, mappings=None, locations=None, functions=None, strings=None,
            period=None, time=NOON, tail=b""):
    """A good one, but for what is given."""
    columns = len(types) if isinstance(types, list) else len(HEAP)
    return join([
        types_of(types) if isinstance(types, list) else types,
        samples if samples is not None else samples_of(columns),
        mappings if mappings is not None else mapping(1),
        locations if locations is not None else location(1, line(1)) + location(2, line(2)),
        functions if functions is not None else function(1) + function(2, "main.load"),
        strings if strings is not None else STRING_TABLE,
        number(9, time),
        period if period is not None else PERIOD,
        number(12, 524288),
        tail,
    ])


def values(count):
    return packed(2, *range(7, 7 + count))
