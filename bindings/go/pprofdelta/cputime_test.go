//go:build unix

package pprofdelta

import (
	"syscall"
	"time"
)

func init() {
	cpuTime = func() time.Duration { // of this process, by its programs and the system
		var usage syscall.Rusage
		must(0, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
}
