package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// lengthName is how long TestLongRun runs, such as 10m.
const lengthName = "PPROFDELTA_SOAK"

const (
	limitMiB   = 20  // of the Collector's heap: it refuses profiles near that
	allowedMiB = 120 // of the process
)

// What the receiver has of many lives of a program is what they have counted, whatever fails meanwhile: the receiver, the
// answers, the Collector, its memory.
func TestLongRun(t *testing.T) {
	length := 3 * time.Second
	if said := os.Getenv(lengthName); said != "" {
		length = must(time.ParseDuration(said))
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	received := &sink{kept: map[string]window{}}
	server := httptest.NewServer(received)
	defer server.Close()
	var collector string
	var process *exec.Cmd
	most, kills, refused, limited, rounds, lives := 0, 0, 0, 0, 0, 0
	restart := func() {
		if process != nil {
			kills++
			_ = process.Process.Kill()
			_ = process.Wait()
		}
		collector, process = collect(t, folder, server.URL, limitMiB)
		received.kill = func() { _ = process.Process.Kill() }
	}
	restart()
	endpoints := []string{"allocs", "mutex", "block"}
	want := map[string]map[string]int64{"allocs": {}, "mutex": {}, "block": {}}
	for began := time.Now(); time.Since(began) < length; lives++ {
		program, process2 := serve(t)
		var last map[string]*profile.Profile
		for round, ends := 0, 5+chance.IntN(20); round <= ends; round++ {
			rounds++
			get(t, fmt.Sprint(program, "/work?n=", 1+2*min(round, 3)))
			last = map[string]*profile.Profile{}
			for _, endpoint := range endpoints {
				scraped := get(t, program+"/debug/pprof/"+endpoint)
				last[endpoint] = must(profile.ParseData(scraped))
				for {
					received.mode = []string{"", "", "", "503", "400", "lost", "killed"}[chance.IntN(7)]
					isTaken, answer := post(collector, rebuilt(must(profile.ParseData(scraped)), true))
					if !isTaken {
						refused++
					}
					if strings.HasPrefix(answer, "503") && received.mode == "" {
						limited++
					}
					if received.mode == "killed" || chance.IntN(40) == 0 {
						most = max(most, peak(process))
						restart()
					}
					if isTaken || round < ends { // what is not taken is in the next window; the last one must arrive
						break
					}
				}
			}
		}
		for _, endpoint := range endpoints {
			for _, prefix := range map[string][]string{"allocs": {"alloc_"}, "mutex": {"contentions", "delay"}, "block": {"contentions", "delay"}}[endpoint] {
				for name, value := range whole(last[endpoint], prefix) {
					add(want[endpoint], name, value)
				}
			}
		}
		_ = process2.Process.Kill()
		_ = process2.Wait()
		same(t, fmt.Sprint("allocs, life ", lives), received.sum(func(s string) bool { return strings.Contains(s, " alloc_") }), want["allocs"])
		for _, name := range []string{"mutex", "block"} {
			same(t, fmt.Sprint(name, ", life ", lives), received.sum(func(s string) bool { return strings.HasPrefix(s, name+" ") }), want[name])
		}
		if t.Failed() {
			break
		}
	}
	most = max(most, peak(process))
	t.Logf("%d lives, %d rounds, %d requests refused, of which %d for memory, %d kills of the Collector, at most %d MiB",
		lives, rounds, refused, limited, kills, most)
	if most > allowedMiB {
		t.Errorf("the Collector took %d MiB", most)
	}
}

// peak is the most memory that a process has had, in MiB; 0 if it has ended.
func peak(process *exec.Cmd) int {
	status, _ := os.ReadFile(fmt.Sprint("/proc/", process.Process.Pid, "/status"))
	if said := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); said != nil {
		return must(strconv.Atoi(string(said[1]))) / 1024
	}
	return 0
}
