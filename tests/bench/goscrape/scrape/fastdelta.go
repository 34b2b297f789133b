package main

import (
	"io"
	"unsafe"

	// This import links fastdelta, which is internal to the profiler, into this program.
	_ "github.com/DataDog/dd-trace-go/v2/profiler"
)

// fastdeltaType has the layout of fastdelta's value type.
type fastdeltaType struct{ Type, Unit string }

// fastdeltaComputer is used through a pointer only.
type fastdeltaComputer struct{ _ [0]byte }

//go:linkname newFastdelta github.com/DataDog/dd-trace-go/v2/profiler/internal/fastdelta.NewDeltaComputer
func newFastdelta(fields ...fastdeltaType) *fastdeltaComputer

//go:linkname fastdeltaDelta github.com/DataDog/dd-trace-go/v2/profiler/internal/fastdelta.(*DeltaComputer).Delta
func fastdeltaDelta(computer *fastdeltaComputer, profile []byte, out io.Writer) error

func (c *fastdeltaComputer) Delta(profile []byte, w io.Writer) error {
	return fastdeltaDelta(c, profile, w)
}

var _ unsafe.Pointer // go:linkname needs the import
