module github.com/pprofdelta/pprofdelta/bindings/go

go 1.25.0

require (
	github.com/google/pprof v0.0.0-20250607225305-033d6d78b36a
	github.com/klauspost/compress v1.18.7
)
