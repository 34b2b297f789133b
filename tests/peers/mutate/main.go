// Mutate makes the next profile of a process of which there is only one: a minute later, one sample
// in a hundred has counted more. It has no duration, since some tools take a profile of a minute for
// a delta.
//
//	mutate IN OUT       gzip or plain in, plain out
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"

	"github.com/google/pprof/profile"

	"pprofdelta/tests/peers/files"
)

const minute = 60_000_000_000

func mutate(p *profile.Profile, random *rand.Rand) {
	p.TimeNanos += minute
	p.DurationNanos = 0
	for _, s := range p.Sample {
		if random.Intn(100) != 0 {
			continue
		}
		for i, t := range p.SampleType {
			switch t.Type {
			case "alloc_objects", "alloc_space", "contentions", "delay":
				s.Value[i] += s.Value[i]/16 + 1
			}
		}
	}
}

func main() {
	flag.Parse()
	files.Main(func() error {
		if flag.NArg() != 2 {
			fmt.Fprintln(os.Stderr, "usage: mutate IN OUT")
			os.Exit(2)
		}
		data, err := files.Read(flag.Arg(0))
		if err != nil {
			return err
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return err
		}
		mutate(p, rand.New(rand.NewSource(1)))
		out, err := os.Create(flag.Arg(1))
		if err != nil {
			return err
		}
		if err := p.WriteUncompressed(out); err != nil {
			out.Close()
			return err
		}
		return out.Close()
	})
}
