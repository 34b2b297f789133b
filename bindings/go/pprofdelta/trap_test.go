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
var traps = map[string]func(i *moduleInstance){
	"unreachable":                      func(i *moduleInstance) { i.module.X_initialize(); i.module.X_initialize() },
	"index out of range":               func(i *moduleInstance) { fill(*i.memory) },
	"out of range [":                   func(i *moduleInstance) { *i.module.X__stack_pointer() = 0 }, // the stack has no room
	"output that nobody has asked for": func(i *moduleInstance) { i.Xwrite(-1, 1) },
	"stack overflow":                   func(i *moduleInstance) { recurse(i, 1) },
	"nil pointer":                      func(i *moduleInstance) { i.module = nil; i.module.Xpd_buffers() },
}

// recurse does what damaged code pointers might do: functions call each other without end, and the host now and then.
func recurse(i *moduleInstance, depth int) {
	if depth%(1<<14) == 0 {
		i.Xpoll()
	}
	recurse(i, depth+1)
}

func fill(memory []byte) {
	for n := range memory {
		memory[n] = 0xff
	}
}

// TestTrapLosesOnlyItsWindow: the computer is as before, and a pool whose module does not trap goes on
// from the same state.
func TestTrapLosesOnlyItsWindow(t *testing.T) {
	for cause, trap := range traps {
		losesOnlyItsWindow(t, "pd_window", cause, trap)
		losesOnlyItsWindow(t, "pd_commit", cause, trap)
	}
}

func losesOnlyItsWindow(t *testing.T, function, name string, trap func(i *moduleInstance)) {
	t.Helper()
	p := newProcess(3, 30)
	first := p.bytes(t)
	c := newComputer(t)
	if err := c.Base(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	good := c.o.pool
	trapping := newPool(t, func(o *poolOptions) {
		o.before = func(called string, i *moduleInstance) {
			if called == function {
				trap(i)
			}
		}
	})
	c.o.pool = trapping
	p.run()
	cur := p.bytes(t)
	token := c.token
	for range 3 {
		e := statusOf(t, name, c.Delta(cur, io.Discard), ErrEngine)
		if e.Err == nil || !strings.Contains(e.Err.Error(), name) {
			t.Errorf("%s: %+v", name, e)
		}
		if n := trapping.Stats().Idle; n != 0 {
			t.Errorf("%s: the instance is kept", name)
		}
	}
	if c.token != token || c.pending != nil {
		t.Errorf("%s: the computer has changed", name)
	}
	c.o.pool = good
	w, delta := windowOf(t, c, cur)
	same(t, name, parsed(t, delta), merged(t, first, cur))
	if w.Report.Attempt != 1 {
		t.Errorf("%s: attempt %d", name, w.Report.Attempt)
	}
	w.Abandon()
}

// TestTrapHarmsNoOtherTarget: while instances trap (their memory is overwritten), other targets of the
// same pool get their deltas.
func TestTrapHarmsNoOtherTarget(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	profiles := newProcess(3, 30)
	first := profiles.bytes(t)
	profiles.run()
	cur := profiles.bytes(t)
	want := merged(t, first, cur)
	var group sync.WaitGroup
	for target := range 8 {
		group.Go(func() {
			c := newComputer(t, WithPool(pool))
			for range 6 {
				if target%2 == 0 {
					if err := overwrite(pool); !errors.Is(err, ErrEngine) {
						t.Errorf("an instance with garbage for memory: %v", err)
					}
					continue
				}
				if err := c.Base(context.Background(), first); err != nil {
					t.Error(err)
					continue
				}
				var out bytes.Buffer
				if err := c.Delta(cur, &out); err != nil {
					t.Error(err)
					continue
				}
				same(t, "beside traps", parsed(t, out.Bytes()), want)
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
			fill(*h.instance.(*moduleInstance).memory)
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
