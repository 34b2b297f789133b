package pprofdelta

import (
	"context"
	"io"
	"sync/atomic"
)

// Window is a delta that was computed. Until it is committed or abandoned, its computer computes no
// other. Commit and Abandon belong to the window, so that a goroutine only ends the window that it has
// written. ([Computer.Abandon] ends a window whose pointer was lost.) A deferred Abandon after a Commit
// does nothing:
//
//	window, err := computer.Window(ctx, profile)
//	if err != nil {
//		return err
//	}
//	defer window.Abandon()
//	if err := upload(ctx, window); err != nil {
//		return err
//	}
//	return window.Commit()
//
// A window holds no instance of the pool, so the upload may take its time. All methods may be called by
// several goroutines at once.
type Window struct {
	// Report is what the window found.
	Report Report

	c       *Computer
	plain   *buffer                // the delta
	encoded atomic.Pointer[buffer] // the delta, compressed; nil: not yet

	// What follows is guarded by the computer's mu.
	state   []byte             // with the attempt; Commit sets its last byte: see pprofdelta_save
	token   uint64             // of the state after Commit
	settled func(arrived bool) // instead of both: a Profiler remembers the window
	isEnded bool
	isSaved bool // committed
}

// settle computes the state after the window, and commits it in the instance.
func (w *Window) settle(h *held) error {
	var err error
	if w.state, err = h.state(w.c.o.pool); err != nil {
		return err
	}
	if err := h.commit(); err != nil {
		return err
	}
	h.token = w.token
	return nil
}

// state returns what the context remembers.
func (h *held) state(pool *Pool) ([]byte, error) {
	h.saved.b = h.saved.b[:0]
	if err := h.save(&h.saved); err != nil {
		return nil, err
	}
	return pool.newState(h.saved.b), nil
}

// end ends the window. The caller holds the computer's mu.
func (w *Window) end(commit bool) {
	if w.isEnded {
		return
	}
	w.c.remember(w.state, 0)
	if w.settled != nil {
		w.settled(commit)
	} else if commit {
		w.state[len(w.state)-1] = 1 // the attempt has arrived
		w.c.token = w.token
	}
	w.isEnded, w.isSaved = true, commit
	w.state = nil
	if w.c.pending == w {
		w.c.pending = nil
	}
}

// Commit makes the computer remember the window, since the delta has arrived: the next window begins
// where this one ended. It fails with [ErrAbandoned] if the window was abandoned. It does not wait.
func (w *Window) Commit() error {
	if w == nil || w.c == nil {
		return usage(noWindow)
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.end(true)
	if !w.isSaved {
		return fail(ErrAbandoned, StageDelta, "the window was abandoned before")
	}
	return nil
}

// Abandon ends a window that was lost, or may have been lost: the next window also covers its time,
// with the same sequence and the next attempt. It does nothing if the window is ended already.
// It does not wait.
func (w *Window) Abandon() {
	if w != nil && w.c != nil {
		w.c.mu.Lock()
		defer w.c.mu.Unlock()
		w.end(false)
	}
}

// noWindow is said of a zero window.
const noWindow = "the window was not made by Computer.Window"

// Bytes returns the delta in the computer's compression. It may be called at any time, also after
// Commit. The caller must not change the bytes. In the formats of OTLP, a window without samples has no bytes: there
// is nothing to send, and the window is committed. In the format [Tables], it fails.
func (w *Window) Bytes() ([]byte, error) {
	if w == nil || w.c == nil {
		return nil, usage(noWindow)
	}
	if w.c.o.format == Tables {
		return nil, usage("WithFormat(Tables) has no bytes: call Window.Tables")
	}
	codec := w.c.o.codec()
	if codec == nil || len(w.plain.b) == 0 {
		return w.plain.b, nil
	}
	if made := w.encoded.Load(); made != nil {
		return made.b, nil
	}
	made := takeBuffer()
	var err error
	if made.b, err = codec.encode(made.b, w.plain.b); err != nil {
		return nil, err
	}
	if !w.encoded.CompareAndSwap(nil, made) { // another goroutine was faster
		made.give()
	}
	return w.encoded.Load().b, nil
}

// deliver writes the delta in one call, if it has bytes, and commits the window, which nobody else has seen. If that
// fails, the window is abandoned.
func (w *Window) deliver(ctx context.Context, to io.Writer) error {
	defer w.give()
	defer w.Abandon() // for a writer that panics, too
	delta, err := w.Bytes()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if _, err := writeAll(to, delta); err != nil {
		return err
	}
	return w.Commit()
}

// give gives the buffers of a window back that nobody else has seen.
func (w *Window) give() {
	w.c.o.pool.giveBuffer(w.plain)
	if made := w.encoded.Load(); made != nil {
		made.give()
	}
}

// WriteTo writes the delta in one call, and does not end the window. It may be called again, for
// example with another writer after an error. If the delta has no bytes, nothing is written.
func (w *Window) WriteTo(to io.Writer) (int64, error) {
	delta, err := w.Bytes()
	if err != nil {
		return 0, err
	}
	return writeAll(to, delta)
}
