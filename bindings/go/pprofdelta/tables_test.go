package pprofdelta

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

func tablesOf(c *Computer, profile []byte) (*Window, *WindowTables) {
	w := must(c.Window(context.Background(), profile))
	return w, must(w.Tables())
}

// rowsOf returns the rows of a list.
func rowsOf(list *Column, row int) (rows []int) {
	for i := list.Offsets[row]; i < list.Offsets[row+1]; i++ {
		rows = append(rows, int(i))
	}
	return rows
}

// byID returns the rows of a table by their ids, of which none is there twice.
func byID(t testing.TB, table *Column) map[int64]int {
	rows := map[int64]int{}
	for row, id := range table.Children[0].Ints {
		rows[id] = row
	}
	if len(rows) != table.Len {
		t.Errorf("%d rows, %d ids", table.Len, len(rows))
	}
	return rows
}

// samplesIn returns the samples of tables as package proftest has them.
func samplesIn(t testing.TB, tables *WindowTables, types []string) (samples []proftest.Sample) {
	functions, locations, stacks := &tables.Functions, &tables.Locations, &tables.Stacks
	functionRows, locationRows, stackRows := byID(t, functions), byID(t, locations), byID(t, stacks)
	place := func(row int) string {
		list := locations.Child("lines")
		lines, text := &list.Children[0], fmt.Sprintf("%x of %s %s", uint64(locations.Child("address").Ints[row]),
			locations.Child("file").String(row), locations.Child("build_id").String(row))
		for i, at := range rowsOf(list, row) {
			function := functionRows[lines.Child("function_id").Ints[at]]
			name, _, isGeneric := strings.Cut(functions.Child("name").String(function), "[")
			text += fmt.Sprint("\n\t", name, isGeneric, functions.Child("file").String(function), ":",
				functions.Child("start_line").Ints[function], " ", lines.Child("line").Ints[at])
			if isInner := i+1 < len(rowsOf(list, row)); lines.Child("inlined").Bool(at) != isInner {
				t.Errorf("line %d: inlined is %v", i, !isInner)
			}
		}
		return text
	}
	ids, list := stacks.Child("location_ids"), tables.Samples.Child("labels")
	for row := range tables.Samples.Len {
		var s proftest.Sample
		for _, at := range rowsOf(ids, stackRows[tables.Samples.Child("stack_id").Ints[row]]) {
			s.Places = append(s.Places, place(locationRows[ids.Children[0].Ints[at]]))
		}
		for _, name := range types {
			s.Values = append(s.Values, tables.Samples.Child(strings.Split(name, "/")[0]).Ints[row])
		}
		key, text, number := list.Children[0].Child("key"), list.Children[0].Child("str"), list.Children[0].Child("num")
		for _, at := range rowsOf(list, row) {
			s.Labels = append(s.Labels, fmt.Sprint(key.String(at), "=", text.String(at), number.Ints[at]))
		}
		slices.Sort(s.Labels)
		samples = append(samples, s)
	}
	return samples
}

// TestTablesAreTheDelta: a Go heap, labels, and profiles without addresses.
func TestTablesAreTheDelta(t *testing.T) {
	pairs := [][2][]byte{{read("valid/heap.1.pb.gz"), read("valid/heap.2.pb.gz")}}
	for seed := range uint64(4) {
		p := newProcess(seed, 60)
		first := p.Bytes()
		p.Run()
		pairs = append(pairs, [2][]byte{first, p.Bytes()})
	}
	for i, pair := range pairs {
		plain, c := newComputer(), newComputer(WithFormat(Tables))
		for n, profile := range pair {
			delta := parsed(deltaOf(plain, profile))
			w, tables := tablesOf(c, profile)
			got := samplesIn(t, tables, delta.Types)
			if len(got) == 0 || len(got) != len(delta.Samples) {
				t.Fatalf("pair %d: %d samples, not %d", i, len(got), len(delta.Samples))
			}
			for at, want := range delta.Samples {
				if want.Stack = nil; !reflect.DeepEqual(got[at], want) {
					t.Fatalf("pair %d, window %d: sample %d is\n%v\nnot\n%v", i, n, at, got[at], want)
				}
			}
			s := &tables.Samples
			if s.Child("target").String(0) != fmt.Sprintf("%016x", w.Report.ID) || s.Child("restart").Bool(0) ||
				s.Child("sequence").Ints[0] != int64(n+1) || s.Child("attempt").Ints[0] != 1 ||
				!timeOf(s.Child("time").Ints[0]).Equal(w.Report.To) || s.Child("from").IsNull(0) != w.Report.From.IsZero() {
				t.Errorf("pair %d, window %d: the columns before the values: %+v", i, n, s.Children)
			}
			must(0, w.Commit())
		}
	}
	_, tables := tablesOf(newComputer(WithFormat(Tables), WithResource("target", "host\xff")), pairs[0][0])
	if target := tables.Samples.Child("target").String(0); target != "host\ufffd" {
		t.Errorf("the target is %q", target)
	}
}

func TestTablesHaveNoBytes(t *testing.T) {
	profile, c := read("valid/heap.1.pb.gz"), newComputer(WithFormat(Tables))
	w, _ := tablesOf(c, profile)
	w.Abandon()
	other, _ := windowOf(newComputer(), profile)
	profiler := must(NewHeapProfiler(WithFormat(Tables)))
	if must(must(profiler.Window(t.Context())).Tables()).Samples.Len == 0 {
		t.Error("a profiler: no samples")
	}
	all := functionsWith(profile, WithFormat(Tables))
	for what, err := range map[string]error{"Bytes": errorOf(w.Bytes()), "Delta": c.Delta(profile, io.Discard),
		"Compare": all["Compare"](t.Context()), "Sum": all["Sum"](t.Context()), "Profile": profiler.Profile(io.Discard),
		"Tables of pprof": errorOf(other.Tables()), "Tables of no window": errorOf(new(Window).Tables())} {
		statusOf(t, what, err, ErrUsage)
	}
}

// look calls everything that could point out of a column.
func look(c *Column) {
	for row := range c.Len {
		switch c.Kind {
		case KindString, KindDictionary:
			_ = c.String(row)
		case KindBool:
			_ = c.Bool(row)
		case KindList:
			_ = rowsOf(c, row)
		}
		_ = c.IsNull(row)
	}
	for i := range c.Children {
		look(&c.Children[i])
	}
	if c.Dictionary != nil {
		look(c.Dictionary)
	}
}

// TestDamagedTables: whatever an instance has written, no row points out of its column.
func TestDamagedTables(t *testing.T) {
	w, _ := tablesOf(newComputer(WithFormat(Tables)), newProcess(2, 6).Bytes())
	whole := w.plain.b
	for n := range whole {
		_, err := readTables(whole[:n])
		statusOf(t, fmt.Sprint("cut at ", n), err, ErrEngine)
	}
	_, err := readTables(append(bytes.Clone(whole), 0))
	statusOf(t, "a byte more", err, ErrEngine)
	for at := range whole[:len(whole)-3] {
		for _, word := range []uint32{0, 7, 1 << 31, 1<<32 - 1} {
			damaged := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(damaged[at:], word)
			if tables, err := readTables(damaged); err != nil {
				statusOf(t, fmt.Sprint("damage at ", at), err, ErrEngine)
			} else {
				look(&Column{Children: []Column{tables.Samples, tables.Stacks, tables.Locations, tables.Functions}})
			}
		}
	}
	levels := func(n int) []byte { // structs, of which each but the last has a child; and three tables
		level := "\x02\x00\x00\x00+s" + strings.Repeat("\x00", 12) + "\x01" + strings.Repeat("\x00", 7)
		return []byte(strings.Repeat(level, n-1) + strings.Repeat(strings.ReplaceAll(level, "\x01", "\x00"), 4))
	}
	must(readTables(levels(deepestColumn)))
	_, err = readTables(levels(deepestColumn + 1))
	statusOf(t, "too deep", err, ErrEngine)
}
