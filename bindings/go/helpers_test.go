package pprofdelta

import (
	"testing"

	"github.com/google/pprof/profile"
)

// testdata is the profiles of the repository.
const testdata = "../../testdata"

// roomInGo is an instance that only has rooms, in Go's memory.
type roomInGo struct {
	instance
	rooms [2][]byte
}

func (r *roomInGo) room(slot, n, keep int) ([]byte, error) {
	r.rooms[slot] = append(make([]byte, 0, n), r.rooms[slot][:keep]...)[:n]
	return r.rooms[slot], nil
}

// plainOf inflates a profile.
func plainOf(t testing.TB, packed []byte) []byte {
	t.Helper()
	plain, err := inflateOf(packed, defaultMaxMemory)
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
