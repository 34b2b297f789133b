//go:build (linux || darwin) && (amd64 || arm64)

package pprofdelta

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// mapped is a range of addresses for the largest memory, of which a part at its begin is usable. What was never
// written takes no memory.
type mapped struct {
	all    []byte
	usable uint64
}

// reserve returns memory from the system and not from Go's heap. The garbage collector may let the heap grow to
// twice what is in use, and an instance is most of what is in use if there are few targets. Besides, such memory
// grows where it is, and is given back when the instance is closed.
func reserve(most uint64) experimental.LinearMemory {
	all, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil { // addresses are limited, too (ulimit -v)
		return new(ordinary)
	}
	return &mapped{all: all}
}

func (m *mapped) Reallocate(size uint64) []byte {
	if size > m.usable {
		if syscall.Mprotect(m.all[m.usable:size], syscall.PROT_READ|syscall.PROT_WRITE) != nil {
			return nil
		}
		m.usable = size
	}
	return m.all[:size:size]
}

func (m *mapped) Free() {
	_ = syscall.Munmap(m.all) // of a range that Mmap returned
	m.all, m.usable = nil, 0
}
