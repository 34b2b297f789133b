package main

import (
	"io"
	"unsafe"

	// Importing the profiler brings fastdelta, which is internal to it, into this program.
	_ "github.com/DataDog/dd-trace-go/v2/profiler"
)

// valueType has the layout of fastdelta's own.
type valueType struct{ Type, Unit string }

// deltaComputer is only ever seen through a pointer.
type deltaComputer struct{ _ [0]byte }

//go:linkname newDeltaComputer github.com/DataDog/dd-trace-go/v2/profiler/internal/fastdelta.NewDeltaComputer
func newDeltaComputer(fields ...valueType) *deltaComputer

//go:linkname computeDelta github.com/DataDog/dd-trace-go/v2/profiler/internal/fastdelta.(*DeltaComputer).Delta
func computeDelta(computer *deltaComputer, profile []byte, out io.Writer) error

var _ unsafe.Pointer // go:linkname asks for the import
