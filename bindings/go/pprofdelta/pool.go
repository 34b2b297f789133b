package pprofdelta

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is a bounded set of instances of the C library, which any number of computers share. An
// instance computes one window at a time. Between windows no computer holds an instance, so a few
// instances serve thousands of targets.
//
// An instance is made when a window needs one and none is idle. It is dropped if it is larger than
// [WithKeptMemory] after a window, if it was idle for [WithIdle], after a failure of the engine, and if a
// context has ended its call.
// A pool starts no goroutine, and [Pool.Stats] tells how it is used. (The timer for idle instances runs a function when it is due.)
//
// NewPool makes a pool; calls that need a zero Pool fail with [ErrUsage].
//
// Computers without [WithPool] share a default pool with default options. It is made when it is first
// needed and is never closed.
type Pool struct {
	o      poolOptions
	places chan struct{} // one element for each instance in use
	closed chan struct{} // closed by Close

	made, waits atomic.Uint64
	waited      atomic.Int64 // nanoseconds

	mu      sync.Mutex
	idle    []*held   // the one that was used last is the last one
	buffers []*buffer // of deltas that were written, at most one for each instance
	states  [][]byte  // that no computer remembers any more, as many
	timer   *time.Timer
}

// held is an instance with what the pool knows about it.
type held struct {
	*instance
	isUsed  bool      // before
	saved   buffer    // a state as it is written
	options *options  // of the context; nil: there is none
	token   uint64    // of the state that the context remembers; 0: of no computer
	since   time.Time // idle since then
}

// tokens numbers the states of all computers.
var tokens atomic.Uint64

func newToken() uint64 { return tokens.Add(1) }

var defaultPool = sync.OnceValues(func() (*Pool, error) { return NewPool() })

// NewPool makes a pool. Close frees it.
func NewPool(opts ...PoolOption) (*Pool, error) {
	o := poolOptions{maxMemory: defaultMaxMemory, keep: defaultKeep, idle: defaultIdle}
	for _, opt := range opts {
		if opt == nil {
			return nil, usage("an option is nil")
		}
		opt(&o)
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Pool{o: o, places: make(chan struct{}, o.instances), closed: make(chan struct{})}, nil
}

// complete checks the options and fills in the defaults.
func (o *poolOptions) complete() error {
	if o.instances == 0 {
		o.instances = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.instances < 0 || o.instances > math.MaxInt16:
		return usage("WithInstances is not from 0 to 32767")
	case o.maxMemory <= 0 || o.maxMemory > mostMaxMemory:
		return usage("WithMaxMemory is not from 1 byte to %d bytes", int64(mostMaxMemory))
	case o.keep < 0:
		return usage("WithKeptMemory is negative")
	case o.idle < 0:
		return usage("WithIdle is negative")
	}
	return nil
}

// Close drops all instances; those in use, when their calls return. It does not wait. Later calls that need the
// pool fail with [ErrClosed]. What computers remember stays: [Computer.Save] still works.
func (p *Pool) Close() error {
	if p == nil || p.places == nil {
		return usage("the pool was not made by NewPool")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open() == nil {
		close(p.closed)
	}
	p.drop(len(p.idle))
	if p.timer != nil {
		p.timer.Stop()
	}
	return nil
}

// PoolStats is what a pool has, and has done.
type PoolStats struct {
	Limit      int           // of the instances: see WithInstances
	InUse      int           // instances that a call uses
	Idle       int           // instances that none does
	IdleMemory int64         // bytes that they hold
	Made       uint64        // instances made so far; those that are not here any more were dropped
	Waits      uint64        // calls that had to wait for an instance
	Waited     time.Duration // how long they did, in all
}

// Stats returns what the pool has now, and has done since it was made.
func (p *Pool) Stats() PoolStats {
	if p == nil {
		return PoolStats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := PoolStats{Limit: p.o.instances, InUse: len(p.places), Idle: len(p.idle), Made: p.made.Load(),
		Waits: p.waits.Load(), Waited: time.Duration(p.waited.Load())}
	for _, h := range p.idle {
		stats.IdleMemory += h.size()
	}
	return stats
}

// open fails for a zero pool and a closed one.
func (p *Pool) open() error {
	if p.places == nil {
		return usage("the pool was not made by NewPool")
	}
	select {
	case <-p.closed:
		return fail(ErrClosed, StageOptions, ErrClosed.String())
	default:
		return nil
	}
}

// acquire waits for an instance. It prefers the one whose context remembers the state with this
// token, then the one that was used last.
func (p *Pool) acquire(ctx context.Context, token uint64) (*held, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.place(ctx); err != nil {
		return nil, err
	}
	if h := p.takeIdle(token); h != nil {
		return h, nil
	}
	return p.newHeld(), nil
}

// place waits for a place for an instance.
func (p *Pool) place(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	default:
	}
	begin := time.Now()
	p.waits.Add(1)
	defer func() { p.waited.Add(int64(time.Since(begin))) }()
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return p.open()
	}
}

func (p *Pool) newHeld() *held {
	p.made.Add(1)
	return &held{instance: newInstance(&p.o, &account{ctx: context.Background(), limit: p.o.maxMemory, moves: p.o.moves})}
}

func (p *Pool) takeIdle(token uint64) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	at := len(p.idle) - 1
	for i, h := range p.idle {
		if token != 0 && h.token == token {
			at = i
		}
	}
	h := p.idle[at]
	p.idle = append(p.idle[:at], p.idle[at+1:]...)
	return h
}

// release gives an instance back. err is what its last call returned.
func (p *Pool) release(h *held, err error) {
	defer func() { <-p.places }()
	a := h.account
	isBroken := errors.Is(err, ErrEngine) || errors.Is(err, ErrMemory) || err != nil && (a.isFull || a.ctx.Err() != nil)
	if isBroken || h.size() > p.o.keep {
		h.close()
		return
	}
	h.isUsed = true
	a.ctx, a.inGo = context.Background(), 0
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open() != nil {
		h.close()
		return
	}
	h.since = time.Now()
	p.idle = append(p.idle, h)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.o.idle, p.sweep)
	} else if len(p.idle) == 1 {
		p.timer.Reset(p.o.idle)
	}
}

// sweep drops the instances that were idle for too long.
func (p *Pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) >= p.o.idle {
		n++
	}
	p.drop(n)
	if len(p.idle) > 0 {
		p.timer.Reset(p.o.idle - time.Since(p.idle[0].since))
	}
}

// drop closes the n instances that are idle for the longest time. The caller holds mu.
func (p *Pool) drop(n int) {
	for _, h := range p.idle[:n] {
		h.close()
	}
	clear(p.idle[:n])
	p.idle = p.idle[n:]
	if len(p.idle) == 0 {
		p.buffers, p.states = nil, nil
	}
}

// takeBuffer returns a buffer for a delta. Those of the garbage collector's pools would be made anew now and then.
func (p *Pool) takeBuffer() *buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.buffers) - 1
	if last < 0 {
		return new(buffer)
	}
	b := p.buffers[last]
	p.buffers = p.buffers[:last]
	b.b = b.b[:0]
	return b
}

// giveBuffer takes back a buffer that nobody else has.
func (p *Pool) giveBuffer(b *buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.buffers) < p.o.instances && int64(cap(b.b)) <= p.o.keep && p.open() == nil {
		p.buffers = append(p.buffers, b)
	}
}

// use calls do with an instance. inGo is how many bytes are held for this use already. do may be called
// twice: what a used instance has no room for is done again by a new one, so that the limit does not
// depend on earlier uses. A limit of the library does not depend on them.
func (p *Pool) use(ctx context.Context, token uint64, inGo int64, do func(h *held) error) error {
	h, err := p.acquire(ctx, token)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // do has panicked
			h.close()
			<-p.places
		}
	}()
	err = h.use(ctx, inGo, do)
	if h.isUsed && h.account.isFull && errors.Is(err, ErrLimit) {
		h.close()
		h = p.newHeld()
		err = h.use(ctx, inGo, do)
	}
	returned = true
	p.release(h, err)
	return err
}

func (h *held) use(ctx context.Context, inGo int64, do func(h *held) error) error {
	a := h.account
	a.ctx, a.inGo, a.isFull = ctx, 0, false
	if err := a.hold(inGo); err != nil {
		return err
	}
	return do(h)
}

// use calls do, as Pool.use does, with an instance whose context has these options and remembers this state.
func (o *options) use(ctx context.Context, state []byte, token uint64, inGo int64, do func(h *held) error) error {
	return o.pool.use(ctx, token, inGo, func(h *held) error {
		if err := h.ready(o, state, token); err != nil {
			return err
		}
		return do(h)
	})
}

// ready makes the context have these options and remember this state; nil is that of a new context.
func (h *held) ready(o *options, state []byte, token uint64) error {
	if state == nil || h.options == nil || !h.options.contextEqual(o) {
		if err := h.renew(o); err != nil || state == nil {
			return err
		}
	}
	if token != 0 && h.token == token {
		return nil
	}
	h.token = 0
	if err := h.load(state); err != nil {
		return err
	}
	h.token = token
	return nil
}

// renew makes a context with these options.
func (h *held) renew(o *options) error {
	h.token, h.options = 0, nil
	if err := h.prepare(o); err != nil {
		return err
	}
	h.options = o
	return nil
}

// newState returns a copy of a state, with a capacity that is at most a quarter larger. It takes the place of one that no
// computer remembers any more, so that a window leaves no garbage of that size.
func (p *Pool) newState(saved []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, old := range p.states {
		if cap(old) >= len(saved) && cap(old) <= len(saved)+len(saved)/4 {
			p.states = slices.Delete(p.states, i, i+1)
			return append(old[:0], saved...)
		}
	}
	return append(make([]byte, 0, len(saved)+len(saved)/8), saved...) // counters grow
}

// giveState takes back a state that nobody has any more, in the place of the oldest one if there are enough.
func (p *Pool) giveState(state []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == nil || p.open() != nil {
		return
	}
	if len(p.states) == p.o.instances {
		p.states = slices.Delete(p.states, 0, 1)
	}
	p.states = append(p.states, state)
}
