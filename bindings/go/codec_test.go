package pprofdelta

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// inflateOf inflates with a limit, in Go's memory.
func inflateOf(in []byte, limit int64) ([]byte, error) {
	return inflate(in, &roomInGo{}, 0, &account{ctx: context.Background(), limit: limit})
}

// gzipOf makes one gzip member by the standard library.
func gzipOf(t testing.TB, content []byte, header stdgzip.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := stdgzip.NewWriterLevel(&b, 6)
	if err != nil {
		t.Fatal(err)
	}
	w.Header = header
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, content []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(content, nil)
}

// zstdStream is a frame that does not announce its length.
func zstdStream(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstd.MinWindowSize))
	if err != nil {
		t.Fatal(err)
	}
	for len(content) > 0 { // a stream of one write announces its length
		n := min(len(content), 1000)
		if _, err := w.Write(content[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		content = content[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents are of different lengths, and compress more or less.
func contents() [][]byte {
	random := rand.New(rand.NewPCG(1, 1))
	var all [][]byte
	for _, n := range []int{0, 1, 100, 4095, 4096, 70_000, 1 << 20} {
		noise, text := make([]byte, n), make([]byte, n)
		for i := range noise {
			noise[i], text[i] = byte(random.Uint32()), "function "[i*i%9]
		}
		all = append(all, noise, text, make([]byte, n))
	}
	return all
}

func TestInflateMembersAndFrames(t *testing.T) {
	skipped := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0}, "hello"...)
	for n, content := range contents() {
		half := len(content) / 2
		for what, packed := range map[string][]byte{
			"gzip": gzipOf(t, content, stdgzip.Header{}),
			"gzip header": gzipOf(t, content, stdgzip.Header{Name: "profile.pb", Comment: "a comment",
				Extra: []byte("more")}),
			"members": append(gzipOf(t, content[:half], stdgzip.Header{}),
				append(gzipOf(t, nil, stdgzip.Header{}), gzipOf(t, content[half:], stdgzip.Header{})...)...),
			"zstd":      zstdOf(t, content, zstd.WithZeroFrames(true)),
			"streamed":  append(zstdStream(t, content), skipped...),
			"no crc":    zstdOf(t, content, zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true)),
			"frames":    append(zstdOf(t, content[:half], zstd.WithZeroFrames(true)), zstdStream(t, content[half:])...),
			"skipped":   append(bytes.Clone(skipped), append(zstdOf(t, content, zstd.WithZeroFrames(true)), skipped...)...),
			"our gzip":  deflated(t, content, Gzip),
			"our zstd":  deflated(t, content, Zstd),
			"plain":     content,
			"two gzips": append(deflated(t, content[:half], Gzip), deflated(t, content[half:], Gzip)...),
		} {
			if what == "streamed" && len(content) == 0 {
				continue // the encoder writes nothing
			}
			limit := max(int64(len(content)), 1)
			if formatOf(packed) == formatZstd {
				limit = max(limit, 2<<10) // the window of a stream, which is of two blocks
			}
			got, err := inflateOf(packed, limit)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("content %d, %s: %d bytes, %v", n, what, len(got), err)
			}
			if what == "plain" || len(content) < 2 {
				continue
			}
			if _, err = inflateOf(packed, int64(len(content))-1); !errors.Is(err, ErrLimit) {
				t.Errorf("content %d, %s: a byte over the limit: %v", n, what, err)
			}
			_, err = inflateOf(append(bytes.Clone(packed), '\n'), 1<<30)
			e := statusOf(t, what+" and a byte", err, ErrInflate)
			if e.Offset != int64(len(packed)) {
				t.Errorf("content %d, %s and a byte: %v", n, what, err)
			}
		}
	}
}

func deflated(t testing.TB, content []byte, compression Compression) []byte {
	t.Helper()
	packed, err := deflate(nil, content, compression, 0)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestInflateRefusesDamage cuts a file off at each byte and changes each bit.
func TestInflateRefusesDamage(t *testing.T) {
	content := bytes.Repeat([]byte("a profile "), 40)
	for what, packed := range map[string][]byte{
		"gzip":    gzipOf(t, content, stdgzip.Header{Name: "p", Comment: "c", Extra: []byte("x")}),
		"members": append(gzipOf(t, content[:99], stdgzip.Header{}), gzipOf(t, content[99:], stdgzip.Header{})...),
		"zstd":    zstdOf(t, content),
		"frames":  append(zstdOf(t, content[:99]), zstdStream(t, content[99:])...),
	} {
		for n := 4; n < len(packed); n++ {
			got, err := inflateOf(packed[:n], 1<<20)
			if err == nil && bytes.HasPrefix(content, got) && len(got) == 99 {
				continue // a whole member or frame
			}
			e := statusOf(t, fmt.Sprintf("%s, %d bytes", what, n), err, ErrInflate)
			if e.Stage != "inflate" || e.Offset != int64(n) && e.Offset != int64(firstMember(packed[:n])) {
				t.Errorf("%s, %d bytes: %v at %d", what, n, err, e.Offset)
			}
		}
		for bit := range len(packed) * 8 {
			damaged := bytes.Clone(packed)
			damaged[bit/8] ^= 1 << (bit % 8)
			got, err := inflateOf(damaged, 1<<20)
			var e *Error
			if err == nil && !bytes.Equal(got, content) && formatOf(damaged) != formatPlain {
				t.Errorf("%s, bit %d: another content", what, bit)
			} else if err != nil && !errors.As(err, &e) {
				t.Errorf("%s, bit %d: %v", what, bit, err)
			}
		}
	}
}

// firstMember returns where the second member or frame of a file that is cut off begins: what is left
// of it may be too short to be seen as one.
func firstMember(in []byte) int {
	for n := len(in); n > len(in)-4 && n > 0; n-- {
		if _, err := inflateOf(in[:n], 1<<20); err == nil {
			return n
		}
	}
	return -1
}

// TestBombIsNotHeld: the room that is asked for stays within the limit.
func TestBombIsNotHeld(t *testing.T) {
	bomb := make([]byte, 64<<20)
	lying := gzipOf(t, bomb, stdgzip.Header{})
	copy(lying[len(lying)-4:], []byte{1, 0, 0, 0})
	for what, packed := range map[string][]byte{"gzip": gzipOf(t, bomb, stdgzip.Header{}), "lying gzip": lying,
		"zstd": zstdOf(t, bomb), "streamed zstd": zstdStream(t, bomb[:8<<20])} {
		rooms := &roomInGo{}
		_, err := inflate(packed, rooms, 0, &account{ctx: context.Background(), limit: 1 << 20})
		statusOf(t, what, err, ErrLimit)
		if n := cap(rooms.rooms[0]); n > 1<<20+1 {
			t.Errorf("%s: %d bytes are held", what, n)
		}
	}
}

func TestReadAllHasALimit(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		b := takeBuffer()
		got, err := b.readAll(bytes.NewReader(make([]byte, n)), 100_000)
		if err != nil || len(got) != n {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
		b.give()
	}
	_, err := takeBuffer().readAll(io.LimitReader(zeros{}, 1<<40), 100_000)
	statusOf(t, "an endless reader", err, ErrLimit)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
