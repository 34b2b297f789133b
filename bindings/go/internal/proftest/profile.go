package proftest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Profile is what the tests compare of a profile.
type Profile struct {
	Types          []string // "type/unit"
	DefaultType    string
	Time, Duration int64
	Samples        []Sample
	Rows           map[string][]int64 // of samples by their keys: equal ones are added up, those of zeros are left out
}

// Sample is a sample whose locations and labels are texts.
type Sample struct {
	Stack  []string
	Places []string // the same, with the addresses in the files
	Labels []string
	Values []int64
}

// Key tells samples apart: by their innermost locations and labels.
func (s *Sample) Key(depth int) string {
	return strings.Join(slices.Concat(s.Stack[:min(depth, len(s.Stack))], s.Labels), "\n")
}

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

// number returns the last value of a field, and 0 if there is none.
func (m message) number(field uint64) uint64 {
	all := append([]uint64{0}, m.numbers[field]...)
	return all[len(all)-1]
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

// Inflate returns the content of gzip, and other bytes as they are.
func Inflate(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	return Must(io.ReadAll(Must(gzip.NewReader(bytes.NewReader(data)))))
}

// Read reads a profile, gzip or plain. Of generic functions it leaves out the type arguments, which package runtime
// does not have.
func Read(data []byte) *Profile {
	top := read(Inflate(data))
	text := func(at uint64) string { return string(top.bodies[6][at]) }
	p := &Profile{Time: int64(top.number(9)), Duration: int64(top.number(10)), DefaultType: text(top.number(14))}
	for _, body := range top.bodies[1] {
		t := read(body)
		p.Types = append(p.Types, text(t.number(1))+"/"+text(t.number(2)))
	}
	mappings, functions, locations := map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
	files, loaded, places := map[uint64]string{0: " "}, map[uint64]uint64{}, map[uint64]string{}
	for _, body := range top.bodies[3] {
		m := read(body)
		mappings[m.number(1)] = fmt.Sprintf("%s %s %x-%x %x", text(m.number(5)), text(m.number(6)), m.number(2), m.number(3), m.number(4))
		files[m.number(1)], loaded[m.number(1)] = text(m.number(5))+" "+text(m.number(6)), m.number(2)-m.number(4)
	}
	for _, body := range top.bodies[5] {
		f := read(body)
		name, _, isGeneric := strings.Cut(text(f.number(2)), "[")
		functions[f.number(1)] = fmt.Sprint(name, isGeneric, text(f.number(4)), ":", f.number(5))
	}
	for _, body := range top.bodies[4] {
		l := read(body)
		mapping, lines := l.number(2), ""
		for _, body := range l.bodies[4] {
			line := read(body)
			lines += fmt.Sprint("\n\t", functions[line.number(1)], " ", line.number(2))
		}
		locations[l.number(1)] = fmt.Sprintf("%x of %s", l.number(3), mappings[mapping]) + lines
		places[l.number(1)] = fmt.Sprintf("%x of %s", l.number(3)-loaded[mapping], files[mapping]) + lines
	}
	for _, body := range top.bodies[2] {
		s, sample := read(body), Sample{}
		for _, id := range s.list(1) {
			sample.Stack, sample.Places = append(sample.Stack, locations[id]), append(sample.Places, places[id])
		}
		for _, value := range s.list(2) {
			sample.Values = append(sample.Values, int64(value))
		}
		for _, body := range s.bodies[3] {
			label := read(body)
			sample.Labels = append(sample.Labels, fmt.Sprint(text(label.number(1)), "=", text(label.number(2)), label.number(3)))
		}
		slices.Sort(sample.Labels)
		p.Samples = append(p.Samples, sample)
	}
	p.Rows = p.RowsBy(func(s *Sample) string { return s.Key(len(s.Stack)) })
	return p
}

// RowsBy returns the sums of the samples with one key. Those of zeros are left out.
func (p *Profile) RowsBy(key func(*Sample) string) map[string][]int64 {
	rows := map[string][]int64{}
	for i := range p.Samples {
		addTo(rows, key(&p.Samples[i]), p.Samples[i].Values)
	}
	return rows
}

func addTo(rows map[string][]int64, key string, values []int64) {
	sums, isOther := slices.Clone(values), false
	for i := range sums {
		if before := rows[key]; before != nil {
			sums[i] += before[i]
		}
		isOther = isOther || sums[i] != 0
	}
	if rows[key] = sums; !isOther {
		delete(rows, key)
	}
}

// Minus returns the oracle of a delta: what the counters of p have more than those of prev, and the gauges of p.
func (p *Profile) Minus(prev *Profile) *Profile {
	out := p.plus(prev, -1)
	out.Duration = p.Time - prev.Time
	return out
}

// Plus returns the oracle of a sum: the counters of both, and the gauges of p, which is the later one.
func (p *Profile) Plus(prev *Profile) *Profile { return p.plus(prev, 1) }

func (p *Profile) plus(prev *Profile, factor int64) *Profile {
	out := *p
	out.Rows = map[string][]int64{}
	for key, values := range p.Rows {
		addTo(out.Rows, key, values)
	}
	for key, values := range prev.Rows {
		values = slices.Clone(values)
		for i, kind := range p.Types {
			if values[i] *= factor; strings.HasPrefix(kind, "inuse_") {
				values[i] = 0
			}
		}
		addTo(out.Rows, key, values)
	}
	return &out
}

// Sum returns the total of one type, "type/unit".
func (p *Profile) Sum(kind string) (sum int64) {
	for _, s := range p.Samples {
		sum += s.Values[slices.Index(p.Types, kind)]
	}
	return sum
}

// Difference says in which row two profiles differ; "" if in none.
func (p *Profile) Difference(want *Profile) string {
	for key, values := range want.Rows {
		if !slices.Equal(p.Rows[key], values) {
			return fmt.Sprintf("%v, not %v: %s", p.Rows[key], values, key)
		}
	}
	if len(p.Rows) != len(want.Rows) {
		return fmt.Sprintf("%d rows, not %d", len(p.Rows), len(want.Rows))
	}
	return ""
}
