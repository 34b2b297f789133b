// Package proftest has what the tests of this module share: simulated processes and their profiles, and a reader that
// subtracts. It is written apart from the library, in plain code. Module oracletest holds it against google/pprof.
package proftest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Must returns a result. It panics where a test cannot go on.
func Must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// Data is the repository's testdata for a test in a folder of this module, and File reads one of its files.
const Data = "../../../testdata"

func File(name string) []byte { return Must(os.ReadFile(filepath.Join(Data, name))) }

// Second is the unit of Process.Clock.
const Second = 1_000_000_000

// Process is a simulated program: stacks with counters that only grow, and gauges.
type Process struct {
	Clock     int64
	Types     []string // "type/unit"
	Functions []string
	Places    []Place
	Stacks    []*Stack
	random    *rand.Rand // nil: tables are written in their order
}

// Place is a location.
type Place struct {
	Address   uint64 // 0: none, as in an interpreter
	Functions []int
}

// Stack is what makes a sample, and what it has counted.
type Stack struct {
	Places []int
	Job    string // a label
	Size   uint64 // another one
	Values []int64
}

// NewProcess makes a process with this many stacks.
func NewProcess(seed uint64, stacks int) *Process {
	p := &Process{random: rand.New(rand.NewPCG(seed, 1)), Clock: 1_700_000_000 * Second,
		Types: []string{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"}}
	for i := range 4 + stacks/4 {
		p.Functions = append(p.Functions, fmt.Sprintf("package.function%d", i))
	}
	for i := range 8 + stacks/2 {
		place := Place{}
		if seed%4 != 3 {
			place.Address = mappingStart + uint64(i)*16
		}
		for range 1 + p.random.IntN(2) {
			place.Functions = append(place.Functions, p.random.IntN(len(p.Functions)))
		}
		p.Places = append(p.Places, place)
	}
	for range stacks {
		p.Grow()
	}
	return p
}

// Grow adds a stack.
func (p *Process) Grow() {
	s := &Stack{Values: make([]int64, len(p.Types))}
	for range 1 + p.random.IntN(12) {
		s.Places = append(s.Places, p.random.IntN(len(p.Places)))
	}
	if p.random.IntN(3) == 0 {
		s.Job = fmt.Sprint("job", p.random.IntN(3))
	}
	if p.random.IntN(2) == 0 {
		s.Size = 16 << p.random.IntN(4)
	}
	p.Stacks = append(p.Stacks, s)
	p.Count(s)
}

// Count lets a stack count.
func (p *Process) Count(s *Stack) {
	n, inUse := p.random.Int64N(1000), p.random.Int64N(3)*p.random.Int64N(100)
	s.Values = []int64{s.Values[0] + n, s.Values[1] + 64*n, inUse, 64 * inUse}
}

// Run lets a part of the stacks count, and some new ones appear.
func (p *Process) Run() {
	p.Clock += 10 * Second
	for _, s := range p.Stacks {
		if p.random.IntN(5) == 0 {
			p.Count(s)
		}
	}
	for range p.random.IntN(3) {
		p.Grow()
	}
}

// ---- what is written ------------------------------------------------------------------------------------------

// All addresses are in one mapping.
const mappingStart, mappingLimit = 0x400000, 0x40000000

// add appends a field with a body, and fields returns the fields from 1 with these numbers.
func add(to []byte, field uint64, body []byte) []byte {
	to = binary.AppendUvarint(binary.AppendUvarint(to, field<<3|2), uint64(len(body)))
	return append(to, body...)
}

func fields(numbers ...uint64) (out []byte) {
	for i, value := range numbers {
		if value != 0 {
			out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(1+i)<<3), value)
		}
	}
	return out
}

func packed(numbers []uint64) (out []byte) {
	for _, value := range numbers {
		out = binary.AppendUvarint(out, value)
	}
	return out
}

// order returns the order in which a table is written, and the ids of its elements: new ones each time.
func (p *Process) order(n int) (order []int, ids []uint64) {
	ids = make([]uint64, n)
	for i := range n {
		order = append(order, i)
	}
	if p.random != nil {
		order = p.random.Perm(n)
	}
	for at, i := range order {
		ids[i] = uint64(at + 1)
	}
	return order, ids
}

// Plain returns the profile of now, which is not compressed.
func (p *Process) Plain() (out []byte) {
	texts, known := []string{""}, map[string]uint64{"": 0}
	text := func(text string) uint64 {
		if _, found := known[text]; !found {
			known[text], texts = uint64(len(texts)), append(texts, text)
		}
		return known[text]
	}
	for _, name := range append(p.Types, "space/bytes") { // the last one is the type of the period
		kind, unit, _ := strings.Cut(name, "/")
		field := uint64(1)
		if name == "space/bytes" {
			field = 11
		}
		out = add(out, field, fields(text(kind), text(unit)))
	}
	out = add(out, 3, fields(1, mappingStart, mappingLimit, 0, text("/usr/bin/program"), text("abcdef0123456789"), 1, 1, 1))
	functions, functionIDs := p.order(len(p.Functions))
	for _, i := range functions {
		name := text(p.Functions[i])
		out = add(out, 5, fields(functionIDs[i], name, name, text(fmt.Sprintf("file%d.go", i%7)), uint64(i)))
	}
	places, placeIDs := p.order(len(p.Places))
	for _, i := range places {
		body := fields(placeIDs[i], min(p.Places[i].Address, 1), p.Places[i].Address)
		for _, f := range p.Places[i].Functions {
			body = add(body, 4, fields(functionIDs[f], uint64(i+1)))
		}
		out = add(out, 4, body)
	}
	samples, _ := p.order(len(p.Stacks))
	for _, i := range samples {
		s := p.Stacks[i]
		var stack, values []uint64
		for _, place := range s.Places {
			stack = append(stack, placeIDs[place])
		}
		for _, value := range s.Values {
			values = append(values, uint64(value))
		}
		body := add(add(nil, 1, packed(stack)), 2, packed(values))
		if s.Job != "" {
			body = add(body, 3, fields(text("job"), text(s.Job)))
		}
		if s.Size != 0 {
			body = add(body, 3, fields(text("bytes"), 0, s.Size))
		}
		out = add(out, 2, body)
	}
	out = add(out, 13, packed([]uint64{text("a comment")}))
	out = append(out, fields(0, 0, 0, 0, 0, 0, 0, 0, uint64(p.Clock), 0, 0, 512<<10, 0, text("inuse_space"))...)
	for _, text := range texts {
		out = add(out, 6, []byte(text))
	}
	return out
}

// Bytes returns the profile of now as gzip.
func (p *Process) Bytes() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	Must(w.Write(p.Plain()))
	Must(0, w.Close())
	return out.Bytes()
}
