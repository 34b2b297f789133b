package pprofdelta

import (
	"bytes"
	"context"
	"io"
)

// Window is a delta that was computed. Until it is committed or abandoned, its computer computes no
// other. Commit and Abandon belong to the window, and not to the computer, so that a goroutine can
// only end the window that it has written. A deferred Abandon after a Commit does nothing:
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
// A window holds no instance of the pool, so the upload may take its time.
type Window struct {
	// Report is what the window found.
	Report Report

	c       *Computer
	plain   *buffer // the delta
	encoded *buffer // the delta, compressed; nil: not yet
	state   []byte  // with the attempt; Commit sets its last byte: see pprofdelta_save
	token   uint64  // of the state after Commit
	isEnded bool
	isSaved bool // committed
}

// settle computes the state after the window, and commits it in the instance.
func (w *Window) settle(h *held) error {
	state, err := h.save()
	if err != nil {
		return err
	}
	w.state = bytes.Clone(state)
	if err := h.commit(); err != nil {
		return err
	}
	h.token = w.token
	return nil
}

// end ends the window. The caller has the computer's turn.
func (w *Window) end(commit bool) {
	if w.isEnded {
		return
	}
	w.c.state, w.c.token = w.state, 0
	if commit {
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
// where this one ended. It fails with [ErrUsage] if the window was abandoned.
func (w *Window) Commit() error {
	if err := w.c.lock(context.Background()); err != nil {
		return err
	}
	defer w.c.unlock()
	w.end(true)
	if !w.isSaved {
		return fail(ErrUsage, "delta", "the window was abandoned")
	}
	return nil
}

// Abandon ends a window that was lost, or may have been lost: the next window also covers its time,
// with the same sequence and the next attempt. It does nothing if the window is ended already.
func (w *Window) Abandon() {
	if w.c.lock(context.Background()) == nil {
		defer w.c.unlock()
		w.end(false)
	}
}

// Bytes returns the delta in the computer's compression. It may be called at any time, also after
// Commit, but not by several goroutines at once. The caller must not change the bytes.
func (w *Window) Bytes() ([]byte, error) {
	if w.c.o.compression == None {
		return w.plain.b, nil
	}
	if w.encoded == nil {
		encoded := takeBuffer()
		packed, err := deflate(encoded.b, w.plain.b, w.c.o.compression, w.c.o.level)
		if err != nil {
			return nil, err
		}
		encoded.b = packed
		w.encoded = encoded
	}
	return w.encoded.b, nil
}

// give gives the buffers of a window back that nobody else has seen.
func (w *Window) give() {
	w.plain.give()
	if w.encoded != nil {
		w.encoded.give()
	}
	w.plain, w.encoded = nil, nil
}

// WriteTo writes the delta in one call, and does not end the window. It may be called again, for
// example with another writer after an error.
func (w *Window) WriteTo(to io.Writer) (int64, error) {
	delta, err := w.Bytes()
	if err != nil {
		return 0, err
	}
	return writeAll(to, delta)
}
