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

// zstdMaxRatio is the most that a byte of a frame inflates to: a block of 4 bytes can be 128 KiB.
const zstdMaxRatio = (128 << 10) / 4

// zstdUsualWindow is what every decompressor should accept, by RFC 8878.
const zstdUsualWindow = 8 << 20

// The options do not depend on the pool: the room and the check of the window are the limit.
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
		if reader.Reset(nil) == nil { // it forgets the input
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

// frameForm is a frame that is whole by its block headers.
type frameForm struct {
	bytes   []byte
	skipped bool
	// hasClaim: it announces the length `most`. Else it needs the window.
	hasClaim bool
	most     int64
	window   uint64
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
	end, err := zstdBlocks(in, pos, pos+header.HeaderSize)
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
	return frameForm{bytes: in[pos:end], hasClaim: header.HasFCS,
		most: int64(header.FrameContentSize), window: header.WindowSize}, nil
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

// zstdBlocks returns where the blocks of the frame at in[pos] end.
func zstdBlocks(in []byte, pos, at int) (int, error) {
	const header, raw, repeated, compressed = 3, 0, 1, 2
	for {
		if len(in)-at < header {
			return 0, zstdCutOff(in)
		}
		word := binary.LittleEndian.Uint16(in[at:])
		block := uint32(word) | uint32(in[at+2])<<16
		kind, size := block>>1&3, int(block>>3)
		switch kind {
		case raw:
		case repeated:
			size = 1
		case compressed:
			if size == 0 {
				return 0, refuse(ErrInflate, "inflate", pos,
					"the zstd frame is damaged: a compressed block is empty")
			}
		default:
			return 0, refuse(ErrInflate, "inflate", pos,
				"the zstd frame is damaged: a block has no known type")
		}
		if at += header; size > len(in)-at {
			return 0, zstdCutOff(in)
		}
		at += size
		if block&1 != 0 {
			return at, nil
		}
	}
}

// frame appends what a frame inflates to. With a claim, the room is made first. Without one, the
// package needs a window of its own, which counts against the limit, too.
func (o *inflated) frame(reader *zstd.Decoder, frame frameForm, pos int) error {
	switch {
	case frame.skipped:
		return nil
	case frame.hasClaim:
		return o.frameAtOnce(reader, frame, pos)
	case frame.window > max(uint64(o.limit), zstdUsualWindow):
		return o.tooLarge(true, pos)
	}
	return o.frameInPieces(reader, frame, pos)
}

func (o *inflated) frameAtOnce(reader *zstd.Decoder, frame frameForm, pos int) error {
	claim := int64(o.len) + frame.most
	if claim > o.limit {
		return o.tooLarge(true, pos)
	}
	if o.bytes == nil {
		if err := o.begin(claim, len(frame.bytes)); err != nil {
			return err
		}
	}
	if claim > int64(len(o.bytes)) {
		if err := o.more(claim, pos); err != nil {
			return err
		}
	}
	out, err := reader.DecodeAll(frame.bytes, o.bytes[:o.len:claim])
	if err != nil {
		return zstdDamaged(err, pos)
	}
	o.len = len(out)
	return nil
}

func (o *inflated) frameInPieces(reader *zstd.Decoder, frame frameForm, pos int) error {
	if o.bytes == nil {
		if err := o.begin(0, len(frame.bytes)); err != nil {
			return err
		}
	}
	if err := reader.Reset(bytes.NewReader(frame.bytes)); err != nil {
		return zstdDamaged(err, pos)
	}
	for {
		if o.len == len(o.bytes) {
			if err := o.more(0, pos); err != nil {
				return err
			}
		}
		n, err := reader.Read(o.bytes[o.len:])
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
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrFrameSizeExceeded),
		errors.Is(err, zstd.ErrWindowSizeExceeded):
		text = "the zstd frame inflates to more than it can hold"
	default:
		return refuse(ErrInflate, "inflate", pos, text, err)
	}
	return refuse(ErrInflate, "inflate", pos, "%s", text)
}
