package pprofdelta

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

// zstdBlock is the most that a block of zstd inflates to.
const zstdBlock = 128 << 10

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
func wide(t testing.TB, n int) []byte {
	t.Helper()
	p := newProcess(3, 100).profile()
	for i, f := range p.Function {
		f.Name = strings.Repeat("wide ", n/5/len(p.Function)) + strconv.Itoa(i)
	}
	return written(t, p)
}

func written(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// hungry are calls that want more than the limit, or nearly as much.
func hungry(t testing.TB, limit int) map[string][]byte {
	return map[string][]byte{
		"zstd of the limit":        zeroBlocks(limit/zstdBlock-2, int64(limit-2*zstdBlock), 0),
		"zstd that lies":           zeroBlocks(2*limit/zstdBlock, int64(limit-1), 0),
		"zstd stream":              zeroBlocks(2*limit/zstdBlock, -1, 20),
		"zstd stream, wide window": zeroBlocks(2*limit/zstdBlock, -1, 25),
		"gzip":                     gzipOf(t, make([]byte, 2*limit), stdgzip.Header{}),
		"wide/16":                  zstdOf(wide(t, limit/16)),
		"wide/4":                   zstdOf(wide(t, limit/4)),
		"wide":                     zstdOf(wide(t, limit*3/4)),
		"samples":                  zstdOf(written(t, newProcess(4, limit/600).profile())),
		"most samples":             zstdOf(written(t, newProcess(4, limit/150).profile())),
	}
}

// highWater returns the most memory that this process has had.
func highWater(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, err := strconv.ParseInt(strings.Fields(rest + " ?")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// The environment of a test process that measures one input.
const (
	measureInput = "PPROFDELTA_TEST_MEASURE"
	measured     = "the memory has grown by "
)

// TestMaxMemoryIsTheLimit measures each input in a process of its own, with a memory limit for Go's garbage collector.
// Memory that has grown leaves the smaller one as garbage, so the limit is added once more.
func TestMaxMemoryIsTheLimit(t *testing.T) {
	const limit = 64 << 20
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("memory is measured by /proc, and takes a while")
	}
	if file := os.Getenv(measureInput); file != "" {
		measure(t, file, limit)
		return
	}
	folder, accepted := t.TempDir(), 0
	for what, input := range hungry(t, limit) {
		file := filepath.Join(folder, "input")
		if err := os.WriteFile(file, input, 0o600); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(os.Args[0], "-test.run=^TestMaxMemoryIsTheLimit$", "-test.v")
		child.Env = append(os.Environ(), measureInput+"="+file, "GOMEMLIMIT="+strconv.Itoa(limit+limit/4))
		out, err := child.CombinedOutput()
		_, rest, ok := strings.Cut(string(out), measured)
		if err != nil || !ok {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
		var grown int64
		if _, err := fmt.Sscan(rest, &grown); err != nil || grown > 2*limit {
			t.Errorf("%s: %.300s", what, rest)
		}
		if strings.Contains(rest, "<nil>") {
			accepted++
		}
		t.Logf("%s: %.1f MiB", what, float64(grown)/(1<<20))
	}
	if accepted < 1 {
		t.Errorf("only %d inputs are accepted", accepted)
	}
}

func measure(t *testing.T, file string, limit int64) {
	profile, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := newPool(t, WithMaxMemory(limit), WithInstances(1))
	deltaOf(t, newComputer(t, WithPool(pool)), newProcess(3, 100).bytes(t))
	c := newComputer(t, WithPool(pool))
	runtime.GC()
	before := highWater(t)
	err = c.Delta(profile, io.Discard)
	t.Logf("%s%d bytes: %v", measured, highWater(t)-before, err)
}

// TestMaxMemoryIsMonotonic: what is accepted with a limit is accepted with a higher one, also by an instance
// whose memory has grown before.
func TestMaxMemoryIsMonotonic(t *testing.T) {
	inputs := [][]byte{packed(t, newProcess(4, 3000).profile()), zstdOf(wide(t, 1<<20)),
		zstdStream(written(t, newProcess(5, 2000).profile()))}
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
