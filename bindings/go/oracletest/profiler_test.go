package oracletest

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// readable reads a profile. The windows of a Profiler have the names of generic functions without type arguments, and each
// line of Merge is compared by its name.
func readable(data []byte, counters, gauges int64) *profile.Profile {
	p := scaled(must(profile.ParseData(data)), counters, gauges)
	for _, f := range p.Function {
		name, _, _ := strings.Cut(f.Name, "[")
		f.Name, f.SystemName = name, name
	}
	return p
}

var held [][]byte

// TestProfilerIsTheMergeOfTwoProfiles: windows of the own heap are what Merge makes of what runtime/pprof writes at their
// begin and at their end.
func TestProfilerIsTheMergeOfTwoProfiles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection publishes what was allocated
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 2048
	p := must(pprofdelta.NewHeapProfiler())
	var prev []byte
	for round := range 4 {
		for i := range 1000 {
			held = append(held, bytes.Repeat([]byte("x"), 100+i%7*500))
		}
		held = held[len(held)/2:]
		runtime.GC()
		runtime.GC()
		var cur bytes.Buffer
		must(0, pprof.Lookup("heap").WriteTo(&cur, 0))
		w := must(p.Window(t.Context()))
		all := []*profile.Profile{readable(cur.Bytes(), 1, 1), readable(must(w.Bytes()), -1, -1)}
		if prev != nil {
			all = append(all, readable(prev, -1, 0))
		}
		if len(all[1].Sample) == 0 {
			t.Errorf("round %d: no samples", round)
		}
		for _, s := range must(profile.Merge(all)).Sample {
			t.Errorf("round %d: %v of %v", round, s.Value, s.Location)
		}
		must(0, w.Commit())
		prev = cur.Bytes()
	}
}
