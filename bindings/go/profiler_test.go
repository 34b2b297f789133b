package pprofdelta

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
)

// The oracle of these tests is google/pprof's Merge of what runtime/pprof writes.

func runtimeProfile(t *testing.T, name string) *profile.Profile {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&out, 0); err != nil {
		t.Fatal(err)
	}
	return must(profile.ParseData(out.Bytes()))(t)
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// samplesOf returns the values of a profile by what a sample is. Of a stack of runtime/pprof, only the innermost frames
// are in a record: most is how many.
func samplesOf(p *profile.Profile, most int) map[string][4]int64 {
	found := map[string][4]int64{}
	for _, s := range p.Sample {
		var key strings.Builder
		frames := 0
		for _, l := range s.Location {
			if frames >= most {
				break
			}
			fmt.Fprintf(&key, "%x %s:", l.Address, l.Mapping.BuildID)
			for _, line := range l.Line {
				if frames >= most {
					break
				}
				name, _, _ := strings.Cut(line.Function.Name, "[")
				fmt.Fprintf(&key, " %s %s %d %d;", name, line.Function.Filename, line.Function.StartLine, line.Line)
				frames++
			}
		}
		fmt.Fprint(&key, s.NumLabel)
		values := found[key.String()]
		for i, v := range s.Value {
			values[i] += v
		}
		found[key.String()] = values
	}
	for key, values := range found {
		if values == [4]int64{} {
			delete(found, key)
		}
	}
	return found
}

var kept [][]byte

//go:noinline
func generic[T any](n int) []T { return make([]T, n) }

func inlined(n int) []byte { return generic[byte](n) }

//go:noinline
func allocateAtDepth(depth, n int) {
	if depth > 0 {
		allocateAtDepth(depth-1, n)
		return
	}
	for i := range n {
		kept[i%len(kept)] = inlined(1000 + i%3*3000)
	}
}

func TestProfilerHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 4096
	kept = make([][]byte, 50)
	p := must(NewHeapProfiler(WithVerify()))(t)
	base := map[string][4]int64{}
	for round := range 4 {
		allocateAtDepth(3*round, 500*(round+1))
		done := make(chan bool)
		go func() { allocateAtDepth(0, 300); close(done) }()
		<-done
		runtime.GC()
		runtime.GC() // the runtime publishes records two collections later
		want := samplesOf(runtimeProfile(t, "heap"), 20)
		w := must(p.Window(context.Background()))(t)
		got := samplesOf(must(profile.ParseData(must(w.Bytes())(t)))(t), 20)
		if round != 2 {
			w.Commit()
		} else {
			w.Abandon()
		}
		for key, values := range want {
			b := base[key]
			difference := [4]int64{values[0] - b[0], values[1] - b[1], values[2], values[3]}
			if got[key] != difference {
				t.Errorf("round %d: %s: %v, not %v", round, key, got[key], difference)
			}
			delete(got, key)
		}
		for key := range got {
			if got[key] != [4]int64{} {
				t.Errorf("round %d: %s: %v, which is not in the profile", round, key, got[key])
			}
		}
		if round != 2 {
			base = want
		}
		t.Log(round, len(want), w.Report.Sequence, w.Report.Attempt, w.Report.SamplesOut)
	}
	_ = slices.Sort[[]int]
	var _ sync.Mutex
}
