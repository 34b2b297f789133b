package pprofdelta

import (
	"encoding/binary"
	"time"
)

// answer reads an answer of the module. bindings/wasm/glue.h describes the encoding; answers.go reads the
// structs. A read past the end gives zeros and sets short.
type answer struct {
	bytes []byte
	short bool
}

func (a *answer) take(n int) []byte {
	if n < 0 || n > len(a.bytes) {
		a.short, a.bytes = true, nil
		return make([]byte, 8)[:min(max(n, 0), 8)]
	}
	taken := a.bytes[:n]
	a.bytes = a.bytes[n:]
	return taken
}

func (a *answer) u32() uint32 { return binary.LittleEndian.Uint32(a.take(4)) }
func (a *answer) u64() uint64 { return binary.LittleEndian.Uint64(a.take(8)) }
func (a *answer) i64() int64  { return int64(a.u64()) }
func (a *answer) flag() bool  { return a.u32() != 0 }

func (a *answer) text() string { return string(a.take(int(a.u32()))) }

func (a *answer) time() time.Time { return timeOf(a.i64()) }

func (a *answer) sum() Int128 {
	lo := a.u64()
	return Int128{Lo: lo, Hi: a.i64()}
}

// position is an index or an offset; all bits are set if there is none, and -1 is Nowhere.
func (a *answer) error(status Status) *Error {
	return &Error{Status: status, Element: a.i64(), Offset: a.i64(), Reason: Reason(a.u32()), IsPrev: a.flag(),
		Stage: Stage(a.text()), Field: a.text(), Text: a.text()}
}

// listOf reads a list of what read reads.
func listOf[T any](a *answer, read func() T) []T {
	var list []T
	for n := a.u32(); n > 0 && !a.short; n-- {
		list = append(list, read())
	}
	return list
}
