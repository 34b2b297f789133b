package pprofdelta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/module"
)

// pageSize is what the memory of the module consists of.
const pageSize = 64 << 10

// An instance is one context of the C library, and the buffers around it, as Go: see package module. It is made when it
// is first needed, and is used by one goroutine at a time. Output is never compressed: that is the business of
// deflate.go.
//
// What fails is an *Error, or the error of the account's context, which ends a call. After that, or an
// error with ErrEngine or ErrMemory, or if the account is full, the pool closes the instance. Output is
// appended to a buffer, which has a part of it after an error.
type instance struct {
	module  *module.Module // nil: not made
	account *account
	memory  *[]byte // behind its length is a guard; its capacity is what is allocated
	least   int64   // bytes that a new instance has
	buffers uint32  // address of the module's two numbers
	to      *buffer // of the call under way, for its output
	polls   uint32

	// before is called first in each call of the module (tests).
	before func(name string)
}

func newInstance(o *poolOptions, a *account) *instance {
	i := &instance{account: a}
	if o.before != nil {
		i.before = func(name string) { o.before(name, i) }
	}
	return i
}

// make makes the module, if there is none.
func (i *instance) make() (err error) {
	if i.module != nil {
		return nil
	}
	i.module = module.New(i)
	i.memory = i.module.Xmemory().Slice()
	i.least = i.size()
	i.buffers, err = i.call("pd_buffers", i.module.Xpd_buffers)
	return err
}

// close leaves the memory to the garbage collector.
func (i *instance) close() { *i = instance{} }

// size is how many bytes the instance holds.
func (i *instance) size() int64 {
	if i.memory == nil {
		return 0
	}
	return int64(cap(*i.memory))
}

// deepest is how many functions may be active. Go ends a process whose stack is too large, so a call of damaged memory
// that recurses without end must be ended before.
const deepest = 1 << 15

// pollsOfDepth: one of so many polls looks how many functions are active. That takes much longer than the rest.
const pollsOfDepth = 32

// Xpoll is called after some thousand calls of functions of the module. It ends the call by a panic if the account's
// context has ended, or if too many functions are active.
func (i *instance) Xpoll() {
	if i.polls++; i.polls%pollsOfDepth == 0 {
		var caller [1]uintptr
		if runtime.Callers(deepest, caller[:]) > 0 {
			panic(errors.New("stack overflow"))
		}
	}
	if err := i.account.ctx.Err(); err != nil {
		panic(err)
	}
}

// Xwrite takes output.
func (i *instance) Xwrite(at, n int32) {
	output, ok := i.read(uint32(at), uint32(n))
	if !ok || i.to == nil {
		panic(errors.New("output that nobody has asked for"))
	}
	if err := i.to.add(output, i.account); err != nil {
		panic(err)
	}
}

// Xgrow adds pages to the memory, and returns how many it had, or -1 if the account has no room for them.
func (i *instance) Xgrow(pages int32) int32 {
	old := len(*i.memory)
	need := int64(old) + int64(uint32(pages))*pageSize
	if need > math.MaxUint32 || !i.account.fits(need+module.Guard-i.least, i.account.inGo) {
		return -1
	}
	if have := int64(cap(*i.memory)) - module.Guard; need > have {
		i.reserve(max(need, min(have+have/2, i.most())))
	}
	*i.memory = (*i.memory)[:need]
	return int32(old / pageSize)
}

// most is what the memory may grow to.
func (i *instance) most() int64 {
	return min(i.least+i.account.limit-i.account.inGo, math.MaxUint32, math.MaxInt) - module.Guard
}

// reserve makes room for a memory of this size, and for the guard, which the module reads and writes as well. The memory
// is moved, so it is held twice for a moment; the garbage collector frees what it was.
func (i *instance) reserve(size int64) {
	i.account.moved(i.size(), size+module.Guard)
	larger := make([]byte, len(*i.memory), size+module.Guard)
	copy(larger, *i.memory)
	*i.memory = larger
}

// expect reserves what a window of this profile usually takes, so that the memory need not be moved while it grows. A
// profile that is a little larger than the last one is no reason to move it: it may have room.
func (i *instance) expect(profile []byte) {
	const perByte, ratio = 10, 4 // of an inflated profile; of a compressed one
	size := int64(len(profile)) * perByte
	if isCompressed(profile) {
		size *= ratio
	}
	size = min(i.least+size, i.most())
	if have := i.size(); size > have+have/4 {
		i.reserve(size)
	}
}

func isCompressed(profile []byte) bool {
	return bytes.HasPrefix(profile, []byte{0x1f, 0x8b}) || bytes.HasPrefix(profile, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// read returns a part of the memory.
func (i *instance) read(at, n uint32) ([]byte, bool) {
	end := uint64(at) + uint64(n)
	if end > uint64(len(*i.memory)) {
		return nil, false
	}
	return (*i.memory)[at:end:end], true
}

// call calls a function of the module and returns its result. A panic there is ErrEngine.
func (i *instance) call(name string, f func() int32) (result uint32, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = i.ended(name, cause)
		}
	}()
	if i.before != nil {
		i.before(name)
	}
	return uint32(f()), nil
}

// ended returns the error of a function that has panicked.
func (i *instance) ended(name string, cause any) error {
	if err := i.account.ctx.Err(); err != nil {
		return err
	}
	if i.account.isFull {
		return i.account.full()
	}
	err, ok := cause.(error)
	if !ok {
		err = fmt.Errorf("%v", cause)
	}
	return failFor(ErrEngine, StageEngine, name+" did not return", err)
}

// run calls a function that returns a status, and returns its answer.
func (i *instance) run(name string, f func() int32, to *buffer) (*answer, error) {
	i.to = to
	status, err := i.call(name, f)
	i.to = nil
	if err != nil {
		return nil, err
	}
	where, ok := i.read(i.buffers, 8)
	if !ok {
		return nil, outside(name)
	}
	word := binary.LittleEndian.Uint32
	members, ok := i.read(word(where), word(where[4:]))
	if !ok {
		return nil, outside(name)
	}
	found := &answer{bytes: members}
	switch {
	case status == 0:
		return found, nil
	case Status(status) == ErrMemory && i.account.isFull:
		return nil, i.account.full()
	case len(members) == 0:
		return nil, fail(Status(status), StageMemory, Status(status).String())
	}
	failed := found.error(Status(status))
	if found.short {
		return nil, outside(name)
	}
	if failed.Reason == ReasonMaxMemory { // the option has another name here
		failed.Text = "the call takes more than the pool's max memory leaves room for"
	}
	return nil, failed
}

func outside(name string) error {
	return fail(ErrEngine, StageEngine, name+" returned an invalid answer")
}

// stage copies an input into the room of the module.
func (i *instance) stage(input []byte) error {
	if int64(len(input)) > math.MaxUint32-pageSize {
		return i.tooLarge(len(input))
	}
	const name = "pd_room"
	at, err := i.call(name, func() int32 { return i.module.Xpd_room(int32(uint32(max(len(input), 1)))) })
	if err != nil {
		return err
	}
	if at == 0 {
		return i.tooLarge(len(input))
	}
	room, ok := i.read(at, uint32(len(input)))
	if !ok {
		return outside(name)
	}
	copy(room, input)
	return nil
}

func (i *instance) tooLarge(n int) error {
	return fail(ErrLimit, StageMemory, fmt.Sprintf("the instance has no room for %d bytes of input", n))
}

// runWith calls a function with the length of an input in the room.
func (i *instance) runWith(name string, f func(n int32) int32, to *buffer, input []byte) (*answer, error) {
	if err := i.stage(input); err != nil {
		return nil, err
	}
	return i.run(name, func() int32 { return f(int32(uint32(len(input)))) }, to)
}

// begin calls pd_new or pd_sum_new with options in the room; glue.h describes their encoding.
func (i *instance) begin(name string, f func(*module.Module) int32, o *options) error {
	if err := i.make(); err != nil {
		return err
	}
	if err := i.stage(o.encode(nil, i.account.limit)); err != nil {
		return err
	}
	return errorOf(i.run(name, func() int32 { return f(i.module) }, nil))
}

// encode appends the options as glue.h has them.
func (o *options) encode(to []byte, limit int64) []byte {
	first := uint32(0)
	if o.firstZero {
		first = 1
	}
	for _, word := range []uint32{o.flags, uint32(o.onReset), first, uint32(len(o.counters)),
		uint32(len(o.gauges)), uint32(o.format), uint32(len(o.resource))} {
		to = binary.LittleEndian.AppendUint32(to, word)
	}
	to = binary.LittleEndian.AppendUint64(to, uint64(limit))
	to = binary.LittleEndian.AppendUint64(to, o.id)
	label := ""
	if o.flags&flagMerge != 0 {
		label = o.targetLabel
	}
	for _, names := range [][]string{o.counters, o.gauges, o.resource, {label}} {
		for _, name := range names {
			to = append(append(to, name...), 0)
		}
	}
	return to
}

// record computes a window of records, apart from the context: recorded.h describes the input, which has the records at an
// offset. It also returns the series if the window arrives, and if it is lost.
func (i *instance) record(input []byte, at int, to *buffer) (report *Report, series [2][]byte, err error) {
	if err := i.make(); err != nil {
		return nil, series, err
	}
	if err := i.stage(input); err != nil {
		return nil, series, err
	}
	const name = "pd_record"
	found, err := i.run(name, func() int32 { return i.module.Xpd_record(int32(uint32(at))) }, to)
	report, err = whole(name, found, err, (*answer).report)
	if err == nil {
		both := bytes.Clone(found.bytes)
		series = [2][]byte{both[:len(both)/2], both[len(both)/2:]}
	}
	return report, series, err
}

// whole reads what a function answered.
func whole[T any](name string, found *answer, err error, read func(*answer) T) (*T, error) {
	if err != nil {
		return nil, err
	}
	value := read(found)
	if found.short {
		return nil, outside(name)
	}
	return &value, nil
}

// prepare makes the context anew, with these options. The other calls are made after it.
func (i *instance) prepare(o *options) error { return i.begin("pd_new", (*module.Module).Xpd_new, o) }

func (i *instance) load(state []byte) error {
	return errorOf(i.runWith("pd_load", i.module.Xpd_load, nil, state))
}

// save returns what the context remembers, with the attempt of a pending window.
func (i *instance) save(to *buffer) error { return errorOf(i.run("pd_save", i.module.Xpd_save, to)) }

// base takes a profile as all do: gzip, zstd or plain.
func (i *instance) base(profile []byte) error {
	i.expect(profile)
	return errorOf(i.runWith("pd_base", i.module.Xpd_base, nil, profile))
}

// window leaves the window pending.
func (i *instance) window(profile []byte, started int64, to *buffer) (*Report, error) {
	i.expect(profile)
	found, err := i.runWith("pd_window", func(n int32) int32 { return i.module.Xpd_window(n, started) }, to, profile)
	return whole("pd_window", found, err, (*answer).report)
}

func (i *instance) commit() error  { return errorOf(i.run("pd_commit", i.module.Xpd_commit, nil)) }
func (i *instance) abandon() error { return errorOf(i.run("pd_abandon", i.module.Xpd_abandon, nil)) }

func (i *instance) describe() (*Remembered, error) {
	found, err := i.run("pd_describe", i.module.Xpd_describe, nil)
	return whole("pd_describe", found, err, (*answer).remembered)
}

func (i *instance) check(profile []byte) (*Census, error) {
	found, err := i.runWith("pd_check", i.module.Xpd_check, nil, profile)
	return whole("pd_check", found, err, (*answer).census)
}

// sumBegin begins a sum, which is apart from the context, and drops the one that was begun before.
func (i *instance) sumBegin(o *options) error {
	return i.begin("pd_sum_new", (*module.Module).Xpd_sum_new, o)
}

func (i *instance) sumAdd(profile []byte) (Join, error) {
	found, err := i.runWith("pd_sum_add", i.module.Xpd_sum_add, nil, profile)
	if err != nil {
		return 0, err
	}
	return Join(found.u32()), nil
}

func (i *instance) sumFinish(to *buffer) error {
	return errorOf(i.run("pd_sum_finish", i.module.Xpd_sum_finish, to))
}

func errorOf[T any](_ T, err error) error { return err }
