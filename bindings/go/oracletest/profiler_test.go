package oracletest

import (
	"bytes"
	"context"
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
func readable(t *testing.T, data []byte, counters, gauges int64) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Function {
		name, _, _ := strings.Cut(f.Name, "[")
		f.Name, f.SystemName = name, name
	}
	for _, s := range p.Sample {
		for i := range s.Value {
			s.Value[i] *= []int64{counters, counters, gauges, gauges}[i]
		}
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
	p, err := pprofdelta.NewHeapProfiler()
	if err != nil {
		t.Fatal(err)
	}
	var prev []byte
	for round := range 4 {
		for i := range 1000 {
			held = append(held, bytes.Repeat([]byte("x"), 100+i%7*500))
		}
		held = held[len(held)/2:]
		runtime.GC()
		runtime.GC()
		var cur bytes.Buffer
		if err := pprof.Lookup("heap").WriteTo(&cur, 0); err != nil {
			t.Fatal(err)
		}
		w, err := p.Window(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		delta, err := w.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		all := []*profile.Profile{readable(t, cur.Bytes(), 1, 1), readable(t, delta, -1, -1)}
		if prev != nil {
			all = append(all, readable(t, prev, -1, 0))
		}
		difference, err := profile.Merge(all)
		if err != nil || len(all[1].Sample) == 0 {
			t.Fatalf("%v, or no samples", err)
		}
		for _, s := range difference.Sample {
			t.Errorf("round %d: %v of %v", round, s.Value, s.Location)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		prev = cur.Bytes()
	}
}
