// The target of the soak: a server that allocates, frees and takes locks by ever more ways, and shows
// its profiles. Every allocation and every contention counts, so that its profiles are exact and the
// sum of their deltas can be held against them to the last byte.
//
// Prints the address it listens on and ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var (
	kept  [512][]byte
	locks [8]sync.Mutex
)

// Each path through these three is a stack of its own.
//
//go:noinline
func left(depth, path, size int) []byte { return walk(depth-1, path>>1, size) }

//go:noinline
func right(depth, path, size int) []byte { return walk(depth-1, path>>1, size+16) }

//go:noinline
func walk(depth, path, size int) []byte {
	if depth == 0 {
		return make([]byte, size)
	}
	if path&1 == 0 {
		return left(depth, path, size)
	}
	return right(depth, path, size)
}

//go:noinline
func hold(n int) {
	if n%3 > 0 {
		hold(n - 1)
		return
	}
	locks[n%len(locks)].Lock()
	defer locks[n%len(locks)].Unlock()
	time.Sleep(20 * time.Microsecond)
}

// New stacks turn up as time goes by, and old ones stop.
func work(born time.Time) {
	for {
		age := int(time.Since(born) / (20 * time.Millisecond))
		path := age/4 + rand.Intn(64)
		kept[rand.Intn(len(kept))] = walk(10, path, 16<<(path%6))
		hold(rand.Intn(24))
		time.Sleep(time.Duration(rand.Intn(400)) * time.Microsecond)
	}
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	born := time.Now()
	for i := 0; i < 4; i++ {
		go work(born)
	}
	go http.Serve(listener, nil)
	fmt.Println(listener.Addr())
	io.Copy(io.Discard, os.Stdin)
}
