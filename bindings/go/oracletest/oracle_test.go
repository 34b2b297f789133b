// Package oracletest holds package pprofdelta against google/pprof, against the command, and against other compressors.
package oracletest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	plain "github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// testdata is the profiles of the repository.
const testdata = "../../../testdata"

// pairs are its real profiles.
var pairs = []string{"heap", "mutex", "block"}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newComputer(t testing.TB, opts ...pprofdelta.Option) *pprofdelta.Computer {
	t.Helper()
	c, err := pprofdelta.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func deltaOf(t testing.TB, c *pprofdelta.Computer, profile []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Delta(profile, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func parsed(t testing.TB, b []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func packed(t testing.TB, p interface{ Write(io.Writer) error }) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rows returns the values of a profile by stack and labels, as the module's own reader has them. TestOracleOfTheModule
// holds that against google/pprof.
func rows(t testing.TB, b []byte) map[string][]int64 {
	t.Helper()
	p, err := plain.ParseData(b)
	if err == nil {
		p, err = plain.Merge([]*plain.Profile{p})
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]int64{}
	for _, s := range p.Sample {
		out[s.Key()] = s.Value
	}
	return out
}

func same(t *testing.T, what string, got, want map[string][]int64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Errorf("%s: %d rows, not %d", what, len(got), len(want))
	}
	for key, values := range want {
		if !slices.Equal(got[key], values) {
			t.Fatalf("%s: %v, not %v: %s", what, got[key], values, key)
		}
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
func merged(t testing.TB, prev, cur []byte) []byte {
	t.Helper()
	p, err := profile.Merge([]*profile.Profile{scaled(parsed(t, prev), -1, 0), parsed(t, cur)})
	if err != nil {
		t.Fatal(err)
	}
	return packed(t, p)
}

// later returns the profile of a process that has run on: some stacks have counted, and all tables have another order.
func later(t testing.TB, random *rand.Rand, b []byte) []byte {
	t.Helper()
	p := parsed(t, b)
	for n, s := range p.Sample {
		if n == 0 || random.IntN(4) == 0 {
			for i, kind := range p.SampleType {
				if n := random.Int64N(1 << 20); strings.HasPrefix(kind.Type, "inuse_") {
					s.Value[i] = n * random.Int64N(2)
				} else {
					s.Value[i] += n
				}
			}
		}
	}
	shuffle(random, p.Sample)
	shuffle(random, p.Location)
	shuffle(random, p.Function)
	for i, l := range p.Location {
		l.ID = uint64(i + 1)
	}
	for i, f := range p.Function {
		f.ID = uint64(i + 1)
	}
	p.TimeNanos += 1e10
	return packed(t, p)
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestDeltaIsWhatMergeGives(t *testing.T) {
	for _, kind := range pairs {
		random, prev := rand.New(rand.NewPCG(1, uint64(len(kind)))), read(t, "valid/"+kind+".1.pb.gz")
		c := newComputer(t, pprofdelta.WithVerify())
		deltaOf(t, c, prev)
		for window := range 12 {
			cur := later(t, random, prev)
			want := merged(t, prev, cur)
			same(t, fmt.Sprint(kind, ", window ", window), rows(t, deltaOf(t, c, cur)), rows(t, want))
			prev = cur
		}
	}
}

// TestDeltaOfRealProfiles: Merge writes a sample that has vanished as a negative one; a delta does not have it.
func TestDeltaOfRealProfiles(t *testing.T) {
	for _, kind := range pairs {
		prev, cur := read(t, "valid/"+kind+".1.pb.gz"), read(t, "valid/"+kind+".2.pb.gz")
		c := newComputer(t)
		deltaOf(t, c, prev)
		want := rows(t, merged(t, prev, cur))
		for key, values := range want {
			if slices.ContainsFunc(values, func(v int64) bool { return v < 0 }) {
				delete(want, key)
			}
		}
		same(t, kind, rows(t, deltaOf(t, c, cur)), want)
	}
}

// TestOracleOfTheModule: the reader, the writer and Merge that the module's own tests have are those of google/pprof.
func TestOracleOfTheModule(t *testing.T) {
	for _, kind := range pairs {
		b := read(t, "valid/"+kind+".1.pb.gz")
		p, err := plain.ParseData(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := parsed(t, packed(t, p)), parsed(t, b); got.String() != want.String() {
			t.Errorf("%s: written as %s", kind, got)
		}
		twice, err := plain.Merge([]*plain.Profile{p, p})
		if err != nil {
			t.Fatal(err)
		}
		want, err := profile.Merge([]*profile.Profile{parsed(t, b), parsed(t, b)})
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed(t, packed(t, twice)); len(got.Sample) != len(want.Sample) || len(got.Sample) == 0 {
			t.Errorf("%s: Merge has %d samples, not %d", kind, len(got.Sample), len(want.Sample))
		}
		same(t, kind, rows(t, packed(t, twice)), rows(t, packed(t, want)))
	}
}

func plainOf(t testing.TB, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func zstdWriter(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

func zstdOf(t testing.TB, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

// TestCompressors: those of other packages write the delta, are used again, and their output is input.
func TestCompressors(t *testing.T) {
	profile := read(t, "valid/heap.1.pb.gz")
	want := rows(t, deltaOf(t, newComputer(t), profile))
	for what, open := range map[string]func(w io.Writer) (io.WriteCloser, error){"zstd": zstdWriter,
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 9) }} {
		compressor := pprofdelta.WithCompressor(open)
		for range 3 {
			delta := deltaOf(t, newComputer(t, compressor), profile)
			census, err := pprofdelta.Check(context.Background(), delta)
			if err != nil || census.Encoding != what {
				t.Errorf("%s: %+v, %v", what, census, err)
			}
			var out bytes.Buffer
			if _, err := pprofdelta.Sum(context.Background(), &out, [][]byte{delta}); err != nil {
				t.Fatal(err)
			}
			same(t, what, rows(t, out.Bytes()), want)
		}
	}
}
