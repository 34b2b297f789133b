package pprofdelta

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// benchPair returns two profiles of one target, inflated: PPROFDELTA_BENCH_PREV and
// PPROFDELTA_BENCH_CUR, or the bundled heap profiles.
func benchPair() (prev, cur []byte) {
	names := [2]string{os.Getenv("PPROFDELTA_BENCH_PREV"), os.Getenv("PPROFDELTA_BENCH_CUR")}
	if names[0] == "" || names[1] == "" {
		return plainOf(read("valid/heap.1.pb.gz")), plainOf(read("valid/heap.2.pb.gz"))
	}
	return plainOf(must(os.ReadFile(names[0]))), plainOf(must(os.ReadFile(names[1])))
}

// cpuTime is set on systems that have getrusage.
var cpuTime func() time.Duration

// countCPU reports the processor time of each iteration, which other programs on the machine change
// less than the time that passes.
func countCPU(b *testing.B) func() {
	if cpuTime == nil {
		return func() {}
	}
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

// benchWindows measures windows from prev to cur. Between two of them, the computer gets its base
// back outside the clock. So each window begins with loading the state, as it does where there are
// many more targets than instances.
func benchWindows(b *testing.B, prev, cur []byte, opts ...Option) {
	c := must(New(opts...))
	must(0, c.Base(context.Background(), prev))
	state := bytes.Clone(c.state)
	b.ReportAllocs()
	defer b.ReportMetric(float64(len(state)), "state-bytes")
	defer countCPU(b)()
	for b.Loop() {
		must(0, c.Delta(cur, io.Discard))
		c.state, c.token = append(c.state[:0], state...), 0
	}
}

func BenchmarkWindow(b *testing.B) {
	prev, cur := benchPair()
	b.Run("plain", func(b *testing.B) { benchWindows(b, prev, cur, WithCompression(None)) })
	for _, level := range []int{1, 2, 3, 6} {
		b.Run(fmt.Sprint("gzip-out-", level), func(b *testing.B) { benchWindows(b, prev, cur, WithLevel(level)) })
	}
	gzip := must(gzips[6].encode(nil, cur))
	b.Run("gzip-in", func(b *testing.B) { benchWindows(b, prev, gzip, WithCompression(None)) })
	b.Run("zstd-in", func(b *testing.B) { benchWindows(b, prev, zstdOf(cur), WithCompression(None)) })
}

// BenchmarkSameTarget is a pool that has an instance for the target: no state is loaded.
func BenchmarkSameTarget(b *testing.B) {
	prev, cur := benchPair()
	c := must(New(WithCompression(None), WithForce()))
	must(0, c.Base(context.Background(), prev))
	defer countCPU(b)()
	for b.Loop() {
		must(0, must(c.Window(context.Background(), cur)).Commit())
	}
}

// BenchmarkStart is the first delta of a pool.
func BenchmarkStart(b *testing.B) {
	prev, _ := benchPair()
	for _, compression := range []Compression{Gzip, None} {
		b.Run(compression.String(), func(b *testing.B) {
			defer countCPU(b)()
			for b.Loop() {
				pool := must(NewPool())
				must(0, must(New(WithPool(pool), WithCompression(compression))).Delta(prev, io.Discard))
				must(0, pool.Close())
			}
		})
	}
}
