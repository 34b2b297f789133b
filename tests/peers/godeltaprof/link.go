package main

import (
	"io"
	"runtime"
	"unsafe"

	// Importing it brings its internal package, where the work is done, into this program.
	_ "github.com/grafana/pyroscope-go/godeltaprof"
	"github.com/klauspost/compress/gzip"
)

// memProfileRecord, builderOptions and the others have the layout of godeltaprof's own.
type memProfileRecord struct {
	AllocBytes, FreeBytes     int64
	AllocObjects, FreeObjects int64
	Stack                     []uintptr
}

type memMap struct {
	start, end    uintptr
	offset        uint64
	file, buildID string
	funcs         uint8
	fake          bool
}

type builderOptions struct {
	GenericsFrames, LazyMapping bool
	mem                         []memMap
}

type valueType struct{ Typ, Unit string }

type profileConfig struct {
	PeriodType        valueType
	Period            int64
	SampleType        []valueType
	DefaultSampleType string
}

type profileBuilder interface {
	LocsForStack(stk []uintptr) (newLocs []uint64)
	Sample(values []int64, locs []uint64, blockSize int64)
	Build()
}

// heapProfiler has room for godeltaprof's DeltaHeapProfiler: a map and two slices.
type heapProfiler struct {
	hash    unsafe.Pointer
	free    []uintptr
	freeStk []uintptr
}

//go:linkname heapProfileConfig github.com/grafana/pyroscope-go/godeltaprof/internal/pprof.HeapProfileConfig
func heapProfileConfig(rate int64) profileConfig

//go:linkname newProfileBuilder github.com/grafana/pyroscope-go/godeltaprof/internal/pprof.NewProfileBuilder
func newProfileBuilder(w io.Writer, zw *gzip.Writer, opt *builderOptions, stc profileConfig) profileBuilder

//go:linkname writeHeapProto github.com/grafana/pyroscope-go/godeltaprof/internal/pprof.(*DeltaHeapProfiler).WriteHeapProto
func writeHeapProto(d *heapProfiler, b profileBuilder, p []memProfileRecord, rate int64) error

//go:linkname frameStartLine runtime/pprof.runtime_FrameStartLine
func frameStartLine(f *runtime.Frame) int
