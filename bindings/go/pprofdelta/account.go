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
