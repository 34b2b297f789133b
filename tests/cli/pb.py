"""Small pprof profiles: written field by field, and read back, by code of our own.

`profile(...)` makes the bytes of one, `read(...)` gives back what one says with every id and index
resolved. `Request(...)` reads an OTLP request. None of them knows anything of the library under test.
"""

import functools
import gzip
import struct
import subprocess

HEAP = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]


# ---- writing ---------------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def chunk(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return chunk(field, b"".join(varint(v) for v in values)) if values else b""


class Writer:
    """Writes the messages of a profile in the order of the calls, which give the ids, and the strings behind them."""

    def __init__(self, types):
        self.out, self.index = bytearray(), {b"": 0}
        for name in types:
            self.out += chunk(1, self.type(name))

    def string(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        return self.index.setdefault(data, len(self.index))

    def type(self, name):
        kind, unit = name.split("/")
        return number(1, self.string(kind)) + number(2, self.string(unit))

    def sample(self, ids, values, labels=()):
        """labels: (key, text, number of bytes, or (number, unit))."""
        body = packed(1, ids) + packed(2, values)
        for key, value in labels:
            num, unit = value if isinstance(value, tuple) else (value, "bytes")
            is_number = isinstance(num, int)
            text = self.string(key), self.string(unit if is_number else value)
            body += chunk(3, number(1, text[0]) + (number(3, num) + number(4, text[1]) if is_number else
                                                   number(2, text[1])))
        self.out += chunk(2, body)

    def mapping(self, at, start, limit, offset=0, file="", build_id="", has=b""):
        self.out += chunk(3, number(1, at) + number(2, start) + number(3, limit) + number(4, offset) +
                          number(5, self.string(file)) + number(6, self.string(build_id)) + has)

    def location(self, at, mapping, address, lines=()):
        """lines: (function, line)."""
        self.out += chunk(4, number(1, at) + number(2, mapping) + number(3, address) + b"".join(
            chunk(4, number(1, function) + number(2, line)) for function, line in lines))

    def function(self, at, name, file=""):
        text = self.string(name)
        self.out += chunk(5, number(1, at) + number(2, text) + number(3, text) + number(4, self.string(file)))

    def bytes(self):
        return bytes(self.out) + b"".join(chunk(6, text) for text in self.index)


class Stack(tuple):
    """Function names, leaf first, with labels: Stack("f", "main", labels={"key": "value"})."""

    def __new__(cls, *names, labels=None):
        stack = super().__new__(cls, names)
        stack.labels = labels or {}
        return stack


def profile(samples, types=None, time=0, duration=0, addresses=True, build_id="", filename="app",
            default="", comments=(), doc_url="", period=0, period_type=None, extra=b"",
            start=0x400000):
    """samples: a list of (stack, values); a stack is a tuple of function names, leaf first. With
    addresses, every function has one of its own; without, its line is all that is known. The one
    mapping begins at start."""
    w, functions = Writer(types or HEAP), {}
    for stack, values in samples:
        ids = [functions.setdefault(name, len(functions) + 1) for name in stack]
        w.sample(ids, values, getattr(stack, "labels", {}).items())
    w.mapping(1, start, start + 0x500000, 0, filename, build_id, number(7, 1))
    for name, at in functions.items():
        w.location(at, 1, address_of(name) - 0x400000 + start if addresses else 0, [(at, 10 + at)])
        w.function(at, name, "app.go")
    tail = number(9, time) + number(10, duration)
    if period_type:
        tail += chunk(11, w.type(period_type))
    tail += number(12, period) + packed(13, [w.string(c) for c in comments])
    tail += number(14, w.string(default)) + number(15, w.string(doc_url))
    return w.bytes() + tail + extra


def mapped(samples, mappings, types=HEAP[:2], time=0):
    """Stacks of one frame in mappings of one's own. samples: a list of (function, number of its
    mapping from 1, address, values), where "" is no function; mappings: a list of (start, limit,
    file offset, name, build id)."""
    w = Writer(types)
    for i, (name, mapping, address, values) in enumerate(samples, 1):
        w.sample([i], values)
        w.location(i, mapping, address, [(i, 0)] if name else ())
        if name:
            w.function(i, name)
    for i, mapping in enumerate(mappings, 1):
        w.mapping(i, *mapping, number(7, 1))
    return w.bytes() + number(9, time)


@functools.cache
def address_of(name):
    """The same function lies at the same address in every profile."""
    value = 0
    for byte in name.encode() if isinstance(name, str) else name:
        value = (value * 131 + byte) % 0x4FFFF1
    return 0x400000 + value + 1


def gz(data):
    return gzip.compress(data, mtime=0)


# ---- reading ---------------------------------------------------------------------------------------

def load(path):
    with open(path, "rb") as file:
        return file.read()


def inflate(data):
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    return data


def read_varint(data, at):
    """The varint at this offset, and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value): an int for a varint, bytes for a chunk."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            length, at = read_varint(data, at)
            assert at + length <= len(data), "cut off"
            yield tag >> 3, data[at:at + length]
            at += length
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            raise AssertionError(f"wire type {tag & 7}")


def spans(data):
    """(field, begin, begin of its content, end) of each field of a message."""
    at, found = 0, []
    while at < len(data):
        tag, body = read_varint(data, at)
        if tag & 7 == 0:
            _, end = read_varint(data, body)
        elif tag & 7 == 2:
            length, body = read_varint(data, body)
            end = body + length
        else:
            end = body + (8 if tag & 7 == 1 else 4)
        found.append((tag >> 3, at, body, end))
        at = end
    return found


def edit(data, place, change):
    """The message with what change() makes of a part: the last field with each of these numbers, one in the other."""
    if not place:
        return change(data)
    field, begin, body, end = [span for span in spans(data) if span[0] == place[0]][-1]
    return data[:begin] + chunk(field, edit(data[body:end], place[1:], change)) + data[end:]


def without(number):
    """A change for edit(): the part without this field."""
    return lambda part: b"".join(part[begin:end] for field, begin, _, end in spans(part) if field != number)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(value):
    """A repeated integer field: packed or one of many."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one_of_many, at = read_varint(value, at)
        out.append(one_of_many)
    return out


class Read:
    """What a profile says. samples: a list of (stack, labels, values) in the file's order; stacks: the ids of the
    locations of each; locations: {id: (id of the mapping, address, names)}; lines: {id of a location: [(id of the
    function, line, column)]}; functions: {id: (name, system name, file, start line)}; binaries: {id of a mapping:
    (start, limit, offset, file, build id)}."""

    def __init__(self, data):
        top = {}
        for field, value in fields(inflate(data)):
            top.setdefault(field, []).append(value)
        self.strings = [s.decode("utf-8", "surrogateescape") for s in top.get(6, [])]
        self.types = [self._pair(t) for t in top.get(1, [])]
        self.time = signed(top.get(9, [0])[-1])
        self.duration = signed(top.get(10, [0])[-1])
        self.period = signed(top.get(12, [0])[-1])
        self.period_type = self._pair(top[11][-1]) if 11 in top else "/"
        self.comments = [self.strings[i] for v in top.get(13, []) for i in numbers(v)]
        self.default = self.strings[top.get(14, [0])[-1]]
        self.doc_url = self.strings[top.get(15, [0])[-1]]
        self.functions = {f[1]: (*(self.strings[f.get(n, 0)] for n in (2, 3, 4)), f.get(5, 0))
                          for f in (dict(fields(data_of)) for data_of in top.get(5, []))}
        self.locations, self.lines = {}, {}
        for data_of in top.get(4, []):
            f = dict(fields(data_of))
            lines = [(one(line, 1), one(line, 2, 0), one(line, 3, 0)) for line in parts(data_of, 4)]
            self.lines[f[1]] = lines
            self.locations[f[1]] = f.get(2, 0), f.get(3, 0), [self.functions[line[0]][0] for line in lines]
        self.binaries = {f[1]: (*(f.get(n, 0) for n in (2, 3, 4)), *(self.strings[f.get(n, 0)] for n in (5, 6)))
                         for f in (dict(fields(data_of)) for data_of in top.get(3, []))}
        self.mappings = len(self.binaries)
        self.stacks = [index_list(sample, 1) for sample in top.get(2, [])]
        self.samples = [self._sample(sample, stack) for sample, stack in zip(top.get(2, []), self.stacks)]

    def _pair(self, data):
        f = dict(fields(data))
        return self.strings[f.get(1, 0)] + "/" + self.strings[f.get(2, 0)]

    def _sample(self, data, stack):
        labels = {}
        for f in (dict(fields(label)) for label in parts(data, 3)):
            labels[self.strings[f.get(1, 0)]] = self.strings[f[2]] if 2 in f else signed(f.get(3, 0))
        return (tuple(name for i in stack for name in self.locations[i][2]), labels,
                [signed(value) for value in index_list(data, 2)])

    def values(self):
        """{"leaf;...;root": values}, for profiles without repeated stacks."""
        return {";".join(stack): values for stack, _, values in self.samples}

    def something(self):
        """The same, without what is zero."""
        return {stack: values for stack, values in self.values().items() if any(values)}


def read(data):
    return Read(data)


# ---- OTLP ------------------------------------------------------------------------------------------

def parts(data, number):
    return [value for n, value in fields(data) if n == number]


def one(data, number, default=b""):
    return (parts(data, number) or [default])[-1]


def index_list(data, number):
    return [index for value in parts(data, number) for index in numbers(value)]


class Request:
    """What is in a request of one resource and one scope. (check, which reads every request that a test gets, and
    tests/support/otlp_model.c see to its form.)"""

    def __init__(self, data):
        [resources], [dictionary] = parts(data, 1), parts(data, 2)
        self.tables = {field: parts(dictionary, field) for field in range(1, 8)}
        [scopes] = parts(resources, 2)
        self.resource = [(one(pair, 1).decode(), one(one(pair, 2), 1).decode()) for pair in parts(one(resources, 1), 1)]
        self.strings = [text.decode() for text in self.tables[5]]
        self.profiles = parts(scopes, 2)
        self.ids = [one(profile_of_type, 7) for profile_of_type in self.profiles]
        self.time, self.duration = (one(self.profiles[0], field, 0) for field in (3, 4))
