package pprofdelta

import (
	"context"
	"fmt"
)

// An account is what one use of an instance may take, and takes.
type account struct {
	ctx    context.Context // ends the use
	limit  int64           // bytes: the most that engine and inGo come to
	engine int64           // what the engine holds, beyond what a new instance has
	inGo   int64           // what is held beside the engine
	isFull bool            // more was refused

	moves func(from, to int64) // see poolOptions
}

// fits returns whether this is within the limit. If so, it is held now.
func (a *account) fits(engine, inGo int64) bool {
	if engine+inGo > a.limit {
		a.isFull = true
		return false
	}
	a.engine, a.inGo = engine, inGo
	return true
}

// hold counts n bytes more beside the engine.
func (a *account) hold(n int64) error {
	if !a.fits(a.engine, a.inGo+n) {
		return a.full()
	}
	return nil
}

func (a *account) moved(from, to int64) {
	if a.moves != nil {
		a.moves(from, to)
	}
}

func (a *account) full() error {
	return fail(ErrLimit, StageMemory,
		fmt.Sprintf("the call takes more than the %d bytes that the pool's max memory allows", a.limit))
}

// An instance is one context of the C library, and the buffers around it. It is used by one goroutine
// at a time. Output is never compressed: that is the business of deflate.go.
//
// What fails is an *Error, or the error of the account's context, which ends a call. After that, or an
// error with ErrEngine or ErrMemory, or if the account is full, the pool closes the instance. Output is
// appended to a buffer, which has a part of it after an error.
type instance interface {
	// prepare makes the context anew, with these options. The other calls are made after it.
	prepare(o *options) error
	load(state []byte) error
	// save returns what the context remembers, with the attempt of a pending window.
	save(to *buffer) error
	base(profile []byte) error
	// A profile is gzip, zstd or plain. window leaves the window pending.
	window(profile []byte, started int64, to *buffer) (*Report, error)
	commit() error
	abandon() error
	describe() (*Remembered, error)
	check(profile []byte) (*Census, error)

	// record computes a window of records, apart from the context: records.c describes the input, which has the records
	// at an offset. It also returns the series if the window arrives, and if it is lost.
	record(input []byte, at int, to *buffer) (report *Report, series [2][]byte, err error)

	// A sum is apart from the context. sumBegin drops the sum that was begun before.
	sumBegin(o *options) error
	sumAdd(profile []byte) (Join, error)
	sumFinish(to *buffer) error

	// size is how many bytes the instance holds.
	size() int64
	close()
}
