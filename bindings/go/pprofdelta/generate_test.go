package pprofdelta

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

// process is a simulated program: a set of stacks with counters that only grow and gauges.
type process struct {
	random  *rand.Rand
	clock   int64
	mapping *profile.Mapping
	funcs   []*profile.Function
	places  []*profile.Location
	stacks  []*stack
	symbols bool // locations have no addresses, as those of an interpreter
}

// stack is what makes a sample, and what it has counted.
type stack struct {
	places []int
	labels map[string][]string
	sizes  map[string][]int64
	values [4]int64
}

const second = 1_000_000_000

// newProcess makes a process with this many stacks.
func newProcess(seed uint64, stacks int) *process {
	p := &process{random: rand.New(rand.NewPCG(seed, 1)), clock: 1_700_000_000 * second}
	p.symbols = seed%4 == 3
	p.mapping = &profile.Mapping{Start: 0x400000, Limit: 0x800000, File: "/usr/bin/program",
		BuildID: "abcdef0123456789", Has: [4]bool{true, true, true, false}}
	for i := range 4 + stacks/4 {
		name := fmt.Sprintf("package.function%d", i)
		p.funcs = append(p.funcs, &profile.Function{Name: name, SystemName: name,
			Filename: fmt.Sprintf("file%d.go", i%7), StartLine: int64(i)})
	}
	for i := range 8 + stacks/2 {
		p.places = append(p.places, p.place(i))
	}
	for range stacks {
		p.grow()
	}
	return p
}

func (p *process) place(i int) *profile.Location {
	place := &profile.Location{}
	if !p.symbols {
		place.Mapping, place.Address = p.mapping, 0x400000+uint64(i)*16
	}
	for range 1 + p.random.IntN(2) {
		place.Line = append(place.Line, profile.Line{
			Function: p.funcs[p.random.IntN(len(p.funcs))], Line: int64(i + 1)})
	}
	return place
}

// grow adds a stack.
func (p *process) grow() {
	s := &stack{}
	for range 1 + p.random.IntN(12) {
		s.places = append(s.places, p.random.IntN(len(p.places)))
	}
	if p.random.IntN(3) == 0 {
		s.labels = map[string][]string{"job": {fmt.Sprint(p.random.IntN(3))}}
	}
	if p.random.IntN(2) == 0 {
		s.sizes = map[string][]int64{"bytes": {16 << p.random.IntN(4)}}
	}
	p.stacks = append(p.stacks, s)
	p.count(s)
}

func (p *process) count(s *stack) {
	n := p.random.Int64N(1000)
	s.values[0] += n
	s.values[1] += n * 64
	s.values[2] = p.random.Int64N(3) * p.random.Int64N(100)
	s.values[3] = s.values[2] * 64
}

// run lets a part of the stacks count, and some new ones appear.
func (p *process) run() {
	p.clock += 10 * second
	for _, s := range p.stacks {
		if p.random.IntN(5) == 0 {
			p.count(s)
		}
	}
	for range p.random.IntN(3) {
		p.grow()
	}
}

// profile returns what the process shows. The order of tables and samples, and with it all ids, are
// new each time; an equal stack may be there twice.
func (p *process) profile() *profile.Profile {
	out := &profile.Profile{TimeNanos: p.clock, Period: 512 << 10,
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"},
			{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"},
			{Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "inuse_space", Comments: []string{"a comment"}}
	mapping := *p.mapping
	mapping.ID = 1
	out.Mapping = []*profile.Mapping{&mapping}
	functions := map[*profile.Function]*profile.Function{}
	for id, i := range p.random.Perm(len(p.funcs)) {
		function := *p.funcs[i]
		function.ID = uint64(id + 1)
		out.Function = append(out.Function, &function)
		functions[p.funcs[i]] = &function
	}
	places := make([]*profile.Location, len(p.places))
	for id, i := range p.random.Perm(len(p.places)) {
		place := *p.places[i]
		place.ID = uint64(id + 1)
		if place.Mapping != nil {
			place.Mapping = &mapping
		}
		place.Line = slices.Clone(place.Line)
		for j := range place.Line {
			place.Line[j].Function = functions[place.Line[j].Function]
		}
		out.Location = append(out.Location, &place)
		places[i] = &place
	}
	for _, i := range p.random.Perm(len(p.stacks)) {
		s := p.stacks[i]
		sample := &profile.Sample{Label: s.labels, NumLabel: s.sizes, Value: slices.Clone(s.values[:])}
		for _, place := range s.places {
			sample.Location = append(sample.Location, places[place])
		}
		out.Sample = append(out.Sample, sample)
	}
	return out
}

// bytes returns the profile, gzipped.
func (p *process) bytes(t testing.TB) []byte { return packed(t, p.profile()) }

// packed writes a profile.
func packed(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parsed reads a profile.
func parsed(t testing.TB, b []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// merged is the oracle: cur plus prev with its counters negated and without its gauges.
func merged(t testing.TB, prev, cur []byte) *profile.Profile {
	t.Helper()
	before, after := parsed(t, prev).Scale(-1, 0), parsed(t, cur)
	out, err := profile.Merge([]*profile.Profile{before, after})
	if err != nil {
		t.Fatal(err)
	}
	out.TimeNanos = after.TimeNanos
	out.DurationNanos = after.TimeNanos - before.TimeNanos
	return out
}

// rows returns the values of a profile by stack and labels, without those that are all zero.
func rows(p *profile.Profile) map[string][]int64 {
	out := map[string][]int64{}
	merged, _ := profile.Merge([]*profile.Profile{p}) // one profile has the same types
	for _, s := range merged.Sample {
		out[s.Key()] = s.Value
	}
	return out
}

// same compares what two profiles have measured.
func same(t testing.TB, what string, got, want *profile.Profile) {
	t.Helper()
	left, right := rows(got), rows(want)
	if len(left) != len(right) {
		t.Errorf("%s: %d rows, not %d", what, len(left), len(right))
	}
	for key, values := range right {
		if !slices.Equal(left[key], values) {
			t.Errorf("%s: %v, not %v: %s", what, left[key], values, key)
			return
		}
	}
	if got.TimeNanos != want.TimeNanos || got.DurationNanos != want.DurationNanos {
		t.Errorf("%s: time %d + %d, not %d + %d", what, got.TimeNanos, got.DurationNanos,
			want.TimeNanos, want.DurationNanos)
	}
}
