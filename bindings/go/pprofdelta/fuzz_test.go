package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

// FuzzDelta runs a script on a simulated process, and holds each window against Merge. A
// byte of the script lets a stack count, adds a stack, or takes a window that is committed, abandoned or
// lost with its computer, which goes on from its state.
func FuzzDelta(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x01\x02\x05\x0a\x03\x04\x03"))
	f.Add(uint64(3), []byte("\x03\x03\x09\x08\x07\x04\x04\x03\x02\x01\x00\x05\x03"))
	f.Add(uint64(7), []byte("\x04\x03\x05\x06\x04\x05\x03"))
	f.Fuzz(func(t *testing.T, seed uint64, script []byte) {
		p, opts := newProcess(seed, 1+int(seed%40)), []Option{WithCompression(None), WithVerify()}
		c := newComputer(opts...)
		prev := p.Bytes()
		deltaOf(c, prev)
		for _, b := range script[:min(len(script), 40)] {
			which := p.Stacks[int(b)%len(p.Stacks)]
			switch b % 6 {
			case 0, 1:
				p.Count(which)
			case 2:
				p.Grow()
			default:
				p.Clock += second
				cur := p.Bytes()
				w, delta := windowOf(c, cur)
				same(t, fmt.Sprintf("script %x", script), delta, merged(prev, cur))
				if b%6 == 4 {
					w.Abandon()
					continue
				}
				must(0, w.Commit())
				prev = cur
				if b%6 == 5 {
					c = loaded(stateOf(c), opts...)
				}
			}
		}
	})
}

// FuzzBytes gives any bytes for two profiles of one target. Nothing traps, and a failure changes
// nothing.
func FuzzBytes(f *testing.F) {
	for _, kind := range []string{"mutex", "block"} {
		f.Add(plainOf(read("valid/"+kind+".1.pb.gz")), plainOf(read("valid/"+kind+".2.pb.gz")))
	}
	for _, name := range []string{"gzip-crc-wrong.pb.gz", "zstd-size-wrong.pb.zst", "good.pb",
		"cut-in-sample.pb", "zstd-skippable-only.pb.zst", "gzip-of-zstd.pb.zst.gz"} {
		f.Add(read("hostile/"+name), read("hostile/good-later.pb"))
	}
	pool := newPool(f, WithMaxMemory(64<<20), WithInstances(1))
	f.Fuzz(func(t *testing.T, prev, cur []byte) {
		c := newComputer(WithPool(pool), WithCompression(None), WithVerify())
		for _, profile := range [][]byte{prev, cur, cur} {
			var out bytes.Buffer
			token := c.token
			err := c.Delta(profile, &out)
			var e *Error
			switch {
			case err == nil:
			case !errors.As(err, &e):
				t.Fatalf("%v is not an *Error", err)
			case e.Status == ErrEngine || e.Status == ErrVerify || e.Status == ErrMemory:
				t.Fatal(err)
			case out.Len() != 0 || c.token != token:
				t.Fatalf("%v has changed the computer", err)
			}
		}
	})
}

// FuzzLoad: no state traps or changes a computer that refuses it.
func FuzzLoad(f *testing.F) {
	p := newProcess(1, 4)
	c := newComputer()
	for range 2 {
		f.Add(stateOf(c))
		deltaOf(c, p.Bytes())
	}
	profile := p.Bytes()
	f.Fuzz(func(t *testing.T, state []byte) {
		c := newComputer()
		err := c.Load(context.Background(), bytes.NewReader(state))
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Status != ErrState && e.Status != ErrLimit) {
			t.Fatal(err)
		}
		if err := c.Delta(profile, io.Discard); errors.Is(err, ErrEngine) {
			t.Fatal(err)
		}
	})
}
