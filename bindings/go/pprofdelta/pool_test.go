package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
)

// newPool makes a pool that is closed at the end of the test.
func newPool(t testing.TB, opts ...PoolOption) *Pool {
	t.Helper()
	p, err := NewPool(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestManyTargetsShareTwoInstances is for the race detector, too.
func TestManyTargetsShareTwoInstances(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	const targets, windows = 24, 6
	var group sync.WaitGroup
	for target := range targets {
		group.Go(func() {
			p := newProcess(uint64(target), 5+target)
			c := newComputer(t, WithPool(pool), WithCompression(Compression(target%2)))
			prev := p.bytes(t)
			if err := c.Base(context.Background(), prev); err != nil {
				t.Error(err)
				return
			}
			for window := range windows {
				p.run()
				cur := p.bytes(t)
				if window == target%windows { // one target's failure is no other target's
					if err := c.Delta(cur[:len(cur)-1], io.Discard); !errors.Is(err, ErrInflate) {
						t.Error(err)
					}
				}
				var out bytes.Buffer
				if err := c.Delta(cur, &out); err != nil {
					t.Error(err)
					return
				}
				same(t, fmt.Sprintf("target %d", target), parsed(t, out.Bytes()), merged(t, prev, cur))
				prev = cur
			}
		})
	}
	group.Wait()
	if n := pool.Stats().Idle; n < 1 || n > 2 {
		t.Errorf("%d instances", n)
	}
}

// TestOneComputerServesManyGoroutines: the windows are in some order, and none is lost. A call while the delta of
// another one is written is made again.
func TestOneComputerServesManyGoroutines(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	p := newProcess(4, 30)
	profile := p.bytes(t)
	c := newComputer(t, WithPool(pool))
	var group sync.WaitGroup
	var saved sync.Map
	for range 20 {
		group.Go(func() {
			err := c.Delta(profile, io.Discard)
			for errors.Is(err, ErrPending) {
				runtime.Gosched()
				err = c.Delta(profile, io.Discard)
			}
			if err != nil {
				t.Error(err)
			}
			m, err := c.Describe(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			saved.Store(m.Sequence, true)
			if err := c.Save(context.Background(), io.Discard); err != nil {
				t.Error(err)
			}
			c.SetStarted(time.Time{})
		})
	}
	group.Wait()
	if m, err := c.Describe(context.Background()); err != nil || m.Sequence != 20 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestAllMethodsByManyGoroutines is for the race detector.
func TestAllMethodsByManyGoroutines(t *testing.T) {
	ctx := context.Background()
	pool := newPool(t, WithInstances(2))
	profile := newProcess(4, 30).bytes(t)
	c := newComputer(t, WithPool(pool))
	for range 4 {
		w, err := c.Window(ctx, profile)
		if err != nil {
			t.Fatal(err)
		}
		state := stateOf(t, c)
		// What fails does so because a window is pending.
		calls := []func() error{
			func() error { return c.Delta(profile, io.Discard) },
			func() error { return c.DeltaContext(ctx, profile, io.Discard) },
			func() error { return c.Base(ctx, profile) },
			func() error { return c.Load(ctx, bytes.NewReader(state)) },
			func() error { return c.Save(ctx, io.Discard) },
			func() error { _, err := c.Describe(ctx); return err },
			func() error { c.SetStarted(time.Time{}); return nil },
			func() error { _, err := c.Window(ctx, profile); return err },
			func() error { _, err := c.WindowFrom(ctx, bytes.NewReader(profile)); return err },
			func() error { c.Abandon(); return nil },
			func() error { w.Abandon(); return nil },
			func() error { return w.Commit() },
			func() error { _, err := Check(ctx, profile, WithPool(pool)); return err },
		}
		for range 3 {
			calls = append(calls, func() error {
				var out bytes.Buffer
				n, err := w.WriteTo(&out)
				if n != int64(out.Len()) || len(parsed(t, out.Bytes()).SampleType) == 0 {
					t.Errorf("%d of %d bytes", n, out.Len())
				}
				return err
			})
		}
		var group sync.WaitGroup
		for _, call := range calls {
			group.Go(func() {
				if err := call(); err != nil && !errors.Is(err, ErrPending) && !errors.Is(err, ErrAbandoned) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		c.Abandon()
	}
	deltaOf(t, c, profile)
}

func TestContextEndsTheWaiting(t *testing.T) {
	pool := newPool(t, WithInstances(1))
	c := newComputer(t, WithPool(pool))
	profile := newProcess(4, 10).bytes(t)
	h, err := pool.acquire(context.Background(), 0) // no instance is left
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := map[string]func() error{
		"Window":       func() error { _, err := c.Window(ctx, profile); return err },
		"WindowFrom":   func() error { _, err := c.WindowFrom(ctx, bytes.NewReader(profile)); return err },
		"DeltaContext": func() error { return c.DeltaContext(ctx, profile, io.Discard) },
		"Base":         func() error { return c.Base(ctx, profile) },
		"Save":         func() error { return c.Save(ctx, io.Discard) },
		"Load":         func() error { return c.Load(ctx, bytes.NewReader(profile)) },
		"Describe":     func() error { _, err := c.Describe(ctx); return err },
		"Check":        func() error { _, err := Check(ctx, profile, WithPool(pool)); return err },
		"Compare": func() error {
			_, err := Compare(ctx, profile, profile, io.Discard, WithPool(pool))
			return err
		},
	}
	type result struct {
		name string
		err  error
	}
	results := make(chan result)
	for name, call := range calls {
		go func() { results <- result{name, call()} }()
	}
	cancel()
	for range calls {
		if r := <-results; !errors.Is(r.err, context.Canceled) {
			t.Errorf("%s: %v", r.name, r.err)
		}
	}
	pool.release(h, nil)
	if w, err := c.Window(context.Background(), profile); err != nil || w.Report.Attempt != 1 {
		t.Errorf("a canceled call has changed the computer: %v", err)
	}
}

// An ending context ends when it was asked `left` times.
type ending struct {
	context.Context
	cancel func()
	left   int
}

func endingAfter(n int) *ending {
	ctx, cancel := context.WithCancel(context.Background())
	return &ending{ctx, cancel, n}
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		e.cancel()
	}
	return e.Context.Err()
}

// TestContextEndsACall: wherever the context ends, the call changes nothing and the computer is usable.
func TestContextEndsACall(t *testing.T) {
	pool := newPool(t, WithInstances(1))
	p := newProcess(4, 5000)
	first := p.bytes(t)
	p.run()
	second := p.bytes(t)
	c := newComputer(t, WithPool(pool))
	w, delta := windowOf(t, c, first)
	commit(t, w)
	state := stateOf(t, c)
	to := newComputer(t, WithPool(pool))
	for name, call := range map[string]func(ctx context.Context) error{
		"Window": func(ctx context.Context) error { _, err := c.Window(ctx, second); return err },
		"WindowFrom": func(ctx context.Context) error {
			_, err := c.WindowFrom(ctx, bytes.NewReader(second))
			return err
		},
		"Base":     func(ctx context.Context) error { return to.Base(ctx, second) },
		"Load":     func(ctx context.Context) error { return to.Load(ctx, bytes.NewReader(state)) },
		"Describe": func(ctx context.Context) error { _, err := c.Describe(ctx); return err },
		"Check":    func(ctx context.Context) error { _, err := Check(ctx, second, WithPool(pool)); return err },
		"Compare": func(ctx context.Context) error {
			_, err := Compare(ctx, first, second, io.Discard, WithPool(pool))
			return err
		},
		"Sum": func(ctx context.Context) error {
			_, err := Sum(ctx, io.Discard, [][]byte{delta}, WithPool(pool))
			return err
		},
		"DeltaContext": func(ctx context.Context) error {
			return newComputer(t, WithPool(pool)).DeltaContext(ctx, second, failing{err: io.ErrClosedPipe})
		},
	} {
		token, other, ended := c.token, to.token, 0
		for ; ; ended++ {
			ctx := endingAfter(ended)
			err := call(ctx)
			ctx.cancel()
			if !errors.Is(err, context.Canceled) {
				if err != nil && name != "DeltaContext" {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			if c.pending != nil || c.token != token || to.token != other {
				t.Fatalf("%s, ended %d times: the computer has changed", name, ended)
			}
		}
		c.Abandon()
		// The library asks, too, and not only this package.
		if name != "Load" && name != "Describe" && ended < 4 {
			t.Errorf("%s: the context was asked only %d times", name, ended)
		}
	}
	same(t, "after contexts that have ended", parsed(t, deltaOf(t, c, second)), merged(t, first, second))
}

func TestClosedPool(t *testing.T) {
	before := runtime.NumGoroutine()
	pool, err := NewPool(WithInstances(3), WithIdle(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(4, 10)
	c := newComputer(t, WithPool(pool))
	deltaOf(t, c, p.bytes(t))
	w, want := windowOf(t, c, p.bytes(t))
	h, err := pool.acquire(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := pool.Stats(); got != (PoolStats{Limit: 3, InUse: 1, Made: 1}) {
		t.Errorf("%+v", got)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := pool.Close(); err != nil { // it does not wait for the instance in use
				t.Error(err)
			}
		})
	}
	group.Wait()
	pool.release(h, nil)
	if got := pool.Stats(); got.InUse != 0 || got.Idle != 0 {
		t.Errorf("instances are left: %+v", got)
	}
	statusOf(t, "Delta", newPooled(pool).Delta(p.bytes(t), io.Discard), ErrClosed)
	if got, err := w.Bytes(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the window is lost: %v", err)
	}
	if err := w.Commit(); err != nil {
		t.Error(err)
	}
	if err := c.Save(context.Background(), io.Discard); err != nil {
		t.Error(err)
	}
	_, err = New(WithPool(pool), WithForce())
	statusOf(t, "New", err, ErrClosed)
	for i := 0; runtime.NumGoroutine() > before; i++ { // those of the test itself end soon
		if i > 60_000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

// newPooled makes a computer without asking the pool.
func newPooled(pool *Pool) *Computer {
	return &Computer{o: options{pool: pool}, turn: make(chan struct{}, 1)}
}

func TestInstancesAreDropped(t *testing.T) {
	small := newPool(t, WithKeptMemory(1))
	begun(t, 4, 10, WithPool(small))
	if n := small.Stats().Idle; n != 0 {
		t.Errorf("%d instances larger than the limit are kept", n)
	}
	idle := newPool(t, WithIdle(time.Millisecond))
	p, c, first := begun(t, 4, 10, WithPool(idle))
	for idle.Stats().Idle != 0 { // a test that hangs here has found an instance that stays
		time.Sleep(time.Millisecond)
	}
	cur := p.bytes(t)
	same(t, "after the instance was dropped", parsed(t, deltaOf(t, c, cur)), merged(t, first, cur))
}

func TestInstanceOfTheSameTargetIsUsedAgain(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	p := newProcess(4, 10)
	a, b := newComputer(t, WithPool(pool)), newComputer(t, WithPool(pool))
	h, err := pool.acquire(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	deltaOf(t, a, p.bytes(t))
	pool.release(h, nil)
	deltaOf(t, b, p.bytes(t)) // by the other instance, which was used last
	if pool.Stats().Idle != 2 {
		t.Fatalf("%d instances", pool.Stats().Idle)
	}
	for _, c := range []*Computer{a, b} {
		h, err := pool.acquire(context.Background(), c.token)
		if err != nil || h.token != c.token {
			t.Errorf("an instance with token %d, not %d: %v", h.token, c.token, err)
		}
		pool.release(h, nil)
	}
}

func TestPoolOptions(t *testing.T) {
	for what, opt := range map[string]PoolOption{"instances": WithInstances(-1),
		"max memory": WithMaxMemory(0), "more memory": WithMaxMemory(4 << 30),
		"kept": WithKeptMemory(-1), "idle": WithIdle(-1)} {
		_, err := NewPool(opt)
		statusOf(t, what, err, ErrUsage)
	}
}

func TestMaxMemory(t *testing.T) {
	pool := newPool(t, WithMaxMemory(1<<20), WithInstances(1))
	c := newComputer(t, WithPool(pool))
	p := newProcess(4, 14000)
	big := p.bytes(t)
	if n := len(plainOf(t, big)); n < 1<<19 || n > 1<<20 {
		t.Fatalf("the profile has %d bytes", n)
	}
	statusOf(t, "a profile whose context is too large", c.Delta(big, io.Discard), ErrLimit)
	small := newProcess(5, 10).bytes(t)
	deltaOf(t, c, small)
	huge := newProcess(4, 30000).bytes(t)
	statusOf(t, "a profile that is too large", c.Delta(huge, io.Discard), ErrLimit)
	statusOf(t, "plain", c.Delta(plainOf(t, huge), io.Discard), ErrLimit)
	_, err := c.WindowFrom(context.Background(), bytes.NewReader(plainOf(t, huge)))
	statusOf(t, "a reader", err, ErrLimit)
}

// TestTenThousandTargets: a target costs its state; instances and goroutines do not grow in number.
func TestTenThousandTargets(t *testing.T) {
	targets := 10_000
	if testing.Short() {
		targets = 500
	}
	pool := newPool(t, WithInstances(2))
	p := newProcess(4, 100)
	first := packed(t, p.profile())
	p.run()
	second := packed(t, p.profile())
	warm := newComputer(t, WithPool(pool)) // makes what all targets share
	deltaOf(t, warm, first)
	want := deltaOf(t, warm, second)
	same(t, "the first target", parsed(t, want), merged(t, first, second))
	goroutines := runtime.NumGoroutine()
	before := heapInUse()
	computers := make([]*Computer, targets)
	for i := range computers {
		computers[i] = newComputer(t, WithPool(pool))
		deltaOf(t, computers[i], first)
	}
	for i, c := range computers {
		if !bytes.Equal(deltaOf(t, c, second), want) {
			t.Fatalf("target %d has another delta", i)
		}
	}
	each := (heapInUse() - before) / int64(targets)
	state := len(computers[0].state)
	t.Logf("%d targets of 100 samples: %d bytes each, of which %d are the state", targets, each, state)
	if limit := int64(state) + 1024; each > limit && !testing.Short() {
		t.Errorf("a target costs %d bytes, more than its state and 1 KiB", each)
	}
	if n := pool.Stats().Idle; n > 2 {
		t.Errorf("%d instances", n)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	runtime.KeepAlive(computers)
}

// heapInUse returns the bytes of all objects that are reachable.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what a sync.Pool holds survives one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
