package pprofdelta

import (
	"context"
	"io"
)

// Profiler computes the deltas of one profile of its own process. It takes the records of package runtime: no
// profile is written or parsed, and only stacks that are in the delta are symbolized. It is what a profiler of
// godeltaprof is, and its Profile method can be called in the same way.
//
// A delta has the values of the profile that runtime/pprof writes now, minus those at the last window, and in-use
// values as they are. Locations, inlined functions, labels and mappings are as runtime/pprof writes them, with these
// differences: package runtime gives the 32 innermost frames of a stack only, and the type arguments of generic
// functions are "[...]", as in [runtime.Frame].
//
// Between windows a profiler holds 24 bytes for each record. All methods may be called by several goroutines at once;
// Profile and Window as [Computer.Delta] and [Computer.Window].
type Profiler struct {
	c    Computer // the options, the turn, and the pending window; it remembers nothing
	kind *recordKind

	// What follows is guarded by the computer's mu.
	series []byte  // of the windows, as records.c has it; nil: there was none
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
	p := &Profiler{kind: kind}
	p.c.o, p.c.turn = c.o, c.turn
	return p, nil
}

// noProfiler is said of a zero profiler.
const noProfiler = "the profiler was not made by NewHeapProfiler, NewMutexProfiler or NewBlockProfiler"

// Profile computes the next window and writes it to w in one call. If anything fails, also w, the next window
// covers this time, too.
func (p *Profiler) Profile(w io.Writer) error {
	if p == nil || p.kind == nil {
		return usage(noProfiler)
	}
	if err := p.c.o.writable(w); err != nil {
		return err
	}
	window, err := p.Window(context.Background())
	if err != nil {
		return err
	}
	return window.deliver(context.Background(), w)
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
	p.c.mu.Lock()
	series, base := p.series, p.base
	p.c.mu.Unlock()

	input := takeBuffer()
	defer input.give()
	at, base, cur := p.kind.take(input, &p.c.o, series, base)

	window := &Window{c: &p.c, plain: takeBuffer()}
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

// Abandon abandons the pending window, whatever it is, as [Window.Abandon] does.
func (p *Profiler) Abandon() {
	if p != nil {
		p.c.Abandon()
	}
}
