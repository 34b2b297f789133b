package pprofdelta

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
)

// places has what the program counters of this process stand for: those that were in a delta of any profiler.
var places = placeTable{known: make(map[uintptr]*place), functions: make(map[goFunction]*goFunction)}

type placeTable struct {
	mu        sync.Mutex
	known     map[uintptr]*place
	functions map[goFunction]*goFunction
	maps      []mapping
	e         encoding
}

// A goFunction, and where the encoding under way has it.
type goFunction struct {
	name, file string
	startLine  int
	round      uint64
	nameAt     uint32
	fileAt     uint32
}

type frame struct {
	*goFunction
	line int
	pc   uintptr // a stack has it, if it has the frame
}

// A place is a program counter of a stack.
type place struct {
	frames     []frame // the innermost first
	isInternal bool    // of the runtime
	isEnd      bool    // where a goroutine begins: no profile has it
	round      uint64
}

// find returns the place of a program counter. The caller holds mu.
func (t *placeTable) find(pc uintptr) *place {
	p := t.known[pc]
	if p == nil {
		p = t.symbolize(pc)
		t.known[pc] = p
	}
	return p
}

// symbolize asks the runtime. Of an inlined function it gives the callers, too, if another program counter follows.
// The same one will do; its own frame is the last one then.
func (t *placeTable) symbolize(pc uintptr) *place {
	p := &place{}
	if f := runtime.FuncForPC(pc); f != nil {
		p.isInternal = isInternal(f.Name())
	}
	frames := runtime.CallersFrames([]uintptr{pc})
	f, more := frames.Next()
	p.isEnd = f.Function == "runtime.goexit"
	isInlined := f.Func == nil && f.Entry != 0
	if isInlined {
		frames = runtime.CallersFrames([]uintptr{pc, pc})
		f, more = frames.Next()
	}
	for f.PC != 0 && (more || !isInlined) {
		p.frames = append(p.frames, frame{t.function(&f), f.Line, f.PC + 1})
		if !more {
			break
		}
		f, more = frames.Next()
	}
	return p
}

func (t *placeTable) function(f *runtime.Frame) *goFunction {
	found := goFunction{name: f.Function, file: f.File}
	if line := reflect.ValueOf(f).Elem().FieldByName("startLine"); line.CanInt() { // no method returns it
		found.startLine = int(line.Int())
	}
	known := t.functions[found]
	if known == nil {
		known = &found
		t.functions[found] = known
	}
	return known
}

// ---- what the recorder gets -----------------------------------------------------------------------------------

// The sizes of structs of recorded.h.
const (
	mappingSize = 32
	frameSize   = 24
	placeSize   = 16
)

// An encoding is what is written of the places of one delta, and of its records.
type encoding struct {
	t                              *placeTable
	round                          uint64
	frames, places, records, texts []byte
	count                          int // of records
	lacksMap                       bool
}

func (t *placeTable) begin() *encoding {
	e := &t.e
	*e = encoding{t, e.round + 1, e.frames[:0], e.places[:0], e.records[:0], e.texts[:0], 0, false}
	return e
}

// add adds a record. Program counters whose frame is one of the place before, since it was inlined there, are
// left out; and, if the stack is trimmed, the functions of the runtime at its leaf, unless there is no other.
func (e *encoding) add(stack *[32]uintptr, values [4]int64, size int64, isTrimmed bool) {
	word := binary.LittleEndian
	for _, value := range values {
		e.records = word.AppendUint64(e.records, uint64(value))
	}
	e.records = word.AppendUint64(e.records, uint64(size))
	depthAt := len(e.records)
	e.records = word.AppendUint64(e.records, 0)
	pcs := stack[:]
	for i, pc := range pcs {
		if pc == 0 {
			pcs = pcs[:i]
			break
		}
	}
	for i, pc := range pcs {
		if isTrimmed && !e.t.find(pc).isInternal {
			pcs = pcs[i:]
			break
		}
	}
	for len(pcs) > 0 {
		pc, p := pcs[0], e.t.find(pcs[0])
		pcs = pcs[1:]
		if p.isEnd {
			continue
		}
		e.records = word.AppendUint64(e.records, uint64(pc))
		e.place(pc, p)
		for i := 1; i < len(p.frames) && len(pcs) > 0 && pcs[0] == p.frames[i].pc; i++ {
			pcs = pcs[1:]
		}
	}
	word.PutUint64(e.records[depthAt:], uint64((len(e.records)-depthAt)/8-1))
	e.count++
}

func (e *encoding) place(pc uintptr, p *place) {
	if p.round == e.round {
		return
	}
	p.round = e.round
	word := binary.LittleEndian
	e.places = word.AppendUint64(e.places, uint64(pc))
	e.places = word.AppendUint32(e.places, uint32(len(e.frames)/frameSize))
	e.places = word.AppendUint32(e.places, uint32(len(p.frames)))
	for _, f := range p.frames {
		if f.round != e.round {
			f.round, f.nameAt, f.fileAt = e.round, e.text(f.name), e.text(f.file)
		}
		e.frames = word.AppendUint64(e.frames, uint64(f.startLine))
		e.frames = word.AppendUint64(e.frames, uint64(f.line))
		e.frames = word.AppendUint32(e.frames, f.nameAt)
		e.frames = word.AppendUint32(e.frames, f.fileAt)
	}
	e.lacksMap = e.lacksMap || !e.t.isMapped(uint64(pc-1))
}

func (e *encoding) text(text string) uint32 {
	at := len(e.texts)
	e.texts = append(append(e.texts, text...), 0)
	return uint32(at)
}

// ---- mappings -------------------------------------------------------------------------------------------------

// A mapping of a profile.
type mapping struct {
	start, limit, offset uint64
	file, buildID        string
}

func (t *placeTable) isMapped(address uint64) bool {
	for i := range t.maps {
		if t.maps[i].start <= address && address < t.maps[i].limit {
			return true
		}
	}
	return false
}

// mappings encodes the mappings, which are read again if one is missing.
func (e *encoding) mappings() []byte {
	if e.lacksMap || e.t.maps == nil {
		e.t.maps = readMappings()
	}
	var to []byte
	word := binary.LittleEndian
	for _, m := range e.t.maps {
		for _, number := range []uint64{m.start, m.limit, m.offset} {
			to = word.AppendUint64(to, number)
		}
		to = word.AppendUint32(to, e.text(m.file))
		to = word.AppendUint32(to, e.text(m.buildID))
	}
	return to
}

// readMappings returns the mappings of this process. Only runtime/pprof knows them on all systems, so they are taken
// from a profile that is always short.
func readMappings() []mapping {
	var gz bytes.Buffer
	_ = pprof.Lookup("threadcreate").WriteTo(&gz, 0) // to memory
	r, err := gzip.NewReader(&gz)
	if err != nil {
		return nil
	}
	profile, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	const mappingTag, stringTag = 3, 6
	var found []mapping
	var names [][2]uint64 // the numbers of the strings
	var strings []string
	eachField(profile, func(tag, _ uint64, content []byte) {
		switch tag {
		case mappingTag:
			var numbers [7]uint64
			eachField(content, func(tag, value uint64, _ []byte) {
				if tag < uint64(len(numbers)) {
					numbers[tag] = value
				}
			})
			found = append(found, mapping{start: numbers[2], limit: numbers[3], offset: numbers[4]})
			names = append(names, [2]uint64{numbers[5], numbers[6]})
		case stringTag:
			strings = append(strings, string(content))
		}
	})
	for i := range found {
		if names[i][0] < uint64(len(strings)) && names[i][1] < uint64(len(strings)) {
			found[i].file, found[i].buildID = strings[names[i][0]], strings[names[i][1]]
		}
		if found[i].limit == 0 { // the system has none to tell, so runtime/pprof has made this one up
			found[i].limit = math.MaxUint64
		}
	}
	return found
}

// eachField calls do with the fields of a message: numbers, or bytes.
func eachField(message []byte, do func(tag, value uint64, content []byte)) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		value, m := binary.Uvarint(message[max(n, 0):])
		if n <= 0 || m <= 0 {
			return
		}
		message = message[n+m:]
		var content []byte
		if key&7 == 2 {
			if value > uint64(len(message)) {
				return
			}
			content, message = message[:value], message[value:]
		}
		do(key>>3, value, content)
	}
}
