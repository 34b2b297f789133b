// Server is a Go program under load, with its profiles where net/http/pprof puts them.
//
//	server        prints its address, serves until stdin ends
//	server busy   the same; allocates, frees and takes locks all the time, by ever more ways (busy.go)
//	GET /work     allocates, fights for a lock and blocks, a fixed number of times
//
// Every allocation and every contention is recorded, so that what is asked for is what is counted.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

const rounds = 500

var (
	mutex sync.Mutex
	kept  [][]byte
)

//go:noinline
func allocateLarge() []byte { return make([]byte, 64<<10) }

//go:noinline
func allocateSmall() []byte { return make([]byte, 48) }

func fight(done *sync.WaitGroup) {
	defer done.Done()
	mutex.Lock()
	time.Sleep(time.Millisecond)
	mutex.Unlock()
}

func work(w http.ResponseWriter, _ *http.Request) {
	for i := 0; i < rounds; i++ {
		large, small := allocateLarge(), allocateSmall()
		if i%50 == 0 {
			kept = append(kept, large, small)
		}
	}
	var done sync.WaitGroup
	for i := 0; i < 8; i++ {
		done.Add(1)
		go fight(&done)
	}
	done.Wait()
	runtime.GC() // a heap profile is as of the last collection
	runtime.GC()
	fmt.Fprintln(w, "done")
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	http.HandleFunc("/work", work)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) > 1 {
		beBusy()
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	io.Copy(io.Discard, os.Stdin)
}
