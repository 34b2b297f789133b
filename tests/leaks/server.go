// The server of server.cc in Go: a map that only grows, goroutines that wait for ever, a slice that
// keeps a large array, and what is appended and never read. See README.md.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

var (
	state    uint64 = 1
	open     [][]byte
	parts    [][]byte
	reports  = map[int][]byte{}
	waiting  []chan int
	cache    = map[uint64][]byte{}
	ring     [2000][]byte
	pool     [][]byte
	sessions = map[uint64][]byte{}
	batch    [][]byte
	reply    []byte
)

func draw(below uint64) uint64 {
	state = state*6364136223846793005 + 1442695040888963407
	return (state >> 33) % below
}

//go:noinline
func leakFast() { open = append(open, make([]byte, 512)) }

//go:noinline
func leakSlow() { parts = append(parts, make([]byte, 256)[:1]) }

//go:noinline
func leakRare(i int) { reports[i] = make([]byte, 64<<10) }

//go:noinline
func leakGoroutine() {
	for i := 0; i < 4; i++ {
		page := make([]byte, 4096)
		never := make(chan int)
		waiting = append(waiting, never)
		go func() { page[0] = byte(<-never) }()
	}
}

//go:noinline
func fillCache() {
	at := draw(3000)
	if cache[at] == nil {
		cache[at] = make([]byte, 700)
	}
}

//go:noinline
func writeRing(i int) { ring[i/8%len(ring)] = make([]byte, 300) }

//go:noinline
func growPool() {
	if len(pool) < 500 {
		pool = append(pool, make([]byte, 2048))
	}
}

//go:noinline
func openSession() {
	at := draw(4000)
	if draw(2) == 1 {
		sessions[at] = make([]byte, 400)
	} else {
		delete(sessions, at)
	}
}

//go:noinline
func collectBatch() {
	if len(batch) == 4096 {
		batch = nil
	}
	batch = append(batch, make([]byte, 200))
}

//go:noinline
func answer() { reply = make([]byte, 1000) }

//go:noinline
func handle(i int) {
	switch i % 8 {
	case 0:
		leakFast()
	case 1:
		fillCache()
	case 2:
		writeRing(i)
	case 3:
		growPool()
	case 4:
		answer()
	case 5:
		collectBatch()
	default:
		openSession()
	}
	if i%64 == 0 {
		leakSlow()
	}
	if i%10000 == 0 {
		leakRare(i)
	}
}

func endWindow(dir string, window int) error {
	runtime.GC()
	file, err := os.Create(fmt.Sprintf("%s/heap.%03d.pb.gz", dir, window))
	if err != nil {
		return err
	}
	defer file.Close()
	return pprof.Lookup("heap").WriteTo(file, 0)
}

func init() {
	if rate, err := strconv.Atoi(os.Getenv("RATE")); err == nil {
		runtime.MemProfileRate = rate
	}
}

func main() {
	windows, _ := strconv.Atoi(os.Args[2])
	requests, _ := strconv.Atoi(os.Args[3])
	for window := 0; window < windows; window++ {
		for n := 0; n < requests; n++ {
			handle(window*requests + n)
		}
		leakGoroutine()
		if err := endWindow(os.Args[1], window); err != nil {
			panic(err)
		}
	}
}
