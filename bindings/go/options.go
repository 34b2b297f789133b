package pprofdelta

import (
	"math"
	"slices"
	"time"
)

// Compression is the compression of a delta.
type Compression int32

// The compressions. The values are those of pprofdelta_compression.
const (
	Gzip Compression = iota // the default
	Zstd
	None
)

// Format is the format of a delta.
type Format int32

// The formats. The values are those of pprofdelta_format.
const (
	Pprof Format = iota // the default
	OTLP                // one ExportProfilesServiceRequest of OpenTelemetry (opentelemetry-proto 1.10)
)

// OnReset says what to do when a counter went backwards or the target restarted.
type OnReset int32

// What to do on a reset. The values are those of pprofdelta_on_reset.
const (
	ResetAuto     OnReset = iota // a restart counts from zero, a lone decrease is clamped
	ResetRestart                 // every decrease is a restart
	ResetClamp                   // no decrease is a restart
	ResetNegative                // negative values are written; the window follows a base
	ResetFail                    // the window fails with ErrReset
)

// The flags of pprofdelta_options.
const (
	flagNoStamp        = 1 << 0
	flagForce          = 1 << 1
	flagVerify         = 1 << 2
	flagDefaultCounter = 1 << 3
	flagNoSequence     = 1 << 4
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
	id          uint64 // of the series of windows of an empty computer
}

// contextEqual compares what a context of the C library is made with.
func (o *options) contextEqual(other *options) bool {
	return o.flags == other.flags && o.onReset == other.onReset &&
		o.firstZero == other.firstZero && slices.Equal(o.counters, other.counters) &&
		slices.Equal(o.gauges, other.gauges) && o.format == other.format &&
		slices.Equal(o.resource, other.resource)
}

// Option is an option of [New], [Compare], [Sum] or [Check].
type Option func(*options)

// WithPool computes in this pool. Without it, the default pool of the process is used (see [Pool]).
func WithPool(pool *Pool) Option { return func(o *options) { o.pool = pool } }

// WithCounters names more types that are counters, as "type" or "type/unit".
func WithCounters(types ...string) Option {
	return func(o *options) { o.counters = append(o.counters, types...) }
}

// WithGauges names types that are gauges whatever their name says, as "type" or "type/unit".
func WithGauges(types ...string) Option {
	return func(o *options) { o.gauges = append(o.gauges, types...) }
}

// WithOnReset says what to do when a counter went backwards. The default is [ResetAuto].
func WithOnReset(onReset OnReset) Option { return func(o *options) { o.onReset = onReset } }

// WithCompression sets the compression of the delta. The default is [Gzip].
func WithCompression(compression Compression) Option {
	return func(o *options) { o.compression = compression }
}

// WithLevel sets the level of the compression, 1 (fastest) to 9 (smallest). 0 is the default, which
// is chosen for speed.
func WithLevel(level int) Option { return func(o *options) { o.level = level } }

// WithFormat sets the format of the delta. The default is [Pprof]. pprofdelta-formats(5) says what is where in a
// request of [OTLP].
func WithFormat(format Format) Option { return func(o *options) { o.format = format } }

// WithResource adds an attribute to the resource of a request, such as service.name. It is for [OTLP]. A
// later one replaces an earlier one with the same key.
func WithResource(key, value string) Option {
	return func(o *options) { o.resource = append(o.resource, key, value) }
}

// FirstZero makes the first window of an empty computer empty, as if the profile had not changed.
// Otherwise, it is everything since the process began.
func FirstZero() Option { return func(o *options) { o.firstZero = true } }

// NoStamp leaves out the comment that marks a profile as a delta.
func NoStamp() Option { return func(o *options) { o.flags |= flagNoStamp } }

// Force accepts an input that would fail with [ErrStamped], [ErrNotCumulative] or [ErrOtherTarget]. In a sum, it also
// adds a profile that does not join.
func Force() Option { return func(o *options) { o.flags |= flagForce } }

// Verify checks the conservation law before any output.
func Verify() Option { return func(o *options) { o.flags |= flagVerify } }

// DefaultCounter replaces a default type that is a gauge by its counter.
func DefaultCounter() Option { return func(o *options) { o.flags |= flagDefaultCounter } }

// NoSequence writes windows without a sequence and an attempt, for windows that belong to no series.
func NoSequence() Option { return func(o *options) { o.flags |= flagNoSequence } }

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
	before func(name string, i *moduleInstance)
}

// PoolOption is an option of [NewPool].
type PoolOption func(*poolOptions)

// WithInstances sets how many instances there are at most: how many windows are computed at once.
// The default is GOMAXPROCS.
func WithInstances(n int) PoolOption { return func(o *poolOptions) { o.instances = n } }

// WithMaxMemory sets how many bytes of memory one call may take: the memory that its instance grows by
// (with the input, what is inflated of it, the arrays of the library and what moving them leaves unused), the
// delta, and the input that WindowFrom and Load have read. Not included are a new instance (0.25 MiB), the input
// and the writer of the caller, the states that computers hold between calls, the compressed delta, and what
// the garbage collector has not freed yet. A call that takes more fails with [ErrLimit]. An inflated heap
// profile of n bytes takes 10 to 13 n. The default is 1 GiB, the most 3 GiB.
func WithMaxMemory(bytes int64) PoolOption { return func(o *poolOptions) { o.maxMemory = bytes } }

// WithKeptMemory sets how large an instance may be that is kept for the next window. The memory of an
// instance grows with the largest profile that it has seen and never shrinks, so a larger instance is
// dropped after its window. The default is 64 MiB.
func WithKeptMemory(bytes int64) PoolOption { return func(o *poolOptions) { o.keep = bytes } }

// WithIdle sets after which time an instance that is not used is dropped. The default is a minute.
func WithIdle(d time.Duration) PoolOption { return func(o *poolOptions) { o.idle = d } }
