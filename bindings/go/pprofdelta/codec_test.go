package pprofdelta

import (
	"bytes"
	stdgzip "compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

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

// zstdOf is a frame of stored blocks.
func zstdOf(content []byte) []byte {
	return zstdBlocks(binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, uint64(len(content))), content)
}

// zstdStream is a frame that does not announce its length, with a window of 128 KiB.
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

func deflatedOf(t testing.TB, content []byte, level int) []byte {
	t.Helper()
	packed, err := gzips[level].encode(nil, content)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// compressing is a compressor that fails, or is used once only.
type compressing struct {
	io.Writer
	close func() error
}

func (c compressing) Close() error { return c.close() }

// TestCompressorOfTheCaller: its failures are errors of the window, which can be written again.
func TestCompressorOfTheCaller(t *testing.T) {
	profile, broken := newProcess(2, 40).bytes(t), errors.New("the compressor is broken")
	plain, fails := deltaOf(t, newComputer(t, WithCompression(None)), profile), true
	good := func() error { return nil }
	for what, open := range map[string]func(w io.Writer) (io.WriteCloser, error){
		"open":  func(w io.Writer) (io.WriteCloser, error) { return nil, broken },
		"nil":   func(w io.Writer) (io.WriteCloser, error) { return nil, nil },
		"write": func(w io.Writer) (io.WriteCloser, error) { return compressing{failing{err: broken}, good}, nil },
		"short": func(w io.Writer) (io.WriteCloser, error) { return compressing{failing{n: 1}, good}, nil },
		"close": func(w io.Writer) (io.WriteCloser, error) {
			return compressing{w, func() error { return broken }}, nil
		},
	} {
		c := newComputer(t, WithCompressor(func(w io.Writer) (io.WriteCloser, error) {
			if fails {
				return open(w)
			}
			return compressing{w, good}, nil
		}))
		fails = true
		w, err := c.Window(context.Background(), profile)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Bytes()
		statusOf(t, what, err, ErrSink)
		if !errors.Is(err, broken) != (what == "nil" || what == "short") {
			t.Errorf("%s: %v does not wrap the error", what, err)
		}
		fails = false
		if got, err := w.Bytes(); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: afterwards: %v", what, err)
		}
	}
}

func TestReadAllHasALimit(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		got, err := readAll(context.Background(), bytes.NewReader(make([]byte, n)), 100_000)
		if err != nil || len(got.b) != n {
			t.Errorf("%d bytes: %d, %v", n, len(got.b), err)
		}
		got.give()
	}
	_, err := readAll(context.Background(), io.LimitReader(zeros{}, 1<<40), 100_000)
	statusOf(t, "an endless reader", err, ErrLimit)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
