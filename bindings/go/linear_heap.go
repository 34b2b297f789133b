//go:build !((linux || darwin) && (amd64 || arm64))

package pprofdelta

import "github.com/tetratelabs/wazero/experimental"

// reserve leaves the memory of instances in Go's heap: see linear_mmap.go.
func reserve(uint64) experimental.LinearMemory { return new(ordinary) }
