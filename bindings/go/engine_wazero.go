package pprofdelta

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// module is the C library, built from bindings/wasm by `./dev wasm`.
//
//go:embed pprofdelta.wasm
var module []byte

// engineName is what the engine is called in tests.
const engineName = "wazero"

const (
	pageSize    = 64 << 10
	memoryExtra = 16 << 20 // more than a new instance has
	memoryMost  = 65535    // pages
)

// compiled holds the machine code of the module for all pools of the process without a directory of
// their own: about 2 MiB.
var compiled = sync.OnceValue(wazero.NewCompilationCache)

// wasmEngine runs the module in wazero.
type wasmEngine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // with a directory; closed with the engine
	code    wazero.CompiledModule
	o       *poolOptions
}

func newEngine(o *poolOptions) (engine, error) {
	ctx := context.Background()
	e := &wasmEngine{o: o}
	config := wazero.NewRuntimeConfig()
	if o.interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	pages := (o.maxMemory + memoryExtra) / pageSize
	config = config.WithMemoryLimitPages(uint32(min(pages, memoryMost)))
	if o.cacheDir != "" {
		var err error
		if e.cache, err = wazero.NewCompilationCacheWithDir(o.cacheDir); err != nil {
			return nil, failFor(ErrEngine, "engine", "the cache directory cannot be used", err)
		}
		config = config.WithCompilationCache(e.cache)
	} else {
		config = config.WithCompilationCache(compiled())
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := e.addHost(ctx); err != nil {
		e.close()
		return nil, failFor(ErrEngine, "engine", "the host's functions were not made", err)
	}
	code := module
	if o.code != nil {
		code = o.code
	}
	var err error
	if e.code, err = e.runtime.CompileModule(ctx, code); err != nil {
		e.close()
		return nil, failFor(ErrEngine, "engine", "the module was not compiled", err)
	}
	return e, nil
}

// addHost makes the functions that the module imports. What they panic with is a trap.
func (e *wasmEngine) addHost(ctx context.Context) error {
	poll := api.GoFunc(func(ctx context.Context, _ []uint64) {
		if err := instanceOf(ctx).account.ctx.Err(); err != nil {
			panic(err)
		}
	})
	write := api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
		i := instanceOf(ctx)
		bytes, ok := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		if !ok || i.to == nil {
			panic(errors.New("output that nobody has asked for"))
		}
		if err := i.to.add(bytes, i.account); err != nil {
			panic(err)
		}
	})
	numbers := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	_, err := e.runtime.NewHostModuleBuilder("host").
		NewFunctionBuilder().WithGoFunction(poll, nil, nil).Export("poll").
		NewFunctionBuilder().WithGoModuleFunction(write, numbers, nil).Export("write").
		Instantiate(ctx)
	return err
}

// instanceKey is the key of the instance in the context of its calls.
type instanceKey struct{}

func instanceOf(ctx context.Context) *wasmInstance { return ctx.Value(instanceKey{}).(*wasmInstance) }

func (e *wasmEngine) close() error {
	err := e.runtime.Close(context.Background())
	if e.cache != nil {
		if other := e.cache.Close(context.Background()); err == nil {
			err = other
		}
	}
	if err != nil {
		return failFor(ErrEngine, "engine", "the engine was not closed", err)
	}
	return nil
}

// function names an exported function of the module.
type function int

const (
	fnBuffers function = iota
	fnRoom
	fnNew
	fnLoad
	fnSave
	fnBase
	fnWindow
	fnCommit
	fnAbandon
	fnDescribe
	fnCheck
	fnSumNew
	fnSumAdd
	fnSumFinish
	functions
)

var functionNames = [functions]string{
	fnBuffers: "pd_buffers", fnRoom: "pd_room", fnNew: "pd_new", fnLoad: "pd_load",
	fnSave: "pd_save", fnBase: "pd_base", fnWindow: "pd_window", fnCommit: "pd_commit",
	fnAbandon: "pd_abandon", fnDescribe: "pd_describe",
	fnCheck: "pd_check", fnSumNew: "pd_sum_new", fnSumAdd: "pd_sum_add",
	fnSumFinish: "pd_sum_finish",
}

// wasmInstance is an instance of the module.
type wasmInstance struct {
	account   *account
	ctx       context.Context // of all calls; it has the instance
	module    api.Module
	memory    api.Memory
	functions [functions]api.Function
	stack     [4]uint64 // arguments and results
	buffers   uint32    // address of the module's two numbers
	to        *buffer   // of the call under way, for its output
}

// counted is memory that grows as far as the account allows. What a new instance has is not counted.
type counted struct {
	experimental.LinearMemory
	account *account
	base    uint64
}

func (c *counted) Reallocate(size uint64) []byte {
	if c.base == 0 {
		c.base = size
	}
	if !c.account.fits(int64(size-c.base), c.account.inGo) {
		return nil
	}
	return c.LinearMemory.Reallocate(size)
}

// ordinary is memory in Go's heap.
type ordinary struct{ bytes []byte }

func (o *ordinary) Reallocate(size uint64) []byte {
	if more := int(size) - len(o.bytes); more > 0 {
		o.bytes = append(o.bytes, make([]byte, more)...)
	}
	return o.bytes
}

func (o *ordinary) Free() { o.bytes = nil }

func (e *wasmEngine) newInstance(a *account) (instance, error) {
	i := &wasmInstance{account: a}
	i.ctx = context.WithValue(context.Background(), instanceKey{}, i)
	ctx := experimental.WithMemoryAllocator(i.ctx, experimental.MemoryAllocatorFunc(
		func(_, most uint64) experimental.LinearMemory {
			return &counted{LinearMemory: reserve(most), account: a}
		}))
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	module, err := e.runtime.InstantiateModule(ctx, e.code, config)
	if err != nil {
		return nil, failFor(ErrEngine, "engine", "no instance of the module was made", err)
	}
	i.module, i.memory = module, module.Memory()
	for fn, name := range functionNames {
		if i.functions[fn] = module.ExportedFunction(name); i.functions[fn] == nil {
			i.close()
			return nil, fail(ErrEngine, "engine", "the module has no function "+name)
		}
	}
	if i.buffers, err = i.call(fnBuffers); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (i *wasmInstance) close() {
	// The module has no exit code, so there is nothing that an error could mean.
	_ = i.module.Close(context.Background())
}

func (i *wasmInstance) size() int64 { return int64(i.memory.Size()) }

// call calls a function and returns its result. A trap is ErrEngine.
func (i *wasmInstance) call(fn function, arguments ...uint64) (uint32, error) {
	copy(i.stack[:], arguments)
	if err := i.functions[fn].CallWithStack(i.ctx, i.stack[:]); err != nil {
		if ended := i.account.ctx.Err(); ended != nil {
			return 0, ended
		}
		if i.account.isFull {
			return 0, i.account.full()
		}
		return 0, failFor(ErrEngine, "engine", functionNames[fn]+" did not return", err)
	}
	return uint32(i.stack[0]), nil
}

// run calls a function that returns a status, and returns its answer.
func (i *wasmInstance) run(fn function, to *buffer, arguments ...uint64) (*answer, error) {
	i.to = to
	status, err := i.call(fn, arguments...)
	i.to = nil
	if err != nil {
		return nil, err
	}
	where, ok := i.memory.Read(i.buffers, 8)
	if !ok {
		return nil, outside(fn)
	}
	word := binary.LittleEndian.Uint32
	bytes, ok := i.memory.Read(word(where), word(where[4:]))
	if !ok {
		return nil, outside(fn)
	}
	found := &answer{bytes: bytes}
	switch {
	case status == 0:
		return found, nil
	case Status(status) == ErrMemory && i.account.isFull:
		return nil, i.account.full()
	case len(bytes) == 0:
		return nil, fail(Status(status), "memory", Status(status).String())
	}
	failed := found.error(Status(status))
	if found.short {
		return nil, outside(fn)
	}
	if failed.Reason == ReasonMaxMemory { // the option has another name here
		failed.Text = "the call takes more than the pool's max memory leaves room for"
	}
	return nil, failed
}

func outside(fn function) error {
	return fail(ErrEngine, "engine", functionNames[fn]+" returned an invalid answer")
}

// stage copies an input into the room of the module.
func (i *wasmInstance) stage(input []byte) error {
	if int64(len(input)) > math.MaxUint32-pageSize {
		return i.tooLarge(len(input))
	}
	at, err := i.call(fnRoom, uint64(max(len(input), 1)))
	if err != nil {
		return err
	}
	if at == 0 {
		return i.tooLarge(len(input))
	}
	if !i.memory.Write(at, input) {
		return outside(fnRoom)
	}
	return nil
}

func (i *wasmInstance) tooLarge(n int) error {
	return fail(ErrLimit, "memory", fmt.Sprintf("the instance has no room for %d bytes of input", n))
}

// runWith calls a function with the length of an input in the room.
func (i *wasmInstance) runWith(fn function, to *buffer, input []byte, arguments ...uint64) (*answer, error) {
	if err := i.stage(input); err != nil {
		return nil, err
	}
	return i.run(fn, to, append([]uint64{uint64(len(input))}, arguments...)...)
}

// begin calls pd_new or pd_sum_new with options in the room; glue.c describes their encoding.
func (i *wasmInstance) begin(fn function, o *options) error {
	first := uint32(0)
	if o.firstZero {
		first = 1
	}
	var b []byte
	for _, word := range []uint32{o.flags, uint32(o.onReset), first, uint32(len(o.counters)),
		uint32(len(o.gauges)), uint32(o.format), uint32(len(o.resource))} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(i.account.limit))
	b = binary.LittleEndian.AppendUint64(b, o.id)
	for _, names := range [][]string{o.counters, o.gauges, o.resource} {
		for _, name := range names {
			b = append(append(b, name...), 0)
		}
	}
	if err := i.stage(b); err != nil {
		return err
	}
	_, err := i.run(fn, nil)
	return err
}

func (i *wasmInstance) prepare(o *options) error { return i.begin(fnNew, o) }

func (i *wasmInstance) load(state []byte) error {
	_, err := i.runWith(fnLoad, nil, state)
	return err
}

func (i *wasmInstance) save(to *buffer) error {
	_, err := i.run(fnSave, to)
	return err
}

func (i *wasmInstance) base(profile []byte) error {
	_, err := i.runWith(fnBase, nil, profile)
	return err
}

func (i *wasmInstance) window(profile []byte, started int64, to *buffer) (*Report, error) {
	found, err := i.runWith(fnWindow, to, profile, uint64(started))
	return whole(fnWindow, found, err, (*answer).report)
}

// whole reads what a function answered.
func whole[T any](fn function, found *answer, err error, read func(*answer) T) (*T, error) {
	if err != nil {
		return nil, err
	}
	value := read(found)
	if found.short {
		return nil, outside(fn)
	}
	return &value, nil
}

func (i *wasmInstance) commit() error {
	_, err := i.run(fnCommit, nil)
	return err
}

func (i *wasmInstance) abandon() error {
	_, err := i.run(fnAbandon, nil)
	return err
}

func (i *wasmInstance) describe() (*Remembered, error) {
	found, err := i.run(fnDescribe, nil)
	return whole(fnDescribe, found, err, (*answer).remembered)
}

func (i *wasmInstance) check(profile []byte) (*Census, error) {
	found, err := i.runWith(fnCheck, nil, profile)
	return whole(fnCheck, found, err, (*answer).census)
}

func (i *wasmInstance) sumBegin(o *options) error { return i.begin(fnSumNew, o) }

func (i *wasmInstance) sumAdd(profile []byte) (Join, error) {
	found, err := i.runWith(fnSumAdd, nil, profile)
	if err != nil {
		return 0, err
	}
	return Join(found.u32()), nil
}

func (i *wasmInstance) sumFinish(to *buffer) error {
	_, err := i.run(fnSumFinish, to)
	return err
}
