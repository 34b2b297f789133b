package main

import (
	"os"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// maker encodes a pprof profile as OTLP with pdata, apart from pprofdelta's own writer.
type maker struct {
	dictionary pprofile.ProfilesDictionary
	strings    map[string]int32
}

func (m *maker) text(text string) int32 {
	index, has := m.strings[text]
	if !has {
		index = int32(m.dictionary.StringTable().Len())
		m.dictionary.StringTable().Append(text)
		m.strings[text] = index
	}
	return index
}

func (m *maker) attribute(to pcommon.Int32Slice, key, unit string, set func(pcommon.Value)) {
	to.Append(int32(m.dictionary.AttributeTable().Len()))
	attribute := m.dictionary.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(m.text(key))
	attribute.SetUnitStrindex(m.text(unit))
	set(attribute.Value())
}

func (m *maker) mapping(from *profile.Mapping) {
	to := m.dictionary.MappingTable().AppendEmpty()
	to.SetMemoryStart(from.Start)
	to.SetMemoryLimit(from.Limit)
	to.SetFileOffset(from.Offset)
	to.SetFilenameStrindex(m.text(from.File))
	if from.BuildID != "" {
		kind := "gnu"
		if !isHex(from.BuildID) {
			kind = "go"
		}
		m.attribute(to.AttributeIndices(), "process.executable.build_id."+kind, "",
			func(v pcommon.Value) { v.SetStr(from.BuildID) })
	}
	if from.HasFunctions {
		m.attribute(to.AttributeIndices(), "pprof.mapping.has_functions", "", func(v pcommon.Value) { v.SetBool(true) })
	}
}

func (m *maker) location(from *profile.Location) {
	to := m.dictionary.LocationTable().AppendEmpty()
	to.SetAddress(from.Address)
	if from.Mapping != nil {
		to.SetMappingIndex(int32(from.Mapping.ID))
	}
	for _, line := range from.Line {
		at := to.Lines().AppendEmpty()
		at.SetFunctionIndex(int32(line.Function.ID))
		at.SetLine(line.Line)
		at.SetColumn(line.Column)
	}
}

func (m *maker) labels(to pcommon.Int32Slice, from *profile.Sample) {
	for key, values := range from.Label {
		m.attribute(to, key, "", func(v pcommon.Value) {
			all := v.SetEmptySlice()
			for _, value := range values {
				all.AppendEmpty().SetStr(value)
			}
		})
	}
	for key, values := range from.NumLabel {
		unit := ""
		if units := from.NumUnit[key]; len(units) > 0 {
			unit = units[0]
		}
		m.attribute(to, key, unit, func(v pcommon.Value) {
			all := v.SetEmptySlice()
			for _, value := range values {
				all.AppendEmpty().SetInt(value)
			}
		})
	}
}

func (m *maker) tables(from *profile.Profile) {
	m.text("")
	m.dictionary.MappingTable().AppendEmpty()
	m.dictionary.LocationTable().AppendEmpty()
	m.dictionary.FunctionTable().AppendEmpty()
	m.dictionary.LinkTable().AppendEmpty()
	m.dictionary.AttributeTable().AppendEmpty()
	m.dictionary.StackTable().AppendEmpty()
	for _, mapping := range from.Mapping {
		m.mapping(mapping)
	}
	for _, function := range from.Function {
		to := m.dictionary.FunctionTable().AppendEmpty()
		to.SetNameStrindex(m.text(function.Name))
		to.SetSystemNameStrindex(m.text(function.SystemName))
		to.SetFilenameStrindex(m.text(function.Filename))
		to.SetStartLine(function.StartLine)
	}
	for _, location := range from.Location {
		m.location(location)
	}
}

func renumber(from *profile.Profile) {
	for i := range from.Mapping {
		from.Mapping[i].ID = uint64(i + 1)
	}
	for i := range from.Function {
		from.Function[i].ID = uint64(i + 1)
	}
	for i := range from.Location {
		from.Location[i].ID = uint64(i + 1)
	}
}

func makeRequest(path, out string) error {
	from, err := read(path)
	if err != nil {
		return err
	}
	renumber(from)
	profiles := pprofile.NewProfiles()
	m := &maker{dictionary: profiles.Dictionary(), strings: map[string]int32{}}
	m.tables(from)
	resource := profiles.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "made")
	scope := resource.ScopeProfiles().AppendEmpty()
	scope.Scope().SetName("maker")
	for i, kind := range from.SampleType {
		to := scope.Profiles().AppendEmpty()
		to.SampleType().SetTypeStrindex(m.text(kind.Type))
		to.SampleType().SetUnitStrindex(m.text(kind.Unit))
		to.SetTime(pcommon.Timestamp(from.TimeNanos - from.DurationNanos))
		to.SetDurationNano(uint64(from.DurationNanos))
		to.SetPeriod(from.Period)
		to.SetProfileID(pprofile.ProfileID{1, byte(i)})
		for n, sample := range from.Sample {
			if i == 0 {
				stack := m.dictionary.StackTable().AppendEmpty()
				for _, at := range sample.Location {
					stack.LocationIndices().Append(int32(at.ID))
				}
			}
			if sample.Value[i] == 0 {
				continue
			}
			one := to.Samples().AppendEmpty()
			one.SetStackIndex(int32(n + 1))
			one.Values().Append(sample.Value[i])
			m.labels(one.AttributeIndices(), sample)
		}
	}
	bytes, err := pprofileotlp.NewExportRequestFromProfiles(profiles).MarshalProto()
	if err != nil {
		return err
	}
	return os.WriteFile(out, bytes, 0o600)
}
