// Package profile reads, writes and adds up the profiles of this module's tests, with the names of
// github.com/google/pprof/profile, which the module itself does not require. It is written apart from the library,
// and in plain code. Module oracletest holds it against google/pprof.
package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The messages of profile.proto, with pointers in place of ids and indices.
type (
	Profile struct {
		SampleType                       []*ValueType
		Sample                           []*Sample
		Mapping                          []*Mapping
		Location                         []*Location
		Function                         []*Function
		TimeNanos, DurationNanos, Period int64
		PeriodType                       *ValueType
		Comments                         []string
		DefaultSampleType                string
	}
	ValueType struct{ Type, Unit string }
	Sample    struct {
		Location []*Location
		Value    []int64
		Label    map[string][]string
		NumLabel map[string][]int64
	}
	Mapping struct {
		ID, Start, Limit, Offset uint64
		File, BuildID            string
		Has                      [4]bool // functions, filenames, line numbers, inlined frames
	}
	Location struct {
		ID, Address uint64
		Mapping     *Mapping
		Line        []Line
	}
	Line struct {
		Function *Function
		Line     int64
	}
	Function struct {
		ID                         uint64
		Name, SystemName, Filename string
		StartLine                  int64
	}
)

// message is the fields of a message, by their numbers.
type message struct {
	numbers map[uint64][]uint64
	bodies  map[uint64][][]byte
}

// varint panics if there is none, as all reading here does if the bytes are not a profile.
func varint(b []byte) (value uint64, rest []byte) {
	value, n := binary.Uvarint(b)
	if n <= 0 {
		panic("not a number")
	}
	return value, b[n:]
}

func read(b []byte) message {
	m := message{map[uint64][]uint64{}, map[uint64][][]byte{}}
	for len(b) > 0 {
		var tag, value uint64
		tag, b = varint(b)
		value, b = varint(b)
		switch tag & 7 {
		case 0:
			m.numbers[tag>>3] = append(m.numbers[tag>>3], value)
		case 2:
			m.bodies[tag>>3] = append(m.bodies[tag>>3], b[:value:value])
			b = b[value:]
		default:
			panic("not a wire type of a profile")
		}
	}
	return m
}

// number returns the last value of a field.
func (m message) number(field uint64) uint64 {
	if all := m.numbers[field]; len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// list returns all numbers of a field, which may be packed.
func (m message) list(field uint64) []uint64 {
	all := m.numbers[field]
	for _, packed := range m.bodies[field] {
		for len(packed) > 0 {
			var value uint64
			value, packed = varint(packed)
			all = append(all, value)
		}
	}
	return all
}

// ParseData reads a profile, gzip or plain.
func ParseData(data []byte) (p *Profile, err error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	defer func() {
		if e := recover(); e != nil {
			p, err = nil, fmt.Errorf("not a valid profile: %v", e)
		}
	}()
	return parse(read(data)), nil
}

func parse(top message) *Profile {
	text := func(at uint64) string { return string(top.bodies[6][at]) }
	typeOf := func(body []byte) *ValueType {
		t := read(body)
		return &ValueType{text(t.number(1)), text(t.number(2))}
	}
	p := &Profile{TimeNanos: int64(top.number(9)), DurationNanos: int64(top.number(10)), Period: int64(top.number(12)),
		DefaultSampleType: text(top.number(14))}
	for _, body := range top.bodies[1] {
		p.SampleType = append(p.SampleType, typeOf(body))
	}
	for _, body := range top.bodies[11] {
		p.PeriodType = typeOf(body)
	}
	for _, at := range top.list(13) {
		p.Comments = append(p.Comments, text(at))
	}
	mappings, functions, locations := map[uint64]*Mapping{}, map[uint64]*Function{}, map[uint64]*Location{}
	for _, body := range top.bodies[3] {
		m := read(body)
		mapping := &Mapping{m.number(1), m.number(2), m.number(3), m.number(4), text(m.number(5)), text(m.number(6)),
			[4]bool{m.number(7) != 0, m.number(8) != 0, m.number(9) != 0, m.number(10) != 0}}
		mappings[mapping.ID], p.Mapping = mapping, append(p.Mapping, mapping)
	}
	for _, body := range top.bodies[5] {
		f := read(body)
		function := &Function{f.number(1), text(f.number(2)), text(f.number(3)), text(f.number(4)), int64(f.number(5))}
		functions[function.ID], p.Function = function, append(p.Function, function)
	}
	for _, body := range top.bodies[4] {
		l := read(body)
		location := &Location{ID: l.number(1), Mapping: mappings[l.number(2)], Address: l.number(3)}
		for _, body := range l.bodies[4] {
			line := read(body)
			location.Line = append(location.Line, Line{functions[line.number(1)], int64(line.number(2))})
		}
		locations[location.ID], p.Location = location, append(p.Location, location)
	}
	for _, body := range top.bodies[2] {
		s := read(body)
		sample := &Sample{Label: map[string][]string{}, NumLabel: map[string][]int64{}}
		for _, id := range s.list(1) {
			sample.Location = append(sample.Location, locations[id])
		}
		for _, value := range s.list(2) {
			sample.Value = append(sample.Value, int64(value))
		}
		for _, body := range s.bodies[3] {
			label := read(body)
			if key := text(label.number(1)); label.number(2) != 0 {
				sample.Label[key] = append(sample.Label[key], text(label.number(2)))
			} else {
				sample.NumLabel[key] = append(sample.NumLabel[key], int64(label.number(3)))
			}
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// add appends a field with a body.
func add(to []byte, field uint64, body []byte) []byte {
	to = binary.AppendUvarint(binary.AppendUvarint(to, field<<3|2), uint64(len(body)))
	return append(to, body...)
}

// written returns a message with these numbers in the fields from 1. Those that are 0 are left out.
func written(numbers ...uint64) (out []byte) {
	for i, value := range numbers {
		if value != 0 {
			out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(1+i)<<3), value)
		}
	}
	return out
}

func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// WriteUncompressed writes the profile.
func (p *Profile) WriteUncompressed(to io.Writer) error {
	var out, comments []byte
	texts, places := []string{""}, map[string]uint64{"": 0}
	text := func(text string) uint64 {
		at, found := places[text]
		if !found {
			at = uint64(len(texts))
			places[text], texts = at, append(texts, text)
		}
		return at
	}
	for _, t := range p.SampleType {
		out = add(out, 1, written(text(t.Type), text(t.Unit)))
	}
	for _, s := range p.Sample {
		out = add(out, 2, s.written(text))
	}
	for _, m := range p.Mapping {
		out = add(out, 3, written(m.ID, m.Start, m.Limit, m.Offset, text(m.File), text(m.BuildID), flag(m.Has[0]),
			flag(m.Has[1]), flag(m.Has[2]), flag(m.Has[3])))
	}
	for _, l := range p.Location {
		mapping := uint64(0)
		if l.Mapping != nil {
			mapping = l.Mapping.ID
		}
		body := written(l.ID, mapping, l.Address)
		for _, line := range l.Line {
			body = add(body, 4, written(line.Function.ID, uint64(line.Line)))
		}
		out = add(out, 4, body)
	}
	for _, f := range p.Function {
		out = add(out, 5, written(f.ID, text(f.Name), text(f.SystemName), text(f.Filename), uint64(f.StartLine)))
	}
	if p.PeriodType != nil {
		out = add(out, 11, written(text(p.PeriodType.Type), text(p.PeriodType.Unit)))
	}
	for _, comment := range p.Comments {
		comments = binary.AppendUvarint(comments, text(comment))
	}
	out = add(out, 13, comments)
	out = append(out, written(0, 0, 0, 0, 0, 0, 0, 0, uint64(p.TimeNanos), uint64(p.DurationNanos), 0, uint64(p.Period), 0,
		text(p.DefaultSampleType))...)
	for _, text := range texts {
		out = add(out, 6, []byte(text))
	}
	_, err := to.Write(out)
	return err
}

func (s *Sample) written(text func(string) uint64) []byte {
	var places, values []byte
	for _, l := range s.Location {
		places = binary.AppendUvarint(places, l.ID)
	}
	for _, value := range s.Value {
		values = binary.AppendUvarint(values, uint64(value))
	}
	out := add(add(nil, 1, places), 2, values)
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		for _, value := range s.Label[key] {
			out = add(out, 3, written(text(key), text(value)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		for _, value := range s.NumLabel[key] {
			out = add(out, 3, written(text(key), 0, uint64(value)))
		}
	}
	return out
}

// Write writes the profile as gzip.
func (p *Profile) Write(to io.Writer) error {
	w := gzip.NewWriter(to)
	if err := p.WriteUncompressed(w); err != nil {
		return err
	}
	return w.Close()
}

// Scale multiplies the counters and the gauges, and returns the profile.
func (p *Profile) Scale(counters, gauges int64) *Profile {
	for i, kind := range p.SampleType {
		factor := counters
		if strings.HasPrefix(kind.Type, "inuse_") {
			factor = gauges
		}
		for _, s := range p.Sample {
			s.Value[i] *= factor
		}
	}
	return p
}

// Key tells samples apart: by their stacks and labels.
func (s *Sample) Key() string {
	var b strings.Builder
	for _, place := range s.Location {
		if place.Mapping != nil {
			fmt.Fprintf(&b, "%s@%x ", place.Mapping.File, place.Address-place.Mapping.Start)
		}
		for _, line := range place.Line {
			fmt.Fprintf(&b, "%s:%s:%d ", line.Function.Name, line.Function.Filename, line.Line)
		}
		b.WriteString("| ")
	}
	fmt.Fprint(&b, s.Label, s.NumLabel) // maps are printed in the order of their keys
	return b.String()
}

// Merge returns the first profile with the samples of all: equal ones are added up, and those of zeros are left out.
func Merge(all []*Profile) (*Profile, error) {
	out := *all[0]
	out.Sample = nil
	at := map[string]*Sample{}
	for _, p := range all {
		if len(p.SampleType) != len(out.SampleType) {
			return nil, errors.New("the types differ")
		}
		for _, s := range p.Sample {
			sum := at[s.Key()]
			if sum == nil {
				sum = &Sample{Location: s.Location, Label: s.Label, NumLabel: s.NumLabel, Value: make([]int64, len(s.Value))}
				at[s.Key()], out.Sample = sum, append(out.Sample, sum)
			}
			for i, value := range s.Value {
				sum.Value[i] += value
			}
		}
	}
	out.Sample = slices.DeleteFunc(out.Sample, func(s *Sample) bool {
		return !slices.ContainsFunc(s.Value, func(value int64) bool { return value != 0 })
	})
	return &out, nil
}
