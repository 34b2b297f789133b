// Compare says whether two profiles hold the same samples, read by google/pprof's parser.
//
//	compare [-clamp] [-unmapped] A B
//
// Samples are the same by their stacks (address, binary and lines of every location) and labels;
// equal ones are added up and those without any value left out, so order, ids, comments and times
// do not matter. With -clamp negative values count as zero, in both. With -unmapped the addresses,
// the binary and the units of numeric labels do not matter either: a program counter that is not
// of the process that wrote the profile is written without its address. Exits 1 and shows the
// first differences when the profiles do not agree.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/pprof/profile"

	"pprofdelta/tests/peers/files"
)

const shown = 10

// A column is a value type, the samples are its values by sample.
type column struct{ kind, unit string }
type samples map[string]map[column]int64

func read(path string, clamp, unmapped bool) (samples, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := make(samples)
	places := make(map[*profile.Location]string, len(p.Location))
	for _, l := range p.Location {
		if unmapped {
			l.Mapping = nil
			l.Address = 0
		}
		places[l] = place(l)
	}
	for _, s := range p.Sample {
		if unmapped {
			s.NumUnit = nil
		}
		key := identity(s, places)
		if all[key] == nil {
			all[key] = make(map[column]int64)
		}
		for i, t := range p.SampleType {
			all[key][column{t.Type, t.Unit}] += s.Value[i]
		}
	}
	all.tidy(clamp)
	return all, nil
}

func (all samples) tidy(clamp bool) {
	for key, values := range all {
		some := false
		for c, v := range values {
			if clamp && v < 0 {
				values[c] = 0
			}
			some = some || values[c] != 0
		}
		if !some {
			delete(all, key)
		}
	}
}

func place(l *profile.Location) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%x", l.Address)
	if l.Mapping != nil {
		fmt.Fprintf(&text, " %s %s", l.Mapping.File, l.Mapping.BuildID)
	}
	for _, line := range l.Line {
		f := line.Function
		fmt.Fprintf(&text, " %s %s %s:%d", f.Name, f.SystemName, f.Filename, line.Line)
	}
	return text.String()
}

func identity(s *profile.Sample, places map[*profile.Location]string) string {
	var key strings.Builder
	for _, l := range s.Location {
		key.WriteString(places[l])
		key.WriteByte('\n')
	}
	var labels []string
	for name, values := range s.Label {
		labels = append(labels, fmt.Sprintf("%q=%q\n", name, values))
	}
	for name, values := range s.NumLabel {
		labels = append(labels, fmt.Sprintf("%q=%d %q\n", name, values, s.NumUnit[name]))
	}
	sort.Strings(labels)
	key.WriteString(strings.Join(labels, ""))
	return key.String()
}

// missing lists what a has and b has not, or has otherwise.
func missing(a, b samples, name string) []string {
	var found []string
	for key, values := range a {
		if other := b[key]; fmt.Sprint(values) != fmt.Sprint(other) {
			found = append(found, fmt.Sprintf("%s has %v, the other %v:\n%s", name, values, other, key))
		}
	}
	sort.Strings(found)
	return found
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
		differences := append(missing(a, b, flag.Arg(0)), missing(b, a, flag.Arg(1))...)
		for i := 0; i < len(differences) && i < shown; i++ {
			fmt.Println(differences[i])
		}
		if len(differences) > 0 {
			return errors.New("the profiles do not agree")
		}
		fmt.Printf("%d samples agree\n", len(a))
		return nil
	})
}
