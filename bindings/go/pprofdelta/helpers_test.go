package pprofdelta

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"
)

// testdata is the profiles of the repository.
const testdata = "../../../testdata"

// plainOf inflates a profile.
func plainOf(t testing.TB, packed []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(packed)
	var err error
	switch {
	case bytes.HasPrefix(packed, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(r)
	case bytes.HasPrefix(packed, []byte{0x78, 1}):
		r, err = zlib.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
