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

// The opcodes that the tests put into functions of the module.
const (
	opUnreachable = 0x00
	opEnd         = 0x0b
	opCall        = 0x10
	opDrop        = 0x1a
	opLocalGet    = 0x20
	opI32Const    = 0x41
)

// leb reads a number of a module.
func leb(b []byte, at int) (n, next int) {
	for shift := 0; ; shift += 7 {
		n |= int(b[at]&0x7f) << shift
		at++
		if b[at-1] < 0x80 {
			return n, at
		}
	}
}

// sections returns where the content of each section of a module is.
func sections(b []byte) map[byte][2]int {
	found := map[byte][2]int{}
	for at := 8; at < len(b); {
		id := b[at]
		size, body := leb(b, at+1)
		found[id] = [2]int{body, body + size}
		at = body + size
	}
	return found
}

// patched returns the module with other code at the beginning of an exported function. make gets the
// number of the function.
func patched(t *testing.T, name string, code func(function int) []byte) []byte {
	t.Helper()
	const exports, bodies, imports = 7, 10, 2
	b := bytes.Clone(module)
	n, at := leb(b, sections(b)[exports][0])
	function := -1
	for range n {
		length, from := leb(b, at)
		kind := b[from+length]
		number, next := leb(b, from+length+1)
		if string(b[from:from+length]) == name && kind == 0 {
			function = number
		}
		at = next
	}
	if function < 0 {
		t.Fatalf("the module exports no function %s", name)
	}
	_, at = leb(b, sections(b)[bodies][0])
	for range function - imports {
		size, from := leb(b, at)
		at = from + size
	}
	size, from := leb(b, at)
	locals, next := leb(b, from)
	for range locals {
		_, next = leb(b, next)
		next++
	}
	patch := append(code(function), opUnreachable) // so that the rest need not fit
	if next+len(patch) > from+size {
		t.Fatalf("%s has only %d bytes", name, size)
	}
	for n := next; n < from+size-1; n++ {
		b[n] = 0x01 // nop
	}
	copy(b[next:], patch)
	b[from+size-1] = opEnd
	return b
}

func uleb(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// traps are ways in which a window may fail, by what wazero calls them.
var traps = map[string]func(t *testing.T) []byte{
	"unreachable": func(t *testing.T) []byte {
		return patched(t, "pd_window", func(int) []byte { return nil })
	},
	"stack overflow": func(t *testing.T) []byte {
		return patched(t, "pd_window", func(function int) []byte {
			return append(append([]byte{opLocalGet, 0, opLocalGet, 1, opCall}, uleb(function)...), opDrop)
		})
	},
	"out of bounds memory access": func(t *testing.T) []byte {
		const load = 0x28
		return patched(t, "pd_window", func(int) []byte {
			return []byte{opI32Const, 0x70, load, 2, 0, opDrop} // at 0xfffffff0
		})
	},
}

// TestTrapLosesOnlyItsWindow: the computer is as before, and a pool whose module does not trap goes on
// from the same state.
func TestTrapLosesOnlyItsWindow(t *testing.T) {
	for name, code := range traps {
		losesOnlyItsWindow(t, name, code(t))
	}
	losesOnlyItsWindow(t, "unreachable", patched(t, "pd_commit", func(int) []byte { return nil }))
}

func losesOnlyItsWindow(t *testing.T, name string, code []byte) {
	t.Helper()
	p := newProcess(3, 30)
	first := p.bytes(t)
	c := newComputer(t)
	if err := c.Base(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	good := c.o.pool
	trapping := newPool(t, func(o *poolOptions) { o.code = code })
	c.o.pool = trapping
	p.run()
	cur := p.bytes(t)
	token := c.token
	for range 3 {
		e := statusOf(t, name, c.Delta(cur, io.Discard), ErrEngine)
		if e.Err == nil || !strings.Contains(e.Err.Error(), name) {
			t.Errorf("%s: %+v", name, e)
		}
		if n := trapping.idleInstances(); n != 0 {
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
		instance := h.instance.(*wasmInstance)
		all, _ := instance.memory.Read(0, instance.memory.Size())
		for i := range all {
			all[i] = 0xff
		}
		return h.renew(&options{})
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

func TestCodeThatIsNoModule(t *testing.T) {
	for name, code := range map[string][]byte{"text": []byte("no module"), "cut off": module[:1000],
		"no functions": []byte("\x00asm\x01\x00\x00\x00")} {
		pool, err := NewPool(func(o *poolOptions) { o.code = code })
		if err == nil {
			_, err = Check(context.Background(), nil, WithPool(pool))
		}
		statusOf(t, name, err, ErrEngine)
	}
}

func TestCacheDirectory(t *testing.T) {
	dir := t.TempDir() + "/new/cache"
	for range 2 {
		pool := newPool(t, WithCacheDir(dir))
		deltaOf(t, newComputer(t, WithPool(pool)), read(t, "valid/heap.1.pb.gz"))
	}
	_, err := NewPool(WithCacheDir("/dev/null/cache"))
	statusOf(t, "a directory that cannot be made", err, ErrEngine)
}

// TestInterpreter: what machines without a compiler of wazero run.
func TestInterpreter(t *testing.T) {
	pool := newPool(t, Interpreted())
	p := newProcess(3, 30)
	prev := p.bytes(t)
	p.run()
	cur := p.bytes(t)
	var got, want bytes.Buffer
	if _, err := Compare(context.Background(), prev, cur, &got, WithPool(pool)); err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(context.Background(), prev, cur, &want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("the interpreter gives another delta")
	}
}
