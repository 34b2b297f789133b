package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// What the comparison of a request with a profile found.
type comparison struct {
	Samples  int      `json:"samples"`
	Types    []string `json:"types"`
	Differ   int      `json:"differ"`
	First    []string `json:"first"`
	Comments []string `json:"comments"`
	Default  string   `json:"default"`
}

// All samples of a profile: what identifies each, and its values.
type samples map[string][]int64

func (all samples) add(key string, column, columns int, value int64) {
	if all[key] == nil {
		all[key] = make([]int64, columns)
	}
	all[key][column] += value
}

// withoutZeros leaves out the samples whose values are all zero: they say nothing.
func (all samples) withoutZeros() samples {
	for key, values := range all {
		any := false
		for _, value := range values {
			any = any || value != 0
		}
		if !any {
			delete(all, key)
		}
	}
	return all
}

func place(start, limit, offset uint64, file, build string, has [4]bool) string {
	return fmt.Sprintf("%x-%x+%x %q %q %v", start, limit, offset, file, build, has)
}

func frame(name, system, file string, start, line, column int64) string {
	return fmt.Sprintf("%q %q %q %d %d %d", name, system, file, start, line, column)
}

func location(address uint64, place string, folded bool, lines []string) string {
	return fmt.Sprintf("%x [%s] %v {%s}", address, place, folded, strings.Join(lines, "; "))
}

// ---- google/pprof --------------------------------------------------------------------------------

func read(path string) (*profile.Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// merged is the delta as fastdelta makes it: the counters of the earlier profile are negated, its
// gauges taken out, and the two merged. cur is first: the delta has its addresses.
func merged(prevPath, curPath string, counters []string) (*profile.Profile, error) {
	cur, err := read(curPath)
	if err != nil || prevPath == "-" {
		return cur, err
	}
	prev, err := read(prevPath)
	if err != nil {
		return nil, err
	}
	ratios := make([]float64, len(prev.SampleType))
	for i, kind := range prev.SampleType {
		if slices.Contains(counters, kind.Type) {
			ratios[i] = -1
		}
	}
	if err := prev.ScaleN(ratios); err != nil {
		return nil, err
	}
	return profile.Merge([]*profile.Profile{cur, prev})
}

func labels(sample *profile.Sample) string {
	var all []string
	for key, values := range sample.Label {
		for _, value := range values {
			all = append(all, fmt.Sprintf("%q=%q", key, value))
		}
	}
	for key, values := range sample.NumLabel {
		units := sample.NumUnit[key]
		for i, value := range values {
			unit := ""
			if i < len(units) {
				unit = units[i]
			}
			all = append(all, fmt.Sprintf("%q=%d %q", key, value, unit))
		}
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}

// ofPprof reads what google/pprof made. A counter below zero is written as zero (--on-reset=clamp).
func ofPprof(p *profile.Profile, counters []string) samples {
	all := samples{}
	for _, sample := range p.Sample {
		var stack []string
		for _, at := range sample.Location {
			var lines []string
			for _, line := range at.Line {
				f := line.Function
				lines = append(lines, frame(f.Name, f.SystemName, f.Filename, f.StartLine, line.Line, line.Column))
			}
			in := ""
			if m := at.Mapping; m != nil {
				in = place(m.Start, m.Limit, m.Offset, m.File, m.BuildID,
					[4]bool{m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames})
			}
			stack = append(stack, location(at.Address, in, at.IsFolded, lines))
		}
		key := strings.Join(stack, " < ") + " | " + labels(sample)
		for i, value := range sample.Value {
			all.add(key, i, len(sample.Value), value)
		}
	}
	for i, kind := range p.SampleType {
		if !slices.Contains(counters, kind.Type) {
			continue
		}
		for _, values := range all {
			values[i] = max(values[i], 0)
		}
	}
	return all.withoutZeros()
}

// ---- the request ---------------------------------------------------------------------------------

type reading struct {
	dictionary pprofile.ProfilesDictionary
}

func (r reading) text(index int32) string { return r.dictionary.StringTable().At(int(index)) }

func (r reading) attributes(indices pcommon.Int32Slice) map[string]pprofile.KeyValueAndUnit {
	all := map[string]pprofile.KeyValueAndUnit{}
	for _, index := range indices.All() {
		attribute := r.dictionary.AttributeTable().At(int(index))
		all[r.text(attribute.KeyStrindex())] = attribute
	}
	return all
}

func (r reading) place(index int32) string {
	m := r.dictionary.MappingTable().At(int(index))
	build, has := "", [4]bool{}
	for key, attribute := range r.attributes(m.AttributeIndices()) {
		switch {
		case strings.HasPrefix(key, "process.executable.build_id."):
			build = attribute.Value().Str()
		case key == "pprof.mapping.has_functions":
			has[0] = attribute.Value().Bool()
		case key == "pprof.mapping.has_filenames":
			has[1] = attribute.Value().Bool()
		case key == "pprof.mapping.has_line_numbers":
			has[2] = attribute.Value().Bool()
		case key == "pprof.mapping.has_inline_frames":
			has[3] = attribute.Value().Bool()
		}
	}
	return place(m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), r.text(m.FilenameStrindex()), build, has)
}

func (r reading) location(index int32) string {
	at := r.dictionary.LocationTable().At(int(index))
	var lines []string
	for _, line := range at.Lines().All() {
		f := r.dictionary.FunctionTable().At(int(line.FunctionIndex()))
		lines = append(lines, frame(r.text(f.NameStrindex()), r.text(f.SystemNameStrindex()),
			r.text(f.FilenameStrindex()), f.StartLine(), line.Line(), line.Column()))
	}
	in, folded := "", false
	if at.MappingIndex() != 0 {
		in = r.place(at.MappingIndex())
	}
	if attribute, has := r.attributes(at.AttributeIndices())["pprof.location.is_folded"]; has {
		folded = attribute.Value().Bool()
	}
	return location(at.Address(), in, folded, lines)
}

func label(key, unit string, value pcommon.Value) []string {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return []string{fmt.Sprintf("%q=%q", key, value.Str())}
	case pcommon.ValueTypeInt:
		return []string{fmt.Sprintf("%q=%d %q", key, value.Int(), unit)}
	case pcommon.ValueTypeSlice:
		var all []string
		for _, element := range value.Slice().All() {
			all = append(all, label(key, unit, element)...)
		}
		return all
	}
	return []string{fmt.Sprintf("%q=(%s)", key, value.Type())}
}

func (r reading) key(sample pprofile.Sample) string {
	var stack, all []string
	for _, index := range r.dictionary.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
		stack = append(stack, r.location(index))
	}
	for key, attribute := range r.attributes(sample.AttributeIndices()) {
		all = append(all, label(key, r.text(attribute.UnitStrindex()), attribute.Value())...)
	}
	sort.Strings(all)
	return strings.Join(stack, " < ") + " | " + strings.Join(all, ", ")
}

func (r reading) comments(profile pprofile.Profile) []string {
	var all []string
	attribute, has := r.attributes(profile.AttributeIndices())["pprof.profile.comment"]
	if !has {
		return nil
	}
	for _, element := range attribute.Value().Slice().All() {
		all = append(all, element.Str())
	}
	return all
}

// ---- both ----------------------------------------------------------------------------------------

func compare(request pprofile.Profiles, prev, cur string, counters []string) (*comparison, error) {
	want, err := merged(prev, cur, counters)
	if err != nil {
		return nil, err
	}
	if request.ResourceProfiles().Len() != 1 || request.ResourceProfiles().At(0).ScopeProfiles().Len() != 1 {
		return nil, fmt.Errorf("more than one resource or scope")
	}
	r := reading{request.Dictionary()}
	scope := request.ResourceProfiles().At(0).ScopeProfiles().At(0)
	got, found := samples{}, &comparison{First: []string{}}
	if def, has := scope.Scope().Attributes().Get("pprof.scope.default_sample_type"); has {
		found.Default = def.AsString()
	}
	for i, one := range scope.Profiles().All() {
		found.Types = append(found.Types, r.text(one.SampleType().TypeStrindex())+"/"+r.text(one.SampleType().UnitStrindex()))
		found.Comments = r.comments(one)
		if one.Period() != want.Period || int64(one.Time())+int64(one.DurationNano()) != want.TimeNanos && prev == "-" {
			found.Differ++
			found.First = append(found.First, fmt.Sprintf("period %d, time %d+%d", one.Period(), one.Time(), one.DurationNano()))
		}
		for _, sample := range one.Samples().All() {
			if sample.Values().Len() != 1 || sample.TimestampsUnixNano().Len() != 0 || sample.LinkIndex() != 0 {
				return nil, fmt.Errorf("a sample with %d values", sample.Values().Len())
			}
			got.add(r.key(sample), i, scope.Profiles().Len(), sample.Values().At(0))
		}
	}
	for i, kind := range want.SampleType {
		if i >= len(found.Types) || found.Types[i] != kind.Type+"/"+kind.Unit {
			return nil, fmt.Errorf("the types are %v", found.Types)
		}
	}
	found.differences(got.withoutZeros(), ofPprof(want, counters))
	return found, nil
}

func (found *comparison) differences(got, want samples) {
	found.Samples = len(want)
	for key := range got {
		if want[key] == nil {
			found.differ(fmt.Sprintf("only in the request: %v %s", got[key], key))
		}
	}
	for key, values := range want {
		if fmt.Sprint(got[key]) != fmt.Sprint(values) {
			found.differ(fmt.Sprintf("%v is not %v: %s", got[key], values, key))
		}
	}
}

func (found *comparison) differ(what string) {
	found.Differ++
	if len(found.First) < 3 {
		found.First = append(found.First, what)
	}
}

func isHex(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil
}
