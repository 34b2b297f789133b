// Godeltaprof runs Grafana's delta profiler as it is, on records that are made up.
//
//	godeltaprof -sites FILE                       writes the program counters that records are made of
//	godeltaprof [-rate R] SHAPE... WINDOWS [OUT]  prints the nanoseconds of each window on a line
//
// SHAPE is RECORDS DEPTH CHANGED LIVE: how many records of which depth, how many of them change from
// window to window, and of how many in a thousand something is in use. tests/bench/records.c makes
// the very same records. OUT gets the last window.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"pprofdelta/tests/peers/files"
)

const mostSites = 4096

// sites returns program counters of this very program, each with exactly one frame that is not
// inlined and not the runtime's. Godeltaprof knows a function by its name and takes it to be
// in one file, so of a function that is made of several (the initialisation of variables is) only what
// is in the first is taken.
func sites() []uintptr {
	var found []uintptr
	fileOf := make(map[string]string)
	pc := reflect.ValueOf(sites).Pointer()
	for runtime.FuncForPC(pc) != nil { // down to where the text begins, or nearly
		pc -= 4096
	}
	for pc += 4096 + 1; len(found) < mostSites && runtime.FuncForPC(pc) != nil; pc += 48 {
		frames := framesOf(pc)
		if len(frames) != 1 || !usable(frames[0]) {
			continue
		}
		if file, known := fileOf[frames[0].Function]; known && file != frames[0].File {
			continue
		}
		fileOf[frames[0].Function] = frames[0].File
		found = append(found, pc)
	}
	return found
}

func framesOf(pc uintptr) []runtime.Frame {
	var all []runtime.Frame
	frames := runtime.CallersFrames([]uintptr{pc})
	for {
		frame, more := frames.Next()
		all = append(all, frame)
		if !more {
			return all
		}
	}
}

func usable(f runtime.Frame) bool {
	return f.Func != nil && f.PC != 0 && f.Line > 0 && f.File != "" && !strings.Contains(f.Function, "[") &&
		!strings.HasPrefix(f.Function, "runtime.")
}

func writeSites(path string) error {
	var out bytes.Buffer
	for _, pc := range sites() {
		f := framesOf(pc)[0]
		fmt.Fprintf(&out, "%x\t%s\t%s\t%d\t%d\n", pc, f.Function, f.File, f.Line, frameStartLine(&f))
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// random is splitmix64, as in tests/support/rng.h.
type random struct{ state uint64 }

func (r *random) below(n int) int {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

type shape struct{ records, depth, changed, live int }

func allocate(r *memProfileRecord, objects, size int64) {
	r.AllocObjects += objects
	r.AllocBytes += objects * size
}

func sizeOf(i int) int64 { return 16 << (i % 8) }

func make_(s shape, rnd *random) []memProfileRecord {
	pcs := sites()
	records := make([]memProfileRecord, s.records)
	for i := range records {
		records[i].Stack = make([]uintptr, s.depth)
		for j := range records[i].Stack {
			records[i].Stack[j] = pcs[rnd.below(len(pcs))]
		}
		allocate(&records[i], int64(1+rnd.below(40)), sizeOf(i))
		records[i].FreeObjects, records[i].FreeBytes = records[i].AllocObjects, records[i].AllocBytes
		if rnd.below(1000) < s.live {
			records[i].FreeObjects--
			records[i].FreeBytes -= sizeOf(i)
		}
	}
	return records
}

func change(s shape, rnd *random, records []memProfileRecord) {
	for n := 0; n < s.changed; n++ {
		i := rnd.below(len(records))
		objects := int64(1 + rnd.below(40))
		allocate(&records[i], objects, sizeOf(i))
		records[i].FreeObjects += objects
		records[i].FreeBytes += objects * sizeOf(i)
	}
}

func measure(s shape, windows int, rate int64, out string) error {
	rnd := &random{state: 1}
	records := make_(s, rnd)
	options := &builderOptions{LazyMapping: true}
	compressor, err := gzip.NewWriterLevel(nil, gzip.BestSpeed) // as godeltaprof has it
	if err != nil {
		return err
	}
	var profiler heapProfiler
	var buffer bytes.Buffer
	for w := 0; w < windows; w++ {
		buffer.Reset()
		start := time.Now()
		compressor.Reset(&buffer)
		builder := newProfileBuilder(&buffer, compressor, options, heapProfileConfig(rate))
		if err := writeHeapProto(&profiler, builder, records, rate); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Nanoseconds())
		if w+1 < windows {
			change(s, rnd, records)
		}
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, buffer.Bytes(), 0o644)
}

func run(args []string, rate int64) error {
	if len(args) != 5 && len(args) != 6 {
		return errors.New("usage: godeltaprof [-rate R] RECORDS DEPTH CHANGED LIVE WINDOWS [OUT]")
	}
	var numbers [5]int
	for i := range numbers {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	s := shape{numbers[0], numbers[1], numbers[2], numbers[3]}
	out := ""
	if len(args) == 6 {
		out = args[5]
	}
	return measure(s, numbers[4], rate, out)
}

func main() {
	path := flag.String("sites", "", "write the program counters to this file")
	rate := flag.Int64("rate", 524288, "mean bytes between two samples")
	flag.Parse()
	files.Main(func() error {
		if *path != "" {
			return writeSites(*path)
		}
		return run(flag.Args(), *rate)
	})
}
