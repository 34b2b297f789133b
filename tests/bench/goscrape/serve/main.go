// Serve is a stand-in for many scrape targets: it serves heap profiles that count from the start of a
// process and only grow.
//
//	serve [-versions N] [-samples N] [-changed PERMILLE]
//
// It prints its address. GET /N is target N: each request of a target gets the next version of the same
// profile, uncompressed, and after the last version always the last one. Version k is one second after
// version k-1, has some samples with higher counters, and a few new samples. All versions are encoded
// before the address is printed, so that serving costs little. It ends when its standard input ends.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/google/pprof/profile"
)

const (
	begin       = 1767225600 // seconds since 1970
	second      = 1_000_000_000
	textStart   = 0x400000
	depthLeast  = 12
	depthSpread = 20
	branchAbove = 6 // a stack leaves an earlier one at most so many frames above its leaf
)

// grow makes the profile that all versions share: samples whose stacks branch off each other.
func grow(samples int, draw *rand.Rand) *profile.Profile {
	binary := &profile.Mapping{ID: 1, Start: textStart, Limit: textStart << 2, File: "/usr/bin/service",
		BuildID: "5ca1ab1e", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:     512 * 1024,
		Mapping:    []*profile.Mapping{binary},
	}
	addPlaces(p, binary, max(64, samples/4), draw)
	for len(p.Sample) < samples {
		p.Sample = append(p.Sample, newSample(p, draw))
	}
	return p
}

// addPlaces adds locations with a function each; every third has an inlined one, too.
func addPlaces(p *profile.Profile, binary *profile.Mapping, count int, draw *rand.Rand) {
	for i := range count {
		f := &profile.Function{ID: uint64(i + 1), StartLine: int64(draw.Intn(1000) + 1),
			Filename: fmt.Sprintf("/src/service/package%d/file%d.go", i/40, i/8)}
		f.Name = fmt.Sprintf("example.com/service/package%d.(*Type%d).method%d", i/40, i/8, i)
		f.SystemName = f.Name
		p.Function = append(p.Function, f)
		l := &profile.Location{ID: uint64(i + 1), Mapping: binary, Address: uint64(textStart + 64*i + draw.Intn(64))}
		if i%3 == 0 && i > 0 {
			l.Line = append(l.Line, profile.Line{Function: p.Function[i-1], Line: f.StartLine + 3})
		}
		l.Line = append(l.Line, profile.Line{Function: f, Line: f.StartLine + int64(draw.Intn(50))})
		p.Location = append(p.Location, l)
	}
}

func newSample(p *profile.Profile, draw *rand.Rand) *profile.Sample {
	depth := depthLeast + draw.Intn(depthSpread)
	var stack []*profile.Location
	fresh := depth
	if len(p.Sample) > 0 {
		fresh = min(depth, 1+draw.Intn(branchAbove))
		from := p.Sample[draw.Intn(len(p.Sample))].Location
		stack = append(stack, from[min(fresh, len(from)-1):]...)
	}
	above := make([]*profile.Location, fresh)
	for i := range above {
		above[i] = p.Location[draw.Intn(len(p.Location))]
	}
	size := int64(16 << draw.Intn(10))
	s := &profile.Sample{Location: append(above, stack...), Value: make([]int64, 4),
		NumLabel: map[string][]int64{"bytes": {size}}, NumUnit: map[string][]string{"bytes": {"bytes"}}}
	allocate(s, int64(draw.Intn(100)+1))
	if draw.Intn(100) < 15 {
		s.Value[2], s.Value[3] = 1, size
	}
	return s
}

func allocate(s *profile.Sample, objects int64) {
	s.Value[0] += objects
	s.Value[1] += objects * s.NumLabel["bytes"][0]
}

// age makes the next version: changed of a thousand samples count more, and one in twenty as many is new.
func age(p *profile.Profile, changed int, draw *rand.Rand) {
	count := len(p.Sample) * changed / 1000
	for range count {
		allocate(p.Sample[draw.Intn(len(p.Sample))], int64(draw.Intn(20)+1))
	}
	for range count / 20 {
		p.Sample = append(p.Sample, newSample(p, draw))
	}
}

func encode(p *profile.Profile, number int) ([]byte, error) {
	p.TimeNanos = (begin + int64(number)) * second
	var out bytes.Buffer
	err := p.WriteUncompressed(&out)
	return out.Bytes(), err
}

// targets counts the requests of each target.
type targets struct {
	versions [][]byte
	mutex    sync.Mutex
	next     map[int]int
}

func (t *targets) take(target int) []byte {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	number := min(t.next[target], len(t.versions)-1)
	t.next[target]++
	return t.versions[number]
}

func (t *targets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.Error(w, "the path is the number of a target", http.StatusNotFound)
		return
	}
	body := t.take(target)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func main() {
	versions := flag.Int("versions", 10, "how many versions there are")
	samples := flag.Int("samples", 2000, "samples of the first version")
	changed := flag.Int("changed", 20, "of a thousand samples, how many change from version to version")
	flag.Parse()
	draw := rand.New(rand.NewSource(1))
	t := &targets{next: make(map[int]int)}
	p := grow(*samples, draw)
	for i := range *versions {
		body, err := encode(p, i)
		if err != nil {
			log.Fatal(err)
		}
		t.versions = append(t.versions, body)
		age(p, *changed, draw)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, t))
}
