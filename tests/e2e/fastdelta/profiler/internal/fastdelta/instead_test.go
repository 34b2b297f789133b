package fastdelta

// What takes the place of the tests that differences.json lists.

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/DataDog/dd-trace-go/v2/profiler/internal/pprofutils"
)

var heapCounters = []pprofutils.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}

func load(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func encode(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func delta(t *testing.T, dc *DeltaComputer, cur []byte) *profile.Profile {
	t.Helper()
	var out bytes.Buffer
	if err := dc.Delta(cur, &out); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// equal compares two profiles sample by sample, by google/pprof's Merge.
func equal(t *testing.T, got, want *profile.Profile) {
	t.Helper()
	want = want.Copy()
	want.Scale(-1)
	difference, err := profile.Merge([]*profile.Profile{got, want})
	if err != nil {
		t.Fatal(err)
	}
	if len(difference.Sample) > 0 {
		t.Errorf("%d samples differ, of %d", len(difference.Sample), len(want.Sample))
	}
}

func TestCompactionOfALaterWindow(t *testing.T) {
	p, err := profile.ParseData(load(t, "big-heap.pprof"))
	if err != nil {
		t.Fatal(err)
	}
	p.Comments = []string{"first comment", "second comment"}
	p.DefaultSampleType, p.DropFrames, p.KeepFrames = "inuse_objects", "drop.*", "keep.*"
	dc := NewDeltaComputer(heapCounters...)
	equal(t, delta(t, dc, encode(t, p)), p) // the first window is the profile

	for _, s := range p.Sample {
		s.Value[2], s.Value[3] = 0, 0
	}
	changed := p.Sample[0]
	changed.Value[0] += 42
	encoded := encode(t, p)
	got := delta(t, dc, encoded)
	if len(got.Sample) != 1 || got.Sample[0].Value[0] != 42 || got.Sample[0].Value[1] != 0 {
		t.Fatalf("the samples are %v", got.Sample)
	}
	functions := map[uint64]bool{}
	for _, l := range changed.Location {
		for _, line := range l.Line {
			functions[line.Function.ID] = true
		}
	}
	if len(got.Mapping) != 1 || len(got.Location) != len(changed.Location) || len(got.Function) != len(functions) {
		t.Errorf("%d mappings, %d locations and %d functions; want 1, %d and %d", len(got.Mapping), len(got.Location),
			len(got.Function), len(changed.Location), len(functions))
	}
	if !slices.Equal(got.Comments, p.Comments) || got.DefaultSampleType != p.DefaultSampleType ||
		got.DropFrames != p.DropFrames || got.KeepFrames != p.KeepFrames {
		t.Errorf("comments %q, default %q, drop %q, keep %q", got.Comments, got.DefaultSampleType, got.DropFrames, got.KeepFrames)
	}
	if m := got.Mapping[0]; m.BuildID != p.Mapping[0].BuildID || m.File != p.Mapping[0].File {
		t.Errorf("the mapping is %v", m)
	}
	for i, l := range got.Sample[0].Location {
		for j, line := range l.Line {
			if want := changed.Location[i].Line[j]; line.Line != want.Line || line.Function.Name != want.Function.Name ||
				line.Function.SystemName != want.Function.SystemName || line.Function.Filename != want.Function.Filename {
				t.Errorf("line %d of location %d is %v, not %v", j, i, line, want)
			}
		}
	}
	if want := changed.NumLabel["bytes"]; !slices.Equal(got.Sample[0].NumLabel["bytes"], want) || len(want) == 0 {
		t.Errorf("the label is %v, not %v", got.Sample[0].NumLabel, want)
	}
	if size := len(encode(t, got)); size > 2000 {
		t.Errorf("one sample takes %d bytes", size)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the writer fails") }

func TestRecoveryInTheNextWindow(t *testing.T) {
	before, after := load(t, "heap.before.pprof"), load(t, "heap.after.pprof")
	dc, other := NewDeltaComputer(heapCounters...), NewDeltaComputer(heapCounters...)
	if err := dc.Delta(before, failing{}); err == nil {
		t.Fatal("the writer failed, and Delta did not")
	}
	equal(t, delta(t, dc, before), delta(t, other, before)) // all of it, in the very next window
	if err := dc.Delta(after, failing{}); err == nil {
		t.Fatal("the writer failed, and Delta did not")
	}
	equal(t, delta(t, dc, after), delta(t, other, after))
	if err := dc.Delta([]byte("not a profile"), io.Discard); err == nil {
		t.Fatal("what is not a profile has a delta")
	}
	if got := delta(t, dc, after); len(got.Sample) > 0 && got.Sample[0].Value[0] != 0 {
		t.Errorf("the counters of the same profile have changed: %v", got.Sample[0])
	}
}
