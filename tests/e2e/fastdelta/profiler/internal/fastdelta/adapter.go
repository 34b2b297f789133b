// Package fastdelta gives pprofdelta.Computer the names of Datadog's fastdelta, for fastdelta's own tests.
package fastdelta

import (
	"io"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"

	"github.com/DataDog/dd-trace-go/v2/profiler/internal/pprofutils"
)

// DeltaComputer computes the deltas of one target.
type DeltaComputer struct {
	computer *pprofdelta.Computer
	err      error
}

// NewDeltaComputer makes a computer that subtracts these value types. As fastdelta, it writes profiles that
// are not compressed and have no comment of its own.
func NewDeltaComputer(fields ...pprofutils.ValueType) *DeltaComputer {
	var counters []string
	for _, f := range fields {
		counters = append(counters, f.Type+"/"+f.Unit)
	}
	c, err := pprofdelta.New(pprofdelta.WithFastdeltaDefaults(), pprofdelta.WithCounters(counters...))
	return &DeltaComputer{c, err}
}

// Delta writes the delta between the last profile and this one.
func (dc *DeltaComputer) Delta(p []byte, out io.Writer) error {
	if dc.err != nil {
		return dc.err
	}
	return dc.computer.Delta(p, out)
}
