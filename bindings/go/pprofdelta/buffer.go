package pprofdelta

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// buffer is a byte slice that is used again.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func takeBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.b = b.b[:0]
	return b
}

// leastRoom is what is read at first.
const leastRoom = 4096

// mostKept is the capacity above which a buffer is left to the garbage collector.
const mostKept = 64 << 20

func (b *buffer) give() {
	if cap(b.b) <= mostKept {
		buffers.Put(b)
	}
}

// add appends bytes. What the buffer grows by counts as memory of the call.
func (b *buffer) add(more []byte, a *account) error {
	if need := len(b.b) + len(more); need > cap(b.b) {
		size := max(need, 2*len(b.b))
		if err := a.hold(int64(size - cap(b.b))); err != nil {
			return err
		}
		a.moved(int64(cap(b.b)), int64(size))
		b.b = append(make([]byte, 0, size), b.b...)
	}
	b.b = append(b.b, more...)
	return nil
}

// readAll reads r to its end, at most limit bytes, into a buffer that the caller gives back. Such a limit is half of
// that of the call, since the input is in the instance, too. A context that may end needs a goroutine, since Read
// has none: it ends when Read returns.
func readAll(ctx context.Context, r io.Reader, limit int64) (*buffer, error) {
	if r == nil {
		return nil, usage("the reader is nil")
	}
	if ctx.Done() == nil {
		b := takeBuffer()
		return b, b.fill(ctx, r, limit)
	}
	type result struct {
		b        *buffer
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		all := result{b: takeBuffer(), err: failFor(ErrSource, StageMemory, "the reader has ended its goroutine", nil)}
		defer func() {
			all.panicked = recover()
			done <- all
		}()
		all.err = all.b.fill(ctx, r, limit)
	}()
	select {
	case all := <-done:
		if all.panicked != nil {
			panic(all.panicked)
		}
		return all.b, all.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// mostEmptyReads is how often a reader may return 0, nil, as in package bufio.
const mostEmptyReads = 100

// fill reads r to its end.
func (b *buffer) fill(ctx context.Context, r io.Reader, limit int64) error {
	for empty := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(b.b) == cap(b.b) {
			b.b = append(b.b, make([]byte, max(leastRoom, len(b.b)))...)[:len(b.b)]
		}
		n, err := r.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if empty++; n > 0 {
			empty = 0
		}
		switch {
		case err == io.EOF:
			return nil
		case err == nil && empty == mostEmptyReads:
			err = io.ErrNoProgress
		}
		if err != nil {
			return failFor(ErrSource, StageMemory, "the input was not read", err)
		}
		if int64(len(b.b)) > limit {
			return fail(ErrLimit, StageMemory, fmt.Sprintf("the input is longer than the %d bytes that the pool's max memory allows", limit))
		}
	}
}
