package pprofdeltaprocessor

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// rich makes a request in which every table is used by every field that can.
func rich() pprofile.Profiles {
	request := requestOf(heap("r=1", 1, 5), inuse("r=1", 1, 5))
	d := request.Dictionary()
	mapping := d.MappingTable().AppendEmpty()
	mapping.SetMemoryStart(0x1000)
	mapping.SetMemoryLimit(0x2000)
	mapping.SetFileOffset(3)
	mapping.SetFilenameStrindex(must(pprofile.SetString(d.StringTable(), "/bin/app")))
	mapping.AttributeIndices().Append(1)
	for i, location := range d.LocationTable().All() {
		location.SetMappingIndex(1)
		location.SetAddress(uint64(0x1000 + i))
		location.AttributeIndices().Append(1)
	}
	return request
}

// An index that is out of range, in any place, is an error of the profiles that use it and of no other.
func TestIndexOutOfRange(t *testing.T) {
	type (
		P = pprofile.Profile
		D = pprofile.ProfilesDictionary
	)
	for what, damage := range map[string]func(p P, d D, bad int32){
		"stack":            func(p P, _ D, bad int32) { p.Samples().At(0).SetStackIndex(bad) },
		"link":             func(p P, _ D, bad int32) { p.Samples().At(0).SetLinkIndex(bad) },
		"sample attribute": func(p P, _ D, bad int32) { p.Samples().At(0).AttributeIndices().Append(bad) },
		"attribute":        func(p P, _ D, bad int32) { p.AttributeIndices().Append(bad) },
		"period type":      func(p P, _ D, bad int32) { p.PeriodType().SetUnitStrindex(bad) },
		"location":         func(_ P, d D, bad int32) { d.StackTable().At(1).LocationIndices().SetAt(0, bad) },
		"mapping":          func(_ P, d D, bad int32) { d.LocationTable().At(1).SetMappingIndex(bad) },
		"function":         func(_ P, d D, bad int32) { d.LocationTable().At(1).Lines().At(0).SetFunctionIndex(bad) },
		"of a location":    func(_ P, d D, bad int32) { d.LocationTable().At(1).AttributeIndices().SetAt(0, bad) },
		"of a mapping":     func(_ P, d D, bad int32) { d.MappingTable().At(1).AttributeIndices().SetAt(0, bad) },
		"file":             func(_ P, d D, bad int32) { d.MappingTable().At(1).SetFilenameStrindex(bad) },
		"name":             func(_ P, d D, bad int32) { d.FunctionTable().At(1).SetNameStrindex(bad) },
		"key":              func(_ P, d D, bad int32) { d.AttributeTable().At(1).SetKeyStrindex(bad) },
	} {
		for _, bad := range []int32{-1, 100, 1<<31 - 1} {
			b := newBench(t, nil)
			request := rich()
			good := request.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
			good.Samples().AppendEmpty().Values().Append(5)
			damage(request.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0), request.Dictionary(), bad)
			must(0, b.deltas.ConsumeProfiles(t.Context(), request))
			if n := b.metric("refused", invalid); n < 1 || n > 2 {
				t.Errorf("%s %d: %d profiles refused", what, bad, n)
			}
			equal(t, what, shown(b.last)["map[]   /"], map[string]int64{"  ": 5})
		}
	}
}

// The meaning of a profile stays, and attributes of different types are different.
func TestCopier(t *testing.T) {
	request := rich()
	d := request.Dictionary()
	sample := request.ResourceProfiles().At(1).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
	before := d.AttributeTable().Len()
	for _, value := range []any{int64(1), 1.0, "1", true, []byte("1"), []any{int64(1)}, []any{"1"}, nil} {
		one := d.AttributeTable().AppendEmpty()
		one.SetKeyStrindex(1)
		must(0, one.Value().FromRaw(value))
		sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	}
	last := d.AttributeTable().At(d.AttributeTable().Len() - 1)
	for _, isHidden := range []bool{true, false} { // pdata does not show a value that is the index of a string
		out := pprofile.NewProfiles()
		to := newDictionary(out.Dictionary())
		for range 2 { // the second time, from another dictionary with the same content
			other := pprofile.NewProfiles()
			request.CopyTo(other)
			copier := to.copier(other.Dictionary())
			for at, resource := range other.ResourceProfiles().All() {
				err := copier.profile(resource.ScopeProfiles().At(0).Profiles().At(0))
				if wants := at == 1 && isHidden; (err == errNoValue) != wants {
					t.Error(at, isHidden, err)
				}
			}
			other.ResourceProfiles().MoveAndAppendTo(out.ResourceProfiles())
		}
		if !isHidden {
			for name, values := range shown(request) {
				for stack := range values {
					values[stack] *= 2
				}
				equal(t, name, shown(out)[name], values)
			}
			equal(t, "attributes", out.Dictionary().AttributeTable().Len(), before+8)
			equal(t, "mappings", out.Dictionary().MappingTable().Len(), 2)
			equal(t, "stacks", out.Dictionary().StackTable().Len(), d.StackTable().Len())
			equal(t, "links", out.Dictionary().LinkTable().Len(), d.LinkTable().Len())
		}
		last.Value().SetEmptyMap().PutStr("b", "")
	}
}

// Whatever a client sends: no panic, and what a new request has can be read.
func FuzzRequest(f *testing.F) {
	for _, request := range []pprofile.Profiles{rich(), requestOf(heap("r=1", 1, 1)), requestOf(heap("r=1", 1, 1), heap("r=1", 2, 2))} {
		f.Add(must((&pprofile.ProtoMarshaler{}).MarshalProfiles(request)))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		request, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
		if err != nil {
			return
		}
		b := &bench{t: t, sums: map[string]map[string]int64{}}
		b.begin(func(c *Config) { c.Storage = nil })
		b.fails = func(out pprofile.Profiles) error {
			if out == request {
				return busy // it passes, with all that is wrong
			}
			return nil
		}
		_ = b.deltas.ConsumeProfiles(t.Context(), request)
	})
}
