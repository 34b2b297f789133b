package pprofdelta

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newComputer makes a computer in the tests' pool.
func newComputer(t testing.TB, opts ...Option) *Computer {
	t.Helper()
	c, err := New(append(opts, WithID(1))...) // equal input then gives equal bytes
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deltaOf computes a delta that must not fail, and commits it.
func deltaOf(t testing.TB, c *Computer, profile []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Delta(profile, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// windowOf computes a window that must not fail.
func windowOf(t testing.TB, c *Computer, profile []byte) (*Window, []byte) {
	t.Helper()
	w, err := c.Window(context.Background(), profile)
	if err != nil {
		t.Fatal(err)
	}
	delta, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return w, delta
}

func commit(t testing.TB, w *Window) {
	t.Helper()
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

// stateOf saves a computer, and loaded makes one of what was saved.
func stateOf(t testing.TB, c *Computer) []byte {
	t.Helper()
	var state bytes.Buffer
	if err := c.Save(context.Background(), &state); err != nil {
		t.Fatal(err)
	}
	return state.Bytes()
}

func loaded(t testing.TB, state []byte, opts ...Option) *Computer {
	t.Helper()
	c := newComputer(t, opts...)
	if err := c.Load(context.Background(), bytes.NewReader(state)); err != nil {
		t.Fatal(err)
	}
	return c
}

// begun returns a computer that has committed the first profile of a process that has run on.
func begun(t testing.TB, seed uint64, stacks int, opts ...Option) (p *process, c *Computer, first []byte) {
	t.Helper()
	p, c = newProcess(seed, stacks), newComputer(t, opts...)
	first = p.bytes(t)
	deltaOf(t, c, first)
	p.run()
	return p, c, first
}

// read reads a file of testdata.
func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pairs are the real profiles of testdata.
var pairs = []string{"heap", "mutex", "block"}

func TestDeltaIsWhatMergeGives(t *testing.T) {
	for seed := range uint64(40) {
		p := newProcess(seed, 1+int(seed*seed%150))
		c := newComputer(t)
		prev := p.bytes(t)
		deltaOf(t, c, prev)
		for window := range 5 {
			p.run()
			cur := p.bytes(t)
			same(t, fmt.Sprintf("seed %d, window %d", seed, window), parsed(t, deltaOf(t, c, cur)),
				merged(t, prev, cur))
			prev = cur
		}
	}
}

func TestDeltaOfAProfileWithItselfHasNoCounters(t *testing.T) {
	found := map[string]bool{}
	for _, kind := range pairs {
		profile := read(t, "valid/"+kind+".2.pb.gz")
		c := newComputer(t)
		deltaOf(t, c, profile)
		w, delta := windowOf(t, c, profile)
		for i, of := range w.Report.Types {
			for _, s := range parsed(t, delta).Sample {
				if of.IsCounter && s.Value[i] != 0 {
					t.Fatalf("%s: %s is %d", kind, of.Type, s.Value[i])
				}
			}
			if of.IsCounter {
				found[of.Type+"/"+of.Unit] = true
			}
		}
		if !w.Report.IsSame {
			t.Errorf("%s: IsSame is false", kind)
		}
		w.Abandon()
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, KnownCounters()) {
		t.Errorf("the counters are %v, not %v", got, KnownCounters())
	}
}

func TestSumIsTheInverse(t *testing.T) {
	for seed := range uint64(12) {
		p := newProcess(seed, 60)
		first := p.bytes(t)
		c := newComputer(t)
		if err := c.Base(context.Background(), first); err != nil {
			t.Fatal(err)
		}
		profiles := [][]byte{first}
		var last []byte
		for range 4 {
			p.run()
			last = p.bytes(t)
			profiles = append(profiles, deltaOf(t, c, last))
		}
		var out bytes.Buffer
		joins, err := Sum(context.Background(), &out, profiles)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(joins) != "[first next next next next]" {
			t.Errorf("joins: %v", joins)
		}
		same(t, fmt.Sprintf("seed %d", seed), parsed(t, out.Bytes()), parsed(t, last))
	}
}

// TestReportIsWhatMergeGives holds the sums of a report against the oracle.
func TestReportIsWhatMergeGives(t *testing.T) {
	p, c, prev := begun(t, 1, 80, WithVerify())
	cur := p.bytes(t)
	w, _ := windowOf(t, c, cur)
	defer w.Abandon()
	want := merged(t, prev, cur)
	for i, kind := range w.Report.Types {
		var sums [3]int64
		for _, s := range parsed(t, prev).Sample {
			sums[0] += s.Value[i]
		}
		for _, s := range parsed(t, cur).Sample {
			sums[1] += s.Value[i]
		}
		for _, s := range want.Sample {
			sums[2] += s.Value[i]
		}
		if !kind.IsCounter {
			sums[0] = 0
		}
		for n, got := range []Int128{kind.Prev, kind.Cur, kind.Delta} {
			if v, ok := got.Int64(); !ok || v != sums[n] {
				t.Errorf("%s, sum %d: %v, not %d", kind.Type, n, got, sums[n])
			}
		}
		if kind.IsCounter != strings.HasPrefix(kind.Type, "alloc_") || kind.Unit == "" {
			t.Errorf("%+v", kind)
		}
	}
	if w.Report.SamplesIn != uint64(len(parsed(t, cur).Sample)) || !w.Report.HadBase ||
		w.Report.SamplesOut == 0 || w.Report.To.Sub(w.Report.From).Seconds() != 10 {
		t.Errorf("%+v", w.Report)
	}
}
