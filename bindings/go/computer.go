package pprofdelta

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"time"
)

// Computer remembers the counters of one target and computes deltas: the target's windows. It is what
// fastdelta's DeltaComputer is, and its Delta method can be called in the same way.
//
// Between windows a computer holds its saved state only, 20 to 25 bytes for each sample. All methods
// may be called by several goroutines at once. Calls on one computer run one after the other.
type Computer struct {
	o       options
	started atomic.Int64

	// What follows is used by the goroutine that has put an element into turn.
	turn    chan struct{}
	state   []byte // as pprofdelta_save writes it; nil: empty
	token   uint64 // see held.token
	pending *Window
}

// New makes an empty computer. The first call of the process compiles the engine, unless the pool is
// given.
func New(opts ...Option) (*Computer, error) {
	c := &Computer{turn: make(chan struct{}, 1)}
	var err error
	if c.o, err = newOptions(opts); err != nil {
		return nil, err
	}
	return c, nil
}

// lock waits for the turn of this call.
func (c *Computer) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Computer) unlock() { <-c.turn }

// lockIdle is lock, and fails if a window is pending.
func (c *Computer) lockIdle(ctx context.Context) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	if c.pending != nil {
		c.unlock()
		return fail(ErrUsage, "delta", "a window is pending: commit or abandon it first")
	}
	return nil
}

// Delta computes the delta of this profile (gzip, zstd or plain), writes it to w in one call and
// remembers the profile. If anything fails, also w, the computer is as before: the next delta covers
// this time, too.
func (c *Computer) Delta(profile []byte, w io.Writer) error {
	return c.DeltaContext(context.Background(), profile, w)
}

// DeltaContext is [Computer.Delta]. The context ends the time that it waits for its turn and for an
// instance of the pool.
func (c *Computer) DeltaContext(ctx context.Context, profile []byte, w io.Writer) error {
	if err := c.lockIdle(ctx); err != nil {
		return err
	}
	defer c.unlock()
	window, err := c.compute(ctx, profile)
	if err != nil {
		return err
	}
	defer window.give()
	defer window.end(false) // for a writer that panics, too
	if _, err := window.WriteTo(w); err != nil {
		return err
	}
	window.end(true)
	return nil
}

// Window computes the delta of this profile (gzip, zstd or plain). The window is then pending until
// [Window.Commit] or [Window.Abandon]. After an error, nothing is pending and the computer is as
// before.
//
// The context ends the time that Window waits for its turn and for an instance of the pool. A window
// that is being computed is finished.
func (c *Computer) Window(ctx context.Context, profile []byte) (*Window, error) {
	if err := c.lockIdle(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	window, err := c.compute(ctx, profile)
	if err != nil {
		return nil, err
	}
	c.pending = window
	return window, nil
}

// WindowFrom is [Computer.Window] with a profile that it reads to its end first.
func (c *Computer) WindowFrom(ctx context.Context, r io.Reader) (*Window, error) {
	buffer := takeBuffer()
	defer buffer.give()
	profile, err := buffer.readAll(r, c.o.pool.o.maxMemory)
	if err != nil {
		return nil, err
	}
	return c.Window(ctx, profile)
}

// compute makes a window, which is not pending yet.
func (c *Computer) compute(ctx context.Context, profile []byte) (*Window, error) {
	window := &Window{c: c, token: newToken(), plain: takeBuffer()}
	err := c.o.pool.use(ctx, c.token, func(h *held) error {
		if err := h.ready(&c.o, c.state, c.token); err != nil {
			return err
		}
		plain, err := inflate(profile, h, 0, c.o.pool.o.maxMemory)
		if err != nil {
			return err
		}
		delta, report, err := h.window(plain, c.started.Load())
		if err != nil {
			return err
		}
		h.token = 0
		window.Report = *report
		window.plain.b = append(window.plain.b, delta...)
		return window.settle(h)
	})
	if err != nil {
		window.give()
		return nil, err
	}
	return window, nil
}

// SetStarted sets when the target's process began; the zero time is unknown. If that is after the
// time of the last profile, the next window is a restart. Valid until it is set again.
func (c *Computer) SetStarted(t time.Time) {
	if t.IsZero() {
		c.started.Store(0)
	} else {
		c.started.Store(t.UnixNano())
	}
}

// Base makes the computer remember this profile, whatever it remembered before. In an empty computer,
// the profile has sequence 1, so the first window after it has sequence 2.
func (c *Computer) Base(ctx context.Context, profile []byte) error {
	if err := c.lockIdle(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.o.pool.use(ctx, c.token, func(h *held) error {
		if err := h.ready(&c.o, c.state, c.token); err != nil {
			return err
		}
		plain, err := inflate(profile, h, 0, c.o.pool.o.maxMemory)
		if err != nil {
			return err
		}
		if err := h.base(plain); err != nil {
			return err
		}
		return c.take(h)
	})
}

// take makes the computer remember what the context remembers.
func (c *Computer) take(h *held) error {
	h.token = 0
	state, err := h.save()
	if err != nil {
		return err
	}
	c.state, c.token = bytes.Clone(state), newToken()
	h.token = c.token
	return nil
}

// Save writes what the computer remembers, in one call, in the format of pprofdelta_save: what was
// committed, and the last attempt at a window that is open or pending.
//
// So that nothing is lost or counts twice when the process ends, save after [Computer.Window] and
// before the delta is sent, and again after [Window.Commit].
func (c *Computer) Save(ctx context.Context, w io.Writer) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	state := c.state
	if c.pending != nil {
		state = c.pending.state
	}
	if state == nil { // only the library knows the state of an empty context
		var err error
		if state, err = c.emptyState(ctx); err != nil {
			return err
		}
	}
	if _, err := w.Write(state); err != nil {
		return failFor(ErrSink, "write", "the state was not written", err)
	}
	return nil
}

func (c *Computer) emptyState(ctx context.Context) (state []byte, err error) {
	err = c.o.pool.use(ctx, 0, func(h *held) error {
		if err := h.ready(&c.o, nil, 0); err != nil {
			return err
		}
		state = h.empty
		return nil
	})
	return state, err
}

// Load makes the computer remember what was saved, whatever it remembered before. It reads r to its
// end. After an error the computer is as before.
func (c *Computer) Load(ctx context.Context, r io.Reader) error {
	buffer := takeBuffer()
	defer buffer.give()
	state, err := buffer.readAll(r, c.o.pool.o.maxMemory)
	if err != nil {
		return err
	}
	if err := c.lockIdle(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.o.pool.use(ctx, 0, func(h *held) error {
		if err := h.ready(&c.o, nil, 0); err != nil {
			return err
		}
		if err := h.load(state); err != nil {
			return err
		}
		return c.take(h)
	})
}

// Describe returns what the computer remembers. A pending window counts as an attempt.
func (c *Computer) Describe(ctx context.Context) (*Memory, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	state, token := c.state, c.token
	if c.pending != nil {
		state, token = c.pending.state, 0
	}
	var memory *Memory
	err := c.o.pool.use(ctx, token, func(h *held) error {
		err := h.ready(&c.o, state, token)
		if err == nil {
			memory, err = h.describe()
		}
		return err
	})
	return memory, err
}
