package pprofdeltaprocessor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// source is a profile as a test writes it. The stacks are names of functions, leaf first, with attributes
// behind a "|": "alloc;main|user=a".
type source struct {
	resource, scope, kind, unit string
	period                      string
	time                        int64
	values                      map[string]int64
	comment                     string
}

func must[T any](got T, err error) T {
	if err != nil {
		panic(err)
	}
	return got
}

// requestOf makes a request with pdata's own helpers.
func requestOf(sources ...source) pprofile.Profiles {
	request := pprofile.NewProfiles()
	d := request.Dictionary()
	d.StringTable().Append("")
	d.MappingTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	text := func(s string) int32 { return must(pprofile.SetString(d.StringTable(), s)) }
	attribute := func(key, value string) int32 {
		one := pprofile.NewKeyValueAndUnit()
		one.SetKeyStrindex(text(key))
		one.Value().SetStr(value)
		return must(pprofile.SetAttribute(d.AttributeTable(), one))
	}
	for _, s := range sources {
		resource := request.ResourceProfiles().AppendEmpty()
		resource.SetSchemaUrl("resource-schema")
		for _, one := range strings.Fields(s.resource) {
			key, value, _ := strings.Cut(one, "=")
			resource.Resource().Attributes().PutStr(key, value)
		}
		scope := resource.ScopeProfiles().AppendEmpty()
		scope.Scope().SetName(s.scope)
		profile := scope.Profiles().AppendEmpty()
		profile.SampleType().SetTypeStrindex(text(s.kind))
		profile.SampleType().SetUnitStrindex(text(s.unit))
		profile.PeriodType().SetTypeStrindex(text(s.period))
		profile.SetTime(pcommon.Timestamp(s.time))
		if s.comment != "" {
			profile.AttributeIndices().Append(attribute("pprof.profile.comment", s.comment))
		}
		for _, stack := range slices.Sorted(maps.Keys(s.values)) {
			sample := profile.Samples().AppendEmpty()
			sample.Values().Append(s.values[stack])
			names, attributes, has := strings.Cut(stack, "|")
			if has {
				key, value, _ := strings.Cut(attributes, "=")
				sample.AttributeIndices().Append(attribute(key, value))
				link := pprofile.NewLink()
				link.SetSpanID(pcommon.SpanID{1, byte(len(value))})
				link.SetTraceID(pcommon.TraceID{2, byte(len(value))})
				sample.SetLinkIndex(must(pprofile.SetLink(d.LinkTable(), link)))
			}
			entry := pprofile.NewStack()
			for _, name := range strings.Split(names, ";") {
				function := pprofile.NewFunction()
				function.SetNameStrindex(text(name))
				function.SetFilenameStrindex(text(name + ".go"))
				location := pprofile.NewLocation()
				line := location.Lines().AppendEmpty()
				line.SetFunctionIndex(must(pprofile.SetFunction(d.FunctionTable(), function)))
				line.SetLine(int64(len(name)))
				entry.LocationIndices().Append(must(pprofile.SetLocation(d.LocationTable(), location)))
			}
			sample.SetStackIndex(must(pprofile.SetStack(d.StackTable(), entry)))
		}
	}
	return request
}

// shown is what a request says, without indices: "resource scope kind/unit" -> stack -> value. Equal samples
// are added up, and those of value 0 are left out. Everything of a sample is in its name.
func shown(request pprofile.Profiles) map[string]map[string]int64 {
	d := request.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	attributes := func(of pcommon.Int32Slice) (names string) {
		for _, i := range of.All() {
			one := d.AttributeTable().At(int(i))
			names += "|" + text(one.KeyStrindex()) + "=" + one.Value().AsString() + text(one.UnitStrindex())
		}
		return names
	}
	all := map[string]map[string]int64{}
	for _, resource := range request.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				name := fmt.Sprintf("%v %s %s %s/%s", resource.Resource().Attributes().AsRaw(), resource.SchemaUrl(), scope.Scope().Name(),
					text(profile.SampleType().TypeStrindex()), text(profile.SampleType().UnitStrindex()))
				values := all[name]
				if values == nil {
					values = map[string]int64{}
					all[name] = values
				}
				for _, sample := range profile.Samples().All() {
					stack := ""
					for _, i := range d.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
						location := d.LocationTable().At(int(i))
						mapping := d.MappingTable().At(int(location.MappingIndex()))
						stack += fmt.Sprintf("%s%x:%x %x-%x%s", text(mapping.FilenameStrindex()), mapping.FileOffset(), location.Address(),
							mapping.MemoryStart(), mapping.MemoryLimit(), attributes(mapping.AttributeIndices()))
						for _, line := range location.Lines().All() {
							function := d.FunctionTable().At(int(line.FunctionIndex()))
							stack += fmt.Sprintf("%s %s %s:%d:%d;", text(function.NameStrindex()), text(function.SystemNameStrindex()),
								text(function.FilenameStrindex()), line.Line(), line.Column())
						}
						stack += attributes(location.AttributeIndices())
					}
					link := d.LinkTable().At(int(sample.LinkIndex()))
					stack += attributes(sample.AttributeIndices()) + fmt.Sprintf(" %v %v", link.TraceID(), link.SpanID())
					for _, value := range sample.Values().All() {
						values[stack] += value
					}
					if values[stack] == 0 {
						delete(values, stack)
					}
				}
			}
		}
	}
	return all
}

// add adds what a request says to the sums.
func add(sums map[string]map[string]int64, request pprofile.Profiles) {
	for name, values := range shown(request) {
		if sums[name] == nil {
			sums[name] = map[string]int64{}
		}
		for stack, value := range values {
			sums[name][stack] += value
		}
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n%s\n is not\n%s", what, g, w)
	}
}
