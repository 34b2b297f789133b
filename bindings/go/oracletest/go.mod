// The tests of the Go module that need other modules, so that the module itself requires none.
module github.com/pprofdelta/pprofdelta/bindings/go/oracletest

go 1.25.0

require (
	github.com/google/pprof v0.0.0-20250607225305-033d6d78b36a
	github.com/klauspost/compress v1.18.7
	github.com/pprofdelta/pprofdelta/bindings/go v0.1.0
)

replace github.com/pprofdelta/pprofdelta/bindings/go => ..
