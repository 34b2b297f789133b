package main

import (
	"bytes"
	"fmt"
	"math/rand"

	"github.com/google/pprof/profile"
)

const (
	begin       = 1767225600 // seconds since 1970
	second      = 1_000_000_000
	textStart   = 0x400000
	depthLeast  = 12
	depthSpread = 20
	branchAbove = 6  // a stack leaves an earlier one at most so many frames above its leaf
	changed     = 20 // of a thousand samples, from version to version
)

// versions makes heap profiles of one process, a second apart, that count from its start. Each has some samples
// with higher counters than the one before, and a few new samples.
func versions(count, samples int) ([][]byte, error) {
	draw := rand.New(rand.NewSource(1))
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:     512 * 1024,
	}
	addPlaces(p, max(64, samples/4), draw)
	var all [][]byte
	for i := range count {
		fresh := samples
		if i > 0 {
			fresh = len(p.Sample) * changed / 1000 / 20
			for range fresh * 20 {
				allocate(p.Sample[draw.Intn(len(p.Sample))], int64(draw.Intn(20)+1))
			}
		}
		for range fresh {
			p.Sample = append(p.Sample, newSample(p, draw))
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

// addPlaces adds locations with a function each; every third has an inlined one, too.
func addPlaces(p *profile.Profile, count int, draw *rand.Rand) {
	binary := &profile.Mapping{ID: 1, Start: textStart, Limit: textStart << 2, File: "/usr/bin/service",
		BuildID: "5ca1ab1e", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	p.Mapping = []*profile.Mapping{binary}
	for i := range count {
		f := &profile.Function{ID: uint64(i + 1), StartLine: int64(draw.Intn(1000) + 1),
			Filename: fmt.Sprintf("/src/service/package%d/file%d.go", i/40, i/8)}
		f.Name = fmt.Sprintf("example.com/service/package%d.(*Type%d).method%d", i/40, i/8, i)
		f.SystemName = f.Name
		p.Function = append(p.Function, f)
		l := &profile.Location{ID: uint64(i + 1), Mapping: binary, Address: uint64(textStart + 64*i + draw.Intn(64))}
		if i%3 == 0 && i > 0 {
			l.Line = append(l.Line, profile.Line{Function: p.Function[i-1], Line: f.StartLine + 3})
		}
		l.Line = append(l.Line, profile.Line{Function: f, Line: f.StartLine + int64(draw.Intn(50))})
		p.Location = append(p.Location, l)
	}
}

// newSample has a stack that branches off the one of another sample.
func newSample(p *profile.Profile, draw *rand.Rand) *profile.Sample {
	fresh := depthLeast + draw.Intn(depthSpread)
	var stack []*profile.Location
	if len(p.Sample) > 0 {
		fresh = 1 + draw.Intn(branchAbove)
		from := p.Sample[draw.Intn(len(p.Sample))].Location
		stack = from[min(fresh, len(from)-1):]
	}
	var above []*profile.Location
	for range fresh {
		above = append(above, p.Location[draw.Intn(len(p.Location))])
	}
	size := int64(16 << draw.Intn(10))
	s := &profile.Sample{Location: append(above, stack...), Value: make([]int64, 4),
		NumLabel: map[string][]int64{"bytes": {size}}, NumUnit: map[string][]string{"bytes": {"bytes"}}}
	allocate(s, int64(draw.Intn(100)+1))
	if draw.Intn(100) < 15 {
		s.Value[2], s.Value[3] = 1, size
	}
	return s
}

func allocate(s *profile.Sample, objects int64) {
	s.Value[0] += objects
	s.Value[1] += objects * s.NumLabel["bytes"][0]
}
