package pprofdelta

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
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

func deflatedOf(t testing.TB, content []byte, compression Compression, level int) []byte {
	t.Helper()
	packed, err := deflate(nil, content, compression, level)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestDeflate: each compression at each level inflates to the same content, by other decompressors.
func TestDeflate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 100, 4096, 1 << 20} {
		noise, text := make([]byte, n), make([]byte, n)
		for i := range noise {
			noise[i], text[i] = byte(random.Uint32()), "function "[(i%9)*(i%9)%9]
		}
		for _, content := range [][]byte{noise, text, make([]byte, n)} {
			for _, compression := range []Compression{Gzip, Zstd, None} {
				for level := range 10 {
					if !bytes.Equal(plainOf(t, deflatedOf(t, content, compression, level)), content) {
						t.Errorf("%d bytes, compression %d, level %d: other bytes", n, compression, level)
					}
				}
			}
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
