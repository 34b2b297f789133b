package deltahttp

import (
	"bytes"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

// The oracle of these tests is Merge of internal/profile: it adds up the windows of a reader.

func parsed(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func merge(t *testing.T, all ...*profile.Profile) *profile.Profile {
	t.Helper()
	merged, err := profile.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

// sumOf adds up windows: the counters of all, and the gauges of the last.
func sumOf(t *testing.T, windows [][]byte) *profile.Profile {
	t.Helper()
	var all []*profile.Profile
	for i, data := range windows {
		gauges := int64(0)
		if i == len(windows)-1 {
			gauges = 1
		}
		all = append(all, parsed(t, data).Scale(1, gauges))
	}
	return merge(t, all...)
}

// wantSum fails the test unless the windows add up to the cumulative profile, sample by sample.
func wantSum(t *testing.T, windows [][]byte, cumulative []byte) {
	t.Helper()
	difference := merge(t, sumOf(t, windows), parsed(t, cumulative).Scale(-1, -1))
	if len(difference.Sample) > 0 {
		t.Errorf("%d samples of the sum of %d windows differ from the cumulative profile's; the first: %v",
			len(difference.Sample), len(windows), difference.Sample[0].Value)
	}
}

// columnOf returns the sum of one type over all samples.
func columnOf(t *testing.T, p *profile.Profile, name string) int64 {
	t.Helper()
	for i, typ := range p.SampleType {
		if typ.Type == name {
			var sum int64
			for _, s := range p.Sample {
				sum += s.Value[i]
			}
			return sum
		}
	}
	t.Fatalf("no type %s", name)
	return 0
}

// made returns a heap profile with these allocations of two sites, at a time in nanoseconds.
func made(t *testing.T, nanos int64, objects ...int64) []byte {
	t.Helper()
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/bin/made", BuildID: "made"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "inuse_objects", Unit: "count"}},
		Mapping:    []*profile.Mapping{m},
		TimeNanos:  nanos,
	}
	for i, n := range objects {
		f := &profile.Function{ID: uint64(i + 1), Name: "site"}
		l := &profile.Location{ID: f.ID, Mapping: m, Address: uint64(0x2000 + 16*i), Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, 1}})
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
