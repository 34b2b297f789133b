// Compare says whether two profiles hold the same samples, by google/pprof's parser and Merge: their difference has none.
//
//	compare [-clamp] [-unmapped] A B
//
// Equal samples are added up and those without any value left out, so order, ids, comments and times do not matter. With -clamp
// negative values count as zero, in both. With -unmapped the addresses, the binary and the units of numeric labels do not matter
// either: a program counter that is not of the process that wrote the profile is written without its address. Exits 1 and
// shows the first differences when the profiles do not agree.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/google/pprof/profile"

	"pprofdelta/tests/peers/files"
)

const shown = 10

func read(path string, clamp, unmapped bool) (*profile.Profile, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, l := range p.Location {
		if unmapped {
			l.Mapping, l.Address = nil, 0
		}
	}
	for _, s := range p.Sample {
		if unmapped {
			s.NumUnit = nil
		}
	}
	p.TimeNanos, p.DurationNanos, p.Comments = 0, 0, nil
	p = p.Compact()
	for _, s := range p.Sample {
		for i, value := range s.Value {
			if clamp {
				s.Value[i] = max(value, 0)
			}
		}
	}
	return p, nil
}

func main() {
	clamp := flag.Bool("clamp", false, "negative values count as zero")
	unmapped := flag.Bool("unmapped", false, "neither the binary nor the units of labels matter")
	flag.Parse()
	files.Main(func() error {
		if flag.NArg() != 2 {
			fmt.Fprintln(os.Stderr, "usage: compare [-clamp] [-unmapped] A B")
			os.Exit(2)
		}
		a, err := read(flag.Arg(0), *clamp, *unmapped)
		if err != nil {
			return err
		}
		b, err := read(flag.Arg(1), *clamp, *unmapped)
		if err != nil {
			return err
		}
		b.Scale(-1)
		difference, err := profile.Merge([]*profile.Profile{a, b})
		if err != nil {
			return err
		}
		if len(difference.Sample) == 0 {
			fmt.Printf("%d samples agree\n", len(a.Sample))
			return nil
		}
		difference.Sample = difference.Sample[:min(shown, len(difference.Sample))]
		fmt.Println(difference.Compact())
		return errors.New("the profiles do not agree: this is the first less the second")
	})
}
