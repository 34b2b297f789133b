package main

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"
)

var counters = map[string]bool{"alloc_objects": true, "alloc_space": true}

// verify compares a delta with the one of google/pprof's Merge, sample by sample. prev is nil in the first
// window, whose delta is cur itself.
func verify(prev, cur, delta []byte) error {
	want, err := merged(prev, cur)
	if err != nil {
		return err
	}
	got, err := profile.ParseData(delta)
	if err != nil {
		return fmt.Errorf("the delta: %w", err)
	}
	if len(want.Sample) == 0 {
		return errors.New("nothing has changed, so nothing is verified")
	}
	if len(got.Sample) != len(want.Sample) {
		return fmt.Errorf("the delta has %d samples, Merge has %d", len(got.Sample), len(want.Sample))
	}
	got.Scale(-1)
	difference, err := profile.Merge([]*profile.Profile{got, want})
	if err != nil {
		return err
	}
	if len(difference.Sample) > 0 {
		return fmt.Errorf("%d samples differ from Merge's", len(difference.Sample))
	}
	return nil
}

func merged(prev, cur []byte) (*profile.Profile, error) {
	after, err := profile.ParseData(cur)
	if err != nil {
		return nil, err
	}
	all := []*profile.Profile{after}
	if prev != nil {
		before, err := profile.ParseData(prev)
		if err != nil {
			return nil, err
		}
		ratios := make([]float64, len(before.SampleType))
		for i, t := range before.SampleType {
			if counters[t.Type] {
				ratios[i] = -1
			}
		}
		if err := before.ScaleN(ratios); err != nil {
			return nil, err
		}
		all = append(all, before)
	}
	return profile.Merge(all)
}
