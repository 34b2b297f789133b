// Merge is the delta of a careful user of google/pprof's profile package: the counters of the
// earlier profile are negated, its gauges taken out, and the two merged.
//
//	merge [-c TYPE,TYPE...] PREV CUR OUT         gzip or plain in, gzip out; -c names more counters
//	merge -rounds N PREV CUR   prints "WALL CPU" of N windows, plain to plain, in memory
//
// The user of the second form keeps the last profile parsed, so a round parses one profile only.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/pprof/profile"

	"pprofdelta/tests/peers/files"
)

// What only grows.
var counters = map[string]bool{
	"alloc_objects": true, "alloc_space": true, "contentions": true, "delay": true,
}

// ratios are -1 for counters and 0 for the rest.
func ratios(types []*profile.ValueType) []float64 {
	all := make([]float64, len(types))
	for i, t := range types {
		if counters[t.Type] {
			all[i] = -1
		}
	}
	return all
}

// delta uses prev up.
func delta(prev *profile.Profile, curBytes []byte) (*profile.Profile, error) {
	cur, err := profile.ParseData(curBytes)
	if err != nil {
		return nil, err
	}
	if err := prev.ScaleN(ratios(prev.SampleType)); err != nil {
		return nil, err
	}
	return profile.Merge([]*profile.Profile{prev, cur})
}

func once(prevBytes, curBytes []byte, out string) error {
	prev, err := profile.ParseData(prevBytes)
	if err != nil {
		return err
	}
	difference, err := delta(prev, curBytes)
	if err != nil {
		return err
	}
	return files.WriteGzip(out, func(w io.Writer) error { return difference.WriteUncompressed(w) })
}

func timed(rounds int, prevBytes, curBytes []byte) error {
	var prev *profile.Profile
	var out bytes.Buffer
	prepare := func() (err error) {
		prev, err = profile.ParseData(prevBytes)
		return err
	}
	window := func() error {
		difference, err := delta(prev, curBytes)
		if err != nil {
			return err
		}
		out.Reset()
		return difference.WriteUncompressed(&out)
	}
	return files.Time(rounds, prepare, window)
}

func main() {
	rounds := flag.Int("rounds", 0, "time so many windows in memory")
	named := flag.String("c", "", "more value types that only grow")
	flag.Parse()
	for _, name := range strings.Split(*named, ",") {
		counters[name] = true
	}
	files.Main(func() error {
		if flag.NArg() != 3 && !(*rounds > 0 && flag.NArg() == 2) {
			fmt.Fprintln(os.Stderr, "usage: merge [-rounds N] [-c TYPE,...] PREV CUR [OUT]")
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
		if *rounds > 0 {
			return timed(*rounds, prev, cur)
		}
		return once(prev, cur, flag.Arg(2))
	})
}
