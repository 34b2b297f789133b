package pprofdelta

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// format is what a profile is compressed with, told by its first bytes alone.
type format int

const (
	formatPlain format = iota
	formatGzip
	formatZstd
)

func formatOf(in []byte) format {
	switch {
	case len(in) >= 2 && in[0] == 0x1f && in[1] == 0x8b:
		return formatGzip
	case len(in) < 4:
		return formatPlain
	case in[0] == 0x28 && in[1] == 0xb5 && in[2] == 0x2f && in[3] == 0xfd, // a frame
		in[0]&0xf0 == 0x50 && in[1] == 0x2a && in[2] == 0x4d && in[3] == 0x18: // one to be skipped
		return formatZstd
	}
	return formatPlain
}

func (f format) String() string { return [...]string{"plain", "gzip", "zstd"}[f] }

// inflate returns what the input inflates to, in a room of the instance, or the input itself if it is
// plain. More than the account's limit is ErrLimit, before it is held. Everything in the container is
// checked, so that what comes out is what went in.
func inflate(in []byte, h instance, slot int, a *account) ([]byte, error) {
	out := inflated{instance: h, account: a, slot: slot, limit: a.limit}
	switch formatOf(in) {
	case formatGzip:
		return once(out.fromGzip(in))
	case formatZstd:
		return once(out.fromZstd(in))
	}
	if int64(len(in)) > out.limit {
		return nil, refuse(ErrLimit, "memory", Nowhere, "the input of %d bytes is longer than the %d bytes that the pool's max memory allows", len(in), out.limit)
	}
	return in, nil
}

// once refuses what is compressed twice, as the library does when it inflates by itself.
func once(inflated []byte, err error) ([]byte, error) {
	if f := formatOf(inflated); err == nil && f != formatPlain {
		return nil, refuse(ErrWire, "wire", 0, "this is %s data once more: compressed twice", f)
	}
	return inflated, err
}

// inflated is output that grows in a room of an instance.
type inflated struct {
	instance instance
	account  *account
	slot     int
	limit    int64
	bytes    []byte // the room
	len      int    // of what is there
	window   int64  // what the zstd decompressor holds
}

// Profiles shrink 3 to 10 times. A claim within trustedRatio is allocated at once.
const (
	usualRatio   = 4
	trustedRatio = 32
	leastRoom    = 4096
)

// piece is how much is inflated before the context is looked at again.
const piece = 1 << 20

// next returns the part of the room that is to be filled next. offset is for the error.
func (o *inflated) next(claim int64, offset int) ([]byte, error) {
	if err := o.account.ctx.Err(); err != nil {
		return nil, err
	}
	if o.len == len(o.bytes) {
		if err := o.more(claim, offset); err != nil {
			return nil, err
		}
	}
	return o.bytes[o.len:min(len(o.bytes), o.len+piece)], nil
}

// begin makes the first room. claim is the length that the input announces, or 0.
func (o *inflated) begin(claim int64, packed int) error {
	room := claim
	if room == 0 {
		room = int64(packed) * usualRatio
	}
	// One byte more: a decompressor that has filled the room has to look for the end.
	return o.grow(min(room, int64(packed)*trustedRatio)+1, 0, 0)
}

// more makes more room: for the claim, or twice the room. offset is for the error.
func (o *inflated) more(claim int64, offset int) error {
	if claim > o.limit {
		return o.tooLarge(true, offset)
	}
	if int64(len(o.bytes)) > o.limit {
		return o.tooLarge(false, offset)
	}
	return o.grow(max(2*int64(len(o.bytes)), claim+1, leastRoom), o.len, offset)
}

func (o *inflated) grow(size int64, keep, offset int) (err error) {
	o.bytes, err = o.instance.room(o.slot, int(min(size, o.limit+1)), keep)
	if errors.Is(err, ErrLimit) {
		return o.tooLarge(false, offset)
	}
	return err
}

func (o *inflated) done() ([]byte, error) { return o.bytes[:o.len:o.len], nil }

func (o *inflated) tooLarge(saysSo bool, offset int) error {
	does := "inflates"
	if saysSo {
		does = "says that it inflates"
	}
	return refuse(ErrLimit, "inflate", offset, "the input %s to more bytes than the pool's max memory allows", does)
}

// refuse makes an error with an offset.
func refuse(status Status, stage string, offset int, format string, args ...any) error {
	err := fail(status, stage, fmt.Sprintf(format, args...))
	err.Offset = int64(offset)
	return err
}

// buffer is a byte slice that is used again.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func takeBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.b = b.b[:0]
	return b
}

// mostKept is the capacity above which a buffer is left to the garbage collector.
const mostKept = 1 << 20

func (b *buffer) give() {
	if cap(b.b) <= mostKept {
		buffers.Put(b)
	}
}

// add appends bytes. What the buffer grows by counts as memory of the call.
func (b *buffer) add(bytes []byte, a *account) error {
	if need := len(b.b) + len(bytes); need > cap(b.b) {
		size := max(need, len(b.b)+len(b.b)/4)
		if err := a.hold(int64(size - cap(b.b))); err != nil {
			return err
		}
		b.b = append(make([]byte, 0, size), b.b...)
	}
	b.b = append(b.b, bytes...)
	return nil
}

// readAll reads at most limit bytes. They last until give. Such a limit is half of that of the call,
// since the input is in the instance, too.
func (b *buffer) readAll(r io.Reader, limit int64) ([]byte, error) {
	for {
		if len(b.b) == cap(b.b) {
			b.b = append(b.b, make([]byte, max(leastRoom, len(b.b)))...)[:len(b.b)]
		}
		n, err := r.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if err == io.EOF {
			return b.b, nil
		}
		if err != nil {
			return nil, failFor(ErrSource, "memory", "the input was not read", err)
		}
		if int64(len(b.b)) > limit {
			return nil, fail(ErrLimit, "memory", fmt.Sprintf("the input is longer than the %d bytes that the pool's max memory allows", limit))
		}
	}
}
