package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// newPool makes a pool that is closed at the end of the test.
func newPool(t testing.TB, opts ...PoolOption) *Pool {
	p := must(NewPool(opts...))
	t.Cleanup(func() { must(0, p.Close()) })
	return p
}

// TestManyTargetsShareTwoInstances is for the race detector, too.
func TestManyTargetsShareTwoInstances(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	const targets, windows = 24, 6
	var group sync.WaitGroup
	for target := range targets {
		group.Go(func() {
			p, c, prev, cur := begun(uint64(target), 5+target, WithPool(pool), WithCompression(Compression(target%2)))
			for window := range windows {
				if window == target%windows { // one target's failure is no other target's
					if err := c.Delta(cur[:len(cur)-1], io.Discard); !errors.Is(err, ErrInflate) {
						t.Error(err)
					}
				}
				same(t, fmt.Sprintf("target %d", target), deltaOf(c, cur), merged(prev, cur))
				p.Run()
				prev, cur = cur, p.Bytes()
			}
		})
	}
	group.Wait()
	if n := pool.Stats().Idle; n < 1 || n > 2 {
		t.Errorf("%d instances", n)
	}
}

// TestAllMethodsByManyGoroutines is for the race detector, too. What fails does so because a window is pending, or was
// abandoned. No window is lost.
func TestAllMethodsByManyGoroutines(t *testing.T) {
	pool := newPool(t, WithInstances(2))
	profile := newProcess(4, 30).Bytes()
	c := newComputer(WithPool(pool))
	var group sync.WaitGroup
	for range 4 {
		all := callsOf(c, profile, stateOf(c))
		w, want := windowOf(c, profile)
		all["SetStarted"] = func(context.Context) error { c.SetStarted(time.Time{}); return nil }
		all["Computer.Abandon"] = func(context.Context) error { c.Abandon(); return nil }
		all["Window.Abandon"] = func(context.Context) error { w.Abandon(); return nil }
		all["Commit"] = func(context.Context) error { return w.Commit() }
		all["Check"] = func(ctx context.Context) error { return errorOf(Check(ctx, profile, WithPool(pool))) }
		for n := range 3 {
			all[fmt.Sprint("WriteTo ", n)] = func(context.Context) error {
				var out bytes.Buffer
				if n := must(w.WriteTo(&out)); n != int64(out.Len()) || !bytes.Equal(out.Bytes(), want) {
					t.Errorf("%d of %d bytes", n, out.Len())
				}
				return nil
			}
		}
		for name, call := range all {
			group.Go(func() {
				if err := call(t.Context()); err != nil && !errors.Is(err, ErrPending) && !errors.Is(err, ErrAbandoned) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		group.Wait()
		c.Abandon()
	}
	c = newComputer(WithPool(pool))
	for range 20 {
		group.Go(func() {
			err := c.Delta(profile, io.Discard)
			for errors.Is(err, ErrPending) { // the delta of another call is being written
				runtime.Gosched()
				err = c.Delta(profile, io.Discard)
			}
			must(0, err)
		})
	}
	group.Wait()
	if m := rememberedBy(c); m.Sequence != 20 {
		t.Errorf("%+v", m)
	}
}

func TestContextEndsTheWaiting(t *testing.T) {
	pool := newPool(t, WithInstances(1))
	c, profile := newComputer(WithPool(pool)), newProcess(4, 10).Bytes()
	h := must(pool.acquire(context.Background(), 0)) // no instance is left
	ctx, cancel := context.WithCancel(context.Background())
	all := callsOf(c, profile, profile)
	for name, call := range functionsWith(profile, WithPool(pool)) {
		all[name] = call
	}
	delete(all, "New") // it does not wait
	var group sync.WaitGroup
	for name, call := range all {
		group.Go(func() {
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	cancel()
	group.Wait()
	pool.release(h, nil)
	w, _ := windowOf(c, profile)
	numbered(t, "after calls that were canceled", w, 1, 1)
}

// An ending context ends when it was asked `left` times.
type ending struct {
	context.Context
	cancel func()
	left   int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		e.cancel()
	}
	return e.Context.Err()
}

// TestContextEndsACall: wherever the context ends, the call changes nothing and the computer is usable.
func TestContextEndsACall(t *testing.T) {
	pool := WithPool(newPool(t, WithInstances(1)))
	_, c, first, cur := begun(4, 2500, pool)
	all := callsOf(c, cur, stateOf(c))
	for name, call := range functionsWith(deltaOf(newComputer(pool), first), pool, WithForce()) {
		all[name] = call
	}
	delete(all, "New")  // it does not wait
	delete(all, "Save") // nor does this, if there is a state
	for name, call := range all {
		token, state, ended := c.token, bytes.Clone(c.state), 0
		for ; ; ended++ {
			of := &ending{left: ended}
			of.Context, of.cancel = context.WithCancel(t.Context())
			err := call(of)
			of.cancel()
			if !errors.Is(err, context.Canceled) {
				must(0, err)
				break
			}
			if c.pending != nil || c.token != token && name != "DeltaContext" { // which may have made an attempt
				t.Fatalf("%s, ended %d times: the computer has changed", name, ended)
			}
		}
		c.Abandon()
		c.token, c.state = 0, bytes.Clone(state)
		// The library asks, too, and not only this package.
		if name != "Load" && name != "Describe" && ended < 4 {
			t.Errorf("%s: the context was asked only %d times", name, ended)
		}
	}
	same(t, "after contexts that have ended", deltaOf(c, cur), merged(first, cur))
}

// TestContextIsAskedBetweenPieces: what inflates to much cannot keep a call from ending.
func TestContextIsAskedBetweenPieces(t *testing.T) {
	const size, piece = 16 << 20, 128 << 10
	content := make([]byte, size) // no profile, of which 8 KiB in each piece do not shrink
	random := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		if i%piece < 8<<10 {
			content[i] = byte(random.Uint32())
		}
	}
	pool := newPool(t, WithMaxMemory(256<<20), WithInstances(1))
	for what, input := range map[string][]byte{"gzip": must(gzips[6].encode(nil, content)), "zstd": zstdOf(content)} {
		of := &ending{Context: t.Context(), left: math.MaxInt}
		err := newPooled(pool).DeltaContext(of, input, io.Discard)
		if asked := math.MaxInt - of.left; err == nil || asked < size/piece {
			t.Errorf("%s: the context was asked %d times: %v", what, asked, err)
		}
	}
}

// TestARefusalIsNotRepeated: a new instance is made if the memory of one is too full, and not if it would refuse the same.
func TestARefusalIsNotRepeated(t *testing.T) {
	pool := newPool(t, WithMaxMemory(16<<20), WithInstances(1))
	bomb := must(gzips[6].encode(nil, make([]byte, 32<<20)))
	c := newPooled(pool)
	for range 3 {
		statusOf(t, "Delta", c.Delta(bomb, io.Discard), ErrLimit)
	}
	if made := pool.Stats().Made; made != 1 {
		t.Errorf("%d instances", made)
	}
}

func TestClosedPool(t *testing.T) {
	before := runtime.NumGoroutine()
	pool := must(NewPool(WithInstances(3), WithIdle(time.Hour)))
	_, c, _, cur := begun(4, 10, WithPool(pool))
	w, want := windowOf(c, cur)
	h := must(pool.acquire(context.Background(), 0))
	if got := pool.Stats(); got != (PoolStats{Limit: 3, InUse: 1, Made: 1}) {
		t.Errorf("%+v", got)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { must(0, pool.Close()) }) // it does not wait for the instance in use
	}
	group.Wait()
	pool.release(h, nil)
	if got := pool.Stats(); got.InUse != 0 || got.Idle != 0 {
		t.Errorf("instances are left: %+v", got)
	}
	statusOf(t, "Delta", newPooled(pool).Delta(cur, io.Discard), ErrClosed)
	statusOf(t, "New", errorOf(New(WithPool(pool), WithForce())), ErrClosed)
	if got := must(w.Bytes()); !bytes.Equal(got, want) {
		t.Error("the window is lost")
	}
	must(0, w.Commit())
	must(0, c.Save(context.Background(), io.Discard))
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
	begun(4, 10, WithPool(small))
	if n := small.Stats().Idle; n != 0 {
		t.Errorf("%d instances larger than the limit are kept", n)
	}
	idle := newPool(t, WithIdle(time.Millisecond))
	_, c, first, cur := begun(4, 10, WithPool(idle))
	for idle.Stats().Idle != 0 { // a test that hangs here has found an instance that stays
		time.Sleep(time.Millisecond)
	}
	same(t, "after the instance was dropped", deltaOf(c, cur), merged(first, cur))
}

func TestInstanceOfTheSameTargetIsUsedAgain(t *testing.T) {
	pool, profile := newPool(t, WithInstances(2)), newProcess(4, 10).Bytes()
	a, b := newComputer(WithPool(pool)), newComputer(WithPool(pool))
	h := must(pool.acquire(context.Background(), 0))
	deltaOf(a, profile)
	pool.release(h, nil)
	deltaOf(b, profile) // by the other instance, which was used last
	for _, c := range []*Computer{a, b} {
		if h := must(pool.acquire(context.Background(), c.token)); h.token != c.token || pool.Stats().Idle != 1 {
			t.Errorf("an instance with token %d, not %d", h.token, c.token)
		} else {
			pool.release(h, nil)
		}
	}
}

func TestPoolOptions(t *testing.T) {
	for what, opt := range map[string]PoolOption{"instances": WithInstances(-1),
		"max memory": WithMaxMemory(0), "more memory": WithMaxMemory(4 << 30),
		"kept": WithKeptMemory(-1), "idle": WithIdle(-1)} {
		statusOf(t, what, errorOf(NewPool(opt)), ErrUsage)
	}
}

// TestTenThousandTargets: a target costs its state; instances and goroutines do not grow in number.
func TestTenThousandTargets(t *testing.T) {
	targets := 10_000
	if testing.Short() {
		targets = 500
	}
	pool := newPool(t, WithInstances(2))
	options := []Option{WithPool(pool), WithCompression(None)}
	_, warm, first, cur := begun(4, 100, options...) // makes what all targets share
	want := deltaOf(warm, cur)
	same(t, "the first target", want, merged(first, cur))
	goroutines, before := runtime.NumGoroutine(), heapInUse()
	computers := make([]*Computer, targets)
	for i := range computers {
		computers[i] = newComputer(options...)
		deltaOf(computers[i], first)
	}
	for i, c := range computers {
		if !bytes.Equal(deltaOf(c, cur), want) {
			t.Fatalf("target %d has another delta", i)
		}
	}
	each, state := (heapInUse()-before)/int64(targets), len(computers[0].state)
	t.Logf("%d targets of 100 samples: %d bytes each, of which %d are the state", targets, each, state)
	if each > int64(state)+1024 && !testing.Short() {
		t.Errorf("a target costs %d bytes, more than its state and 1 KiB", each)
	}
	if n, m := pool.Stats().Idle, runtime.NumGoroutine(); n > 2 || m > goroutines {
		t.Errorf("%d instances; %d goroutines, %d before", n, m, goroutines)
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
