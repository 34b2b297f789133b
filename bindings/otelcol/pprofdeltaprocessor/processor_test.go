package pprofdeltaprocessor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
	"github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor/internal/metadata"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// kept is a storage in memory.
type kept struct {
	extension.Extension
	storage.Client
	mutex  sync.Mutex
	values map[string][]byte
	fails  error
}

func (k *kept) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return k, nil
}
func (k *kept) Close(context.Context) error { return nil }
func (k *kept) Get(_ context.Context, name string) ([]byte, error) {
	return k.values[name], k.fails
}
func (k *kept) Batch(_ context.Context, all ...*storage.Operation) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, one := range all {
		if k.fails == nil {
			k.values[one.Key] = one.Value
		}
	}
	return k.fails
}

var storageID = component.MustNewID("kept")

// bench is a processor between a test and a consumer that can fail.
type bench struct {
	*deltas
	t       *testing.T
	storage *kept
	metrics *componenttest.Telemetry
	logged  *observer.ObservedLogs
	mutex   sync.Mutex
	fails   func(pprofile.Profiles) error
	sums    map[string]map[string]int64 // of what was accepted
	last    pprofile.Profiles
	clock   time.Time
}

func (b *bench) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: b.storage}
}
func (b *bench) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// begin starts a processor, which is a new one with the same storage if there was one.
func (b *bench) begin(change func(*Config)) {
	config := createDefaultConfig().(*Config)
	config.Storage = &storageID
	if change != nil {
		change(config)
	}
	b.metrics = componenttest.NewTelemetry()
	settings := processor.Settings{ID: component.NewID(metadata.Type), TelemetrySettings: b.metrics.NewTelemetrySettings()}
	var core zapcore.Core
	core, b.logged = observer.New(zapcore.WarnLevel)
	settings.Logger = zap.New(core)
	made := must(NewFactory().CreateProfiles(b.t.Context(), settings, config, sink{b}))
	b.deltas = made.(*deltas)
	b.deltas.now = func() time.Time { return b.clock }
	must(0, made.Start(b.t.Context(), b))
	b.t.Cleanup(func() { _ = made.Shutdown(context.Background()) })
}

func newBench(t *testing.T, change func(*Config)) *bench {
	b := &bench{t: t, storage: &kept{values: map[string][]byte{}}, sums: map[string]map[string]int64{}, clock: time.Unix(1e9, 0)}
	b.begin(change)
	return b
}

// sink is the next consumer.
type sink struct{ *bench }

func (s sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s sink) ConsumeProfiles(_ context.Context, in pprofile.Profiles) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.fails != nil {
		if err := s.fails(in); err != nil {
			return err
		}
	}
	s.last = in
	add(s.sums, in)
	return nil
}

func (b *bench) send(sources ...source) error {
	return b.deltas.ConsumeProfiles(b.t.Context(), requestOf(sources...))
}

func (b *bench) sends(sources ...source) {
	b.t.Helper()
	b.last = pprofile.NewProfiles() // nothing is sent if there is nothing to send
	must(0, b.send(sources...))
}

// metric is the sum of a metric, of all attributes or of one value.
func (b *bench) metric(name, value string) (sum int64) {
	got, err := b.metrics.GetMetric("otelcol_processor_pprofdelta_" + name)
	if err != nil {
		return 0
	}
	for _, point := range got.Data.(metricdata.Sum[int64]).DataPoints {
		for _, one := range point.Attributes.ToSlice() {
			if value == "" || one.Value.AsString() == value {
				sum += point.Value
			}
		}
		if point.Attributes.Len() == 0 {
			sum += point.Value
		}
	}
	return sum
}

func heap(resource string, time, n int64) source {
	return source{resource: resource, scope: "test", kind: "alloc_space", unit: "bytes", time: time,
		values: map[string]int64{"alloc;main": n, "alloc;work;main|user=a": 2 * n, fmt.Sprintf("once%d", n): 7}}
}

func inuse(resource string, time, n int64) source {
	s := heap(resource, time, n)
	s.kind = "inuse_space"
	return s
}

// says checks that the last request has an attribute with this text.
func (b *bench) says(text string) {
	b.t.Helper()
	all := ""
	for _, one := range b.last.Dictionary().AttributeTable().All() {
		all += one.Value().AsString()
	}
	if !strings.Contains(all, text) {
		b.t.Errorf("%q is not in %q", text, all)
	}
}

var busy = errors.New("busy")

// The sums of what was accepted are the last profile of each target, whatever failed in between, and in-use
// values pass.
func TestNothingIsLost(t *testing.T) {
	b := newBench(t, nil)
	a, other := "service.name=s service.instance.id=a", "service.name=s service.instance.id=b"
	values := map[string]int64{}
	var last []source
	for round := int64(1); round <= 20; round++ {
		if round%7 == 0 {
			b.begin(nil) // as after SIGKILL: nothing was told to the one before
		}
		isFailing := round%3 == 1 && round < 20
		b.fails = func(pprofile.Profiles) error {
			if isFailing {
				return busy
			}
			return nil
		}
		values[fmt.Sprintf("new%d;main|user=%d", round, round%3)] = round
		values["alloc;main"] += round
		one := source{resource: a, scope: "test", kind: "alloc_space", unit: "bytes", time: round, values: maps.Clone(values)}
		two := one
		two.kind, two.unit = "alloc_objects", "count"
		last = []source{one, two, heap(other, round, 10*round), inuse(a, round, round)}
		if err := b.send(last...); isFailing != errors.Is(err, busy) {
			t.Fatal(round, err)
		}
	}
	equal(t, "in use", shown(b.last)["map[service.instance.id:a service.name:s] resource-schema test inuse_space/bytes"],
		shown(requestOf(last[3]))["map[service.instance.id:a service.name:s] resource-schema test inuse_space/bytes"])
	for name, want := range shown(requestOf(last[:2]...)) {
		equal(t, name, b.sums[name], want)
	}
	equal(t, "targets", b.metric("targets", ""), 3)
	equal(t, "restarts", b.metric("restarts", ""), 0)
	equal(t, "refused", b.metric("refused", ""), 0)
	// Since the last start, before round 14.
	equal(t, "sent", b.metric("windows", "sent"), 3*5)
	equal(t, "failed", b.metric("windows", "failed"), 3*2)
	if in, out := b.metric("bytes_in", ""), b.metric("bytes_out", ""); in == 0 || out == 0 || out > in {
		t.Errorf("%d bytes in, %d out", in, out)
	}
}

// Only what the profiles use is in the dictionary, and nothing twice; the request that came in is unchanged.
func TestDictionaryIsCompact(t *testing.T) {
	b := newBench(t, nil)
	b.sends(heap("r=1", 1, 5), heap("r=2", 1, 6))
	request := requestOf(heap("r=1", 2, 5), inuse("r=1", 2, 3), heap("r=2", 2, 8))
	before := shown(request)
	must(0, b.deltas.ConsumeProfiles(t.Context(), request))
	equal(t, "the request", shown(request), before)
	seen := map[string]bool{}
	for _, text := range b.last.Dictionary().StringTable().All() {
		if seen[text] || text == "once6" {
			t.Errorf("%q is in the dictionary twice, or unused", text)
		}
		seen[text] = true
	}
	// alloc, main, work and once3, once8; entry 0.
	equal(t, "functions", b.last.Dictionary().FunctionTable().Len(), 6)
	equal(t, "locations", b.last.Dictionary().LocationTable().Len(), 6)
	equal(t, "resources", b.last.ResourceProfiles().Len(), 2) // the first has nothing new
}

// Requests for the same and for other targets at once, of which many fail.
func TestRequestsAtOnce(t *testing.T) {
	b := newBench(t, nil)
	calls := 0
	b.fails = func(pprofile.Profiles) error {
		if calls++; calls%3 == 0 {
			return busy
		}
		return nil
	}
	var counted [3]struct {
		sync.Mutex
		n int64
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for range 20 {
				var sources []source
				for target := range counted {
					at := (target + worker) % len(counted)
					counted[at].Lock() // a profile that is older than another is made before it is sent
					counted[at].n++
					sources = append(sources, heap(fmt.Sprint("r=", at), counted[at].n, counted[at].n))
					sources[len(sources)-1].values = map[string]int64{"alloc": counted[at].n}
					counted[at].Unlock()
				}
				if err := b.send(sources...); err != nil && !errors.Is(err, busy) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.begin(nil)
	equal(t, "targets", b.metric("targets", ""), 3)
	b.fails = nil
	for at := range counted {
		last := heap(fmt.Sprint("r=", at), counted[at].n+1, counted[at].n)
		last.values = map[string]int64{"alloc": counted[at].n}
		b.sends(last)
		for name, want := range shown(requestOf(last)) {
			equal(t, name, b.sums[name], want)
		}
	}
}

// A request that waits for a target ends with its context, and holds nothing then.
func TestWaiting(t *testing.T) {
	b := newBench(t, nil)
	began, goOn := make(chan bool), make(chan bool)
	b.fails = func(pprofile.Profiles) error {
		close(began)
		<-goOn
		return nil
	}
	done := make(chan error)
	go func() { done <- b.send(heap("r=1", 1, 1)) }()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.deltas.ConsumeProfiles(ctx, requestOf(heap("r=1", 2, 2))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.fails = nil
	b.sends(heap("r=1", 3, 3))
}

func TestWhatPasses(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Counters, c.Gauges = []string{"mine"}, []string{"delay/nanoseconds"}
		c.Deltas = []map[string]string{{"sdk": "*", "lang": "go"}}
	})
	typed := func(s source, kind, unit string) source {
		s.kind, s.unit = kind, unit
		return s
	}
	stamped := heap("r=1", 2, 2)
	stamped.comment = "pprofdelta: delta from=1 to=2"
	for _, one := range []struct {
		what   string
		source source
		passes bool
	}{
		{"cpu", typed(heap("r=1", 1, 1), "cpu", "nanoseconds"), true},
		{"goroutines", typed(heap("r=1", 1, 1), "goroutine", "count"), true},
		{"another unit", typed(heap("r=1", 1, 1), "alloc_space", "kilobytes"), true},
		{"a gauge by the configuration", typed(heap("r=1", 1, 1), "delay", "nanoseconds"), true},
		{"a counter by the configuration", typed(heap("r=1", 1, 1), "mine", "apples"), false},
		{"a unit with a slash", typed(heap("r=1", 1, 1), "mine", "apples/day"), false},
		{"contentions", typed(heap("r=1", 1, 1), "contentions", "count"), false},
		{"a delta by the setting", heap("sdk=x lang=go", 1, 1), true},
		{"not by the setting", heap("sdk=x lang=java", 1, 1), false},
		{"a delta by the resource", heap("r=1 pprofdelta.temporality=delta", 1, 1), true},
		{"cumulative by the resource", heap("sdk=x lang=go pprofdelta.temporality=cumulative", 1, 1), false},
		{"stamped", stamped, true},
	} {
		t.Run(one.what, func(t *testing.T) {
			for round := range int64(3) {
				one.source.time = 1 + round
				b.last = pprofile.NewProfiles()
				request := requestOf(one.source)
				must(0, b.deltas.ConsumeProfiles(t.Context(), request))
				if one.passes {
					equal(t, "what passes", shown(b.last), shown(request))
				} else if got := b.last.SampleCount(); (got == 0) != (round > 0) {
					t.Errorf("round %d: %d samples", round, got)
				}
			}
		})
	}
	equal(t, "passed", b.metric("passed", ""), 3*7)
}

// Our own delta passes a second processor.
func TestStampIsSeen(t *testing.T) {
	b := newBench(t, nil)
	own := heap("r=1", 1, 1)
	own.comment = "a note"
	b.sends(own)
	delta := b.last
	b.says("a note")
	b.says("pprofdelta: delta ")
	must(0, b.deltas.ConsumeProfiles(t.Context(), delta))
	equal(t, "passed", b.metric("passed", ""), 1)
	equal(t, "the delta", shown(b.last), shown(delta))
}

// A request that is sent again does no harm.
func TestSentAgain(t *testing.T) {
	b := newBench(t, nil)
	b.sends(heap("r=1", 1, 100))
	b.sends(heap("r=1", 1, 100))
	equal(t, "samples", b.last.SampleCount(), 0)
	b.sends(heap("r=1", 2, 101))
	b.sends(heap("r=1", 1, 100))
	equal(t, "refused", b.metric("refused", pprofdelta.ErrOlder.String()), 1)
	b.sends(heap("r=1", 3, 101))
	equal(t, "samples", b.last.SampleCount(), 0)
	equal(t, "restarts", b.metric("restarts", ""), 0)
}

// A queue before the processor may join requests.
func TestProfilesOfOneTargetInARequest(t *testing.T) {
	b := newBench(t, nil)
	requests := 0
	b.fails = func(pprofile.Profiles) error { requests++; return nil }
	young := heap("r=1", 3, 1) // after a restart
	b.sends(inuse("r=1", 9, 9), young, heap("r=1", 2, 100), heap("r=1", 1, 50), heap("r=2", 1, 1))
	equal(t, "requests", requests, 3)
	want := map[string]map[string]int64{}
	for _, s := range []source{heap("r=1", 2, 100), young, {resource: "r=1", scope: "test", kind: "alloc_space", unit: "bytes", values: map[string]int64{"once50": 7}}} {
		add(want, requestOf(s))
	}
	for name, values := range want {
		equal(t, name, b.sums[name], values)
	}
	equal(t, "restarts", b.metric("restarts", ""), 1)
	b.sends(heap("r=3", 1, 1), heap("r=3", 1, 2))
	equal(t, "refused", b.metric("refused", "same_time"), 1)
}

func TestBounds(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxTargets, c.IdleTimeout = 2, time.Hour })
	b.sends(heap("r=1", 1, 1))
	b.sends(heap("r=2", 1, 1))
	b.sends(heap("r=1", 2, 1))
	b.sends(heap("r=3", 1, 1)) // in place of 2
	equal(t, "evicted", b.metric("evicted", "max_targets"), 1)
	b.sends(heap("r=1", 3, 1))
	equal(t, "of 1, which was kept", b.last.SampleCount(), 0)
	b.clock = b.clock.Add(59 * time.Minute)
	b.sends(heap("r=1", 4, 1))
	b.clock = b.clock.Add(59 * time.Minute)
	b.sends(heap("r=1", 5, 1))
	equal(t, "of 1, which was seen", b.last.SampleCount(), 0)
	equal(t, "evicted", b.metric("evicted", "idle_timeout"), 1)
	equal(t, "targets", b.metric("targets", ""), 1)
	b.fails = func(pprofile.Profiles) error { return busy }
	b.clock = b.clock.Add(59 * time.Minute)
	_ = b.send(heap("r=1", 6, 1))
	b.clock = b.clock.Add(59 * time.Minute)
	b.fails = nil
	b.sends(heap("r=1", 7, 1))
	equal(t, "of 1, which was seen, but not sent", b.last.SampleCount(), 0)
	b.sends(heap("r=1", 8, 1), heap("r=4", 8, 1), heap("r=5", 8, 1))
	equal(t, "refused, since all are in use", b.metric("refused", "max_targets"), 1)
	b.begin(func(c *Config) { c.MaxTargets, c.IdleTimeout = 1, time.Hour })
	equal(t, "targets after a restart", b.metric("targets", ""), 1)
	if len(b.storage.values) > 1+2 {
		t.Errorf("%d slots for two targets", len(b.storage.values)-1)
	}
}

// What is forgotten between two of its profiles begins anew each time. It is said once.
func TestIdleTimeoutIsTooShort(t *testing.T) {
	b := newBench(t, func(c *Config) { c.IdleTimeout = 10 * time.Second })
	for round := range int64(4) {
		b.clock = b.clock.Add(time.Minute)
		b.sends(heap("r=1 host.name=h", 2*round+1, 1+round), heap("r=2 host.name=h", 2*round+1, 1+round))
	}
	equal(t, "evicted", b.metric("evicted", "idle_timeout"), 6)
	said := b.logged.FilterMessageSnippet("make idle_timeout longer").All()
	equal(t, "warnings", len(said), 1)
	equal(t, "after", said[0].ContextMap()["after"], time.Minute)
	// A target that ends, and others that go on, are nothing to warn of.
	b = newBench(t, func(c *Config) { c.IdleTimeout = 90 * time.Second })
	for round := range int64(4) {
		b.clock = b.clock.Add(time.Minute)
		all := []source{heap("r=1 host.name=h", 2*round+1, 1+round)}
		if round == 0 {
			all = append(all, heap("r=2 host.name=h", 1, 1))
		}
		b.sends(all...)
	}
	equal(t, "evicted", b.metric("evicted", "idle_timeout"), 1)
	equal(t, "warnings", b.logged.Len(), 0)
}

func TestMaxMemory(t *testing.T) {
	b := newBench(t, nil)
	b.sends(heap("r=1", 1, 1))
	b.targets.mostSize = b.targets.size * 5 / 2
	b.sends(heap("r=2", 1, 1))
	b.sends(heap("r=3", 1, 1))
	equal(t, "evicted", b.metric("evicted", "max_memory"), 1)
	b.pool = must(pprofdelta.NewPool(pprofdelta.WithMaxMemory(1)))
	b.sends(heap("r=4", 1, 1), inuse("r=4", 1, 1))
	equal(t, "refused", b.metric("refused", pprofdelta.ErrLimit.String()), 1)
	equal(t, "what is left", shown(b.last), shown(requestOf(inuse("r=4", 1, 1))))
	b.pool.Close()
	if err := b.send(heap("r=5", 1, 1)); !errors.Is(err, pprofdelta.ErrClosed) {
		t.Error(err)
	}
}

// What fails at the storage: nothing is sent that a new process would not know of.
func TestStorageFails(t *testing.T) {
	b := newBench(t, nil)
	b.storage.fails = busy
	if err := b.send(heap("r=1", 1, 100)); !errors.Is(err, busy) {
		t.Error(err)
	}
	equal(t, "accepted", len(b.sums), 0)
	b.storage.fails = nil
	b.fails = func(pprofile.Profiles) error { b.storage.fails = busy; return nil } // the second save fails
	b.sends(heap("r=1", 2, 102))
	b.storage.fails = nil
	b.fails = nil
	b.sends(heap("r=1", 3, 103))
	equal(t, "windows", b.metric("windows", "sent"), 2)
	b.says("seq=2 attempt=1")
}

// A state that is damaged is no reason to count all again, and is told.
func TestDamagedState(t *testing.T) {
	b := newBench(t, nil)
	b.sends(heap("r=1", 1, 100))
	value := b.storage.values[slotKey(0)]
	value[len(value)/2] ^= 1
	b.begin(nil)
	b.sends(heap("r=1", 2, 101))
	equal(t, "samples", b.last.SampleCount(), 0)
	b.sends(heap("r=1", 3, 102))
	equal(t, "samples", b.last.SampleCount(), 3)
	for _, bad := range []string{"", "x", strings.Repeat("\x01", headerLen)} {
		b.storage.values[slotKey(0)] = []byte(bad)
		b.begin(nil)
		equal(t, "targets", b.metric("targets", ""), 0)
	}
	b.storage.values[slotsKey] = []byte("many")
	if err := b.deltas.Start(t.Context(), b); err == nil || !strings.Contains(err.Error(), `"many"`) {
		t.Error(err)
	}
}

func TestStarted(t *testing.T) {
	b := newBench(t, nil)
	young := func(time, n int64) source { return heap("process.creation.time=1970-01-01T00:00:10Z", time*1e9, n) }
	b.sends(young(1, 5)) // before it began: another process
	b.sends(young(20, 50))
	equal(t, "restarts", b.metric("restarts", ""), 1)
	b.sends(young(21, 51))
	equal(t, "restarts", b.metric("restarts", ""), 1)
}

// keepsNothing is a service whose extension of that name is no storage.
type keepsNothing struct{}

func (keepsNothing) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: struct {
		component.StartFunc
		component.ShutdownFunc
	}{}}
}

func TestWithoutStorage(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Storage, c.First = nil, firstZero })
	b.sends(heap("r=1", 1, 5))
	equal(t, "samples", b.last.SampleCount(), 0)
	b.sends(heap("r=1", 2, 6))
	equal(t, "samples", b.last.SampleCount(), 3)
	b.storage = nil
	b.deltas.config.Storage = &storageID
	if err := b.deltas.Start(t.Context(), componenttest.NewNopHost()); err == nil || !strings.Contains(err.Error(), "storage: the service has no extension kept;") {
		t.Error(err)
	}
	if err := b.deltas.Start(t.Context(), keepsNothing{}); err == nil || !strings.Contains(err.Error(), "storage: the extension kept keeps nothing;") {
		t.Error(err)
	}
}
