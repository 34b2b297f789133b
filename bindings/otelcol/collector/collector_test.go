// The test binary is also the collector and the program whose heap it sees, each in a process of its own: the
// collector is killed (SIGKILL), and the receiver fails in several ways. What the receiver has in the end is
// what google/pprof's Merge makes of the program's profiles.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

const roleName = "PPROFDELTA_TEST_ROLE"

func TestMain(m *testing.M) {
	runtime.MemProfileRate = 512
	switch os.Getenv(roleName) {
	case "collector":
		main()
	case "program":
		program()
	default:
		os.Exit(m.Run())
	}
}

// program allocates when it is told to, and has net/http/pprof.
func program() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	http.HandleFunc("/work", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		work(n)
		contend(n)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	panic(http.Serve(listener, nil))
}

var held [][]byte

func work(n int) {
	for i := range 50 * n {
		held = append(held, make([]byte, 700+i))
		_ = strings.Repeat("x", 900+n)
		if n%2 == 0 {
			_ = bytes.NewBufferString(strings.Repeat("y", 2000)).Bytes()
		}
	}
	held = held[len(held)/2:]
}

func must[T any](got T, err error) T {
	if err != nil {
		panic(err)
	}
	return got
}

// begin starts this binary in a role. It ends with the test.
func begin(t *testing.T, role string, args ...string) (*exec.Cmd, io.Reader) {
	process := exec.Command(must(os.Executable()), args...)
	process.Env = append(os.Environ(), roleName+"="+role)
	process.Stderr = os.Stderr
	out := must(process.StdoutPipe())
	must(0, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	return process, out
}

// serve starts the program, and returns its address.
func serve(t *testing.T) (string, *exec.Cmd) {
	process, out := begin(t, "program")
	return "http://" + strings.TrimSpace(must(bufio.NewReader(out).ReadString('\n'))), process
}

func get(t *testing.T, url string) []byte {
	answer := must(http.Get(url))
	defer answer.Body.Close()
	body := must(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK {
		t.Fatal(url, answer.Status, string(body))
	}
	return body
}

// sink keeps deltas, of each window that with the highest attempt, as a stamp says.
type sink struct {
	mutex sync.Mutex
	mode  string // what becomes of the next request
	kill  func()
	kept  map[string]window // by series, id and sequence
	last  map[string]int64  // the counters of the last request
	inuse map[string]int64  // likewise
	acked int
}

type window struct {
	series  string // the period type, the default type in the scope, and the type
	attempt int
	values  map[string]int64
}

// sum adds the windows of these series up.
func (r *sink) sum(is func(series string) bool) map[string]int64 {
	sums := map[string]int64{}
	for _, one := range r.kept {
		for name, value := range one.values {
			if is(one.series) {
				add(sums, name, value)
			}
		}
	}
	return sums
}

var stamp = regexp.MustCompile(`pprofdelta: delta .*seq=(\d+) attempt=(\d+) id=(\w+)`)

func (r *sink) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(must(io.ReadAll(must(gzip.NewReader(in.Body))))); err != nil {
		panic(err)
	}
	if status, err := strconv.Atoi(r.mode); err == nil {
		w.WriteHeader(status)
		return
	}
	r.keep(request.Profiles())
	switch r.mode {
	case "lost": // the delta arrived, and the answer does not
		connection, _, _ := http.NewResponseController(w).Hijack()
		connection.Close()
	case "killed": // the same, and the collector ends
		r.kill()
	default:
		r.acked++
	}
}

func (r *sink) keep(all pprofile.Profiles) {
	d := all.Dictionary()
	r.last = map[string]int64{}
	for _, resource := range all.ResourceProfiles().All() {
		if name, _ := resource.Resource().Attributes().Get("service.name"); name.AsString() != "checkout" {
			panic("another resource")
		}
		for _, scope := range resource.ScopeProfiles().All() {
			for _, one := range scope.Profiles().All() {
				kind, values := d.StringTable().At(int(one.SampleType().TypeStrindex())), valuesOf(d, one)
				if strings.HasPrefix(kind, "inuse") {
					r.inuse = values
					continue
				}
				maps.Copy(r.last, values)
				series := fmt.Sprint(d.StringTable().At(int(one.PeriodType().TypeStrindex())), " ", scope.Scope().Attributes().AsRaw()["pprof.scope.default_sample_type"], " ", kind)
				for _, i := range one.AttributeIndices().All() {
					if said := stamp.FindStringSubmatch(d.AttributeTable().At(int(i)).Value().AsString()); said != nil {
						name, attempt := series+said[3]+"/"+said[1], must(strconv.Atoi(said[2]))
						if before, has := r.kept[name]; !has || before.attempt < attempt {
							r.kept[name] = window{series, attempt, values}
						}
					}
				}
			}
		}
	}
}

// valuesOf are the values of a profile by stack, with the type in the name. So are those of pprof, below.
func valuesOf(d pprofile.ProfilesDictionary, one pprofile.Profile) map[string]int64 {
	text := d.StringTable()
	values := map[string]int64{}
	for _, sample := range one.Samples().All() {
		name := text.At(int(one.SampleType().TypeStrindex()))
		for _, i := range d.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
			location := d.LocationTable().At(int(i))
			name += fmt.Sprintf(" %x", location.Address())
			for _, line := range location.Lines().All() {
				name += fmt.Sprintf(";%s:%d", text.At(int(d.FunctionTable().At(int(line.FunctionIndex())).NameStrindex())), line.Line())
			}
		}
		for _, i := range sample.AttributeIndices().All() {
			size := d.AttributeTable().At(int(i)).Value()
			if size.Type() == pcommon.ValueTypeMap { // a number that receivers make no series of
				size, _ = size.Map().Get("value")
			}
			name += " bytes=" + size.AsString()
		}
		add(values, name, sample.Values().At(0))
	}
	return values
}

func valuesOfPprof(p *profile.Profile, prefix string) map[string]int64 {
	values := map[string]int64{}
	for _, sample := range p.Sample {
		for at, kind := range p.SampleType {
			if name := kind.Type; strings.HasPrefix(name, prefix) {
				for _, location := range sample.Location {
					name += fmt.Sprintf(" %x", location.Address)
					for _, line := range location.Line {
						name += fmt.Sprintf(";%s:%d", line.Function.Name, line.Line)
					}
				}
				for _, size := range sample.NumLabel["bytes"] {
					name += fmt.Sprint(" bytes=", size)
				}
				add(values, name, sample.Value[at])
			}
		}
	}
	return values
}

func add(values map[string]int64, name string, value int64) {
	if values[name] += value; values[name] == 0 {
		delete(values, name)
	}
}

// requestOf is a cumulative profile as a receiver of pprof makes it: one Profile for each type, without a stamp.
func requestOf(t *testing.T, p []byte) io.Reader {
	computer := must(pprofdelta.New(pprofdelta.WithFormat(pprofdelta.OTLPPlain), pprofdelta.WithCompression(pprofdelta.None),
		pprofdelta.WithoutStamp(), pprofdelta.WithResource("service.name", "checkout"), pprofdelta.WithResource("service.instance.id", "1")))
	var request bytes.Buffer
	must(0, computer.Delta(p, &request))
	return &request
}

// configurations are that of the README, as it is there, and what differs on this machine.
func configurations(t *testing.T, folder, receiver, exporter string, limit int) []string {
	readme := string(must(os.ReadFile("../pprofdeltaprocessor/README.md")))
	_, block, _ := strings.Cut(readme, "```yaml\nextensions:")
	block, _, _ = strings.Cut("extensions:"+block, "```")
	if n := strings.Count(block, "\n"); n < 10 || n > 20 {
		t.Errorf("the configuration of the README has %d lines", n)
	}
	own := fmt.Sprintf("extensions: {file_storage: {directory: %q}}\n"+
		"receivers: {otlp: {protocols: {http: {endpoint: %q}}}}\n"+
		"exporters: {otlp_http: {endpoint: %q}}\n"+
		"processors: {memory_limiter: {check_interval: 100ms, limit_mib: %d}}\n"+
		"service: {telemetry: {metrics: {level: none}, logs: {disable_stacktrace: true}}, "+
		"pipelines: {profiles: {processors: [memory_limiter, pprofdelta]}}}\n", folder, receiver, exporter, limit)
	args := []string{"--feature-gates=service.profilesSupport"}
	for name, text := range map[string]string{"1-readme.yaml": block, "2-own.yaml": own} {
		must(0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return append(args, "--config="+filepath.Join(folder, "1-readme.yaml"), "--config="+filepath.Join(folder, "2-own.yaml"))
}

// collect starts a collector, and returns its address when it takes requests. Its port was free a moment
// ago; another is tried if it was taken since.
func collect(t *testing.T, folder, exporter string, limit int) (string, *exec.Cmd) {
	for range 20 {
		listener := must(net.Listen("tcp", "127.0.0.1:0"))
		address := listener.Addr().String()
		listener.Close()
		process, out := begin(t, "collector", configurations(t, folder, address, exporter, limit)...)
		ended := make(chan bool)
		go func() { _, _ = io.Copy(io.Discard, out); close(ended) }()
		for isLiving := true; isLiving; {
			if connection, err := net.Dial("tcp", address); err == nil {
				connection.Close()
				return address, process
			}
			select {
			case <-ended:
				isLiving = false
			default:
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	t.Fatal("the collector does not begin")
	return "", nil
}

// What is wrong with a setting is said by "validate" where the Collector asks the processor, and otherwise at the start.
func TestWrongSettings(t *testing.T) {
	run := func(setting, command string) string {
		folder := t.TempDir()
		wrong := filepath.Join(folder, "wrong.yaml")
		must(0, os.WriteFile(wrong, []byte("processors: {pprofdelta: {"+setting+"}}\n"), 0o600))
		args := append(strings.Fields(command), configurations(t, folder, "127.0.0.1:0", "http://127.0.0.1:1", 512)...)
		process := exec.Command(must(os.Executable()), append(args, "--config="+wrong)...)
		process.Env = append(os.Environ(), roleName+"=collector")
		said, err := process.CombinedOutput()
		if err == nil {
			return ""
		}
		return string(said)
	}
	for _, one := range []struct{ setting, command, want string }{
		{"idle_timeout: 10", "validate", "idle_timeout: 10ns: did you mean 10s?"},
		{"storage: redis", "validate", ""}, // the Collector does not ask
		{"storage: redis", "", "storage: the service has no extension redis;"},
	} {
		if said := run(one.setting, one.command); !strings.Contains(said, one.want) || (one.want == "") != (said == "") {
			t.Errorf("%s: %s: %q", one.setting, one.command, said)
		}
	}
}

func TestTwentyRounds(t *testing.T) {
	folder := t.TempDir()
	target, _ := serve(t)
	received := &sink{kept: map[string]window{}}
	server := httptest.NewServer(received)
	defer server.Close()
	collector, process := collect(t, folder, server.URL, 512)
	end := func() { _ = process.Process.Kill(); _ = process.Wait() }
	received.kill = func() { _ = process.Process.Kill() }

	modes := map[int]string{3: "503", 4: "503", 8: "400", 11: "lost", 15: "killed", 18: "503"}
	killed := map[int]bool{6: true, 13: true, 16: true}
	var cur, acked *profile.Profile
	rounds := 0
	for round := 1; round <= 20; round++ {
		if killed[round] {
			end()
			collector, process = collect(t, folder, server.URL, 512)
		}
		get(t, fmt.Sprint(target, "/work?n=", round))
		heap := get(t, target+"/debug/pprof/heap?gc=1")
		cur = must(profile.ParseData(heap))
		received.mode = modes[round]
		answer, err := http.Post("http://"+collector+"/v1development/profiles", "application/x-protobuf", requestOf(t, heap))
		isTaken := err == nil && answer.StatusCode == http.StatusOK
		if err == nil {
			answer.Body.Close()
		}
		if isTaken != (modes[round] == "") {
			t.Fatal(round, modes[round], answer, err)
		}
		if !isTaken {
			continue
		}
		rounds++
		// The window is google/pprof's delta of this profile and the last one that was taken.
		delta := cur.Copy()
		if acked != nil {
			prev := acked.Copy()
			prev.Scale(-1)
			delta = must(profile.Merge([]*profile.Profile{prev, cur}))
		}
		acked = cur
		same(t, fmt.Sprint("round ", round), received.last, valuesOfPprof(delta, "alloc_"))
		same(t, fmt.Sprint("in use, round ", round), received.inuse, valuesOfPprof(cur, "inuse_space"))
	}
	all := func(string) bool { return true }
	same(t, "all windows", received.sum(all), valuesOfPprof(must(profile.Merge([]*profile.Profile{cur})), "alloc_"))
	if received.acked != rounds || rounds != 20-len(modes) {
		t.Errorf("%d requests were taken, %d answered", received.acked, rounds)
	}
}

// same shows the first values that differ.
func same(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: there is nothing in it", what)
	}
	shown := 0
	for name := range want {
		if got[name] != want[name] && shown < 3 {
			shown++
			t.Errorf("%s: %s: %d is not %d", what, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d values are not %d", what, len(got), len(want))
	}
}
