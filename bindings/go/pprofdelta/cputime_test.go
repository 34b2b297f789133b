//go:build unix

package pprofdelta

import (
	"syscall"
	"testing"
	"time"
)

func init() { cpuTime = userAndSystem }

// userAndSystem returns the processor time of this process.
func userAndSystem(b testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
