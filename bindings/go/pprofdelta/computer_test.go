package pprofdelta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

func TestWriterThatFailsAbandonsTheWindow(t *testing.T) {
	p, c, first, cur := begun(3, 30)
	full := errors.New("the disk is full")
	for cause, w := range map[error]failing{full: {err: full}, io.ErrShortWrite: {n: 3}} {
		err := c.Delta(cur, w)
		if statusOf(t, "failing writer", err, ErrSink); !errors.Is(err, cause) {
			t.Errorf("%v does not wrap %v", err, cause)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic arrived")
			}
		}()
		_ = c.Delta(cur, calling(func() error { panic("a writer that panics") }))
	}()
	p.Run()
	cur = p.Bytes()
	w, delta := windowOf(c, cur)
	same(t, "after failures", delta, merged(first, cur))
	numbered(t, "after failures", w, 2, 4)
}

func TestPendingWindowRefusesOtherCalls(t *testing.T) {
	p, c := newProcess(3, 30), newComputer()
	w, _ := windowOf(c, p.Bytes())
	for name, call := range callsOf(c, p.Bytes(), []byte("x")) {
		if err := call(t.Context()); name != "Save" && name != "Describe" {
			statusOf(t, name, err, ErrPending)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 {
		must(0, w.Commit())
		w.Abandon() // does nothing
	}
	p.Run()
	other, _ := windowOf(c, p.Bytes())
	w.Abandon() // does not touch the other window
	statusOf(t, "Window", c.Delta(p.Bytes(), io.Discard), ErrPending)
	other.Abandon()
	statusOf(t, "Commit after Abandon", other.Commit(), ErrAbandoned)
	if m := rememberedBy(c); m.Sequence != 1 || m.Attempts != 1 {
		t.Errorf("%+v", m)
	}
}

// TestZeroValuesFail: nothing hangs, and nothing panics.
func TestZeroValuesFail(t *testing.T) {
	profile := newProcess(3, 30).Bytes()
	for name, c := range map[string]*Computer{"zero": new(Computer), "nil": nil} {
		for what, call := range callsOf(c, profile, profile) {
			statusOf(t, name+" computer: "+what, call(t.Context()), ErrUsage)
		}
		c.Abandon()
		c.SetStarted(time.Now())
	}
	pool := new(Pool)
	for what, call := range functionsWith(profile, WithPool(pool)) {
		statusOf(t, "zero pool: "+what, call(t.Context()), ErrUsage)
	}
	c, ctx := newComputer(), t.Context()
	for what, err := range map[string]error{"Close": pool.Close(), "Close of nil": (*Pool)(nil).Close(),
		"Delta": c.Delta(profile, nil), "WindowFrom": errorOf(c.WindowFrom(ctx, nil)), "Save": c.Save(ctx, nil), "Load": c.Load(ctx, nil),
		"Compare": errorOf(Compare(ctx, nil, nil, nil)), "Sum": errorOf(Sum(ctx, nil, nil)), "NewPool": errorOf(NewPool(nil))} {
		statusOf(t, "nil to "+what, err, ErrUsage)
	}
	for name, w := range map[string]*Window{"zero": new(Window), "nil": nil} {
		for what, err := range map[string]error{"Bytes": errorOf(w.Bytes()), "WriteTo": errorOf(w.WriteTo(io.Discard)), "Commit": w.Commit()} {
			statusOf(t, name+" window: "+what, err, ErrUsage)
		}
		w.Abandon()
	}
}

func TestMethodsAreCalledByAWriter(t *testing.T) {
	ctx := context.Background()
	p, c, _, cur := begun(3, 30)
	inside := func(sequence, attempts uint64) calling {
		return func() error {
			c.SetStarted(time.Time{})
			if m := rememberedBy(c); m.Sequence != sequence || m.Attempts != attempts {
				t.Errorf("%+v", m)
			}
			return c.Save(ctx, io.Discard)
		}
	}
	must(0, c.Delta(cur, inside(1, 1)))
	must(0, c.Save(ctx, inside(2, 0)))
	p.Run()
	next := p.Bytes()
	refused := func() error { return c.Delta(next, io.Discard) }
	if err := c.Delta(next, calling(refused)); !errors.Is(err, ErrSink) || !errors.Is(err, ErrPending) {
		t.Errorf("a call by the writer: %v", err)
	}
	statusOf(t, "Abandon by the writer", c.Delta(next, calling(func() error { c.Abandon(); return nil })), ErrAbandoned)
	w, delta := windowOf(c, next)
	same(t, "after Abandon", delta, merged(cur, next))
	for _, inside := range []func() error{w.Commit, func() error { return c.Delta(next, io.Discard) }} {
		must(w.WriteTo(calling(inside)))
	}
	if m := rememberedBy(c); m.Sequence != 4 {
		t.Errorf("%+v", m)
	}
}

// TestAWindowWhosePointerIsLost is abandoned by its computer.
func TestAWindowWhosePointerIsLost(t *testing.T) {
	_, c, first, cur := begun(3, 30)
	c.Abandon() // does nothing
	lost, _ := windowOf(c, cur)
	c.Abandon()
	statusOf(t, "Commit", lost.Commit(), ErrAbandoned)
	w, delta := windowOf(c, cur)
	same(t, "after Abandon", delta, merged(first, cur))
	numbered(t, "after Abandon", w, 2, 2)
	must(0, w.Commit())
}

func TestStateMovesBetweenComputers(t *testing.T) {
	for _, end := range []string{"commit", "abandon", "pending"} {
		p, c, base, cur := begun(5, 60)
		w, _ := windowOf(c, cur)
		sequence, attempt := uint64(2), uint64(2)
		if end == "commit" {
			must(0, w.Commit())
			base, sequence, attempt = cur, 3, 1
		} else if end == "abandon" {
			w.Abandon()
		}
		other := loaded(stateOf(c))
		p.Run()
		next := p.Bytes()
		got, delta := windowOf(other, next)
		same(t, end, delta, merged(base, next))
		numbered(t, end, got, sequence, attempt)
		w.Abandon()
		_, again := windowOf(c, next) // the first computer goes on as well
		same(t, end, again, parsed(delta))
	}
}

func TestStateOfAnEmptyComputer(t *testing.T) {
	c, p := newComputer(), newProcess(5, 20)
	w, _ := windowOf(c, p.Bytes())
	w.Abandon()
	other := loaded(stateOf(c))
	for _, attempts := range []uint64{1, 0} {
		if m := rememberedBy(other); m.HasBase || m.Attempts != attempts {
			t.Errorf("%+v", m)
		}
		must(0, other.Load(context.Background(), bytes.NewReader(stateOf(newComputer()))))
	}
}

// TestStoredStates: a state of each format that is promised to load is in testdata. The command has written them.
func TestStoredStates(t *testing.T) {
	next := read("valid/heap.2.pb.gz")
	for name, attempt := range map[string]uint64{"states/format-6.committed": 1, "states/format-6.open": 2,
		"states/format-7.committed": 1, "states/format-7.open": 2} {
		stored := read(name)
		c := loaded(stored)
		found := rememberedBy(c)
		if found.Sequence != 1 || found.Attempts != attempt-1 || found.ID == 0 {
			t.Errorf("%s: %+v", name, found)
		}
		fresh := must(New(WithID(found.ID)))
		deltaOf(fresh, read("valid/heap.1.pb.gz"))
		for range attempt - 1 {
			w, _ := windowOf(fresh, next)
			w.Abandon()
		}
		if got := deltaOf(c, next); !bytes.Equal(got, deltaOf(fresh, next)) {
			t.Errorf("%s: another delta", name)
		}
		for format, reason := range map[byte]Reason{5: ReasonNone, 8: ReasonNewerState} {
			other := bytes.Clone(stored)
			other[8] = format
			e := statusOf(t, name, c.Load(t.Context(), bytes.NewReader(other)), ErrState)
			if e.Reason != reason || !strings.Contains(e.Text, fmt.Sprintf("format %d; this one knows 7", format)) {
				t.Errorf("format %d: %v: %v", format, e.Reason, e)
			}
		}
	}
}

func TestDamagedStateChangesNothing(t *testing.T) {
	_, c, first, cur := begun(5, 20)
	state := stateOf(c)
	for at := 0; at < len(state); at += 7 {
		damaged := bytes.Clone(state)
		damaged[at] ^= 0x10
		statusOf(t, fmt.Sprint("byte ", at), c.Load(t.Context(), bytes.NewReader(damaged)), ErrState)
		statusOf(t, fmt.Sprint("length ", at), c.Load(t.Context(), bytes.NewReader(state[:at])), ErrState)
	}
	broken := errors.New("the disk is broken")
	err := c.Load(t.Context(), io.MultiReader(bytes.NewReader(state[:9]), iotest.ErrReader(broken)))
	if statusOf(t, "a reader that fails", err, ErrSource); !errors.Is(err, broken) {
		t.Errorf("%v does not wrap the reader's error", err)
	}
	statusOf(t, "a writer that fails", c.Save(t.Context(), failing{err: broken}), ErrSink)
	same(t, "after damaged states", deltaOf(c, cur), merged(first, cur))
}

func TestWindowFromReadsToTheEnd(t *testing.T) {
	_, c, first, cur := begun(6, 40)
	w := must(c.WindowFrom(t.Context(), iotest.OneByteReader(bytes.NewReader(cur))))
	var out bytes.Buffer
	if n := must(w.WriteTo(&out)); n != int64(out.Len()) {
		t.Errorf("%d of %d bytes", n, out.Len())
	}
	same(t, "WindowFrom", out.Bytes(), merged(first, cur))
	w.Abandon()
	statusOf(t, "a reader that fails", errorOf(c.WindowFrom(t.Context(), iotest.ErrReader(io.ErrClosedPipe))), ErrSource)
}

// TestReadersAndContexts: a reader that is slow, endless or stuck ends with the context, or with an error.
func TestReadersAndContexts(t *testing.T) {
	c := newComputer()
	stuck := make(chan struct{})
	defer close(stuck)
	for name, call := range map[string]func(context.Context, io.Reader) error{
		"WindowFrom": func(ctx context.Context, r io.Reader) error { return errorOf(c.WindowFrom(ctx, r)) },
		"Load":       c.Load,
	} {
		for _, each := range []context.Context{t.Context(), context.Background()} {
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
			_ = call(t.Context(), reading(func([]byte) (int, error) { panic("a reader that panics") }))
		}()
		for what, stop := range map[string]func(pieces int, cancel func()) (int, error){
			"is endless": func(pieces int, cancel func()) (int, error) {
				if pieces == 5 {
					cancel()
				}
				return 1, nil
			},
			"is stuck": func(_ int, cancel func()) (int, error) { cancel(); <-stuck; return 0, io.EOF },
		} {
			pieces := 0
			ctx, cancel := context.WithCancel(t.Context())
			err := call(ctx, reading(func([]byte) (int, error) { pieces++; return stop(pieces, cancel) }))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: a reader that %s: %v", name, what, err)
			}
		}
		err := call(context.Background(), reading(func([]byte) (int, error) { // nothing is locked while it reads
			deltaOf(c, newProcess(2, 4).Bytes())
			return 0, io.EOF
		}))
		if err == nil {
			t.Errorf("%s: nothing was read", name)
		}
	}
}

func TestRestart(t *testing.T) {
	p, c, _, first := begun(9, 60)
	again := newProcess(9, 6)
	again.Clock = p.Clock
	w, delta := windowOf(c, again.Bytes())
	if w.Report.Restart != RestartMass {
		t.Errorf("restart %d", w.Report.Restart)
	}
	if wrong := parsed(delta).Difference(parsed(again.Bytes())); wrong != "" {
		t.Errorf("after a restart, the delta is not cur: %s", wrong)
	}
	w.Abandon()

	c = newComputer()
	deltaOf(c, first)
	p.Run()
	c.SetStarted(time.Unix(0, p.Clock-second))
	for attempt, restart := range []Restart{RestartStarted, RestartStarted, RestartNone} {
		if attempt == 2 { // the attempts before are a restart
			must(0, w.Commit())
			c.SetStarted(time.Time{})
		} else {
			c.Abandon()
		}
		if w, _ = windowOf(c, p.Bytes()); w.Report.Restart != restart {
			t.Errorf("attempt %d: restart %d", attempt, w.Report.Restart)
		}
	}
	numbered(t, "after a restart", w, 3, 1)

	c = newComputer(WithOnReset(ResetFail))
	deltaOf(c, p.Bytes())
	again.Clock = p.Clock + second
	statusOf(t, "ResetFail", c.Delta(again.Bytes(), io.Discard), ErrReset)
}

// An hour back, then a scrape after the other: none fails, the first says so, and the windows join.
func TestClockThatIsSetBack(t *testing.T) {
	p, c := newProcess(4, 30), newComputer()
	deltas := [][]byte{deltaOf(c, p.Bytes())}
	p.Clock -= 3600 * second
	var profiles [][]byte
	for i := range 70 {
		p.Run()
		profiles = append(profiles, p.Bytes())
		w, delta := windowOf(c, profiles[i])
		if w.Report.ClockSetBack != (i == 0) || w.Report.To.Before(w.Report.From) {
			t.Fatalf("window %d: %+v", i, w.Report)
		}
		must(0, w.Commit())
		deltas = append(deltas, bytes.Clone(delta))
	}
	var out bytes.Buffer
	must(Sum(t.Context(), &out, deltas))
	if wrong := parsed(out.Bytes()).Difference(parsed(profiles[69])); wrong != "" {
		t.Error(wrong)
	}
	statusOf(t, "a late profile", c.Delta(profiles[30], io.Discard), ErrOlder)
	if m := rememberedBy(c); m.Sequence != 71 || m.Attempts != 0 {
		t.Errorf("%+v", m)
	}
}

func TestOptionsArriveAtTheLibrary(t *testing.T) {
	first := newProcess(2, 40).Bytes()
	with := func(opts ...Option) []byte { return deltaOf(newComputer(opts...), first) }
	if n := len(parsed(with(WithFirstZero())).Rows); n >= 40 {
		t.Errorf("WithFirstZero: %d rows", n)
	}
	stamped := with()
	statusOf(t, "a stamped profile", newComputer().Delta(stamped, io.Discard), ErrStamped)
	deltaOf(newComputer(WithForce()), stamped)
	resource := WithResource("service.name", "shop")
	request := with(WithFormat(OTLP), resource, WithCompression(None))
	if of := censusOf(request); of.Samples != censusOf(first).Samples || !bytes.Contains(request, []byte("service.name")) {
		t.Errorf("OTLP: %+v", of)
	}
	request = with(WithFormat(OTLP), resource, WithoutStamp())
	same(t, "a request", deltaOf(newComputer(), request), parsed(stamped))
	if of := censusOf(with(WithFastdeltaDefaults())); of.IsStamped || of.Encoding != "plain" {
		t.Errorf("WithFastdeltaDefaults: %+v", of)
	}
	if is := parsed(with(WithDefaultCounter())).DefaultType; is != "alloc_space" {
		t.Errorf("WithDefaultCounter: %s", is)
	}
	w, _ := windowOf(newComputer(WithoutSequence()), first)
	numbered(t, "WithoutSequence", w, 0, 0)
	w, _ = windowOf(newComputer(WithCounters("inuse_space/bytes", "of/another", "profile"), WithGauges("alloc_space", "none")), first)
	if types := w.Report.Types; types[1].IsCounter || !types[3].IsCounter || types[2].IsCounter {
		t.Errorf("WithCounters, WithGauges: %+v", types)
	}
	err := newComputer(WithGauges("alloc_space", "alloc_objects")).Delta(first, io.Discard)
	if e := statusOf(t, "no counter", err, ErrMismatch); e.Reason != ReasonNoCounter {
		t.Errorf("no counter: %v", e.Reason)
	}
}

// TestAReceiverIsOneWord holds the table against that of the C header, and each row against the options that it stands for.
func TestAReceiverIsOneWord(t *testing.T) {
	header, err := os.ReadFile("../../../lib/include/pprofdelta_common.h")
	if err != nil {
		t.Skip(err)
	}
	first := newProcess(2, 40).Bytes()
	with := func(opts ...Option) []byte { return deltaOf(newComputer(opts...), first) }
	formats := map[string]Format{"PPROF": Pprof, "OTLP": OTLP, "OTLP_PARCA": OTLPParca, "OTLP_PLAIN": OTLPPlain}
	rows := regexp.MustCompile(`\{"(\w+)", "[^"]*", "[^"]*", PPROFDELTA_(\w+), PPROFDELTA_GZIP, \d+\}`).FindAllStringSubmatch(string(header), -1)
	if len(rows) != len(receivers) || len(rows) < 4 {
		t.Fatalf("%d rows and %d receivers", len(rows), len(receivers))
	}
	for _, row := range rows {
		word, format := WithFor(row[1]), WithFormat(formats[row[2]])
		for what, both := range map[string][2][]Option{
			"the format":               {{word}, {format}},
			"a compression":            {{word, WithCompression(None)}, {format, WithCompression(None)}},
			"another format before it": {{WithFormat(OTLPPlain), word}, {WithFormat(OTLPPlain)}},
			"another format behind it": {{word, WithFormat(Pprof), WithCounters("x")}, {WithCounters("x")}},
		} {
			if !bytes.Equal(with(both[0]...), with(both[1]...)) {
				t.Errorf("%s: %s", row[1], what)
			}
		}
	}
}

// A writer must not be called for a request of OTLP that has no samples, and the window must be committed. The dialects differ.
func TestRequestsWithoutSamplesAreEmpty(t *testing.T) {
	p := newProcess(2, 40)
	p.Types = []string{"contentions/count", "delay/nanoseconds"}
	for _, s := range p.Stacks {
		s.Values = s.Values[:2]
	}
	first := p.Bytes()
	p.Clock += 1e9
	same := p.Bytes()
	p.Clock += 1e9
	p.Stacks[3].Values[0]++
	grown := p.Bytes()
	requests := map[string]bool{}
	for _, format := range []Format{OTLP, OTLPParca, OTLPPlain} {
		for what, opt := range map[string]Option{"gzip": WithCompression(Gzip), "none": WithCompression(None), "zlib": WithCompressor(zlibWriter)} {
			written := 0
			to := writing(func(b []byte) (int, error) { written++; return len(b), nil })
			opts := []Option{WithFormat(format), opt, WithID(7)}
			c := newComputer(opts...)
			if err := c.Delta(first, to); err != nil || written != 1 {
				t.Errorf("%v, %s: the first window: %v, %d writes", format, what, err, written)
			}
			w, _ := windowOf(c, same)
			if n, err := w.WriteTo(to); n != 0 || err != nil || len(must(w.Bytes())) != 0 || w.Report.OutputLen != 0 {
				t.Errorf("%v, %s: WriteTo: %d bytes, %v, %d", format, what, n, err, w.Report.OutputLen)
			}
			w.Abandon()
			_, err := Compare(t.Context(), first, same, to, opts...)
			if again := c.Delta(same, to); again != nil || err != nil || written != 1 {
				t.Errorf("%v, %s: %v, %v, %d writes", format, what, again, err, written)
			}
			w, _ = windowOf(c, grown)
			if from, n := w.Report.From, w.Report.SamplesOut; from.UnixNano() != p.Clock-1e9 || w.Report.Attempt != 1 || n != 1 {
				t.Errorf("%v, %s: the next window begins at %v, attempt %d, and has %d samples", format, what, from, w.Report.Attempt, n)
			}
		}
		requests[string(deltaOf(newComputer(WithFormat(format), WithCompression(None), WithID(7)), first))] = true
	}
	if len(requests) != 3 {
		t.Errorf("the three formats of OTLP give %d requests", len(requests))
	}
}

// TestNewChecksAllOptions: what New accepts, no later call refuses because of its options.
func TestNewChecksAllOptions(t *testing.T) {
	profile := newProcess(2, 4).Bytes()
	for what, opts := range map[string][]Option{
		"nil": {nil}, "no compressor": {WithCompressor(nil)}, "high level": {WithLevel(10)}, "low level": {WithLevel(-1)},
		"compression": {WithCompression(7)}, "on reset": {WithOnReset(9)}, "format": {WithFormat(5)},
		"a level without compression":   {WithLevel(3), WithCompression(None)},
		"a level of another compressor": {WithLevel(3), WithCompressor(zlibWriter)},
		"a resource without OTLP":       {WithResource("a", "b")}, "a resource with a NUL": {WithFormat(OTLP), WithResource("a", "b\x00")},
		"no receiver":  {WithFor("x")},
		"an empty key": {WithFormat(OTLP), WithResource("", "x")}, "a NUL": {WithCounters("a\x00b")},
		"no name": {WithCounters("")}, "no type": {WithCounters("/x")}, "no unit": {WithGauges("x/")},
		"slashes": {WithCounters("a/b/c")}, "both": {WithCounters("a/b"), WithGauges("a/b")},
		"both by type": {WithCounters("a"), WithGauges("a/b")}, "both by unit": {WithCounters("a/b"), WithGauges("a")},
	} {
		for by, call := range functionsWith(profile, opts...) {
			if e := statusOf(t, by+": "+what, call(t.Context()), ErrUsage); e.Stage != StageOptions || e.Text == "" {
				t.Errorf("%s: %s: %+v", by, what, e)
			}
		}
	}
	for _, on := range []OnReset{ResetAuto, ResetRestart, ResetClamp, ResetFail} {
		for level := range 10 {
			deltaOf(newComputer(WithOnReset(on), WithLevel(level), WithFormat(Format(level%2)), WithCounters("a", "b/c"),
				WithGauges("b/d", "e"), WithVerify(), WithDefaultCounter(), WithForce()), profile)
		}
	}
}

func TestEnumsHaveNames(t *testing.T) {
	for want, value := range map[string]fmt.Stringer{"gzip": Gzip, "none": None, "otlp": OTLP, "otlp-parca": OTLPParca, "otlp-plain": OTLPPlain, "tables": Tables, "clamp": ResetClamp,
		"Compression(7)": Compression(7), "Format(-1)": Format(-1), "a window is pending": ErrPending, "Status(99)": Status(99),
		"newer_state": ReasonNewerState, "no_target": ReasonNoTarget, "Reason(16)": Reason(16), "decrease": RestartAny, "live": RestartLive,
		"window": LiveWindow, "equal": JoinEqual, "Join(12)": Join(12)} {
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
	profile, ids := newProcess(2, 40).Bytes(), map[uint64]bool{}
	for range 3 {
		c := must(New())
		w, delta := windowOf(c, profile)
		id := w.Report.ID
		if m, of := rememberedBy(loaded(stateOf(c))), censusOf(delta); m.ID != id || of.Stamp.ID != id || id == 0 {
			t.Errorf("ids %x, %x and %x", m.ID, of.Stamp.ID, id)
		}
		ids[id] = true
	}
	if len(ids) != 3 {
		t.Errorf("ids: %v", ids)
	}
}

func TestCompare(t *testing.T) {
	p := newProcess(7, 40)
	prev := p.Bytes()
	p.Run()
	cur, ctx := p.Bytes(), t.Context()
	var out bytes.Buffer
	if report := must(Compare(ctx, prev, cur, &out)); report.Sequence != 0 || report.SamplesOut == 0 {
		t.Errorf("%+v", report)
	}
	same(t, "Compare", out.Bytes(), merged(prev, cur))
	for at, pair := range [][2][]byte{{prev[:len(prev)-3], cur}, {prev, cur[:len(cur)-3]},
		{plainOf(prev)[:50], cur}, {prev, plainOf(cur)[:50]}} {
		var e *Error
		if err := errorOf(Compare(ctx, pair[0], pair[1], &out)); !errors.As(err, &e) || e.IsPrev != (at%2 == 0) {
			t.Errorf("pair %d: %v", at, err)
		}
	}
	statusOf(t, "swapped", errorOf(Compare(ctx, cur, prev, &out)), ErrMismatch)
	statusOf(t, "a writer that fails", errorOf(Compare(ctx, prev, cur, failing{err: io.ErrClosedPipe})), ErrSink)
}

func TestSumOfAttemptsAndGaps(t *testing.T) {
	p, c := newProcess(8, 40), newComputer()
	var profiles, deltas [][]byte
	for window := range 4 {
		profiles = append(profiles, p.Bytes())
		w, delta := windowOf(c, profiles[window])
		if deltas = append(deltas, delta); window != 1 {
			must(0, w.Commit())
		}
		w.Abandon()
		p.Run()
	}
	first, lost, second, third := deltas[0], deltas[1], deltas[2], deltas[3]
	var out bytes.Buffer
	joins := must(Sum(t.Context(), &out, [][]byte{first, lost, second, lost, third}))
	if fmt.Sprint(joins) != fmt.Sprint([]Join{JoinFirst, JoinNext, JoinAgain, JoinStale, JoinNext}) {
		t.Errorf("%v", joins)
	}
	if wrong := parsed(out.Bytes()).Difference(parsed(profiles[3])); wrong != "" {
		t.Error(wrong)
	}
	for what, wrong := range map[string][]byte{"windows are missing": third, "protobuf": []byte("no profile")} {
		var which *ProfileError
		err := errorOf(Sum(t.Context(), &out, [][]byte{first, wrong}))
		if !errors.As(err, &which) || which.Index != 1 || !strings.Contains(err.Error(), which.Err.(*Error).Text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Sum(t.Context(), &out, nil); err == nil {
		t.Error("the sum of nothing has no error")
	}
}

// What the targets have counted and have in use is what all their cumulative profiles have together.
func TestMergeCountsEachWindowOnce(t *testing.T) {
	var deltas [][]byte
	want := &proftest.Profile{Rows: map[string][]int64{}}
	for id := range uint64(3) {
		p, c := newProcess(8, 40), must(New(WithID(id+1)))
		for range id {
			p.Run()
		}
		first := deltaOf(c, p.Bytes())
		p.Run()
		w, lost := windowOf(c, p.Bytes())
		w.Abandon()
		p.Run()
		deltas = append(deltas, deltaOf(c, p.Bytes()), lost, first, first)
		for key, values := range parsed(p.Bytes()).Rows {
			sums := append(want.Rows[key], make([]int64, len(values))...)[:len(values)]
			for i, value := range values {
				sums[i] += value
			}
			want.Rows[key] = sums
		}
	}
	ctx := t.Context()
	var out bytes.Buffer
	joins := must(Merge(ctx, &out, deltas))
	if fmt.Sprint(joins[:4]) != fmt.Sprint([]Join{JoinAgain, JoinNext, JoinFirst, JoinEqual}) {
		t.Errorf("%v", joins)
	}
	if wrong := parsed(out.Bytes()).Difference(want); wrong != "" {
		t.Error(wrong)
	}
	out.Reset()
	must(Merge(ctx, &out, deltas, WithTargetLabel("host")))
	for id := range 4 {
		if bytes.Contains(plainOf(out.Bytes()), fmt.Appendf(nil, "%016x", id)) != (id > 0) {
			t.Errorf("target %d", id)
		}
	}
	var which *ProfileError
	err := errorOf(Merge(ctx, &out, append(deltas, newProcess(1, 4).Bytes())))
	if e := statusOf(t, "a cumulative profile", err, ErrMismatch); e.Reason != ReasonNoTarget || !errors.As(err, &which) ||
		which.Index != len(deltas) {
		t.Errorf("%v", err)
	}
	err = errorOf(Merge(ctx, &out, [][]byte{deltas[0], []byte("no profile")}))
	if !errors.As(err, &which) || which.Index != 1 {
		t.Errorf("%v", err)
	}
	statusOf(t, "no writer", errorOf(Merge(ctx, nil, deltas)), ErrUsage)
}

func TestCheck(t *testing.T) {
	profile := read("valid/heap.2.pb.gz")
	p, of := parsed(profile), censusOf(profile)
	if of.Encoding != "gzip" || of.Samples != uint64(len(p.Samples)) || of.Types != 4 || of.Time.UnixNano() != p.Time || of.IsStamped {
		t.Errorf("%+v", of)
	}
	w, delta := windowOf(newComputer(WithCompression(None)), profile)
	of = censusOf(zstdOf(delta))
	if of.Encoding != "zstd" || !of.IsStamped || !of.Stamp.IsDelta || of.Stamp.Sequence != 1 || of.Stamp.Attempt != 1 ||
		!of.Stamp.To.Equal(w.Report.To) {
		t.Errorf("%+v", of)
	}
	of, err := Check(t.Context(), []byte("heap_v2/524288\n  t*: 1: 2 [3: 4]\n@ 0x1 0x2\n  t*: 1: 2 [3: 4]\n"))
	if err == nil && of.Encoding != "text" {
		t.Errorf("%+v", of)
	}
}

func TestInt128(t *testing.T) {
	for text, v := range map[string]Int128{
		"0": {}, "-1": {Hi: -1, Lo: math.MaxUint64}, "9223372036854775807": {Lo: math.MaxInt64},
		"9223372036854775808": {Lo: 1 << 63}, "-9223372036854775808": {Hi: -1, Lo: 1 << 63}, "-18446744073709551616": {Hi: -1},
		"18446744073709551621": {Hi: 1, Lo: 5}, "-170141183460469231731687303715884105728": {Hi: math.MinInt64},
	} {
		small, fits := v.Int64()
		if v.String() != text || fits != v.Big().IsInt64() || fits && fmt.Sprint(small) != text {
			t.Errorf("%s is %s, %d, %v", text, v, small, fits)
		}
	}
}

func TestErrorHasAPosition(t *testing.T) {
	err := errorOf(Check(t.Context(), read("hostile/sample-location-id-unknown.pb")))
	e := statusOf(t, "unknown id", err, ErrProfile)
	if e.Field != "sample.location_id" || e.Element != 2 || e.Offset != 58 || e.IsPrev || e.Stage != StageProfile ||
		err.Error() != "pprofdelta: sample[2].location_id: no location has the id 99 (profile, byte 58)" {
		t.Errorf("%+v: %s", e, err)
	}
	for status := range statusTexts {
		if !errors.Is(error(&Error{Status: status}), status) || errors.Is(err, status) != (status == ErrProfile) {
			t.Errorf("status %d", status)
		}
	}
}
