"""Files that are no profile at all, and containers that do not hold together."""

import struct
import zlib

from container import (GZIP_HEADER, RAW, RESERVED, RUN, ZSTD_MAGIC, block, gzip, gzip_bomb, stored,
                       zstd)
from wire import HEAP, Wire, here, profile, samples_of, types_of, wire


def cut(content, at):
    """Ends there, and says so there."""
    return wire(content)[:at] + here()


TAR = b"heap.pb.gz".ljust(257, b"\0") + b"ustar\x0000" + bytes(248)
PAGE = (b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head>\n"
        b"<body><h1>Not Found</h1></body></html>\n")


def other_files(refuse):
    text = "this is text, not a pprof profile"
    json = "this is JSON, not a pprof profile"
    debug = "this is the text form of a profile, as ?debug=1 gives it; fetch it without debug"
    page = "this is an HTML page, not a pprof profile"
    refuse("page.html", PAGE, page)
    refuse("page.html.gz", gzip(PAGE), page)
    refuse("page-without-title.html", b"\n<html>\n<body>sorry</body></html>\n", page)
    refuse("error.txt", b"404 page not found\n", text)
    refuse("error.json",
           b'{"error":{"code":404,"message":"there is no profile of that name here"}}\n', json)
    refuse("list.json.gz", gzip(b'[{"name": "heap"}]\n'), json)
    refuse("error.xml", b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
           "this is an XML document, not a pprof profile")
    refuse("byte-order-mark.txt", b"\xef\xbb\xbfno profile", text)
    refuse("heap-debug-1.txt", b"heap profile: 3: 4096 [12: 16384] @ heap/1048576\n"
           b"1: 4096 [4: 16384] @ 0x45f6c8 0x4602c5\n", debug)
    refuse("mutex-debug-1.txt", b"--- mutex:\ncycles/second=2000000000\nsampling period=1\n", debug)
    refuse("goroutine-debug-1.txt", b"goroutine profile: total 2\n1 @ 0x45f6c8 0x4602c5\n", debug)
    refuse("goroutine-debug-2.txt", b"goroutine 1 [running]:\nmain.main()\n\t/main.go:7 +0x1\n",
           "this is a list of goroutines, as ?debug=2 gives it; fetch it without debug")
    refuse("unknown-rate.heap", b"heap_v2/0\n@ 0x1\n",
           "this is a heap profile as text, but of an unknown form")
    for name, content in (("archive.tar", TAR), ("archive.tar.gz", gzip(TAR)),
                          ("archive.tar.zst", zstd(TAR))):
        refuse(name, content,
               "this is a tar archive, not a pprof profile: extract the profile from it")
    for name, content, what in (
            ("archive.zip", b"PK\3\4\x14\0\0\0\0\0", "a zip archive"),
            ("archive.7z", b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive")):
        refuse(name, content, f"this is {what}, not a pprof profile: extract the profile from it")
    trace = b"go 1.22 trace\0\0\0" + b"\1\0\x90\x4e"
    for name, content in (("execution.trace", trace), ("execution.trace.gz", gzip(trace))):
        refuse(name, content, "this is an execution trace of Go, not a pprof profile: go tool trace "
                              "reads it")
    for name, content, what in (
            ("compressed.xz", b"\xfd7zXZ\0\0\4\xe6\xd6\xb4\x46", "xz data"),
            ("compressed.bz2", b"BZh91AY&SY\x01\x02", "bzip2 data")):
        refuse(name, content, f"this is {what}, not a pprof profile: only gzip and zstd are inflated")
    for name, content, what in (
            ("core.elf", b"\x7fELF\2\1\1" + b"\0" * 9 + b"\4\0\x3e\0", "a program or a core dump"),
            ("flight.jfr", b"FLR\0\0\2\0\1", "a recording by Java Flight Recorder"),
            ("java.hprof", b"JAVA PROFILE 1.0.2\0\0\0\0\4", "a Java heap dump"),
            ("heapdump", b"go1.7 heap dump\n\6\1", "a heap dump by Go's debug.WriteHeapDump"),
            ("graph.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
            ("graph.pdf", b"%PDF-1.5\n%\xd0\xd4\xc5\xd8\n\0", "a PDF document")):
        refuse(name, content, f"this is {what}, not a pprof profile")
    refuse("old-cpu.prof", struct.pack("<5Q", 0, 3, 0, 10000, 0),
           "this is a CPU profile in the old form of gperftools: pprof -proto converts it")
    refuse("lfs.pb.gz", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
           "this is a pointer of Git LFS, not a pprof profile: git lfs pull fetches it")
    refuse("program.elf", b"\x7fELF\2\1\1" + b"\0" * 9 + b"\2\0\x3e\0",
           "this is a program or a core dump, not a pprof profile")
    refuse("perf.data", b"PERFILE2h\0\0\0\0\0\0\0",
           "this is a recording by Linux perf, not a pprof profile")


def broken_gzip(refuse):
    good = profile()
    whole = gzip(good)
    body = len(GZIP_HEADER)
    trailer = len(whole) - 8
    crc = zlib.crc32(good.data)

    def case(name, content, says):
        refuse(f"gzip-{name}.pb.gz", content, says, where="compressed file")

    case("cut-in-header", cut(whole, 7), "the file is cut off in the gzip header")
    case("cut-behind-header", cut(whole, body), "the file is cut off in the deflate data")
    case("cut-in-data", cut(whole, body + 40), "the file is cut off in the deflate data")
    case("cut-in-trailer", cut(whole, trailer + 3), "the file is cut off in the gzip trailer")
    case("cut-behind-data", cut(whole, trailer), "the file is cut off in the gzip trailer")
    case("cut-in-second-member", cut(whole + whole, len(whole) + 9),
         "the file is cut off in the gzip header")
    case("method-7", GZIP_HEADER[:2] + here(b"\7") + whole[3:],
         "the gzip method is 7 and not 8, deflate")
    case("reserved-flags", GZIP_HEADER[:3] + here(b"\xe0") + whole[4:],
         "reserved gzip flags are set: 0xe0")
    named = GZIP_HEADER[:3] + b"\x08" + GZIP_HEADER[4:] + b"orders.pb"  # a name without its end
    case("name-without-end", Wire(named) + here(), "the file is cut off in the gzip header")
    checked = GZIP_HEADER[:3] + b"\x02" + GZIP_HEADER[4:]
    case("header-crc-wrong", gzip(good, header=wire(checked) + here(b"\x34\x12")),
         f"the gzip header has the CRC-16 {zlib.crc32(checked) & 0xFFFF:04x} and says 1234")
    case("crc-wrong", whole[:trailer] + here(b"\x78\x56\x34\x12") + whole[trailer + 4:],
         f"the content has the CRC-32 {crc:08x} and the gzip trailer says 12345678")
    case("length-wrong", whole[:trailer + 4] + here(struct.pack("<I", len(good) + 1)),
         f"the content is {len(good)} bytes long and the gzip trailer says {len(good) + 1}")
    damage = "the deflate data is damaged: "
    case("block-type-3", gzip(good, body=here(b"\7") + stored(good.data)[1:]),
         damage + "invalid block type")
    case("stored-length-wrong", gzip(good, body=b"\1\5\0\5" + here(b"\0") + b"hello"),
         damage + "invalid stored block lengths")
    for name, rest in (("newline", b"\n"), ("zeros", bytes(512)), ("text", b"</html>\n")):
        case(f"then-{name}", whole + here(rest),
             f"bytes after the gzip trailer: {len(rest)}, the first 0x{rest[0]:02x}")
    case("cut-behind-magic", cut(whole, 2), "the file is cut off in the gzip header")
    refuse("gzip-of-nothing.pb.gz", gzip(b""), "it is empty: 0 bytes")
    refuse("gzip-of-cut-profile.pb.gz", gzip(types_of(HEAP) + samples_of(4)),
           "string_table: it has no string table: not a pprof profile, or cut off")
    refuse("gzip-of-gzip.pb.gz.gz", gzip(gzip(good)),
           "this is gzip data once more: compressed twice")
    refuse("gzip-of-zstd.pb.zst.gz", gzip(zstd(good)),
           "this is zstd data once more: compressed twice")
    bomb, limit = gzip_bomb(4), 1 << 20
    lying = wire(bomb)[:len(bomb) - 4].data[body:] + struct.pack("<I", 100)
    for name, says, content in (
            ("bomb", "the input says that it inflates to more bytes than", GZIP_HEADER + here() + wire(bomb)[body:]),
            ("bomb-that-lies", "this takes more memory than", GZIP_HEADER + lying)):
        refuse(f"gzip-{name}.pb.gz", content, f"{says} max_memory allows", where="compressed file",
               hint="--max-memory=SIZE raises the limit", options=[f"--max-memory={limit}"])


def broken_zstd(refuse):
    good = profile()
    whole = zstd(good)

    def case(name, content, says):
        refuse(f"zstd-{name}.pb.zst", content, says, where="compressed file")

    case("cut-in-header", cut(whole, 5), "the file is cut off in a zstd frame")
    case("cut-in-block", cut(whole, 60), "the file is cut off in a zstd frame")
    case("cut-before-last-block",
         Wire(ZSTD_MAGIC + b"\0\x60" + block(RAW, good.data, last=False)) + here(),
         "the file is cut off in a zstd frame")
    case("checksum-wrong", here(zstd(good, descriptor=b"\4\x60", tail=b"\x78\x56\x34\x12")),
         "the zstd frame's content does not have the checksum it says")
    case("checksum-cut-off", cut(zstd(good, descriptor=b"\4\x60"), len(whole)),
         "the file is cut off in a zstd frame")
    damage = "the zstd frame is damaged: "
    case("block-type-3", here(ZSTD_MAGIC + b"\0\x60" + block(RESERVED, b"")),
         damage + "Data corruption detected")
    other_size = b"\x60" + struct.pack("<H", len(good) - 256 + 1)
    case("size-wrong", here(zstd(good, descriptor=other_size)),
         damage + "Data corruption detected")
    large = ZSTD_MAGIC + b"\0\x60" + block(RUN, b"\0", size=1 << 20)  # 8 times what may be
    case("block-too-large", here(large),
         damage + "Data corruption detected")
    case("needs-dictionary", here(zstd(good, descriptor=b"\1\x60\x07")),
         "the zstd frame needs a dictionary")
    for name, rest in (("newline", b"\n"), ("gzip", gzip(good).data)):
        case(f"then-{name}", whole + here(rest),
             f"bytes after the last zstd frame: {len(rest)}, the first 0x{rest[0]:02x}")
    refuse("zstd-skippable-only.pb.zst", b"\x50\x2a\x4d\x18\0\0\0\0",
           "it is empty: 0 bytes")
    limit = 1 << 20
    bomb = ZSTD_MAGIC + b"\0\x60"
    bomb += b"".join(block(RUN, b"\0", size=128 << 10, last=i == 31) for i in range(32))
    refuse("zstd-bomb.pb.zst", here(bomb),
           "the window of the zstd frame takes more memory than max_memory allows",
           where="compressed file",
           hint="--max-memory=SIZE raises the limit", options=[f"--max-memory={limit}"])


def make(corpus):
    for cases in (other_files, broken_gzip, broken_zstd):
        cases(corpus.refuse)
