// Package deltaarrow makes records of Apache Arrow of the tables of a window (see [pprofdelta.Window.Tables]). It is a
// module of its own, so that pprofdelta needs no other.
//
//	computer, err := pprofdelta.New(pprofdelta.WithFormat(pprofdelta.Tables))
//	...
//	window, err := computer.Window(ctx, profile)
//	...
//	tables, err := window.Tables()
//	...
//	samples := deltaarrow.Record(&tables.Samples)
//
// The schemas are those of pprofdelta_tables.h, and so those of the tables of the C library and of Python.
package deltaarrow

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// Record returns a table that [pprofdelta.Window.Tables] has made as a record, which has the memory of the table: do not
// change that. The memory is Go's, so the record need not be released.
func Record(table *pprofdelta.Column) arrow.RecordBatch {
	fields, data := children(table)
	columns := make([]arrow.Array, len(data))
	for i := range data {
		columns[i] = array.MakeFromData(data[i])
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(table.Len))
}

func children(c *pprofdelta.Column) ([]arrow.Field, []arrow.ArrayData) {
	fields, data := make([]arrow.Field, len(c.Children)), make([]arrow.ArrayData, len(c.Children))
	for i := range c.Children {
		child := &c.Children[i]
		data[i] = dataOf(child)
		fields[i] = arrow.Field{Name: child.Name, Type: data[i].DataType(), Nullable: child.IsNullable}
	}
	return fields, data
}

// dataOf returns the buffers of a column, with those of its children.
func dataOf(c *pprofdelta.Column) *array.Data {
	fields, inner := children(c)
	made := func(kind arrow.DataType, buffers ...[]byte) *array.Data {
		all, nulls := []*memory.Buffer{nil}, 0
		if c.IsNullable {
			all[0], nulls = memory.NewBufferBytes(c.Valid), array.UnknownNullCount
		}
		for _, bytes := range buffers {
			all = append(all, memory.NewBufferBytes(bytes))
		}
		return array.NewData(kind, c.Len, all, inner, nulls, 0)
	}
	numbers, offsets := arrow.Int64Traits.CastToBytes(c.Ints), arrow.Int32Traits.CastToBytes(c.Offsets)
	switch c.Kind {
	case pprofdelta.KindInt64:
		return made(arrow.PrimitiveTypes.Int64, numbers)
	case pprofdelta.KindUint64:
		return made(arrow.PrimitiveTypes.Uint64, numbers)
	case pprofdelta.KindTimestamp:
		return made(&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, numbers)
	case pprofdelta.KindBool:
		return made(arrow.FixedWidthTypes.Boolean, c.Bits)
	case pprofdelta.KindString:
		return made(arrow.BinaryTypes.String, offsets, c.Text)
	case pprofdelta.KindList:
		return made(arrow.ListOfField(fields[0]), offsets)
	case pprofdelta.KindStruct:
		return made(arrow.StructOf(fields...))
	case pprofdelta.KindDictionary:
		data := made(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
			arrow.Int32Traits.CastToBytes(c.Indices))
		data.SetDictionary(dataOf(c.Dictionary))
		return data
	}
	panic("deltaarrow: " + c.Name + " is no column of pprofdelta.Window.Tables")
}
