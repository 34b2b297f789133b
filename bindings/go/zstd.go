package pprofdelta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstd (RFC 8878) is frames one behind the other, some of them to be skipped, and nothing else. A
// frame is measured by its block headers before it is inflated, so that a file that is cut off is told
// from one that is damaged, and one frame at a time goes into the room.

// zstdBlock is the most that a block inflates to.
const zstdBlock = 128 << 10

// The options do not depend on the pool: the room and the account are the limit.
var zstdReaders = sync.Pool{New: func() any {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<32),
		zstd.WithDecoderMaxWindow(1<<32-1))
	if err != nil {
		return err
	}
	return reader
}}

func (o *inflated) fromZstd(in []byte) ([]byte, error) {
	item := zstdReaders.Get()
	reader, ok := item.(*zstd.Decoder)
	if !ok {
		return nil, failFor(ErrInflate, "inflate", "there is no zstd decompressor", item.(error))
	}
	defer func() {
		if reader.Reset(nil) == nil && o.window <= mostKept { // it forgets the input, but not its window
			zstdReaders.Put(reader)
		}
	}()
	pos := 0
	for {
		frame, err := zstdFrame(in, pos)
		if err != nil {
			return nil, err
		}
		if err := o.frame(reader, frame, pos); err != nil {
			return nil, err
		}
		pos += len(frame.bytes)
		if formatOf(in[pos:]) != formatZstd {
			break
		}
	}
	if pos < len(in) {
		return nil, refuse(ErrInflate, "inflate", pos,
			"bytes after the last zstd frame: %d, the first 0x%02x", len(in)-pos, in[pos])
	}
	return o.done()
}

// zstdMaxRatio is the most that a byte of a frame inflates to: a block of 4 bytes can be 128 KiB.
const zstdMaxRatio = zstdBlock / 4

// frameForm is a frame that is whole by its block headers.
type frameForm struct {
	bytes   []byte
	skipped bool
	// hasClaim: most is what it says that it inflates to. Else it is the most that its blocks can be.
	hasClaim bool
	most     int64
	window   uint64 // without a claim
}

// zstdFrame measures the frame at in[pos].
func zstdFrame(in []byte, pos int) (frameForm, error) {
	var header zstd.Header
	rest := in[pos:]
	if len(rest) < 9 && cap(rest) > 0 { // the package asks for more than the shortest header
		rest = append(append([]byte(nil), rest...), make([]byte, 16)...)
	}
	err := header.Decode(rest)
	if err != nil || pos+header.HeaderSize > len(in) {
		return frameForm{}, refuseHeader(in, pos, err)
	}
	if header.Skippable {
		size := header.HeaderSize + int(header.SkippableSize)
		if size > len(in)-pos {
			return frameForm{}, zstdCutOff(in)
		}
		return frameForm{bytes: in[pos : pos+size], skipped: true}, nil
	}
	if header.DictionaryID != 0 {
		return frameForm{}, refuse(ErrInflate, "inflate", pos, "the zstd frame needs a dictionary")
	}
	end, most, err := zstdBlocks(in, pos, pos+header.HeaderSize, min(zstdBlock, int64(header.WindowSize)))
	if err != nil {
		return frameForm{}, err
	}
	if header.HasCheckSum {
		if end += 4; end > len(in) {
			return frameForm{}, zstdCutOff(in)
		}
	}
	if header.HasFCS && header.FrameContentSize > uint64(end-pos)*zstdMaxRatio {
		return frameForm{}, refuse(ErrInflate, "inflate", pos,
			"the zstd frame is too short for the %d bytes it announces", header.FrameContentSize)
	}
	if header.HasFCS {
		most = int64(header.FrameContentSize)
	}
	return frameForm{bytes: in[pos:end], hasClaim: header.HasFCS, most: most, window: header.WindowSize}, nil
}

func refuseHeader(in []byte, pos int, err error) error {
	if err == nil || errors.Is(err, zstd.ErrMagicMismatch) || len(in)-pos < 18 {
		return zstdCutOff(in)
	}
	return refuse(ErrInflate, "inflate", pos, "the zstd frame is damaged: %v", err)
}

func zstdCutOff(in []byte) error {
	return refuse(ErrInflate, "inflate", len(in), "the file is cut off in a zstd frame")
}

// zstdBlocks returns where the blocks of the frame at in[pos] end, and how much they inflate to at most.
// A compressed block inflates to block bytes at most.
func zstdBlocks(in []byte, pos, at int, block int64) (end int, most int64, err error) {
	const header, raw, repeated, compressed = 3, 0, 1, 2
	for {
		if len(in)-at < header {
			return 0, 0, zstdCutOff(in)
		}
		word := binary.LittleEndian.Uint16(in[at:])
		head := uint32(word) | uint32(in[at+2])<<16
		kind, size := head>>1&3, int(head>>3)
		switch kind {
		case raw:
			most += int64(size)
		case repeated:
			most += int64(size)
			size = 1
		case compressed:
			if size == 0 {
				return 0, 0, refuse(ErrInflate, "inflate", pos,
					"the zstd frame is damaged: a compressed block is empty")
			}
			most += block
		default:
			return 0, 0, refuse(ErrInflate, "inflate", pos,
				"the zstd frame is damaged: a block has no known type")
		}
		if at += header; size > len(in)-at {
			return 0, 0, zstdCutOff(in)
		}
		at += size
		if head&1 != 0 {
			return at, most, nil
		}
	}
}

// frame appends what a frame inflates to. It is inflated at once if its length is known, or if it is
// not longer than the window that the package would need otherwise.
func (o *inflated) frame(reader *zstd.Decoder, frame frameForm, pos int) error {
	switch {
	case frame.skipped:
		return nil
	case frame.hasClaim || frame.most <= min(int64(frame.window), o.limit-int64(o.len)):
		return o.frameAtOnce(reader, frame, pos)
	}
	return o.frameInPieces(reader, frame, pos)
}

// frameAtOnce has room for one block more: the package sees only after a block that there is too much.
// Without that room, it would copy the output to memory of its own.
func (o *inflated) frameAtOnce(reader *zstd.Decoder, frame frameForm, pos int) error {
	if err := o.account.ctx.Err(); err != nil {
		return err
	}
	most := int64(o.len) + frame.most
	if most > o.limit {
		return o.tooLarge(true, pos)
	}
	var err error
	o.bytes, err = o.instance.room(o.slot, int(most+zstdBlock), o.len)
	if errors.Is(err, ErrLimit) {
		return o.tooLarge(frame.hasClaim, pos)
	}
	if err != nil {
		return err
	}
	out, err := reader.DecodeAll(frame.bytes, o.bytes[:o.len])
	if err != nil {
		return zstdDamaged(err, pos)
	}
	o.len = len(out)
	return nil
}

func (o *inflated) frameInPieces(reader *zstd.Decoder, frame frameForm, pos int) error {
	window := int64(frame.window)
	window += min(window, zstdBlock)
	if more := window - o.window; more > 0 {
		if o.account.hold(more) != nil {
			return o.tooLarge(false, pos)
		}
		o.window = window
	}
	if o.bytes == nil {
		if err := o.begin(0, len(frame.bytes)); err != nil {
			return err
		}
	}
	if err := reader.Reset(bytes.NewReader(frame.bytes)); err != nil {
		return zstdDamaged(err, pos)
	}
	for {
		room, err := o.next(0, pos)
		if err != nil {
			return err
		}
		n, err := reader.Read(room)
		o.len += n
		switch {
		case int64(o.len) > o.limit:
			return o.tooLarge(false, pos)
		case err == io.EOF:
			return nil
		case err != nil:
			return zstdDamaged(err, pos)
		}
	}
}

func zstdDamaged(err error, pos int) error {
	text := "the zstd frame is damaged: %v"
	switch {
	case errors.Is(err, zstd.ErrCRCMismatch):
		text = "the zstd frame's content does not have the checksum it says"
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrFrameSizeExceeded):
		text = "the zstd frame inflates to more than it can hold"
	default:
		return refuse(ErrInflate, "inflate", pos, text, err)
	}
	return refuse(ErrInflate, "inflate", pos, "%s", text)
}
