package pprofdelta

import (
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
const mostKept = 1 << 20

func (b *buffer) give() {
	if cap(b.b) <= mostKept {
		buffers.Put(b)
	}
}

// add appends bytes. What the buffer grows by counts as memory of the call.
func (b *buffer) add(bytes []byte, a *account) error {
	if need := len(b.b) + len(bytes); need > cap(b.b) {
		size := max(need, len(b.b)+len(b.b)/4)
		if err := a.hold(int64(size - cap(b.b))); err != nil {
			return err
		}
		b.b = append(make([]byte, 0, size), b.b...)
	}
	b.b = append(b.b, bytes...)
	return nil
}

// readAll reads at most limit bytes. They last until give. Such a limit is half of that of the call,
// since the input is in the instance, too.
func (b *buffer) readAll(r io.Reader, limit int64) ([]byte, error) {
	for {
		if len(b.b) == cap(b.b) {
			b.b = append(b.b, make([]byte, max(leastRoom, len(b.b)))...)[:len(b.b)]
		}
		n, err := r.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if err == io.EOF {
			return b.b, nil
		}
		if err != nil {
			return nil, failFor(ErrSource, "memory", "the input was not read", err)
		}
		if int64(len(b.b)) > limit {
			return nil, fail(ErrLimit, "memory", fmt.Sprintf("the input is longer than the %d bytes that the pool's max memory allows", limit))
		}
	}
}
