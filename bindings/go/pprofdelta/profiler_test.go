package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

// The oracle of these tests is what runtime/pprof writes.

// ofRuntime returns the samples of a profile that runtime/pprof writes now.
func ofRuntime(name string) samples {
	var out bytes.Buffer
	must(0, pprof.Lookup(name).WriteTo(&out, 0))
	return samplesOf(out.Bytes())
}

// samples are the values of a profile by what a sample is: its labels and its innermost locations. (A record of package
// runtime has 32 frames at most, of which some are hidden.)
type samples map[string][4]int64

func samplesOf(data []byte) samples {
	censusOf(data) // it is valid
	found := samples{}
	for key, values := range parsed(data).RowsBy(func(s *proftest.Sample) string { return s.Key(8) }) {
		var all [4]int64
		copy(all[:], values)
		found[key] = all
	}
	return found
}

// between checks a window that begins between two profiles and ends between two others. Where nothing has happened
// between those, this is an equation.
func between(t *testing.T, window samples, from, to [2]samples) {
	t.Helper()
	keys := maps.Clone(window)
	maps.Copy(keys, to[1])
	for key := range keys {
		least, most := to[0][key], to[1][key]
		for i := range 2 {
			least[i] -= from[1][key][i]
			most[i] -= from[0][key][i]
		}
		for i, got := range window[key] {
			if got < min(least[i], most[i]) || got > max(least[i], most[i]) {
				t.Fatalf("%s\nhas %v; from %v to %v are right", key, window[key], least, most)
			}
		}
	}
}

var inUse [50][]byte

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
		inUse[i%len(inUse)] = inlined(1000 + i%3*3000)
	}
}

// contend makes goroutines wait for a mutex, until that is in the profile.
func contend() {
	var mutex sync.Mutex
	for before := contentions(); contentions() == before; {
		var all sync.WaitGroup
		mutex.Lock()
		for range 5 {
			all.Go(func() {
				mutex.Lock()
				defer mutex.Unlock()
			})
		}
		time.Sleep(time.Millisecond)
		mutex.Unlock()
		all.Wait()
	}
}

func contentions() (sum int64) {
	records := make([]runtime.BlockProfileRecord, 10000)
	n, _ := runtime.MutexProfile(records)
	for _, r := range records[:n] {
		sum += r.Count
	}
	return sum
}

func TestWindowsAreDifferencesOfTheProfilesOfTheRuntime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection publishes what was allocated
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	defer runtime.SetBlockProfileRate(0)
	runtime.SetBlockProfileRate(1)
	runtime.MemProfileRate = 4096
	for name, open := range map[string]func(...Option) (*Profiler, error){
		"heap": NewHeapProfiler, "mutex": NewMutexProfiler, "block": NewBlockProfiler} {
		ofProfiler(t, name, name, must(open(WithVerify())))
		ofProfiler(t, name+" with full stacks", name, must(open(WithVerify(), WithFullStacks())))
	}
}

func ofProfiler(t *testing.T, title, name string, p *Profiler) {
	t.Run(title, func(t *testing.T) {
		var from [2]samples
		for round := range 5 {
			contend()
			allocateAtDepth(12*round, 300*(round+1)) // at last deeper than a record
			done := make(chan bool)
			go func() { allocateAtDepth(0, 300); close(done) }()
			<-done
			runtime.GC()
			runtime.GC()
			to := [2]samples{ofRuntime(name)}
			w := must(p.Window(t.Context()))
			to[1] = ofRuntime(name)
			between(t, samplesOf(must(w.Bytes())), from, to)
			numbered(t, name, w, []uint64{1, 2, 3, 3, 4}[round], []uint64{1, 1, 1, 2, 1}[round])
			if w.Report.SamplesOut == 0 {
				t.Errorf("round %d: the report is %+v", round, w.Report)
			}
			if round == 2 {
				w.Abandon()
				continue
			}
			must(0, w.Commit())
			from = to
		}
	})
}

// depthOf returns the number of locations of the deepest stack in the next window.
func depthOf(p *Profiler) (most int) {
	var delta bytes.Buffer
	must(0, p.Profile(&delta))
	for _, s := range parsed(delta.Bytes()).Samples {
		most = max(most, len(s.Stack))
	}
	return most
}

func TestFullStacks(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 4096
	allocateAtDepth(90, 1000)
	runtime.GC()
	runtime.GC()
	if n := depthOf(must(NewHeapProfiler())); n > 32 {
		t.Errorf("%d locations without the option", n)
	}
	p := must(NewHeapProfiler(WithFullStacks(), WithCompression(None)))
	var delta bytes.Buffer
	must(0, p.Profile(&delta))
	if n := depthOf(must(NewHeapProfiler(WithFullStacks()))); n < 90 {
		t.Errorf("%d locations with it", n)
	}
	if name := []byte("pprofdelta.generic[go.shape."); !bytes.Contains(delta.Bytes(), name) {
		t.Errorf("there is no %s, which runtime/pprof writes", name)
	}
}

// blocking is a writer that waits.
type blocking struct{ entered, leave chan struct{} }

func (b blocking) Write(p []byte) (int, error) {
	close(b.entered)
	<-b.leave
	return len(p), nil
}

// TestProfileWaitsForItsTurn: while another call writes, Profile waits unless its context ends; Window does not wait.
func TestProfileWaitsForItsTurn(t *testing.T) {
	p := must(NewHeapProfiler())
	first := blocking{make(chan struct{}), make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { must(0, p.Profile(first)) })
	<-first.entered
	statusOf(t, "a window meanwhile", errorOf(p.Window(t.Context())), ErrPending)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.ProfileContext(ended, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	for range 4 {
		all.Go(func() { must(0, p.Profile(io.Discard)) })
	}
	time.Sleep(10 * time.Millisecond) // so that they wait
	close(first.leave)
	all.Wait()
	w := must(p.Window(t.Context()))
	numbered(t, "after five", w, 6, 1)
	w.Abandon()
}

// objectsOf returns the sum of the first type of the next window.
func objectsOf(p *Profiler) (sum int64) {
	var delta bytes.Buffer
	must(0, p.Profile(&delta))
	return parsed(delta.Bytes()).Sum("alloc_objects/count")
}

func TestAProfileThatIsNotWrittenIsInTheNextOne(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	traps := false
	pool := newPool(t, func(o *poolOptions) {
		o.before = func(called string, i *instance) {
			if traps && called == "pd_record" {
				fill(*i.memory)
			}
		}
	})
	p := must(NewHeapProfiler(WithCompression(None), WithFirstZero(), WithPool(pool)))
	publish := func(n int) {
		allocateAtDepth(1, n)
		runtime.GC()
		runtime.GC()
	}
	publish(10000)
	if n := objectsOf(p); n != 0 {
		t.Errorf("the first window has %d objects", n)
	}
	publish(10000)
	statusOf(t, "a writer that fails", p.Profile(failing{err: io.ErrClosedPipe}), ErrSink)
	traps = true
	statusOf(t, "a module that traps", p.Profile(io.Discard), ErrEngine)
	traps = false
	if n := objectsOf(p); n < 1000 {
		t.Errorf("the window after it has %d objects", n)
	}
	// Another rate scales all that was counted by another number, before and after.
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate *= 100
	var delta bytes.Buffer
	must(0, p.Profile(&delta))
	for key, values := range samplesOf(delta.Bytes()) {
		if slices.Min(values[:]) < 0 || values[0] > 100000 {
			t.Errorf("%s has %v", key, values)
		}
	}
}

func TestTheOptionsOfAProfiler(t *testing.T) {
	for _, opt := range []Option{WithCounters("a"), WithGauges("b"), WithOnReset(ResetFail), WithLevel(10)} {
		statusOf(t, "an option", errorOf(NewMutexProfiler(opt)), ErrUsage)
	}
	statusOf(t, "a zero profiler", new(Profiler).Profile(io.Discard), ErrUsage)
	p := must(NewHeapProfiler(WithFormat(OTLP), WithResource("service.name", "test")))
	w := must(p.Window(t.Context()))
	if of := censusOf(must(w.Bytes())); of.Resources != 1 {
		t.Errorf("%+v", of)
	}
	statusOf(t, "while a window is pending", p.Profile(io.Discard), ErrPending)
	p.Abandon()
	statusOf(t, "commit after abandon", w.Commit(), ErrAbandoned)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Window(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestBefore: whatever the order of the records is, and how many have one stack, the differences add up.
func TestBefore(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var base, cur []tally
		for range rnd.IntN(20) {
			b := tally{rnd.Uint64N(8), rnd.Int64N(10), rnd.Int64N(10)}
			c := tally{b.stack, b.count + rnd.Int64N(3), b.amount + rnd.Int64N(3)}
			base, cur = append(base, b), append(cur, c)
		}
		for range rnd.IntN(5) {
			cur = append(cur, tally{rnd.Uint64N(12), rnd.Int64N(10), rnd.Int64N(10)})
		}
		if rnd.IntN(2) == 0 {
			rnd.Shuffle(len(cur), func(i, j int) { cur[i], cur[j] = cur[j], cur[i] })
		}
		prev := before(base, cur)
		var count, amount int64 // of the windows, more than what was counted since the base
		for i, c := range cur {
			p := append(prev, make([]tally, len(cur))...)[i]
			if p.count > c.count || p.amount > c.amount {
				t.Fatalf("%v from %v", c, p)
			}
			count, amount = count-p.count, amount-p.amount
		}
		for _, b := range base {
			count, amount = count+b.count, amount+b.amount
		}
		if count != 0 || amount != 0 {
			t.Fatalf("%v and %v: %d and %d are missing", base, cur, count, amount)
		}
	}
}

// TestProfilersAtTheSameTime: they have the buffers of their kind and the places in common.
func TestProfilersAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			p := must([]func(...Option) (*Profiler, error){NewHeapProfiler, NewMutexProfiler, NewBlockProfiler}[i%3]())
			for range 5 {
				var out bytes.Buffer
				must(0, p.Profile(&out))
				censusOf(out.Bytes())
			}
		})
	}
	all.Wait()
}
