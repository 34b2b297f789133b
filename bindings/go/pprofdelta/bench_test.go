package pprofdelta

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// benchPair returns two profiles of one target, inflated: PPROFDELTA_BENCH_PREV and
// PPROFDELTA_BENCH_CUR, or the bundled heap profiles.
func benchPair(b *testing.B) (prev, cur []byte) {
	b.Helper()
	names := [2]string{os.Getenv("PPROFDELTA_BENCH_PREV"), os.Getenv("PPROFDELTA_BENCH_CUR")}
	if names[0] == "" || names[1] == "" {
		names = [2]string{filepath.Join(testdata, "valid/heap.1.pb.gz"),
			filepath.Join(testdata, "valid/heap.2.pb.gz")}
	}
	var plain [2][]byte
	for i, name := range names {
		packed, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		plain[i] = plainOf(b, packed)
	}
	return plain[0], plain[1]
}

// cpuTime is set on systems that have getrusage.
var cpuTime func(b testing.TB) time.Duration

// countCPU reports the processor time of each iteration, which other programs on the machine change
// less than the time that passes.
func countCPU(b *testing.B) func() {
	if cpuTime == nil {
		return func() {}
	}
	before := cpuTime(b)
	return func() { b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op") }
}

// benchWindows measures windows from prev to cur. Between two of them, the computer gets its base
// back outside the clock. So each window begins with loading the state, as it does where there are
// many more targets than instances.
func benchWindows(b *testing.B, prev, cur []byte, opts ...Option) {
	c, err := New(opts...)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Base(ctx, prev); err != nil {
		b.Fatal(err)
	}
	state := c.state
	b.ReportAllocs()
	defer b.ReportMetric(float64(len(state)), "state-bytes")
	defer countCPU(b)()
	for b.Loop() {
		if err := c.Delta(cur, io.Discard); err != nil {
			b.Fatal(err)
		}
		c.state, c.token = state, 0
	}
}

func BenchmarkWindow(b *testing.B) {
	prev, cur := benchPair(b)
	b.Run("plain", func(b *testing.B) { benchWindows(b, prev, cur, WithCompression(None)) })
	for _, level := range []int{1, 2, 3, 6} {
		b.Run("gzip-out-"+string(rune('0'+level)), func(b *testing.B) {
			benchWindows(b, prev, cur, WithLevel(level))
		})
	}
	b.Run("gzip-in", func(b *testing.B) { benchWindows(b, prev, deflatedOf(b, cur, 6), WithCompression(None)) })
	b.Run("zstd-in", func(b *testing.B) { benchWindows(b, prev, zstdOf(cur), WithCompression(None)) })
}

// BenchmarkSameTarget is a pool that has an instance for the target: no state is loaded.
func BenchmarkSameTarget(b *testing.B) {
	prev, cur := benchPair(b)
	c, err := New(WithCompression(None), WithForce())
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Base(context.Background(), prev); err != nil {
		b.Fatal(err)
	}
	defer countCPU(b)()
	for b.Loop() {
		w, err := c.Window(context.Background(), cur)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is the first delta of a pool.
func BenchmarkStart(b *testing.B) {
	prev, _ := benchPair(b)
	defer countCPU(b)()
	for b.Loop() {
		pool, err := NewPool()
		if err != nil {
			b.Fatal(err)
		}
		c, err := New(WithPool(pool))
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Delta(prev, io.Discard); err != nil {
			b.Fatal(err)
		}
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
