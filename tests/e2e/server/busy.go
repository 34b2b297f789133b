package main

import (
	"math/rand"
	"sync"
	"time"
)

var (
	blocks [512][]byte
	locks  [8]sync.Mutex
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
func churn(born time.Time) {
	for {
		age := int(time.Since(born) / (20 * time.Millisecond))
		path := age/4 + rand.Intn(64)
		blocks[rand.Intn(len(blocks))] = walk(10, path, 16<<(path%6))
		hold(rand.Intn(24))
		time.Sleep(time.Duration(rand.Intn(400)) * time.Microsecond)
	}
}

func beBusy() {
	born := time.Now()
	for i := 0; i < 4; i++ {
		go churn(born)
	}
}
