package main

import (
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/grafana/pyroscope-go/godeltaprof"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

const ownRounds = 15 // windows of each row, of which the first is not measured

// ownRows are the profiles of a process of their own that are measured: their kind, how many stacks they have, and how deep.
// In each window one of a hundred stacks counts.
var ownRows = []string{"heap 10000 10", "heap 10000 28", "heap 10000 60", "heap 1000 60", "mutex 1000 60", "block 1000 60"}

// ownStep is one of the functions that stacks consist of: it goes on by what is left of a path.
type ownStep func(path []byte, leaf func())

// ownSteps are enough for stacks 10 calls deep, of which none has a function twice: each level has ownChoices of its own.
var ownSteps []ownStep

const ownChoices = 3

func init() {
	ownSteps = []ownStep{
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
		func(p []byte, leaf func()) { next(p)(p[min(1, len(p)):], leaf) },
	}
}

// next is not on the stack when the next step is: its program counter would be there once for each level.
func next(path []byte) ownStep {
	if len(path) == 0 {
		return func(_ []byte, leaf func()) { leaf() }
	}
	return ownSteps[(len(path)*ownChoices+int(path[0]))%len(ownSteps)]
}

var kept []byte

// ownLeaves are what stacks do at their ends, so that the profile of this kind counts them.
var ownLeaves = map[string]func(){
	"heap": func() { kept = make([]byte, 1024) },
	"block": func() {
		done := make(chan struct{})
		go func() {
			time.Sleep(20 * time.Microsecond)
			close(done)
		}()
		<-done
	},
	"mutex": func() {
		var mu sync.Mutex
		var waiting sync.WaitGroup
		mu.Lock()
		waiting.Go(func() {
			mu.Lock()
			mu.Unlock()
		})
		time.Sleep(50 * time.Microsecond)
		mu.Unlock()
		waiting.Wait()
	},
}

// An ownWay writes what is new in a profile of this process, or all of it.
type ownWay struct {
	name  string
	write func() error
	took  []time.Duration
}

type ownProfiler interface{ Profile(w io.Writer) error }

func ownWays(kind string) ([]*ownWay, error) {
	open := map[string]func(...pprofdelta.Option) (*pprofdelta.Profiler, error){"heap": pprofdelta.NewHeapProfiler,
		"mutex": pprofdelta.NewMutexProfiler, "block": pprofdelta.NewBlockProfiler}[kind]
	short, err := open()
	if err != nil {
		return nil, err
	}
	full, err := open(pprofdelta.WithFullStacks())
	if err != nil {
		return nil, err
	}
	theirs := map[string]func() ownProfiler{
		"heap":  func() ownProfiler { return godeltaprof.NewHeapProfiler() },
		"mutex": func() ownProfiler { return godeltaprof.NewMutexProfiler() },
		"block": func() ownProfiler { return godeltaprof.NewBlockProfiler() },
	}[kind]()
	write := func(p ownProfiler) func() error { return func() error { return p.Profile(io.Discard) } }
	return []*ownWay{{name: "godeltaprof", write: write(theirs)}, {name: "Profiler", write: write(short)},
		{name: "full", write: write(full)},
		{name: "pprof", write: func() error { return pprof.Lookup(kind).WriteTo(io.Discard, 0) }}}, nil
}

// own prints the rows, each by a process of its own.
func own() error {
	fmt.Println("Processor time of a window, medians. full: with WithFullStacks. pprof: what runtime/pprof takes to write the profile.")
	fmt.Printf("%6s %8s %6s %12s %12s %12s %12s %9s %6s\n", "kind", "records", "depth", "godeltaprof", "Profiler", "full", "pprof", "Profiler/", "full/")
	for _, row := range ownRows {
		run := exec.Command(os.Args[0], "-own", row)
		run.Stdout, run.Stderr = os.Stdout, os.Stderr
		if err := run.Run(); err != nil {
			return err
		}
	}
	return nil
}

// ownRow prints what a window of this process costs. In each round each way has its turn, in an order that changes.
func ownRow(row string) error {
	var kind string
	var stacks, depth int
	if _, err := fmt.Sscanf(row, "%s %d %d", &kind, &stacks, &depth); err != nil {
		return err
	}
	leaf := ownLeaves[kind]
	if leaf == nil || stacks < 100 || depth < 1 {
		return fmt.Errorf("-own %q: not such as %q", row, ownRows[0])
	}
	ways, err := ownWays(kind)
	if err != nil {
		return err
	}
	draw := rand.New(rand.NewSource(1))
	paths := make([][]byte, stacks)
	for i := range paths {
		paths[i] = make([]byte, depth)
		for j := range paths[i] {
			paths[i][j] = byte(draw.Intn(ownChoices))
		}
	}
	takeSteps(paths, leaf)
	for round := range ownRounds {
		draw.Shuffle(stacks, func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		takeSteps(paths[:stacks/100], leaf)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			before := processorTime()
			if err := way.write(); err != nil {
				return err
			}
			if round > 0 {
				way.took = append(way.took, processorTime()-before)
			}
		}
	}
	var middle [4]time.Duration
	for i, way := range ways {
		slices.Sort(way.took)
		middle[i] = way.took[len(way.took)/2]
	}
	fmt.Printf("%6s %8d %6d %12v %12v %12v %12v %9.2f %6.2f\n", kind, pprof.Lookup(kind).Count(), depth, middle[0], middle[1],
		middle[2], middle[3], float64(middle[1])/float64(middle[0]), float64(middle[2])/float64(middle[0]))
	return nil
}

// takeSteps walks these paths while everything is counted.
func takeSteps(paths [][]byte, leaf func()) {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	for _, path := range paths {
		ownSteps[0](path, leaf)
	}
	runtime.MemProfileRate = rate
	runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(0)
	runtime.GC() // two publish what was allocated
	runtime.GC()
}
