//go:build pprofdelta_cgo

package pprofdelta

// This engine calls the installed C library. It needs cgo, a C compiler and pkg-config:
//
//	go build -tags pprofdelta_cgo
//
// C keeps no Go pointer. Input is borrowed for one call, output and results are in C memory until the next call,
// and every byte of an instance is counted by its allocator.

/*
#cgo pkg-config: pprofdelta
#include <pprofdelta.h>
#include <stdlib.h>
#include <string.h>

// What an instance has in C memory.
typedef struct door {
    pprofdelta *pd;
    pprofdelta_adder *adder;
    size_t held, most; // bytes of all blocks, without their sizes; the most in this call
    int is_full;       // more was refused
    int is_stopped;    // set by another thread: no memory is given any more
    struct {
        unsigned char *bytes;
        size_t len, cap;
    } out;
    pprofdelta_error err;
    pprofdelta_report report;
    pprofdelta_memory memory;
    pprofdelta_census census;
    pprofdelta_joint joint;
} door;

// A span is a source of bytes in memory.
typedef struct span {
    const unsigned char *bytes;
    size_t len;
} span;

static int span_read(void *cookie, void *buf, size_t len, size_t *got) {
    span *s = cookie;
    *got = len < s->len ? len : s->len;
    if (*got) memcpy(buf, s->bytes, *got);
    s->bytes += *got;
    s->len -= *got;
    return 0;
}

// The allocator has the size of each block before it.
enum { HEAD = 16 };

static void *counted_resize(void *cookie, void *ptr, size_t size) {
    door *d = cookie;
    size_t old = 0;
    unsigned char *base = NULL;
    if (size > SIZE_MAX - HEAD) return NULL;
    if (ptr) {
        base = (unsigned char *)ptr - HEAD;
        memcpy(&old, base, sizeof old);
    }
    if (__atomic_load_n(&d->is_stopped, __ATOMIC_RELAXED)) return NULL;
    if (size > old && (d->held > d->most || size - old > d->most - d->held)) {
        d->is_full = 1;
        return NULL;
    }
    base = realloc(base, size + HEAD);
    if (!base) return NULL;
    memcpy(base, &size, sizeof size);
    d->held += size - old;
    return base + HEAD;
}

static void counted_release(void *cookie, void *ptr) {
    door *d = cookie;
    size_t size;
    unsigned char *base = (unsigned char *)ptr - HEAD;
    memcpy(&size, base, sizeof size);
    d->held -= size;
    free(base);
}

static pprofdelta_allocator door_allocator(door *d) {
    return (pprofdelta_allocator){counted_resize, counted_release, d};
}

static int door_put(void *cookie, const void *data, size_t len) {
    door *d = cookie;
    if (len > d->out.cap - d->out.len) {
        size_t cap = len > SIZE_MAX / 2 - d->out.len ? SIZE_MAX : d->out.len + len + d->out.len / 4;
        unsigned char *bytes = counted_resize(d, d->out.bytes, cap);
        if (!bytes) return 1;
        d->out.bytes = bytes;
        d->out.cap = cap;
    }
    if (len) memcpy(d->out.bytes + d->out.len, data, len);
    d->out.len += len;
    return 0;
}

static pprofdelta_sink door_sink(door *d) {
    d->out.len = 0;
    return (pprofdelta_sink){door_put, d};
}

static void door_begin(door *d, size_t most) {
    d->most = most;
    d->is_full = 0;
    __atomic_store_n(&d->is_stopped, 0, __ATOMIC_RELAXED);
}

static void door_stop(door *d) {
    __atomic_store_n(&d->is_stopped, 1, __ATOMIC_RELAXED);
}

static pprofdelta_options door_options(unsigned flags, int on_reset, int first, uint64_t max_memory,
                                       char **counters, size_t counters_len, char **gauges, size_t gauges_len,
                                       int format, pprofdelta_attribute *resource, size_t resource_len) {
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.flags = flags;
    o.on_reset = (pprofdelta_on_reset)on_reset;
    o.first = (pprofdelta_first)first;
    o.compression = PPROFDELTA_PLAIN;
    o.max_memory = max_memory;
    o.counters = (const char *const *)counters;
    o.counters_len = counters_len;
    o.gauges = (const char *const *)gauges;
    o.gauges_len = gauges_len;
    o.format = (pprofdelta_format)format;
    o.resource = resource;
    o.resource_len = resource_len;
    return o;
}

static pprofdelta_status door_new(door *d, pprofdelta_options *o) {
    pprofdelta_allocator a = door_allocator(d);
    pprofdelta *pd;
    pprofdelta_status status = pprofdelta_new(o, &a, &pd, &d->err);
    if (status == PPROFDELTA_OK) {
        pprofdelta_free(d->pd);
        d->pd = pd;
    }
    return status;
}

static pprofdelta_status door_adder_new(door *d, pprofdelta_options *o) {
    pprofdelta_allocator a = door_allocator(d);
    pprofdelta_adder_free(d->adder);
    d->adder = NULL;
    return pprofdelta_adder_new(o, &a, &d->adder, &d->err);
}

static pprofdelta_status door_window(door *d, const void *bytes, size_t len, int64_t started) {
    pprofdelta_sink sink = door_sink(d);
    pprofdelta_set_started(d->pd, started);
    return pprofdelta_window(d->pd, bytes, len, &sink, &d->report, &d->err);
}

static pprofdelta_status door_save(door *d) {
    pprofdelta_sink sink = door_sink(d);
    return pprofdelta_save(d->pd, &sink, &d->err);
}

static pprofdelta_status door_load(door *d, const void *bytes, size_t len) {
    span s = {bytes, len};
    pprofdelta_source source = {span_read, &s};
    return pprofdelta_load(d->pd, &source, &d->err);
}

static pprofdelta_status door_finish(door *d) {
    pprofdelta_sink sink = door_sink(d);
    pprofdelta_status status = pprofdelta_adder_finish(d->adder, &sink, &d->err);
    pprofdelta_adder_free(d->adder);
    d->adder = NULL;
    return status;
}

static void door_free(door *d) {
    pprofdelta_free(d->pd);
    pprofdelta_adder_free(d->adder);
    if (d->out.bytes) counted_release(d, d->out.bytes);
    free(d);
}
*/
import "C"

import (
	"bytes"
	"context"
	"runtime"
	"time"
	"unsafe"
)

// engineName is what the engine is called in tests.
const engineName = "cgo"

type cgoEngine struct{}

func newEngine(*poolOptions) (engine, error) { return cgoEngine{}, nil }

func (cgoEngine) close() error { return nil }

func (cgoEngine) newInstance(a *account) (instance, error) {
	door := (*C.door)(C.calloc(1, C.sizeof_door)) // cgo's calloc never returns NULL
	return &cgoInstance{door: door, account: a}, nil
}

type cgoInstance struct {
	door    *C.door
	account *account
	empty   []byte    // the state of an empty context with its options
	rooms   [2][]byte // in Go's memory: C borrows them
}

// do makes a call and converts its status. If the context ends, the call gets no memory any more.
func (i *cgoInstance) do(call func() C.pprofdelta_status) error {
	a := i.account
	left := a.limit - a.inGo - int64(cap(i.rooms[0])+cap(i.rooms[1]))
	C.door_begin(i.door, C.size_t(max(left, 0)))
	stopped := make(chan struct{})
	release := context.AfterFunc(a.ctx, func() {
		C.door_stop(i.door)
		close(stopped)
	})
	status := call()
	if !release() {
		<-stopped
	}
	if status == C.PPROFDELTA_OK {
		return nil
	}
	isShort := status == C.PPROFDELTA_E_MEMORY || status == C.PPROFDELTA_E_SINK
	if err := a.ctx.Err(); err != nil && isShort {
		return err
	}
	if i.door.is_full != 0 && isShort {
		a.isFull = true
		return a.full()
	}
	e := &i.door.err
	return &Error{
		Status:  Status(status),
		Stage:   C.GoString(e.stage),
		Field:   C.GoString(&e.field[0]),
		Element: offsetOf(uint64(e.element)),
		Offset:  offsetOf(uint64(e.offset)),
		IsPrev:  e.is_prev != 0,
		Text:    C.GoString(&e.text[0]),
	}
}

// offsetOf converts PPROFDELTA_NOWHERE, too, whose bits are those of Nowhere.
func offsetOf(n uint64) int64 { return int64(n) }

// start returns a pointer to the bytes. It is valid for the call that it is an argument of.
func start(bytes []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(bytes)) }

func (i *cgoInstance) room(slot, n, keep int) ([]byte, error) {
	if more := n - cap(i.rooms[slot]); more > 0 {
		held := int64(i.door.held) + int64(cap(i.rooms[0])+cap(i.rooms[1])+more)
		if !i.account.fits(held, i.account.inGo) {
			return nil, i.account.full()
		}
		bigger := make([]byte, n)
		copy(bigger, i.rooms[slot][:keep])
		i.rooms[slot] = bigger
	}
	i.rooms[slot] = i.rooms[slot][:n]
	return i.rooms[slot], nil
}

// cStrings copies names to C. The caller calls the function when they are not used any more.
func cStrings(names []string) (**C.char, func()) {
	if len(names) == 0 {
		return nil, func() {}
	}
	array := C.malloc(C.size_t(len(names)) * C.size_t(unsafe.Sizeof((*C.char)(nil))))
	strings := unsafe.Slice((**C.char)(array), len(names))
	for n, name := range names {
		strings[n] = C.CString(name)
	}
	return (**C.char)(array), func() {
		for _, s := range strings {
			C.free(unsafe.Pointer(s))
		}
		C.free(array)
	}
}

// with calls make with the options of the C library.
func (i *cgoInstance) with(o *options, make func(*C.pprofdelta_options) C.pprofdelta_status) error {
	counters, freeCounters := cStrings(o.counters)
	defer freeCounters()
	gauges, freeGauges := cStrings(o.gauges)
	defer freeGauges()
	texts, freeTexts := cStrings(o.resource)
	defer freeTexts()
	first := C.PPROFDELTA_FIRST_FULL
	if o.firstZero {
		first = C.PPROFDELTA_FIRST_ZERO
	}
	made := C.door_options(C.unsigned(o.flags), C.int(o.onReset), C.int(first), C.uint64_t(i.account.limit),
		counters, C.size_t(len(o.counters)), gauges, C.size_t(len(o.gauges)), C.int(o.format),
		// An attribute is a key and its value.
		(*C.pprofdelta_attribute)(unsafe.Pointer(texts)), C.size_t(len(o.resource)/2))
	made.id = C.uint64_t(o.id)
	return i.do(func() C.pprofdelta_status { return make(&made) })
}

func (i *cgoInstance) prepare(o *options) error {
	err := i.with(o, func(made *C.pprofdelta_options) C.pprofdelta_status { return C.door_new(i.door, made) })
	if err != nil {
		return err
	}
	empty := takeBuffer()
	defer empty.give()
	err = i.save(empty)
	i.empty = bytes.Clone(empty.b)
	return err
}

func (i *cgoInstance) load(state []byte) error {
	if state == nil {
		state = i.empty
	}
	return i.do(func() C.pprofdelta_status { return C.door_load(i.door, start(state), C.size_t(len(state))) })
}

func (i *cgoInstance) save(to *buffer) error {
	return i.write(to, func() C.pprofdelta_status { return C.door_save(i.door) })
}

// write is do, and appends what the call has written.
func (i *cgoInstance) write(to *buffer, call func() C.pprofdelta_status) error {
	if err := i.do(call); err != nil {
		return err
	}
	return to.add(unsafe.Slice((*byte)(i.door.out.bytes), int(i.door.out.len)), i.account)
}

func (i *cgoInstance) base(profile []byte) error {
	return i.do(func() C.pprofdelta_status {
		return C.pprofdelta_base(i.door.pd, start(profile), C.size_t(len(profile)), &i.door.err)
	})
}

func (i *cgoInstance) window(profile []byte, started int64, to *buffer) (*Report, error) {
	err := i.write(to, func() C.pprofdelta_status {
		return C.door_window(i.door, start(profile), C.size_t(len(profile)), C.int64_t(started))
	})
	if err != nil {
		return nil, err
	}
	return i.report(), nil
}

func (i *cgoInstance) commit() error {
	C.pprofdelta_commit(i.door.pd)
	return nil
}

func (i *cgoInstance) abandon() error {
	C.pprofdelta_abandon(i.door.pd)
	return nil
}

func (i *cgoInstance) sumBegin(o *options) error {
	return i.with(o, func(made *C.pprofdelta_options) C.pprofdelta_status { return C.door_adder_new(i.door, made) })
}

func (i *cgoInstance) sumAdd(profile []byte) (Joint, error) {
	err := i.do(func() C.pprofdelta_status {
		return C.pprofdelta_adder_add(i.door.adder, start(profile), C.size_t(len(profile)), &i.door.joint, &i.door.err)
	})
	if err != nil {
		return 0, err
	}
	return Joint(i.door.joint), nil
}

func (i *cgoInstance) sumFinish(to *buffer) error {
	return i.write(to, func() C.pprofdelta_status { return C.door_finish(i.door) })
}

func (i *cgoInstance) size() int64 {
	d := i.door
	return int64(C.sizeof_door+d.held) + int64(cap(i.rooms[0])+cap(i.rooms[1])+cap(i.empty))
}

func (i *cgoInstance) close() {
	C.door_free(i.door)
	i.door = nil
	i.rooms = [2][]byte{}
}

// --- results --------------------------------------------------------------------------------------

func int128(s C.pprofdelta_sum) Int128 { return Int128{Hi: int64(s.hi), Lo: uint64(s.lo)} }

func typeReports(types *C.pprofdelta_type_report, n C.size_t) []TypeReport {
	var all []TypeReport
	for _, t := range unsafe.Slice(types, int(n)) {
		all = append(all, TypeReport{
			Type:      C.GoString(t._type),
			Unit:      C.GoString(t.unit),
			IsCounter: t.is_counter != 0,
			Prev:      int128(t.prev),
			Cur:       int128(t.cur),
			Delta:     int128(t.delta),
			Clamped:   int128(t.clamped),
			Vanished:  int128(t.vanished),
		})
	}
	return all
}

func (i *cgoInstance) report() *Report {
	r := &i.door.report
	return &Report{
		SamplesIn:     uint64(r.samples_in),
		SamplesOut:    uint64(r.samples_out),
		Matched:       uint64(r.matched),
		Fresh:         uint64(r.fresh),
		Vanished:      uint64(r.vanished),
		Clamped:       uint64(r.clamped),
		Duplicates:    uint64(r.duplicates),
		ByAddress:     uint64(r.by_address),
		ByLines:       uint64(r.by_lines),
		FilesReplaced: uint64(r.files_replaced),
		OtherBuild:    r.other_build != 0,
		UnknownFields: uint64(r.unknown_fields),
		HadBase:       r.had_base != 0,
		Restart:       Restart(r.restart),
		From:          timeOf(int64(r.from_nanos)),
		To:            timeOf(int64(r.to_nanos)),
		Sequence:      uint64(r.sequence),
		Attempt:       uint64(r.attempt),
		OutputLen:     uint64(r.output_len),
		Types:         typeReports(r.types, r.types_len),
		IsSame:        r.is_same != 0,
		MayBeWindow:   r.may_be_window != 0,
		ClockSetBack:  r.clock_set_back != 0,
		ID:            uint64(r.id),
	}
}

func (i *cgoInstance) describe() (*Memory, error) {
	m := &i.door.memory
	C.pprofdelta_describe(i.door.pd, m)
	return &Memory{
		HasBase:  m.has_base != 0,
		Sequence: uint64(m.sequence),
		Attempts: uint64(m.attempts),
		Samples:  uint64(m.samples),
		Unseen:   uint64(m.unseen),
		From:     timeOf(int64(m.from_nanos)),
		To:       timeOf(int64(m.to_nanos)),
		Restart:  Restart(m.restart),
		BuildID:  C.GoString(m.build_id),
		Types:    typeReports(m.types, m.types_len),

		OpenSequence: uint64(m.open_sequence),
		OpenFrom:     timeOf(int64(m.open_from_nanos)),
		OpenTo:       timeOf(int64(m.open_to_nanos)),
		OpenRestart:  Restart(m.open_restart),
		ID:           uint64(m.id),
	}, nil
}

func (i *cgoInstance) check(profile []byte) (*Census, error) {
	// The names in the census are in the profile's memory.
	var pinned runtime.Pinner
	defer pinned.Unpin()
	if len(profile) > 0 {
		pinned.Pin(unsafe.SliceData(profile))
	}
	c := &i.door.census
	err := i.do(func() C.pprofdelta_status {
		return C.pprofdelta_check(i.door.pd, start(profile), C.size_t(len(profile)), c, &i.door.err)
	})
	if err != nil {
		return nil, err
	}
	s := &c.stamp
	census := &Census{
		Format:        C.GoString(c.format),
		InflatedLen:   uint64(c.inflated_len),
		Types:         uint64(c.types),
		Samples:       uint64(c.samples),
		Mappings:      uint64(c.mappings),
		Locations:     uint64(c.locations),
		Functions:     uint64(c.functions),
		Strings:       uint64(c.strings),
		ByAddress:     uint64(c.by_address),
		ByLines:       uint64(c.by_lines),
		UnknownFields: uint64(c.unknown_fields),
		Time:          timeOf(int64(c.time_nanos)),
		Duration:      time.Duration(c.duration_nanos),
		IsStamped:     c.is_stamped != 0,
		Stamp: Stamp{
			IsDelta:  s.is_delta != 0,
			From:     timeOf(int64(s.from_nanos)),
			To:       timeOf(int64(s.to_nanos)),
			Sequence: uint64(s.sequence),
			Restart:  Restart(s.restart),
			Live:     Live(s.live),
			ID:       uint64(s.id),
			Epoch:    uint64(s.epoch),
			First:    uint64(s.first),
			Attempt:  uint64(s.attempt),
			Acked:    uint64(s.acked),
		},
		Binary:  C.GoStringN(c.binary, C.int(c.binary_len)),
		BuildID: C.GoStringN(c.build_id, C.int(c.build_id_len)),
	}
	*c = C.pprofdelta_census{} // it has pointers into the profile
	return census, nil
}
