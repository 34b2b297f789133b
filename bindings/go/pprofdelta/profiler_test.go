package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

// The oracle of these tests is what runtime/pprof writes.

// ofRuntime returns the samples of a profile that runtime/pprof writes now.
func ofRuntime(t *testing.T, name string) samples {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&out, 0); err != nil {
		t.Fatal(err)
	}
	return samplesOf(t, out.Bytes())
}

// samples are the values of a profile by what a sample is: its labels and its innermost frames. (A record of package
// runtime has 32 frames at most, of which some are hidden.)
type samples map[string][4]int64

const mostFrames = 20

func samplesOf(t *testing.T, data []byte) samples {
	t.Helper()
	p, err := profile.ParseData(data)
	if err == nil {
		_, err = Check(context.Background(), data)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := samples{}
	for _, s := range p.Sample {
		key := []string{fmt.Sprint(s.NumLabel)}
		for _, l := range s.Location {
			key = append(key, fmt.Sprintf("%x in %v", l.Address, *l.Mapping))
			for _, line := range l.Line {
				name, _, isGeneric := strings.Cut(line.Function.Name, "[")
				key = append(key, fmt.Sprint("\t", name, isGeneric, line.Function.Filename, line.Function.StartLine, line.Line))
			}
		}
		at := strings.Join(key[:min(len(key), mostFrames)], "\n")
		values := found[at]
		for i, v := range s.Value {
			values[i] += v
		}
		found[at] = values
	}
	maps.DeleteFunc(found, func(_ string, values [4]int64) bool { return values == [4]int64{} })
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
		t.Run(name, func(t *testing.T) {
			p, err := open(WithVerify())
			if err != nil {
				t.Fatal(err)
			}
			var from [2]samples
			for round := range 5 {
				contend()
				allocateAtDepth(12*round, 300*(round+1)) // at last deeper than a record
				done := make(chan bool)
				go func() { allocateAtDepth(0, 300); close(done) }()
				<-done
				runtime.GC()
				runtime.GC()
				to := [2]samples{ofRuntime(t, name)}
				w, err := p.Window(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				to[1] = ofRuntime(t, name)
				delta, err := w.Bytes()
				if err != nil {
					t.Fatal(err)
				}
				between(t, samplesOf(t, delta), from, to)
				number := [][2]uint64{{1, 1}, {2, 1}, {3, 1}, {3, 2}, {4, 1}}[round]
				if r := w.Report; r.SamplesOut == 0 || [2]uint64{r.Sequence, r.Attempt} != number {
					t.Errorf("round %d: the report is %+v", round, r)
				}
				if round == 2 {
					w.Abandon()
					continue
				}
				commit(t, w)
				from = to
			}
		})
	}
}

// objectsOf returns the sum of the first type.
func objectsOf(t *testing.T, delta []byte) (sum int64) {
	t.Helper()
	for _, values := range samplesOf(t, delta) {
		sum += values[0]
	}
	return sum
}

func TestAProfileThatIsNotWrittenIsInTheNextOne(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	traps := false
	pool := newPool(t, func(o *poolOptions) {
		o.before = func(called string, i *moduleInstance) {
			if traps && called == "pd_record" {
				fill(*i.inner.memory)
			}
		}
	})
	p, err := NewHeapProfiler(WithCompression(None), WithFirstZero(), WithPool(pool))
	if err != nil {
		t.Fatal(err)
	}
	publish := func(n int) {
		allocateAtDepth(1, n)
		runtime.GC()
		runtime.GC()
	}
	publish(10000)
	var first, second bytes.Buffer
	if err := p.Profile(&first); err != nil || objectsOf(t, first.Bytes()) != 0 {
		t.Errorf("the first window has %d objects, %v", objectsOf(t, first.Bytes()), err)
	}
	publish(10000)
	if err := p.Profile(failing{err: io.ErrClosedPipe}); !errors.Is(err, ErrSink) {
		t.Errorf("a writer that fails: %v", err)
	}
	traps = true
	if err := p.Profile(io.Discard); !errors.Is(err, ErrEngine) {
		t.Errorf("a module that traps: %v", err)
	}
	traps = false
	if err := p.Profile(&second); err != nil || objectsOf(t, second.Bytes()) < 1000 {
		t.Errorf("the window after it has %d objects, %v", objectsOf(t, second.Bytes()), err)
	}
	// Another rate scales all that was counted by another number, before and after.
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate *= 100
	second.Reset()
	if err := p.Profile(&second); err != nil {
		t.Error(err)
	}
	for key, values := range samplesOf(t, second.Bytes()) {
		if slices.Min(values[:]) < 0 || values[0] > 100000 {
			t.Errorf("%s has %v", key, values)
		}
	}
}

func TestTheOptionsOfAProfiler(t *testing.T) {
	for _, opt := range []Option{WithCounters("a"), WithGauges("b"), WithOnReset(ResetFail), WithLevel(10)} {
		if _, err := NewMutexProfiler(opt); !errors.Is(err, ErrUsage) {
			t.Errorf("%v", err)
		}
	}
	var zero Profiler
	if err := zero.Profile(io.Discard); !errors.Is(err, ErrUsage) {
		t.Errorf("a zero profiler: %v", err)
	}
	p, err := NewHeapProfiler(WithFormat(OTLP), WithResource("service.name", "test"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Window(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	delta, _ := w.Bytes()
	if census, err := Check(context.Background(), delta); err != nil || census.Resources != 1 {
		t.Errorf("%+v, %v", census, err)
	}
	if err := p.Profile(io.Discard); !errors.Is(err, ErrPending) {
		t.Errorf("while a window is pending: %v", err)
	}
	p.Abandon()
	if err := w.Commit(); !errors.Is(err, ErrAbandoned) {
		t.Errorf("commit after abandon: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
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
		sums := map[uint64][2]int64{}
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
		for i, c := range cur {
			var p tally
			if i < len(prev) {
				p = prev[i]
			}
			if p.count > c.count || p.amount > c.amount {
				t.Fatalf("%v from %v", c, p)
			}
			sums[c.stack] = [2]int64{sums[c.stack][0] + c.count - p.count, sums[c.stack][1] + c.amount - p.amount}
			sums[100] = [2]int64{sums[100][0] + c.count, sums[100][1] + c.amount}
		}
		for _, b := range base {
			sums[100] = [2]int64{sums[100][0] - b.count, sums[100][1] - b.amount}
		}
		for stack, sum := range sums {
			if stack != 100 {
				sums[100] = [2]int64{sums[100][0] - sum[0], sums[100][1] - sum[1]}
			}
		}
		if sums[100] != [2]int64{} {
			t.Fatalf("%v and %v: %v is missing", base, cur, sums[100])
		}
	}
}

// TestProfilersAtTheSameTime: they have the buffers of their kind and the places in common.
func TestProfilersAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			p, err := []func(...Option) (*Profiler, error){NewHeapProfiler, NewMutexProfiler, NewBlockProfiler}[i%3]()
			for range 5 {
				var out bytes.Buffer
				if err == nil {
					err = p.Profile(&out)
				}
				if err == nil {
					_, err = Check(context.Background(), out.Bytes())
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
