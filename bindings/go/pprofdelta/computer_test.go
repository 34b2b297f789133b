package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

// statusOf fails unless err is an *Error with this status, and returns it.
func statusOf(t testing.TB, what string, err error, want Status) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v is not an *Error", what, err)
	}
	if !errors.Is(err, want) || e.Status != want {
		t.Fatalf("%s: %v, status %d, not %d", what, err, e.Status, want)
	}
	return e
}

// failing is a writer that fails, or that writes too little.
type failing struct {
	err error
	n   int
}

func (f failing) Write(p []byte) (int, error) { return min(f.n, len(p)), f.err }

func TestWriterThatFailsAbandonsTheWindow(t *testing.T) {
	p, c, first := begun(t, 3, 30)
	full := errors.New("the disk is full")
	err := c.Delta(p.bytes(t), failing{err: full})
	statusOf(t, "failing writer", err, ErrSink)
	if !errors.Is(err, full) {
		t.Errorf("%v does not wrap the writer's error", err)
	}
	err = c.Delta(p.bytes(t), failing{n: 3})
	statusOf(t, "short write", err, ErrSink)
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v does not wrap io.ErrShortWrite", err)
	}
	p.run()
	cur := p.bytes(t)
	w, delta := windowOf(t, c, cur)
	same(t, "after failures", parsed(t, delta), merged(t, first, cur))
	if w.Report.Sequence != 2 || w.Report.Attempt != 3 {
		t.Errorf("sequence %d, attempt %d", w.Report.Sequence, w.Report.Attempt)
	}
	w.Abandon()
}

func TestWriterThatPanicsAbandonsTheWindow(t *testing.T) {
	p := newProcess(3, 30)
	c := newComputer(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic arrived")
			}
		}()
		_ = c.Delta(p.bytes(t), calling(func() error { panic("a writer that panics") }))
	}()
	w, _ := windowOf(t, c, p.bytes(t))
	if w.Report.HadBase || w.Report.Attempt != 2 {
		t.Errorf("%+v", w.Report)
	}
	w.Abandon()
}

func TestPendingWindowRefusesOtherCalls(t *testing.T) {
	p := newProcess(3, 30)
	c := newComputer(t)
	ctx := context.Background()
	w, _ := windowOf(t, c, p.bytes(t))
	_, err := c.Window(ctx, p.bytes(t))
	statusOf(t, "Window", err, ErrPending)
	statusOf(t, "Delta", c.Delta(p.bytes(t), io.Discard), ErrPending)
	statusOf(t, "Base", c.Base(ctx, p.bytes(t)), ErrPending)
	statusOf(t, "Load", c.Load(ctx, strings.NewReader("x")), ErrPending)
	commit(t, w)
	w.Abandon() // does nothing
	if err := w.Commit(); err != nil {
		t.Errorf("a second Commit: %v", err)
	}
	p.run()
	other, _ := windowOf(t, c, p.bytes(t))
	w.Abandon() // does not touch the other window
	statusOf(t, "Window", c.Delta(p.bytes(t), io.Discard), ErrPending)
	other.Abandon()
	statusOf(t, "Commit after Abandon", other.Commit(), ErrAbandoned)
	m, err := c.Describe(ctx)
	if err != nil || m.Sequence != 1 || m.Attempts != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestZeroValuesFail: nothing hangs, and nothing panics.
func TestZeroValuesFail(t *testing.T) {
	ctx := context.Background()
	profile := newProcess(3, 30).bytes(t)
	for name, c := range map[string]*Computer{"zero": new(Computer), "nil": nil} {
		_, window := c.Window(ctx, profile)
		_, from := c.WindowFrom(ctx, bytes.NewReader(profile))
		_, describe := c.Describe(ctx)
		for what, err := range map[string]error{"Delta": c.Delta(profile, io.Discard), "Window": window,
			"WindowFrom": from, "Base": c.Base(ctx, profile), "Save": c.Save(ctx, io.Discard),
			"Load": c.Load(ctx, bytes.NewReader(profile)), "Describe": describe} {
			statusOf(t, name+" computer: "+what, err, ErrUsage)
		}
		c.Abandon()
		c.SetStarted(time.Now())
	}
	for name, w := range map[string]*Window{"zero": new(Window), "nil": nil} {
		_, bytes := w.Bytes()
		_, to := w.WriteTo(io.Discard)
		for what, err := range map[string]error{"Bytes": bytes, "WriteTo": to, "Commit": w.Commit()} {
			statusOf(t, name+" window: "+what, err, ErrUsage)
		}
		w.Abandon()
	}
	c := newComputer(t)
	_, from := c.WindowFrom(ctx, nil)
	for what, err := range map[string]error{"Delta": c.Delta(profile, nil), "WindowFrom": from, "Save": c.Save(ctx, nil),
		"Load": c.Load(ctx, nil), "Compare": errorOf(Compare(ctx, nil, nil, nil)), "Sum": errorOf(Sum(ctx, nil, nil)),
		"NewPool": errorOf(NewPool(nil))} {
		statusOf(t, "nil to "+what, err, ErrUsage)
	}
	pool := new(Pool)
	_, made := New(WithPool(pool))
	_, check := Check(ctx, profile, WithPool(pool))
	_, compare := Compare(ctx, profile, profile, io.Discard, WithPool(pool))
	_, sum := Sum(ctx, io.Discard, [][]byte{profile}, WithPool(pool))
	for what, err := range map[string]error{"New": made, "Check": check, "Compare": compare, "Sum": sum,
		"Close": pool.Close(), "Close of nil": (*Pool)(nil).Close()} {
		statusOf(t, "zero pool: "+what, err, ErrUsage)
	}
}

// calling is a writer that calls something.
type calling func() error

func (call calling) Write(p []byte) (int, error) { return len(p), call() }

func TestMethodsAreCalledByAWriter(t *testing.T) {
	ctx := context.Background()
	p, c, _ := begun(t, 3, 30)
	second := p.bytes(t)
	var state bytes.Buffer
	var memory *Remembered
	inside := func() (err error) {
		c.SetStarted(time.Time{})
		if memory, err = c.Describe(ctx); err != nil {
			return err
		}
		state.Reset()
		return c.Save(ctx, &state)
	}
	if err := c.Delta(second, calling(inside)); err != nil {
		t.Fatal(err)
	}
	if memory.Sequence != 1 || memory.Attempts != 1 {
		t.Errorf("%+v", memory)
	}
	if err := c.Save(ctx, calling(inside)); err != nil {
		t.Fatal(err)
	}
	if memory.Sequence != 2 || memory.Attempts != 0 {
		t.Errorf("%+v", memory)
	}
	p.run()
	third := p.bytes(t)
	refused := func() error {
		_, window := c.Window(ctx, third)
		for what, err := range map[string]error{"Delta": c.Delta(third, io.Discard), "Window": window, "Base": c.Base(ctx, third),
			"Load": c.Load(ctx, bytes.NewReader(state.Bytes()))} {
			statusOf(t, what+" by the writer", err, ErrPending)
		}
		return io.ErrClosedPipe
	}
	statusOf(t, "calls by the writer", c.Delta(third, calling(refused)), ErrSink)
	abandons := func() error { c.Abandon(); return nil }
	statusOf(t, "Abandon by the writer", c.Delta(third, calling(abandons)), ErrAbandoned)
	w, delta := windowOf(t, c, third)
	same(t, "after Abandon", parsed(t, delta), merged(t, second, third))
	for _, inside := range []func() error{w.Commit, func() error { return c.Delta(third, io.Discard) }} {
		if _, err := w.WriteTo(calling(inside)); err != nil {
			t.Error(err)
		}
	}
	if memory, err := c.Describe(ctx); err != nil || memory.Sequence != 4 {
		t.Errorf("%+v, %v", memory, err)
	}
}

// TestAWindowWhosePointerIsLost is abandoned by its computer.
func TestAWindowWhosePointerIsLost(t *testing.T) {
	p, c, first := begun(t, 3, 30)
	c.Abandon() // does nothing
	lost, _ := windowOf(t, c, p.bytes(t))
	c.Abandon()
	statusOf(t, "Commit", lost.Commit(), ErrAbandoned)
	p.run()
	cur := p.bytes(t)
	w, delta := windowOf(t, c, cur)
	same(t, "after Abandon", parsed(t, delta), merged(t, first, cur))
	if w.Report.Sequence != 2 || w.Report.Attempt != 2 {
		t.Errorf("%+v", w.Report)
	}
	if err := w.Commit(); err != nil {
		t.Error(err)
	}
}

func TestStateMovesBetweenComputers(t *testing.T) {
	for _, end := range []string{"commit", "abandon", "pending"} {
		p, c, first := begun(t, 5, 60)
		second := p.bytes(t)
		w, _ := windowOf(t, c, second)
		base, sequence, attempt := first, uint64(2), uint64(2)
		if end == "commit" {
			commit(t, w)
			base, sequence, attempt = second, 3, 1
		} else if end == "abandon" {
			w.Abandon()
		}
		other := loaded(t, stateOf(t, c))
		p.run()
		third := p.bytes(t)
		got, delta := windowOf(t, other, third)
		same(t, end, parsed(t, delta), merged(t, base, third))
		if got.Report.Sequence != sequence || got.Report.Attempt != attempt {
			t.Errorf("%s: sequence %d, attempt %d", end, got.Report.Sequence, got.Report.Attempt)
		}
		got.Abandon()
		w.Abandon()
		_, again := windowOf(t, c, third) // the first computer goes on as well
		same(t, end, parsed(t, again), parsed(t, delta))
	}
}

func TestStateOfAnEmptyComputer(t *testing.T) {
	ctx := context.Background()
	c := newComputer(t)
	p := newProcess(5, 20)
	w, _ := windowOf(t, c, p.bytes(t))
	w.Abandon()
	other := loaded(t, stateOf(t, c))
	m, err := other.Describe(ctx)
	if err != nil || m.HasBase || m.Attempts != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := other.Load(ctx, bytes.NewReader(stateOf(t, newComputer(t)))); err != nil {
		t.Fatal(err)
	}
	if m, err = other.Describe(ctx); err != nil || m.HasBase || m.Attempts != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestStoredStates: a state of each format that is promised to load is in testdata. The command has written them.
func TestStoredStates(t *testing.T) {
	ctx, next := context.Background(), read(t, "valid/heap.2.pb.gz")
	for name, attempt := range map[string]uint64{"states/format-6.committed": 1, "states/format-6.open": 2} {
		stored := read(t, name)
		c := loaded(t, stored)
		found, err := c.Describe(ctx)
		if err != nil || found.Sequence != 1 || found.Attempts != attempt-1 || found.ID == 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		fresh, err := New(WithID(found.ID))
		if err != nil {
			t.Fatal(err)
		}
		deltaOf(t, fresh, read(t, "valid/heap.1.pb.gz"))
		for range attempt - 1 {
			w, _ := windowOf(t, fresh, next)
			w.Abandon()
		}
		if got := deltaOf(t, c, next); !bytes.Equal(got, deltaOf(t, fresh, next)) {
			t.Errorf("%s: another delta", name)
		}
		for format, reason := range map[byte]Reason{5: ReasonNone, 7: ReasonNewerState} {
			other := bytes.Clone(stored)
			other[8] = format
			e := statusOf(t, name, c.Load(ctx, bytes.NewReader(other)), ErrState)
			if e.Reason != reason || !strings.Contains(e.Text, fmt.Sprintf("format %d; this one knows 6", format)) {
				t.Errorf("format %d: %v: %v", format, e.Reason, e)
			}
		}
	}
}

func TestDamagedStateChangesNothing(t *testing.T) {
	ctx := context.Background()
	p, c, first := begun(t, 5, 20)
	state := stateOf(t, c)
	for at := 0; at < len(state); at += 7 {
		damaged := bytes.Clone(state)
		damaged[at] ^= 0x10
		statusOf(t, fmt.Sprint("byte ", at), c.Load(ctx, bytes.NewReader(damaged)), ErrState)
		statusOf(t, fmt.Sprint("length ", at), c.Load(ctx, bytes.NewReader(state[:at])), ErrState)
	}
	broken := errors.New("the disk is broken")
	err := c.Load(ctx, io.MultiReader(bytes.NewReader(state[:9]), iotest.ErrReader(broken)))
	statusOf(t, "a reader that fails", err, ErrSource)
	if !errors.Is(err, broken) {
		t.Errorf("%v does not wrap the reader's error", err)
	}
	statusOf(t, "a writer that fails", c.Save(ctx, failing{err: broken}), ErrSink)
	cur := p.bytes(t)
	same(t, "after damaged states", parsed(t, deltaOf(t, c, cur)), merged(t, first, cur))
}

func TestWindowFromReadsToTheEnd(t *testing.T) {
	p, c, first := begun(t, 6, 40)
	cur := p.bytes(t)
	w, err := c.WindowFrom(context.Background(), iotest.OneByteReader(bytes.NewReader(cur)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := w.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Errorf("%d of %d bytes: %v", n, out.Len(), err)
	}
	same(t, "WindowFrom", parsed(t, out.Bytes()), merged(t, first, cur))
	w.Abandon()
	_, err = c.WindowFrom(context.Background(), iotest.ErrReader(io.ErrClosedPipe))
	statusOf(t, "a reader that fails", err, ErrSource)
}

// reading is a reader that calls something.
type reading func(p []byte) (int, error)

func (read reading) Read(p []byte) (int, error) { return read(p) }

// TestReadersAndContexts: a reader that is slow, endless or stuck ends with the context, or with an error.
func TestReadersAndContexts(t *testing.T) {
	c := newComputer(t)
	stuck := make(chan struct{})
	defer close(stuck)
	for name, call := range map[string]func(context.Context, io.Reader) error{
		"WindowFrom": func(ctx context.Context, r io.Reader) error { return errorOf(c.WindowFrom(ctx, r)) },
		"Load":       c.Load,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		for _, each := range []context.Context{ctx, context.Background()} {
			err := call(each, reading(func([]byte) (int, error) { return 0, nil }))
			if statusOf(t, name, err, ErrSource); !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("%s: 0, nil for ever: %v", name, err)
			}
		}
		func() {
			defer func() {
				if recover() != "a reader that panics" {
					t.Errorf("%s: the panic of a reader does not arrive", name)
				}
			}()
			_ = call(ctx, reading(func([]byte) (int, error) { panic("a reader that panics") }))
		}()
		pieces := 0
		err := call(ctx, reading(func(p []byte) (int, error) {
			if pieces++; pieces == 5 {
				cancel()
			}
			return 1, nil
		}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a reader without end: %v", name, err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		err = call(ctx, reading(func([]byte) (int, error) { cancel(); <-stuck; return 0, io.EOF }))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a reader that is stuck: %v", name, err)
		}
		err = call(context.Background(), reading(func([]byte) (int, error) { // nothing is locked while it reads
			deltaOf(t, c, newProcess(2, 4).bytes(t))
			return 0, io.EOF
		}))
		if err == nil {
			t.Errorf("%s: nothing was read", name)
		}
	}
}

func TestRestart(t *testing.T) {
	p, c, _ := begun(t, 9, 60)
	again := newProcess(9, 6)
	again.clock = p.clock
	cur := again.bytes(t)
	w, delta := windowOf(t, c, cur)
	if w.Report.Restart != RestartMass {
		t.Errorf("restart %d", w.Report.Restart)
	}
	want := parsed(t, cur)
	want.DurationNanos = 10 * second
	if len(rows(parsed(t, delta))) != len(rows(want)) {
		t.Error("after a restart, the delta is not cur")
	}
	w.Abandon()

	c = newComputer(t)
	deltaOf(t, c, p.bytes(t))
	p.run()
	c.SetStarted(time.Unix(0, p.clock-second))
	w, _ = windowOf(t, c, p.bytes(t))
	if w.Report.Restart != RestartStarted {
		t.Errorf("restart %d", w.Report.Restart)
	}
	w.Abandon() // all attempts at this window are a restart
	w, _ = windowOf(t, c, p.bytes(t))
	if w.Report.Restart != RestartStarted || w.Report.Sequence != 2 || w.Report.Attempt != 2 {
		t.Errorf("restart %d, sequence %d, attempt %d", w.Report.Restart, w.Report.Sequence, w.Report.Attempt)
	}
	commit(t, w)
	c.SetStarted(time.Time{})
	w, _ = windowOf(t, c, p.bytes(t))
	if w.Report.Restart != RestartNone {
		t.Errorf("restart %d", w.Report.Restart)
	}
	w.Abandon()

	c = newComputer(t, WithOnReset(ResetFail))
	deltaOf(t, c, p.bytes(t))
	again.clock = p.clock + second
	statusOf(t, "ResetFail", c.Delta(again.bytes(t), io.Discard), ErrReset)
}

// An hour back, then a scrape after the other: none fails, the first says so, and the windows join.
func TestClockThatIsSetBack(t *testing.T) {
	p := newProcess(4, 30)
	c := newComputer(t)
	deltas := [][]byte{deltaOf(t, c, p.bytes(t))}
	p.clock -= 3600 * second
	var late, last []byte
	for i := range 70 {
		p.run()
		last = p.bytes(t)
		w, delta := windowOf(t, c, last)
		if w.Report.ClockSetBack != (i == 0) || w.Report.To.Before(w.Report.From) {
			t.Fatalf("window %d: %+v", i, w.Report)
		}
		commit(t, w)
		deltas = append(deltas, bytes.Clone(delta))
		if i == 30 {
			late = last
		}
	}
	var out bytes.Buffer
	if _, err := Sum(context.Background(), &out, deltas); err != nil {
		t.Fatal(err)
	}
	if got, want := rows(parsed(t, out.Bytes())), rows(parsed(t, last)); len(got) != len(want) {
		t.Errorf("%d rows, not %d", len(got), len(want))
	}
	before, err := c.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	statusOf(t, "a late profile", c.Delta(late, io.Discard), ErrOlder)
	if after, _ := c.Describe(context.Background()); after.Sequence != before.Sequence || after.Attempts != 0 {
		t.Errorf("%+v", after)
	}
}

func TestOptionsArriveAtTheLibrary(t *testing.T) {
	p := newProcess(2, 40)
	first := p.bytes(t)
	c := newComputer(t, WithFirstZero())
	if n := len(rows(parsed(t, deltaOf(t, c, first)))); n >= 40 {
		t.Errorf("FirstZero: %d rows", n)
	}
	stamped := deltaOf(t, newComputer(t), first)
	statusOf(t, "a stamped profile", newComputer(t).Delta(stamped, io.Discard), ErrStamped)
	deltaOf(t, newComputer(t, WithForce()), stamped)
	census, err := Check(context.Background(), deltaOf(t, newComputer(t, WithoutStamp()), first))
	if err != nil || census.IsStamped {
		t.Errorf("NoStamp: %+v, %v", census, err)
	}
	w, _ := windowOf(t, newComputer(t, WithoutSequence()), first)
	if w.Report.Sequence != 0 || w.Report.Attempt != 0 {
		t.Errorf("NoSequence: %+v", w.Report)
	}
	resource := WithResource("service.name", "shop")
	request := deltaOf(t, newComputer(t, WithFormat(OTLP), resource, WithCompression(None)), first)
	of, err := Check(context.Background(), request)
	if err != nil || of.Samples != census.Samples || !bytes.Contains(request, []byte("service.name")) {
		t.Errorf("OTLP: %+v, %+v, %v", of, census, err)
	}
	request = deltaOf(t, newComputer(t, WithFormat(OTLP), resource, WithoutStamp()), first)
	same(t, "a request", parsed(t, deltaOf(t, newComputer(t), request)), parsed(t, deltaOf(t, newComputer(t), first)))
	delta := parsed(t, deltaOf(t, newComputer(t, WithDefaultCounter()), first))
	if delta.DefaultSampleType != "alloc_space" {
		t.Errorf("DefaultCounter: %s", delta.DefaultSampleType)
	}
	w, _ = windowOf(t, newComputer(t, WithCounters("inuse_space/bytes", "of/another", "profile"), WithGauges("alloc_space", "none")), first)
	if types := w.Report.Types; types[1].IsCounter || !types[3].IsCounter || types[2].IsCounter {
		t.Errorf("WithCounters, WithGauges: %+v", types)
	}
	fastdelta := deltaOf(t, newComputer(t, WithFastdeltaDefaults()), first)
	if of, err = Check(context.Background(), fastdelta); err != nil || of.IsStamped || of.Encoding != "plain" {
		t.Errorf("WithFastdeltaDefaults: %+v, %v", of, err)
	}
	e := statusOf(t, "no counter", newComputer(t, WithGauges("alloc_space", "alloc_objects")).Delta(first, io.Discard), ErrMismatch)
	if e.Reason != ReasonNoCounter {
		t.Errorf("no counter: %v", e.Reason)
	}
}

// TestNewChecksAllOptions: what New accepts, no later call refuses because of its options.
func TestNewChecksAllOptions(t *testing.T) {
	closed := newPool(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := New(WithPool(closed))
	statusOf(t, "a closed pool", err, ErrClosed)
	profile := newProcess(2, 4).bytes(t)
	for what, opts := range map[string][]Option{
		"nil": {nil}, "no compressor": {WithCompressor(nil)}, "high level": {WithLevel(10)}, "low level": {WithLevel(-1)},
		"compression": {WithCompression(7)}, "on reset": {WithOnReset(9)}, "format": {WithFormat(2)},
		"a level without compression":   {WithLevel(3), WithCompression(None)},
		"a level of another compressor": {WithLevel(3), WithCompressor(zlibWriter)},
		"a resource without OTLP":       {WithResource("a", "b")}, "a resource with a NUL": {WithFormat(OTLP), WithResource("a", "b\x00")},
		"an empty key": {WithFormat(OTLP), WithResource("", "x")}, "a NUL": {WithCounters("a\x00b")},
		"no name": {WithCounters("")}, "no type": {WithCounters("/x")}, "no unit": {WithGauges("x/")},
		"slashes": {WithCounters("a/b/c")}, "both": {WithCounters("a/b"), WithGauges("a/b")},
		"both by type": {WithCounters("a"), WithGauges("a/b")}, "both by unit": {WithCounters("a/b"), WithGauges("a")},
	} {
		for by, err := range map[string]error{"New": errorOf(New(opts...)),
			"Check":   errorOf(Check(context.Background(), profile, opts...)),
			"Compare": errorOf(Compare(context.Background(), profile, profile, io.Discard, opts...)),
			"Sum":     errorOf(Sum(context.Background(), io.Discard, [][]byte{profile}, opts...))} {
			if e := statusOf(t, by+": "+what, err, ErrUsage); e.Stage != StageOptions || e.Text == "" {
				t.Errorf("%s: %s: %+v", by, what, e)
			}
		}
	}
	for _, on := range []OnReset{ResetAuto, ResetRestart, ResetClamp, ResetFail} {
		for level := range 10 {
			deltaOf(t, newComputer(t, WithOnReset(on), WithLevel(level), WithFormat(Format(level%2)), WithCounters("a", "b/c"),
				WithGauges("b/d", "e"), WithVerify(), WithDefaultCounter(), WithForce()), profile)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestEnumsHaveNames(t *testing.T) {
	for want, value := range map[string]fmt.Stringer{"gzip": Gzip, "none": None, "otlp": OTLP, "clamp": ResetClamp,
		"Compression(7)": Compression(7), "Format(-1)": Format(-1), "a window is pending": ErrPending, "Status(99)": Status(99),
		"newer state": ReasonNewerState, "Reason(14)": Reason(14), "decrease": RestartAny, "live": RestartLive,
		"window": LiveWindow, "equal": JoinEqual, "Join(11)": Join(11)} {
		if value.String() != want {
			t.Errorf("%v is not %s", value, want)
		}
	}
	if Version() == "" {
		t.Error("no version")
	}
}

// A receiver tells a series of windows from every other one by its id.
func TestEachComputerHasAnIDOfItsOwn(t *testing.T) {
	profile, ids := newProcess(2, 40).bytes(t), map[uint64]bool{}
	for range 3 {
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		w, delta := windowOf(t, c, profile)
		census, err := Check(context.Background(), delta)
		if err != nil {
			t.Fatal(err)
		}
		memory, err := loaded(t, stateOf(t, c)).Describe(context.Background())
		if err != nil || memory.ID != w.Report.ID || census.Stamp.ID != w.Report.ID || w.Report.ID == 0 {
			t.Fatalf("%v, ids %x, %x and %x", err, memory.ID, census.Stamp.ID, w.Report.ID)
		}
		ids[w.Report.ID] = true
	}
	if len(ids) != 3 {
		t.Errorf("ids: %v", ids)
	}
}

func TestCompressionOfTheDelta(t *testing.T) {
	p := newProcess(2, 40)
	profile := p.bytes(t)
	plain := deltaOf(t, newComputer(t, WithCompression(None)), profile)
	compressions := map[string]Option{"zlib": WithCompressor(zlibWriter)}
	for level := range 10 {
		compressions[fmt.Sprint("gzip ", level)] = WithLevel(level)
	}
	for what, compression := range compressions {
		delta := deltaOf(t, newComputer(t, compression), profile)
		if !bytes.Equal(plainOf(t, delta), plain) {
			t.Errorf("%s: another delta", what)
		}
		if again := deltaOf(t, newComputer(t, compression), profile); !bytes.Equal(delta, again) {
			t.Errorf("%s: other bytes", what)
		}
	}
}

func TestCompare(t *testing.T) {
	p := newProcess(7, 40)
	prev := p.bytes(t)
	p.run()
	cur := p.bytes(t)
	ctx := context.Background()
	var out bytes.Buffer
	report, err := Compare(ctx, prev, cur, &out)
	if err != nil || report.Sequence != 0 || report.SamplesOut == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	same(t, "Compare", parsed(t, out.Bytes()), merged(t, prev, cur))
	for at, pair := range [][2][]byte{{prev[:len(prev)-3], cur}, {prev, cur[:len(cur)-3]},
		{plainOf(t, prev)[:50], cur}, {prev, plainOf(t, cur)[:50]}} {
		_, err := Compare(ctx, pair[0], pair[1], &out)
		var e *Error
		if !errors.As(err, &e) || e.IsPrev != (at%2 == 0) {
			t.Errorf("pair %d: %v", at, err)
		}
	}
	_, err = Compare(ctx, cur, prev, &out)
	statusOf(t, "swapped", err, ErrMismatch)
	_, err = Compare(ctx, prev, cur, failing{err: io.ErrClosedPipe})
	statusOf(t, "a writer that fails", err, ErrSink)
}

func TestSumOfAttemptsAndGaps(t *testing.T) {
	ctx := context.Background()
	p := newProcess(8, 40)
	c := newComputer(t)
	first := deltaOf(t, c, p.bytes(t))
	p.run()
	w, lost := windowOf(t, c, p.bytes(t))
	w.Abandon()
	p.run()
	second := deltaOf(t, c, p.bytes(t))
	p.run()
	last := p.bytes(t)
	third := deltaOf(t, c, last)
	var out bytes.Buffer
	joins, err := Sum(ctx, &out, [][]byte{first, lost, second, lost, third})
	if err != nil || fmt.Sprint(joins) != fmt.Sprint([]Join{JoinFirst, JoinNext, JoinAgain,
		JoinStale, JoinNext}) {
		t.Fatalf("%v, %v", joins, err)
	}
	if got, want := rows(parsed(t, out.Bytes())), rows(parsed(t, last)); len(got) != len(want) {
		t.Errorf("%d rows, not %d", len(got), len(want))
	}
	_, err = Sum(ctx, &out, [][]byte{first, third})
	e := statusOf(t, "a gap", err, ErrMismatch)
	var which *ProfileError
	if !errors.As(err, &which) || which.Index != 1 || !strings.Contains(err.Error(), e.Text) {
		t.Errorf("%v", err)
	}
	_, err = Sum(ctx, &out, nil)
	if err == nil {
		t.Error("the sum of nothing has no error")
	}
	_, err = Sum(ctx, &out, [][]byte{first, []byte("no profile")})
	if !errors.As(err, &which) || which.Index != 1 {
		t.Errorf("%v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = Sum(canceled, &out, [][]byte{first}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// What the targets have counted and have in use is what pprof merges of their cumulative profiles.
func TestMergeCountsEachWindowOnce(t *testing.T) {
	ctx := context.Background()
	var deltas [][]byte
	var looks []*profile.Profile
	for id := uint64(1); id <= 3; id++ {
		p := newProcess(8, 40)
		p.random = rand.New(rand.NewPCG(id, 1))
		c, err := New(WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		first := deltaOf(t, c, p.bytes(t))
		p.run()
		w, lost := windowOf(t, c, p.bytes(t))
		w.Abandon()
		p.run()
		last := p.bytes(t)
		deltas = append(deltas, deltaOf(t, c, last), lost, first, first)
		looks = append(looks, parsed(t, last))
	}
	var out bytes.Buffer
	joins, err := Merge(ctx, &out, deltas)
	if err != nil || fmt.Sprint(joins[:4]) != fmt.Sprint([]Join{JoinAgain, JoinNext, JoinFirst, JoinEqual}) {
		t.Fatalf("%v, %v", joins, err)
	}
	want, _ := profile.Merge(looks)
	if !maps.EqualFunc(rows(parsed(t, out.Bytes())), rows(want), slices.Equal) {
		t.Errorf("%v, not %v", rows(parsed(t, out.Bytes())), rows(want))
	}
	out.Reset()
	if _, err = Merge(ctx, &out, deltas, WithTargetLabel("host")); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]bool{}
	for _, sample := range parsed(t, out.Bytes()).Sample {
		hosts[fmt.Sprint(sample.Label["host"])] = true
	}
	if len(hosts) != 3 || !hosts["[0000000000000002]"] {
		t.Errorf("%v", hosts)
	}
	_, err = Merge(ctx, &out, append(deltas, newProcess(1, 4).bytes(t)))
	var which *ProfileError
	if e := statusOf(t, "a cumulative profile", err, ErrMismatch); e.Reason != ReasonNoTarget || !errors.As(err, &which) ||
		which.Index != len(deltas) {
		t.Errorf("%v", err)
	}
	_, err = Merge(ctx, &out, [][]byte{deltas[0], []byte("no profile")})
	if !errors.As(err, &which) || which.Index != 1 {
		t.Errorf("%v", err)
	}
	_, err = Merge(ctx, nil, deltas)
	statusOf(t, "no writer", err, ErrUsage)
}

func TestCheck(t *testing.T) {
	ctx := context.Background()
	census, err := Check(ctx, read(t, "valid/heap.2.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(t, read(t, "valid/heap.2.pb.gz"))
	if census.Encoding != "gzip" || census.Samples != uint64(len(p.Sample)) ||
		census.Locations != uint64(len(p.Location)) || census.Functions != uint64(len(p.Function)) ||
		census.Mappings != uint64(len(p.Mapping)) || census.Types != 4 ||
		census.Binary != p.Mapping[0].File || census.BuildID != p.Mapping[0].BuildID ||
		census.Time.UnixNano() != p.TimeNanos || census.IsStamped {
		t.Errorf("%+v", census)
	}
	c := newComputer(t, WithCompression(None))
	w, delta := windowOf(t, c, read(t, "valid/heap.2.pb.gz"))
	census, err = Check(ctx, zstdOf(delta))
	if err != nil || census.Encoding != "zstd" || !census.IsStamped || !census.Stamp.IsDelta ||
		census.Stamp.Sequence != 1 || census.Stamp.Attempt != 1 || !census.Stamp.To.Equal(w.Report.To) {
		t.Errorf("%+v, %v", census, err)
	}
	census, err = Check(ctx, []byte("heap_v2/524288\n  t*: 1: 2 [3: 4]\n@ 0x1 0x2\n  t*: 1: 2 [3: 4]\n"))
	if err == nil && census.Encoding != "text" {
		t.Errorf("%+v", census)
	}
}

func TestInt128(t *testing.T) {
	for _, c := range []struct {
		v    Int128
		text string
		fits bool
	}{
		{Int128{}, "0", true},
		{Int128{Hi: -1, Lo: math.MaxUint64}, "-1", true},
		{Int128{Lo: math.MaxInt64}, "9223372036854775807", true},
		{Int128{Lo: 1 << 63}, "9223372036854775808", false},
		{Int128{Hi: -1, Lo: 1 << 63}, "-9223372036854775808", true},
		{Int128{Hi: -1}, "-18446744073709551616", false},
		{Int128{Hi: 1, Lo: 5}, "18446744073709551621", false},
		{Int128{Hi: math.MinInt64}, "-170141183460469231731687303715884105728", false},
	} {
		small, fits := c.v.Int64()
		if c.v.String() != c.text || fits != c.fits || fits && fmt.Sprint(small) != c.text {
			t.Errorf("%v is %s, %d, %v", c, c.v, small, fits)
		}
	}
}

func TestErrorHasAPosition(t *testing.T) {
	_, err := Check(context.Background(), read(t, "hostile/sample-location-id-unknown.pb"))
	e := statusOf(t, "unknown id", err, ErrProfile)
	if e.Field != "sample.location_id" || e.Element != 2 || e.Offset != 58 || e.IsPrev || e.Stage == "" {
		t.Errorf("%+v", e)
	}
	if err.Error() != "pprofdelta: sample[2].location_id: no location has the id 99 (profile, byte 58)" {
		t.Errorf("%s", err)
	}
	for status := range statusTexts {
		if !errors.Is(error(&Error{Status: status}), status) || errors.Is(err, status) != (status == ErrProfile) {
			t.Errorf("status %d", status)
		}
	}
}
