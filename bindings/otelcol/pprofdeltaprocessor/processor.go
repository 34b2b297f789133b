package pprofdeltaprocessor

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
	"github.com/pprofdelta/pprofdelta/bindings/otelcol/pprofdeltaprocessor/internal/metadata"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"
)

// deltas is the processor. What a request has is sent in one request, and its windows are committed
// together when the next consumer has taken it. If that fails, all are abandoned, and the next windows
// cover their time, too. Two requests for one target run one after the other, since the second window
// depends on what became of the first.
type deltas struct {
	config    *Config
	id        component.ID
	log       *zap.Logger
	next      xconsumer.Profiles
	telemetry *metadata.TelemetryBuilder
	now       func() time.Time // nil: time.Now

	pool     *pprofdelta.Pool
	targets  *targets
	nameless sync.Once // warns
}

// entry is one profile of a request.
type entry struct {
	resource pprofile.ResourceProfiles
	scope    pprofile.ScopeProfiles
	profile  pprofile.Profile
	isLost   bool // refused, or there is nothing in it

	// Of a cumulative profile.
	counter string // its type; "" otherwise
	name    string // what it is a profile of, where the type does not tell: see nameOf
	key     key
	target  *target // held
	window  *pprofdelta.Window
	delta   pprofile.Profiles // not there if the window has no samples
	len     int               // as OTLP
	source  string            // where it seems to be from
}

// The most windows that are computed at once. The memory is divided among them.
const mostInstances = 4

func (p *deltas) Start(ctx context.Context, host component.Host) error {
	instances := min(runtime.GOMAXPROCS(0), mostInstances)
	var err error
	p.pool, err = pprofdelta.NewPool(pprofdelta.WithInstances(instances),
		pprofdelta.WithMaxMemory(min(p.config.MaxMemory<<19/int64(instances), 1<<30)))
	if err != nil {
		return err
	}
	p.targets = &targets{
		most: p.config.MaxTargets, mostSize: p.config.MaxMemory << 19, idle: p.config.IdleTimeout,
		now: p.now, log: p.log, telemetry: p.telemetry, found: map[key]*target{}, order: list.New(),
	}
	if p.now == nil {
		p.targets.now = time.Now
	}
	if p.config.Storage == nil {
		if p.config.First == firstFull {
			p.log.Warn(`without "storage", a restart of the Collector sends again all that each target has ` +
				`counted so far; set "storage", or "first: zero"`)
		}
		return nil
	}
	named, has := host.GetExtensions()[*p.config.Storage]
	extension, ok := named.(storage.Extension)
	if !has {
		return fmt.Errorf("storage: the service has no extension %v; name it in service::extensions, too", p.config.Storage)
	} else if !ok {
		return fmt.Errorf("storage: the extension %v keeps nothing; use one such as file_storage", p.config.Storage)
	}
	if p.targets.client, err = extension.GetClient(ctx, component.KindProcessor, p.id, "profiles"); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	if err := p.targets.restore(ctx); err != nil {
		return fmt.Errorf("storage: %w", errors.Join(err, p.targets.client.Close(ctx)))
	}
	return nil
}

func (p *deltas) Shutdown(ctx context.Context) error {
	if p.pool == nil {
		return nil
	}
	err := p.pool.Close()
	if p.targets != nil && p.targets.client != nil {
		err = errors.Join(err, p.targets.client.Close(ctx))
	}
	return err
}

// Capabilities: a request is not changed. One whose profiles all pass is handed on; otherwise a new one is.
func (p *deltas) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (p *deltas) ConsumeProfiles(ctx context.Context, in pprofile.Profiles) error {
	entries := p.read(ctx, in)
	rounds := p.rounds(ctx, entries)
	if !slices.ContainsFunc(entries, func(e *entry) bool { return e.counter != "" }) {
		return p.next.ConsumeProfiles(ctx, in)
	}
	for _, round := range rounds {
		if err := p.consume(ctx, in.Dictionary(), round); err != nil {
			return err
		}
	}
	return nil
}

// read returns all profiles, and which of them are cumulative.
func (p *deltas) read(ctx context.Context, in pprofile.Profiles) []*entry {
	var entries []*entry
	for _, resource := range in.ResourceProfiles().All() {
		attributes := resource.Resource().Attributes()
		isDelta := p.config.isDelta(attributes)
		identity := fmt.Appendf(nil, "%#v", attributes.AsRaw()) // sorted by key
		for _, scope := range resource.ScopeProfiles().All() {
			within := fmt.Appendf(identity[:len(identity):len(identity)], "%q%q%#v", scope.Scope().Name(), scope.Scope().Version(),
				scope.Scope().Attributes().AsRaw())
			for _, profile := range scope.Profiles().All() {
				e := &entry{resource: resource, scope: scope, profile: profile}
				kind, unit := text(in, profile.SampleType().TypeStrindex()), text(in, profile.SampleType().UnitStrindex())
				if !isDelta && !isStamped(in, profile) {
					e.counter = p.config.counter(kind, unit)
				}
				if e.counter == "" {
					p.telemetry.ProcessorPprofdeltaPassed.Add(ctx, 1)
				} else {
					p.warn(attributes)
					period := text(in, profile.PeriodType().TypeStrindex())
					e.name = nameOf(in.Dictionary(), e, kind, period)
					e.isLost = e.name == nothing
					e.key = sha256.Sum256(fmt.Appendf(within[:len(within):len(within)], "%q%q%q%q%q", kind, unit, e.name, period,
						text(in, profile.PeriodType().UnitStrindex())))
				}
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// processNames are the attributes that tell processes apart.
var processNames = []string{"service.instance.id", "process.pid", "container.id", "k8s.pod.uid", "k8s.pod.name", "host.id", "host.name"}

func (p *deltas) warn(attributes pcommon.Map) {
	for _, name := range processNames {
		if _, ok := attributes.Get(name); ok {
			return
		}
	}
	p.nameless.Do(func() {
		p.log.Warn("a resource has none of these attributes; if it is of several processes, their counters are mixed up",
			zap.Strings("attributes", processNames), zap.Any("resource", attributes.AsRaw()))
	})
}

// temporality is the attribute by which a resource says what its profiles are: "delta", or "cumulative"
// although the setting "deltas" names the resource.
const temporality = "pprofdelta.temporality"

func (c *Config) isDelta(attributes pcommon.Map) bool {
	if said, ok := attributes.Get(temporality); ok && (said.AsString() == "delta" || said.AsString() == "cumulative") {
		return said.AsString() == "delta"
	}
	return slices.ContainsFunc(c.Deltas, func(wanted map[string]string) bool {
		for name, value := range wanted {
			if got, ok := attributes.Get(name); !ok || value != "*" && got.AsString() != value {
				return false
			}
		}
		return true
	})
}

// text returns a string of the dictionary, or "" if it has none with this index.
func text(in pprofile.Profiles, i int32) string {
	if i < 0 || int(i) >= in.Dictionary().StringTable().Len() {
		return ""
	}
	return in.Dictionary().StringTable().At(int(i))
}

// isStamped returns whether pprofdelta has made this profile.
func isStamped(in pprofile.Profiles, profile pprofile.Profile) bool {
	all := in.Dictionary().AttributeTable()
	for _, i := range profile.AttributeIndices().All() {
		if i < 0 || int(i) >= all.Len() || !isComment(text(in, all.At(int(i)).KeyStrindex())) {
			continue
		}
		value := all.At(int(i)).Value()
		if value.Type() == pcommon.ValueTypeStr && isStamp(value.Str()) {
			return true
		}
		if value.Type() == pcommon.ValueTypeSlice {
			for _, one := range value.Slice().All() {
				if isStamp(one.AsString()) {
					return true
				}
			}
		}
	}
	return false
}

// isComment returns whether an attribute has comments. Versions of pprofreceiver number them: "pprof.profile.comment.0".
func isComment(key string) bool {
	number, is := strings.CutPrefix(key, "pprof.profile.comment")
	return is && strings.Trim(number, ".0123456789") == ""
}

func isStamp(comment string) bool { return strings.HasPrefix(comment, "pprofdelta: delta ") }

// rounds returns what is sent in one request each. There is more than one round if a request has several
// profiles of one target, as it has behind a queue that joins requests: the latest of each is in the last
// round, with all that passes, and those before it in earlier rounds.
func (p *deltas) rounds(ctx context.Context, entries []*entry) [][]*entry {
	of := map[key][]*entry{}
	for _, e := range entries {
		if e.counter != "" && !e.isLost {
			of[e.key] = append(of[e.key], e)
		}
	}
	round := map[*entry]int{}
	last := 0
	for _, series := range of {
		slices.SortStableFunc(series, func(a, b *entry) int { return cmp.Compare(end(a.profile), end(b.profile)) })
		for at, e := range series[:len(series)-1] {
			round[e] = at
			last = max(last, at+1)
			if end(e.profile) == end(series[at+1].profile) {
				p.refuse(ctx, e, "same_time", errors.New("the request has two profiles of this type with the same resource, "+
					"scope and time: add what tells the processes apart to the resource, such as service.instance.id"))
			}
		}
	}
	rounds := make([][]*entry, last+1)
	for _, e := range entries {
		at, isEarly := round[e]
		if !isEarly {
			at = last
		}
		rounds[at] = append(rounds[at], e)
	}
	return rounds
}

// end is the time of a profile in pprof's terms.
func end(profile pprofile.Profile) uint64 { return uint64(profile.Time()) + profile.DurationNano() }

// consume sends the windows of one round, with what passes.
func (p *deltas) consume(ctx context.Context, dictionary pprofile.ProfilesDictionary, entries []*entry) error {
	defer p.release(entries)
	if err := p.hold(ctx, entries); err != nil {
		return err
	}
	began := time.Now()
	for _, e := range entries {
		if e.target != nil {
			if err := p.compute(ctx, dictionary, e); err != nil {
				return err
			}
		}
	}
	out := p.request(ctx, dictionary, entries)
	windows := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.window == nil || e.isLost })
	p.telemetry.ProcessorPprofdeltaDuration.Record(ctx, time.Since(began).Seconds())
	if out.ResourceProfiles().Len() > 0 {
		// Saved before the delta is sent: a process that dies meanwhile knows of the attempt.
		if err := p.targets.store(ctx, windows); err != nil {
			return fmt.Errorf("storage: nothing was sent: %w", err)
		}
		if err := p.next.ConsumeProfiles(ctx, out); err != nil {
			p.telemetry.ProcessorPprofdeltaWindows.Add(ctx, int64(len(windows)), by("outcome", "failed"))
			return err
		}
	}
	if len(windows) == 0 {
		return nil
	}
	return p.commit(context.WithoutCancel(ctx), windows)
}

// hold waits for the turn of all targets, always in the same order, so that two requests never wait for
// each other.
func (p *deltas) hold(ctx context.Context, entries []*entry) error {
	cumulative := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.counter == "" || e.isLost })
	slices.SortFunc(cumulative, func(a, b *entry) int { return bytes.Compare(a.key[:], b.key[:]) })
	for _, e := range cumulative {
		one := p.targets.hold(e.key)
		if one == nil {
			p.refuse(ctx, e, "max_targets", errors.New("there are max_targets targets, and all are in use"))
			continue
		}
		select {
		case one.turn <- struct{}{}:
			e.target = one
		case <-ctx.Done():
			p.targets.release(one)
			return ctx.Err()
		}
	}
	return nil
}

func (p *deltas) release(entries []*entry) {
	for _, e := range entries {
		if e.target != nil {
			e.window.Abandon() // nothing, if it was committed
			<-e.target.turn
			p.targets.release(e.target)
		}
	}
}

// compute computes the window of a profile. A profile that turns out to be no cumulative one passes, and
// one without a window is refused. Its error is for the whole request.
func (p *deltas) compute(ctx context.Context, dictionary pprofile.ProfilesDictionary, e *entry) error {
	err := p.window(ctx, dictionary, e)
	var failed *pprofdelta.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pprofdelta.ErrClosed):
		return err
	case errors.Is(err, pprofdelta.ErrStamped), errors.Is(err, pprofdelta.ErrNotCumulative):
		p.telemetry.ProcessorPprofdeltaPassed.Add(ctx, 1)
	case errors.As(err, &failed):
		p.refuse(ctx, e, failed.Status.String(), err)
	default:
		p.refuse(ctx, e, invalid, err)
	}
	return nil
}

func (p *deltas) window(ctx context.Context, dictionary pprofile.ProfilesDictionary, e *entry) error {
	profile, err := alone(dictionary, e.profile)
	if err != nil {
		return err
	}
	if err := e.target.ready(ctx, p.log, func(isZero bool) []pprofdelta.Option {
		return p.config.options(p.pool, e.counter, e.name, isZero)
	}); err != nil {
		return err
	}
	e.len, e.source = len(profile), sourceOf(dictionary, e.profile)
	e.target.computer.SetStarted(started(e.resource.Resource()))
	if e.window, err = e.target.computer.Window(ctx, profile); err != nil {
		return err
	}
	delta, err := e.window.Bytes()
	if err != nil || len(delta) == 0 {
		return err
	}
	e.delta, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(delta)
	if err == nil && e.delta.ProfileCount() != 1 {
		err = fmt.Errorf("the delta of one profile has %d", e.delta.ProfileCount())
	}
	return err
}

// alone is a request with this profile only, with neither resource nor scope. The context does not need
// these, and the delta goes where the profile was.
func alone(dictionary pprofile.ProfilesDictionary, profile pprofile.Profile) ([]byte, error) {
	one := pprofile.NewProfiles()
	to := one.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.CopyTo(to)
	to.OriginalPayload().FromRaw(nil)
	to.SetOriginalPayloadFormat("")
	if err := newDictionary(one.Dictionary()).copier(dictionary).profile(to); err != nil {
		return nil, err
	}
	return (&pprofile.ProtoMarshaler{}).MarshalProfiles(one)
}

// started is when the process began, if the resource says so.
func started(resource pcommon.Resource) (began time.Time) {
	if said, ok := resource.Attributes().Get("process.creation.time"); ok {
		began, _ = time.Parse(time.RFC3339Nano, said.AsString()) // zero, if it is no time
	}
	return began
}

// request makes what is sent: the profiles that pass, and the deltas where the cumulative profiles were.
func (p *deltas) request(ctx context.Context, dictionary pprofile.ProfilesDictionary, entries []*entry) pprofile.Profiles {
	out := pprofile.NewProfiles()
	to := newDictionary(out.Dictionary())
	passing := to.copier(dictionary)
	var last entry
	var resource pprofile.ResourceProfiles
	var scope pprofile.ScopeProfiles
	for _, e := range entries {
		if e.isLost || e.isEmpty() {
			continue
		}
		profile, from := pprofile.NewProfile(), passing
		if e.window == nil {
			e.profile.CopyTo(profile)
		} else {
			from = to.copier(e.delta.Dictionary())
			e.delta.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).MoveTo(profile)
		}
		if err := from.profile(profile); err != nil {
			p.refuse(ctx, e, invalid, err)
			continue
		}
		if last.resource != e.resource {
			resource = out.ResourceProfiles().AppendEmpty()
			e.resource.Resource().CopyTo(resource.Resource())
			resource.SetSchemaUrl(e.resource.SchemaUrl())
		}
		if last.scope != e.scope || (last.window == nil) != (e.window == nil) {
			scope = resource.ScopeProfiles().AppendEmpty()
			e.scope.Scope().CopyTo(scope.Scope())
			scope.SetSchemaUrl(e.scope.SchemaUrl())
			e.describe(scope.Scope())
		}
		last = *e
		profile.MoveTo(scope.Profiles().AppendEmpty())
	}
	return out
}

// isEmpty returns whether a window has no samples: there is nothing to send.
func (e *entry) isEmpty() bool { return e.window != nil && e.window.Report.OutputLen == 0 }

// describe adds what pprofdelta needs to read deltas again, such as that their time is their end. The deltas of one
// scope have the same.
func (e *entry) describe(scope pcommon.InstrumentationScope) {
	if e.window == nil {
		return
	}
	from := e.delta.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes()
	if value, has := from.Get(ownAttribute); has {
		value.CopyTo(scope.Attributes().PutEmpty(ownAttribute))
	}
}

const ownAttribute = "pprofdelta"

// commit is called when the windows have arrived. What fails now is no error of the request.
func (p *deltas) commit(ctx context.Context, windows []*entry) error {
	for _, e := range windows {
		if err := e.window.Commit(); err != nil {
			return err
		}
		p.telemetry.ProcessorPprofdeltaBytesIn.Add(ctx, int64(e.len))
		p.telemetry.ProcessorPprofdeltaBytesOut.Add(ctx, int64(e.window.Report.OutputLen))
		isRestart := e.window.Report.HadBase && e.window.Report.Restart != pprofdelta.RestartNone
		if isRestart {
			p.telemetry.ProcessorPprofdeltaRestarts.Add(ctx, 1)
		}
		if before, isMixed := e.target.follow(isRestart, e.source); isMixed {
			p.log.Warn("a target restarts again and again, and each time all is sent that it has counted; if these two profiles are of "+
				"different processes or endpoints, tell them apart by the resource, for example by service.instance.id or "+nameAttribute,
				zap.String("one", before), zap.String("other", e.source), zap.String("type", e.counter),
				zap.Any("resource", e.resource.Resource().Attributes().AsRaw()))
		}
	}
	empty := len(slices.DeleteFunc(slices.Clone(windows), func(e *entry) bool { return !e.isEmpty() }))
	p.telemetry.ProcessorPprofdeltaWindows.Add(ctx, int64(empty), by("outcome", "empty"))
	p.telemetry.ProcessorPprofdeltaWindows.Add(ctx, int64(len(windows)-empty), by("outcome", "sent"))
	if err := p.targets.store(ctx, windows); err != nil {
		p.log.Error("storage: the windows were sent, but this was not saved; if the Collector ends now, "+
			"they are sent again with the next ones", zap.Error(err))
	}
	return nil
}

const invalid = "not a valid profile" // as the library's status is

// refuse drops a profile. What it has counted is part of the next window.
func (p *deltas) refuse(ctx context.Context, e *entry, reason string, err error) {
	e.isLost = true
	p.telemetry.ProcessorPprofdeltaRefused.Add(ctx, 1, by("reason", reason))
	p.log.Warn("a profile was dropped; the next one of its target covers its time", zap.String("reason", reason),
		zap.String("type", e.counter), zap.Any("resource", e.resource.Resource().Attributes().AsRaw()), zap.Error(err))
}
