package pprofdelta

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// zstdBlock is the most that a block of zstd inflates to.
const zstdBlock = 128 << 10

// zstdOf is a frame of stored blocks, and zstdStream one that does not announce its length, with a window of 128 KiB.
func zstdOf(content []byte) []byte {
	return zstdBlocks(binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, uint64(len(content))), content)
}

func zstdStream(content []byte) []byte {
	return zstdBlocks([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}, content)
}

func zstdBlocks(to, content []byte) []byte {
	for {
		n := min(len(content), zstdBlock)
		head := uint32(n) << 3
		if n == len(content) {
			head |= 1
		}
		to = append(append(to, byte(head), byte(head>>8), byte(head>>16)), content[:n]...)
		if content = content[n:]; head&1 != 0 {
			return to
		}
	}
}

// zlibWriter is for WithCompressor.
func zlibWriter(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriterLevel(w, 1) }

func TestCompressionOfTheDelta(t *testing.T) {
	profile := newProcess(2, 40).Bytes()
	plain := deltaOf(newComputer(WithCompression(None)), profile)
	for level := range 10 {
		delta := deltaOf(newComputer(WithLevel(level)), profile)
		if !bytes.Equal(plainOf(delta), plain) || !bytes.Equal(delta, deltaOf(newComputer(WithLevel(level)), profile)) {
			t.Errorf("level %d: another delta, or other bytes", level)
		}
	}
	delta := deltaOf(newComputer(WithCompressor(zlibWriter)), profile)
	if got := must(io.ReadAll(must(zlib.NewReader(bytes.NewReader(delta))))); !bytes.Equal(got, plain) {
		t.Error("zlib: another delta")
	}
}

// compressing is a compressor that fails, or is used once only.
type compressing struct {
	io.Writer
	close func() error
}

func (c compressing) Close() error { return c.close() }

// TestCompressorOfTheCaller: its failures are errors of the window, which can be written again.
func TestCompressorOfTheCaller(t *testing.T) {
	profile, broken := newProcess(2, 40).Bytes(), errors.New("the compressor is broken")
	plain := deltaOf(newComputer(WithCompression(None)), profile)
	good, bad := func() error { return nil }, func() error { return broken }
	for what, open := range map[string]func(w io.Writer) (io.WriteCloser, error){
		"open":  func(io.Writer) (io.WriteCloser, error) { return nil, broken },
		"nil":   func(io.Writer) (io.WriteCloser, error) { return nil, nil },
		"write": func(io.Writer) (io.WriteCloser, error) { return compressing{failing{err: broken}, good}, nil },
		"short": func(io.Writer) (io.WriteCloser, error) { return compressing{failing{n: 1}, good}, nil },
		"close": func(w io.Writer) (io.WriteCloser, error) { return compressing{w, bad}, nil },
	} {
		fails := true
		w := must(newComputer(WithCompressor(func(w io.Writer) (io.WriteCloser, error) {
			if fails {
				return open(w)
			}
			return compressing{w, good}, nil
		})).Window(t.Context(), profile))
		err := errorOf(w.Bytes())
		if statusOf(t, what, err, ErrSink); errors.Is(err, broken) == (what == "nil" || what == "short") {
			t.Errorf("%s: %v does not wrap the error", what, err)
		}
		fails = false
		if got := must(w.Bytes()); !bytes.Equal(got, plain) {
			t.Errorf("%s: afterwards, the delta is another one", what)
		}
	}
}

func TestReadAllHasALimit(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		got := must(readAll(context.Background(), bytes.NewReader(make([]byte, n)), 100_000))
		if len(got.b) != n {
			t.Errorf("%d bytes: %d", n, len(got.b))
		}
		got.give()
	}
	c := newComputer(WithPool(newPool(t, WithMaxMemory(1<<20))))
	endless := reading(func(p []byte) (int, error) { return len(p), nil })
	statusOf(t, "an endless reader", errorOf(c.WindowFrom(t.Context(), endless)), ErrLimit)
}
