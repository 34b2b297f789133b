// Goheap writes two heap profiles of itself, as runtime/pprof writes them: gzip, debug=0.
//
//	goheap STACKS SEED PREV CUR
//
// It allocates from about STACKS distinct stacks, by paths through the functions of functions.go, which
// goheap.py generates. Stacks repeat in the profile for two reasons. A third of the allocations take
// the path of any earlier allocation, usually with another block size: Go has a record for each block
// size of a stack. And one path in 32 fills a map: Go's runtime allocates its parts from several of
// its own functions, which the profile hides. 15% of the allocations are live: they stay in use, and are
// made again between the two profiles. One allocation in 1000 is first made between them.
// Every allocation is sampled.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

const (
	depthLeast  = 12
	depthSpread = 20
	branchAbove = 6  // a path leaves an earlier one at most so many calls above its leaf
	recent      = 50 // how far back that one usually is
	mapEntries  = 32
	defaultRate = 512 * 1024
)

var blockSizes = [...]int{16, 24, 32, 48, 64, 80, 96, 112, 128, 192, 256, 384, 512, 768, 1024, 2048}

// An allocation is made by a path: the calls to take, by their numbers in each function.
type allocation struct {
	path     []byte
	size     int
	fillsMap bool
	isLive   bool
}

// A walk is an allocation on its way.
type walk struct {
	allocation
	at int // the next call
}

// What live allocations keep. There is room for everything before sampling begins.
var (
	blocks [][]byte
	maps   []map[int]int
)

// next returns the number of the call to make, or -1 at the end of the path.
func (w *walk) next() int {
	if w.at == len(w.path) {
		return -1
	}
	w.at++
	return int(w.path[w.at-1])
}

// put keeps a live block. Other blocks become garbage.
//
//go:noinline
func (w *walk) put(block []byte) {
	if w.isLive {
		blocks = append(blocks, block)
	}
}

// fill fills a map.
//
//go:noinline
func (w *walk) fill() {
	m := make(map[int]int)
	for i := 0; i < mapEntries; i++ {
		m[i] = i
	}
	if w.isLive {
		maps = append(maps, m)
	}
}

// planner draws allocations.
type planner struct {
	random *rand.Rand
	plan   []allocation
	taken  map[string]bool // paths
}

func (p *planner) skewed(below int) int {
	a, b := p.random.Intn(below), p.random.Intn(below)
	if a < b {
		return a
	}
	return b
}

// drawPath returns a path that branches off an earlier one, usually a recent one.
func (p *planner) drawPath() []byte {
	depth := depthLeast + p.random.Intn(depthSpread)
	var path []byte
	if n := len(p.plan); n > 0 && p.random.Intn(100) < 95 {
		back := p.random.Intn(n)
		if n > recent && p.random.Intn(10) > 0 {
			back = p.random.Intn(recent)
		}
		earlier := p.plan[n-1-back].path
		depth = len(earlier) - 1 + p.random.Intn(3)
		if depth < depthLeast {
			depth = depthLeast
		}
		path = append(path, earlier[:len(earlier)-1-p.skewed(branchAbove)]...)
	}
	for len(path) < depth {
		path = append(path, byte(p.skewed(callsOfFunction)))
	}
	return path
}

func (p *planner) newPath() []byte {
	for {
		if path := p.drawPath(); !p.taken[string(path)] {
			p.taken[string(path)] = true
			return path
		}
	}
}

func (p *planner) add() {
	a := allocation{size: blockSizes[p.random.Intn(len(blockSizes))], isLive: p.random.Intn(100) < 15}
	if len(p.plan) > 0 && p.random.Intn(3) == 0 {
		a.path = p.plan[p.random.Intn(len(p.plan))].path
	} else {
		a.path = p.newPath()
		a.fillsMap = p.random.Intn(32) == 0
	}
	p.plan = append(p.plan, a)
}

// early returns what is allocated before the first profile.
func (p *planner) early() []allocation { return p.plan[:len(p.plan)-len(p.plan)/1000] }

// late returns what is allocated between the two profiles.
func (p *planner) late() []allocation {
	var late []allocation
	for _, a := range p.early() {
		if a.isLive {
			late = append(late, a)
		}
	}
	return append(late, p.plan[len(p.early()):]...)
}

// allocate makes the allocations. They are sampled, and nothing else is.
func allocate(all []allocation) {
	var w walk
	runtime.MemProfileRate = 1
	for i := range all {
		w = walk{allocation: all[i]}
		begin(&w)
	}
	runtime.MemProfileRate = 0
}

// write writes the heap profile. Go publishes what it sampled after two collections. With the rate that
// is set now it scales the numbers, as in a process that samples at the default rate.
func write(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	runtime.GC()
	runtime.GC()
	runtime.MemProfileRate = defaultRate
	err = pprof.Lookup("heap").WriteTo(file, 0)
	runtime.MemProfileRate = 0
	if err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func run(stacks int, seed int64, names []string) error {
	p := planner{random: rand.New(rand.NewSource(seed)), taken: make(map[string]bool)}
	for len(p.taken) < stacks {
		p.add()
	}
	blocks, maps = make([][]byte, 0, 2*len(p.plan)), make([]map[int]int, 0, len(p.plan))
	// One call of allocate: it is in every stack.
	for i, moment := range [][]allocation{p.early(), p.late()} {
		allocate(moment)
		if err := write(names[i]); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	runtime.MemProfileRate = 0
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: goheap STACKS SEED PREV CUR")
		os.Exit(2)
	}
	stacks, err := strconv.Atoi(os.Args[1])
	if err == nil {
		var seed int64
		if seed, err = strconv.ParseInt(os.Args[2], 10, 64); err == nil {
			err = run(stacks, seed, os.Args[3:])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "goheap:", err)
		os.Exit(1)
	}
}
