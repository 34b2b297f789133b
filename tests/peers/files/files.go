// Package files is what the peers' programs share: reading a profile, and timing rounds.
package files

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Read returns the profile's bytes without compression.
func Read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(reader)
}

// WriteGzip writes what fill writes, compressed as Go does by default.
func WriteGzip(path string, fill func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	compressed := gzip.NewWriter(file)
	if err := fill(compressed); err != nil {
		file.Close()
		return err
	}
	if err := compressed.Close(); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// Time runs rounds of prepare and work, and prints "WALL CPU" of each work on a line: nanoseconds, and
// nanoseconds of processor time of all threads.
func Time(rounds int, prepare, work func() error) error {
	for i := 0; i < rounds; i++ {
		if err := prepare(); err != nil {
			return err
		}
		cpu, start := processorTime(), time.Now()
		if err := work(); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Nanoseconds(), processorTime()-cpu)
	}
	return nil
}

func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return syscall.TimevalToNsec(usage.Utime) + syscall.TimevalToNsec(usage.Stime)
}

// Main ends the program with what run says.
func Main(run func() error) {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
