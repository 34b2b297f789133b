// Package oracletest holds package pprofdelta, and what its own tests read profiles with, against google/pprof; and the
// package against the command, and with other compressors.
package oracletest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// pairs are the real profiles of the repository.
var pairs = []string{"heap", "mutex", "block"}

func must[T any](result T, err error) T { return proftest.Must(result, err) }

func newComputer(opts ...pprofdelta.Option) *pprofdelta.Computer {
	return must(pprofdelta.New(opts...))
}

func deltaOf(c *pprofdelta.Computer, profile []byte) []byte {
	var out bytes.Buffer
	must(0, c.Delta(profile, &out))
	return out.Bytes()
}

// rows are those of proftest.Read, by google/pprof.
func rows(p *profile.Profile) map[string][]int64 {
	out := map[string][]int64{}
	for _, s := range must(profile.Merge([]*profile.Profile{p})).Sample {
		var key, labels []string
		for _, l := range s.Location {
			place := fmt.Sprintf("%x of ", l.Address)
			if m := l.Mapping; m != nil {
				place += fmt.Sprintf("%s %s %x-%x %x", m.File, m.BuildID, m.Start, m.Limit, m.Offset)
			}
			for _, line := range l.Line {
				name, _, isGeneric := strings.Cut(line.Function.Name, "[")
				place += fmt.Sprint("\n\t", name, isGeneric, line.Function.Filename, ":", line.Function.StartLine, " ", line.Line)
			}
			key = append(key, place)
		}
		for label, values := range s.Label {
			labels = append(labels, label+"="+values[0]+"0")
		}
		for label, values := range s.NumLabel {
			labels = append(labels, fmt.Sprint(label, "=", values[0]))
		}
		slices.Sort(labels)
		at := strings.Join(append(key, labels...), "\n")
		if out[at] != nil {
			panic("Merge has left two equal samples")
		}
		out[at] = s.Value
	}
	return out
}

func same(t *testing.T, what string, got, want map[string][]int64) {
	t.Helper()
	if len(want) == 0 || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: %d rows are not these %d:\n%.1000v\n%.1000v", what, len(got), len(want), got, want)
	}
}

// scaled multiplies the counters and the gauges of a profile.
func scaled(p *profile.Profile, counters, gauges int64) *profile.Profile {
	for _, s := range p.Sample {
		for i, kind := range p.SampleType {
			if strings.HasPrefix(kind.Type, "inuse_") {
				s.Value[i] *= gauges
			} else {
				s.Value[i] *= counters
			}
		}
	}
	return p
}

// merged is google/pprof's Merge of cur, and of prev with its counters negated and without its gauges.
func merged(prev, cur []byte) map[string][]int64 {
	before := scaled(must(profile.ParseData(prev)), -1, 0)
	return rows(must(profile.Merge([]*profile.Profile{before, must(profile.ParseData(cur))})))
}

// TestDeltaIsWhatMergeGives: so is what the module's own tests subtract.
func TestDeltaIsWhatMergeGives(t *testing.T) {
	for seed := range uint64(12) {
		p, c := proftest.NewProcess(seed, int(10*seed)+1), newComputer(pprofdelta.WithVerify())
		prev := p.Bytes()
		deltaOf(c, prev)
		for window := range 4 {
			p.Run()
			what, cur := fmt.Sprintf("seed %d, window %d", seed, window), p.Bytes()
			want := merged(prev, cur)
			same(t, what, rows(must(profile.ParseData(deltaOf(c, cur)))), want)
			same(t, what, proftest.Read(cur).Minus(proftest.Read(prev)).Rows, want)
			prev = cur
		}
	}
}

// TestRealProfiles: Merge writes a sample that has vanished as a negative one; a delta does not have it.
func TestRealProfiles(t *testing.T) {
	for _, kind := range pairs {
		prev, cur := proftest.File("valid/"+kind+".1.pb.gz"), proftest.File("valid/"+kind+".2.pb.gz")
		c, of := newComputer(), must(profile.ParseData(cur))
		deltaOf(c, prev)
		want := merged(prev, cur)
		maps.DeleteFunc(want, func(_ string, values []int64) bool { return slices.Min(values) < 0 })
		same(t, kind, rows(must(profile.ParseData(deltaOf(c, cur)))), want)
		same(t, kind, proftest.Read(cur).Rows, rows(of))
		census := must(pprofdelta.Check(t.Context(), cur))
		if census.Locations != uint64(len(of.Location)) || census.Functions != uint64(len(of.Function)) ||
			census.Mappings != uint64(len(of.Mapping)) || census.Types != uint64(len(of.SampleType)) ||
			census.Samples != uint64(len(of.Sample)) || census.Binary != of.Mapping[0].File || census.BuildID != of.Mapping[0].BuildID {
			t.Errorf("%s: %+v", kind, census)
		}
	}
}

// TestCompressors: those of other packages write the delta, are used again, and their output is input.
func TestCompressors(t *testing.T) {
	profile := proftest.File("valid/heap.1.pb.gz")
	for what, open := range map[string]func(w io.Writer) (io.WriteCloser, error){
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 9) }} {
		compressor := pprofdelta.WithCompressor(open)
		for range 3 {
			delta := deltaOf(newComputer(compressor), profile)
			if census := must(pprofdelta.Check(t.Context(), delta)); census.Encoding != what {
				t.Errorf("%s: %+v", what, census)
			}
			var out bytes.Buffer
			must(pprofdelta.Sum(context.Background(), &out, [][]byte{delta}))
			same(t, what, proftest.Read(out.Bytes()).Rows, proftest.Read(deltaOf(newComputer(), profile)).Rows)
		}
	}
}
