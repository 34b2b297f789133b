package pprofdelta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// gzip (RFC 1952) is members one behind the other, and nothing else. Header and trailer are read
// here, so that an error has the offset and the words that the C library has for it. The deflate data
// is read by the flate package.

const (
	gzipHeaderLen  = 10
	gzipTrailerLen = 8
	gzipMaxRatio   = 258 * 4 // a copy of 258 bytes takes 2 bits
)

const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
	gzipReserved  = 0xe0
)

// inflater is a flate reader that is used again. It reads in from the first byte of deflate data and
// no byte more than it needs.
type inflater struct {
	in    bytes.Reader
	flate io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	i := new(inflater)
	i.flate = flate.NewReader(&i.in)
	return i
}}

// member is the reading of one gzip file.
type member struct {
	in  []byte
	pos int
}

func (o *inflated) fromGzip(in []byte) ([]byte, error) {
	i := inflaters.Get().(*inflater)
	defer func() {
		i.in.Reset(nil)
		inflaters.Put(i)
	}()
	claim := gzipClaim(in)
	if err := o.begin(claim, len(in)); err != nil {
		return nil, err
	}
	m := member{in: in}
	for {
		if err := m.header(); err != nil {
			return nil, err
		}
		before := o.len
		if err := o.body(i, &m, claim); err != nil {
			return nil, err
		}
		if err := m.trailer(o.bytes[before:o.len]); err != nil {
			return nil, err
		}
		if formatOf(in[m.pos:]) != formatGzip {
			break
		}
	}
	if m.pos < len(in) {
		return nil, refuse(ErrInflate, "inflate", m.pos,
			"bytes after the gzip trailer: %d, the first 0x%02x", len(in)-m.pos, in[m.pos])
	}
	return o.done()
}

// gzipClaim returns the length in the last bytes of a file, or 0 if it cannot be.
func gzipClaim(in []byte) int64 {
	if len(in) < gzipHeaderLen+gzipTrailerLen {
		return 0
	}
	size := int64(binary.LittleEndian.Uint32(in[len(in)-4:]))
	if size > int64(len(in))*gzipMaxRatio {
		return 0
	}
	return size
}

// body appends what the deflate data at m.pos inflates to.
func (o *inflated) body(i *inflater, m *member, claim int64) error {
	i.in.Reset(m.in[m.pos:])
	if err := i.flate.(flate.Resetter).Reset(&i.in, nil); err != nil {
		return failFor(ErrInflate, "inflate", "the deflate data is not readable", err)
	}
	for {
		room, err := o.next(claim, m.pos)
		if err != nil {
			return err
		}
		n, err := i.flate.Read(room)
		o.len += n
		if int64(o.len) > o.limit {
			return o.tooLarge(claim > o.limit, m.pos)
		}
		if err == io.EOF {
			m.pos = len(m.in) - i.in.Len()
			return nil
		}
		if err != nil {
			return m.damaged(err)
		}
	}
}

func (m *member) damaged(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return m.cutOff("deflate data")
	case errors.As(err, &corrupt):
		at := max(0, int(corrupt)-1) // it counts the byte that shows the damage
		return refuse(ErrInflate, "inflate", m.pos+at, "the deflate data is damaged")
	}
	return refuse(ErrInflate, "inflate", m.pos, "the deflate data is damaged: %v", err)
}

func (m *member) cutOff(where string) error {
	return refuse(ErrInflate, "inflate", len(m.in), "the file is cut off in the %s", where)
}

func (m *member) skip(n int) bool {
	if n > len(m.in)-m.pos {
		return false
	}
	m.pos += n
	return true
}

func (m *member) skipExtra() bool {
	at := m.pos
	return m.skip(2) && m.skip(int(binary.LittleEndian.Uint16(m.in[at:])))
}

func (m *member) skipString() bool {
	end := bytes.IndexByte(m.in[m.pos:], 0)
	return end >= 0 && m.skip(end+1)
}

// header reads the header of a member, whose two magic bytes are known.
func (m *member) header() error {
	start := m.pos
	if !m.skip(gzipHeaderLen) {
		return m.cutOff("gzip header")
	}
	method, flags := m.in[start+2], m.in[start+3]
	if method != 8 {
		return refuse(ErrInflate, "inflate", start+2, "the gzip method is %d and not 8, deflate", method)
	}
	if flags&gzipReserved != 0 {
		return refuse(ErrInflate, "inflate", start+3, "reserved gzip flags are set: 0x%02x",
			flags&gzipReserved)
	}
	if flags&gzipExtra != 0 && !m.skipExtra() || flags&gzipName != 0 && !m.skipString() ||
		flags&gzipComment != 0 && !m.skipString() {
		return m.cutOff("gzip header")
	}
	if flags&gzipHeaderCRC == 0 {
		return nil
	}
	at := m.pos
	if !m.skip(2) {
		return m.cutOff("gzip header")
	}
	want := binary.LittleEndian.Uint16(m.in[at:])
	if got := uint16(crc32.ChecksumIEEE(m.in[start:at])); got != want {
		return refuse(ErrInflate, "inflate", at, "the gzip header has the CRC-16 %04x and says %04x",
			got, want)
	}
	return nil
}

// trailer reads the trailer of a member with this content.
func (m *member) trailer(content []byte) error {
	at := m.pos
	if !m.skip(gzipTrailerLen) {
		return m.cutOff("gzip trailer")
	}
	crc := binary.LittleEndian.Uint32(m.in[at:])
	size := binary.LittleEndian.Uint32(m.in[at+4:])
	if got := crc32.ChecksumIEEE(content); got != crc {
		return refuse(ErrInflate, "inflate", at,
			"the content has the CRC-32 %08x and the gzip trailer says %08x", got, crc)
	}
	if uint32(len(content)) != size {
		return refuse(ErrInflate, "inflate", at+4,
			"the content is %d bytes long and the gzip trailer says %d", len(content), size)
	}
	return nil
}
