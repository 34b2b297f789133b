// Fastdelta runs Datadog's delta computer as it is in their profiler.
//
//	fastdelta PREV CUR OUT         what a one-shot user would do: gzip or plain in, gzip out
//	fastdelta -rounds N PREV CUR   prints "WALL CPU" of N windows, plain to plain, in memory
//
// In the second form one computer lives through all rounds. Between two of them it is shown prev
// again, outside the clock, so that every window is the real one from prev to cur.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"

	"pprofdelta/tests/peers/files"
)

var counters = map[string][]valueType{
	"heap":       {{"alloc_objects", "count"}, {"alloc_space", "bytes"}},
	"contention": {{"contentions", "count"}, {"delay", "nanoseconds"}},
}

func main() {
	rounds := flag.Int("rounds", 0, "time so many windows in memory")
	kind := flag.String("kind", "heap", "heap or contention: which counters there are")
	flag.Parse()
	files.Main(func() error {
		if flag.NArg() != 3 && !(*rounds > 0 && flag.NArg() == 2) || counters[*kind] == nil {
			fmt.Fprintln(os.Stderr, "usage: fastdelta [-kind heap|contention] [-rounds N] PREV CUR [OUT]")
			os.Exit(2)
		}
		prev, err := files.Read(flag.Arg(0))
		if err != nil {
			return err
		}
		cur, err := files.Read(flag.Arg(1))
		if err != nil {
			return err
		}
		computer := newDeltaComputer(counters[*kind]...)
		if *rounds > 0 {
			return timed(computer, *rounds, prev, cur)
		}
		if err := computeDelta(computer, prev, io.Discard); err != nil {
			return err
		}
		return files.WriteGzip(flag.Arg(2), func(w io.Writer) error {
			return computeDelta(computer, cur, w)
		})
	})
}

func timed(computer *deltaComputer, rounds int, prev, cur []byte) error {
	var out bytes.Buffer
	look := func(profile []byte) func() error {
		return func() error {
			out.Reset()
			return computeDelta(computer, profile, &out)
		}
	}
	return files.Time(rounds, look(prev), look(cur))
}
