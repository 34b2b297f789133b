"""gzip and zstd, written without a compressor: the same bytes on every machine."""

import struct
import zlib

from wire import Wire, wire

GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def stored(data):
    """Deflate data in one block that is not compressed."""
    return b"\1" + struct.pack("<HH", len(data), len(data) ^ 0xFFFF) + data


def gzip(data, header=GZIP_HEADER, body=None, crc=None, size=None):
    data = wire(data).data
    crc = zlib.crc32(data) if crc is None else crc
    size = len(data) if size is None else size
    return wire(header) + (stored(data) if body is None else body) + struct.pack("<II", crc, size)


def gzip_bomb(megabytes):
    """Zeros, 258 at a time: a length and a distance that cost two bits after the first zero."""
    bits, zeros = [], megabytes << 20

    def put(value, count):  # least significant bit first, as deflate has its numbers
        bits.extend(value >> i & 1 for i in range(count))

    def code(value, count):  # Huffman codes the other way round
        bits.extend(value >> i & 1 for i in reversed(range(count)))

    put(1, 1), put(2, 2)  # the last block, with its own codes
    put(286 - 257, 5), put(1 - 1, 5), put(18 - 4, 4)
    lengths = {18: 1, 1: 2, 2: 2}  # of the code lengths that are used below: 1, 2 and runs of 0
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]:
        put(lengths.get(symbol, 0), 3)
    one, two, run = (0b10, 2), (0b11, 2), (0b0, 1)
    code(*two)                               # literal 0: 2 bits
    code(*run), put(138 - 11, 7)             # none of 1 to 138
    code(*run), put(117 - 11, 7)             # nor of 139 to 255
    code(*two)                               # the end: 2 bits
    code(*run), put(28 - 11, 7)              # no length but
    code(*one)                               # 258: 1 bit
    code(*one)                               # distance 1: 1 bit
    code(0b10, 2)                            # a zero
    for _ in range((zeros - 1) // 258):
        bits.extend((0, 0))                  # 258 more
    for _ in range((zeros - 1) % 258):
        code(0b10, 2)
    code(0b11, 2)
    bits.extend([0] * (-len(bits) % 8))
    packed_bits = bytes(sum(bit << i for i, bit in enumerate(bits[at:at + 8]))
                        for at in range(0, len(bits), 8))
    return gzip(bytes(zeros), body=packed_bits)


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
RAW, RUN, RESERVED = 0, 1, 3


def block(kind, data, size=None, last=True):
    header = (len(data) if size is None else size) << 3 | kind << 1 | last
    return struct.pack("<I", header)[:3] + data


def zstd(data, descriptor=b"\0\x60", tail=b""):
    """One frame, one raw block: no checksum, no size, a window of 4 MiB."""
    return Wire(ZSTD_MAGIC + descriptor + block(RAW, wire(data).data) + tail)
