package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// traps are ways in which a window may fail, by what the panic has as its value.
var traps = map[string]func(i *instance){
	"unreachable":                      func(i *instance) { i.module.X_initialize(); i.module.X_initialize() },
	"index out of range":               func(i *instance) { fill(*i.memory) },
	"out of range [":                   func(i *instance) { *i.module.X__stack_pointer() = 0 }, // the stack has no room
	"output that nobody has asked for": func(i *instance) { i.Xwrite(-1, 1) },
	"stack overflow":                   func(i *instance) { recurse(i, 1) },
	"nil pointer":                      func(i *instance) { i.module = nil; i.module.Xpd_save() },
}

// recurse does what damaged code pointers might do: functions call each other without end, and the host now and then.
func recurse(i *instance, depth int) {
	if depth%(1<<14) == 0 {
		i.Xpoll()
	}
	recurse(i, depth+1) //lint:ignore SA5007 the host ends it by a panic
}

func fill(memory []byte) {
	for n := range memory {
		memory[n] = 0xff
	}
}

// TestTrapLosesOnlyItsWindow: the computer is as before, and a pool whose module does not trap goes on
// from the same state.
func TestTrapLosesOnlyItsWindow(t *testing.T) {
	for name, trap := range traps {
		for _, function := range []string{"pd_window", "pd_commit"} {
			_, c, first, cur := begun(3, 30)
			good, token := c.o.pool, c.token
			c.o.pool = newPool(t, func(o *poolOptions) {
				o.before = func(called string, i *instance) {
					if called == function {
						trap(i)
					}
				}
			})
			for range 3 {
				e := statusOf(t, name, c.Delta(cur, io.Discard), ErrEngine)
				if e.Err == nil || !strings.Contains(e.Err.Error(), name) || c.o.pool.Stats().Idle != 0 {
					t.Errorf("%s: %+v, or the instance is kept", name, e)
				}
			}
			if c.token != token || c.pending != nil {
				t.Errorf("%s: the computer has changed", name)
			}
			c.o.pool = good
			w, delta := windowOf(c, cur)
			same(t, name, delta, merged(first, cur))
			numbered(t, name, w, 2, 1)
		}
	}
}

// TestTrapHarmsNoOtherTarget: while instances trap (their memory is overwritten), other targets of the
// same pool get their deltas.
func TestTrapHarmsNoOtherTarget(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	_, _, first, cur := begun(3, 30)
	var group sync.WaitGroup
	for target := range 8 {
		group.Go(func() {
			c := newComputer(WithPool(pool))
			for range 6 {
				if target%2 == 0 {
					if err := overwrite(pool); !errors.Is(err, ErrEngine) {
						t.Errorf("an instance with garbage for memory: %v", err)
					}
					continue
				}
				var out bytes.Buffer
				if err := errors.Join(c.Base(context.Background(), first), c.Delta(cur, &out)); err != nil {
					t.Error(err)
					continue
				}
				same(t, "beside traps", out.Bytes(), merged(first, cur))
			}
		})
	}
	group.Wait()
}

// overwrite fills the memory of an instance with ones and uses it.
func overwrite(pool *Pool) error {
	return pool.use(context.Background(), 0, 0, func(h *held) error {
		err := h.renew(&options{})
		if err == nil {
			fill(*h.memory)
			err = h.renew(&options{})
		}
		return err
	})
}

func TestAnswerThatIsTooShort(t *testing.T) {
	for n := range 40 {
		a := answer{bytes: make([]byte, n)}
		if a.report(); !a.short {
			t.Errorf("a report of %d bytes", n)
		}
	}
	a := answer{bytes: []byte{255, 255, 255, 255, 0}}
	if s := a.text(); !a.short || len(s) > 8 {
		t.Errorf("%q", s)
	}
}
