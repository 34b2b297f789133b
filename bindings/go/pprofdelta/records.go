package pprofdelta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"
)

// A record is what a stack has counted since the process began, before it is scaled.
type record struct {
	stack         *[32]uintptr // return addresses, the leaf first; a zero ends it
	count, amount int64        // objects and bytes, or contentions and cycles
	inUse, bytes  int64        // of count and amount
}

// A recordKind is where records come from, and how they are written. It keeps its buffers, about 350 bytes for each
// record: to make and clear them for each window would take most of its time.
type recordKind struct {
	name   string // for runtime/pprof
	number uint32 // of pprofdelta_kind
	scales func() scales
	mu     sync.Mutex
	// collect returns all records, the newest one first. The caller holds mu, also while it uses them.
	collect func() []record
}

var (
	heapRecords  = recordKind{name: "heap", number: 0, scales: heapScales, collect: collector(getHeap, ofHeap)}
	mutexRecords = recordKind{name: "mutex", number: 1, scales: waitScales, collect: collector(runtime.MutexProfile, ofWait)}
	blockRecords = recordKind{name: "block", number: 1, scales: waitScales, collect: collector(runtime.BlockProfile, ofWait)}
)

func collector[T any](get func([]T) (int, bool), of func(*T) record) func() []record {
	var from []T
	var to []record
	return func() []record {
		n, ok := get(from)
		for !ok { // others may be added meanwhile
			from = make([]T, n+n/16+16)
			n, ok = get(from)
		}
		to = slices.Grow(to[:0], n)
		for i := range n {
			to = append(to, of(&from[i]))
		}
		return to
	}
}

func getHeap(to []runtime.MemProfileRecord) (int, bool) { return runtime.MemProfile(to, true) }

func ofHeap(r *runtime.MemProfileRecord) record {
	return record{&r.Stack0, r.AllocObjects, r.AllocBytes, r.InUseObjects(), r.InUseBytes()}
}

func ofWait(r *runtime.BlockProfileRecord) record {
	return record{stack: &r.Stack0, count: r.Count, amount: r.Cycles}
}

// ---- the base -------------------------------------------------------------------------------------------------

// tally is what is remembered of a record.
type tally struct {
	stack         uint64 // its hash
	count, amount int64
}

var seed = maphash.MakeSeed()

// countAll returns what is remembered of all records, in the opposite order: the runtime puts new records in front,
// and never removes one, so a record keeps its index.
func countAll(records []record) []tally {
	all := make([]tally, len(records))
	for i := range records {
		r := &records[len(records)-1-i]
		all[i] = tally{maphash.Comparable(seed, *r.stack), r.count, r.amount}
	}
	return all
}

// before returns what the records had counted at the base, in their order; later records are new.
func before(base, cur []tally) []tally {
	inOrder := len(base) <= len(cur)
	for i := 0; inOrder && i < len(base); i++ {
		inOrder = base[i].stack == cur[i].stack && base[i].count <= cur[i].count && base[i].amount <= cur[i].amount
	}
	if inOrder {
		return base
	}
	// Whatever the order is, the sum of the records with one stack is right.
	prev, left := make([]tally, len(cur)), make(map[uint64]tally, len(base))
	for _, b := range base {
		sum := left[b.stack]
		left[b.stack] = tally{b.stack, sum.count + b.count, sum.amount + b.amount}
	}
	for i, c := range cur {
		sum := left[c.stack]
		prev[i] = tally{c.stack, min(sum.count, c.count), min(sum.amount, c.amount)}
		left[c.stack] = tally{c.stack, sum.count - prev[i].count, sum.amount - prev[i].amount}
	}
	return prev
}

// ---- scaling --------------------------------------------------------------------------------------------------

// scales are how values are scaled now. They are applied to cumulative values, which are subtracted then: the sum of
// many windows is the scaled total. The formulas are those of runtime/pprof.
type scales struct {
	period int64
	apply  func(count, amount int64) (int64, int64)
}

// heapScales unsamples: an allocation of n bytes was recorded with the probability 1 - exp(-n/rate).
func heapScales() scales {
	rate := runtime.MemProfileRate
	return scales{int64(rate), func(count, amount int64) (int64, int64) {
		if rate <= 1 || count == 0 || amount == 0 {
			return count, amount
		}
		size := float64(amount) / float64(count)
		scale := 1 / (1 - math.Exp(-size/float64(rate)))
		return int64(float64(count) * scale), int64(float64(amount) * scale)
	}}
}

// waitScales makes nanoseconds of cycles. The runtime has unsampled the records.
func waitScales() scales {
	perNano := cyclesPerSecond() / 1e9
	return scales{1, func(count, amount int64) (int64, int64) { return count, int64(float64(amount) / perNano) }}
}

// cyclesPerSecond is what runtime/pprof divides by: a constant of the process, which is in its text profiles only.
// The shorter one of them is written.
var cyclesPerSecond = sync.OnceValue(func() float64 {
	name, most := "mutex", 0
	most, _ = runtime.MutexProfile(nil)
	if n, _ := runtime.BlockProfile(nil); n < most {
		name = "block"
	}
	var text bytes.Buffer
	_ = pprof.Lookup(name).WriteTo(&text, 1) // to memory
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		var cycles float64
		if n, _ := fmt.Sscanf(lines.Text(), "cycles/second=%g", &cycles); n == 1 && cycles > 0 {
			return cycles
		}
	}
	return 1e9
})

// ---- the input of the recorder --------------------------------------------------------------------------------

// started is about when the process began.
var started = time.Now()

// take collects the records, and appends the options and the records that the delta has; recorded.h describes the encoding.
// It returns where the latter begin, the base (with FirstZero, the first one is now), and what the next base is if the
// window arrives.
func (k *recordKind) take(to *buffer, o *options, series []byte, base []tally) (at int, was, is []tally) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	records := k.collect()
	is = countAll(records)
	if series == nil && o.firstZero {
		base = is
	}
	to.b, at = k.encode(to.b, o, series, now, records, before(base, is))
	return at, base, is
}

func (k *recordKind) encode(to []byte, o *options, series []byte, now time.Time, records []record, prev []tally) ([]byte, int) {
	places.mu.Lock()
	defer places.mu.Unlock()
	e := places.begin()
	s := k.scales()
	for i := range records {
		r, base := &records[i], tally{}
		if at := len(records) - 1 - i; at < len(prev) {
			base = prev[at]
		}
		if r.count == base.count && r.amount == base.amount && r.inUse == 0 && r.bytes == 0 {
			continue
		}
		var values [4]int64
		values[0], values[1] = s.apply(r.count, r.amount)
		count, amount := s.apply(base.count, base.amount)
		values[0], values[1] = values[0]-count, values[1]-amount
		values[2], values[3] = s.apply(r.inUse, r.bytes)
		var size int64
		if k.number == heapRecords.number && r.count > 0 {
			size = r.amount / r.count
		}
		e.add(r.stack, values, size, k.number == heapRecords.number)
	}
	word := binary.LittleEndian
	to = o.encode(to, o.pool.o.maxMemory)
	to = append(to, make([]byte, -len(to)&7)...)
	mappings := e.mappings()
	head := len(to)
	for _, number := range []int64{now.UnixNano(), s.period, started.UnixNano()} {
		to = word.AppendUint64(to, uint64(number))
	}
	for _, number := range []int{int(k.number), min(len(series), 1), len(mappings) / mappingSize,
		len(e.frames) / frameSize, len(e.places) / placeSize, e.count} {
		to = word.AppendUint32(to, uint32(number))
	}
	texts := len(to) - head + 8 + len(series) + len(mappings) + len(e.frames) + len(e.places) + len(e.records)
	to = word.AppendUint64(to, uint64(texts))
	for _, part := range [][]byte{series, mappings, e.frames, e.places, e.records, e.texts} {
		to = append(to, part...)
	}
	return to, head
}

// isInternal says whether runtime/pprof leaves such a function out at the leaf of a heap profile.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/")
}
