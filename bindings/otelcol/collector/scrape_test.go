package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// contend waits for mutexes and channels.
func contend(n int) {
	var mutex sync.RWMutex
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range n {
				mutex.Lock()
				time.Sleep(50 * time.Microsecond)
				mutex.Unlock()
				mutex.RLock()
				time.Sleep(50 * time.Microsecond)
				mutex.RUnlock()
				(&remote{make(chan bool)}).Unlock()
			}
		})
	}
	done.Wait()
}

// remote is a lock of another process: a goroutine waits in its Unlock.
type remote struct{ answer chan bool }

func (r *remote) Unlock() {
	go func() { time.Sleep(50 * time.Microsecond); close(r.answer) }()
	<-r.answer
}

// rebuilt is what contrib's pprofreceiver makes of a profile, rebuilt: a resource and a scope without names; one Profile for
// each type with all samples, also those of value 0; the lines of a place sorted by their numbers; attributes that are
// empty. Newer versions have the default type and the order of types in the scope.
func rebuilt(p *profile.Profile, isNew bool) pprofile.Profiles {
	out := pprofile.NewProfiles()
	scope := out.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	d := out.Dictionary()
	indices := map[string]int32{}
	index := func(table interface{ Len() int }, key string, add func()) int32 {
		key = fmt.Sprintf("%T %s", table, key)
		if _, has := indices[key]; !has {
			indices[key] = int32(table.Len())
			add()
		}
		return indices[key]
	}
	text := func(s string) int32 { return index(d.StringTable(), s, func() { d.StringTable().Append(s) }) }
	attribute := func(key, value string, set func(pcommon.Value)) int32 {
		return index(d.AttributeTable(), key+"="+value, func() {
			one := d.AttributeTable().AppendEmpty()
			one.SetKeyStrindex(text(key))
			set(one.Value())
		})
	}
	textAttribute := func(key, value string) int32 {
		return attribute(key, value, func(to pcommon.Value) { to.SetStr(value) })
	}
	text("")
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	mapping := func(m *profile.Mapping) int32 {
		return index(d.MappingTable(), fmt.Sprint(m.ID), func() {
			one := d.MappingTable().AppendEmpty()
			one.SetMemoryStart(m.Start)
			one.SetMemoryLimit(m.Limit)
			one.SetFileOffset(m.Offset)
			one.SetFilenameStrindex(text(m.File))
			one.AttributeIndices().Append(textAttribute("process.executable.build_id.gnu", m.BuildID))
		})
	}
	location := func(l *profile.Location) int32 {
		return index(d.LocationTable(), fmt.Sprint(l.ID), func() {
			lines := slices.Clone(l.Line)
			slices.SortFunc(lines, func(a, b profile.Line) int { return cmp.Compare(a.Line, b.Line) })
			one := d.LocationTable().AppendEmpty()
			one.SetAddress(l.Address)
			if l.Mapping != nil {
				one.SetMappingIndex(mapping(l.Mapping))
			}
			for _, line := range lines {
				to := one.Lines().AppendEmpty()
				to.SetLine(line.Line)
				to.SetFunctionIndex(index(d.FunctionTable(), fmt.Sprint(line.Function.ID), func() {
					function := d.FunctionTable().AppendEmpty()
					function.SetNameStrindex(text(line.Function.Name))
					function.SetSystemNameStrindex(text(line.Function.SystemName))
					function.SetFilenameStrindex(text(line.Function.Filename))
					function.SetStartLine(line.Function.StartLine)
				}))
			}
		})
	}
	for at, kind := range p.SampleType {
		one := scope.Profiles().AppendEmpty()
		one.SampleType().SetTypeStrindex(text(kind.Type))
		one.SampleType().SetUnitStrindex(text(kind.Unit))
		one.PeriodType().SetTypeStrindex(text(p.PeriodType.Type))
		one.PeriodType().SetUnitStrindex(text(p.PeriodType.Unit))
		one.SetPeriod(p.Period)
		one.SetTime(pcommon.Timestamp(p.TimeNanos))
		one.SetDurationNano(uint64(p.DurationNanos))
		for _, key := range []string{"drop_frames", "keep_frames", "doc_url"} {
			one.AttributeIndices().Append(textAttribute("pprof.profile."+key, ""))
		}
		for _, s := range p.Sample {
			sample := one.Samples().AppendEmpty()
			sample.Values().Append(s.Value[at])
			places := []int32{}
			for _, l := range s.Location {
				places = append(places, location(l))
			}
			sample.SetStackIndex(index(d.StackTable(), fmt.Sprint(places), func() {
				d.StackTable().AppendEmpty().LocationIndices().FromRaw(places)
			}))
			for key, values := range s.NumLabel {
				sample.AttributeIndices().Append(attribute(key, fmt.Sprint(values[0]), func(to pcommon.Value) { to.SetInt(values[0]) }))
			}
		}
		if isNew {
			scope.Scope().Attributes().PutEmptySlice("pprof.scope.sample_type_order").AppendEmpty().SetInt(int64(at))
			order, _ := scope.Scope().Attributes().Get("pprof.scope.sample_type_order")
			for before := range at {
				order.Slice().AppendEmpty().SetInt(int64(before))
			}
		}
	}
	if isNew && p.DefaultSampleType != "" {
		scope.Scope().Attributes().PutStr("pprof.scope.default_sample_type", p.DefaultSampleType)
	}
	return out
}

// translator is a program that translates as pprofreceiver does. Its package, pkg/translator/pprof of opentelemetry-collector-contrib,
// is in the folder that the variable names, since the Go proxy does not have it. A version that cannot translate labels of
// numbers fails with heap profiles.
const translatorName = "PPROFDELTA_PPROF_TRANSLATOR"

const translatorMain = `package main

import (
	"os"

	"github.com/google/pprof/profile"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/pprof"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func main() {
	p, err := profile.Parse(os.Stdin)
	if err != nil {
		panic(err)
	}
	all, err := pprof.ConvertPprofToProfiles(p)
	if err != nil {
		panic(err)
	}
	bytes, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(*all)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(bytes)
}
`

func translator(t *testing.T) func([]byte) pprofile.Profiles {
	from := os.Getenv(translatorName)
	if from == "" {
		t.Skip("the Go proxy does not have contrib's pprofreceiver; set " + translatorName + " to its folder pkg/translator/pprof")
	}
	folder := t.TempDir()
	const module = "github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/pprof"
	for name, text := range map[string]string{"main.go": translatorMain, "go.mod": "module translator\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\n" +
		"replace " + module + " => " + must(filepath.Abs(from)) + "\n"} {
		must(0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", "translator", "."}} {
		command := exec.Command("go", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return func(p []byte) pprofile.Profiles {
		command := exec.Command(filepath.Join(folder, "translator"))
		command.Stdin, command.Stderr = bytes.NewReader(p), os.Stderr
		return must((&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(must(command.Output())))
	}
}

// The four endpoints of one program, behind one collector, with failures and a kill: the windows of each endpoint add up to its last
// profile.
func TestFourEndpoints(t *testing.T) {
	for what, translate := range map[string]func(*testing.T) func([]byte) pprofile.Profiles{
		"rebuilt, new": func(*testing.T) func([]byte) pprofile.Profiles {
			return func(p []byte) pprofile.Profiles { return rebuilt(must(profile.ParseData(p)), true) }
		},
		"rebuilt, old": func(*testing.T) func([]byte) pprofile.Profiles {
			return func(p []byte) pprofile.Profiles { return rebuilt(must(profile.ParseData(p)), false) }
		},
		translatorName: translator,
	} {
		t.Run(what, func(t *testing.T) { scrape(t, translate(t)) })
	}
}

// post sends a request with one resource for all endpoints, as one resource processor for the program makes it. It returns
// whether the request was taken, and the answer.
func post(collector string, request pprofile.Profiles) (bool, string) {
	attributes := request.ResourceProfiles().At(0).Resource().Attributes()
	attributes.PutStr("service.name", "checkout")
	attributes.PutStr("service.instance.id", "1")
	body := bytes.NewReader(must((&pprofile.ProtoMarshaler{}).MarshalProfiles(request)))
	answer, err := http.Post("http://"+collector+"/v1development/profiles", "application/x-protobuf", body)
	if err != nil {
		return false, err.Error()
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK, answer.Status
}

func scrape(t *testing.T, translate func([]byte) pprofile.Profiles) {
	folder := t.TempDir()
	target, _ := serve(t)
	received := &sink{kept: map[string]window{}}
	server := httptest.NewServer(received)
	defer server.Close()
	collector, process := collect(t, folder, server.URL, 512)
	last := map[string]*profile.Profile{}
	tells := false
	endpoints := []string{"heap", "allocs", "mutex", "block"}
	for round := range 9 {
		if round == 5 {
			_ = process.Process.Kill()
			_ = process.Wait()
			collector, _ = collect(t, folder, server.URL, 512)
		}
		if round > 0 { // the first mutex profile may have nothing
			get(t, fmt.Sprint(target, "/work?n=", round))
		}
		for at, endpoint := range endpoints {
			scraped := get(t, target+"/debug/pprof/"+endpoint)
			last[endpoint] = must(profile.ParseData(scraped))
			request := translate(scraped)
			_, said := request.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes().Get("pprof.scope.default_sample_type")
			tells = tells || said
			received.mode = ""
			if (round+at)%4 == 2 && round < 8 {
				received.mode = "503"
			}
			isTaken, answer := post(collector, request)
			if isEmpty := len(last[endpoint].Sample) == 0; !isEmpty && isTaken != (received.mode == "") {
				t.Errorf("round %d, %s: %s", round, endpoint, answer)
			}
		}
	}
	for _, kind := range []string{"contentions", "delay"} {
		for _, name := range []string{"mutex", "block"} {
			same(t, name+", "+kind, received.sum(func(s string) bool { return strings.HasPrefix(s, name+" ") && strings.HasSuffix(s, kind) }), whole(last[name], kind))
		}
	}
	isHeap := func(series string) bool { return strings.Contains(series, " <nil> alloc_") } // Go names no default type there
	if tells {
		same(t, "heap", received.sum(isHeap), whole(last["heap"], "alloc_"))
	}
	same(t, "allocs", received.sum(func(series string) bool {
		return strings.Contains(series, " alloc_space alloc_") || !tells && isHeap(series)
	}), whole(last["allocs"], "alloc_"))
}

// whole is what a profile has counted, as it was sent: the lines of a place are sorted.
func whole(p *profile.Profile, prefix string) map[string]int64 {
	for _, l := range p.Location {
		slices.SortFunc(l.Line, func(a, b profile.Line) int { return cmp.Compare(a.Line, b.Line) })
	}
	return valuesOfPprof(must(profile.Merge([]*profile.Profile{p})), prefix)
}
