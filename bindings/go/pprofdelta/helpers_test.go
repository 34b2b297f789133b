package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

const second = proftest.Second

var newProcess, read, parsed, plainOf = proftest.NewProcess, proftest.File, proftest.Read, proftest.Inflate

func must[T any](result T, err error) T { return proftest.Must(result, err) }

// newComputer makes a computer whose deltas of equal input are equal bytes.
func newComputer(opts ...Option) *Computer { return must(New(append(opts, WithID(1))...)) }

// deltaOf computes a delta that must not fail, and commits it.
func deltaOf(c *Computer, profile []byte) []byte {
	var out bytes.Buffer
	must(0, c.Delta(profile, &out))
	return out.Bytes()
}

// windowOf computes a window that must not fail.
func windowOf(c *Computer, profile []byte) (*Window, []byte) {
	w := must(c.Window(context.Background(), profile))
	return w, must(w.Bytes())
}

// stateOf saves a computer, and loaded makes one of what was saved.
func stateOf(c *Computer) []byte {
	var state bytes.Buffer
	must(0, c.Save(context.Background(), &state))
	return state.Bytes()
}

func loaded(state []byte, opts ...Option) *Computer {
	c := newComputer(opts...)
	must(0, c.Load(context.Background(), bytes.NewReader(state)))
	return c
}

func rememberedBy(c *Computer) *Remembered { return must(c.Describe(context.Background())) }

func censusOf(profile []byte) *Census { return must(Check(context.Background(), profile)) }

// begun returns a computer that has committed the first profile of a process that has run on, and both profiles.
func begun(seed uint64, stacks int, opts ...Option) (p *proftest.Process, c *Computer, first, cur []byte) {
	p, c = newProcess(seed, stacks), newComputer(opts...)
	first = p.Bytes()
	deltaOf(c, first)
	p.Run()
	return p, c, first, p.Bytes()
}

// merged is the oracle of a delta.
func merged(prev, cur []byte) *proftest.Profile { return parsed(cur).Minus(parsed(prev)) }

// same compares what a profile has measured.
func same(t testing.TB, what string, data []byte, want *proftest.Profile) {
	t.Helper()
	got := parsed(data)
	if wrong := got.Difference(want); wrong != "" || got.Time != want.Time || got.Duration != want.Duration {
		t.Errorf("%s: time %d + %d, not %d + %d; %s", what, got.Time, got.Duration, want.Time, want.Duration, wrong)
	}
}

// numbered checks the sequence and the attempt of a window.
func numbered(t testing.TB, what string, w *Window, sequence, attempt uint64) {
	t.Helper()
	if w.Report.Sequence != sequence || w.Report.Attempt != attempt {
		t.Errorf("%s: sequence %d, attempt %d; not %d, %d", what, w.Report.Sequence, w.Report.Attempt, sequence, attempt)
	}
}

// statusOf fails unless err is an *Error with this status, and returns it.
func statusOf(t testing.TB, what string, err error, want Status) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, want) || e.Status != want {
		t.Fatalf("%s: %v is not an *Error with the status %d", what, err, want)
	}
	return e
}

type calls map[string]func(ctx context.Context) error

// callsOf are all calls of a computer that have a context.
func callsOf(c *Computer, profile, state []byte) calls {
	return calls{
		"DeltaContext": func(ctx context.Context) error { return c.DeltaContext(ctx, profile, io.Discard) },
		"Window":       func(ctx context.Context) error { return errorOf(c.Window(ctx, profile)) },
		"WindowFrom":   func(ctx context.Context) error { return errorOf(c.WindowFrom(ctx, bytes.NewReader(profile))) },
		"Base":         func(ctx context.Context) error { return c.Base(ctx, profile) },
		"Save":         func(ctx context.Context) error { return c.Save(ctx, io.Discard) },
		"Load":         func(ctx context.Context) error { return c.Load(ctx, bytes.NewReader(state)) },
		"Describe":     func(ctx context.Context) error { return errorOf(c.Describe(ctx)) },
	}
}

// functionsWith are all functions that have options.
func functionsWith(profile []byte, opts ...Option) calls {
	return calls{
		"New":     func(context.Context) error { return errorOf(New(opts...)) },
		"Check":   func(ctx context.Context) error { return errorOf(Check(ctx, profile, opts...)) },
		"Compare": func(ctx context.Context) error { return errorOf(Compare(ctx, profile, profile, io.Discard, opts...)) },
		"Sum":     func(ctx context.Context) error { return errorOf(Sum(ctx, io.Discard, [][]byte{profile}, opts...)) },
	}
}

// failing is a writer that fails, or that writes too little.
type failing struct {
	err error
	n   int
}

func (f failing) Write(p []byte) (int, error) { return min(f.n, len(p)), f.err }

// calling is a writer that calls something; writing and reading do so with the bytes.
type calling func() error

func (call calling) Write(p []byte) (int, error) { return len(p), call() }

type writing func(p []byte) (int, error)

func (write writing) Write(p []byte) (int, error) { return write(p) }

type reading func(p []byte) (int, error)

func (read reading) Read(p []byte) (int, error) { return read(p) }
