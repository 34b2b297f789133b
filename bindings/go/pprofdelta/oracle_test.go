package pprofdelta

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

func TestDeltaIsTheDifference(t *testing.T) {
	for seed := range uint64(40) {
		p, c, prev, cur := begun(seed, 1+int(seed*seed%150))
		for window := range 5 {
			same(t, fmt.Sprintf("seed %d, window %d", seed, window), deltaOf(c, cur), merged(prev, cur))
			p.Run()
			prev, cur = cur, p.Bytes()
		}
	}
}

func TestDeltaOfAProfileWithItselfHasNoCounters(t *testing.T) {
	found := map[string]bool{}
	for _, kind := range []string{"heap", "mutex", "block"} {
		c, profile := newComputer(), read("valid/"+kind+".2.pb.gz")
		deltaOf(c, profile)
		w, delta := windowOf(c, profile)
		for _, of := range w.Report.Types {
			if name := of.Type + "/" + of.Unit; of.IsCounter {
				found[name] = true
				if sum := parsed(delta).Sum(name); sum != 0 {
					t.Errorf("%s: %s is %d", kind, name, sum)
				}
			}
		}
		if !w.Report.IsSame {
			t.Errorf("%s: IsSame is false", kind)
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, KnownCounters()) {
		t.Errorf("the counters are %v, not %v", got, KnownCounters())
	}
}

func TestSumIsTheInverse(t *testing.T) {
	for seed := range uint64(12) {
		p, c := newProcess(seed, 60), newComputer()
		last := p.Bytes()
		must(0, c.Base(context.Background(), last))
		profiles := [][]byte{last}
		for range 4 {
			p.Run()
			last = p.Bytes()
			profiles = append(profiles, deltaOf(c, last))
		}
		var out bytes.Buffer
		if joins := must(Sum(context.Background(), &out, profiles)); fmt.Sprint(joins) != "[first next next next next]" {
			t.Errorf("joins: %v", joins)
		}
		same(t, fmt.Sprintf("seed %d", seed), out.Bytes(), parsed(last))
	}
}

func TestReportHasTheSums(t *testing.T) {
	_, c, prev, cur := begun(1, 80, WithVerify())
	w, delta := windowOf(c, cur)
	for _, kind := range w.Report.Types {
		for i, got := range []Int128{kind.Prev, kind.Cur, kind.Delta} {
			want := []*proftest.Profile{parsed(prev), parsed(cur), parsed(delta)}[i].Sum(kind.Type + "/" + kind.Unit)
			if i == 0 && !kind.IsCounter {
				want = 0
			}
			if v, ok := got.Int64(); !ok || v != want {
				t.Errorf("%s, sum %d: %v, not %d", kind.Type, i, got, want)
			}
		}
		if kind.IsCounter != strings.HasPrefix(kind.Type, "alloc_") {
			t.Errorf("%+v", kind)
		}
	}
	if w.Report.SamplesIn != uint64(len(parsed(cur).Samples)) || !w.Report.HadBase ||
		w.Report.SamplesOut == 0 || w.Report.To.Sub(w.Report.From).Seconds() != 10 {
		t.Errorf("%+v", w.Report)
	}
}
