package deltahttp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// A reader has one cursor for each kind of profile. A reader that has not been used for the expiry is
// forgotten when the next request arrives, so no goroutine has to look after it.
type reader struct {
	cursors [len(kinds)]cursor
	users   int       // requests that use it now
	used    time.Time // by the last of them
}

// A cursor is where a reader is in one kind of profile. One request at a time has it.
type cursor struct {
	turn     chan struct{}      // holds a value while a request has the cursor
	profiler profiler           // nil: the next window begins with the process
	pending  *pprofdelta.Window // the next request tells whether it has arrived
	written  bool               // the pending window was
	held     context.Context    // of the request, if its writer may have held it then; else nil
	sequence uint64             // of the last window that has arrived
}

// readers has the readers by their names.
type readers struct {
	most   int
	expiry time.Duration
	now    func() time.Time

	mutex sync.Mutex
	named map[string]*reader
}

// take returns the reader with this name, which the caller gives back. A new name makes a new reader. It returns nil
// if there is no room for one, since all readers are in use.
func (r *readers) take(name string) *reader {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.expire()
	one := r.named[name]
	if one == nil {
		if len(r.named) >= r.most && !r.forget() {
			return nil
		}
		one = &reader{}
		for i := range one.cursors {
			one.cursors[i].turn = make(chan struct{}, 1)
		}
		r.named[name] = one
	}
	one.users++
	return one
}

func (r *readers) give(one *reader) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	one.users--
	one.used = r.now()
}

func (r *readers) expire() {
	now := r.now()
	for name, one := range r.named {
		if one.users == 0 && now.Sub(one.used) >= r.expiry {
			delete(r.named, name)
		}
	}
}

// forget forgets the reader that has been used least recently, if there is one that is not in use.
func (r *readers) forget() bool {
	name, least := "", (*reader)(nil)
	for n, one := range r.named {
		if one.users == 0 && (least == nil || one.used.Before(least.used)) {
			name, least = n, one
		}
	}
	if least != nil {
		delete(r.named, name)
	}
	return least != nil
}

// lock waits until no other request has the cursor, or until the context ends.
func (c *cursor) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cursor) unlock() { <-c.turn }

// settle ends the window that is pending, and makes the cursor begin again if the reader is not where the cursor
// is. The caller has the cursor.
func (c *cursor) settle(req request) {
	if c.pending != nil {
		arrived := c.written && c.wasReleased()
		if req.hasAfter {
			arrived = req.after == c.pending.Report.Sequence
		}
		c.end(arrived)
	}
	if req.hasAfter && req.after != c.sequence {
		c.profiler, c.sequence = nil, 0
	}
}

// wasReleased returns whether what was written has left the handlers around this one, as far as one can see: their
// request is over, and it was not ended by a deadline, after which [http.TimeoutHandler] drops what it holds.
func (c *cursor) wasReleased() bool {
	return c.held == nil || errors.Is(c.held.Err(), context.Canceled)
}

// end ends the window that is pending.
func (c *cursor) end(arrived bool) {
	if arrived && c.pending.Commit() == nil {
		c.sequence = c.pending.Report.Sequence
	} else {
		c.pending.Abandon()
	}
	c.pending = nil
}
