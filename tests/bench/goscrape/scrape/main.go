// Scrape computes the delta of each of many targets in every round, as a program that scrapes them does.
//
//	scrape [-targets N] [-rounds N] [-samples N] [-every DURATION] [-with NAME] [-verify]
//
// In each round all targets have the next version of one profile (profiles.go). -with pprofdelta or fastdelta
// computes the deltas; none computes nothing, which shows what the rest costs. Profiles and deltas are not
// compressed. After the last round it prints a report in JSON and waits until its standard input ends, so that
// its memory can be looked at. With -verify, every delta is compared with the one of google/pprof's Merge.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A computer computes the deltas of one target.
type computer interface {
	Delta(profile []byte, w io.Writer) error
}

// none takes the place of a computer.
type none struct{}

func (none) Delta([]byte, io.Writer) error { return nil }

type report struct {
	With         string  `json:"with"`
	Targets      int     `json:"targets"`
	Rounds       int     `json:"rounds"`
	LateRounds   int     `json:"late_rounds"` // a round that began later than planned
	BytesIn      int64   `json:"bytes_in"`
	BytesOut     int64   `json:"bytes_out"`
	Verified     int     `json:"verified"`
	FirstDelta   float64 `json:"first_delta_ms"` // from the first profile to the end of the first delta
	CPU          float64 `json:"cpu_seconds"`    // of all rounds
	HeapLive     uint64  `json:"heap_live"`      // bytes after the last round that the garbage collector keeps
	FirstRoundIn float64 `json:"first_round_cpu_seconds"`
}

type target struct {
	computer computer
	prev     []byte // only to verify
}

// a scraper has what the workers share.
type scraper struct {
	verify  bool
	started time.Time
	mutex   sync.Mutex
	report  report
}

// A worker reuses its buffers.
type worker struct {
	*scraper
	out bytes.Buffer
}

func (w *worker) scrape(t *target, profile []byte) error {
	w.out.Reset()
	if err := t.computer.Delta(profile, &w.out); err != nil {
		return err
	}
	took := time.Since(w.started)
	if w.verify {
		if err := verify(t.prev, profile, w.out.Bytes()); err != nil {
			return err
		}
		t.prev = profile
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.report.BytesIn == 0 {
		w.report.FirstDelta = float64(took.Microseconds()) / 1000
	}
	w.report.BytesIn += int64(len(profile))
	w.report.BytesOut += int64(w.out.Len())
	if w.verify {
		w.report.Verified++
	}
	return nil
}

// round scrapes every target once. It returns the first error.
func round(workers []*worker, targets []*target, profile []byte) error {
	todo := make(chan *target)
	failed := make([]error, len(workers))
	var running sync.WaitGroup
	for i, w := range workers {
		running.Go(func() {
			for t := range todo {
				if err := w.scrape(t, profile); err != nil && failed[i] == nil {
					failed[i] = err
				}
			}
		})
	}
	for _, t := range targets {
		todo <- t
	}
	close(todo)
	running.Wait()
	return errors.Join(failed...)
}

func (s *scraper) run(workers []*worker, targets []*target, profiles [][]byte, every time.Duration) error {
	cpu := processorTime()
	next := time.Now()
	for i, profile := range profiles {
		if late := time.Since(next); late > every/10 && i > 0 {
			s.report.LateRounds++
			next = time.Now()
		}
		time.Sleep(time.Until(next))
		next = next.Add(every)
		if err := round(workers, targets, profile); err != nil {
			return err
		}
		if i == 0 {
			s.report.FirstRoundIn = (processorTime() - cpu).Seconds()
		}
	}
	s.report.CPU = (processorTime() - cpu).Seconds()
	return nil
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(syscall.TimevalToNsec(usage.Utime) + syscall.TimevalToNsec(usage.Stime))
}

// computers returns a function that makes the computer of one target.
func computers(name string) (func() (computer, error), error) {
	switch name {
	case "none":
		return func() (computer, error) { return none{}, nil }, nil
	case "fastdelta":
		return func() (computer, error) {
			return newFastdelta(fastdeltaType{"alloc_objects", "count"}, fastdeltaType{"alloc_space", "bytes"}), nil
		}, nil
	case "pprofdelta":
		return ours()
	}
	return nil, fmt.Errorf("-with %s: not one of none, fastdelta and pprofdelta", name)
}

func main() {
	s := &scraper{}
	flag.IntVar(&s.report.Targets, "targets", 200, "how many targets there are")
	flag.IntVar(&s.report.Rounds, "rounds", 60, "how often each is scraped")
	samples := flag.Int("samples", 2000, "samples of the first profile")
	every := flag.Duration("every", time.Second, "the time from round to round")
	flag.StringVar(&s.report.With, "with", "pprofdelta", "what computes the deltas: none, fastdelta or pprofdelta")
	flag.BoolVar(&s.verify, "verify", false, "compare every delta with google/pprof's")
	isSpeed := flag.Bool("speed", false, "print what a window of plain profiles costs, beside fastdelta; other flags have no effect")
	ownKind := flag.String("own", "", "print what a window of the own process costs, beside godeltaprof: all, or a row such as \""+ownRows[0]+"\"")
	flag.Parse()
	log.SetFlags(0)
	if *isSpeed || *ownKind != "" {
		measure := func() error { return ownRow(*ownKind) }
		if *isSpeed {
			measure = speed
		} else if *ownKind == "all" {
			measure = own
		}
		if err := measure(); err != nil {
			log.Fatal(err)
		}
		return
	}

	profiles, err := versions(s.report.Rounds, *samples)
	if err != nil {
		log.Fatal(err)
	}
	s.started = time.Now()
	newComputer, err := computers(s.report.With)
	if err != nil {
		log.Fatal(err)
	}
	var targets []*target
	for range s.report.Targets {
		c, err := newComputer()
		if err != nil {
			log.Fatal(err)
		}
		targets = append(targets, &target{computer: c})
	}
	var workers []*worker
	for range runtime.GOMAXPROCS(0) {
		workers = append(workers, &worker{scraper: s})
	}
	if err := s.run(workers, targets, profiles, *every); err != nil {
		log.Fatal(err)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	s.report.HeapLive = memory.HeapAlloc
	json.NewEncoder(os.Stdout).Encode(s.report)
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(targets)
	runtime.KeepAlive(profiles)
}
