//go:build !pprofdelta_cgo

package pprofdelta

import (
	"encoding/binary"
	"time"
)

// answer reads an answer of the module; bindings/wasm/glue.c describes the encoding. A read past the
// end gives zeros and sets short.
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
		Stage: a.text(), Field: a.text(), Text: a.text()}
}

func (a *answer) types() []TypeReport {
	n := int(a.u32())
	var types []TypeReport
	for i := 0; i < n && !a.short; i++ {
		types = append(types, TypeReport{Type: a.text(), Unit: a.text(), IsCounter: a.flag(),
			Prev: a.sum(), Cur: a.sum(), Delta: a.sum(), Clamped: a.sum(), Vanished: a.sum()})
	}
	return types
}

func (a *answer) report() *Report {
	return &Report{
		SamplesIn: a.u64(), SamplesOut: a.u64(), Matched: a.u64(), Fresh: a.u64(),
		Vanished: a.u64(), Clamped: a.u64(), Duplicates: a.u64(), ByAddress: a.u64(),
		ByLines: a.u64(), FilesReplaced: a.u64(), OtherBuild: a.flag(), UnknownFields: a.u64(),
		HadBase: a.flag(), Restart: Restart(a.u32()), From: a.time(), To: a.time(),
		Sequence: a.u64(), Attempt: a.u64(), OutputLen: a.u64(), Types: a.types(),
		IsSame: a.flag(), MayBeWindow: a.flag(), ClockSetBack: a.flag(), ID: a.u64(),
	}
}

func (a *answer) memory() *Memory {
	return &Memory{
		HasBase: a.flag(), Sequence: a.u64(), Attempts: a.u64(), Samples: a.u64(),
		Unseen: a.u64(), From: a.time(), To: a.time(), Restart: Restart(a.u32()),
		BuildID: a.text(), Types: a.types(),
		OpenSequence: a.u64(), OpenFrom: a.time(), OpenTo: a.time(), OpenRestart: Restart(a.u32()), ID: a.u64(),
	}
}

func (a *answer) stamp() Stamp {
	return Stamp{
		IsDelta: a.flag(), From: a.time(), To: a.time(), Sequence: a.u64(),
		Restart: Restart(a.u32()), Live: Live(a.u32()), ID: a.u64(), Epoch: a.u64(),
		First: a.u64(), Attempt: a.u64(), Acked: a.u64(),
	}
}

func (a *answer) census() *Census {
	return &Census{
		Format: a.text(), InflatedLen: a.u64(), Types: a.u64(), Samples: a.u64(),
		Mappings: a.u64(), Locations: a.u64(), Functions: a.u64(), Strings: a.u64(),
		ByAddress: a.u64(), ByLines: a.u64(), UnknownFields: a.u64(), Time: a.time(),
		Duration: time.Duration(a.i64()), IsStamped: a.flag(), Stamp: a.stamp(),
		Binary: a.text(), BuildID: a.text(),
	}
}
