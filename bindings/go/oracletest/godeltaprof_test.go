package oracletest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// record is a sampled record of the runtime: how many objects of a size were allocated, and are in use.
type record struct {
	site         int
	allocs, live int64
	size         int64
}

// scaled is what runtime/pprof makes of n sampled objects.
func (r record) scaled(n int64) (objects, bytes int64) {
	scale := 1 / (1 - math.Exp(-float64(r.size)/524288))
	return int64(float64(n) * scale), int64(float64(n*r.size) * scale)
}

// dump is the heap profile of these records. A record without an object is left out, as by the runtime.
func dump(t *testing.T, second int64, records ...record) []byte {
	t.Helper()
	p := &profile.Profile{TimeNanos: (1_700_000_000 + second) * 1e9, PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Mapping: []*profile.Mapping{{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/bin/program"}}}
	for _, kind := range []string{"alloc_objects count", "alloc_space bytes", "inuse_objects count", "inuse_space bytes"} {
		name, unit, _ := strings.Cut(kind, " ")
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	for site := range 3 {
		f := &profile.Function{ID: uint64(site + 1), Name: fmt.Sprint("site", site)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Mapping: p.Mapping[0], Address: 0x2000 + f.ID,
			Line: []profile.Line{{Function: f, Line: 1}}})
	}
	for _, r := range records {
		if r.allocs == 0 {
			continue
		}
		s := &profile.Sample{Location: p.Location[r.site : r.site+1], Value: make([]int64, 4)}
		s.Value[0], s.Value[1] = r.scaled(r.allocs)
		s.Value[2], s.Value[3] = r.scaled(r.live)
		p.Sample = append(p.Sample, s)
	}
	return packed(t, p)
}

// sum is what records of one stack come to.
func sum(records ...record) []int64 {
	values := make([]int64, 4)
	for _, r := range records {
		objects, bytes := r.scaled(r.allocs)
		values[0], values[1] = values[0]+objects, values[1]+bytes
	}
	return values
}

// TestGodeltaprof has the scenes of godeltaprof's compat suite that are about values. Two values are others on purpose:
// a window is the difference of scaled values (godeltaprof scales the difference: 6 objects, 2115253 bytes), and records
// of one stack are one sample, whatever their sizes are.
func TestGodeltaprof(t *testing.T) {
	const size = 327680
	type sites = map[int][]int64
	for name, steps := range map[string][]struct {
		records []record
		want    sites
	}{
		"heap": {
			{[]record{{0, 0, 0, size}, {1, 0, 0, size}}, sites{}},
			{[]record{{0, 5, 5, size}, {1, 3, 0, size}}, sites{0: {10, 3525422, 10, 3525422}, 1: {6, 2115253, 0, 0}}},
			{[]record{{0, 5, 5, size}, {1, 3, 0, size}}, sites{0: {0, 0, 10, 3525422}}},
			{[]record{{0, 5, 5, size}, {1, 3, 0, size}}, sites{0: {0, 0, 10, 3525422}}},
			{[]record{{0, 5, 0, size}, {1, 3, 0, size}}, sites{}},
			{[]record{{0, 8, 3, size}, {1, 3, 0, size}}, sites{0: {7, 2115254, 6, 2115253}}},
		},
		"duplicates": {
			{[]record{{0, 239, 0, 1024}, {0, 3, 0, 2048}, {1, 42, 0, 1024}, {0, 7, 0, 1024}},
				sites{0: sum(record{0, 239, 0, 1024}, record{0, 3, 0, 2048}, record{0, 7, 0, 1024}), 1: sum(record{1, 42, 0, 1024})}},
			{[]record{{0, 239, 0, 1024}, {0, 3, 0, 2048}, {1, 42, 0, 1024}, {0, 7, 0, 1024}}, sites{}},
		},
	} {
		c := newComputer(t, pprofdelta.WithVerify())
		for i, step := range steps {
			got := sites{}
			for _, s := range parsed(t, deltaOf(t, c, dump(t, int64(i), step.records...))).Sample {
				got[int(s.Location[0].Line[0].Function.Name[4]-'0')] = s.Value
			}
			if fmt.Sprint(got) != fmt.Sprint(step.want) {
				t.Errorf("%s, step %d: %v, not %v", name, i, got, step.want)
			}
		}
	}
}
