package pprofdeltaprocessor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
	"go.opentelemetry.io/collector/component"
)

// Config is the configuration of the processor. The README has a line for each setting.
type Config struct {
	// Counters are more types that are cumulative, and Gauges are types that are not, whatever their name
	// says. Each is "type" or "type/unit".
	Counters []string `mapstructure:"counters"`
	Gauges   []string `mapstructure:"gauges"`
	// Deltas names resources whose profiles are deltas already. A resource is meant that has all
	// attributes of one of these, with these values; "*" is any value.
	Deltas []map[string]string `mapstructure:"deltas"`
	// Format is the dialect of the deltas: "otlp", "otlp-parca" or "otlp-plain".
	Format string `mapstructure:"format"`
	// First is the first window of a target: "full" (everything since its process began) or "zero".
	First string `mapstructure:"first"`
	// Storage is the extension that keeps what the processor remembers over a restart of the Collector.
	Storage *component.ID `mapstructure:"storage"`

	MaxTargets  int           `mapstructure:"max_targets"`
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	MaxMemory   int64         `mapstructure:"max_memory"` // in MiB

	_ struct{}
}

const (
	firstFull   = "full"
	firstZero   = "zero"
	mostTargets = 1_000_000
	minMemory   = 64
	mostMemory  = 1 << 24
)

func createDefaultConfig() component.Config {
	return &Config{Format: pprofdelta.OTLP.String(), First: firstFull, MaxTargets: 10000, IdleTimeout: 24 * time.Hour, MaxMemory: 1024}
}

// Validate returns all that is wrong.
func (c *Config) Validate() error {
	var wrong []error
	fail := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	if _, err := pprofdelta.New(pprofdelta.WithCounters(c.Counters...), pprofdelta.WithGauges(c.Gauges...)); err != nil {
		fail(true, "counters and gauges: %w", err)
	}
	for at, attributes := range c.Deltas {
		fail(len(attributes) == 0, "deltas[%d]: it has no attribute, so it would be every resource", at)
	}
	fail(c.format() == pprofdelta.Pprof, "format: %q is none of %q", c.Format, formats)
	fail(c.First != firstFull && c.First != firstZero, "first: %q is neither %q nor %q", c.First, firstFull, firstZero)
	fail(c.MaxTargets < 1 || c.MaxTargets > mostTargets, "max_targets: %d is not from 1 to %d", c.MaxTargets, mostTargets)
	fail(c.IdleTimeout < time.Second, "idle_timeout: %v%s", c.IdleTimeout, meant(c.IdleTimeout))
	fail(c.MaxMemory < minMemory || c.MaxMemory > mostMemory, "max_memory: %d MiB is not from %d to %d", c.MaxMemory, minMemory, mostMemory)
	return errors.Join(wrong...)
}

// meant says what is wrong with a duration of less than a second. A number without a unit is one of nanoseconds.
func meant(wrong time.Duration) string {
	if 0 < wrong && wrong < time.Millisecond {
		return fmt.Sprintf(": did you mean %v?", wrong*time.Second)
	}
	return " is shorter than a second"
}

// counter returns the name of a type for the library, if it is a counter. Otherwise it returns "". The name
// is the same whichever setting names the type, so a state can be used with another configuration.
func (c *Config) counter(kind, unit string) string {
	is := func(list []string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return one == kind || one == kind+"/"+unit })
	}
	switch {
	case is(c.Gauges) || !is(c.Counters) && !is(pprofdelta.KnownCounters()):
		return ""
	case unit == "" || strings.Contains(unit, "/"):
		return kind
	}
	return kind + "/" + unit
}

var formats = []pprofdelta.Format{pprofdelta.OTLP, pprofdelta.OTLPParca, pprofdelta.OTLPPlain}

// format returns what the setting names, or Pprof if it names nothing.
func (c *Config) format() pprofdelta.Format {
	if at := slices.IndexFunc(formats, func(one pprofdelta.Format) bool { return one.String() == c.Format }); at >= 0 {
		return formats[at]
	}
	return pprofdelta.Pprof
}

// options are those of a target whose profiles have this type, and this name if it is not "".
func (c *Config) options(pool *pprofdelta.Pool, counter, name string, isZero bool) []pprofdelta.Option {
	options := []pprofdelta.Option{
		pprofdelta.WithPool(pool), pprofdelta.WithCounters(counter), pprofdelta.WithFormat(c.format()),
		pprofdelta.WithCompression(pprofdelta.None),
	}
	if name != "" {
		options = append(options, pprofdelta.WithResource(nameAttribute, name))
	}
	if isZero || c.First == firstZero {
		options = append(options, pprofdelta.WithFirstZero())
	}
	return options
}
