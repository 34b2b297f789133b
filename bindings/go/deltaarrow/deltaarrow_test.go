package deltaarrow

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

func must[T any](result T, err error) T { return proftest.Must(result, err) }

// profiles has a heap profile, one with labels, and one without addresses.
func profiles() map[string][]byte {
	return map[string][]byte{"heap": proftest.File("valid/heap.2.pb.gz"), "labels": proftest.NewProcess(2, 60).Bytes(),
		"without addresses": proftest.NewProcess(3, 60).Bytes()}
}

func window(profile []byte, opts ...pprofdelta.Option) *pprofdelta.Window {
	c := must(pprofdelta.New(append(opts, pprofdelta.WithID(1))...))
	return must(c.Window(context.Background(), profile))
}

// records returns the records of a window.
func records(profile []byte) map[string]arrow.RecordBatch {
	tables := must(window(profile, pprofdelta.WithFormat(pprofdelta.Tables)).Tables())
	return map[string]arrow.RecordBatch{"samples": Record(&tables.Samples), "stacks": Record(&tables.Stacks),
		"locations": Record(&tables.Locations), "functions": Record(&tables.Functions)}
}

// The columns of pprofdelta_tables.h.
var (
	text   = arrow.BinaryTypes.String
	number = arrow.PrimitiveTypes.Int64
	flag   = arrow.FixedWidthTypes.Boolean
	dict   = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: text}
	nanos  = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}

	schemas = map[string][]arrow.Field{
		"samples": {not("target", dict), null("from", nanos), null("time", nanos), null("sequence", number), null("attempt", number),
			not("restart", flag), not("stack_id", number), not("alloc_objects", number), not("alloc_space", number),
			not("inuse_objects", number), not("inuse_space", number),
			not("labels", list(arrow.StructOf(not("key", dict), null("str", dict), null("num", number), null("unit", dict))))},
		"stacks": {not("stack_id", number), not("location_ids", list(number))},
		"locations": {not("location_id", number), not("build_id", dict), not("file", dict), not("address", arrow.PrimitiveTypes.Uint64),
			not("lines", list(arrow.StructOf(not("function_id", number), not("line", number), not("inlined", flag))))},
		"functions": {not("function_id", number), not("name", text), not("system_name", text), not("file", dict),
			not("start_line", number)},
	}
)

func not(name string, kind arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: kind} }

func null(name string, kind arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: kind, Nullable: true}
}

func list(kind arrow.DataType) arrow.DataType { return arrow.ListOfNonNullable(kind) }

func TestSchemas(t *testing.T) {
	for name, record := range records(profiles()["labels"]) {
		if want := arrow.NewSchema(schemas[name], nil); !record.Schema().Equal(want) {
			t.Errorf("%s: the schema is\n%v\nnot\n%v", name, record.Schema(), want)
		}
	}
}

// TestRowsOfTheCommand: the rows are those of the files that the command makes of the same delta.
func TestRowsOfTheCommand(t *testing.T) {
	command := os.Getenv("PPROFDELTA_COMMAND")
	if command == "" {
		t.Skip("PPROFDELTA_COMMAND does not name the command")
	}
	for what, profile := range profiles() {
		folder := t.TempDir()
		file := filepath.Join(folder, "delta.pb.gz")
		must(0, os.WriteFile(file, must(window(profile).Bytes()), 0o600))
		must(exec.Command(command, "export", "-q", file, "-o", folder).Output())
		for name, record := range records(profile) {
			reader := must(ipc.NewFileReader(bytes.NewReader(must(os.ReadFile(filepath.Join(folder, name+".arrow"))))))
			want := must(reader.RecordBatch(0))
			got, wanted := must(record.MarshalJSON()), must(want.MarshalJSON())
			if reader.NumRecords() != 1 || record.NumRows() == 0 || !bytes.Equal(got, wanted) {
				t.Errorf("%s, %s: %d rows\n%.2000s\nnot %d\n%.2000s", what, name, record.NumRows(), got, want.NumRows(), wanted)
			}
		}
	}
}
