package pprofdeltaprocessor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// All profiles of a request share one dictionary, so a profile that moves to another request needs other
// indices. pdata's MergeTo copies what no profile uses, too, and reads both dictionaries once for each
// merge: the time for a request of n targets would grow with n squared. Here, only what a profile uses is
// copied, and nothing twice, in time that grows with what is copied.

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
	for at := range d.found {
		d.found[at] = map[string]int32{}
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

	// What becomes the next entry.
	attributeEntry pprofile.KeyValueAndUnit
	mappingEntry   pprofile.Mapping
	functionEntry  pprofile.Function
	locationEntry  pprofile.Location
	stackEntry     pprofile.Stack
}

func (d *dictionary) copier(from pprofile.ProfilesDictionary) *copier {
	c := &copier{
		dictionary: d, from: from,
		attributeEntry: pprofile.NewKeyValueAndUnit(), mappingEntry: pprofile.NewMapping(),
		functionEntry: pprofile.NewFunction(), locationEntry: pprofile.NewLocation(), stackEntry: pprofile.NewStack(),
	}
	for at := range c.done {
		c.done[at] = map[int32]int32{}
	}
	return c
}

// entry returns the index of the entry that is the i-th in from. encode reads it into an entry of the
// copier, with its new indices, and appends what it consists of to the key. add adds that to the new
// dictionary.
func (c *copier) entry(in table, what string, i int32, length int, encode, add func()) int32 {
	if i == 0 || c.err != nil {
		return 0
	}
	if i < 0 || int(i) >= length {
		c.err = fmt.Errorf("%s %d of a table with %d entries", what, i, length)
		return 0
	}
	if index, ok := c.done[in][i]; ok {
		return index
	}
	begin := len(c.key)
	encode()
	index, ok := c.found[in][string(c.key[begin:])]
	if c.err != nil { // it has children that were not copied
		c.key = c.key[:begin]
		return 0
	}
	if !ok {
		index = int32(len(c.found[in]) + 1)
		c.found[in][string(c.key[begin:])] = index
		add()
	}
	c.key = c.key[:begin]
	c.done[in][i] = index
	return index
}

// index encodes an index, and returns it.
func (c *copier) index(i int32) int32 {
	c.number(uint64(uint32(i)))
	return i
}

func (c *copier) number(n uint64) { c.key = binary.AppendUvarint(c.key, n) }

// indices replaces the indices of an entry. The children encode themselves into the same key, so all
// are found before the first is appended.
func (c *copier) indices(of pcommon.Int32Slice, index func(int32) int32) {
	for at, i := range of.All() {
		of.SetAt(at, index(i))
	}
	c.number(uint64(of.Len()))
	for _, i := range of.All() {
		c.index(i)
	}
}

func (c *copier) text(i int32) int32 {
	from := c.from.StringTable()
	return c.entry(texts, "string", i, from.Len(),
		func() { c.key = append(c.key, from.At(int(i))...) },
		func() { c.to.StringTable().Append(from.At(int(i))) })
}

var errNoValue = errors.New("an attribute has no value that pdata can show")

func (c *copier) attribute(i int32) int32 {
	from, one := c.from.AttributeTable(), c.attributeEntry
	return c.entry(attributes, "attribute", i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetKeyStrindex(c.text(one.KeyStrindex()))
		one.SetUnitStrindex(c.text(one.UnitStrindex()))
		c.index(one.KeyStrindex())
		c.index(one.UnitStrindex())
		var isWhole bool
		// The index of a string as the value is copied unseen, so it would be one of the old dictionary.
		if c.key, isWhole = appendValue(c.key, one.Value()); !isWhole && c.err == nil {
			c.err = errNoValue
		}
	}, func() { one.MoveTo(c.to.AttributeTable().AppendEmpty()) })
}

func (c *copier) mapping(i int32) int32 {
	from, one := c.from.MappingTable(), c.mappingEntry
	return c.entry(mappings, "mapping", i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
		c.indices(one.AttributeIndices(), c.attribute)
		c.index(one.FilenameStrindex())
		c.number(one.MemoryStart())
		c.number(one.MemoryLimit())
		c.number(one.FileOffset())
	}, func() { one.MoveTo(c.to.MappingTable().AppendEmpty()) })
}

func (c *copier) function(i int32) int32 {
	from, one := c.from.FunctionTable(), c.functionEntry
	return c.entry(functions, "function", i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetNameStrindex(c.text(one.NameStrindex()))
		one.SetSystemNameStrindex(c.text(one.SystemNameStrindex()))
		one.SetFilenameStrindex(c.text(one.FilenameStrindex()))
		c.index(one.NameStrindex())
		c.index(one.SystemNameStrindex())
		c.index(one.FilenameStrindex())
		c.number(uint64(one.StartLine()))
	}, func() { one.MoveTo(c.to.FunctionTable().AppendEmpty()) })
}

func (c *copier) location(i int32) int32 {
	from, one := c.from.LocationTable(), c.locationEntry
	return c.entry(locations, "location", i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		one.SetMappingIndex(c.mapping(one.MappingIndex()))
		for _, line := range one.Lines().All() {
			line.SetFunctionIndex(c.function(line.FunctionIndex()))
		}
		c.indices(one.AttributeIndices(), c.attribute)
		c.index(one.MappingIndex())
		c.number(one.Address())
		for _, line := range one.Lines().All() {
			c.index(line.FunctionIndex())
			c.number(uint64(line.Line()))
			c.number(uint64(line.Column()))
		}
	}, func() { one.MoveTo(c.to.LocationTable().AppendEmpty()) })
}

func (c *copier) stack(i int32) int32 {
	from, one := c.from.StackTable(), c.stackEntry
	return c.entry(stacks, "stack", i, from.Len(), func() {
		from.At(int(i)).CopyTo(one)
		c.indices(one.LocationIndices(), c.location)
	}, func() { one.MoveTo(c.to.StackTable().AppendEmpty()) })
}

func (c *copier) link(i int32) int32 {
	from := c.from.LinkTable()
	return c.entry(links, "link", i, from.Len(), func() {
		trace, span := from.At(int(i)).TraceID(), from.At(int(i)).SpanID()
		c.key = append(append(c.key, trace[:]...), span[:]...)
	}, func() { from.At(int(i)).CopyTo(c.to.LinkTable().AppendEmpty()) })
}

// profile changes the indices of a profile. If it fails, the profile is of no use any more, but the copier is.
func (c *copier) profile(p pprofile.Profile) error {
	c.err = nil
	for _, kind := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
		kind.SetTypeStrindex(c.text(kind.TypeStrindex()))
		kind.SetUnitStrindex(c.text(kind.UnitStrindex()))
	}
	c.replace(p.AttributeIndices(), c.attribute)
	for _, sample := range p.Samples().All() {
		sample.SetStackIndex(c.stack(sample.StackIndex()))
		sample.SetLinkIndex(c.link(sample.LinkIndex()))
		c.replace(sample.AttributeIndices(), c.attribute)
	}
	return c.err
}

// replace replaces the indices of what is no entry.
func (c *copier) replace(of pcommon.Int32Slice, index func(int32) int32) {
	for at, i := range of.All() {
		of.SetAt(at, index(i))
	}
}

// appendValue encodes a value. Values that differ are encoded differently. isWhole is false if there is
// one without a type.
func appendValue(to []byte, v pcommon.Value) (key []byte, isWhole bool) {
	to = append(to, byte(v.Type()))
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return to, false
	case pcommon.ValueTypeMap:
		return appendMap(to, v.Map())
	case pcommon.ValueTypeSlice:
		to, isWhole = binary.AppendUvarint(to, uint64(v.Slice().Len())), true
		for _, one := range v.Slice().All() {
			var is bool
			to, is = appendValue(to, one)
			isWhole = isWhole && is
		}
		return to, isWhole
	}
	return appendText(to, v.AsString()), true
}

// appendMap is appendValue. The order of the map does not matter.
func appendMap(to []byte, m pcommon.Map) (key []byte, isWhole bool) {
	to, isWhole = binary.AppendUvarint(to, uint64(m.Len())), true
	values := map[string]pcommon.Value{}
	for name, value := range m.All() {
		values[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var is bool
		to, is = appendValue(appendText(to, name), values[name])
		isWhole = isWhole && is
	}
	return to, isWhole
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
