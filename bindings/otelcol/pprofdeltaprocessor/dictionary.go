package pprofdeltaprocessor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// All profiles of a request share one dictionary, so a profile that moves to another request needs other
// indices. pdata's MergeTo also copies what no profile uses, and reads both dictionaries once for each
// merge: time and memory for a request of n targets would grow with n squared. Here, only what a profile
// uses is copied, and nothing twice, in time that grows with what is copied.

// table is one of the tables of a dictionary. Entry 0 of each is the zero value, which means "none".
type table int

const (
	texts table = iota
	attributes
	mappings
	functions
	locations
	stacks
	links
	tables
)

// dictionary is the dictionary of a new request.
type dictionary struct {
	to    pprofile.ProfilesDictionary
	found [tables]map[string]int32 // what an entry encodes to: its index
}

func newDictionary(to pprofile.ProfilesDictionary) *dictionary {
	d := &dictionary{to: to}
	for in := range d.found {
		d.found[in] = map[string]int32{}
	}
	to.StringTable().Append("")
	to.AttributeTable().AppendEmpty()
	to.MappingTable().AppendEmpty()
	to.FunctionTable().AppendEmpty()
	to.LocationTable().AppendEmpty()
	to.StackTable().AppendEmpty()
	to.LinkTable().AppendEmpty()
	return d
}

// copier changes the indices of profiles from one dictionary to another. Its methods, such as stack, take
// an index of the one and return that of the other. They copy an entry with its new indices, and encode it.
type copier struct {
	*dictionary
	from pprofile.ProfilesDictionary
	done [tables][]int32 // the new index, or 0: not known
	key  []byte          // the entries that are being encoded, one after the other
	err  error           // the first
}

func (d *dictionary) copier(from pprofile.ProfilesDictionary) *copier {
	return &copier{dictionary: d, from: from, done: [tables][]int32{
		texts: make([]int32, from.StringTable().Len()), attributes: make([]int32, from.AttributeTable().Len()),
		mappings: make([]int32, from.MappingTable().Len()), functions: make([]int32, from.FunctionTable().Len()),
		locations: make([]int32, from.LocationTable().Len()), stacks: make([]int32, from.StackTable().Len()),
		links: make([]int32, from.LinkTable().Len()),
	}}
}

// profile changes the indices of a profile. If it fails, the profile is of no use any more, but the copier is.
func (c *copier) profile(p pprofile.Profile) error {
	c.err = nil
	for _, kind := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
		kind.SetTypeStrindex(c.text(kind.TypeStrindex()))
		kind.SetUnitStrindex(c.text(kind.UnitStrindex()))
	}
	replace(p.AttributeIndices(), c.attribute)
	for _, sample := range p.Samples().All() {
		sample.SetStackIndex(c.stack(sample.StackIndex()))
		sample.SetLinkIndex(c.link(sample.LinkIndex()))
		replace(sample.AttributeIndices(), c.attribute)
	}
	return c.err
}

func replace(of pcommon.Int32Slice, index func(int32) int32) {
	for at := range of.Len() {
		of.SetAt(at, index(of.At(at)))
	}
}

// has returns the new index of an entry if it is known, or is 0 after an error.
func (c *copier) has(in table, i int32) (index int32, ok bool) {
	if i == 0 || c.err != nil {
		return 0, true
	}
	if i < 0 || int(i) >= len(c.done[in]) {
		c.err = fmt.Errorf("the index %d of a table with %d entries", i, len(c.done[in]))
		return 0, true
	}
	return c.done[in][i], c.done[in][i] != 0
}

// entry returns the new index of an entry that is the key from begin on. It is added if it is new.
func (c *copier) entry(in table, i int32, begin int, add func()) int32 {
	key := c.key[begin:]
	c.key = c.key[:begin]
	if c.err != nil { // of what it consists of
		return 0
	}
	index, ok := c.found[in][string(key)]
	if !ok {
		index = int32(len(c.found[in]) + 1)
		c.found[in][string(key)] = index
		add()
	}
	c.done[in][i] = index
	return index
}

// numbers encodes numbers of an entry, and indices a list.
func (c *copier) numbers(all ...uint64) {
	for _, n := range all {
		c.key = binary.AppendUvarint(c.key, n)
	}
}

func (c *copier) indices(all pcommon.Int32Slice) {
	c.numbers(uint64(all.Len()))
	for at := range all.Len() {
		c.numbers(uint64(all.At(at)))
	}
}

func (c *copier) text(i int32) int32 {
	if index, ok := c.has(texts, i); ok {
		return index
	}
	begin, one := len(c.key), c.from.StringTable().At(int(i))
	c.key = append(c.key, one...)
	return c.entry(texts, i, begin, func() { c.to.StringTable().Append(one) })
}

var errNoValue = errors.New("an attribute has no value that pdata can show")

func (c *copier) attribute(i int32) int32 {
	if index, ok := c.has(attributes, i); ok {
		return index
	}
	begin, one := len(c.key), pprofile.NewKeyValueAndUnit()
	c.from.AttributeTable().At(int(i)).CopyTo(one)
	// The index of a string as the value is copied unseen, so it would be one of the old dictionary.
	if one.Value().Type() == pcommon.ValueTypeEmpty && c.err == nil {
		c.err = errNoValue
	}
	one.SetKeyStrindex(c.text(one.KeyStrindex()))
	one.SetUnitStrindex(c.text(one.UnitStrindex()))
	c.numbers(uint64(one.KeyStrindex()), uint64(one.UnitStrindex()))
	c.key = fmt.Appendf(c.key, "%d%#v", one.Value().Type(), one.Value().AsRaw())
	return c.entry(attributes, i, begin, func() { one.MoveTo(c.to.AttributeTable().AppendEmpty()) })
}

func (c *copier) mapping(i int32) int32 {
	if index, ok := c.has(mappings, i); ok {
		return index
	}
	begin, one := len(c.key), pprofile.NewMapping()
	c.from.MappingTable().At(int(i)).CopyTo(one)
	one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
	replace(one.AttributeIndices(), c.attribute)
	c.numbers(uint64(one.FilenameStrindex()), one.MemoryStart(), one.MemoryLimit(), one.FileOffset())
	c.indices(one.AttributeIndices())
	return c.entry(mappings, i, begin, func() { one.MoveTo(c.to.MappingTable().AppendEmpty()) })
}

func (c *copier) function(i int32) int32 {
	if index, ok := c.has(functions, i); ok {
		return index
	}
	begin, one := len(c.key), pprofile.NewFunction()
	c.from.FunctionTable().At(int(i)).CopyTo(one)
	one.SetNameStrindex(c.text(one.NameStrindex()))
	one.SetSystemNameStrindex(c.text(one.SystemNameStrindex()))
	one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
	c.numbers(uint64(one.NameStrindex()), uint64(one.SystemNameStrindex()), uint64(one.FilenameStrindex()), uint64(one.StartLine()))
	return c.entry(functions, i, begin, func() { one.MoveTo(c.to.FunctionTable().AppendEmpty()) })
}

func (c *copier) location(i int32) int32 {
	if index, ok := c.has(locations, i); ok {
		return index
	}
	begin, one := len(c.key), pprofile.NewLocation()
	c.from.LocationTable().At(int(i)).CopyTo(one)
	one.SetMappingIndex(c.mapping(one.MappingIndex()))
	replace(one.AttributeIndices(), c.attribute)
	for _, line := range one.Lines().All() {
		line.SetFunctionIndex(c.function(line.FunctionIndex()))
	}
	c.numbers(uint64(one.MappingIndex()), one.Address())
	c.indices(one.AttributeIndices())
	for _, line := range one.Lines().All() {
		c.numbers(uint64(line.FunctionIndex()), uint64(line.Line()), uint64(line.Column()))
	}
	return c.entry(locations, i, begin, func() { one.MoveTo(c.to.LocationTable().AppendEmpty()) })
}

func (c *copier) stack(i int32) int32 {
	if index, ok := c.has(stacks, i); ok {
		return index
	}
	begin, one := len(c.key), pprofile.NewStack()
	c.from.StackTable().At(int(i)).CopyTo(one)
	replace(one.LocationIndices(), c.location)
	c.indices(one.LocationIndices())
	return c.entry(stacks, i, begin, func() { one.MoveTo(c.to.StackTable().AppendEmpty()) })
}

func (c *copier) link(i int32) int32 {
	if index, ok := c.has(links, i); ok {
		return index
	}
	begin, one := len(c.key), c.from.LinkTable().At(int(i))
	trace, span := one.TraceID(), one.SpanID()
	c.key = append(append(c.key, trace[:]...), span[:]...)
	return c.entry(links, i, begin, func() { one.CopyTo(c.to.LinkTable().AppendEmpty()) })
}
