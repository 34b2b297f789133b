package oracletest

import (
	"fmt"
	"math"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// record is a sampled record of the runtime: how many objects of a size were allocated, and are in use.
type record struct {
	site         int
	allocs, live int64
	size         int64
}

// values are what runtime/pprof writes of a record.
func (r record) values() []int64 {
	scale := 1 / (1 - math.Exp(-float64(r.size)/524288))
	scaled := func(n int64) int64 { return int64(float64(n) * scale) }
	return []int64{scaled(r.allocs), scaled(r.allocs * r.size), scaled(r.live), scaled(r.live * r.size)}
}

// dump is the heap profile of these records. A record without an object is left out, as by the runtime.
func dump(second int64, records []record) []byte {
	p := proftest.Process{Clock: (1_700_000_000 + second) * proftest.Second,
		Types:     []string{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"},
		Functions: []string{"site0", "site1"},
		Places:    []proftest.Place{{Address: 0x402000, Functions: []int{0}}, {Address: 0x402001, Functions: []int{1}}}}
	for _, r := range records {
		if r.allocs > 0 {
			p.Stacks = append(p.Stacks, &proftest.Stack{Places: []int{r.site}, Values: r.values()})
		}
	}
	return p.Bytes()
}

// sum is what records of one stack come to.
func sum(records ...record) []int64 {
	values := make([]int64, 4)
	for _, r := range records {
		for i, value := range r.values() {
			values[i] += value
		}
	}
	return values
}

// TestGodeltaprof has the scenes of godeltaprof's compat suite that are about values. Two values are others on purpose:
// a window is the difference of scaled values (godeltaprof scales the difference: 6 objects, 2115253 bytes), and records
// of one stack are one sample, whatever their sizes are.
func TestGodeltaprof(t *testing.T) {
	const size = 327680
	type sites = map[int][]int64
	repeated := []record{{0, 239, 0, 1024}, {0, 3, 0, 2048}, {1, 42, 0, 1024}, {0, 7, 0, 1024}}
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
			{repeated, sites{0: sum(repeated[0], repeated[1], repeated[3]), 1: sum(repeated[2])}},
			{repeated, sites{}},
		},
	} {
		c := newComputer(pprofdelta.WithVerify())
		for i, step := range steps {
			got := sites{}
			for _, s := range proftest.Read(deltaOf(c, dump(int64(i), step.records))).Samples {
				got[int(s.Stack[0][len("40200")]-'0')] = s.Values // by the last digit of the address
			}
			if fmt.Sprint(got) != fmt.Sprint(step.want) {
				t.Errorf("%s, step %d: %v, not %v", name, i, got, step.want)
			}
		}
	}
}
