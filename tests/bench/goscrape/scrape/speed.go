package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"runtime"
	"time"

	"github.com/google/pprof/profile"
)

const (
	speedWarm   = 2               // windows of each row that are not measured
	speedRounds = 7               // windows, at least, that are,
	speedTaken  = 100_000         // and their samples: what ends a garbage collection is little beside so many
	speedLeast  = 3 * time.Second // of each computer and row
)

// plain makes versions of one profile, a second apart: random stacks of 5 to 30 frames, one function a location. In each
// version so many of a hundred samples have higher counters than in the one before.
func plain(samples, percent int) ([][]byte, error) {
	draw := rand.New(rand.NewSource(1))
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:     512 * 1024,
	}
	addPlaces(p, max(64, samples/2), draw)
	for _, l := range p.Location {
		l.Line = l.Line[len(l.Line)-1:]
	}
	for range samples {
		s := &profile.Sample{Value: make([]int64, 4), NumLabel: map[string][]int64{"bytes": {int64(16 << draw.Intn(10))}}}
		for range 5 + draw.Intn(26) {
			s.Location = append(s.Location, p.Location[draw.Intn(len(p.Location))])
		}
		allocate(s, int64(draw.Intn(100)+1))
		p.Sample = append(p.Sample, s)
	}
	var all [][]byte
	for i := range speedWarm + max(speedRounds, speedTaken/samples) {
		for _, at := range draw.Perm(samples)[:samples*percent/100] {
			allocate(p.Sample[at], int64(draw.Intn(20)+1))
		}
		p.TimeNanos = (begin + int64(i)) * second
		var out bytes.Buffer
		if err := p.WriteUncompressed(&out); err != nil {
			return nil, err
		}
		all = append(all, out.Bytes())
	}
	return all, nil
}

// A cost is that of one window.
type cost struct {
	cpu       time.Duration
	allocated uint64
}

// measured takes all versions in their order with a new computer, and returns the cost of a window.
func measured(open func() (computer, error), all [][]byte) (cost, error) {
	c, err := open()
	if err != nil {
		return cost{}, err
	}
	var out bytes.Buffer
	var before, after runtime.MemStats
	var cpu time.Duration
	for i, version := range all {
		if i == speedWarm {
			runtime.GC()
			runtime.ReadMemStats(&before)
			cpu = processorTime()
		}
		out.Reset()
		if err := c.Delta(version, &out); err != nil {
			return cost{}, err
		}
	}
	took := processorTime() - cpu
	runtime.ReadMemStats(&after)
	windows := len(all) - speedWarm
	return cost{took / time.Duration(windows), (after.TotalAlloc - before.TotalAlloc) / uint64(windows)}, nil
}

// compared measures the computers in turn, again and again, so that other load meets both. It returns the cheapest of the
// runs of each.
func compared(all [][]byte) (least [2]cost, err error) {
	var opens [2]func() (computer, error)
	for i, name := range []string{"fastdelta", "pprofdelta"} {
		if opens[i], err = computers(name); err != nil {
			return least, err
		}
	}
	for spent := time.Duration(0); spent < 2*speedLeast; {
		for i, open := range opens {
			one, err := measured(open, all)
			if err != nil {
				return least, err
			}
			if spent += one.cpu * time.Duration(len(all)); least[i].cpu == 0 || one.cpu < least[i].cpu {
				least[i] = one
			}
		}
	}
	return least, nil
}

// speed prints what a window costs, beside fastdelta, in one run.
func speed() error {
	fmt.Printf("%8s %8s %14s %14s %6s %12s %12s\n", "samples", "changed", "fastdelta", "pprofdelta", "ratio", "allocated", "pprofdelta")
	for _, samples := range []int{500, 5000, 50000} {
		for _, percent := range []int{0, 1, 10, 100} {
			all, err := plain(samples, percent)
			if err != nil {
				return err
			}
			costs, err := compared(all)
			if err != nil {
				return err
			}
			fmt.Printf("%8d %7d%% %14v %14v %6.2f %12d %12d\n", samples, percent, costs[0].cpu, costs[1].cpu,
				float64(costs[0].cpu)/float64(costs[1].cpu), costs[0].allocated, costs[1].allocated)
		}
	}
	return nil
}
