package pprofdelta

import (
	"bytes"
	"context"
	"io"
	"runtime/pprof"
)

// Profiler computes the deltas of one profile of its own process. It takes the records of package runtime: no
// profile is written or parsed, and only stacks that are in the delta are symbolized. It is what a profiler of
// godeltaprof is, and its Profile method can be called in the same way.
//
// A delta has the values of the profile that runtime/pprof writes now, minus those at the last window, and in-use
// values as they are. Locations, inlined functions, labels and mappings are as runtime/pprof writes them, with these
// differences: package runtime gives the 32 innermost frames of a stack only, and the type arguments of generic
// functions are "[...]", as in [runtime.Frame]. [WithFullStacks] is without these differences: it has runtime/pprof
// write the profile, and subtracts that.
//
// Between windows a profiler holds 24 bytes for each record. All methods may be called by several goroutines at once.
// Window is as [Computer.Window]: it fails with [ErrPending] while a window is pending. Profile waits for other calls of
// Profile, so w must not call it.
type Profiler struct {
	c       Computer // the options, the turn, and the pending window; it remembers something with full stacks only
	kind    *recordKind
	writing chan struct{} // has an element while a call of Profile is under way

	// What follows is guarded by the computer's mu.
	series []byte  // of the windows, as recorded.h has it; nil: there was none
	base   []tally // where the next window begins, the oldest record first
}

// NewHeapProfiler makes a profiler of what the process allocates, and of what it has in use.
// Options for counters, gauges and resets are refused: all these profilers know what they count.
func NewHeapProfiler(opts ...Option) (*Profiler, error) { return newProfiler(&heapRecords, opts) }

// NewMutexProfiler makes a profiler of the contention of mutexes (see [runtime.SetMutexProfileFraction]).
func NewMutexProfiler(opts ...Option) (*Profiler, error) { return newProfiler(&mutexRecords, opts) }

// NewBlockProfiler makes a profiler of goroutines that wait (see [runtime.SetBlockProfileRate]).
func NewBlockProfiler(opts ...Option) (*Profiler, error) { return newProfiler(&blockRecords, opts) }

func newProfiler(kind *recordKind, opts []Option) (*Profiler, error) {
	c, err := New(opts...)
	if err != nil {
		return nil, err
	}
	if len(c.o.counters)+len(c.o.gauges) > 0 || c.o.onReset != ResetAuto {
		return nil, usage("WithCounters, WithGauges and WithOnReset are for profiles, not for the records of this process")
	}
	p := &Profiler{kind: kind, writing: make(chan struct{}, 1)}
	p.c.o, p.c.turn = c.o, c.turn
	p.c.o.onReset = ResetClamp // the counters of one process
	p.c.SetStarted(started)
	return p, nil
}

// noProfiler is said of a zero profiler.
const noProfiler = "the profiler was not made by NewHeapProfiler, NewMutexProfiler or NewBlockProfiler"

// Profile computes the next window and writes it to w in one call. If anything fails, also w, the next window
// covers this time, too. It waits while another call of Profile computes or writes.
func (p *Profiler) Profile(w io.Writer) error { return p.ProfileContext(context.Background(), w) }

// ProfileContext is [Profiler.Profile]. If the context ends before the delta is written, also while the call waits, the
// call ends with its error. (How long w takes is up to w.)
func (p *Profiler) ProfileContext(ctx context.Context, w io.Writer) error {
	if p == nil || p.kind == nil {
		return usage(noProfiler)
	}
	if err := p.c.o.writable(w); err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	window, err := p.Window(ctx)
	if err != nil {
		return err
	}
	return window.deliver(ctx, w)
}

// Window computes the next window. It is then pending until [Window.Commit], [Window.Abandon] or [Profiler.Abandon].
// The first window begins with the process.
func (p *Profiler) Window(ctx context.Context) (*Window, error) {
	if p == nil || p.kind == nil {
		return nil, usage(noProfiler)
	}
	if err := p.c.lock(ctx); err != nil {
		return nil, err
	}
	defer p.c.unlock()
	if p.c.o.fullStacks {
		return p.fromProfile(ctx)
	}
	p.c.mu.Lock()
	series, base := p.series, p.base
	p.c.mu.Unlock()

	input := takeBuffer()
	defer input.give()
	at, base, cur := p.kind.take(input, &p.c.o, series, base)

	window := &Window{c: &p.c, plain: p.c.o.pool.takeBuffer()}
	var after [2][]byte // the series if the window arrives, and if it is lost
	err := p.c.o.pool.use(ctx, 0, int64(cap(input.b)), func(h *held) error {
		window.plain.b = window.plain.b[:0]
		report, series, err := h.record(input.b, at, window.plain)
		if err == nil {
			window.Report, after = *report, series
		}
		return err
	})
	if err != nil {
		window.give()
		return nil, err
	}
	window.settled = func(arrived bool) {
		p.series, p.base = after[1], base
		if arrived {
			p.series, p.base = after[0], cur
		}
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.pending = window
	return window, nil
}

// fromProfile computes the window from what runtime/pprof writes. The caller has the turn.
func (p *Profiler) fromProfile(ctx context.Context) (*Window, error) {
	input := takeBuffer()
	defer input.give()
	profile := bytes.NewBuffer(input.b)
	_ = pprof.Lookup(p.kind.name).WriteTo(profile, 0) // to memory
	input.b = profile.Bytes()
	return p.c.compute(ctx, input.b, int64(cap(input.b)))
}

// Abandon abandons the pending window, whatever it is, as [Window.Abandon] does.
func (p *Profiler) Abandon() {
	if p != nil {
		p.c.Abandon()
	}
}
