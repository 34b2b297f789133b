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
// an index of the one and return that of the other.
type copier struct {
	*dictionary
	from pprofile.ProfilesDictionary
	done [tables]map[int32]int32
	key  []byte // the entries that are being encoded, one after the other
	err  error  // the first
}

func (d *dictionary) copier(from pprofile.ProfilesDictionary) *copier {
	c := &copier{dictionary: d, from: from}
	for in := range c.done {
		c.done[in] = map[int32]int32{}
	}
	return c
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
	for at, i := range of.All() {
		of.SetAt(at, index(i))
	}
}

// entry returns the new index of the i-th entry of a table of this length. encode copies it with its new
// indices, and then encodes it. add adds the copy to the new dictionary.
func (c *copier) entry(in table, i int32, length int, encode, add func()) int32 {
	if i == 0 || c.err != nil {
		return 0
	}
	if i < 0 || int(i) >= length {
		c.err = fmt.Errorf("the index %d of a table with %d entries", i, length)
		return 0
	}
	if index, ok := c.done[in][i]; ok {
		return index
	}
	begin := len(c.key)
	encode()
	index, ok := c.found[in][string(c.key[begin:])]
	if !ok && c.err == nil {
		index = int32(len(c.found[in]) + 1)
		c.found[in][string(c.key[begin:])] = index
		add()
	}
	c.key = c.key[:begin]
	if c.err == nil {
		c.done[in][i] = index
	}
	return index
}

// numbers encodes numbers of an entry.
func (c *copier) numbers(all ...uint64) {
	for _, n := range all {
		c.key = binary.AppendUvarint(c.key, n)
	}
}

func (c *copier) indices(all ...int32) {
	c.numbers(uint64(len(all)))
	for _, i := range all {
		c.numbers(uint64(uint32(i)))
	}
}

func (c *copier) text(i int32) int32 {
	from := c.from.StringTable()
	return c.entry(texts, i, from.Len(),
		func() { c.key = append(c.key, from.At(int(i))...) },
		func() { c.to.StringTable().Append(from.At(int(i))) })
}

var errNoValue = errors.New("an attribute has no value that pdata can show")

func (c *copier) attribute(i int32) int32 {
	from, one := c.from.AttributeTable(), pprofile.NewKeyValueAndUnit()
	return c.entry(attributes, i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		// The index of a string as the value is copied unseen, so it would be one of the old dictionary.
		if one.Value().Type() == pcommon.ValueTypeEmpty && c.err == nil {
			c.err = errNoValue
		}
		one.SetKeyStrindex(c.text(one.KeyStrindex()))
		one.SetUnitStrindex(c.text(one.UnitStrindex()))
		c.indices(one.KeyStrindex(), one.UnitStrindex())
		c.key = fmt.Appendf(c.key, "%d%#v", one.Value().Type(), one.Value().AsRaw())
	}, func() { one.MoveTo(c.to.AttributeTable().AppendEmpty()) })
}

func (c *copier) mapping(i int32) int32 {
	from, one := c.from.MappingTable(), pprofile.NewMapping()
	return c.entry(mappings, i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
		replace(one.AttributeIndices(), c.attribute)
		c.indices(one.FilenameStrindex())
		c.indices(one.AttributeIndices().AsRaw()...)
		c.numbers(one.MemoryStart(), one.MemoryLimit(), one.FileOffset())
	}, func() { one.MoveTo(c.to.MappingTable().AppendEmpty()) })
}

func (c *copier) function(i int32) int32 {
	from, one := c.from.FunctionTable(), pprofile.NewFunction()
	return c.entry(functions, i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetNameStrindex(c.text(one.NameStrindex()))
		one.SetSystemNameStrindex(c.text(one.SystemNameStrindex()))
		one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
		c.indices(one.NameStrindex(), one.SystemNameStrindex(), one.FilenameStrindex())
		c.numbers(uint64(one.StartLine()))
	}, func() { one.MoveTo(c.to.FunctionTable().AppendEmpty()) })
}

func (c *copier) location(i int32) int32 {
	from, one := c.from.LocationTable(), pprofile.NewLocation()
	return c.entry(locations, i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetMappingIndex(c.mapping(one.MappingIndex()))
		replace(one.AttributeIndices(), c.attribute)
		for _, line := range one.Lines().All() {
			line.SetFunctionIndex(c.function(line.FunctionIndex()))
		}
		c.indices(one.MappingIndex())
		c.indices(one.AttributeIndices().AsRaw()...)
		c.numbers(one.Address())
		for _, line := range one.Lines().All() {
			c.numbers(uint64(uint32(line.FunctionIndex())), uint64(line.Line()), uint64(line.Column()))
		}
	}, func() { one.MoveTo(c.to.LocationTable().AppendEmpty()) })
}

func (c *copier) stack(i int32) int32 {
	from, one := c.from.StackTable(), pprofile.NewStack()
	return c.entry(stacks, i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		replace(one.LocationIndices(), c.location)
		c.indices(one.LocationIndices().AsRaw()...)
	}, func() { one.MoveTo(c.to.StackTable().AppendEmpty()) })
}

func (c *copier) link(i int32) int32 {
	from := c.from.LinkTable()
	return c.entry(links, i, from.Len(), func() {
		trace, span := from.At(int(i)).TraceID(), from.At(int(i)).SpanID()
		c.key = append(append(c.key, trace[:]...), span[:]...)
	}, func() { from.At(int(i)).CopyTo(c.to.LinkTable().AppendEmpty()) })
}
