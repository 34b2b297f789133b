package pprofdeltaprocessor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	pprofdelta "github.com/pprofdelta/pprofdelta/bindings/go"
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
	firstFull = "full"
	firstZero = "zero"
	minMemory = 64
)

func createDefaultConfig() component.Config {
	return &Config{First: firstFull, MaxTargets: 10000, IdleTimeout: 24 * time.Hour, MaxMemory: 1024}
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
	fail(c.First != firstFull && c.First != firstZero, "first: %q is neither %q nor %q", c.First, firstFull, firstZero)
	fail(c.MaxTargets < 1, "max_targets: %d is less than 1", c.MaxTargets)
	fail(c.IdleTimeout <= 0, "idle_timeout: %v is not longer than 0", c.IdleTimeout)
	fail(c.MaxMemory < minMemory || c.MaxMemory > 1<<30, "max_memory: %d MiB is less than %d, or too much", c.MaxMemory, minMemory)
	return errors.Join(wrong...)
}

// counters are the types that count from the start of the process, wherever they come from.
var counters = []string{"alloc_objects/count", "alloc_space/bytes", "contentions/count", "delay/nanoseconds"}

// counter returns the name by which this type is a counter, or "".
func (c *Config) counter(kind, unit string) string {
	is := func(list []string) string {
		for _, one := range list {
			if name, wanted, hasUnit := strings.Cut(one, "/"); name == kind && (!hasUnit || wanted == unit) {
				return one
			}
		}
		return ""
	}
	if is(c.Gauges) != "" {
		return ""
	}
	if one := is(c.Counters); one != "" {
		return one
	}
	return is(counters)
}

// options are those of a target whose profiles have this type.
func (c *Config) options(pool *pprofdelta.Pool, counter string, isZero bool) []pprofdelta.Option {
	options := []pprofdelta.Option{
		pprofdelta.WithPool(pool), pprofdelta.WithCounters(counter), pprofdelta.WithFormat(pprofdelta.OTLP),
		pprofdelta.WithCompression(pprofdelta.None),
	}
	if isZero || c.First == firstZero {
		options = append(options, pprofdelta.WithFirstZero())
	}
	return options
}
