package pprofdelta

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// WindowTables is a window as tables, with the columns that pprofdelta_tables.h and libpprofdelta-tables(3) describe. A
// table is a column of [KindStruct], whose Children are the columns. The rows of all but Samples repeat in later windows,
// with the same ids: a database needs each id once.
type WindowTables struct{ Samples, Stacks, Locations, Functions Column }

// ColumnKind says what a [Column] has. The values are the format strings of Arrow.
type ColumnKind string

// The kinds of columns.
const (
	KindInt64      ColumnKind = "l"       // Ints
	KindUint64     ColumnKind = "L"       // Ints, whose bits are those of the numbers
	KindTimestamp  ColumnKind = "tsn:UTC" // Ints: nanoseconds since 1970
	KindBool       ColumnKind = "b"       // Bits
	KindString     ColumnKind = "u"       // row i is Text[Offsets[i]:Offsets[i+1]], in UTF-8
	KindDictionary ColumnKind = "i"       // row i is row Indices[i] of the Dictionary, which has strings
	KindList       ColumnKind = "+l"      // row i has the rows from Offsets[i] to Offsets[i+1] of the only child
	KindStruct     ColumnKind = "+s"      // row i is row i of all children
)

// Column is a column of a table. Bits are in Arrow's order: row i is the bit i%8, from the lowest, of byte i/8.
type Column struct {
	Name       string
	Kind       ColumnKind
	IsNullable bool
	Len        int
	Valid      []byte // if it is nullable: a bit for each row; 0 is null
	Ints       []int64
	Bits       []byte
	Text       []byte
	Offsets    []int32 // one more than rows
	Indices    []int32
	Children   []Column
	Dictionary *Column
}

// Child returns the child of this name, or nil. In a table, it is a column.
func (c *Column) Child(name string) *Column {
	for i := range c.Children {
		if c.Children[i].Name == name {
			return &c.Children[i]
		}
	}
	return nil
}

// IsNull returns whether this row is null.
func (c *Column) IsNull(row int) bool { return c.IsNullable && !bit(c.Valid, row) }

// Bool returns a row of [KindBool].
func (c *Column) Bool(row int) bool { return bit(c.Bits, row) }

func bit(bits []byte, row int) bool { return bits[row/8]>>(row%8)&1 != 0 }

// String returns a row of [KindString] or [KindDictionary]; "" if it is null.
func (c *Column) String(row int) string {
	switch {
	case c.IsNull(row):
		return ""
	case c.Kind == KindDictionary:
		return c.Dictionary.String(int(c.Indices[row]))
	}
	return string(c.Text[c.Offsets[row]:c.Offsets[row+1]])
}

// Tables returns the tables of a window of a computer or a profiler with [WithFormat]([Tables]). They are made anew in
// each call, and belong to the caller. It may be called at any time, also after Commit.
func (w *Window) Tables() (*WindowTables, error) {
	switch {
	case w == nil || w.c == nil:
		return nil, usage(noWindow)
	case w.c.o.format != Tables:
		return nil, usage("Window.Tables is for WithFormat(Tables), and the format is %v", w.c.o.format)
	}
	return readTables(w.plain.b)
}

func readTables(encoded []byte) (*WindowTables, error) {
	a := &answer{bytes: encoded}
	t := &WindowTables{Samples: a.column(0), Stacks: a.column(0), Locations: a.column(0), Functions: a.column(0)}
	if a.short || len(a.bytes) > 0 {
		return nil, outside("the writing of tables")
	}
	return t, nil
}

// deepestColumn is more than any table has: samples, labels, item, key, dictionary.
const deepestColumn = 8

// column reads a column as glue.h has it. If that is damaged, it sets short. Else, nothing points out of the column.
func (a *answer) column(depth int) Column {
	c := Column{Kind: ColumnKind(a.text()), Name: a.text(), IsNullable: a.u32()&2 != 0, Len: int(int32(a.u32()))}
	children, hasDictionary := a.u32(), a.flag()
	for a.require(c.Len >= 0 && c.Len < math.MaxInt32-7 && depth < deepestColumn); children > 0 && !a.short; children-- {
		c.Children = append(c.Children, a.column(depth+1))
	}
	if hasDictionary && !a.short {
		dictionary := a.column(depth + 1)
		c.Dictionary = &dictionary
	}
	if c.IsNullable {
		c.Valid = a.bits(c.Len)
	}
	switch c.Kind {
	case KindInt64, KindUint64, KindTimestamp:
		c.Ints = numbers[int64](a, c.Len)
	case KindBool:
		c.Bits = a.bits(c.Len)
	case KindString:
		end := 0
		if c.Offsets = numbers[int32](a, c.Len+1); !a.short {
			end = int(c.Offsets[c.Len])
		}
		c.Text = bytes.Clone(a.take(end))
		a.require(slices.IsSorted(c.Offsets) && c.Offsets[0] == 0)
	case KindList:
		c.Offsets = numbers[int32](a, c.Len+1)
		a.require(a.short || len(c.Children) == 1 && slices.IsSorted(c.Offsets) && c.Offsets[0] == 0 &&
			int(c.Offsets[c.Len]) == c.Children[0].Len)
	case KindDictionary:
		c.Indices = numbers[int32](a, c.Len)
		a.require(c.Dictionary != nil && c.Dictionary.Kind == KindString)
		for row, index := range c.Indices {
			a.require(a.short || c.IsNull(row) || index >= 0 && int(index) < c.Dictionary.Len)
		}
	case KindStruct:
		for i := range c.Children {
			a.require(c.Children[i].Len == c.Len)
		}
	default:
		a.require(false)
	}
	return c
}

// require sets short unless what was read is right.
func (a *answer) require(isRight bool) { a.short = a.short || !isRight }

func (a *answer) bits(rows int) []byte { return bytes.Clone(a.take((rows + 7) / 8)) }

// numbers reads so many numbers; if they are not there, it returns one, which is 0.
func numbers[T int32 | int64](a *answer, n int) []T {
	size := binary.Size(T(0))
	if a.short || n > len(a.bytes)/size {
		a.short = true
		return make([]T, 1)
	}
	values := make([]T, n)
	_, err := binary.Decode(a.take(n*size), binary.LittleEndian, values)
	a.require(err == nil)
	return values
}
