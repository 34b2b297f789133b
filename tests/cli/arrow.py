"""Reads Arrow's IPC files: the part of the format that tables use, by code of our own.

`Table(data)` checks that the messages, read in their order, are those that the footer names, and gives the
rows of all batches. Values are Python's: a list of a struct is a list of dicts, a null is None. Compressed buffers
are inflated by the command zstd.
"""

import struct
import subprocess

INT, UTF8, BOOL, TIMESTAMP, LIST, STRUCT = 2, 5, 6, 10, 12, 13
SCHEMA, DICTIONARY, BATCH = 1, 2, 3


class Flat:
    """A table of a flatbuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.list = at - struct.unpack_from("<i", data, at)[0]

    def one(self, form, at):
        assert at % struct.calcsize(form) == 0, "not aligned"
        return struct.unpack_from("<" + form, self.data, at)[0]

    def place(self, field):
        has = 4 + 2 * field < self.one("H", self.list)
        place = self.one("H", self.list + 4 + 2 * field) if has else 0
        return place and self.at + place

    def number(self, field, form):
        return self.one(form, self.place(field)) if self.place(field) else 0

    def to(self, at):
        return at + self.one("I", at)

    def table(self, field):
        return Flat(self.data, self.to(self.place(field)))

    def vector(self, field, form):
        at, size = self.to(self.place(field)) + 4, struct.calcsize("<" + form)
        assert at % min(size, 8) == 0, "not aligned"
        return [struct.unpack_from("<" + form, self.data, at + i * size) for i in range(self.one("I", at - 4))]

    def tables(self, field):
        at = self.to(self.place(field)) + 4
        return [Flat(self.data, self.to(at + 4 * i)) for i in range(self.one("I", at - 4))]

    def text(self, field):
        return b"".join(c for (c,) in self.vector(field, "c")).decode()


class Field:
    def __init__(self, flat):
        self.name, self.is_nullable, self.type = flat.text(0), flat.number(1, "B"), flat.number(2, "B")
        encoding = flat.table(4) if flat.place(4) else None
        self.words = encoding and encoding.number(0, "q")
        assert not encoding or (encoding.table(1).number(0, "i"), encoding.table(1).number(1, "B")) == (32, 1)
        of_type = flat.table(3)
        assert self.type != INT or of_type.number(0, "i") == 64
        assert self.type != TIMESTAMP or (of_type.number(0, "h"), of_type.text(1)) == (3, "UTC")
        self.form = "Q" if self.type == INT and not of_type.number(1, "B") else "q"
        self.children = [Field(child) for child in flat.tables(5)]


def inflated(buffers):
    """Each buffer is the length of its bytes and a frame of zstd with them, or -1 and the bytes. None: no bytes."""
    lengths = [struct.unpack_from("<q", data)[0] if data else 0 for data in buffers]
    frames = b"".join(data[8:] for data, length in zip(buffers, lengths) if length > 0)
    all_bytes = subprocess.run(["zstd", "-dcq"], input=frames, stdout=subprocess.PIPE, check=True).stdout if frames else b""
    assert sum(max(length, 0) for length in lengths) == len(all_bytes), "the lengths of buffers are wrong"
    at = 0
    for data, length in zip(buffers, lengths):
        yield data[8:] if length < 0 else all_bytes[at:at + length]
        at += max(length, 0)


class Batch:
    def __init__(self, flat, body, words):
        self.words = words
        self.rows, self.nodes, self.is_compressed = flat.number(0, "q"), iter(flat.vector(1, "qq")), bool(flat.place(3))
        buffers = []
        for at, length in flat.vector(2, "qq"):
            assert at % 8 == 0 and at + length <= len(body), "a buffer is not in the body"
            buffers.append(body[at:at + length])
        if self.is_compressed:
            assert (flat.table(3).number(0, "b"), flat.table(3).number(1, "b")) == (1, 0), "not zstd of each buffer"
            buffers = list(inflated(buffers))
        self.bytes, self.buffers = sum(map(len, buffers)), iter(buffers)

    def buffer(self):
        return next(self.buffers)

    def bits(self, count):
        data = self.buffer()
        return [data[i // 8] >> i % 8 & 1 == 1 for i in range(count)] if data else None

    def column(self, field):
        count, nulls = next(self.nodes)
        valid = self.bits(count) or [True] * count
        assert valid.count(False) == nulls and (field.is_nullable or not nulls)
        if field.words is not None:
            values = [self.words[field.words][i] for i in struct.unpack(f"<{count}i", self.buffer())]
        elif field.type == BOOL:
            values = self.bits(count) or []
        elif field.type == STRUCT:
            columns = [self.column(child) for child in field.children]
            values = [dict(zip([child.name for child in field.children], row)) for row in zip(*columns)]
        elif field.type in (INT, TIMESTAMP):
            values = struct.unpack(f"<{count}{field.form}", self.buffer())
        else:
            ends = struct.unpack(f"<{count + 1}i", self.buffer())
            items = self.buffer() if field.type == UTF8 else self.column(field.children[0])
            assert ends[-1] == len(items), "items that belong to no row"
            values = [items[first:end] for first, end in zip(ends, ends[1:])]
            values = [value.decode() for value in values] if field.type == UTF8 else values
        assert len(values) == count
        return [value if is_valid else None for value, is_valid in zip(values, valid)]


class Strings:  # the only column of a dictionary
    type, is_nullable, words = UTF8, False, None


class Table:
    def __init__(self, data):
        assert data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1"
        at, end = 8, len(data) - 10 - struct.unpack_from("<i", data, len(data) - 10)[0]
        footer = Flat(data[end:], struct.unpack_from("<I", data, end)[0])
        blocks = {kind: footer.vector(field, "qi4xq") for field, kind in ((2, DICTIONARY), (3, BATCH))}
        self.data, self.words, self.batches, self.sizes, self.are_compressed = data, {}, [], [], []
        schema, at = self.message(8, SCHEMA)
        fields = [Field(field) for field in schema.tables(1)]
        self.names = [field.name for field in fields]
        assert [Field(field).name for field in footer.table(1).tables(1)] == self.names
        self.dictionaries = [field.name for field in fields if field.words is not None]
        for block in sorted(blocks[DICTIONARY] + blocks[BATCH]):
            assert block[0] == at, "the footer names other messages"
            at = at + block[1] + block[2]
        assert data[at:end] == b"\xff" * 4 + bytes(4), "there are more messages"
        for block in blocks[DICTIONARY]:
            table, _ = self.message(block[0], DICTIONARY, block)
            assert table.number(0, "q") not in self.words and not table.number(2, "b"), "a dictionary is there twice"
            [self.words[table.number(0, "q")]] = self.columns(table.table(1), block, [Strings])
        assert all(len(set(words)) == len(words) for words in self.words.values()), "a word is there twice"
        for block in blocks[BATCH]:
            table, _ = self.message(block[0], BATCH, block)
            columns = self.columns(table, block, fields)
            self.batches.append([dict(zip(self.names, row)) for row in zip(*columns)])
            assert len(self.batches[-1]) == table.number(0, "q")
        self.rows = [row for batch in self.batches for row in batch]

    def message(self, at, kind, block=None):
        """What the message at this offset is about, and where its body begins."""
        mark, length, root = struct.unpack_from("<III", self.data, at)
        message = Flat(self.data[at + 8:], root)
        assert mark == 0xFFFFFFFF and message.number(1, "B") == kind
        assert not block or block[1:] == (8 + length, message.number(3, "q"))
        return message.table(2), at + 8 + length

    def columns(self, flat, block, fields):
        at = block[0] + block[1]
        batch = Batch(flat, self.data[at:at + block[2]], self.words)
        if fields != [Strings]:
            self.sizes.append(batch.bytes)
            self.are_compressed.append(batch.is_compressed)
        columns = [batch.column(field) for field in fields]
        assert next(batch.buffers, None) is None, "a buffer of no column"
        return columns
