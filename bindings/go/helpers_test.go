package pprofdelta

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"
)

// testdata is the profiles of the repository.
const testdata = "../../testdata"

// plainOf inflates a profile.
func plainOf(t testing.TB, packed []byte) []byte {
	t.Helper()
	plain := packed
	var err error
	switch {
	case bytes.HasPrefix(packed, []byte{0x1f, 0x8b}):
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			plain, err = io.ReadAll(r)
		}
	case bytes.HasPrefix(packed, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var r *zstd.Decoder
		if r, err = zstd.NewReader(nil); err == nil {
			defer r.Close()
			plain, err = r.DecodeAll(packed, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// parsedPlain reads a profile by google/pprof, which does not read zstd.
func parsedPlain(t testing.TB, packed []byte) *profile.Profile {
	t.Helper()
	return parsed(t, plainOf(t, packed))
}
