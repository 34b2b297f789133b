package pprofdeltaprocessor

import (
	"bytes"
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
	"github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor/internal/metadata"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// key is the hash of what a target is: the attributes of its resource, its scope, and its type.
type key [32]byte

// target is one series of cumulative profiles.
type target struct {
	key  key
	slot int
	turn chan struct{} // has an element from the beginning of a window to its end

	// Of the request that has the turn.
	computer *pprofdelta.Computer // nil: not used since it was made or restored
	stored   []byte               // the state for the computer
	restarts uint8                // a bit for each of the last windows, the latest is the lowest
	isTold   bool                 // that it may be several
	source   string               // of the last profile

	// Guarded by the mutex of targets.
	users int // requests that have the turn, or wait for it
	place *list.Element
	size  int64 // of the state
	seen  time.Time
}

// targets is what the processor remembers. A target that was not seen for the idle time is forgotten, and
// the least recently seen one if there is no room; never one that is in use. Seen is a target that had a
// window, whatever became of it.
//
// The storage has a numbered slot for each target, so that no more is kept there than max_targets, and
// nothing need be deleted. A slot has a version, the key, when the target was seen, and the state.
type targets struct {
	most      int
	mostSize  int64
	idle      time.Duration
	now       func() time.Time
	client    storage.Client // nil: nothing is stored
	log       *zap.Logger
	telemetry *metadata.TelemetryBuilder
	storing   sync.Mutex
	comesBack sync.Once // warns

	mu    sync.Mutex
	found map[key]*target
	order *list.List // the least recently seen first
	size  int64
	slots int   // that were ever used
	free  []int // of these
}

// hold returns the target with this key, which is made if it is new, and keeps it until release. It
// returns nil if all targets are in use.
func (t *targets) hold(k key) *target {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, wasFound := t.found[k]
	if t.expire(); wasFound && t.found[k] != one {
		t.comesBack.Do(func() {
			t.log.Warn("a target was forgotten that comes again now, so its first window begins anew; make idle_timeout longer than the "+
				"time between two of its profiles", zap.Duration("idle_timeout", t.idle), zap.Duration("after", t.now().Sub(one.seen)))
		})
	}
	if one = t.found[k]; one == nil {
		if len(t.found) >= t.most && !t.evict("max_targets") {
			return nil
		}
		one = &target{key: k, seen: t.now()}
		if len(t.free) > 0 {
			one.slot, t.free = t.free[len(t.free)-1], t.free[:len(t.free)-1]
		} else {
			one.slot, t.slots = t.slots, t.slots+1
		}
		t.add(one)
	}
	one.users++
	return one
}

func (t *targets) add(one *target) {
	one.turn = make(chan struct{}, 1)
	one.place = t.order.PushBack(one)
	t.found[one.key] = one
	t.size += one.size
	t.telemetry.ProcessorPprofdeltaTargets.Add(context.Background(), 1)
}

func (t *targets) release(one *target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.users--
}

// expire forgets what was not seen for long.
func (t *targets) expire() {
	for e := t.order.Front(); e != nil; {
		one := e.Value.(*target)
		e = e.Next()
		if t.now().Sub(one.seen) < t.idle {
			return
		}
		if one.users == 0 {
			t.forget(one, "idle_timeout")
		}
	}
}

// evict forgets the least recently seen target that is not in use. It returns whether there is one.
func (t *targets) evict(why string) bool {
	for e := t.order.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*target); one.users == 0 {
			t.forget(one, why)
			return true
		}
	}
	return false
}

func (t *targets) forget(one *target, why string) {
	t.order.Remove(one.place)
	delete(t.found, one.key)
	t.size -= one.size
	t.free = append(t.free, one.slot)
	t.telemetry.ProcessorPprofdeltaTargets.Add(context.Background(), -1)
	t.telemetry.ProcessorPprofdeltaEvicted.Add(context.Background(), 1, by("setting", why))
}

func by(name, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(name, value)))
}

// store saves the states of these targets, which were seen now, in one step.
func (t *targets) store(ctx context.Context, entries []*entry) error {
	var operations []*storage.Operation
	for _, e := range entries {
		value := header(e.target.key, t.now())
		if err := e.target.computer.Save(ctx, value); err != nil {
			return err
		}
		t.saw(e.target, int64(value.Len()))
		operations = append(operations, storage.SetOperation(slotKey(e.target.slot), value.Bytes()))
	}
	if t.client == nil {
		return nil
	}
	t.storing.Lock() // the number of slots must not become less
	defer t.storing.Unlock()
	t.mu.Lock()
	operations = append(operations, storage.SetOperation(slotsKey, []byte(strconv.Itoa(t.slots))))
	t.mu.Unlock()
	return t.client.Batch(ctx, operations...)
}

func (t *targets) saw(one *target, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size += size - one.size
	one.size, one.seen = size, t.now()
	t.order.MoveToBack(one.place)
	for t.size > t.mostSize && t.evict("max_memory") {
	}
}

const (
	slotsKey    = "slots"
	slotVersion = 1
	headerLen   = 1 + len(key{}) + 8
)

func slotKey(slot int) string { return "slot." + strconv.Itoa(slot) }

func header(k key, seen time.Time) *bytes.Buffer {
	value := bytes.NewBuffer([]byte{slotVersion})
	value.Write(k[:])
	value.Write(binary.BigEndian.AppendUint64(nil, uint64(seen.UnixNano())))
	return value
}

// restore reads what is in the storage.
func (t *targets) restore(ctx context.Context) error {
	text, err := t.client.Get(ctx, slotsKey)
	if err != nil || text == nil {
		return err
	}
	if t.slots, err = strconv.Atoi(string(text)); err != nil || t.slots < 0 || t.slots > mostTargets {
		return fmt.Errorf("%q is not a number of slots", text)
	}
	latest := map[key]*target{}
	for slot := range t.slots {
		value, err := t.client.Get(ctx, slotKey(slot))
		if err != nil {
			return fmt.Errorf("%s: %w", slotKey(slot), err)
		}
		if len(value) <= headerLen || value[0] != slotVersion {
			if value != nil {
				t.log.Error("a state in the storage is not of this version, and is ignored", zap.Int("slot", slot))
			}
			continue
		}
		one := &target{key: key(value[1:]), slot: slot, size: int64(len(value)), stored: value[headerLen:]}
		one.seen = time.Unix(0, int64(binary.BigEndian.Uint64(value[1+len(key{}):])))
		if other := latest[one.key]; other == nil || other.seen.Before(one.seen) {
			latest[one.key] = one
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	used := make([]bool, t.slots)
	for _, one := range slices.SortedFunc(maps.Values(latest), func(a, b *target) int { return a.seen.Compare(b.seen) }) {
		used[one.slot] = true
		t.add(one)
	}
	for slot, is := range used {
		if !is {
			t.free = append(t.free, slot)
		}
	}
	t.expire()
	for len(t.found) > t.most && t.evict("max_targets") {
	}
	for t.size > t.mostSize && t.evict("max_memory") {
	}
	return nil
}

// A target that restarts in every second of its windows may be two, whose profiles come in turns.
const (
	watchedWindows = 1<<6 - 1
	manyRestarts   = 3
)

// follow notes a window that was sent. It returns where the profile before was from, and whether the target may be
// several, which is said once. The caller has the turn.
func (one *target) follow(isRestart bool, source string) (before string, isMixed bool) {
	before, one.source = one.source, source
	one.restarts <<= 1
	if isRestart {
		one.restarts |= 1
	}
	isMixed = isRestart && !one.isTold && bits.OnesCount8(one.restarts&watchedWindows) >= manyRestarts
	one.isTold = one.isTold || isMixed
	return before, isMixed
}

// ready makes the computer of a target, with the state that was stored. The caller has the turn.
func (one *target) ready(ctx context.Context, log *zap.Logger, options func(isZero bool) []pprofdelta.Option) error {
	if one.computer != nil {
		return nil
	}
	computer, err := pprofdelta.New(options(false)...)
	if err == nil && one.stored != nil {
		err = computer.Load(ctx, bytes.NewReader(one.stored))
		if errors.Is(err, pprofdelta.ErrState) || errors.Is(err, pprofdelta.ErrMismatch) {
			log.Error("the stored state of a target cannot be used; the next window begins with this profile, "+
				"and what was counted since the last one is lost", zap.Error(err))
			computer, err = pprofdelta.New(options(true)...)
		}
	}
	if err == nil {
		one.computer, one.stored = computer, nil
	}
	return err
}
