package pprofdelta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// zeroBlocks is a zstd frame of n blocks that are repeated zero bytes: 4 bytes for 128 KiB each. Its header
// has claim, if that is not negative; else it has a window of 2^log bytes.
func zeroBlocks(n int, claim int64, log int) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd}
	if claim >= 0 {
		b = binary.LittleEndian.AppendUint64(append(b, 0xe0), uint64(claim))
	} else {
		b = append(b, 0, byte(log-10)<<3)
	}
	for i := range n {
		head := uint32(zstdBlock)<<3 | 1<<1
		if i == n-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return b
}

// wide is a profile whose strings have about n bytes in all, which a compressor makes short.
func wide(n int) []byte {
	p := newProcess(3, 100)
	for i := range p.Functions {
		p.Functions[i] += strings.Repeat("wide ", n/5/len(p.Functions))
	}
	return p.Plain()
}

// hungry are calls that want more than the limit, or nearly as much.
func hungry(limit int) map[string][]byte {
	return map[string][]byte{
		"zstd of the limit":        zeroBlocks(limit/zstdBlock-2, int64(limit-2*zstdBlock), 0),
		"zstd that lies":           zeroBlocks(2*limit/zstdBlock, int64(limit-1), 0),
		"zstd stream":              zeroBlocks(2*limit/zstdBlock, -1, 20),
		"zstd stream, wide window": zeroBlocks(2*limit/zstdBlock, -1, 23),
		"gzip":                     must(gzips[6].encode(nil, make([]byte, 2*limit))),
		"wide/16":                  zstdOf(wide(limit / 16)),
		"wide/4":                   zstdOf(wide(limit / 4)),
		"wide":                     zstdOf(wide(limit * 3 / 4)),
		"samples":                  zstdOf(newProcess(4, limit/600).Plain()),
		"most samples":             zstdOf(newProcess(4, limit/150).Plain()),
	}
}

// TestMaxMemoryIsTheLimit counts what is allocated, and not what the garbage collector has freed, so it does not depend on
// when that runs. While memory moves, it is held twice. What the pool does not know of is small.
func TestMaxMemoryIsTheLimit(t *testing.T) {
	const limit, small = 16 << 20, 1 << 20
	if testing.Short() {
		t.Skip("it takes a while")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	accepted, full := 0, 0
	for what, input := range hungry(limit) {
		var held, most, known int64
		pool := newPool(t, WithMaxMemory(limit), WithInstances(1), func(o *poolOptions) {
			o.moves = func(from, to int64) {
				most, known = max(most, held+to), known+to
				held += to - from
			}
		})
		c := newComputer(WithPool(pool), WithCompression(None))
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.Delta(input, io.Discard)
		runtime.ReadMemStats(&after)
		unknown := int64(after.TotalAlloc-before.TotalAlloc) - known
		if most > 2*limit || unknown > small || err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %d bytes are held at once, and %d that are not known: %v", what, most, unknown, err)
		}
		if err == nil {
			accepted++
		}
		if most > limit-small {
			full++
		}
		t.Logf("%s: at most %d KiB at once, and %d: %v", what, most>>10, unknown>>10, err)
	}
	if accepted < 1 || full < 3 {
		t.Errorf("%d inputs are accepted, and %d take all memory", accepted, full)
	}
}

// TestWindowsLeaveLittleGarbage: neither the state nor the memory of the instance is made anew for each window of a process
// that grows. On one processor, a sync.Pool returns what it was given. What Save writes is a copy, so its writer may compute
// windows.
func TestWindowsLeaveLittleGarbage(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	pool := newPool(t, WithInstances(1))
	p := newProcess(5, 1000)
	profiles := make([][]byte, 20)
	for i := range profiles {
		p.Run()
		profiles[i] = p.Bytes() // gzip, for which more is reserved
	}
	allocated := func() (all, state int) {
		c := newComputer(WithPool(pool), WithCompression(None))
		deltaOf(c, profiles[0])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, profile := range profiles[1:] {
			must(0, c.Delta(profile, io.Discard))
		}
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc), len(c.state)
	}
	first, _ := allocated()
	if memory := int(pool.Stats().IdleMemory); first > 3*memory {
		t.Errorf("windows allocate %d bytes, and the instance has %d", first, memory)
	}
	if again, state := allocated(); again > len(profiles)*state/2 {
		t.Errorf("windows allocate %d bytes; a state has %d", again, state)
	}
	c := newComputer()
	deltaOf(c, profiles[0])
	deltaOf(c, profiles[len(profiles)-1])
	saved := stateOf(c)
	p.Run()
	next := p.Bytes()
	must(0, c.Save(t.Context(), writing(func(state []byte) (int, error) {
		deltaOf(c, next)
		deltaOf(newComputer(), next)
		if !bytes.Equal(state, saved) {
			t.Error("the state changes while it is saved")
		}
		return len(state), nil
	})))
}

// TestMaxMemoryIsMonotonic: what is accepted with a limit is accepted with a higher one, also by an instance
// whose memory has grown before.
func TestMaxMemoryIsMonotonic(t *testing.T) {
	inputs := [][]byte{newProcess(4, 3000).Bytes(), zstdOf(wide(1 << 20)), zstdStream(newProcess(5, 2000).Plain())}
	least := make([]int64, len(inputs)) // 0: not accepted yet
	for limit := int64(256 << 10); limit < 32<<20; limit += limit / 4 {
		pool := newPool(t, WithMaxMemory(limit), WithInstances(1))
		for round := range 2 * len(inputs) {
			n := round % len(inputs)
			err := newPooled(pool).Delta(inputs[n], io.Discard)
			switch {
			case err == nil && least[n] == 0:
				least[n] = limit
			case err != nil && (!errors.Is(err, ErrLimit) || least[n] != 0):
				t.Errorf("input %d, limit %d, after %d: %v", n, limit, least[n], err)
			}
		}
	}
	for n, limit := range least {
		if limit == 0 || limit <= 256<<10 {
			t.Errorf("input %d: the least limit is %d", n, limit)
		}
	}
	t.Log("the least limits:", least)
}
