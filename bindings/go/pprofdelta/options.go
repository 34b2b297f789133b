package pprofdelta

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Compression is the compression of a delta.
type Compression int32

// The compressions. [WithCompressor] adds others.
const (
	Gzip Compression = iota // the default
	None
)

// String returns "gzip" or "none".
func (c Compression) String() string { return nameOf(c, "Compression", "gzip", "none") }

// Format is the format of a delta.
type Format int32

// The formats. The values are those of pprofdelta_format.
const (
	Pprof     Format = iota // the default
	OTLP                    // one ExportProfilesServiceRequest (opentelemetry-proto 1.11), for Pyroscope and most receivers
	OTLPParca               // the same, with the period type as it is
	OTLPPlain               // the same by the conventions of OpenTelemetry alone
	Tables                  // no bytes, but the columns of [Window.Tables]; the compression has no effect
)

// String returns "pprof", "otlp", "otlp-parca", "otlp-plain" or "tables".
func (f Format) String() string {
	return nameOf(f, "Format", "pprof", "otlp", "otlp-parca", "otlp-plain", "tables")
}

// nameOf returns the name of a value whose first one is 0.
func nameOf[E ~int32](value E, kind string, names ...string) string {
	if value >= 0 && int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, int32(value))
}

// The flags of pprofdelta_options.
const (
	flagNoStamp = 1 << iota
	flagForce
	flagVerify
	flagDefaultCounter
	flagNoSequence
	flagAbsentTypes
	flagMerge
	flagDisjoint
)

// options is what the options of a computer come to.
type options struct {
	pool        *Pool
	flags       uint32
	onReset     OnReset
	firstZero   bool
	counters    []string
	gauges      []string
	format      Format
	resource    []string // keys with their values behind them
	compression Compression
	level       int
	compressor  *compressor // instead of compression and level
	receiver    string      // "": none
	id          uint64      // of the series of windows of an empty computer
	targetLabel string      // of a merge; "": none
	fullStacks  bool        // of a profiler
}

// contextEqual compares what a context of the C library is made with.
func (o *options) contextEqual(other *options) bool {
	return o.flags == other.flags && o.onReset == other.onReset &&
		o.firstZero == other.firstZero && slices.Equal(o.counters, other.counters) &&
		slices.Equal(o.gauges, other.gauges) && o.format == other.format &&
		slices.Equal(o.resource, other.resource)
}

// newOptions checks all options.
func newOptions(opts []Option) (options, error) {
	o := options{flags: flagAbsentTypes}
	for _, opt := range opts {
		if opt == nil {
			return o, usage("an option is nil")
		}
		opt(&o)
	}
	if needs, known := receivers[o.receiver]; known { // the options replace what it needs
		o = options{flags: flagAbsentTypes, format: needs.format, compression: needs.compression}
		for _, opt := range opts {
			opt(&o)
		}
	} else if o.receiver != "" {
		return o, usage("WithFor: %q is not a receiver; %q are", o.receiver, slices.Sorted(maps.Keys(receivers)))
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if o.pool == nil {
		var err error
		if o.pool, err = defaultPool(); err != nil {
			return o, err
		}
	}
	return o, o.pool.open()
}

// check finds all that the library would refuse, without an instance of it.
func (o *options) check() error {
	switch {
	case o.onReset < ResetAuto || o.onReset > ResetFail:
		return usage("WithOnReset: %v is not a value of OnReset", o.onReset)
	case o.compression < Gzip || o.compression > None:
		return usage("WithCompression: %v is not a value of Compression", o.compression)
	case o.level < 0 || o.level > 9:
		return usage("WithLevel: %d is not from 0 to 9", o.level)
	case o.level != 0 && (o.compression == None || o.compressor != nil):
		return usage("WithLevel is for WithCompression(Gzip)")
	case o.compressor != nil && o.compressor.open == nil:
		return usage("WithCompressor: the function is nil")
	case o.format < Pprof || o.format > Tables:
		return usage("WithFormat: %v is not a value of Format", o.format)
	case len(o.resource) > 0 && o.format == Pprof:
		return usage("WithResource is for the formats of OTLP and for WithFormat(Tables)")
	}
	if strings.Contains(o.targetLabel, "\x00") {
		return usage("WithTargetLabel: %q has a NUL", o.targetLabel)
	}
	for i, text := range o.resource {
		if strings.Contains(text, "\x00") || text == "" && i%2 == 0 {
			return usage("WithResource: %q has a NUL, or is an empty key", text)
		}
	}
	return checkTypes(o.counters, o.gauges)
}

// checkTypes checks the names of counters and gauges.
func checkTypes(counters, gauges []string) error {
	for _, name := range slices.Concat(counters, gauges) {
		kind, unit, hasUnit := strings.Cut(name, "/")
		switch {
		case kind == "" || hasUnit && unit == "":
			return usage("WithCounters, WithGauges: %q is not \"type\" or \"type/unit\"", name)
		case strings.Contains(unit, "/"):
			return usage("WithCounters, WithGauges: %q has several slashes; name the type without the unit", name)
		case strings.Contains(name, "\x00"):
			return usage("WithCounters, WithGauges: %q has a NUL", name)
		}
	}
	for _, counter := range counters {
		for _, gauge := range gauges {
			kind, unit, _ := strings.Cut(counter, "/")
			otherKind, otherUnit, _ := strings.Cut(gauge, "/")
			if kind == otherKind && (unit == "" || otherUnit == "" || unit == otherUnit) {
				return usage("%q is in WithCounters, and %q in WithGauges", counter, gauge)
			}
		}
	}
	return nil
}

// usage is the error of an argument.
func usage(format string, args ...any) error {
	return fail(ErrUsage, StageOptions, fmt.Sprintf(format, args...))
}

// Option is an option of [New], [Compare], [Sum], [Merge] or [Check]. They check all options before anything else.
type Option func(*options)

// WithPool computes in this pool. Without it, or with nil, the default pool of the process is used (see [Pool]).
func WithPool(pool *Pool) Option { return func(o *options) { o.pool = pool } }

// KnownCounters returns the types that are counters without [WithCounters], as "type/unit": those of Go's heap, mutex
// and block profiles.
func KnownCounters() []string {
	return []string{"alloc_objects/count", "alloc_space/bytes", "contentions/count", "delay/nanoseconds"}
}

// WithCounters names more types that are counters, as "type" or "type/unit". Those of [KnownCounters] need not be named.
// A profile need not have the types, so one list serves profiles of several kinds; but
// a profile without any counter fails with [ReasonNoCounter].
func WithCounters(types ...string) Option {
	return func(o *options) { o.counters = append(o.counters, types...) }
}

// WithGauges names types that are gauges although they are known as counters, as "type" or "type/unit".
func WithGauges(types ...string) Option {
	return func(o *options) { o.gauges = append(o.gauges, types...) }
}

// WithOnReset says what to do when a counter went backwards. The default is [ResetAuto].
func WithOnReset(onReset OnReset) Option { return func(o *options) { o.onReset = onReset } }

// WithCompression sets the compression of the delta. The default is [Gzip].
func WithCompression(compression Compression) Option {
	return func(o *options) { o.compression, o.compressor = compression, nil }
}

// WithLevel sets the level of [Gzip], 1 (fastest) to 9 (smallest). 0 is the default, which is chosen for speed.
func WithLevel(level int) Option { return func(o *options) { o.level = level } }

// WithCompressor compresses the delta with another package, such as a zstd encoder:
//
//	pprofdelta.WithCompressor(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
//
// The delta is written to what open returns, which is then closed. If that has a method Reset(io.Writer), as gzip
// and zstd writers have, it is used again for later deltas of the computers that have this option: by Reset, a Write,
// and Close. open may be called by several goroutines at once. No computer and no instance waits for it.
func WithCompressor(open func(w io.Writer) (io.WriteCloser, error)) Option {
	c := &compressor{open: open}
	return func(o *options) { o.compressor = c }
}

// WithFormat sets the format of the delta. The default is [Pprof]. pprofdelta-formats(5) says what is where in a
// request of OTLP. One without samples is empty: nothing is written to a writer, and [Window.Bytes] has no bytes.
func WithFormat(format Format) Option { return func(o *options) { o.format = format } }

// WithFor writes what a receiver takes, in one word, as --for of the command: "pyroscope", "parca", "otel" or "pprof". It
// sets the format and the compression, unless [WithFormat], [WithCompression] or [WithCompressor] do, before it or behind it.
func WithFor(receiver string) Option { return func(o *options) { o.receiver = receiver } }

// WithResource adds an attribute to the resource of a request, such as service.name. It is for the formats of OTLP; in
// [Tables], "target" names the series of windows, and others are not used. A later one replaces an earlier one with the
// same key.
func WithResource(key, value string) Option {
	return func(o *options) { o.resource = append(o.resource, key, value) }
}

// WithID sets the id of the series of windows, which stamps have. Without it, or with 0, a computer has a random
// id. [Computer.Load] replaces it by that of the state. With the same id, equal profiles give equal bytes.
func WithID(id uint64) Option { return func(o *options) { o.id = id } }

// WithFastdeltaDefaults sets what a replacement of fastdelta needs: a delta that is not compressed and has no stamp,
// like those of fastdelta. Later options may change it.
func WithFastdeltaDefaults() Option {
	return func(o *options) {
		WithCompression(None)(o)
		WithoutStamp()(o)
	}
}

// WithFirstZero makes the first window of an empty computer empty, as if the profile had not changed.
// Otherwise, it is everything since the process began.
func WithFirstZero() Option { return func(o *options) { o.firstZero = true } }

// WithoutStamp leaves out the comment that marks a profile as a delta.
func WithoutStamp() Option { return func(o *options) { o.flags |= flagNoStamp } }

// WithoutSequence writes windows without a sequence and an attempt, for windows that belong to no series.
func WithoutSequence() Option { return func(o *options) { o.flags |= flagNoSequence } }

// WithForce accepts an input that would fail with [ErrStamped], [ErrNotCumulative] or [ErrOtherTarget]. In a sum, it
// also adds a profile that does not join, unless it may count twice. In a merge, each profile that names no target is
// a target of its own.
func WithForce() Option { return func(o *options) { o.flags |= flagForce } }

// WithTargetLabel makes [Merge] add a label with this key to each sample. Its value is the id of the target as 16
// hexadecimal digits.
func WithTargetLabel(key string) Option { return func(o *options) { o.targetLabel = key } }

// WithDisjoint makes [Merge] take merges of other targets, too.
func WithDisjoint() Option { return func(o *options) { o.flags |= flagDisjoint } }

// WithVerify checks the conservation law before any output.
func WithVerify() Option { return func(o *options) { o.flags |= flagVerify } }

// WithDefaultCounter replaces a default type that is a gauge by its counter.
func WithDefaultCounter() Option { return func(o *options) { o.flags |= flagDefaultCounter } }

// WithFullStacks gives the windows of a [Profiler] all frames of each stack that the runtime keeps (128, or GODEBUG's
// profstackdepth) and the full names of generic functions, as runtime/pprof writes them. Without it, a stack has its 32
// innermost frames, as package runtime exports them. With it, a window costs what runtime/pprof takes to write the profile,
// and what a [Computer] takes for it. It is for profilers.
func WithFullStacks() Option { return func(o *options) { o.fullStacks = true } }

// The defaults of a pool.
const (
	defaultMaxMemory = 1 << 30
	mostMaxMemory    = min(3<<30, math.MaxInt-1<<20)
	defaultKeep      = 64 << 20
	defaultIdle      = time.Minute
)

// poolOptions is what the options of a pool come to.
type poolOptions struct {
	instances int           // 0: GOMAXPROCS
	maxMemory int64         // bytes that a call may take
	keep      int64         // an instance that is larger is not kept
	idle      time.Duration // an instance that is not used for so long is not kept
	// before is called first in each call of an instance (tests).
	before func(name string, i *instance)
	// moves is called when an allocation of an instance, or a buffer for its output, is about to be moved to a larger
	// one (tests).
	moves func(from, to int64)
}

// PoolOption is an option of [NewPool].
type PoolOption func(*poolOptions)

// WithInstances sets how many instances there are at most: how many windows are computed at once.
// The default is GOMAXPROCS.
func WithInstances(n int) PoolOption { return func(o *poolOptions) { o.instances = n } }

// WithMaxMemory sets how many bytes of memory one call may use: what its instance uses beyond a new one
// (the input, what is inflated of it, the arrays of the library and what moving them leaves unused), the
// delta, and the input that WindowFrom and Load have read. Not included are a new instance (0.25 MiB), the input
// and the writer of the caller, the states that computers hold between calls, and the compressed delta. A call that
// needs more fails with [ErrLimit]. An inflated heap profile of n bytes takes 10 to 13 n. The default is 1 GiB, the
// most 3 GiB.
//
// Go's heap has more than that, but at most twice as much at once. The memory of an instance is reserved from the
// length of the profile, and then grows by half: it is copied to a larger one, and both are held until then. The
// smaller one is then garbage; set GOMEMLIMIT to have it collected soon.
func WithMaxMemory(bytes int64) PoolOption { return func(o *poolOptions) { o.maxMemory = bytes } }

// WithKeptMemory sets how large an instance may be that is kept for the next window. The memory of an
// instance grows with the largest profile that it has seen and never shrinks, so a larger instance is
// dropped after its window. The default is 64 MiB.
func WithKeptMemory(bytes int64) PoolOption { return func(o *poolOptions) { o.keep = bytes } }

// WithIdle sets after which time an instance that is not used is dropped. The default is a minute.
func WithIdle(d time.Duration) PoolOption { return func(o *poolOptions) { o.idle = d } }
