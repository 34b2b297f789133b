package pprofdelta

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Computer remembers the counters of one target and computes deltas: the target's windows. It is what
// fastdelta's DeltaComputer is, and its Delta method can be called in the same way.
//
// Between windows a computer holds its saved state only, 20 to 25 bytes for each sample. New makes a
// computer; the methods of a zero Computer fail with [ErrUsage].
//
// All methods may be called by several goroutines at once. A computer has one pending window at most: from
// [Computer.Window] until [Window.Commit], [Window.Abandon] or [Computer.Abandon], and while [Computer.Delta] writes.
// Until then, Delta, Window, WindowFrom, Base and Load fail with [ErrPending], at once. Calls that compute at the
// same time run one after the other; their contexts end the waiting, too. Commit, Abandon and SetStarted never wait.
//
// No reader, writer or compressor of the caller is called while the computer is locked, so it may call all methods.
type Computer struct {
	o       options
	started atomic.Int64

	turn chan struct{} // has an element while a call computes what is remembered

	// mu guards what follows, and the ends of windows. The state is only changed by the call that has
	// the turn and by the end of the pending window. So a call that has the turn reads it without mu.
	mu      sync.Mutex
	state   []byte // as pprofdelta_save writes it; nil: empty
	token   uint64 // see held.token
	pending *Window
}

// New makes an empty computer. It checks all options: those that are wrong, and a pool that is closed, are errors
// here, and not of a later call. New does not wait.
func New(opts ...Option) (*Computer, error) {
	c := &Computer{turn: make(chan struct{}, 1)}
	var err error
	if c.o, err = newOptions(opts); err != nil {
		return nil, err
	}
	for c.o.id == 0 {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails
		c.o.id = binary.LittleEndian.Uint64(id[:])
	}
	return c, nil
}

// made fails for a zero computer.
func (c *Computer) made() error {
	if c == nil || c.turn == nil {
		return usage("the computer was not made by New")
	}
	return nil
}

// free fails if a window is pending. So does a zero computer, and a context that has ended.
func (c *Computer) free(ctx context.Context) error {
	if err := c.made(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		return fail(ErrPending, StageDelta, "the last window is pending: commit or abandon it first")
	}
	return nil
}

// lock waits for the turn of this call. It fails if a window is pending.
func (c *Computer) lock(ctx context.Context) error {
	if err := c.free(ctx); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := c.free(ctx)
	if err != nil {
		c.unlock()
	}
	return err
}

func (c *Computer) unlock() { <-c.turn }

// remembered returns a copy of what the computer remembers. A pending window counts as an attempt.
func (c *Computer) remembered() (state []byte, token uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		return bytes.Clone(c.pending.state), 0
	}
	return bytes.Clone(c.state), c.token
}

// remember replaces what the computer remembers. The caller holds mu.
func (c *Computer) remember(state []byte, token uint64) {
	c.o.pool.giveState(c.state)
	c.state, c.token = state, token
}

// Delta computes the delta of this profile (gzip, zstd or plain), writes it to w in one call and
// remembers the profile. If anything fails, also w, the computer is as before: the next delta covers
// this time, too. While w is called, the window is pending.
func (c *Computer) Delta(profile []byte, w io.Writer) error {
	return c.DeltaContext(context.Background(), profile, w)
}

// DeltaContext is [Computer.Delta]. If the context ends before the delta is written, the call ends with
// its error, and the computer is as before. (How long w takes is up to w.)
func (c *Computer) DeltaContext(ctx context.Context, profile []byte, w io.Writer) error {
	if err := c.made(); err != nil {
		return err
	}
	if err := c.o.writable(w); err != nil {
		return err
	}
	window, err := c.Window(ctx, profile)
	if err != nil {
		return err
	}
	return window.deliver(ctx, w)
}

// Window computes the delta of this profile (gzip, zstd or plain). The window is then pending until
// [Window.Commit] or [Window.Abandon]. After an error, nothing is pending and the computer is as
// before.
//
// If the context ends, Window ends with its error, also while the window is being computed: within
// milliseconds.
func (c *Computer) Window(ctx context.Context, profile []byte) (*Window, error) {
	return c.window(ctx, profile, 0)
}

// window is Window. inGo is how many bytes are held for this call already.
func (c *Computer) window(ctx context.Context, profile []byte, inGo int64) (*Window, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	return c.compute(ctx, profile, inGo)
}

// WindowFrom is [Computer.Window] with a profile that it reads to its end first. If the context ends meanwhile, the
// call ends, and r is in use until its Read returns. A reader that returns 0, nil again and again is an error that
// wraps io.ErrNoProgress.
func (c *Computer) WindowFrom(ctx context.Context, r io.Reader) (*Window, error) {
	if err := c.free(ctx); err != nil {
		return nil, err
	}
	profile, err := readAll(ctx, r, c.o.pool.o.maxMemory/2)
	if err != nil {
		return nil, err
	}
	defer profile.give()
	return c.window(ctx, profile.b, int64(cap(profile.b)))
}

// compute makes a window, which is then pending.
func (c *Computer) compute(ctx context.Context, profile []byte, inGo int64) (*Window, error) {
	window := &Window{c: c, token: newToken(), plain: c.o.pool.takeBuffer()}
	err := c.o.use(ctx, c.state, c.token, inGo, func(h *held) error {
		window.plain.b = window.plain.b[:0]
		report, err := h.window(profile, c.started.Load(), window.plain)
		if err != nil {
			return err
		}
		h.token = 0
		window.Report = *report
		return window.settle(h)
	})
	if err != nil {
		window.give()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = window
	return window, nil
}

// Abandon abandons the pending window, whatever it is, as [Window.Abandon] does. It is for a window
// whose pointer was lost. Without a pending window, it does nothing. It does not wait.
func (c *Computer) Abandon() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		c.pending.end(false)
	}
}

// SetStarted sets when the target's process began; the zero time is unknown. If that is after the
// time of the last profile, the next window is a restart. Valid until it is set again. It does not wait.
func (c *Computer) SetStarted(t time.Time) {
	switch {
	case c == nil:
	case t.IsZero():
		c.started.Store(0)
	default:
		c.started.Store(t.UnixNano())
	}
}

// Base makes the computer remember this profile, whatever it remembered before. In an empty computer,
// the profile has sequence 1, so the first window after it has sequence 2.
func (c *Computer) Base(ctx context.Context, profile []byte) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.o.use(ctx, c.state, c.token, 0, func(h *held) error {
		if err := h.base(profile); err != nil {
			return err
		}
		return c.take(h)
	})
}

// take makes the computer remember what the context remembers.
func (c *Computer) take(h *held) error {
	h.token = 0
	state, err := h.state(c.o.pool)
	if err != nil {
		return err
	}
	h.token = newToken()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(state, h.token)
	return nil
}

// Save writes what the computer remembers, in one call, in the format of pprofdelta_save: what was
// committed, and the last attempt at a window that is open or pending.
//
// So that nothing is lost or counts twice when the process ends, save after [Computer.Window] and
// before the delta is sent, and again after [Window.Commit].
func (c *Computer) Save(ctx context.Context, w io.Writer) error {
	if err := c.made(); err != nil {
		return err
	}
	if err := writable(w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	state, _ := c.remembered()
	if state == nil { // only the library knows the state of an empty context
		err := c.o.use(ctx, nil, 0, 0, func(h *held) (err error) {
			state, err = h.state(c.o.pool)
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := writeAll(w, state)
	return err
}

// Load makes the computer remember what was saved, whatever it remembered before. It reads r to its
// end, as [Computer.WindowFrom] does. After an error the computer is as before. A state of another format fails
// with [ErrState]: see [Error].Reason.
func (c *Computer) Load(ctx context.Context, r io.Reader) error {
	if err := c.free(ctx); err != nil {
		return err
	}
	state, err := readAll(ctx, r, c.o.pool.o.maxMemory/2)
	if err != nil {
		return err
	}
	defer state.give()
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.o.use(ctx, nil, 0, int64(cap(state.b)), func(h *held) error {
		if err := h.load(state.b); err != nil {
			return err
		}
		return c.take(h)
	})
}

// Describe returns what the computer remembers. A pending window counts as an attempt.
func (c *Computer) Describe(ctx context.Context) (*Remembered, error) {
	if err := c.made(); err != nil {
		return nil, err
	}
	state, token := c.remembered()
	var found *Remembered
	err := c.o.use(ctx, state, token, 0, func(h *held) (err error) {
		found, err = h.describe()
		return err
	})
	return found, err
}
